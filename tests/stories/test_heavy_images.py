"""Images of heavy stemcells: bad ones are refused before any AWS call, large ones need little memory."""

import gzip
import tarfile
from pathlib import Path

import pytest

from testbed.cloud import FakeAws
from testbed.world import World
from tests.protocols import WriteError
from tests.stories.stemcell_images import BLOCK, MIB, SMALL, Heavy, packed, written

AGAIN = ". Download the stemcell again"
OTHER = ". Use a stemcell whose image contains root.img alone, as a file"
NO_TAR = f"is not a gzipped tar{AGAIN}"
WHOLE = packed()


def damaged(what: str) -> str:
    """The error for an archive that breaks a rule of tar or gzip."""
    return f"Stemcell image PATH is truncated or damaged: {what}{AGAIN}"


def too_large(mib: int, disk: int) -> str:
    """The error for an image that its disk can't hold; the smallest disk that suffices is 1 GiB."""
    return (
        f"root.img in PATH needs {mib} MiB, but the stemcell's disk has only {disk} MiB: "
        "set the cloud property disk to 1024"
    )


REFUSED: dict[str, tuple[bytes, int, str]] = {
    "text": (b"this is no image", 3072, f"Stemcell image PATH {NO_TAR}"),
    "bare image": (SMALL[:MIB], 3072, f"Stemcell image PATH {NO_TAR}"),
    "no tar": (gzip.compress(b"this is no tar" * 100), 3072, damaged("a tar header has a wrong checksum")),
    "empty file": (b"", 3072, damaged("it is empty")),
    "other name": (
        packed(name="disk.img"),
        3072,
        "Stemcell image PATH contains no root.img: is it a stemcell for AWS?",
    ),
    "folder": (
        packed(kind=tarfile.DIRTYPE),
        3072,
        f"Stemcell image PATH contains root.img, but not as a file{OTHER}",
    ),
    "link": (
        packed(kind=tarfile.SYMTYPE),
        3072,
        f"Stemcell image PATH contains root.img, but not as a file{OTHER}",
    ),
    "cut off": (WHOLE[: len(WHOLE) // 2], 3072, damaged("its gzip stream ends too early")),
    "tar cut off": (
        gzip.compress(gzip.decompress(WHOLE)[: len(SMALL) // 2], 1),
        3072,
        damaged("its tar ends too early"),
    ),
    "wrong checksum": (WHOLE[:-8] + bytes(4) + WHOLE[-4:], 3072, damaged("its gzip stream is invalid")),
    "no bytes": (packed(b""), 3072, f"root.img in PATH is empty{AGAIN}"),
    "a zero": (packed(bytes(1)), 3072, f"root.img in PATH is empty{AGAIN}"),
    "blocks of zeros": (packed(bytes(2 * BLOCK)), 3072, f"root.img in PATH is empty{AGAIN}"),
    "larger than its disk": (packed(bytes(3 * MIB)), 2, too_large(3, 2)),
    "a byte larger than its disk": (packed(bytes(MIB + 1)), 1, too_large(2, 1)),
}
"""Archives, the size of the disk in MiB, and the error."""


@pytest.mark.parametrize("what", REFUSED)
def test_refused(heavy: Heavy, tmp_path: Path, fake_aws: FakeAws, failure: WriteError, what: str) -> None:
    """The error for a file that is not a gzipped tar with a usable root.img says why; AWS is not called."""
    archive, disk, message = REFUSED[what]
    path = heavy.arguments[0] = written(tmp_path, archive)
    assert heavy.create(disk=disk).error == failure("CloudError", message.replace("PATH", f"'{path}'"))
    assert fake_aws.actions() == []


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/missing/image", "Stemcell image '/missing/image' can't be read: No such file or directory"),
        ("/dev", "Stemcell image '/dev' can't be read: Is a directory"),
        ("/x\0y", "image_path can't be a file's path, because it contains a NUL: '/x\\x00y'"),
        ("", "Stemcell image '' can't be read: No such file or directory"),
        ("/dev/zero", f"Stemcell image '/dev/zero' is not a file{AGAIN}"),
    ],
    ids=["missing", "folder", "nul", "empty", "device"],
)
def test_no_file(heavy: Heavy, fake_aws: FakeAws, failure: WriteError, path: str, message: str) -> None:
    """The error for a path that is not a file's quotes it, with the system's words."""
    heavy.arguments[0] = path
    assert heavy.create().error == failure("CloudError", message)
    assert fake_aws.actions() == []


def test_as_large_as_its_disk(heavy: Heavy, tmp_path: Path, world: World) -> None:
    """An image that fills its disk exactly is accepted."""
    heavy.arguments[0] = written(tmp_path, packed(bytes(MIB - 1) + b"x"))
    assert world.state()["images"] == []
    assert heavy.create(disk=1).ok() in world.state()["images"]
