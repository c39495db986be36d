"""Fetches the release's blobs: the source of CPython and the wheels that ``requirements/run.txt`` locks.

``config/blobs.yml`` lists these files, with size and SHA-256. Files that exist already are checked and not
fetched again.
"""

import argparse
import http.client
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bosh_release.blobs import (
    BLOBS,
    INDEX,
    LOCK,
    ROOT,
    SOURCE_HASH,
    Blob,
    VendorError,
    hashes_text,
    index_text,
    measure,
    read_index,
    read_lock,
)
from bosh_release.install import EVERY_PLATFORM, HASHES

NATIVE = {"pydantic-core", "pyyaml"}
"""Packages without a wheel for every platform."""
TAGS = {
    EVERY_PLATFORM: ("any",),
    "Darwin-arm64": ("macosx_11_0_arm64",),
    "Darwin-x86_64": ("macosx_10_13_x86_64",),
    "Linux-aarch64": ("manylinux_2_17_aarch64", "manylinux2014_aarch64"),
    "Linux-x86_64": ("manylinux_2_17_x86_64", "manylinux2014_x86_64"),
}
"""Platforms by their folder, with the wheel tags that suit them: any Linux since glibc 2.17, of 2012."""
UPSTREAM = "https://www.python.org/ftp/python"
DEBIAN = "trixie"
"""The release of Debian, 13, that has CPython's source too."""
PATIENCE = 30
"""Seconds without an answer after which upstream counts as unreachable."""


def fetch(blobs: Mapping[str, Blob]) -> None:
    """Fetch the missing blobs."""
    missing = [blob for blob in blobs.values() if not blob.file.exists()]
    for blob in blobs.values():
        if blob not in missing:
            blob.check(blob.file)
    with _scratch() as scratch:
        for platform in TAGS:
            wanted = {b.file.name: b for b in missing if b.is_wheel and b.platform == platform}
            for file in _wheels(platform, map(_requirement, wanted.values()), scratch):
                _keep(file, wanted[file.name])
        for blob in missing:
            if not blob.is_wheel:
                _keep(_source(blob, scratch), blob)
    _say(f"blobs/ is as config/blobs.yml says: {len(blobs)} files, {len(missing)} of them new")


def update(known: Mapping[str, Blob], python: str | None) -> None:
    """Write config/blobs.yml, and the hashes for the package, from the lock file.

    Args:
        known: The current entries. An entry that stays must be the same file.
        python: A version of CPython; without it, the current one stays.
    """
    lock = read_lock(LOCK.read_text())
    blobs = [blob for blob in known.values() if not blob.is_wheel]
    with _scratch() as scratch:
        for platform in TAGS:
            names = [name for name in lock if (name in NATIVE) == (platform != EVERY_PLATFORM)]
            files = _wheels(platform, [lock[name] for name in names], scratch)
            blobs += [_tracked(file, f"wheels/{platform}/{file.name}", known) for file in files]
        if python:
            source = _upstream(f"Python-{python}.tar.xz", scratch)
            _run("tar", "-tf", str(source))  # a file that can't be read to its end gets no entry
            blobs = [blob for blob in blobs if blob.is_wheel]
            blobs.append(_tracked(source, f"python/{source.name}", known))
    INDEX.write_text(index_text(blobs))
    for name, wheels in {HASHES: True, SOURCE_HASH: False}.items():
        (ROOT / "src" / name).write_text(hashes_text(blobs, wheels=wheels))
    _say(f"config/blobs.yml, src/{HASHES} and src/{SOURCE_HASH} are written")


def _tracked(file: Path, path: str, known: Mapping[str, Blob]) -> Blob:
    blob = known.get(path) or Blob(path, *measure(file))
    _keep(file, blob)
    return blob


def _keep(file: Path, blob: Blob) -> None:
    """Check a fetched file, and move it to its place; an incomplete file never gets there."""
    blob.check(file)
    blob.file.parent.mkdir(parents=True, exist_ok=True)
    file.replace(blob.file)


def _requirement(blob: Blob) -> str:
    """Return the requirement with which pip fetches exactly this file."""
    name, version, *_ = blob.file.name.split("-")
    return f"{name}=={version} --hash=sha256:{blob.sha256}"


def _wheels(platform: str, requirements: Iterable[str], scratch: Path) -> list[Path]:
    """Fetch the wheels for one platform; pip checks their hashes."""
    wanted = list(requirements)
    if not wanted:
        return []
    _say(f"fetching {len(wanted)} wheels: {platform}")
    folder = scratch / platform
    folder.mkdir()
    listed = folder / "requirements.txt"
    listed.write_text("\n".join(wanted))
    _run(
        *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"),
        *("--no-deps", "--only-binary=:all:", "--require-hashes", f"--requirement={listed}"),
        *("--python-version=3.13", "--implementation=cp", "--abi=cp313", "--abi=abi3", "--abi=none"),
        *(f"--platform={tag}" for tag in TAGS[platform]),
        f"--dest={folder}",
    )
    return sorted(folder.glob("*.whl"))


