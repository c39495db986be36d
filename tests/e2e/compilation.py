"""The release, compiled once for all tests: by create-env, on the machine of an operator."""

import io
import json
import os
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from testbed.bosh_cli import Bosh, Run
from testbed.cloud import FakeAws
from testbed.environment import Environment, write_stemcell
from testbed.userland import HASTY
from testbed.world import World

STEMCELL = "ubuntu-resolute/1.1"
"""What the packages are said to be compiled for."""
NO_IMAGE = "ami-00000000000000000"
REFUSAL = "Stemcell does not contain an AMI in region us-east-1"
"""What create-env ends with if its stemcell has NO_IMAGE: the CPI is installed by then, and answers."""


@dataclass(frozen=True)
class Compilation:
    """The run of create-env that compiled the release. It failed after that, before it created anything.

    Attributes:
        run: The run.
        secrets: What nobody may find in its output.
        state: The CLI's record.
    """

    run: Run
    secrets: dict[str, str]
    state: dict[str, Any]


def compile_release(bosh: Bosh, folder: Path, release: Path, fake_aws: FakeAws, world: World) -> Compilation:
    """Compile a release with the CLI, which keeps the result.

    Args:
        bosh: The CLI, with nothing compiled.
        folder: For the environment's files.
        release: The release.
        fake_aws: The stand-in for AWS.
        world: What is in it.
    """
    environment = Environment(bosh, folder, release, fake_aws, world)
    environment.stemcell = stemcell(folder, NO_IMAGE)
    run = environment.create()
    assert REFUSAL in run.failed(), run.output
    return Compilation(run, environment.secrets, environment.state)


def hasty_path(folder: Path) -> str:
    """Write a compiler that is done sooner; returns a PATH that begins with its folder, which is new."""
    folder.mkdir()
    (folder / "gcc").write_text(HASTY.format("gcc"))
    (folder / "gcc").chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def stemcell(folder: Path, image_id: str) -> Path:
    """Write a light stemcell of the line and version that the packages are compiled for; returns its file."""
    line, _, version = STEMCELL.partition("/")
    return write_stemcell(folder, image_id, version, 3, line)


def pack(release: Path, installation: Path, target: Path) -> Path:
    """Write a release with what the CLI compiled in place of its packages' sources.

    The form is that of `bosh export-release` (bosh-director, compiled_release_manifest.rb). What the CLI
    keeps has that of bosh-cli's state/pkg/compiled_package_repo.go.

    Args:
        release: The release, or the canary, whose packages have the same sources.
        installation: The CLI's folder with what it compiled.
        target: The file to write.
    """
    listed = json.loads((installation / "compiled_packages.json").read_text())
    compiled = {each["Key"]["PackageName"]: each["Value"] for each in listed}
    with tarfile.open(release) as given, tarfile.open(target, "w") as made:
        for entry in given:
            content = given.extractfile(entry) if entry.isfile() else None
            if entry.name.endswith("release.MF"):
                manifest = yaml.safe_load(content)  # type: ignore[arg-type]
            elif "packages/" not in entry.name:
                made.addfile(entry, content)
        packages = manifest["compiled_packages"] = manifest.pop("packages")
        for package in packages:
            value = compiled[package["name"].removeprefix("canary-")]
            package |= {"sha1": value["BlobSHA1"], "stemcell": STEMCELL}
            made.add(installation / "blobs" / value["BlobID"], f"./compiled_packages/{package['name']}.tgz")
        # JSON, because it quotes each string: Go reads a commit_hash such as 1234e56 as a number.
        written = json.dumps(manifest).encode()
        entry = tarfile.TarInfo("./release.MF")
        entry.size = len(written)
        made.addfile(entry, io.BytesIO(written))
    return target


@dataclass(frozen=True)
class Package:
    """A package of a release's tarball: with its source, or compiled.

    Attributes:
        digest: The digest of `content`, as the release's manifest has it.
        content: Its archive.
    """

    name: str
    fingerprint: str
    digest: str
    content: bytes


def read_package(release: Path, name: str) -> Package:
    """Read a package from a source release, or from a compiled one."""
    with tarfile.open(release) as packed:
        files = {entry.name.removeprefix("./"): entry for entry in packed}
        manifest = yaml.safe_load(packed.extractfile(files["release.MF"]))  # type: ignore[arg-type]
        (kind,) = manifest.keys() & {"packages", "compiled_packages"}
        (listed,) = (each for each in manifest[kind] if each["name"] == name)
        content = packed.extractfile(files[f"{kind}/{name}.tgz"]).read()  # type: ignore[union-attr]
    return Package(name, listed["fingerprint"], listed["sha1"], content)
