"""Writing an image into a snapshot by way of a volume; the program that writes it is a real one."""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError
from botocore.stub import ANY

from bosh_aws_cpi.cpi.stemcell_image import ImageSource, Survey
from bosh_aws_cpi.cpi.undo import Undo
from bosh_aws_cpi.cpi.volume_upload import upload
from bosh_aws_cpi.errors import CloudError, VMNotFound
from bosh_aws_cpi.model import Encryption

if TYPE_CHECKING:
    from pathlib import Path

    from bosh_aws_cpi.cpi.cloud import Cloud
    from tests.unit.conftest import Clock, Ec2

pytestmark = pytest.mark.usefixtures("undone")

VM, DISK, SNAPSHOT = "i-1", "vol-1", "snap-1"
NAMED = [{"Key": "bosh_stemcell", "Value": "call-1"}]
ENCRYPTED = Encryption(encrypted=True, kms_key_arn="arn:k")
SOURCE = ImageSource("/image", Survey(1, 1), 2, "d", {"bosh_stemcell": "call-1"}, "call-1", ENCRYPTED)
PAIR = {"VolumeId": DISK, "InstanceId": VM}


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


def install(folder: Path, body: str, name: str = "stemcell-copy") -> Path:
    """Install a program that does what is given."""
    program = folder / name
    program.write_text(f"#!{sys.executable}\nimport sys\nfrom pathlib import Path\n{body}\n")
    program.chmod(0o755)
    return program


WRITE = "Path(sys.argv[2]).write_text(sys.argv[1])"


def lay_volume(ec2: Ec2, state: str, *attached: str) -> None:
    """Lay out a look at the volume."""
    attachments = [{"InstanceId": VM, "State": how, "Device": "/dev/sdf"} for how in attached]
    kind = {"Size": 2, "VolumeType": "gp3", "Encrypted": True, "AvailabilityZone": "z"}
    entry = {"VolumeId": DISK, "State": state, "Attachments": attachments, **kind}
    ec2.answers("describe_volumes", {"Volumes": [entry]}, VolumeIds=[DISK])


def lay_attached(ec2: Ec2) -> None:
    """Lay out all up to the attachment."""
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
    """Lay out the snapshot's making."""
    tags = [{"ResourceType": "snapshot", "Tags": NAMED}]
    arguments = {"VolumeId": DISK, "Description": "d", "TagSpecifications": tags}
    ec2.answers("create_snapshot", {"SnapshotId": SNAPSHOT}, **arguments)
    for state in states:
        found = {"Snapshots": [{"SnapshotId": SNAPSHOT, "State": state}]}
        ec2.answers("describe_snapshots", found, SnapshotIds=[SNAPSHOT])


def lay_removed(ec2: Ec2) -> None:
    """Lay out the volume's removal."""
    ec2.answers("detach_volume", **PAIR, Force=True)
    lay_volume(ec2, "available")
    ec2.answers("delete_volume", VolumeId=DISK)
    ec2.refuses("describe_volumes", "InvalidVolume.NotFound", VolumeIds=[DISK])


def test_upload(cloud: Cloud, ec2: Ec2, folder: Path, device: Path) -> None:
    """The image is written to a new volume, whose snapshot stays; the volume goes again."""
    install(folder, WRITE)
    lay_attached(ec2)
    lay_snapshot(ec2, "pending", "completed")
    lay_removed(ec2)
    assert upload(cloud, SOURCE, VM, Undo()) == SNAPSHOT
    assert device.read_text() == "/image"


