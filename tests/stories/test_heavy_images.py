"""Images of heavy stemcells: bad ones are refused before any AWS call, large ones need little memory."""

from __future__ import annotations

import gzip
import sys
import tarfile
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from testbed.executable import Cpi, config
from tests.stories.stemcell_images import BLOCK, MIB, PROPERTIES, SMALL, blocks, packed, written

if TYPE_CHECKING:
    from testbed.cloud import FakeAws
    from testbed.world import World
    from tests.protocols import WriteError
    from tests.stories.stemcell_images import Heavy

AGAIN = ". Download the stemcell again"
OTHER = ". Use a stemcell whose image contains root.img alone, as a file"
NO_TAR = f"is not a gzipped tar{AGAIN}"
NO_IMAGE = "contains no root.img: is it a stemcell for AWS?"
WHOLE = packed()
LARGE = 2048 * MIB // BLOCK
"""How many blocks the large image has."""
FULL = {number * (LARGE - 1) // 599 for number in range(600)}
"""Those of them that are not zeros, from the first to the last: 300 MiB."""
MEMORY = 200 * MIB
MEASURED = """
import resource, subprocess, sys
path, *command = sys.argv[1:]
status = subprocess.call(command)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
open(path, "w").write(str(peak * (1 if sys.platform == "darwin" else 1024)))
sys.exit(status)
"""
"""Runs the executable and writes down its peak memory in bytes.

A process of its own, and a small one: a new process's peak begins with that of who starts it.
"""


@pytest.mark.parametrize(
    ("archive", "message"),
    [
        (b"this is no image", NO_TAR),
        (SMALL[:MIB], NO_TAR),
        (
            gzip.compress(b"this is no tar" * 100),
            f"is truncated or damaged: a tar header has a wrong checksum{AGAIN}",
        ),
        (b"", f"is truncated or damaged: it is empty{AGAIN}"),
        (packed(name="disk.img"), NO_IMAGE),
        (packed(kind=tarfile.DIRTYPE), f"contains root.img as a folder{OTHER}"),
        (packed(kind=tarfile.SYMTYPE), f"contains root.img as a symbolic link{OTHER}"),
        (
            WHOLE[: len(WHOLE) // 2],
            f"is truncated or damaged: its gzip stream ends too early{AGAIN}",
        ),
        (
            gzip.compress(gzip.decompress(WHOLE)[: len(SMALL) // 2], 1),
            f"is truncated or damaged: its tar ends too early{AGAIN}",
        ),
    ],
    ids=[
        "text",
        "bare-image",
        "no-tar",
        "empty",
        "other-name",
        "folder",
        "link",
        "cut-off",
        "tar-cut-off",
    ],
)
def test_no_image(
    heavy: Heavy,
    tmp_path: Path,
    fake_aws: FakeAws,
    failure: WriteError,
    archive: bytes,
    message: str,
) -> None:
    """The error for a file that is not a gzipped tar with root.img says what is wrong; AWS is not called."""
    path = heavy.arguments[0] = written(tmp_path, archive)
    assert heavy.create().error == failure("CloudError", f"Stemcell image '{path}' {message}")
    assert fake_aws.actions() == []


def test_damaged(heavy: Heavy, tmp_path: Path, fake_aws: FakeAws, failure: WriteError) -> None:
    """An archive with a wrong checksum at its end is refused."""
    path = heavy.arguments[0] = written(tmp_path, WHOLE[:-8] + bytes(4) + WHOLE[-4:])
    what = f"is truncated or damaged: its gzip stream is invalid (incorrect data check){AGAIN}"
    assert heavy.create().error == failure("CloudError", f"Stemcell image '{path}' {what}")
    assert fake_aws.actions() == []


@pytest.mark.parametrize(
    ("name", "reason"), [("missing", "No such file or directory"), ("", "Is a directory")]
)
def test_no_file(
    heavy: Heavy,
    tmp_path: Path,
    fake_aws: FakeAws,
    failure: WriteError,
    name: str,
    reason: str,
) -> None:
    """The error for a missing file has the system's words."""
    path = heavy.arguments[0] = str(tmp_path / name)
    expected = failure("CloudError", f"Stemcell image '{path}' can't be read: {reason}")
    assert heavy.create().error == expected
    assert fake_aws.actions() == []


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/x\0y", "image_path can't be a file's path, because it contains a NUL: '/x\\x00y'"),
        ("", "Stemcell image '' can't be read: No such file or directory"),
        ("/dev/zero", f"Stemcell image '/dev/zero' is not a file{AGAIN}"),
    ],
    ids=["nul", "empty", "device"],
)
def test_no_path(heavy: Heavy, fake_aws: FakeAws, failure: WriteError, path: str, message: str) -> None:
    """The error for a path that is not a file's quotes it."""
    heavy.arguments[0] = path
    assert heavy.create().error == failure("CloudError", message)
    assert fake_aws.actions() == []


@pytest.mark.parametrize(("size", "disk", "needed"), [(3 * MIB, 2, 1024), (MIB + 1, 1, 1024)])
def test_larger_than_its_disk(
    heavy: Heavy,
    tmp_path: Path,
    fake_aws: FakeAws,
    failure: WriteError,
    size: int,
    disk: int,
    needed: int,
) -> None:
    """The error for an image that is too large for its disk has a size that suffices."""
    path = heavy.arguments[0] = written(tmp_path, packed(bytes(size)))
    message = (
        f"root.img in '{path}' needs {-(-size // MIB)} MiB, but the stemcell's disk has only {disk} MiB: "
        f"set the cloud property disk to {needed}"
    )
    assert heavy.create(disk=disk).error == failure("CloudError", message)
    assert fake_aws.actions() == []


@pytest.mark.parametrize("size", [0, 1, 2 * BLOCK])
def test_empty(heavy: Heavy, tmp_path: Path, fake_aws: FakeAws, failure: WriteError, size: int) -> None:
    """An image of zeros is refused."""
    path = heavy.arguments[0] = written(tmp_path, packed(bytes(size)))
    assert heavy.create().error == failure("CloudError", f"root.img in '{path}' is empty{AGAIN}")
    assert fake_aws.actions() == []


def test_as_large_as_its_disk(heavy: Heavy, tmp_path: Path, world: World) -> None:
    """An image that fills its disk exactly is accepted."""
    heavy.arguments[0] = written(tmp_path, packed(bytes(MIB - 1) + b"x"))
    assert world.state()["images"] == []
    assert heavy.create(disk=1).ok() in world.state()["images"]


def block_of(index: int) -> bytes:
    """Return a block of the large image; of those that are not zeros no two are alike."""
    return sha256(b"%d" % index).digest() * (BLOCK // 32) if index in FULL else bytes(BLOCK)


@pytest.fixture
def large(tmp_path: Path) -> str:
    """Write the archive of the large image."""
    path = tmp_path / "image"
    member = tarfile.TarInfo("root.img")
    member.size = LARGE * BLOCK
    with gzip.open(path, "wb", compresslevel=1) as archive:
        archive.write(member.tobuf())
        for index in range(LARGE):
            archive.write(block_of(index))
        archive.write(bytes(2 * tarfile.BLOCKSIZE))
    return str(path)


@pytest.mark.faults
def test_large(world: World, fake_aws: FakeAws, large: str, tmp_path: Path) -> None:
    """2 GiB become an AMI byte for byte, by one PUT for each block of data, within 200 MiB of memory."""
    peak = tmp_path / "peak"
    executable = str(Path(sys.executable).parent / "cpi")
    command = [sys.executable, "-I", "-c", MEASURED, str(peak), executable]
    cpi = Cpi(config(fake_aws.endpoint), command=command)
    ami_id = cpi.call("create_stemcell", large, {**PROPERTIES, "disk": 2048}).ok()
    assert int(peak.read_text()) < MEMORY
    assert fake_aws.actions().count("PutSnapshotBlock") == len(FULL) == 300 * MIB // BLOCK
    (snapshot_id,) = world.state()["snapshots"]
    assert world.state() == {**world.empty, "images": [ami_id], "snapshots": [snapshot_id]}
    same = {index: data == block_of(index) for index, data in blocks(fake_aws, snapshot_id)}
    assert same == dict.fromkeys(sorted(FULL), True)
    fake_aws.reset()  # it holds all blocks
