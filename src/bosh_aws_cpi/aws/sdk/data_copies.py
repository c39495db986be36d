"""Cached copies of the SDK's large data files, cut to the parts that the CPI needs.

The first call writes them for later calls, because an installation with pip has no step that could. The
release's package has such a step, so it contains no large file.
"""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import botocore

from bosh_aws_cpi.aws.sdk import data_cut, private_files
from bosh_aws_cpi.log import logger

MAX_AGE: Final = 30 * 86_400
"""Seconds after which a copy is deleted, since botocore may have been upgraded."""
ACTIONS: Final = Path(__file__).with_stem("permissions")
"""The file of the table of AWS calls: to read it takes less than to load it."""


def needed(path: Path, read: Callable[[Path], Any], *, for_commands: bool) -> Any:  # noqa: ANN401 - any JSON value
    """Return the parts of a large file that the CPI needs, from the copy of an earlier call if there is one.

    Args:
        path: The large file.
        read: Reads it when there is no copy.
        for_commands: Whether operators' commands read it, which need more than the methods.
    """
    kind = path.name.partition(".")[0]
    copy = _copy_of(path, for_commands=for_commands)
    if copy is not None and (kept := _left(copy)) is not None:
        return kept
    document = data_cut.cut(kind, read(path), for_commands=for_commands)
    if copy is not None:
        _leave(copy, document)
    return document


def _left(copy: Path) -> Any | None:  # noqa: ANN401 - any JSON value
    """The copy of an earlier call; None when there is none, or it is damaged."""
    try:
        digest, _, content = private_files.read_own(copy).partition(b"\n")
    except OSError:
        return None
    return json.loads(content) if digest == _digest(content) else None


def _digest(content: bytes) -> bytes:
    return sha256(content).hexdigest().encode()


def _copy_of(path: Path, *, for_commands: bool) -> Path | None:
    """The copy's path. Its name depends on the large file, the table of AWS calls and the copy's format."""
    folder = private_files.folder()
    if folder is None:
        return None
    found = path.stat()
    source = [botocore.__version__, str(path), found.st_size, found.st_mtime_ns]
    text = json.dumps([data_cut.FORMAT, source, for_commands])
    return folder / f"sdk-{sha256(text.encode() + ACTIONS.read_bytes()).hexdigest()[:16]}.json"


def _leave(copy: Path, document: object) -> None:
    """Write a copy for later calls, and delete old copies."""
    content = json.dumps(document, separators=(",", ":")).encode()
    try:
        private_files.write(copy, _digest(content) + b"\n" + content)
    except OSError as error:
        logger.debug("Could not cache the SDK's data: %s", error)
    private_files.delete_older(copy.parent, "sdk-*", MAX_AGE)
