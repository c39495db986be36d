"""Where facts of instance types are kept, and that a place that can't be used is no error."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bosh_aws_cpi.aws.instance_types import TypeCache
from bosh_aws_cpi.model import InstanceTypeFacts

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.conftest import ProgramLog

FACTS = InstanceTypeFacts("m5.large", ebs_needs_nvme_path=True)


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Path]:
    """Give each variable that names a place a folder of its own; returns where the facts would be kept."""
    for name in ("XDG_CACHE_HOME", "HOME", "TMPDIR"):
        (tmp_path / name).mkdir(mode=0o700)
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setattr(tempfile, "tempdir", None)  # it remembers where the process began with
    return {
        "XDG_CACHE_HOME": tmp_path / "XDG_CACHE_HOME/bosh-aws-cpi",
        "HOME": tmp_path / "HOME/.cache/bosh-aws-cpi",
        "TMPDIR": tmp_path / f"TMPDIR/bosh-aws-cpi-{os.geteuid()}",
    }


def used(places: dict[str, Path]) -> list[str]:
    """Keep facts, and say in which of the places they are."""
    TypeCache("e").put(FACTS)
    assert TypeCache("e").get(FACTS.name) in {FACTS, None}
    return [name for name, folder in places.items() if folder.is_dir() and list(folder.iterdir())]


def as_file(folder: Path) -> None:
    """Put a file where the folder would be."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.touch()


def as_link(folder: Path) -> None:
    """Put a link where the folder would be: it may lead to where others can write."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    target = folder.parent / "target"
    target.mkdir(mode=0o700)
    folder.symlink_to(target)


def open_to(mode: int) -> Callable[[Path], None]:
    """Make the folder with another mode."""

    def make(folder: Path) -> None:
        folder.mkdir(parents=True)
        folder.chmod(mode)

    return make


UNUSABLE = pytest.mark.parametrize(
    "spoil",
    [as_file, as_link, *map(open_to, (0o755, 0o770, 0o701, 0o777))],
    ids=["file", "link", "0755", "0770", "0701", "0777"],
)


def test_order(places: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """XDG_CACHE_HOME comes first, then HOME's .cache, then the folder for temporary files."""
    assert used(places) == ["XDG_CACHE_HOME"]
    for variable, expected in (("XDG_CACHE_HOME", "HOME"), ("HOME", "TMPDIR")):
        monkeypatch.delenv(variable)
        assert used(places)[-1] == expected


@pytest.mark.parametrize("value", ["", "relative", "./x"])
def test_no_places(
    places: dict[str, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str
) -> None:
    """An empty or a relative name is no place: it would be somewhere else for each caller."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    monkeypatch.setenv("HOME", value)
    assert used(places) == ["TMPDIR"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["HOME", "TMPDIR", "XDG_CACHE_HOME"]


def test_private(places: dict[str, Path]) -> None:
    """The folder is the user's alone."""
    assert used(places) == ["XDG_CACHE_HOME"]
    assert places["XDG_CACHE_HOME"].stat().st_mode & 0o777 == 0o700


@UNUSABLE
def test_next_place(places: dict[str, Path], spoil: Callable[[Path], None]) -> None:
    """A place that is no folder, or that others may look into, is passed over and left as it is."""
    spoil(places["XDG_CACHE_HOME"])
    before = places["XDG_CACHE_HOME"].lstat().st_mode
    assert used(places) == ["HOME"]
    assert places["XDG_CACHE_HOME"].lstat().st_mode == before


@UNUSABLE
def test_all_names_taken(places: dict[str, Path], spoil: Callable[[Path], None]) -> None:
    """If no place can be trusted, a new one is made beside the last, and later calls use it, too."""
    for folder in places.values():
        spoil(folder)
    for _ in range(2):
        assert used(places) == []
        assert TypeCache("e").get(FACTS.name) == FACTS
        (made,) = places["TMPDIR"].parent.glob(f"{places['TMPDIR'].name}-*")
        assert made.stat().st_mode & 0o777 == 0o700


def test_folder_of_another_user(places: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that another user has made is not used: what it holds is theirs to write."""
    for folder in places.values():
        open_to(0o700)(folder)
    others = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: others)
    assert used(places) == []


def test_folder_that_takes_nothing(places: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that the user can't write into, as on a read-only file system, is passed over."""
    access = os.access

    def refuse(path: Path, mode: int) -> bool:
        return Path(path) != places["XDG_CACHE_HOME"] and access(path, mode)

    monkeypatch.setattr(os, "access", refuse)
    assert used(places) == ["HOME"]


def test_full_disk(places: dict[str, Path], monkeypatch: pytest.MonkeyPatch, program_log: ProgramLog) -> None:
    """Facts that can't be written are not kept; that is said at debug level, and leaves no file."""

    def fail(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    assert used(places) == []
    (record,) = program_log.records
    assert (record.level, record.text) == (
        "DEBUG",
        "Could not cache the facts about 'm5.large': [Errno 28] No space left on device",
    )


def test_no_temporary_folder(places: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a folder for temporary files the other places are used, or nothing is kept."""

    def fail() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", fail)
    assert used(places) == ["XDG_CACHE_HOME"]
    for name in ("XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name)
    assert TypeCache("e").get(FACTS.name) is None


@pytest.mark.parametrize("name", ["nobody", "x" * 5000])
def test_no_home(places: dict[str, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    """A home that is not there is not made, though root could; one that can't be asked for is no error."""
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / name))
    assert used(places) == ["TMPDIR"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["HOME", "TMPDIR", "XDG_CACHE_HOME"]
