"""Images of heavy stemcells: bad ones are refused before any AWS call, with little memory and CPU time.

Other images that are refused are in tests/unit/cpi/stemcells.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed.cloud import FakeAws
from testbed.executable import EXECUTABLE, Cpi, config
from tests.crafted_tars import RECORD, bomb, header, sparse
from tests.protocols import WriteError
from tests.stories.stemcell_images import BLOCK, Heavy, packed, written

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
DAMAGED = "Stemcell image PATH is truncated or damaged: {}" + AGAIN
OTHER = ". Use a stemcell whose image contains root.img alone, as a file"
TOO_LARGE = (
    f"root.img in PATH needs {MANY} MiB, but the stemcell's disk has only 3072 MiB: "
    f"set the cloud property disk to {MANY}"
)
WHOLE = packed()

REFUSED: dict[str, tuple[bytes, str]] = {
    "text": (b"this is no image", f"Stemcell image PATH is not a gzipped tar{AGAIN}"),
    "other name": (
        packed(name="disk.img"),
        "Stemcell image PATH contains no root.img: is it a stemcell for AWS?",
    ),
    "cut off": (WHOLE[: len(WHOLE) // 2], DAMAGED.format("its gzip stream ends too early")),
    "zeros": (packed(bytes(2 * BLOCK)), f"root.img in PATH is empty{AGAIN}"),
}
"""Archives, and the error."""

HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "many members": (
        lambda: bomb(b"", header(b"a"), MANY // 8),
        DAMAGED.format("its tar headers exceed 4 MiB"),
    ),
    "large member": (
        lambda: bomb(header(b"a", MANY << 20), bytes(RECORD), MANY),
        f"Stemcell image PATH contains more than 256 MiB beside root.img{OTHER}",
    ),
    "holes": (
        lambda: bomb(sparse([(0, 512)], MANY << 20, 512), bytes(RECORD), MANY),
        TOO_LARGE,
    ),
}
"""Archives that unpack to far more than they are, and the error."""


@pytest.mark.parametrize("what", REFUSED)
def test_refused(heavy: Heavy, tmp_path: Path, fake_aws: FakeAws, failure: WriteError, what: str) -> None:
    """The error for a file that is not a gzipped tar with a usable root.img says why; AWS is not called."""
    archive, message = REFUSED[what]
    path = heavy.arguments[0] = written(tmp_path, archive)
    assert heavy.create().error == failure("CloudError", message.replace("PATH", f"'{path}'"))
    assert fake_aws.actions() == []


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile(heavy: Heavy, tmp_path: Path, fake_aws: FakeAws, failure: WriteError, what: str) -> None:
    """An image that would unpack without end is refused within the limits."""
    archive, message = HOSTILE[what]
    path = heavy.arguments[0] = written(tmp_path, archive())
    limits = [str(MEMORY_MIB << 20), str(CPU_SECONDS)]
    limited = Cpi(
        config(fake_aws.endpoint), command=[sys.executable, "-I", "-c", LIMITED, *limits, EXECUTABLE]
    )
    error = heavy.create(cpi=limited).error
    assert error == failure("CloudError", message.replace("PATH", f"'{path}'"))
    assert fake_aws.actions() == []


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/missing/image", "Stemcell image '/missing/image' can't be read: No such file or directory"),
        ("/x\0y", "image_path can't be a file's path, because it contains a NUL: '/x\\x00y'"),
    ],
)
def test_no_file(heavy: Heavy, fake_aws: FakeAws, failure: WriteError, path: str, message: str) -> None:
    """The error for a path that is not a file's quotes it, with the system's words."""
    heavy.arguments[0] = path
    assert heavy.create().error == failure("CloudError", message)
    assert fake_aws.actions() == []


def test_fifo(heavy: Heavy, tmp_path: Path, failure: WriteError) -> None:
    """A FIFO is refused at once."""
    path = heavy.arguments[0] = str(tmp_path / "fifo")
    os.mkfifo(path)
    assert heavy.create().error == failure("CloudError", f"Stemcell image '{path}' is not a file{AGAIN}")
