"""Makes a compiled release: from a source release, and what `bosh create-env` or this machine compiles of it.

The result is what `bosh export-release` gives: jobs and compiled packages, and which stemcell they are for.
The format is that of the Director (compiled_release_manifest.rb, release_directory.rb) and of the `bosh` CLI
(release/manifest/release.go). The same input gives the same bytes.
"""

import argparse
import gzip
import hashlib
import io
import os
import sys
import tarfile
import tempfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bosh_release.blobs import measure
from bosh_release.compiling import CompilingError, compile_packages
from bosh_release.installation import Compiled, InstallationError, Key, keys, read_installation
from bosh_release.portability import PortabilityError, check, line_of

MANIFEST = "release.MF"
_ALONGSIDE = ("LICENSE", "NOTICE", "license.tgz")
"""What a release tarball may contain beside jobs and packages."""


class _Quoted(yaml.SafeDumper):
    """Writes each string in quotes: Ruby and Go read a commit_hash such as 1234e56 as a number."""


_Quoted.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, '"'))


class CompiledReleaseError(Exception):
    """The compiled release can't be made; the message says why."""


@dataclass(frozen=True)
class Source:
    """A source release, without the sources in its packages."""

    manifest: dict[str, Any]
    """Its release.MF."""
    files: dict[str, bytes]
    """Its jobs and licences, by their paths in the tarball."""

    @property
    def packages(self) -> list[dict[str, Any]]:
        """Its packages, as the manifest lists them."""
        packages: list[dict[str, Any]] = self.manifest.get("packages") or []
        return packages


def read_source(tarball: Path) -> Source:
    """Read a source release.

    Raises:
        CompiledReleaseError: It is none.
    """
    files: dict[str, bytes] = {}
    try:
        with tarfile.open(tarball) as packed:
            for entry in packed:
                name = entry.name.removeprefix("./")
                if entry.isfile() and (name in (MANIFEST, *_ALONGSIDE) or name.startswith("jobs/")):
                    opened = packed.extractfile(entry)
                    files[name] = opened.read() if opened else b""
    except (OSError, tarfile.TarError, EOFError, zlib.error) as error:
        raise CompiledReleaseError(f"{tarball} can't be read as a release: {error}") from error
    if MANIFEST not in files:
        raise CompiledReleaseError(f"{tarball} is not a release: it contains no {MANIFEST}")
    try:
        manifest = yaml.safe_load(files.pop(MANIFEST))
        jobs = {f"jobs/{job['name']}.tgz": job["sha1"] for job in manifest["jobs"]}
    except (yaml.YAMLError, KeyError, TypeError) as error:
        raise CompiledReleaseError(f"{tarball} is not a release: its {MANIFEST} can't be read") from error
    if manifest.get("compiled_packages"):
        raise CompiledReleaseError(f"{tarball} is compiled already: give the release that it was made from")
    for path, digest in jobs.items():
        _verify(path, files.get(path, b""), digest)
    return Source(manifest, files)


def read_packages(tarball: Path, source: Source) -> dict[str, bytes]:
    """Read the sources of a release's packages, by name.

    Raises:
        CompiledReleaseError: A package is missing or damaged.
    """
    with tarfile.open(tarball) as packed:
        files = {entry.name.removeprefix("./"): entry for entry in packed if entry.isfile()}
        read = {}
        for package in source.packages:
            path = f"packages/{package['name']}.tgz"
            opened = packed.extractfile(files[path]) if path in files else None
            read[package["name"]] = opened.read() if opened else b""
            _verify(path, read[package["name"]], package["sha1"])
    return read


def choose(source: Source, installed: Mapping[Key, Compiled]) -> dict[str, Compiled]:
    """Return the compiled package of each package of a release, by name.

    Raises:
        CompiledReleaseError: A package is not compiled.
    """
    wanted = keys(source.packages)
    if lacking := [key for key in wanted.values() if key not in installed]:
        named = ", ".join(f"{key.name}/{key.fingerprint}" for key in lacking)
        raise CompiledReleaseError(
            f"the installation has not compiled {named}: run `bosh create-env` with exactly this release"
        )
    return {name: installed[key] for name, key in wanted.items()}


