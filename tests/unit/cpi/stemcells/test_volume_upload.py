"""Writing an image into a snapshot by way of a volume; the program that writes it is a real one."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError
from botocore.stub import ANY

from bosh_aws_cpi.aws import volumes
from bosh_aws_cpi.cpi.stemcells.volume_upload import upload
from bosh_aws_cpi.cpi.undo import Undo
from bosh_aws_cpi.errors import CloudError, VMNotFound
from bosh_aws_cpi.interrupts import Interrupted
from tests.unit.cpi.volume_uploads import (
    DISK,
    PAIR,
    SNAPSHOT,
    VM,
    WRITE,
    image_source,
    install,
    lay_attached,
    lay_deleted,
    lay_detached,
    lay_removed,
    lay_snapshot,
    lay_volume,
)

if TYPE_CHECKING:
    from pathlib import Path

    from bosh_aws_cpi.cpi.cloud import Cloud
    from bosh_aws_cpi.cpi.stemcells.image_file import ImageSource
    from tests.unit.conftest import Clock, Ec2

pytestmark = pytest.mark.usefixtures("undone")

IMAGE = b"1" * 5000 + bytes(5000)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only folder of programs, and call ourselves root: then there is no need of sudo."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return folder


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file that passes for the volume's block device, under the last of its names."""
    path = tmp_path / "device"
    path.touch()
    names = ["/nowhere", str(tmp_path / "later"), str(path)]
    monkeypatch.setattr("bosh_aws_cpi.plan.device_names.guest_paths", lambda *_: names)
    monkeypatch.setattr(stat, "S_ISBLK", stat.S_ISREG)
    return path


@pytest.fixture
def source(tmp_path: Path) -> ImageSource:
    """Return a small image."""
    return image_source(tmp_path, IMAGE)


def test_upload(cloud: Cloud, source: ImageSource, ec2: Ec2, folder: Path, device: Path) -> None:
    """The image is written to a new volume, whose snapshot stays; the volume goes again."""
    install(folder, WRITE)
    lay_attached(ec2)
    lay_snapshot(ec2, "pending", "completed")
    lay_removed(ec2)
    assert upload(cloud, source, VM, Undo()) == SNAPSHOT
    assert device.read_bytes() == IMAGE


def test_undo(cloud: Cloud, source: ImageSource, ec2: Ec2, folder: Path, device: Path) -> None:
    """A snapshot that EBS could not make is removed by undo, the volume at once."""
    install(folder, WRITE)
    lay_attached(ec2)
    lay_snapshot(ec2, "error")
    lay_removed(ec2)
    undo = Undo()
    with pytest.raises(CloudError, match=f"EBS could not create snapshot '{SNAPSHOT}'"):
        upload(cloud, source, VM, undo)
    ec2.answers("delete_snapshot", SnapshotId=SNAPSHOT)
    undo.run("an error")
    assert device.read_bytes() == IMAGE


def test_no_program(cloud: Cloud, source: ImageSource, folder: Path) -> None:
    """Without the program nothing is begun; the message says what else can be done."""
    assert list(folder.iterdir()) == []
    with pytest.raises(CloudError) as caught:
        upload(cloud, source, VM, Undo())
    assert caught.value.message == (
        "The program stemcell-copy, which is part of the release, is not installed here: set "
        "aws.stemcell_upload to "
        "ebs_direct, or use the light stemcell of the same version"
    )


