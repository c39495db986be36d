"""A compiled release: made of what create-env compiled, and installed elsewhere without a compiler."""

from __future__ import annotations

import hashlib
import io
import re
import shutil
import tarfile
from typing import TYPE_CHECKING

import pytest
import yaml

from testbed.bosh_cli import Bosh
from testbed.environment import Environment
from testbed.job import PACKAGES, PYTHON, PYTHON_PROGRAM
from tests.e2e.compilation import NO_IMAGE, REFUSAL, STEMCELL, stemcell

if TYPE_CHECKING:
    from pathlib import Path

    from testbed.cloud import FakeAws
    from testbed.world import World
    from tests.e2e.compilation import Compilation
    from tests.e2e.conftest import Installation

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(3600)]


@pytest.fixture
def other(tmp_path: Path) -> Bosh:
    """Return the CLI of another operator, who has nothing compiled."""
    return Bosh(tmp_path / "home of another operator")


@pytest.fixture
def environment(compiled: Path, other: Bosh, fake_aws: FakeAws, world: World, tmp_path: Path) -> Environment:
    """Return an environment with the compiled release, and a stemcell that no region has."""
    described = Environment(other, tmp_path, compiled, fake_aws, world)
    # What the right CPI refuses: it answers, and no VM is needed for that.
    described.stemcell = stemcell(tmp_path, NO_IMAGE)
    return described


def test_cli_reads_it(compiled: Path, other: Bosh) -> None:
    """The CLI shows both packages, and for which stemcell they are."""
    shown = other.run("inspect-local-release", compiled).ok()
    line, _, version = STEMCELL.partition("/")
    for package in PACKAGES:
        assert re.search(
            rf"^{re.escape(package)}/\w+\s.*\s{line}\s+{re.escape(version)}\s*$", shown, re.MULTILINE
        )


def test_nothing_is_compiled(compilation: Compilation, installation: Installation) -> None:
    """With nothing compiled beforehand, neither the CLI nor the VM's agent compiles; CPI and job work."""
    created = installation.created
    skipped = re.findall(
        r"Compiling package '([^/]+)/\w+'\.\.\. Skipped \[Package already compiled\]", created.output
    )
    assert skipped == [*PACKAGES, *PACKAGES]
    assert "bash -x packaging" in compilation.run.commands
    assert "bash -x packaging" not in created.commands
    assert "apply" in installation.actions
    assert "compile_package" not in installation.actions
    assert {call.status for call in created.calls} == {0}
    assert installation.things["instances"] == [installation.instance["InstanceId"]]
    assert installation.answer.document["result"] is True


def test_line_with_older_libraries(
    environment: Environment, compiled: Path, other: Bosh, tmp_path: Path
) -> None:
    """The CLI compares no lines; the CPI fails, with the right release too, until packages are deleted."""
    environment.release = with_newer_libraries(compiled, tmp_path / "wrong.tgz")
    refusal = re.compile(r"Error getting CPI info:.*version `GLIBC_2\.99' not found", re.DOTALL)
    assert refusal.search(environment.create().failed())
    environment.release = compiled
    assert refusal.search(environment.create().failed())

    shutil.rmtree(other.installation(environment.state))
    assert REFUSAL in environment.create().failed()


def with_newer_libraries(release: Path, target: Path) -> Path:
    """Write a compiled release whose interpreter needs a C library that is not there yet."""
    with tarfile.open(release) as packed:
        files = {entry.name: packed.extractfile(entry).read() for entry in packed}  # type: ignore[union-attr]
    path = f"./compiled_packages/{PYTHON}.tgz"
    package = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(files[path])) as source,
        tarfile.open(fileobj=package, mode="w:gz", compresslevel=1) as changed,
    ):
        for entry in source:
            content = source.extractfile(entry).read() if entry.isfile() else b""  # type: ignore[union-attr]
            if f"{PYTHON}/{entry.name.removeprefix('./')}" == PYTHON_PROGRAM:
                assert b"\0GLIBC_2.34\0" in content
                content = content.replace(b"\0GLIBC_2.34\0", b"\0GLIBC_2.99\0")
            changed.addfile(entry, io.BytesIO(content))
    manifest = yaml.safe_load(files["./release.MF"])
    (listed,) = (each for each in manifest["compiled_packages"] if each["name"] == PYTHON)
    listed["sha1"] = f"sha256:{hashlib.sha256(package.getvalue()).hexdigest()}"
    files |= {path: package.getvalue(), "./release.MF": yaml.safe_dump(manifest).encode()}
    with tarfile.open(target, "w") as made:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            made.addfile(entry, io.BytesIO(content))
    return target
