"""Where agent settings go, by the versions of Director, CPI and stemcell; whole documents."""

from __future__ import annotations

import base64
import json
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from testbed.executable import Cpi, config
from testbed.registry import PASSWORD, USER, Registry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from testbed.cloud import FakeAws
    from testbed.executable import Answer
    from testbed.world import World

pytestmark = pytest.mark.usefixtures("warm")

AGENT = {
    "mbus": "nats://nats:mbus-secret-e0a8@10.0.1.6:4222",
    "ntp": ["0.pool.ntp.org"],
    "blobstore": {"provider": "dav", "options": {"endpoint": "http://10.0.1.6:25250"}},
}
ENV = {"bosh": {"group": "my-group"}, "persistent_disk_fs": "ext4"}
NVME = "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_"
LOGIN = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
NO_REGISTRY = "Cannot create VM without registry with CPI {}. Registry not configured."


@pytest.fixture
def registry() -> Iterator[Registry]:
    """Run a registry."""
    with Registry() as server:
        yield server


def make_cpi(
    fake_aws: FakeAws,
    registry: Registry | None,
    agent: dict[str, Any] = AGENT,
    api_version: int | None = None,
) -> Cpi:
    """Configure the executable; None means without a registry, and without a limit of the version."""
    section = {"endpoint": registry.endpoint, "user": USER, "password": PASSWORD} if registry else None
    document = config(fake_aws.endpoint, registry=section, agent=agent)
    document["cloud"]["properties"]["debug"] = {"cpi": {"api_version": api_version}}
    return Cpi(document)


@pytest.fixture
def old_cpi(fake_aws: FakeAws, registry: Registry) -> Cpi:
    """Return the executable with a registry."""
    return make_cpi(fake_aws, registry)


def manual(world: World, ip: str, subnet: int = 0, **more: Any) -> dict[str, Any]:
    """Write a manual network."""
    return {"type": "manual", "ip": ip, "cloud_properties": {"subnet": world.subnet_ids[subnet]}, **more}


def create_vm(
    cpi: Cpi, world: World, networks: dict[str, Any], env: dict[str, Any] | None = None, **call: Any
) -> Answer:
    """Ask for a VM."""
    properties = {"instance_type": "m5.large", "availability_zone": world.zone}
    return cpi.call("create_vm", "agent-1", f"{world.image_id} light", properties, networks, [], env, **call)


def user_data(world: World, vm_cid: str) -> Any:
    """Read what a VM boots from, as EC2 holds it."""
    answer = world.ec2.describe_instance_attribute(InstanceId=vm_cid, Attribute="userData")
    return json.loads(base64.b64decode(answer["UserData"]["Value"]))


def without_name(settings: dict[str, Any]) -> dict[str, Any]:
    """Check the VM's name in full settings, and return the rest of them."""
    name = settings["vm"]["name"]
    assert settings["vm"] == {"name": name}
    assert name == f"vm-{uuid.UUID(name.removeprefix('vm-'))}"
    assert uuid.UUID(name.removeprefix("vm-")).version == 5
    return {key: value for key, value in settings.items() if key != "vm"}


def exchanges(registry: Registry) -> list[tuple[str, str, Any]]:
    """List what the registry was asked: method, path and document, the VM's name taken out."""
    listed = []
    for request in registry.requests:
        assert request.headers["authorization"] == LOGIN
        document = None
        if request.method == "PUT":
            assert request.headers["content-type"] == "application/json"
            document = without_name(json.loads(request.body))
        else:
            assert request.body == b""
        listed.append((request.method, request.path, document))
    return listed