@pytest.mark.usefixtures("device")
def test_removal_that_is_cut_off(
    cloud: Cloud, source: ImageSource, ec2: Ec2, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The volume's removal that a signal cut off is made again by undo."""
    really_discard, tries = volumes.discard, []

    def discard(client: Any, disk_cid: str) -> None:
        tries.append(disk_cid)
        if len(tries) == 1:
            raise Interrupted("SIGTERM")
        really_discard(client, disk_cid)

    monkeypatch.setattr(volumes, "discard", discard)
    install(folder, WRITE)
    lay_attached(ec2)
    lay_snapshot(ec2, "completed")
    lay_detached(ec2)
    undo = Undo()
    with pytest.raises(Interrupted):
        upload(cloud, source, VM, undo)
    ec2.answers("delete_snapshot", SnapshotId=SNAPSHOT)
    lay_deleted(ec2)
    undo.run("a signal")
    assert tries == [DISK, DISK]


@pytest.mark.parametrize("is_packaged", [True, False])
def test_sudo(
    cloud: Cloud,
    source: ImageSource,
    ec2: Ec2,
    folder: Path,
    device: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_packaged: bool,
) -> None:
    """Who is not root uses sudo, which must not ask; the package's own program comes first."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    program = install(folder, WRITE)
    if is_packaged:
        program = install(folder.parent, WRITE, "packaged")
        monkeypatch.setattr("bosh_aws_cpi.cpi.stemcells.volume_upload._PACKAGED", program)
    install(folder, "sys.stdin.buffer.read(); Path(sys.argv[3]).write_text(' '.join(sys.argv[1:]))", "sudo")
    lay_attached(ec2)
    lay_snapshot(ec2, "completed")
    lay_removed(ec2)
    upload(cloud, source, VM, Undo())
    assert device.read_text() == f"-n {program} {device}"


def test_device_that_comes_late(
    cloud: Cloud, source: ImageSource, ec2: Ec2, clock: Clock, folder: Path, device: Path
) -> None:
    """The kernel shows the volume a while after EC2 has attached it."""
    install(folder, WRITE)
    device.unlink()
    really_sleep, late = clock.sleep, device.with_name("later")

    def sleep(seconds: float) -> None:
        really_sleep(seconds)
        if clock.now > 2:
            late.touch()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("time.sleep", sleep)
        lay_attached(ec2)
        lay_snapshot(ec2, "completed")
        lay_removed(ec2)
        upload(cloud, source, VM, Undo())
    assert late.read_bytes() == IMAGE
    assert 2 < clock.now < 4


def test_device_that_never_comes(
    cloud: Cloud, source: ImageSource, ec2: Ec2, folder: Path, device: Path
) -> None:
    """One that is not shown within a minute ends it, with where it was looked for."""
    install(folder, WRITE)
    device.unlink()
    lay_attached(ec2)
    lay_removed(ec2)
    with pytest.raises(CloudError, match=f"waiting for one of /nowhere, .*{device} to appear"):
        upload(cloud, source, VM, Undo())


def test_attachment_that_is_refused(cloud: Cloud, source: ImageSource, ec2: Ec2, folder: Path) -> None:
    """A volume that can't be attached goes again; it may have been attached all the same."""
    install(folder, WRITE)
    own: dict[str, Any] = {"InstanceId": VM, "State": {"Name": "running"}, "InstanceType": "t"}
    placed = {**own, "Placement": {"AvailabilityZone": "z"}}
    ec2.answers("describe_instances", {"Reservations": [{"Instances": [placed]}]}, InstanceIds=[VM])
    volume = {"Size": 2, "VolumeType": "gp3", "AvailabilityZone": "z", "Encrypted": True}
    more = {"KmsKeyId": "arn:k", "TagSpecifications": ANY}
    ec2.answers("create_volume", {"VolumeId": DISK}, **volume, **more)
    lay_volume(ec2, "available")
    ec2.refuses("attach_volume", "UnauthorizedOperation", **PAIR, Device="/dev/sdf")
    ec2.refuses("detach_volume", "IncorrectState", **PAIR, Force=True)
    ec2.answers("delete_volume", VolumeId=DISK)
    ec2.refuses("describe_volumes", "InvalidVolume.NotFound", VolumeIds=[DISK])
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        upload(cloud, source, VM, Undo())


def test_unknown_vm(cloud: Cloud, source: ImageSource, ec2: Ec2, folder: Path) -> None:
    """A VM that EC2 does not know, as of another account, is told before anything is made."""
    install(folder, WRITE)
    ec2.refuses("describe_instances", "InvalidInstanceID.NotFound", InstanceIds=[VM])
    with pytest.raises(VMNotFound, match=VM):
        upload(cloud, source, VM, Undo())
