"""Cache files: where they are kept, and files that are no files, huge, or not written by the CPI."""

import errno
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bosh_aws_cpi.aws.sdk import clients, private_files
from bosh_aws_cpi.errors import CloudError
from testbed.tls import Authority
from tests.unit.conftest import ProgramLog


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Path]:
    """Give each variable that names a place a folder of its own; returns where files would be kept."""
    for name in ("XDG_CACHE_HOME", "HOME", "TMPDIR"):
        (tmp_path / name).mkdir(mode=0o700)
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setattr(tempfile, "tempdir", None)  # it remembers where the process began with
    return {
        "XDG_CACHE_HOME": tmp_path / "XDG_CACHE_HOME/bosh-aws-cpi",
        "HOME": tmp_path / "HOME/.cache/bosh-aws-cpi",
        "TMPDIR": tmp_path / f"TMPDIR/bosh-aws-cpi-{os.geteuid()}",
    }


def as_link(folder: Path) -> None:
    """Put a link where the folder would be: it may lead to where others can write."""
    target = folder.parent / "target"
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.symlink_to(target)


def open_to_others(folder: Path) -> None:
    """Make the folder with another mode."""
    folder.mkdir(parents=True)
    folder.chmod(0o701)


def test_order(places: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """XDG_CACHE_HOME comes first, then HOME's .cache, then the temporary folder; each is private."""
    for name, folder in places.items():
        assert private_files.folder() == folder
        assert folder.stat().st_mode & 0o777 == 0o700
        monkeypatch.delenv(name)


@pytest.mark.parametrize("value", ["", "relative", "{}/nobody", f"{{}}/{'x' * 5000}"])
def test_no_places(
    places: dict[str, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str
) -> None:
    """An empty or relative name is no place; a home that is missing is not made."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", value.format(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "" if "{" in value else value)
    assert private_files.folder() == places["TMPDIR"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["HOME", "TMPDIR", "XDG_CACHE_HOME"]


@pytest.mark.parametrize("spoil", [as_link, open_to_others])
def test_unusable(places: dict[str, Path], spoil: Callable[[Path], None]) -> None:
    """A place that others may look into is passed over; if all are such, a new one is made and used."""
    spoil(places["XDG_CACHE_HOME"])
    assert private_files.folder() == places["HOME"]
    places["HOME"].rmdir()
    for name in ("HOME", "TMPDIR"):
        spoil(places[name])
    made = private_files.folder()
    assert made
    assert made.name.startswith(f"{places['TMPDIR'].name}-")
    assert made.stat().st_mode & 0o777 == 0o700
    assert private_files.folder() == made


def test_folder_that_takes_nothing(places: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that the user can't write into is passed over, as is another user's."""
    access = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: path != places["XDG_CACHE_HOME"] and access(path, mode)
    )
    assert private_files.folder() == places["HOME"]
    others = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: others)
    assert private_files.folder() not in {*places.values()}


def test_no_temporary_folder(
    places: dict[str, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where no place is left there is no folder: nothing is kept, and certificates are an error."""

    def fail() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", fail)
    assert private_files.folder() == places["XDG_CACHE_HOME"]
    for name in ("XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name)
    assert private_files.folder() is None
    private_files.write_json(None, {}, "nothing")
    assert private_files.read_json(None, 1, dict) is None
    with pytest.raises(CloudError, match=r"ca_cert .*HOME or TMPDIR") as caught:
        clients.file_of(Authority(tmp_path, "one").path.read_text())
    assert caught.value.ok_to_retry is False


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a file that the CPI has written."""
    path = tmp_path / "kept.json"
    private_files.write_json(path, {"a": 1}, "a thing")
    assert path.stat().st_mode & 0o777 == 0o600
    assert private_files.read_json(path, 60, dict) == {"a": 1}
    return path


@pytest.mark.parametrize(
    "content",
    [
        *("{", "\xff", "[" * 100_000, "3", "[1]", f"[{'9' * 400}, {{}}]"),
        *("[NaN, {}]", '["1", {}]', "[{0}, 5]"),
    ],
    ids=range(9),
)
def test_broken(file: Path, content: str) -> None:
    """A file whose content is not as the CPI writes it counts as missing."""
    file.write_text(content.replace("{0}", str(time.time())))
    assert private_files.read_json(file, 60, dict) is None


@pytest.mark.parametrize(("seconds", "is_kept"), [(0, True), (59, True), (60, False), (-3600, False)])
def test_age(file: Path, monkeypatch: pytest.MonkeyPatch, seconds: int, *, is_kept: bool) -> None:
    """A file counts up to its age; one from the future, as after a clock was set back, would never age."""
    now = time.time()
    os.utime(file, (1, 1))
    monkeypatch.setattr(time, "time", lambda: now + seconds)
    assert (private_files.read_json(file, 60, dict) is not None) is is_kept


def test_full_disk(file: Path, monkeypatch: pytest.MonkeyPatch, program_log: ProgramLog) -> None:
    """What can't be written is not kept; that is said at debug level, and leaves no file."""

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    private_files.write_json(file, {"b": 1}, "a thing")
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    (record,) = program_log.records
    assert record.level == "DEBUG"
    assert "a thing" in record.text
