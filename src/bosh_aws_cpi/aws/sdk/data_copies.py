"""Copies of the SDK's large files that have only what the CPI needs: the first call leaves them for others.

What pip installs has no step in which they could be made; the release's package has, and brings no file
that is so large.
"""

import json
import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import botocore

from bosh_aws_cpi.aws.sdk import data_cut, permissions, private_files
from bosh_aws_cpi.log import logger

MAX_AGE: Final = 30 * 86_400
"""Seconds after which a copy may go, since botocore may be another one by now."""


def needed(path: Path, read: Callable[[Path], Any]) -> Any:  # noqa: ANN401 - JSON is what it is
    """Return what the CPI needs of a large file, from the copy that an earlier call has left, if any.

    Args:
        path: The large file.
        read: Reads it when there is no copy.
    """
    kind = path.name.partition(".")[0]
    copy = _copy_of(path)
    kept = _left(copy, kind) if copy is not None else None
    if kept is not None:
        return kept
    document = data_cut.cut(kind, read(path))
    if copy is not None:
        _leave(copy, document)
    return document


def _left(copy: Path, kind: str) -> Any | None:  # noqa: ANN401 - JSON is what it is
    """What an earlier call has left; None when it is not there, or is no such document."""
    try:
        kept = json.loads(copy.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return kept if isinstance(kept, dict) and data_cut.PARTS.get(kind, set()) <= kept.keys() else None


def _copy_of(path: Path) -> Path | None:
    """Where the copy is, or will be: named after the file, what is called, and how it is cut."""
    folder = private_files.folder()
    if folder is None:
        return None
    found = path.stat()
    source = [botocore.__version__, str(path), found.st_size, found.st_mtime_ns]
    text = json.dumps([data_cut.FORMAT, source, sorted(permissions.operations())])
    return folder / f"sdk-{sha256(text.encode()).hexdigest()[:16]}.json"


def _leave(copy: Path, document: object) -> None:
    """Leave a copy for later calls, and nothing that was left long ago."""
    try:
        private_files.write(copy, json.dumps(document, separators=(",", ":")).encode())
    except OSError as error:
        logger.debug("The SDK's data is not kept: %s", error)
    for other in copy.parent.glob("sdk-*"):
        with suppress(OSError):  # another call does the same at this moment, perhaps
            if time.time() - other.stat().st_mtime > MAX_AGE:
                other.unlink()
