"""How blobs are fetched, from a server on this machine and from stand-ins for apt and pip."""

import hashlib
import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bosh_release import blobs, install, sources, vendor
from testbed.loopback import LoopbackServer, Reply, Request

NAME = "Python-3.13.99.tar.xz"
PATH = f"python/{NAME}"
WHEEL = "six-1.0-py3-none-any.whl"
WHEEL_PATH = f"wheels/any/{WHEEL}"
LOCKED = "six==1.0 \\\n    --hash=sha256:00\n"

APT = """#!/bin/sh
case "$*" in indextargets*) echo mirror.test; exit ;; esac
read -r _ trust second suite _ <sources.list
[ "$trust" != mirror.test ] || suite=$second
listed=$FAKES/suites/$suite
case "$*" in
*" update")
    echo "$suite" >>"$FAKES/asked"
    if [ -e "$FAKES/unsigned" ] && [ "$trust" = mirror.test ]; then echo "E: not signed" >&2; exit 100; fi
    ;;
*" showsrc "*) for version in "$listed"/*; do [ ! -e "$version" ] || echo "Version: ${version##*/}"; done ;;
*" source "*)
    version=${*##*=}
    echo "$suite $version" >>"$FAKES/taken"
    cp "$listed/$version" "python3.13_${version%-*}.orig.tar.xz"
    ;;
esac
"""
PIP = """
import os, shutil, sys
(folder,) = [word.removeprefix("--dest=") for word in sys.argv if word.startswith("--dest=")]
for name in os.listdir(os.path.join(os.environ["FAKES"], "wheels")):
    shutil.copy(os.path.join(os.environ["FAKES"], "wheels", name), folder)
"""


def archive() -> bytes:
    """Return a small tar archive, compressed as CPython's is."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:xz") as tar:
        entry = tarfile.TarInfo("Python-3.13.99/README")
        entry.size = 6
        tar.addfile(entry, io.BytesIO(b"python"))
    return made.getvalue()


def offer(fakes: Path, suite: str, version: str, content: bytes) -> None:
    """Have a suite of Debian offer a version of CPython."""
    file = fakes / "suites" / suite / version
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


def blob(path: str, content: bytes) -> blobs.Blob:
    """Return the entry of blobs.yml for a file with this content."""
    return blobs.Blob(path, len(content), hashlib.sha256(content).hexdigest())


SOURCE = archive()
GONE = "HTTP/1.1 404 Not Found\r\nContent-Length: {size}"


class Upstream(LoopbackServer):
    """Serves in upstream's place.

    Attributes:
        head: Status line and headers as they are sent; `{size}` is the whole source's.
        body: What is sent of it, whatever the headers say.
    """

    def __init__(self) -> None:
        """Serve the source."""
        super().__init__()
        self.head = "HTTP/1.1 200 OK\r\nContent-Length: {size}"
        self.body = SOURCE

    @property
    def asked(self) -> list[str]:
        """The paths that were asked for."""
        return [request.path for request in self.requests]

    def reply(self, request: Request) -> Reply:  # noqa: ARG002 - the answer is always the same
        """Answer."""
        head = self.head.format(size=len(SOURCE))
        return Reply(0, pieces=iter([head.encode(), b"\r\nConnection: close\r\n\r\n", self.body]))


@pytest.fixture
def upstream(monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstream]:
    """Serve in upstream's place."""
    with Upstream() as server:
        monkeypatch.setattr(sources, "UPSTREAM", server.url)
        yield server


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working copy with an empty lock file and no blobs."""
    folder = tmp_path / "root"
    (folder / "src" / "bosh_release").mkdir(parents=True)
    (folder / "run.txt").touch()
    places = {"ROOT": folder, "BLOBS": folder / "blobs", "INDEX": folder / "blobs.yml"}
    for name, value in {**places, "LOCK": folder / "run.txt"}.items():
        monkeypatch.setattr(vendor, name, value)
        monkeypatch.setattr(blobs, name, value)
    return folder


@pytest.fixture(autouse=True)
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put stand-ins for apt and pip first, and return the folder of what they hand out."""
    folder = tmp_path / "fakes"
    (folder / "wheels").mkdir(parents=True)
    offer(folder, "unstable", "3.13.99-1", SOURCE)
    for name in ("apt-get", "apt-cache"):
        (folder / name).write_text(APT)
        (folder / name).chmod(0o755)
    (folder / "pip").mkdir()
    (folder / "pip" / "__main__.py").write_text(PIP)
    (folder / "pip" / "__init__.py").touch()
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setenv("FAKES", str(folder))
    return folder


