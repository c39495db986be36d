"""EBS volumes as EC2 shows them, one look after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.unit.conftest import Ec2

DISK = "vol-0123456789abcdef0"
OTHER = "vol-0fedcba9876543210"
VM = "i-0123456789abcdef0"
OTHER_VM = "i-0fedcba9876543210"
NOT_FOUND = "InvalidVolume.NotFound"


def entry(
    state: str = "available", disk_cid: str = DISK, *attached: tuple[str, str], name: str = "/dev/sdf"
) -> dict[str, Any]:
    """Describe a volume with its attachments: instance and state of each."""
    attachments = [{"InstanceId": vm, "State": how, "Device": name} for vm, how in attached]
    disk = {"Size": 1, "VolumeType": "gp3", "Encrypted": False, "AvailabilityZone": "z"}
    return {"VolumeId": disk_cid, "State": state, "Attachments": attachments, **disk}


def lay(ec2: Ec2, *looks: dict[str, Any] | None) -> None:
    """Lay out one look at the volume after the other; none: EC2 does not know it."""
    for look in looks:
        if look is None:
            ec2.refuses("describe_volumes", NOT_FOUND, VolumeIds=[DISK])
        else:
            ec2.answers("describe_volumes", {"Volumes": [look]}, VolumeIds=[DISK])


def attached(*states: str, vm_cid: str = VM) -> list[dict[str, Any]]:
    """Describe a volume in one state of attachment after the other."""
    return [entry("in-use", DISK, (vm_cid, state)) for state in states]
