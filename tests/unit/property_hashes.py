"""All hashes of cloud properties that the program reads."""

from typing import Final

from bosh_aws_cpi.properties import (
    disk,
    managed_network,
    network,
    stemcell,
    vm,
    vm_disks,
)
from bosh_aws_cpi.properties.types import Properties

HASHES: Final = {
    kind
    for module in (disk, managed_network, network, stemcell, vm, vm_disks)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, Properties) and kind.__module__ == module.__name__
}
