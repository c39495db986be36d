"""In which zone a VM is."""

import pytest

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import Subnet, Volume
from bosh_aws_cpi.plan import placement


def subnets(*places: str) -> list[Subnet]:
    """Return a subnet for each place, "zone" or "zone VPC"."""
    found = [(*place.split(), "vpc-1")[:2] for place in places]
    return [Subnet(f"subnet-{number}", vpc_id, zone) for number, (zone, vpc_id) in enumerate(found)]


def disks(*zones: str) -> list[Volume]:
    """Return a disk in each zone."""
    return [
        Volume(f"vol-{number}", "available", zone, {}, 1, "gp3", encrypted=False)
        for number, zone in enumerate(zones)
    ]


@pytest.mark.parametrize("disk_zones", [[], ["a"], ["a", "a"]])
def test_zones_that_agree(disk_zones: list[str]) -> None:
    """A VM whose subnet and disks are in its zone can be made."""
    placement.check_zone(subnets("a"), "a", disks(*disk_zones))
    with pytest.raises(CloudError):
        placement.check_zone(subnets("a"), "other", disks(*disk_zones))


@pytest.mark.parametrize(
    ("subnet", "vm", "disk_zones", "message"),
    [
        ("a", "b", [], "subnet in a, VM in b. 'subnet-0' is in a: correct availability_zone, or "),
        (
            "a",
            "b",
            ["b"],
            "subnet in a, VM in b, and volume in b. 'subnet-0' is in a, 'vol-0' is in b: correct",
        ),
        (
            "a",
            "a",
            ["b"],
            "subnet in a, VM in a, and volume in b. 'subnet-0' is in a, 'vol-0' is in b: a disk ",
        ),
        ("a", "a", ["a", "b", "a"], "subnet in a, VM in a, and volume in a, b, a. "),
    ],
)
def test_zones_that_differ(subnet: str, vm: str, disk_zones: list[str], message: str) -> None:
    """Zones that differ are all named, the disks' in their order with repeats; then who is in which."""
    with pytest.raises(CloudError) as caught:
        placement.check_zone(subnets(subnet), vm, disks(*disk_zones))
    assert caught.value.message.startswith(f"can't use multiple availability zones: {message}")
    assert caught.value.ok_to_retry is False