def compiled_manifest(source: Source, chosen: Mapping[str, Compiled], stemcell: str) -> dict[str, Any]:
    """Return the manifest of the compiled release.

    Args:
        source: The release that was compiled.
        stemcell: The stemcell that they are for, as OS/VERSION.
    """
    kept = {key: value for key, value in source.manifest.items() if key != "packages"}
    kept["compiled_packages"] = [
        {
            "name": package["name"],
            "version": package["version"],
            "fingerprint": package["fingerprint"],
            "sha1": chosen[package["name"]].digest,
            "stemcell": stemcell,
            "dependencies": package.get("dependencies") or [],
        }
        for package in source.packages
    ]
    return kept


def write(target: Path, source: Source, chosen: Mapping[str, Compiled], stemcell: str) -> None:
    """Write the compiled release, manifest first, so that programs find it without reading on.

    Raises:
        CompiledReleaseError: A package is not the one that the CLI compiled, or is gone.
        PortabilityError: A package can't run on the stemcell.
        OSError: The result can't be written.
    """
    manifest = yaml.dump(compiled_manifest(source, chosen, stemcell), Dumper=_Quoted, sort_keys=False)
    unfinished = target.with_name(f"{target.name}.new")
    try:
        # What is in it is compressed already.
        with (
            unfinished.open("wb") as file,
            gzip.GzipFile("", "wb", compresslevel=1, fileobj=file, mtime=0) as zipped,
            tarfile.open(fileobj=zipped, mode="w") as packed,
        ):
            _add(packed, MANIFEST, manifest.encode())
            for path in sorted(source.files):
                _add(packed, path, source.files[path])
            for name, package in chosen.items():
                content = _content(name, package)
                _verify(f"the compiled package {name}", content, package.digest)
                check(name, io.BytesIO(content), line_of(stemcell))
                _add(packed, f"compiled_packages/{name}.tgz", content)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def _content(name: str, package: Compiled) -> bytes:
    try:
        return package.file.read_bytes()
    except OSError as error:
        raise CompiledReleaseError(
            f"the installation lists the package {name}, but it can't be read: {error}. "
            "Delete ~/.bosh/installations/ID, and run `bosh create-env` again"
        ) from error


def _add(packed: tarfile.TarFile, path: str, content: bytes) -> None:
    entry = tarfile.TarInfo(f"./{path}")
    entry.size = len(content)
    packed.addfile(entry, io.BytesIO(content))


def _verify(what: str, content: bytes, digest: str) -> None:
    """Check a file's digest, of which each of several must be right."""
    for one in digest.split(";"):
        name, _, value = one.rpartition(":")
        if hashlib.new(name or "sha1", content, usedforsecurity=False).hexdigest() != value:
            raise CompiledReleaseError(f"{what} is damaged: its digest is not {one}")


def _check_writable(folder: Path) -> None:
    if not os.access(folder, os.W_OK):  # before minutes of compiling
        raise CompiledReleaseError(
            f"the result can't be written: {folder} is not a folder that you can write to"
        )


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(prog="make compiled-release", description=__doc__)
    parser.add_argument("--release", type=Path, required=True, help="the source release")
    parser.add_argument(
        "--installation",
        type=Path,
        help="the folder ~/.bosh/installations/ID with what create-env compiled (default: compile here)",
    )
    parser.add_argument("--stemcell", required=True, help="OS/VERSION, such as ubuntu-noble/1.84")
    parser.add_argument(
        "--output", type=Path, default=Path(), help="the folder for the result (default: this one)"
    )
    arguments = parser.parse_args()
    try:
        line = line_of(arguments.stemcell)
        _check_writable(arguments.output)
        source = read_source(arguments.release)
        version = arguments.stemcell.removeprefix(f"{line}/")
        target = arguments.output / "-".join(
            (source.manifest["name"], str(source.manifest["version"]), line, version)
        )
        target = target.with_name(f"{target.name}.tgz")
        with tempfile.TemporaryDirectory(prefix="compiled-release-") as folder:
            if arguments.installation:
                chosen = choose(source, read_installation(arguments.installation.expanduser()))
            else:
                archives = read_packages(arguments.release, source)
                chosen = compile_packages(archives, source.packages, Path(folder))
            write(target, source, chosen, arguments.stemcell)
    except (CompiledReleaseError, CompilingError, InstallationError, PortabilityError) as error:
        sys.exit(f"compiled-release: {error}")
    except OSError as error:
        sys.exit(f"compiled-release: the result can't be written: {error}")
    _, sha256 = measure(target)
    sys.stdout.write(f"compiled-release: {target}\nsha1: sha256:{sha256}\n")


if __name__ == "__main__":
    main()
