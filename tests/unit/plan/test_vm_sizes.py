"""The instance type for a wanted size."""

import re
from typing import Any

import pytest

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.plan.instance_types import XEN_FAMILIES
from bosh_aws_cpi.plan.type_table import names, sizes
from bosh_aws_cpi.plan.vm_sizes import VM_SIZES, cloud_properties

TABLE = """
t2.nano 1/512, t2.micro 1/1024, t2.small 1/2048, c5.large 2/4096, m5.large 2/8192, r5.large 2/16384,
c5.xlarge 4/8192, m5.xlarge 4/16384, r5.xlarge 4/32768, c5.2xlarge 8/16384, m5.2xlarge 8/32768,
r5.2xlarge 8/65536, c5.4xlarge 16/32768, m5.4xlarge 16/65536, r5.4xlarge 16/131072, c5.9xlarge 36/73728,
m5.8xlarge 32/131072, r5.8xlarge 32/262144, c5.12xlarge 48/98304, m5.12xlarge 48/196608,
r5.12xlarge 48/393216, m5.16xlarge 64/262144, r5.16xlarge 64/524288
"""
SIZES = [(name, int(cpu), int(ram)) for name, cpu, ram in re.findall(r"(\S+) (\d+)/(\d+)", TABLE)]


def wanted(cpu: object = 1, ram: object = 512, disk: object = 1024) -> dict[str, Any]:
    """Want a size."""
    return {"cpu": cpu, "ram": ram, "ephemeral_disk_size": disk}


def test_table() -> None:
    """The known types are those of the contract, in its order of preference."""
    assert [(size.name, size.cpu, size.ram) for size in VM_SIZES] == SIZES
    assert len(SIZES) == 23


@pytest.mark.parametrize(
    ("cpu", "ram", "name"),
    [
        (0, 0, "t2.nano"),
        (1, 513, "t2.micro"),
        (0.5, 8192.5, "r5.large"),
        (32, 73729, "m5.8xlarge"),
        (37, 1, "c5.12xlarge"),
        (64, 524288, "r5.16xlarge"),
    ],
)
def test_sizes_between(cpu: float, ram: float, name: str) -> None:
    """The first type that has at least the cpu and the ram wins."""
    expected = {"instance_type": name, "ephemeral_disk": {"size": 1024}}
    assert cloud_properties(wanted(cpu, ram)) == expected


@pytest.mark.parametrize(
    ("given", "key", "kind"),
    [
        (wanted(cpu=-1), "cpu", "Integer"),
        (wanted(ram=True), "ram", "Boolean"),
        (wanted(disk={}), "ephemeral_disk_size", "Hash"),
    ],
)
def test_wrong_types(given: dict[str, Any], key: str, kind: str) -> None:
    """A value that is not a number, 0 or more, is refused by its name."""
    with pytest.raises(CloudError) as caught:
        cloud_properties(given)
    assert caught.value.message == f"VM cloud property '{key}' must be a number, 0 or more, got {kind}"


def test_generations() -> None:
    """The built-in table has sizes of T2, which the default list has too, and of no other family on Xen."""
    families = {name.partition(".")[0] for name in names()}
    sized = {family for family in families if sizes(family)}
    assert sized & XEN_FAMILIES == {"t2"}
    assert {size.name.partition(".")[0] for size in VM_SIZES} <= sized


def test_architectures() -> None:
    """A family has one architecture, so that the families say whether their types can be mixed."""
    families = {name.partition(".")[0] for name in names()}
    architectures = [{architecture for *_, architecture in sizes(family)} for family in families]
    assert {frozenset(each) for each in architectures} == {
        frozenset({"arm64"}),
        frozenset({"x86_64"}),
        frozenset(),
    }
