"""A forked executable behaves like one that is started."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from testbed import executable
from testbed.executable import ABSENT, Cpi, config, finish, request
from testbed.killing import kill_at
from testbed.warm import fork
from testbed.warm_server import TIMEOUT_SPEED

if TYPE_CHECKING:
    from testbed.cloud import FakeAws
    from testbed.executable import Answer
    from testbed.warm import Warm
    from testbed.world import World

WAITING = {"code": "InvalidInstanceID.NotFound", "message": "not yet"}


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


@pytest.mark.usefixtures("warm")
def test_is_killed(fake_aws: FakeAws, world: World, create_vm: list[Any], cpi: Cpi) -> None:
    """A forked executable can be killed at a call, which then has no effect."""
    assert kill_at(fake_aws, lambda: cpi.start(*create_vm, stemcell=2), action="RunInstances")
    assert world.state() == world.empty


@pytest.mark.usefixtures("warm")
def test_takes_signals(fake_aws: FakeAws, create_vm: list[Any], cpi: Cpi) -> None:
    """A forked executable accepts signals, and `poll` tells whether it has ended."""
    fake_aws.rule(action="RunInstances", hold_before=True)
    process = cpi.start(*create_vm, stemcell=2)
    fake_aws.wait_until_held()
    assert process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=0.01)
    process.send_signal(signal.SIGTERM)
    fake_aws.release()
    assert "SIGTERM" in finish(process).error["message"]
    assert process.poll() == 0


@pytest.mark.usefixtures("warm")
def test_is_ended_in_time(fake_aws: FakeAws, create_vm: list[Any], cpi: Cpi) -> None:
    """A forked executable that exceeds its time is killed, and a TimeoutExpired is raised."""
    fake_aws.rule(action="RunInstances", hold_before=True)
    process = cpi.start(*create_vm, stemcell=2)
    fake_aws.wait_until_held()
    with process, pytest.raises(subprocess.TimeoutExpired):
        process.communicate(timeout=0.01)
    assert process.returncode == -signal.SIGKILL


@pytest.mark.usefixtures("warm")
def test_several_at_once(fake_aws: FakeAws, cpi: Cpi) -> None:
    """Several forked executables end independently, each with its own status."""
    fake_aws.rule(action="DescribeInstances", hold_before=True)
    first, second = (cpi.start("has_vm", "i-0123456789abcdef0") for _ in range(2))
    second.kill()
    assert finish(second).returncode == -signal.SIGKILL
    assert first.poll() is None
    fake_aws.wait_until_held()
    fake_aws.release()
    assert finish(first).ok() is False


@pytest.mark.usefixtures("warm")
def test_hasty_timeouts(fake_aws: FakeAws) -> None:
    """A forked executable whose connections time out earlier makes the call again, and others do not."""
    delay = 3
    for variables, calls in (({TIMEOUT_SPEED: "60"}, 2), ({}, 1)):
        fake_aws.forget_calls()
        fake_aws.rule(action="DescribeInstances", nth=1, delay=delay)
        answer = Cpi(config(fake_aws.endpoint), env=variables).call("has_vm", "i-0123456789abcdef0")
        assert answer.ok() is False
        assert fake_aws.actions() == ["DescribeInstances"] * calls
        fake_aws.clear_rules()


def test_sees_only_its_environment(loaded: Warm) -> None:
    """A forked executable gets exactly the environment that it is given."""
    keys: dict[str, Any] = dict.fromkeys(["access_key_id", "secret_access_key"], ABSENT)
    cpi = Cpi(config("http://127.0.0.1:1", credentials_source="env_or_profile", **keys))
    stdin = request("has_vm", ["i-1234567890abcdef0"], 2, 2, None)
    messages = []
    for given in ({"AWS_ACCESS_KEY_ID": "AKIAGIVEN", "AWS_SECRET_ACCESS_KEY": "given"}, {}):
        environment = {"AWS_EC2_METADATA_DISABLED": "true", **given}
        with fork(loaded.path, [str(cpi.config_path)], environment, cpi.folder) as process:
            stdout, _ = process.communicate(stdin, timeout=executable.PATIENCE)
        messages.append(json.loads(stdout)["error"]["message"])
    assert "Could not connect" in messages[0]
    assert "No AWS credentials found" in messages[1]


def test_waits_faster(fake_aws: FakeAws, create_vm: list[Any], cpi: Cpi, hasty: None) -> None:
    """With the faster clock nearly a minute of waiting for EC2 takes a few seconds."""
    del hasty
    fake_aws.rule(action="DescribeInstances", nth=1, times=40, error=WAITING)
    answer = cpi.call(*create_vm, stemcell=2)
    answer.ok()
    assert fake_aws.actions().count("DescribeInstances") > 40
    assert answer.milliseconds < 30_000
