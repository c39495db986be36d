"""In which zone a VM is."""

import pytest

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.plan import placement


@pytest.mark.parametrize("zones", [["a"], ["a", "a"]])
def test_one_subnet_zone(zones: list[str]) -> None:
    """Subnets that lie in one zone say where the VM is."""
    assert placement.one_subnet_zone(zones) == "a"


@pytest.mark.parametrize("disk_zones", [[], ["a"], ["a", "a"]])
def test_zones_that_agree(disk_zones: list[str]) -> None:
    """A VM whose subnet and disks are in its zone can be made."""
    placement.check_zone("a", "a", disk_zones)
    with pytest.raises(CloudError):
        placement.check_zone("a", "other", disk_zones)


@pytest.mark.parametrize(
    ("subnet", "vm", "disks", "message"),
    [
        ("a", "b", [], "subnet in a, VM in b"),
        ("a", "b", ["b"], "subnet in a, VM in b, and volume in b"),
        ("a", "a", ["b"], "subnet in a, VM in a, and volume in b"),
        ("a", "a", ["a", "b", "a"], "subnet in a, VM in a, and volume in a, b, a"),
        ("b", "a", ["b", "b"], "subnet in b, VM in a, and volume in b, b"),
    ],
)
def test_zones_that_differ(subnet: str, vm: str, disks: list[str], message: str) -> None:
    """Zones that differ are all named, the disks' in their order with repeats."""
    with pytest.raises(CloudError) as caught:
        placement.check_zone(subnet, vm, disks)
    assert caught.value.message == f"can't use multiple availability zones: {message}"
    assert caught.value.ok_to_retry is False


@pytest.mark.parametrize("vpc_ids", [["vpc-a"], ["vpc-a", "vpc-a"]])
def test_one_vpc(vpc_ids: list[str]) -> None:
    """Subnets of one VPC say where security groups are looked up."""
    assert placement.one_vpc(vpc_ids) == "vpc-a"


def test_several_vpcs() -> None:
    """Subnets of several VPCs are refused, each VPC named once."""
    with pytest.raises(CloudError) as caught:
        placement.one_vpc(iter(["vpc-b", "vpc-a", "vpc-b"]))
    assert caught.value.message == (
        "All nic groups must be in the same VPC. Found subnets in VPCs: vpc-b, vpc-a"
    )
