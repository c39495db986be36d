"""What agent settings hold: several networks, and the configuration's agent section. Whole documents."""

import base64
import json
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi, config
from testbed.registry import PASSWORD, USER, Registry
from testbed.world import World

pytestmark = pytest.mark.usefixtures("warm")

AGENT = {
    "mbus": "nats://nats:mbus-secret-e0a8@10.0.1.6:4222",
    "ntp": ["0.pool.ntp.org"],
    "blobstore": {"provider": "dav", "options": {"endpoint": "http://10.0.1.6:25250"}},
}
ENV = {"bosh": {"group": "my-group"}, "persistent_disk_fs": "ext4"}


@pytest.fixture
def old_cpi(fake_aws: FakeAws, registry: Registry) -> Cpi:
    """Return the executable with a registry."""
    section = {"endpoint": registry.endpoint, "user": USER, "password": PASSWORD}
    return Cpi(config(fake_aws.endpoint, registry=section, agent=AGENT))


def manual(world: World, ip: str, subnet: int = 0, **more: Any) -> dict[str, Any]:
    """Write a manual network."""
    return {"type": "manual", "ip": ip, "cloud_properties": {"subnet": world.subnet_ids[subnet]}, **more}


def user_data(world: World, vm_cid: str) -> Any:
    """Read what a VM boots from, as EC2 holds it."""
    answer = world.ec2.describe_instance_attribute(InstanceId=vm_cid, Attribute="userData")
    return json.loads(base64.b64decode(answer["UserData"]["Value"]))


def test_several_networks(world: World, old_cpi: Cpi, registry: Registry) -> None:
    """Manual networks get MAC addresses in user_data and in the registry."""
    manuals = {"a": manual(world, "10.0.1.10"), "b": manual(world, "10.0.2.10", 1, dns=["10.0.0.2"])}
    dynamic = {"type": "dynamic", "dns": ["8.8.8.8"], "cloud_properties": {"subnet": world.subnet_id}}
    properties = {"instance_type": "m5.large", "availability_zone": world.zone}
    given = {**manuals, "c": dynamic}
    old = old_cpi.call("create_vm", "agent-1", world.image_id, properties, given, stemcell=1).ok()[0]
    nics = {
        nic["Attachment"]["DeviceIndex"]: nic["MacAddress"]
        for nic in world.instance(old)["NetworkInterfaces"]
    }
    networks = {
        "a": {**manuals["a"], "use_dhcp": True, "mac": nics[0]},
        "b": {**manuals["b"], "use_dhcp": True, "mac": nics[1]},
        "c": {**dynamic, "use_dhcp": True},
    }
    assert user_data(world, old) == {
        "dns": {"nameserver": ["10.0.0.2"]},
        "networks": networks,
        "registry": {"endpoint": registry.endpoint},
    }
    assert registry.settings(old)["networks"] == networks
    assert "env" not in registry.settings(old)


def test_agent_section_wins(fake_aws: FakeAws, world: World) -> None:
    """Keys of the agent section win, but for dns, networks and registry; no ephemeral disk, no key."""
    agent = {
        "agent_id": "other",
        "env": {"from": "config"},
        "vm": {"name": "own"},
        **dict.fromkeys(("dns", "networks", "registry"), "config's"),
    }
    size = {"instance_type": "t3.micro", "ephemeral_disk": {"use_root_disk": True}}
    properties = {"availability_zone": world.zone, **size}
    given = {"one": manual(world, "10.0.1.10")}
    cpi = Cpi(config(fake_aws.endpoint, agent=agent))
    answer = cpi.call("create_vm", "agent-1", world.image_id, properties, given, [], ENV, stemcell=3)
    vm_cid = answer.ok()[0]
    assert user_data(world, vm_cid) == {
        "agent_id": "other",
        "env": {"from": "config"},
        "vm": {"name": "own"},
        "dns": None,
        "networks": {"one": {**given["one"], "use_dhcp": True}},
        "disks": {"system": "/dev/xvda", "persistent": {}},
    }
