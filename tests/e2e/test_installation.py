"""The first create-env: the compiled release is installed and used, and its job set up on the VM."""

import uuid

import pytest

from testbed.cloud import FakeAws
from testbed.environment import ADDRESS, part
from tests.e2e import job
from tests.e2e.compilation import Compilation
from tests.e2e.conftest import Installation

pytestmark = pytest.mark.timeout(3600)


def test_vm_is_what_the_manifest_says(installation: Installation) -> None:
    """The instance has the manifest's type, address and key, and the director's name tags."""
    instance = installation.instance
    assert instance["InstanceType"] == "m5.large"
    assert instance["PrivateIpAddress"] == ADDRESS
    assert instance["KeyName"] == "bosh"
    tags = {tag["Key"]: tag["Value"] for tag in instance["Tags"]}
    assert tags["Name"] == "bosh/0"
    assert tags["deployment"] == "bosh"


def test_agent_settings(installation: Installation) -> None:
    """The agent booted with the id, name, network, disks, time servers and message bus meant for it."""
    settings = installation.settings
    (create_vm,) = (call for call in installation.created.calls if call.method == "create_vm")
    assert settings["agent_id"] == create_vm.request["arguments"][0]
    assert uuid.UUID(settings["vm"]["name"].removeprefix("vm-")).version == 5
    assert part(settings, installation.expected) == installation.expected
    assert settings["env"]["bosh"]["mbus"]["cert"]["private_key"].startswith("-----BEGIN")


@pytest.mark.parametrize("secret", ["access key", "secret key", "message bus password", "message bus key"])
def test_no_secret_in_the_debug_log(
    compilation: Compilation, installation: Installation, secret: str
) -> None:
    """Neither CPI, at debug level, nor packaging scripts write a secret, nor do arguments carry one."""
    runs = (
        (compilation.run, compilation.secrets),
        (installation.created, installation.secrets),
        (installation.deleted, installation.secrets),
    )
    for run, secrets in runs:
        value = secrets[secret]
        assert run.said_by_programs
        assert run.commands
        assert [text for text in run.said_by_programs if value in text] == []
        assert [command for command in run.commands if value in command] == []
        assert value not in run.output


def test_info(installation: Installation) -> None:
    """`info`, which carries no version, announces contract 3 and both kinds of stemcells."""
    announced = job.on(installation.vcap).call("info", api_version=None).ok()
    assert announced["api_version"] == 3
    assert set(announced["stemcell_formats"]) == {"aws-light", "aws-raw"}


def test_commands(installation: Installation, fake_aws: FakeAws) -> None:
    """An operator's commands run from the job, with its configuration and all that Python needs for them."""
    swept = job.on(installation.vcap, "sweep --director 5c6a4f0e-0000-4000-8000-000000000001 --json").raw(b"")
    assert (swept.returncode, swept.document["strays"]) == (0, [])
    assert "DescribeVolumes" in fake_aws.actions()
    checked_before = job.on(installation.vcap, "preflight --json").raw(b"")
    assert (checked_before.returncode, checked_before.document["is_ready"]) == (0, True)
