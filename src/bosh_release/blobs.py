"""Reads and writes the lists of the release's sources: config/blobs.yml, the lock file, the hashes."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
BLOBS = ROOT / "blobs"
INDEX = ROOT / "config" / "blobs.yml"
LOCK = ROOT / "requirements" / "run.txt"
PYTHON = "3.13"
"""The minor version of CPython in the release, and of its wheels."""
SOURCE_HASH = "bosh_release/python.sha256"
"""The path, below src/, of the hash with which the interpreter's package checks its source."""

_REQUIREMENT = re.compile(r"^(\S+)==.*(?:\n +--hash=.*)+", re.MULTILINE)


class VendorError(Exception):
    """A blob cannot be fetched, or is not the listed file; the message names the blob."""


@dataclass(frozen=True)
class Blob:
    """An entry of config/blobs.yml."""

    path: str
    """The path below blobs/."""
    size: int
    sha256: str
    object_id: str | None = None
    """The id in the blobstore of final releases; None before the upload."""

    @property
    def file(self) -> Path:
        """The path of the file, even before the file is fetched."""
        return BLOBS / self.path

    @property
    def platform(self) -> str:
        """The platform of a wheel, which is the name of its folder."""
        return self.file.parent.name

    @property
    def is_wheel(self) -> bool:
        """Whether the blob is a wheel, not CPython's source."""
        return self.path.startswith("wheels/")

    def check(self, file: Path) -> None:
        """Check that a file has this blob's size and SHA-256."""
        size, sha256 = measure(file)
        if (size, sha256) != (self.size, self.sha256):
            raise VendorError(
                f"{file} is not the file that config/blobs.yml lists as {self.path}:\n"
                f"{size} bytes with SHA-256 {sha256}, instead of {self.size} bytes with {self.sha256}"
            )


def measure(file: Path) -> tuple[int, str]:
    """Return a file's size and SHA-256."""
    with file.open("rb") as opened:
        return file.stat().st_size, hashlib.file_digest(opened, "sha256").hexdigest()


def read_index(text: str) -> dict[str, Blob]:
    """Return the entries of a blobs.yml by path."""
    entries: dict[str, dict[str, Any]] = yaml.safe_load(text) or {}
    return {
        path: Blob(path, entry["size"], entry["sha"].removeprefix("sha256:"), entry.get("object_id"))
        for path, entry in entries.items()
    }


def index_text(blobs: Iterable[Blob]) -> str:
    """Return a blobs.yml in the format of the `bosh` CLI."""
    return "".join(
        f"{blob.path}:\n  size: {blob.size}\n"
        + (f"  object_id: {blob.object_id}\n" if blob.object_id else "")
        + f"  sha: sha256:{blob.sha256}\n"
        for blob in _ordered(blobs)
    )


def hashes_text(blobs: Iterable[Blob], *, wheels: bool) -> str:
    """Return the hashes of the wheels, or of CPython's source, in the format of `sha256sum`."""
    return "".join(f"{blob.sha256}  {blob.path}\n" for blob in _ordered(blobs) if blob.is_wheel == wheels)


def read_lock(text: str) -> dict[str, str]:
    """Return the requirements of a lock file, with their hashes, by name."""
    return {each.group(1): each.group() for each in _REQUIREMENT.finditer(text)}


def _ordered(blobs: Iterable[Blob]) -> list[Blob]:
    return sorted(blobs, key=lambda blob: blob.path)
