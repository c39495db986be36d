"""A volume that is attached to our own VM, and the program that writes an image to it."""

from __future__ import annotations

import gzip
import io
import sys
import tarfile
from typing import TYPE_CHECKING

from bosh_aws_cpi.cpi.stemcells.image_file import ImageSource
from bosh_aws_cpi.model import Encryption

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.conftest import Ec2

VM, DISK, SNAPSHOT = "i-1", "vol-1", "snap-1"
NAMED = [{"Key": "bosh_stemcell", "Value": "call-1"}]
PAIR = {"VolumeId": DISK, "InstanceId": VM}
WRITE = "assert len(sys.argv) == 2; Path(sys.argv[1]).write_bytes(sys.stdin.buffer.read())"
"""What stemcell-copy does: it takes the device alone, and the image from standard input."""


def image_source(folder: Path, content: bytes, kept: float = 1) -> ImageSource:
    """Write a stemcell's image, of which only a part may be kept, and describe it."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        entry = tarfile.TarInfo("root.img")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    path = folder / "image"
    packed = gzip.compress(tar.getvalue(), 1)
    path.write_bytes(packed[: int(len(packed) * kept)])
    encryption = Encryption(encrypted=True, kms_key_arn="arn:k")
    return ImageSource(str(path), 1, 2, "d", {"bosh_stemcell": "call-1"}, "call-1", encryption)


def install(folder: Path, body: str, name: str = "stemcell-copy") -> Path:
    """Install a program with this body."""
    program = folder / name
    program.write_text(f"#!{sys.executable}\nimport sys\nfrom pathlib import Path\n{body}\n")
    program.chmod(0o755)
    return program


def lay_volume(ec2: Ec2, state: str, *attached: str) -> None:
    """Lay out DescribeVolumes."""
    attachments = [{"InstanceId": VM, "State": how, "Device": "/dev/sdf"} for how in attached]
    kind = {"Size": 2, "VolumeType": "gp3", "Encrypted": True, "AvailabilityZone": "z"}
    entry = {"VolumeId": DISK, "State": state, "Attachments": attachments, **kind}
    ec2.answers("describe_volumes", {"Volumes": [entry]}, VolumeIds=[DISK])


def lay_attached(ec2: Ec2) -> None:
    """Lay out all calls up to the attachment."""
    devices = [{"DeviceName": "/dev/xvda", "Ebs": {"VolumeId": "vol-0", "Status": "attached"}}]
    own = {"InstanceId": VM, "State": {"Name": "running"}, "InstanceType": "t"}
    more = {"Placement": {"AvailabilityZone": "z"}, "BlockDeviceMappings": devices}
    answer = {"Reservations": [{"Instances": [{**own, **more}]}]}
    ec2.answers("describe_instances", answer, InstanceIds=[VM])
    tags = {"TagSpecifications": [{"ResourceType": "volume", "Tags": NAMED}]}
    encryption = {"Encrypted": True, "KmsKeyId": "arn:k"}
    volume = {"Size": 2, "VolumeType": "gp3", "AvailabilityZone": "z", **encryption, **tags}
    ec2.answers("create_volume", {"VolumeId": DISK}, **volume)
    lay_volume(ec2, "available")
    ec2.answers("attach_volume", **PAIR, Device="/dev/sdf")
    lay_volume(ec2, "in-use", "attached")


def lay_snapshot(ec2: Ec2, *states: str) -> None:
    """Lay out the snapshot's creation."""
    tags = [{"ResourceType": "snapshot", "Tags": NAMED}]
    arguments = {"VolumeId": DISK, "Description": "d", "TagSpecifications": tags}
    ec2.answers("create_snapshot", {"SnapshotId": SNAPSHOT}, **arguments)
    for state in states:
        found = {"Snapshots": [{"SnapshotId": SNAPSHOT, "State": state}]}
        ec2.answers("describe_snapshots", found, SnapshotIds=[SNAPSHOT])


def lay_removed(ec2: Ec2) -> None:
    """Lay out the volume's removal."""
    lay_detached(ec2)
    lay_deleted(ec2)


def lay_detached(ec2: Ec2) -> None:
    """Lay out the volume's detachment."""
    ec2.answers("detach_volume", **PAIR, Force=True)
    lay_volume(ec2, "available")


def lay_deleted(ec2: Ec2) -> None:
    """Lay out the volume's deletion."""
    ec2.answers("delete_volume", VolumeId=DISK)
    ec2.refuses("describe_volumes", "InvalidVolume.NotFound", VolumeIds=[DISK])
