"""In which zone a VM is."""

import pytest

from bosh_aws_cpi.model import Subnet, Volume
from bosh_aws_cpi.plan import placement


@pytest.mark.parametrize(
    ("vm", "disk_zones", "message"),
    [
        ("b", [], "subnet in a, VM in b. 'subnet-1' is in a: correct availability_zone, or "),
        ("b", ["b"], "subnet in a, VM in b, and volume in b. 'subnet-1' is in a, 'vol-0' is in b: correct"),
        ("a", ["b"], "subnet in a, VM in a, and volume in b. 'subnet-1' is in a, 'vol-0' is in b: a disk "),
        ("a", ["a", "b", "a"], "subnet in a, VM in a, and volume in a, b, a. "),
    ],
)
def test_zones_that_differ(vm: str, disk_zones: list[str], message: str) -> None:
    """Zones that differ are all named, the disks' in their order with repeats; then who is in which."""
    disks = [
        Volume(f"vol-{number}", "available", zone, {}, 1, "gp3", encrypted=False)
        for number, zone in enumerate(disk_zones)
    ]
    (found,) = placement.zone_problems(
        "net", [Subnet("subnet-1", "vpc-1", "a")], vm, disks, is_any_zone=False
    )
    assert found.text.startswith(f"can't use multiple availability zones: {message}")
    assert (found.key, found.beside) == ("networks.net.cloud_properties.subnet", ("availability_zone",))


def test_several_vpcs() -> None:
    """Subnets of several VPCs are refused, each with its own."""
    subnets = [Subnet(f"subnet-{vpc_id}", vpc_id, "a") for vpc_id in ("vpc-b", "vpc-a")]
    (found,) = placement.vpc_problems(subnets)
    assert "vpc-b, vpc-a. 'subnet-vpc-b' is in vpc-b, " in found.text