@pytest.fixture
def fetch(root: Path) -> Callable[..., list[str]]:
    """Return a function that fetches these blobs; it returns what is then there, below blobs/."""

    def run(*wanted: blobs.Blob) -> list[str]:
        vendor.fetch({each.path: each for each in wanted}, scratch(root))
        return kept(root)

    return run


def scratch(root: Path) -> Path:
    """Return a new folder beside the blobs, as `vendor.main` makes one."""
    (root / "blobs").mkdir(exist_ok=True)
    return Path(tempfile.mkdtemp(dir=root))


def kept(root: Path) -> list[str]:
    """Return the files below blobs/, those under way included."""
    return sorted(str(p.relative_to(root / "blobs")) for p in (root / "blobs").rglob("*") if p.is_file())


def test_source_comes_from_upstream(fetch: Callable[..., list[str]], upstream: Upstream, fakes: Path) -> None:
    """CPython's source is what upstream has; Debian is not asked."""
    assert fetch(blob(PATH, SOURCE)) == [PATH]
    assert upstream.asked == [f"/3.13.99/{NAME}"]
    assert not (fakes / "asked").exists()


FAULTS = {
    "broken off": ("HTTP/1.1 200 OK\r\nContent-Length: {size}", SOURCE[:-1]),
    "another file": ("HTTP/1.1 200 OK\r\nContent-Type: text/html", b"<p>Sign in to this network.</p>"),
    "no HTTP": ("220 mail.test ready", b""),
}


@pytest.mark.parametrize(("head", "body"), FAULTS.values(), ids=FAULTS)
def test_source_comes_from_debian(
    head: str, body: bytes, fetch: Callable[..., list[str]], upstream: Upstream, fakes: Path, root: Path
) -> None:
    """If upstream has another file, Debian's is used, whatever key signed its lists."""
    upstream.head, upstream.body = head, body
    (fakes / "unsigned").touch()
    assert fetch(blob(PATH, SOURCE)) == [PATH]
    assert (root / "blobs" / PATH).read_bytes() == SOURCE


def test_source_comes_from_any_suite(
    fetch: Callable[..., list[str]], upstream: Upstream, fakes: Path
) -> None:
    """The version is found in whichever suite of Debian has it; other versions are not downloaded."""
    suite = sources.SUITES[-1]
    upstream.head = GONE
    shutil.rmtree(fakes / "suites")
    for each in sources.SUITES:
        offer(fakes, each, "3.13.9-1", b"older")
    offer(fakes, suite, "3.13.99-2+deb13u5", SOURCE)
    assert fetch(blob(PATH, SOURCE)) == [PATH]
    assert (fakes / "taken").read_text() == f"{suite} 3.13.99-2+deb13u5\n"
    assert (fakes / "asked").read_text().split() == [*sources.SUITES]


def test_wrong_source_is_refused(
    fetch: Callable[..., list[str]], upstream: Upstream, fakes: Path, root: Path
) -> None:
    """When neither upstream nor Debian has the file, each place is named, and nothing is kept."""
    upstream.body = SOURCE[:-1]
    offer(fakes, "unstable", "3.13.99-1", b"another")
    offer(fakes, "stable", "3.13.5-2", b"older")
    with pytest.raises(blobs.VendorError) as refused:
        fetch(blob(PATH, SOURCE))
    assert f"{sources.UPSTREAM}: " in str(refused.value)
    assert f"{len(SOURCE) - 1} bytes with SHA-256" in str(refused.value)
    assert f"orig.tar.xz is not the file that config/blobs.yml lists as {PATH}" in str(refused.value)
    assert "mirror.test testing: has no python3.13\n" in str(refused.value)
    assert "mirror.test stable: has 3.13.5-2\n" in str(refused.value)
    assert kept(root) == []


def test_wrong_file_that_is_there_stays(
    fetch: Callable[..., list[str]], upstream: Upstream, root: Path
) -> None:
    """A blob that is there and is the wrong file is refused before anything is fetched, and not removed."""
    (root / "blobs" / "python").mkdir(parents=True)
    (root / "blobs" / PATH).write_bytes(b"mine")
    with pytest.raises(blobs.VendorError, match=r"is not the file that config/blobs\.yml lists"):
        fetch(blob(PATH, SOURCE), blob("python/Python-3.13.98.tar.xz", SOURCE))
    assert upstream.asked == []
    assert (root / "blobs" / PATH).read_bytes() == b"mine"


