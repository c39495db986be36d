"""Cache files in a private directory of the user; a call also works without them.

Concurrent processes share the directory. Each file is written under another name and then renamed, so a
reader finds a complete file or none.
"""

import json
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from errno import EACCES
from pathlib import Path
from typing import Any, Final, TypeVar

from bosh_aws_cpi.log import logger

_T = TypeVar("_T")
_LARGEST: Final = 4 << 20
"""Bytes; no cache file has a tenth of that."""


def folder() -> Path | None:
    """Return the first of the usual places that only this user can access; it is created if missing."""
    for place in filter(Path.is_absolute, _places()):
        with suppress(OSError):
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            if is_private(place):
                return place
    return None


def write(path: Path, content: bytes) -> None:
    """Write a file, completely or not at all.

    Raises:
        OSError: It can't be written.
    """
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(temporary).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(temporary).unlink()
        raise


def read_own(path: Path, largest: int = _LARGEST) -> bytes:
    """Read a file that this user alone has written, and only under this name.

    Raises:
        OSError: There is none.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        is_only = found.st_uid == os.geteuid() and found.st_nlink <= 1  # none if it was just replaced
        is_private = stat.S_ISREG(found.st_mode) and not stat.S_IMODE(found.st_mode) & 0o077
        if not (is_only and is_private and found.st_size < largest and found.st_mtime <= time.time()):
            raise PermissionError(EACCES, "not written by the CPI", str(path))
        return file.read(largest)


def read_json(path: Path | None, max_age: float, read: Callable[[Any], _T]) -> _T | None:
    """Read a cache file, which any program may have written.

    Args:
        path: None without a directory for cache files.
        max_age: In seconds, counted from `write_json`.
        read: Gets the JSON, which may have any shape: an error that this causes counts as a missing file.

    Returns:
        The function's result; None without a file that can be read.
    """
    if path is None:
        return None
    try:
        written, document = json.loads(read_own(path))
        return read(document) if 0 <= time.time() - written < max_age else None
    except (OSError, ValueError, TypeError, AttributeError, KeyError, OverflowError, RecursionError):
        return None


def write_json(path: Path | None, document: object, what: str) -> None:
    """Write a cache file, if that is possible.

    Args:
        path: None without a directory for cache files.
        document: The content.
        what: What it is, for the log.
    """
    if path is None:
        return
    try:
        write(path, json.dumps([time.time(), document], separators=(",", ":")).encode())
    except OSError as error:
        logger.debug("Could not cache %s: %s", what, error)


def delete_older(folder: Path, pattern: str, seconds: float) -> None:
    """Delete files that nobody has written for some time."""
    for path in folder.glob(pattern):
        with suppress(OSError):  # another call may be deleting it at this moment
            if time.time() - path.stat().st_mtime > seconds:
                path.unlink()


def _places() -> Iterator[Path]:
    if cache := os.environ.get("XDG_CACHE_HOME"):
        yield Path(cache) / "bosh-aws-cpi"
    home = os.environ.get("HOME")
    if home and os.path.isdir(home):  # noqa: PTH112 - pathlib's may raise; a missing home is not created
        yield Path(home) / ".cache" / "bosh-aws-cpi"
    with suppress(OSError):  # no temporary folder is writable
        temporary = Path(tempfile.gettempdir())
        name = f"bosh-aws-cpi-{os.geteuid()}"
        yield temporary / name
        yield from sorted(temporary.glob(f"{name}-*"))  # earlier calls created these as below
        yield Path(tempfile.mkdtemp(prefix=f"{name}-", dir=temporary))  # somebody else may own all others


def is_private(folder: Path) -> bool:
    """Whether only this user can access an existing folder, and can write to it."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    is_own_folder = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    return is_own_folder and not stat.S_IMODE(found.st_mode) & 0o077 and os.access(folder, os.W_OK)
