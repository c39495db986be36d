"""The machines of the test bed: an agent for each running instance, and none without one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from testbed.environment import free_port
from testbed.hypervisor import MOUNTS, Hypervisor, Machine
from testbed.world import World
from tests.e2e import agents


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
