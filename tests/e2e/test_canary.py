"""The canary: this release under names of its own, beside one that has the Ruby release's names.

The ordinary flavour stands in for the Ruby release: release, job and one package have the same names.
"""

import io
import json
import re
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from testbed.bosh_cli import Bosh
from testbed.cloud import FakeAws
from testbed.environment import JOB, Environment
from testbed.executable import Answer
from testbed.hypervisor import BASE, Hypervisor
from testbed.job import PACKAGES
from testbed.world import World
from tests.e2e import job
from tests.e2e.compilation import Compilation, pack, stemcell
from tests.e2e.publication import NAME, ROOT, Pipeline, checked

pytestmark = pytest.mark.timeout(3600)

OPS = ROOT / "ci" / "ops" / "canary.yml"
CANARY = {"name": "aws_cpi_python", "release": "bosh-aws-cpi-python"}
OF_RUBY = {NAME, "aws_cpi", "bosh_aws_cpi", "aws-cpi-ruby-3.3", "cpi"}
"""The names of the Ruby release 107.3.2: its own, its job's, its packages', and its process's for monit."""
PAGE = (ROOT / "docs" / "canary.md").read_text()


@pytest.fixture(scope="module")
def canary(pipeline: Pipeline, folder: Path) -> Path:
    """Return the canary, built from a clean clone."""
    tarball = folder / "canary.tgz"
    build = ("sh", "scripts/create-release", "--flavour", "canary", f"--version={pipeline.version}")
    checked(pipeline.run(pipeline.folder / "source", *build, f"--tarball={tarball}"))
    return tarball


def files(content: bytes) -> dict[str, bytes]:
    """Return the files of an archive."""
    with tarfile.open(fileobj=io.BytesIO(content)) as packed:
        return {
            entry.name.removeprefix("./"): packed.extractfile(entry).read()  # type: ignore[union-attr]
            for entry in packed
            if entry.isfile()
        }


def names(manifest: dict[str, Any]) -> set[str]:
    """Return the names of a release, its jobs and its packages."""
    listed = (each["name"] for kind in ("jobs", "packages") for each in manifest[kind])
    return {manifest["name"], *listed}


def test_names(canary: Path, pipeline: Pipeline) -> None:
    """No name is one of the ordinary release or of the Ruby release, so the Director sees no collision.

    It compares names of releases, of the jobs of an instance group (instance_group.rb, add_job) and, unless
    fingerprints are equal, of packages (validate_package_names_do_not_collide!).
    """
    content = files(canary.read_bytes())
    ours = yaml.safe_load(content["release.MF"])
    ordinary = yaml.safe_load(files(pipeline.tarball.read_bytes())["release.MF"])
    assert names(ours) & (names(ordinary) | OF_RUBY) == set()
    monit = files(content["jobs/aws_cpi_python.tgz"])["monit"].decode()
    (process,) = re.findall(r"^check process (\S+)$", monit, re.MULTILINE)
    assert process not in OF_RUBY
    head = pipeline.git(pipeline.folder / "source", "rev-parse", "HEAD").strip()
    assert (ours["commit_hash"], ours["uncommitted_changes"]) == (head, False)


class Both(Environment):
    """An environment with the ordinary job on the Director's VM; create-env itself uses the canary."""

    def manifest(self) -> dict[str, Any]:
        """Write the manifest."""
        manifest = super().manifest()
        manifest["instance_groups"][0]["properties"]["director"] = {"cpi_job": JOB["name"]}
        manifest["cloud_provider"]["template"] = CANARY
        return manifest


@pytest.fixture(scope="module")
def compiled_canary(compilation: Compilation, bosh: Bosh, canary: Path) -> Path:
    """Return the canary with the ordinary release's compiled packages: their sources are the same."""
    bosh.restore()
    return pack(canary, bosh.installation(compilation.state), canary.with_name("compiled canary.tgz"))


@pytest.fixture(scope="module")
def vcap(
    server: FakeAws, hypervisor: Hypervisor, compiled: Path, compiled_canary: Path, folder: Path
) -> Path:
    """Create an environment with both, and delete it; returns what was below /var/vcap on its VM."""
    server.reset()
    world = server.lay()
    place = folder / "both"
    place.mkdir()
    operator = Bosh(folder / "home of a third operator")
    environment = Both(operator, place, compiled, server, world)
    environment.stemcell = stemcell(place, world.image_id)
    environment.jobs = [JOB]
    environment.options = ["-o", OPS, "-v", f"aws_cpi_canary={compiled_canary}"]
    created = environment.create()
    created.ok()
    called = set(re.findall(r" executing external CPI command '([^'\n]*)'", created.log))
    assert [path.endswith(f"/jobs/{CANARY['name']}/bin/cpi") for path in called] == [True], called
    (machine,) = hypervisor.settle()
    left = folder / "vcap of both"
    for part in ("data", "jobs", "packages"):
        shutil.copytree(machine.folder / part, left / part, symlinks=True)
    environment.delete().ok()
    assert hypervisor.settle() == []
    return left


def example(key: str) -> list[dict[str, Any]]:
    """Return a list of the page's examples."""
    blocks = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (found,) = (document[key] for document in map(yaml.safe_load, blocks) if key in document)
    listed: list[dict[str, Any]] = found
    return listed


def call(vcap: Path, az: str, method: str, *arguments: Any) -> Answer:
    """Call the CPI of an az, as the Director finds it (az_cloud_factory.rb, cloud_factory.rb)."""
    (name,) = (each["cpi"] for each in example("azs") if each["name"] == az)
    (cpi,) = (each for each in example("cpis") if each["name"] == name)
    return job.on(vcap, exec_path=cpi["exec_path"]).call(method, *arguments, context=cpi["properties"])


def test_two_azs_use_different_executables(vcap: Path, tmp_path: Path, world: World) -> None:
    """Both jobs are on one VM; each az's calls reach its own job and its own packages, and AWS."""
    mine = shutil.copytree(vcap, tmp_path / "vcap", symlinks=True)
    link = (mine / "jobs" / JOB["name"]).readlink()
    path = mine / link.relative_to(BASE) / "config" / "cpi.json"
    document = json.loads(path.read_text())
    document["cloud"]["properties"]["debug"]["cpi"]["api_version"] = 2
    path.unlink()
    path.write_text(json.dumps(document))
    versions = {az: call(mine, az, "info").ok()["api_version"] for az in ("z1", "z2")}
    assert versions == {"z1": 2, "z2": 3}
    for az in versions:
        disk = call(mine, az, "create_disk", 1024, {"type": "gp3"}).ok()
        other = "z1" if az == "z2" else "z2"
        assert call(mine, other, "has_disk", disk).ok() is True
        call(mine, other, "delete_disk", disk).ok()
    assert world.state() == world.empty

    for name in PACKAGES:
        (mine / "packages" / name).unlink()
    assert call(mine, "z1", "info").returncode != 0
    assert call(mine, "z2", "info").ok()["api_version"] == 3
