"""All scenarios, and the methods that have none."""

from __future__ import annotations

from typing import Final

from tests.faults.scenarios_disk import DISKS
from tests.faults.scenarios_network import NETWORKS
from tests.faults.scenarios_stemcell import STEMCELLS
from tests.faults.scenarios_vm import VMS

SCENARIOS: Final = (*VMS, *DISKS, *STEMCELLS, *NETWORKS)
WITHOUT_AWS: Final = {
    "info",
    "ping",
    "current_vm_id",
    "configure_networks",
}
"""The methods that don't call AWS."""
