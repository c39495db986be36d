"""The machines of the test bed: an agent for each running instance, and none without one."""

from __future__ import annotations

import json
import socket
import time
import urllib.request
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError

import pytest

from testbed.environment import free_port
from testbed.hypervisor import MOUNTS
from testbed.metadata_server import TOKEN, USER_DATA
from tests.e2e import agents

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from testbed.cloud import FakeAws
    from testbed.hypervisor import Hypervisor, Machine
    from testbed.world import World


@pytest.fixture
def boot(world: World, hypervisor: Hypervisor, tmp_path: Path) -> Callable[..., Machine]:
    """Return a function that launches an instance with agent settings and waits for its machine."""

    def launch(agent_id: str, port: int, mbus: str = "https", **more: Any) -> Machine:
        settings = {
            "agent_id": agent_id,
            "mbus": agents.mbus(port, mbus),
            **more,
            "env": agents.environment(tmp_path),
        }
        launched = world.ec2.run_instances(
            ImageId=world.image_id,
            InstanceType="m5.large",
            MinCount=1,
            MaxCount=1,
            SubnetId=world.subnet_id,
            UserData=json.dumps(settings),
        )
        hypervisor.settle()
        return hypervisor.machines[launched["Instances"][0]["InstanceId"]]

    return launch


def ask(url: str, method: str = "GET", **headers: str) -> tuple[int, str]:
    """Ask the instance metadata; returns status and body."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(url, method=method, headers=named)  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=10) as response:  # noqa: S310
            return response.status, response.read().decode()
    except HTTPError as error:
        with error:
            return error.code, ""


def listens(port: int) -> bool:
    """Say whether a connection to this port is taken."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_machine_follows_its_instance(
    boot: Callable[..., Machine], world: World, hypervisor: Hypervisor
) -> None:
    """An agent runs with its instance's settings, and its process ends with the instance."""
    machine = boot("agent-1", free_port())
    assert hypervisor.running == [machine]
    world.ec2.terminate_instances(InstanceIds=[machine.instance_id])
    assert hypervisor.settle() == []
    assert not machine.running
    assert machine.settings["agent_id"] == "agent-1"


def test_look_during_the_end_of_a_test(fake_aws: FakeAws, world: World, hypervisor: Hypervisor) -> None:
    """A look at the instances that meets the deletion of everything is repeated."""
    del world
    fake_aws.rule(action="DescribeInstances", hold_before=True)
    assert fake_aws.wait_until_held() == ["DescribeInstances"]
    fake_aws.reset()
    assert hypervisor.settle() == []


def test_restart(boot: Callable[..., Machine], hypervisor: Hypervisor) -> None:
    """A machine starts again with its files; after a reboot nothing is mounted."""
    first = boot("agent-1", free_port())
    note = [{"MountDir": "/var/vcap/store", "DiskCid": "vol-1"}]
    (first.folder / "bosh" / MOUNTS).write_text(json.dumps(note))
    for rebooted, mounts in ((False, {"/var/vcap/store": "vol-1"}), (True, {})):
        before = hypervisor.machines[first.instance_id]
        hypervisor.restart(before, rebooted=rebooted)
        (after,) = hypervisor.running
        assert after.process.pid != before.process.pid
        assert (after.mounts, after.settings["agent_id"]) == (mounts, "agent-1")


def test_port_is_free_for_the_next_machine(
    boot: Callable[..., Machine], world: World, hypervisor: Hypervisor
) -> None:
    """A machine that ended does not answer for the one that comes after it."""
    port = free_port()
    first = boot("agent-1", port)
    assert listens(port)
    world.ec2.terminate_instances(InstanceIds=[first.instance_id])
    hypervisor.settle()
    assert not listens(port)


def test_address(boot: Callable[..., Machine], world: World) -> None:
    """For a dynamic network the agent reports the address that EC2 has given to its instance."""
    port = free_port()
    machine = boot("agent-1", port, networks={"default": {"type": "dynamic"}})
    assert agents.finished(port, "apply", {"networks": {"default": {"type": "dynamic"}}}) == "applied"
    shown = agents.call(port, "get_state")["networks"]["default"]
    (subnet,) = world.ec2.describe_subnets(SubnetIds=[world.subnet_id])["Subnets"]
    assert subnet["CidrBlock"] == "10.0.1.0/24"
    assert (shown["ip"], shown["netmask"], shown["gateway"]) == (
        world.instance(machine.instance_id)["PrivateIpAddress"],
        "255.255.255.0",
        "10.0.1.1",
    )


def test_message_bus_outlives_its_machines(
    boot: Callable[..., Machine], world: World, hypervisor: Hypervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine with a NATS server as its message bus ends although that server's port stays open."""

    def refuse(_: float) -> None:
        raise AssertionError("the machine's end waits for the port of the message bus")

    clock = SimpleNamespace(monotonic=time.monotonic, sleep=refuse)
    with socket.create_server(("127.0.0.1", 0)) as server:
        machine = boot("agent-1", server.getsockname()[1], mbus="nats")
        monkeypatch.setattr("testbed.hypervisor.time", clock)
        world.ec2.terminate_instances(InstanceIds=[machine.instance_id])
        assert hypervisor.settle() == []
        assert machine.serving


def test_agent_that_ends_is_told(world: World, hypervisor: Hypervisor) -> None:
    """An agent that can't start is an error with the agent's own words, not a wait for its time-out."""
    world.ec2.run_instances(
        ImageId=world.image_id,
        InstanceType="m5.large",
        MinCount=1,
        MaxCount=1,
        SubnetId=world.subnet_id,
        UserData="{}",
    )
    with pytest.raises(RuntimeError, match="Metadata does not provide settings"):
        hypervisor.settle()


def test_metadata_wants_a_token_of_the_same_instance(
    boot: Callable[..., Machine], hypervisor: Hypervisor
) -> None:
    """User data is there for a request with the instance's own token, and for no other."""
    first, second = boot("agent-1", free_port()), boot("agent-2", free_port())
    ours, theirs = (f"{hypervisor.metadata.url}/{each.instance_id}" for each in (first, second))
    lifetime: dict[str, Any] = {"X_aws_ec2_metadata_token_ttl_seconds": "60"}
    _, token = ask(ours + TOKEN, "PUT", **lifetime)
    _, foreign = ask(theirs + TOKEN, "PUT", **lifetime)
    assert ask(ours + USER_DATA)[0] == 401
    assert ask(ours + USER_DATA, X_aws_ec2_metadata_token=foreign)[0] == 401
    status, user_data = ask(ours + USER_DATA, X_aws_ec2_metadata_token=token)
    assert status == 200
    assert json.loads(user_data)["agent_id"] == "agent-1"
