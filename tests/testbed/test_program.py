"""A forked executable behaves like one that is started, and the record of the calls of all of them."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from testbed import executable
from testbed.cloud import FakeAws
from testbed.executable import ABSENT, Answer, Cpi, config, request
from testbed.program_calls import VARIABLE
from testbed.warm import Warm, fork
from testbed.world import World

WITHOUT_TAGS = """
from bosh_aws_cpi import __main__
from bosh_aws_cpi.plan import tag_plan
tag_plan.of_origin = lambda *_: {}
__main__.run()
"""
"""The executable, whose resources lack the tags of their Director."""


@pytest.fixture
def create_vm(cpi: Cpi, world: World) -> list[Any]:
    """Return the method and arguments that create an ordinary VM."""
    del cpi
    network = {"type": "manual", "ip": "10.0.1.10", "cloud_properties": {"subnet": world.subnet_id}}
    properties = {"instance_type": "t3.micro", "availability_zone": world.zone}
    return ["create_vm", "agent-1", f"{world.image_id} light", properties, {"private": network}, [], {}]


def test_answers_alike(
    fake_aws: FakeAws, world: World, create_vm: list[Any], loaded: Warm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forked and started executables make the same calls to AWS, the same log and the same answer."""

    def seen() -> tuple[list[Any], str, list[str]]:
        fake_aws.forget_calls()
        answer: Answer = Cpi(config(fake_aws.endpoint)).call(*create_vm, stemcell=2)
        vm_cid = answer.ok()[0]
        called = fake_aws.actions()
        world.ec2.terminate_instances(InstanceIds=[vm_cid])
        log = re.sub(r"\d{4}-\S+|in \d+\.\d+ seconds", "", answer.stderr).replace(vm_cid, "VM")
        return [answer.returncode, answer.result[1]], log, called

    started = seen()
    monkeypatch.setenv(executable.FORK_FROM, loaded.path)
    create_vm[1] = "agent-2"
    assert seen() == started


def test_sees_only_its_environment(loaded: Warm) -> None:
    """A forked executable gets exactly the environment that it is given."""
    keys: dict[str, Any] = dict.fromkeys(["access_key_id", "secret_access_key"], ABSENT)
    cpi = Cpi(config("http://127.0.0.1:1", credentials_source="env_or_profile", **keys))
    stdin = request("has_vm", ["i-1234567890abcdef0"])
    messages = []
    for given in ({"AWS_ACCESS_KEY_ID": "AKIAGIVEN", "AWS_SECRET_ACCESS_KEY": "given"}, {}):
        environment = {"AWS_EC2_METADATA_DISABLED": "true", **given}
        with fork(loaded.path, [str(cpi.config_path)], environment, cpi.folder) as process:
            stdout, _ = process.communicate(stdin, timeout=executable.PATIENCE)
        messages.append(json.loads(stdout)["error"]["message"])
    assert "Could not connect" in messages[0]
    assert "No AWS credentials found" in messages[1]


def test_denials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file says what the restricted policy denies the Director: to create something without its tag."""
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with FakeAws() as fake_aws:
        cpi = Cpi(config(fake_aws.endpoint), command=[sys.executable, "-c", WITHOUT_TAGS])
        cpi.call("delete_disk", "vol-0123456789abcdef0")
        cpi.call("create_disk", 1024, {})
    (file,) = tmp_path.iterdir()
    calls = json.loads(file.read_text())
    assert {action: bool(denial) for _, action, denial in calls} == {
        "CreateVolume": True,
        "DeleteVolume": False,
        "DescribeAvailabilityZones": False,
        "DescribeVolumes": False,
    }
