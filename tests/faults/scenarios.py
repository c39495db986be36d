"""All scenarios, and the methods that have none."""

from typing import Final

from tests.faults.scenario import Scenario
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


def file_of(scenario: Scenario) -> str:
    """Name the file that has a scenario."""
    files = {"disk": DISKS, "network": NETWORKS, "stemcell": STEMCELLS, "vm": VMS}
    (noun,) = (noun for noun, scenarios in files.items() if scenario in scenarios)
    return f"tests/faults/scenarios_{noun}.py"
