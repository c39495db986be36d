"""EBS volumes as stories have them there, look at them, and read how they were changed."""

from typing import Any

from testbed.cloud import FakeAws
from testbed.world import World

LOOK = "DescribeVolumesModifications"
METHODS = ("resize_disk", "update_disk")
TWO_GIB = 2048


def asked(method: str, disk_cid: str, size: object = TWO_GIB) -> tuple[str, Any, Any, *tuple[Any, ...]]:
    """Write a call that changes nothing but the size."""
    return (method, disk_cid, size, *([{}] if method == "update_disk" else []))


class Volumes:
    """The volumes of a laid world."""

    def __init__(self, fake_aws: FakeAws, world: World) -> None:
        """Begin with none."""
        self._fake_aws = fake_aws
        self._world = world

    def make(self, **parameters: Any) -> str:
        """Have a volume there: gp3 and 1 GiB unless it is said otherwise; the list of calls begins anew."""
        whole = {"AvailabilityZone": self._world.zone, "Size": 1, "VolumeType": "gp3", **parameters}
        disk_cid: str = self._world.ec2.create_volume(**whole)["VolumeId"]
        self._fake_aws.forget_calls()
        return disk_cid

    def figures(self, disk_cid: str) -> tuple[Any, ...]:
        """Read type, size, iops and throughput."""
        (found,) = self._world.ec2.describe_volumes(VolumeIds=[disk_cid])["Volumes"]
        return found["VolumeType"], found["Size"], found.get("Iops"), found.get("Throughput")

    def changes(self) -> list[dict[str, str]]:
        """Read what each ModifyVolume since then said."""
        beside = {"Action", "Version", "VolumeId"}
        found = [call["parameters"] for call in self._fake_aws.calls() if call["action"] == "ModifyVolume"]
        return [{name: value for name, value in each.items() if name not in beside} for each in found]
