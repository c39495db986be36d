"""Hostile images of heavy stemcells: an error before any AWS call, with little memory and CPU time."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi, config
from tests.crafted_tars import (
    DATA,
    END,
    HUGE,
    IMAGE,
    RECORD,
    ROOT,
    attributes,
    bomb,
    extension,
    header,
    member,
    packed,
    sparse,
)
from tests.protocols import WriteError
from tests.stories.stemcell_images import Heavy, written

MEMORY_MIB = 256
CPU_SECONDS = 10
LIMITED = """
import os, resource, sys
memory, cpu, *command = sys.argv[1:]
if sys.platform == "linux":
    resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
resource.setrlimit(resource.RLIMIT_CPU, (int(cpu), int(cpu)))
os.execv(command[0], command)
"""
"""Starts the executable with little memory and CPU: the kernel sees to both."""
MANY = 16 << 10
"""MiB that no such memory holds, and that take longer than that CPU time to unpack; on disk, 16 MiB."""
AGAIN = ". Download the stemcell again"
OTHER = ". Use a stemcell whose image contains root.img alone, as a file"
SIZE = f"a tar header has a size of {HUGE} bytes, which no disk has"
NEGATIVE = "a tar header has a size of -1024 bytes, which no disk has"
NO_FILE = "root.img, but not as a file"
HEADERS = "its tar headers exceed 4 MiB"
FIRST_MAP = (
    (b"GNU.sparse.major", b"1"),
    (b"GNU.sparse.minor", b"0"),
    (b"GNU.sparse.name", ROOT),
    (b"GNU.sparse.realsize", b"1048576"),
)
"""Attributes of an image with holes whose map is in front of its data."""
NO_MAP = attributes(*FIRST_MAP) + header(b"GNUSparseFile/root.img", 64 << 30)

DAMAGED: dict[str, tuple[Callable[[], bytes], str]] = {
    "negative size": (lambda: packed(header(b"a", -1024) + IMAGE), NEGATIVE),
    "endless image": (lambda: packed(header(ROOT, HUGE) + IMAGE), SIZE),
    "image larger than its file": (
        lambda: packed(header(ROOT, 1 << 30) + DATA + END),
        "its tar ends too early",
    ),
    "long name": (lambda: bomb(header(b"l", MANY << 20, b"L"), bytes(RECORD), MANY), HEADERS),
    "attributes": (lambda: bomb(header(b"x", MANY << 20, b"x"), b"8 a=bcd\n", MANY), HEADERS),
    "long name behind a map of more data": (
        lambda: bomb(
            sparse([(0, MANY << 20)], MANY << 20, 0, name=b"a") + header(b"l", MANY << 20, b"L"),
            bytes(RECORD),
            MANY,
        ),
        HEADERS,
    ),
    "many members": (lambda: bomb(b"", header(b"a"), MANY // 8), HEADERS),
    "endless map": (
        lambda: bomb(sparse([], 1 << 20, 512, more=True), extension([(0, 0)] * 21, more=True), MANY // 8),
        HEADERS,
    ),
    "map of many segments": (
        lambda: bomb(NO_MAP + b"999999999999\n".ljust(RECORD, b"1"), b"0\n0\n", MANY),
        "its sparse map has more than 262144 segments",
    ),
    "map without segments": (
        lambda: bomb(NO_MAP + b"262144\n".ljust(RECORD, b"1"), b"1" * RECORD, MANY),
        HEADERS,
    ),
    "map of a number without end": (
        lambda: bomb(NO_MAP, b"1" * RECORD, MANY),
        "an extended tar header has '11111111111111111111' in place of a size",
    ),
    "unknown type": (
        lambda: packed(member(b"a", kind=b"M") + IMAGE),
        "its tar has a member of type 'M' with 512 bytes",
    ),
    "link with data": (
        lambda: packed(member(b"a", kind=b"1") + IMAGE),
        "its tar has a member of type '1' with 512 bytes",
    ),
    "end after an extended header": (
        lambda: packed(attributes((b"path", ROOT)) + END),
        "its tar ends after an extended header",
    ),
    "garbage behind it": (lambda: packed(IMAGE) + b"garbage", "something else follows its gzip stream"),
    "empty streams": (
        lambda: packed(b"") * (1 << 19) + packed(IMAGE),
        "4 MiB of its gzip stream unpack to almost nothing",
    ),
}
"""Archives, and what is wrong with them."""
REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "hard link": (
        lambda: packed(member(b"a") + header(ROOT, kind=b"1") + END),
        NO_FILE,
    ),
    "device": (lambda: packed(header(ROOT, kind=b"3") + END), NO_FILE),
    "two images": (lambda: packed(member() + member(b"./root.img", DATA[::-1]) + END), "root.img twice"),
    "large member": (
        lambda: bomb(header(b"a", MANY << 20), bytes(RECORD), MANY),
        "more than 256 MiB beside root.img",
    ),
    "much behind the end": (
        lambda: bomb(IMAGE, bytes(RECORD), MANY),
        "more than 256 MiB beside root.img",
    ),
}
"""Archives, and what they contain."""


@pytest.fixture
def limited(fake_aws: FakeAws) -> Cpi:
    """Return the executable with little memory and CPU."""
    executable = str(Path(sys.executable).parent / "cpi")
    limits = [str(MEMORY_MIB << 20), str(CPU_SECONDS)]
    command = [sys.executable, "-I", "-c", LIMITED, *limits, executable]
    return Cpi(config(fake_aws.endpoint), command=command)


@pytest.fixture
def check(
    heavy: Heavy, limited: Cpi, tmp_path: Path, fake_aws: FakeAws, failure: WriteError
) -> Callable[[bytes, str], None]:
    """Return a function that checks that an archive is refused in these words, within the limits."""

    def look(archive: bytes, message: str) -> None:
        heavy.arguments[0] = path = written(tmp_path, archive)
        error = heavy.create(cpi=limited).error
        assert error == failure("CloudError", message.replace("PATH", f"'{path}'"))
        assert fake_aws.actions() == []

    return look


@pytest.mark.parametrize("lie", DAMAGED)
def test_damaged(check: Callable[[bytes, str], None], lie: str) -> None:
    """An archive that breaks a rule of tar or gzip is damaged, and the error says which rule."""
    archive, what = DAMAGED[lie]
    check(archive(), f"Stemcell image PATH is truncated or damaged: {what}{AGAIN}")


@pytest.mark.parametrize("lie", REFUSED)
def test_refused(check: Callable[[bytes, str], None], lie: str) -> None:
    """An archive that contains something else than one image is refused, and the error says what."""
    archive, what = REFUSED[lie]
    check(archive(), f"Stemcell image PATH contains {what}{OTHER}")


@pytest.mark.parametrize(
    "start",
    [header(ROOT, MANY << 20), sparse([(0, 512)], MANY << 20, 512)],
    ids=["zeros", "holes"],
)
def test_larger_than_its_disk(check: Callable[[bytes, str], None], start: bytes) -> None:
    """An image that would unpack to more than its disk is refused by its header alone."""
    message = (
        f"root.img in PATH needs {MANY} MiB, but the stemcell's disk has only 3072 MiB: "
        f"set the cloud property disk to {MANY}"
    )
    check(bomb(start, bytes(RECORD), MANY), message)


def test_large_disk(
    heavy: Heavy, limited: Cpi, fake_aws: FakeAws, failure: WriteError, tmp_path: Path
) -> None:
    """More than 64 GiB of data are refused, however large the stemcell's disk is."""
    path = heavy.arguments[0] = written(tmp_path, packed(header(ROOT, (64 << 30) + 1)))

    message = (
        f"root.img in '{path}' has more than 64 GiB of data: pack it with tar -S, which leaves out its "
        "holes, or use a light stemcell"
    )
    assert heavy.create(cpi=limited, disk=1 << 20).error == failure("CloudError", message)
    assert fake_aws.actions() == []


def test_hole_behind_it(
    heavy: Heavy, limited: Cpi, fake_aws: FakeAws, failure: WriteError, tmp_path: Path
) -> None:
    """A file that ends with a hole of 64 GiB is refused as damaged."""
    path = heavy.arguments[0] = written(tmp_path, packed(IMAGE))
    os.truncate(path, 64 << 30)
    what = f"is truncated or damaged: 4 MiB of its gzip stream unpack to almost nothing{AGAIN}"
    assert heavy.create(cpi=limited).error == failure("CloudError", f"Stemcell image '{path}' {what}")
    assert fake_aws.actions() == []


def test_fifo(heavy: Heavy, limited: Cpi, fake_aws: FakeAws, failure: WriteError, tmp_path: Path) -> None:
    """A FIFO is refused at once."""
    path = heavy.arguments[0] = str(tmp_path / "fifo")
    os.mkfifo(path)
    message = f"Stemcell image '{path}' is not a file{AGAIN}"
    assert heavy.create(cpi=limited).error == failure("CloudError", message)
    assert fake_aws.actions() == []