def test_wrong_wheel_is_refused(fetch: Callable[..., list[str]], fakes: Path, root: Path) -> None:
    """A wheel that is not the one of blobs.yml is refused, and not kept."""
    (fakes / "wheels" / WHEEL).write_bytes(b"other")
    with pytest.raises(
        blobs.VendorError, match=f"is not the file that config/blobs.yml lists as {WHEEL_PATH}"
    ):
        fetch(blob(WHEEL_PATH, b"wheel"))
    assert kept(root) == []


def test_update_writes_the_index_and_the_hashes(root: Path, upstream: Upstream) -> None:
    """A new CPython is fetched, and gets its entry in blobs.yml and its hash for the package."""
    old = blob("python/Python-3.13.98.tar.xz", b"old")
    vendor.update({old.path: old}, scratch(root), "3.13.99")
    assert upstream.asked == [f"/3.13.99/{NAME}"]
    new = blob(PATH, SOURCE)
    assert blobs.read_index((root / "blobs.yml").read_text()) == {PATH: new}
    assert (root / "src" / blobs.SOURCE_HASH).read_text() == f"{new.sha256}  {PATH}\n"
    assert (root / "src" / install.HASHES).read_text() == ""


def test_update_takes_a_version_from_debian(
    root: Path, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    """A new CPython comes from Debian when upstream lacks it; its SHA-256 is shown, to be compared."""
    upstream.head = GONE
    vendor.update({}, scratch(root), "3.13.99")
    assert blobs.read_index((root / "blobs.yml").read_text()) == {PATH: blob(PATH, SOURCE)}
    assert kept(root) == [PATH]
    assert f"SHA-256 {blob(PATH, SOURCE).sha256}. Compare it" in capsys.readouterr().out


def test_update_takes_nothing_unsigned(root: Path, upstream: Upstream, fakes: Path) -> None:
    """A new CPython comes from no mirror whose lists apt can't verify: nothing else vouches for it yet."""
    upstream.head = GONE
    (fakes / "unsigned").touch()
    with pytest.raises(blobs.VendorError, match=r"mirror\.test unstable: apt-get .*\n.*not signed"):
        vendor.update({}, scratch(root), "3.13.99")
    assert kept(root) == []
    assert not (root / "blobs.yml").exists()


def test_old_blobs_are_removed(
    fetch: Callable[..., list[str]], upstream: Upstream, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Blobs that only an earlier config/blobs.yml listed are removed and named; other files stay."""
    for name in ("python/Python-3.13.98.tar.xz", "wheels/any/old-1-py3-none-any.whl", "python/notes.txt"):
        (root / "blobs" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "blobs" / name).write_bytes(b"old")
    assert fetch(blob(PATH, SOURCE)) == [PATH, "python/notes.txt"]
    assert upstream.asked == [f"/3.13.99/{NAME}"]
    assert "blobs/python/Python-3.13.98.tar.xz is removed" in capsys.readouterr().out


def test_update_refuses_what_broke_off(root: Path, upstream: Upstream, fakes: Path) -> None:
    """A new CPython that was not fetched to its end gets no entry, even if its length is unknown."""
    shutil.rmtree(fakes / "suites")
    upstream.head, upstream.body = "HTTP/1.1 200 OK", SOURCE[:-20]
    with pytest.raises(blobs.VendorError, match="tar -tf"):
        vendor.update({}, scratch(root), "3.13.99")
    assert kept(root) == []
    assert not (root / "blobs.yml").exists()


def test_update_keeps_the_place_in_the_blobstore(root: Path, fakes: Path) -> None:
    """An entry that stays keeps the id that its blob has in the blobstore of final releases."""
    (root / "run.txt").write_text(LOCKED)
    (fakes / "wheels" / WHEEL).write_bytes(b"wheel")
    known = {WHEEL_PATH: replace(blob(WHEEL_PATH, b"wheel"), object_id="8f2c")}
    vendor.update(known, scratch(root), None)
    assert blobs.read_index((root / "blobs.yml").read_text()) == known
