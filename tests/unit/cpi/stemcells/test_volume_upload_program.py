"""The program that writes an image to a volume: what it is given, how it fails, and how it ends."""

from __future__ import annotations

import os
import signal
import stat
from typing import TYPE_CHECKING

import pytest

from bosh_aws_cpi.cpi.stemcells import image_file
from bosh_aws_cpi.cpi.stemcells.volume_upload import upload
from bosh_aws_cpi.cpi.undo import Undo
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.interrupts import Interrupted
from tests.unit.cpi.volume_uploads import (
    SNAPSHOT,
    VM,
    WRITE,
    image_source,
    install,
    lay_attached,
    lay_removed,
    lay_snapshot,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bosh_aws_cpi.cpi.cloud import Cloud
    from bosh_aws_cpi.cpi.stemcells.image_file import ImageSource
    from tests.unit.conftest import Ec2

pytestmark = pytest.mark.usefixtures("undone")

MIB = 1 << 20
LARGE = os.urandom(3 * MIB) + bytes(MIB) + b"end"
"""Far more than a pipe holds."""


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
    """Return a file that passes for the volume's block device."""
    path = tmp_path / "device"
    path.touch()
    monkeypatch.setattr("bosh_aws_cpi.plan.device_names.guest_paths", lambda *_: [str(path)])
    monkeypatch.setattr(stat, "S_ISBLK", stat.S_ISREG)
    return path


@pytest.fixture
def source(tmp_path: Path) -> ImageSource:
    """Return a large image."""
    return image_source(tmp_path, LARGE)


def test_stream(cloud: Cloud, source: ImageSource, ec2: Ec2, folder: Path, device: Path) -> None:
    """The whole image, zeros and all, goes through standard input; the device is the only argument."""
    install(folder, WRITE)
    lay_attached(ec2)
    lay_snapshot(ec2, "completed")
    lay_removed(ec2)
    assert upload(cloud, source, VM, Undo()) == SNAPSHOT
    assert device.read_bytes() == LARGE


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("sys.exit('no room')", "stemcell-copy ended with 1: no room"),
        ("print('out'); sys.stderr.write('err'); sys.exit(3)", "stemcell-copy ended with 3: "),
        ("print('x' * 5000 + 'end'); sys.exit(2)", f"stemcell-copy ended with 2: {'x' * 1996}end"),
        ("sys.stdout.buffer.write(bytes([255])); sys.exit(2)", "stemcell-copy ended with 2: \ufffd"),
        ("import os; os.kill(os.getpid(), 9)", "stemcell-copy ended with -9: "),
    ],
)
@pytest.mark.usefixtures("device")
def test_program_that_fails(
    cloud: Cloud, source: ImageSource, ec2: Ec2, folder: Path, body: str, said: str
) -> None:
    """What the program says when it fails is told, its end at most; the volume goes again."""
    install(folder, body)
    lay_attached(ec2)
    lay_removed(ec2)
    with pytest.raises(CloudError) as caught:
        upload(cloud, source, VM, Undo())
    assert caught.value.message.startswith(f"Unable to copy stemcell root image: {said}")
    assert len(caught.value.message) < 2100


@pytest.mark.usefixtures("device")
def test_program_that_does_not_start(cloud: Cloud, source: ImageSource, ec2: Ec2, folder: Path) -> None:
    """A program that can't be started says why."""
    program = install(folder, WRITE)
    program.write_text("#!/nowhere/at-all\n")
    lay_attached(ec2)
    lay_removed(ec2)
    with pytest.raises(CloudError) as caught:
        upload(cloud, source, VM, Undo())
    assert caught.value.message == f"Unable to copy stemcell root image: {program}: No such file or directory"


SOME = "Path(sys.argv[1]).write_bytes(sys.stdin.buffer.read(3))"


@pytest.mark.usefixtures("device")
def test_program_that_takes_no_more(cloud: Cloud, source: ImageSource, ec2: Ec2, folder: Path) -> None:
    """A program that fails before it has read all tells why; the pipe that broke does not hide it."""
    install(folder, f"{SOME}; sys.exit('no room')")
    lay_attached(ec2)
    lay_removed(ec2)
    with pytest.raises(CloudError, match="stemcell-copy ended with 1: no room"):
        upload(cloud, source, VM, Undo())


def test_image_that_ends_early(cloud: Cloud, ec2: Ec2, folder: Path, device: Path) -> None:
    """An image that can't be read further ends it: the program has ended, and there is no snapshot."""
    install(folder, WRITE)
    lay_attached(ec2)
    lay_removed(ec2)
    with pytest.raises(CloudError, match="is truncated or damaged"):
        upload(cloud, image_source(folder.parent, LARGE, 0.9), VM, Undo())
    assert 0 < len(device.read_bytes()) < len(LARGE)


@pytest.mark.usefixtures("signals")
def test_signal(
    cloud: Cloud,
    source: ImageSource,
    ec2: Ec2,
    folder: Path,
    device: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So does a signal: the program's input ends, the program with it, and the volume goes."""
    really_read = image_file.chunks

    def read(path: str) -> Iterator[bytes]:
        for chunk in really_read(path):
            yield chunk
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr("bosh_aws_cpi.cpi.stemcells.image_file.chunks", read)
    install(folder, WRITE)
    lay_attached(ec2)
    lay_removed(ec2)
    undo = Undo()
    with pytest.raises(Interrupted):
        upload(cloud, source, VM, undo)
    assert device.read_bytes() == LARGE[:MIB]
    undo.run("a signal")
