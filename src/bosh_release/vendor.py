"""Fetches the release's blobs: the source of CPython and the wheels that ``requirements/run.txt`` locks.

``config/blobs.yml`` lists these files, with size and SHA-256. This program checks files that exist already,
and does not fetch them again.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from bosh_release import sources
from bosh_release.blobs import (
    BLOBS,
    INDEX,
    LOCK,
    PYTHON,
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
from bosh_release.sources import run, say

NATIVE = {"isal", "pydantic-core", "pyyaml"}
"""Packages without a wheel for every platform."""
TAGS = {
    EVERY_PLATFORM: ("any",),
    "Darwin-arm64": ("macosx_11_0_arm64",),
    "Darwin-x86_64": ("macosx_10_15_x86_64",),
    "Linux-aarch64": ("manylinux_2_17_aarch64", "manylinux2014_aarch64"),
    "Linux-x86_64": ("manylinux_2_17_x86_64", "manylinux2014_x86_64"),
}
"""The wheel tags for each platform, by the platform's folder: for Linux, glibc 2.17 (2012) or later."""
BLOB_PATTERNS = ("python/*.tar.xz", "wheels/*/*.whl")
"""The patterns of the fetched files, below blobs/."""


def fetch(blobs: Mapping[str, Blob], scratch: Path) -> None:
    """Fetch the missing blobs, first to a folder beside them."""
    missing = [blob for blob in blobs.values() if not blob.file.exists()]
    for blob in blobs.values():
        if blob not in missing:
            blob.check(blob.file)
    for platform in TAGS:
        wanted = {b.file.name: b for b in missing if b.is_wheel and b.platform == platform}
        for file in _wheels(platform, map(_requirement, wanted.values()), scratch):
            _keep(file, wanted[file.name])
    for blob in missing:
        if not blob.is_wheel:
            _keep(sources.fetch(blob.file.name, scratch, blob), blob)
    _remove_others(blobs)
    say(f"blobs/ is as config/blobs.yml says: {len(blobs)} files, {len(missing)} of them new")


def update(known: Mapping[str, Blob], scratch: Path, python: str | None) -> None:
    """Write config/blobs.yml, and the hashes for the packages, from the lock file.

    Args:
        known: The current entries. The file of an entry that stays must not change.
        scratch: A folder beside the blobs.
        python: The new version of CPython; None to keep the current version.
    """
    lock = read_lock(LOCK.read_text())
    blobs = [blob for blob in known.values() if not blob.is_wheel]
    for platform in TAGS:
        names = [name for name in lock if (name in NATIVE) == (platform != EVERY_PLATFORM)]
        files = _wheels(platform, [lock[name] for name in names], scratch)
        blobs += [_track(file, f"wheels/{platform}/{file.name}", known) for file in files]
    if python:
        source = sources.fetch(f"Python-{python}.tar.xz", scratch, None)
        run("tar", "-tf", str(source))  # fails for an incomplete file
        blobs = [blob for blob in blobs if blob.is_wheel]
        blobs.append(_track(source, f"python/Python-{python}.tar.xz", known))
    INDEX.write_text(index_text(blobs))
    for name, wheels in {HASHES: True, SOURCE_HASH: False}.items():
        (ROOT / "src" / name).write_text(hashes_text(blobs, wheels=wheels))
    _remove_others({blob.path: blob for blob in blobs})
    say(f"config/blobs.yml, src/{HASHES} and src/{SOURCE_HASH} are written")


def _track(file: Path, path: str, known: Mapping[str, Blob]) -> Blob:
    blob = known.get(path) or Blob(path, *measure(file))
    _keep(file, blob)
    return blob


def _keep(file: Path, blob: Blob) -> None:
    """Check a fetched file, and move the file to its place, which never gets an incomplete file."""
    blob.check(file)
    blob.file.parent.mkdir(parents=True, exist_ok=True)
    file.replace(blob.file)


def _remove_others(blobs: Mapping[str, Blob]) -> None:
    """Remove and name files that config/blobs.yml does not list any more, as the `bosh` CLI does."""
    for file in sorted(file for kind in BLOB_PATTERNS for file in BLOBS.glob(kind)):
        path = file.relative_to(BLOBS).as_posix()
        if path not in blobs:
            file.unlink()
            say(f"blobs/{path} is removed: config/blobs.yml does not list it any more")


def _requirement(blob: Blob) -> str:
    """Return the requirement for which pip fetches exactly this file."""
    name, version, *_ = blob.file.name.split("-")
    return f"{name}=={version} --hash=sha256:{blob.sha256}"


def _wheels(platform: str, requirements: Iterable[str], scratch: Path) -> list[Path]:
    """Fetch the wheels for one platform; pip checks their hashes."""
    wanted = list(requirements)
    if not wanted:
        return []
    say(f"fetching {len(wanted)} wheels: {platform}")
    folder = scratch / platform
    folder.mkdir()
    lock = folder / "requirements.txt"
    lock.write_text("\n".join(wanted))
    run(
        *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"),
        *("--no-deps", "--only-binary=:all:", "--require-hashes", f"--requirement={lock}"),
        *(f"--python-version={PYTHON}", "--implementation=cp", f"--abi=cp{PYTHON.replace('.', '')}"),
        *("--abi=abi3", "--abi=none"),
        *(f"--platform={tag}" for tag in TAGS[platform]),
        f"--dest={folder}",
    )
    return sorted(folder.glob("*.whl"))


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(prog="scripts/vendor", description=__doc__)
    parser.add_argument("--update", action="store_true", help="write config/blobs.yml from the lock file")
    parser.add_argument("--python", metavar="VERSION", help="with --update: the version of CPython")
    arguments = parser.parse_args()
    if arguments.python and not arguments.update:
        parser.error("--python needs --update")
    known = read_index(INDEX.read_text())
    BLOBS.mkdir(exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(dir=BLOBS, prefix=".vendor-") as folder:
            if arguments.update:
                update(known, Path(folder), arguments.python)
            else:
                fetch(known, Path(folder))
    except VendorError as error:
        sys.exit(f"vendor: {error}")


if __name__ == "__main__":
    main()
