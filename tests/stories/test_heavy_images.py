"""Images of heavy stemcells: bad ones are refused before any AWS call.

Other images that are refused are in tests/unit/cpi/stemcells.
"""

import os
from pathlib import Path

import pytest

from testbed.cloud import FakeAws
from tests.stories.stemcell_images import BLOCK, Heavy, packed, written
from tests.stories.story import Story

AGAIN = ". Download the stemcell again"
DAMAGED = "Stemcell image PATH is no gzipped tar, or is truncated or damaged: {}" + AGAIN
ENDS = "Compressed file ended before the end-of-stream marker was reached"
WHOLE = packed()

REFUSED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", f"Stemcell image PATH is empty, or not a file{AGAIN}"),
    "text": (b"this is no image", DAMAGED.format("Not a gzipped file (b'th')")),
    "other name": (
        packed(name="disk.img"),
        "Stemcell image PATH contains no root.img: is it a stemcell for AWS?",
    ),
    "cut off": (
        WHOLE[: len(WHOLE) // 2],
        DAMAGED.format(ENDS),
    ),
    "zeros": (packed(bytes(2 * BLOCK)), f"root.img in PATH is empty{AGAIN}"),
}
"""Archives, and the error."""


@pytest.mark.parametrize("what", REFUSED)
def test_refused(story: Story, heavy: Heavy, tmp_path: Path, fake_aws: FakeAws, what: str) -> None:
    """The error for a file that is not a gzipped tar with a usable root.img says why; AWS is not called."""
    archive, message = REFUSED[what]
    path = heavy.arguments[0] = written(tmp_path, archive)
    assert heavy.create().error == story.failure("CloudError", message.replace("PATH", f"'{path}'"))
    assert fake_aws.actions() == []


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/missing/image", "Stemcell image '/missing/image' can't be read: No such file or directory"),
        ("/x\0y", "image_path can't be a file's path, because it contains a NUL: '/x\\x00y'"),
    ],
)
def test_no_file(story: Story, heavy: Heavy, fake_aws: FakeAws, path: str, message: str) -> None:
    """The error for a path that is not a file's quotes it, with the system's words."""
    heavy.arguments[0] = path
    assert heavy.create().error == story.failure("CloudError", message)
    assert fake_aws.actions() == []


def test_fifo(story: Story, heavy: Heavy, tmp_path: Path) -> None:
    """A FIFO is refused at once."""
    path = heavy.arguments[0] = str(tmp_path / "fifo")
    os.mkfifo(path)
    assert heavy.create().error == story.failure(
        "CloudError", f"Stemcell image '{path}' is not a file{AGAIN}"
    )