def test_undo(cloud: Cloud, ec2: Ec2, folder: Path, device: Path) -> None:
    """A snapshot that EBS could not make is removed by undo, the volume at once."""
    install(folder, WRITE)
    lay_attached(ec2)
    lay_snapshot(ec2, "error")
    lay_removed(ec2)
    undo = Undo()
    with pytest.raises(CloudError, match=f"EBS could not make snapshot '{SNAPSHOT}'"):
        upload(cloud, SOURCE, VM, undo)
    ec2.answers("delete_snapshot", SnapshotId=SNAPSHOT)
    undo.run("an error")
    assert device.read_text() == "/image"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("sys.exit('no room')", "stemcell-copy ended with 1: no room"),
        ("print('out'); sys.stderr.write('err'); sys.exit(3)", "stemcell-copy ended with 3: "),
        ("print('x' * 5000 + 'end'); sys.exit(2)", f"stemcell-copy ended with 2: {'x' * 1997}end"),
        ("sys.stdout.buffer.write(bytes([255])); sys.exit(2)", "stemcell-copy ended with 2: \ufffd"),
        ("import os; os.kill(os.getpid(), 9)", "stemcell-copy ended with -9: "),
    ],
)
@pytest.mark.usefixtures("device")
def test_program_that_fails(cloud: Cloud, ec2: Ec2, folder: Path, body: str, said: str) -> None:
    """What the program says when it fails is told, its end at most; the volume goes again."""
    install(folder, body)
    lay_attached(ec2)
    lay_removed(ec2)
    with pytest.raises(CloudError) as caught:
        upload(cloud, SOURCE, VM, Undo())
    assert caught.value.message.startswith(f"Unable to copy stemcell root image: {said}")
    assert len(caught.value.message) < 2100


@pytest.mark.usefixtures("device")
def test_program_that_does_not_start(cloud: Cloud, ec2: Ec2, folder: Path) -> None:
    """A program that can't be started says why."""
    program = install(folder, WRITE)
    program.write_text("#!/nowhere/at-all\n")
    lay_attached(ec2)
    lay_removed(ec2)
    with pytest.raises(CloudError) as caught:
        upload(cloud, SOURCE, VM, Undo())
    assert caught.value.message == f"Unable to copy stemcell root image: {program}: No such file or directory"


def test_no_program(cloud: Cloud, folder: Path) -> None:
    """Without the program nothing is begun; the message says what else can be done."""
    assert list(folder.iterdir()) == []
    with pytest.raises(CloudError) as caught:
        upload(cloud, SOURCE, VM, Undo())
    assert caught.value.message == (
        "There is no stemcell-copy here, which the release brings along: set aws.stemcell_upload to "
        "ebs_direct, or use the light stemcell of the same version"
    )


@pytest.mark.parametrize("is_packaged", [True, False])
def test_sudo(
    cloud: Cloud, ec2: Ec2, folder: Path, device: Path, monkeypatch: pytest.MonkeyPatch, *, is_packaged: bool
) -> None:
    """Who is not root uses sudo, which must not ask; the package's own program comes first."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    program = install(folder, WRITE)
    if is_packaged:
        program = install(folder.parent, WRITE, "packaged")
        monkeypatch.setattr("bosh_aws_cpi.cpi.volume_upload._PACKAGED", program)
    install(folder, "Path(sys.argv[4]).write_text(' '.join(sys.argv[1:]))", "sudo")
    lay_attached(ec2)
    lay_snapshot(ec2, "completed")
    lay_removed(ec2)
    upload(cloud, SOURCE, VM, Undo())
    assert device.read_text() == f"-n {program} /image {device}"


def test_device_that_comes_late(cloud: Cloud, ec2: Ec2, clock: Clock, folder: Path, device: Path) -> None:
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
        upload(cloud, SOURCE, VM, Undo())
    assert late.read_text() == "/image"
    assert 2 < clock.now < 4


def test_device_that_never_comes(cloud: Cloud, ec2: Ec2, folder: Path, device: Path) -> None:
    """One that is not shown within a minute ends it, with where it was looked for."""
    install(folder, WRITE)
    device.unlink()
    lay_attached(ec2)
    lay_removed(ec2)
    with pytest.raises(CloudError, match=f"waiting for one of /nowhere, .*{device} to be there"):
        upload(cloud, SOURCE, VM, Undo())


def test_attachment_that_is_refused(cloud: Cloud, ec2: Ec2, folder: Path) -> None:
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
        upload(cloud, SOURCE, VM, Undo())


def test_unknown_vm(cloud: Cloud, ec2: Ec2, folder: Path) -> None:
    """A VM that EC2 does not know, as of another account, is told before anything is made."""
    install(folder, WRITE)
    ec2.refuses("describe_instances", "InvalidInstanceID.NotFound", InstanceIds=[VM])
    with pytest.raises(VMNotFound, match=VM):
        upload(cloud, SOURCE, VM, Undo())
