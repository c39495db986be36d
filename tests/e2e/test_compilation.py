"""Compiling from source: by create-env where it runs, and by the agent of a VM."""

import hashlib
import io
import re
import shutil
import tarfile
from pathlib import Path

import pytest

from testbed.cloud import FakeAws
from testbed.environment import free_port
from testbed.executable import Cpi, config
from testbed.hypervisor import Hypervisor
from testbed.job import PACKAGES, PYTHON
from testbed.world import World
from tests.e2e import agents, job
from tests.e2e.compilation import Compilation, read_package
from tests.e2e.conftest import Installation
from tests.permutations import vm_arguments

pytestmark = pytest.mark.timeout(3600)


def test_packages_are_compiled_for_the_cli(compilation: Compilation) -> None:
    """Each package is compiled where create-env runs, before it creates anything."""
    compiled = re.findall(r"Compiling package '([^/]+)/\w+'\.\.\. Finished", compilation.run.output)
    assert compiled == [*PACKAGES]
    assert compilation.run.commands.count("bash -x packaging") == len(PACKAGES)
    assert compilation.run.methods == ["create_stemcell"]


def test_agent_compiles(
    release: Path,
    compiled: Path,
    installation: Installation,
    fake_aws: FakeAws,
    world: World,
    hypervisor: Hypervisor,
    tmp_path: Path,
) -> None:
    """A VM's agent compiles the CPI's package as for a Director, and the VM's job works with the result.

    The requests are those of the Director (bosh-director, agent_client.rb, compile_package) and of the CLI
    (bosh-agent, agentclient/http/agent_client.go, CompilePackage; the blobs as in blobstore/blobstore.go).
    """
    port = free_port()
    cpi = Cpi(config(fake_aws.endpoint, agent={"mbus": agents.mbus(port), "ntp": []}))
    vm_cid, _ = cpi.call(
        "create_vm", *vm_arguments(world, agents.environment(tmp_path)), api_version=3, stemcell=3
    ).ok()
    (machine,) = hypervisor.settle()
    interpreter, source = read_package(compiled, PYTHON), read_package(release, "bosh_aws_cpi")
    for package in (interpreter, source):
        agents.upload(port, f"blob-{package.name}", package.content)
    dependency = {
        "name": interpreter.name,
        "version": interpreter.fingerprint,
        "sha1": interpreter.digest,
        "blobstore_id": f"blob-{interpreter.name}",
    }
    answer = agents.finished(
        port,
        "compile_package",
        f"blob-{source.name}",
        source.digest,
        source.name,
        source.fingerprint,
        {interpreter.name: dependency},
    )
    result = answer["result"]
    made = agents.download(port, result["blobstore_id"])
    algorithm, _, digest = result["sha1"].rpartition(":")
    assert hashlib.new(algorithm or "sha1", made, usedforsecurity=False).hexdigest() == digest
    assert machine.actions.count("compile_package") == 1

    vcap = shutil.copytree(installation.vcap, tmp_path / "vcap", symlinks=True)
    link = vcap / "packages" / source.name
    link.unlink()
    with tarfile.open(fileobj=io.BytesIO(made)) as archive:
        archive.extractall(link, filter="data")
    info = job.on(vcap).call("info", api_version=None)
    assert info.ok()["api_version"] == 3, info.stderr

    cpi.call("delete_vm", vm_cid, api_version=3, stemcell=3).ok()
    assert hypervisor.settle() == []
    assert world.state() == world.empty
