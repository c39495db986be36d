"""Writing an image into a snapshot by way of a volume; the program that writes it is a real one."""

from __future__ import annotations

import os
import stat
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import volumes
from bosh_aws_cpi.aws.sdk.idempotency import RECENT
from bosh_aws_cpi.cpi.stemcells.volume_upload import discard_earlier, upload
from bosh_aws_cpi.cpi.undo import Undo
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.interrupts import Interrupted
from tests.unit.aws.timing_script import ago
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

MIB = 1 << 20
LARGE = os.urandom(3 * MIB) + bytes(MIB) + b"end"
"""Far more than a pipe holds."""
SOME = "Path(sys.argv[1]).write_bytes(sys.stdin.buffer.read(3))"
MARK = ("bosh_stemcell", "call-1")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only folder of programs, and pretend to be root, who needs no sudo."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return folder


@pytest.fixture
def not_root(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend to be a user who may become root."""
    del folder  # makes us root, and comes first
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr("bosh_aws_cpi.cpi.stemcells.volume_upload._is_confined", lambda: False)


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
    """Return a large image."""
    return image_source(tmp_path, LARGE)


@pytest.mark.usefixtures("device")
def test_removal_that_is_cut_off(
    cloud: Cloud, source: ImageSource, ec2: Ec2, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Undo repeats a removal of the volume that a signal has interrupted."""
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


@pytest.mark.usefixtures("not_root")
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
    """A user who is not root uses sudo without a prompt; the package's program has priority."""
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


@pytest.mark.usefixtures("not_root")
def test_no_sudo(cloud: Cloud, source: ImageSource, folder: Path) -> None:
    """Without sudo, a user who is not root gets an error before anything is created."""
    install(folder, WRITE)
    message = (
        "The program stemcell-copy must run as root, but this process can't become root, without sudo or in "
        "bpm's containers: set director.use_bpm_for_workers to false, or use the EBS direct APIs "
        "(aws.stemcell_upload: ebs_direct), or the light stemcell of the same version"
    )
    with pytest.raises(CloudError) as caught:
        upload(cloud, source, VM, Undo())
    assert caught.value.message == message


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
    assert late.read_bytes() == LARGE
    assert 2 < clock.now < 4


def test_device_that_never_comes(
    cloud: Cloud, source: ImageSource, ec2: Ec2, folder: Path, device: Path
) -> None:
    """The error for a device that does not appear within a minute lists the expected paths."""
    install(folder, WRITE)
    device.unlink()
    lay_attached(ec2)
    lay_removed(ec2)
    with pytest.raises(CloudError, match=f"waiting for one of /nowhere, .*{device} to appear"):
        upload(cloud, source, VM, Undo())


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("print('out'); sys.stderr.write('err'); sys.exit(3)", "stemcell-copy ended with 3: "),
        ("print('x' * 5000 + 'end'); sys.exit(2)", f"stemcell-copy ended with 2: {'x' * 1996}end"),
        ("sys.stdout.buffer.write(bytes([255])); sys.exit(2)", "stemcell-copy ended with 2: \ufffd"),
        ("import os; os.kill(os.getpid(), 9)", "stemcell-copy ended with -9: "),
    ],
    ids=["stdout-and-stderr", "long", "not-utf-8", "killed"],
)
@pytest.mark.usefixtures("device")
def test_program_that_fails(
    cloud: Cloud, source: ImageSource, ec2: Ec2, folder: Path, body: str, said: str
) -> None:
    """The error has the end of the failed program's output; the volume is deleted."""
    install(folder, body)
    lay_attached(ec2)
    lay_removed(ec2)
    with pytest.raises(CloudError) as caught:
        upload(cloud, source, VM, Undo())
    assert caught.value.message.startswith(f"Unable to copy stemcell root image: {said}")
    assert len(caught.value.message) < 2100


@pytest.mark.usefixtures("device")
def test_program_that_takes_no_more(cloud: Cloud, source: ImageSource, ec2: Ec2, folder: Path) -> None:
    """The error of a program that ends early is the program's, not that of the broken pipe."""
    install(folder, f"{SOME}; sys.exit('no room')")
    lay_attached(ec2)
    lay_removed(ec2)
    with pytest.raises(CloudError, match="stemcell-copy ended with 1: no room"):
        upload(cloud, source, VM, Undo())


def test_image_that_ends_early(cloud: Cloud, ec2: Ec2, folder: Path, device: Path) -> None:
    """If the image can't be read to its end, the program is ended, and no snapshot is created."""
    install(folder, WRITE)
    lay_attached(ec2)
    lay_removed(ec2)
    with pytest.raises(CloudError, match="is truncated or damaged"):
        upload(cloud, image_source(folder.parent, LARGE, 0.9), VM, Undo())
    assert 0 < len(device.read_bytes()) < len(LARGE)


NOW = timedelta(0)


def lay_search(ec2: Ec2, *ages: timedelta) -> None:
    """Lay out the question for the volume of this request."""
    tags = [{"Key": "bosh_stemcell", "Value": "call-1"}]
    found = {"Volumes": [{"VolumeId": DISK, "Tags": tags, "CreateTime": ago(age)} for age in ages]}
    ec2.answers("describe_volumes", found, Filters=[{"Name": "tag:bosh_stemcell", "Values": ["call-1"]}])


@pytest.mark.parametrize("ages", [[], [2 * RECENT]], ids=["none", "an old one"])
def test_nothing(cloud: Cloud, ec2: Ec2, ages: list[timedelta]) -> None:
    """Without a volume of this request nothing is removed."""
    lay_search(ec2, *ages)
    discard_earlier(cloud, MARK)


def test_going(cloud: Cloud, ec2: Ec2) -> None:
    """A volume that disappears meanwhile is no error."""
    lay_search(ec2, NOW)
    ec2.refuses("describe_volumes", "InvalidVolume.NotFound", VolumeIds=[DISK])
    discard_earlier(cloud, MARK)


def test_refused(cloud: Cloud, ec2: Ec2) -> None:
    """A volume that can't be removed is an error."""
    lay_search(ec2, NOW)
    lay_volume(ec2, "in-use", "attached")
    ec2.refuses("detach_volume", "UnauthorizedOperation", **PAIR, Force=True)
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        discard_earlier(cloud, MARK)
