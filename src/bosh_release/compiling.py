"""Compiles a release's packages on this machine, as `bosh create-env` does on an operator's.

Each package's `packaging` script runs with bash in the folder of its sources, with BOSH_COMPILE_TARGET and
BOSH_INSTALL_TARGET. It finds the packages that it depends on in BOSH_PACKAGES_DIR (bosh-cli,
installation/pkg/compiler.go).
"""

import hashlib
import os
import subprocess
import sys
import tarfile
from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

from bosh_release.installation import Compiled

_SHOWN = 20
"""How many of a script's last lines an error shows."""


class CompilingError(Exception):
    """A package can't be compiled; the message has the end of its output."""


def compile_packages(
    archives: Mapping[str, bytes], packages: Sequence[Mapping[str, Any]], folder: Path
) -> dict[str, Compiled]:
    """Compile packages, each after those that it depends on; standard error says which one.

    Args:
        archives: The sources of each package by its name, as a compressed tar archive.
        packages: The packages, as the release's manifest lists them.
        folder: An empty folder for sources and results, which has room for 2 GiB.

    Returns:
        The compiled packages, by name.

    Raises:
        CompilingError: A package can't be unpacked, or its script failed.
    """
    needs = {package["name"]: package.get("dependencies") or [] for package in packages}
    return {name: _compile(name, archives[name], folder) for name in TopologicalSorter(needs).static_order()}


def _compile(name: str, archive: bytes, folder: Path) -> Compiled:
    sources, installed, result = folder / "sources" / name, folder / "packages" / name, folder / f"{name}.tgz"
    for each in (sources, installed):
        each.mkdir(parents=True)
    installed.chmod(0o755)  # whatever this process's umask is: the folder is part of the package
    unpack = ["tar", "--no-same-owner", "-xzf", "-", "-C", str(sources)]
    if subprocess.run(unpack, input=archive, check=False).returncode:  # noqa: S603 - a fixed command
        raise CompilingError(f"the sources of {name} can't be unpacked in {sources}")
    sys.stderr.write(f"compiled-release: compiling {name}\n")
    targets = {"BOSH_COMPILE_TARGET": str(sources), "BOSH_INSTALL_TARGET": str(installed)}
    ended = subprocess.run(
        ["bash", "packaging"],  # noqa: S607 - whichever there is
        cwd=sources,
        env={**os.environ, **targets, "BOSH_PACKAGES_DIR": str(installed.parent), "BOSH_PACKAGE_NAME": name},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        umask=0o022,
        check=False,
    )
    if ended.returncode:
        end = "\n".join(ended.stdout.splitlines()[-_SHOWN:])
        raise CompilingError(f"compiling {name} failed with status {ended.returncode}:\n{end}")
    with tarfile.open(result, "w:gz", compresslevel=6) as packed:
        packed.add(installed, ".", filter=_of_root)
    return Compiled(result, f"sha256:{hashlib.sha256(result.read_bytes()).hexdigest()}")


def _of_root(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    return entry
