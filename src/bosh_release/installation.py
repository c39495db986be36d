"""What `bosh create-env` keeps of the packages that it compiled: ~/.bosh/installations/ID.

The format is that of the `bosh` CLI: installation/target.go, index/file_index.go and
state/pkg/compiled_package_repo.go.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

INDEX = "compiled_packages.json"
"""The list of the compiled packages."""
BLOBS = "blobs"


class InstallationError(Exception):
    """A folder is not an installation, or a damaged one; the message names it."""


@dataclass(frozen=True)
class Key:
    """How the CLI finds a compiled package: by name and fingerprint, and those of all that it depends on."""

    name: str
    fingerprint: str
    dependencies: str


@dataclass(frozen=True)
class Compiled:
    """A compiled package."""

    file: Path
    """Its tarball."""
    digest: str
    """As BOSH writes it: SHA-1, or `sha256:` and SHA-256, or both with a semicolon between them."""


def read_installation(folder: Path) -> dict[Key, Compiled]:
    """Return the packages that the CLI has compiled in an installation folder.

    Raises:
        InstallationError: The folder holds no installation, or its list of packages is damaged.
    """
    try:
        listed = (folder / INDEX).read_text()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InstallationError(
            f"{folder} holds no compiled packages: give the folder ~/.bosh/installations/ID, where ID is the "
            "installation_id in the state file. `bosh delete-env` deletes this folder"
        ) from error
    except OSError as error:
        raise InstallationError(f"{folder} can't be read: {error}") from error
    try:
        return {
            Key(key["PackageName"], key["PackageFingerprint"], key["DependencyKey"]): Compiled(
                folder / BLOBS / value["BlobID"], value["BlobSHA1"]
            )
            for key, value in ((entry["Key"], entry["Value"]) for entry in json.loads(listed))
        }
    except (ValueError, KeyError, TypeError) as error:
        raise InstallationError(
            f"{folder / INDEX} is damaged: delete the folder, and run `bosh create-env` again"
        ) from error


def keys(packages: Iterable[Mapping[str, Any]]) -> dict[str, Key]:
    """Return the key of each package of a release manifest, by name."""
    listed = {package["name"]: package for package in packages}

    def below(name: str) -> set[str]:
        direct = listed[name].get("dependencies") or []
        return set(direct).union(*map(below, direct))

    return {
        name: Key(
            name,
            package["fingerprint"],
            ",".join(sorted(f"{need}:{listed[need]['fingerprint']}" for need in below(name))),
        )
        for name, package in listed.items()
    }