@pytest.mark.parametrize(
    ("versions", "is_written", "is_with_disk"),
    [
        ((1, 1, 1), True, True),
        ((1, 1, 2), True, False),
        ((1, 2, 2), True, False),
        ((2, 2, 2), False, True),
        ((1, 2, 1), True, False),
        ((2, 2, 1), True, True),
        ((2, 1, 1), True, False),
        ((2, 1, 2), True, False),
    ],
)
def test_reference_table(
    fake_aws: FakeAws,
    world: World,
    registry: Registry,
    versions: tuple[int, int, int],
    is_written: bool,  # noqa: FBT001 - a column of the table
    is_with_disk: bool,  # noqa: FBT001
) -> None:
    """Everything goes to the registry, but with both at version 2 into user_data and nowhere else.

    The versions are those of the Director, the CPI and the stemcell. A disk is attached and
    detached in one row of each outcome.
    """
    director, offered, stemcell = versions
    cpi = make_cpi(fake_aws, registry, api_version=offered)
    version = min(director, cpi.call("info", api_version=None).ok()["api_version"])
    call: dict[str, Any] = {"api_version": version, "stemcell": stemcell}
    disk_cid = world.ec2.create_volume(AvailabilityZone=world.zone, Size=1)["VolumeId"]
    dns = ["10.0.0.2", "10.0.0.3"]
    given = {"private": manual(world, "10.0.1.10", dns=dns, default=["dns", "gateway"], gateway="10.0.1.1")}
    networks = {"private": {**given["private"], "use_dhcp": True}}
    full = {
        "agent_id": "agent-1",
        "networks": networks,
        "disks": {"system": "/dev/xvda", "ephemeral": "/dev/sdb", "persistent": {}},
        "env": ENV,
        **AGENT,
    }
    minimal = {
        "dns": {"nameserver": dns},
        "networks": networks,
        "registry": {"endpoint": registry.endpoint},
    }

    created = create_vm(cpi, world, given, ENV, **call).ok()
    vm_cid = created if version == 1 else created[0]
    assert created == (vm_cid if version == 1 else [vm_cid, given])
    booted_from = user_data(world, vm_cid)
    if is_written:
        assert booted_from == minimal
    else:
        assert without_name(booted_from) == {**full, **minimal}
    path = NVME + disk_cid.replace("-", "")
    if is_with_disk:
        assert cpi.call("attach_disk", vm_cid, disk_cid, **call).ok() == (None if version == 1 else path)
        assert cpi.call("detach_disk", vm_cid, disk_cid, **call).ok() is None
    assert cpi.call("delete_vm", vm_cid, **call).ok() is None

    url = f"/instances/{vm_cid}/settings"
    with_disk = {**full, "disks": {**full["disks"], "persistent": {disk_cid: path}}}  # type: ignore[dict-item]
    changes = [("GET", url, None), ("PUT", url, with_disk), ("GET", url, None), ("PUT", url, full)]
    written = [("PUT", url, full), *(changes if is_with_disk else []), ("DELETE", url, None)]
    assert exchanges(registry) == (written if is_written else [])
    assert world.state() == {**world.empty, "volumes": [disk_cid]}


def test_several_networks(fake_aws: FakeAws, world: World, old_cpi: Cpi, registry: Registry) -> None:
    """Manual networks get MAC addresses in both places, and the same agent id the same name."""
    manuals = {"a": manual(world, "10.0.1.10"), "b": manual(world, "10.0.2.10", 1, dns=["10.0.0.2"])}
    dynamic = {"type": "dynamic", "dns": ["8.8.8.8"], "cloud_properties": {"subnet": world.subnet_id}}
    old = create_vm(old_cpi, world, {**manuals, "c": dynamic}, stemcell=1).ok()[0]
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

    bare = make_cpi(fake_aws, None)
    new = create_vm(bare, world, {"c": dynamic}, stemcell=2).ok()[0]
    booted_from = user_data(world, new)
    assert booted_from["vm"] == registry.settings(old)["vm"]
    assert without_name(booted_from) == {
        "dns": None,
        "networks": {"c": {**dynamic, "use_dhcp": True}},
        "agent_id": "agent-1",
        "disks": {"system": "/dev/xvda", "ephemeral": "/dev/sdb", "persistent": {}},
        **AGENT,
    }


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
    cpi = make_cpi(fake_aws, None, agent)
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


@pytest.mark.parametrize(
    ("version", "stemcell", "kind", "message"),
    [
        (1, 2, "CloudError", NO_REGISTRY.format("v1")),
        (1, None, "CloudError", NO_REGISTRY.format("v1")),
        (2, 1, "CloudError", NO_REGISTRY.format("v2 and stemcell api version 1")),
        (3, 1, "CloudError", NO_REGISTRY.format("v2 and stemcell api version 1")),
        (2, None, "CPIAPIVersionNotSupported", "Stemcell API version '' is not supported."),
    ],
)
def test_registry_needed(
    fake_aws: FakeAws, world: World, version: int, stemcell: int | None, kind: str, message: str
) -> None:
    """A VM that needs a registry while there is none is refused without asking AWS."""
    cpi = make_cpi(fake_aws, None)
    networks = {"one": manual(world, "10.0.1.10")}
    answer = create_vm(cpi, world, networks, api_version=version, stemcell=stemcell)
    assert answer.error == {"type": f"Bosh::Clouds::{kind}", "message": message, "ok_to_retry": False}
    assert fake_aws.actions() == []
