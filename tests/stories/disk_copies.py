"""A disk that update_disk replaces by a copy, for the stories about both volumes."""

from typing import Any

from testbed.cloud import FakeAws
from testbed.executable import DIRECTOR_UUID, Answer, Cpi, Process
from testbed.world import World

WANTED = {"encrypted": True}

SIZE = 2048
"""MiB."""
OWN_TAGS = {"team": "a", "director": "bosh", "attached_at": "2026-05-01T00:00:00Z", "bosh_call": "call-0"}
REQUEST = {"request_id": "cpi-424242"}


class Copied:
    """A disk of 1 GiB with data, which the Director wants encrypted and with 2 GiB.

    Attributes:
        cid: The disk's id.
        vm_cid: A VM that wrote on it.
    """

    def __init__(self, cpi: Cpi, fake_aws: FakeAws, world: World, vm_cid: str) -> None:
        """Create the disk, and write on it."""
        self._cpi, self._fake_aws, self._ec2, self._world = cpi, fake_aws, world.ec2, world
        self.vm_cid = vm_cid
        tags = [{"Key": key, "Value": value} for key, value in OWN_TAGS.items()]
        specification = [{"ResourceType": "volume", "Tags": tags}]
        self.cid: str = self._ec2.create_volume(
            AvailabilityZone=world.zone, Size=1, VolumeType="gp3", TagSpecifications=specification
        )["VolumeId"]
        self._laid = set(world.state()["volumes"]) - {self.cid}
        self.attach(self.cid)
        self._ec2.detach_volume(VolumeId=self.cid)
        fake_aws.forget_calls()

    def update(self, **context: Any) -> Answer:
        """Ask for the change."""
        return self._cpi.call("update_disk", self.cid, SIZE, WANTED, context=context)

    def start(self, **context: Any) -> Process:
        """Ask for it without waiting for the answer; the caller ends the process."""
        return self._cpi.start("update_disk", self.cid, SIZE, WANTED, context=context)

    def attach(self, disk_cid: str) -> None:
        """Attach a disk; the VM writes on it."""
        self._ec2.attach_volume(InstanceId=self.vm_cid, VolumeId=disk_cid, Device="/dev/sdf")

    def use(self, disk_cid: str) -> None:
        """Attach a disk, tag it as the Director does after that, and detach it."""
        self.attach(disk_cid)
        tags = {"director": "bosh", "attached_at": "2026-05-02T00:00:00Z"}
        self._ec2.create_tags(Resources=[disk_cid], Tags=[{"Key": key, "Value": tags[key]} for key in tags])
        self._ec2.detach_volume(VolumeId=disk_cid)

    def progress(self, *percent: str) -> None:
        """Set the progress of the next copies, in percent, for each DescribeVolumeStatus in turn."""
        self._fake_aws.rule(action="CopyVolumes", states=list(percent))

    @property
    def disks(self) -> list[str]:
        """All volumes except the VM's."""
        return sorted(set(self._world.state()["volumes"]) - self._laid)

    def tags(self, disk_cid: str) -> dict[str, str]:
        """Read a volume's tags."""
        return {tag["Key"]: tag["Value"] for tag in self.shown(disk_cid).get("Tags", [])}

    def shown(self, disk_cid: str) -> dict[str, Any]:
        """Describe a volume."""
        (found,) = self._ec2.describe_volumes(VolumeIds=[disk_cid])["Volumes"]
        return dict(found)

    def writes(self, disk_cid: str) -> int:
        """Count the writes whose data a volume has."""
        written = self._fake_aws.contents()[disk_cid]
        assert set(written) <= {self.vm_cid}
        return len(written)


def copy_tags(source: str) -> dict[str, str]:
    """Write the tags of a copy, except bosh_call: without those of set_disk_metadata."""
    return {"team": "a", "bosh_director_uuid": DIRECTOR_UUID, "bosh_replaces": source}