def _source(blob: Blob, scratch: Path) -> Path:
    """Fetch CPython's source from upstream, or from Debian, which distributes upstream's own file.

    Who has another file under that name (a proxy's page, say) does not have it.
    """
    problems = []
    for place in (_upstream, _debian):
        try:
            file = place(blob.file.name, scratch)
            blob.check(file)
        except VendorError as problem:
            problems.append(str(problem))
        else:
            return file
    raise VendorError("\n".join(problems))


def _upstream(name: str, scratch: Path) -> Path:
    version = name.removeprefix("Python-").removesuffix(".tar.xz")
    url = f"{UPSTREAM}/{version}/{name}"
    _say(f"fetching {name}")
    file = scratch / name
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer, file.open("wb") as written:  # noqa: S310 - https
            shutil.copyfileobj(answer, written)
            expected = answer.headers.get("Content-Length")
    except (OSError, http.client.HTTPException) as error:
        raise VendorError(f"{url} can't be fetched: {type(error).__name__}: {error}") from error
    got = file.stat().st_size
    if expected is not None and got != int(expected):
        raise VendorError(f"{url} can't be fetched: it broke off after {got} of {expected} bytes")
    return file


def _debian(name: str, scratch: Path) -> Path:
    """Fetch CPython's source with apt, from the mirrors that this machine uses.

    apt gets settings of its own, and this machine's stay as they are. The mirror's signature is not asked
    for, since not every machine has Debian 13's keys: what guards the file is its SHA-256.
    """
    if not shutil.which("apt-get"):
        raise VendorError(f"{name} is not available from Debian either: no apt-get here")
    _say(f"fetching {name}: not from upstream, which does not have it or can't be reached, but from Debian")
    settings, sources = scratch / "apt.conf", scratch / "sources.list"
    for folder in ("lists/partial", "cache/archives/partial"):
        (scratch / folder).mkdir(parents=True)
    settings.write_text(
        f'Dir::Etc::SourceList "{sources}";\nDir::Etc::SourceParts "/dev/null";\n'
        f'Dir::State::Lists "{scratch}/lists";\nDir::Cache "{scratch}/cache";\nAPT::Sandbox::User "root";\n'
    )
    version = name.removeprefix("Python-").removesuffix(".tar.xz")
    file = scratch / f"python3.13_{version}.orig.tar.xz"
    problems = [f"{name} is not available from Debian either"]
    mirrors = _run("apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages").splitlines()
    for mirror in dict.fromkeys(mirrors):
        sources.write_text(f"deb-src [trusted=yes] {mirror} {DEBIAN} main\n")
        apt = ("apt-get", f"--config-file={settings}")
        try:
            _run(*apt, "update", folder=scratch)
            _run(*apt, "source", "--download-only", "--tar-only", "python3.13", folder=scratch)
        except VendorError as error:
            problems.append(str(error))
            continue
        if file.exists():
            return file
        problems.append(f"{DEBIAN} has another version")
    raise VendorError("\n".join(problems))


@contextmanager
def _scratch() -> Iterator[Path]:
    """A folder next to the blobs, so that a fetched file only needs to be renamed."""
    BLOBS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BLOBS, prefix=".vendor-") as folder:
        yield Path(folder)


def _run(*command: str, folder: Path = ROOT) -> str:
    """Run a command; its output is shown only if it fails."""
    ended = subprocess.run(command, check=False, capture_output=True, text=True, cwd=folder)  # noqa: S603 - made here
    if ended.returncode:
        raise VendorError(f"{' '.join(command[:4])} … failed:\n{ended.stdout}{ended.stderr}".rstrip())
    return ended.stdout


def _say(text: str) -> None:
    sys.stdout.write(f"vendor: {text}\n")
    sys.stdout.flush()


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(prog="scripts/vendor", description=__doc__)
    parser.add_argument("--update", action="store_true", help="write config/blobs.yml from the lock file")
    parser.add_argument("--python", metavar="VERSION", help="with --update: the version of CPython")
    arguments = parser.parse_args()
    if arguments.python and not arguments.update:
        parser.error("--python needs --update")
    known = read_index(INDEX.read_text())
    try:
        if arguments.update:
            update(known, arguments.python)
        else:
            fetch(known)
    except VendorError as error:
        sys.exit(f"vendor: {error}")


if __name__ == "__main__":
    main()
