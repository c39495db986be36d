"""Each contract with each stemcell, with a registry and without: a VM's life, and where its settings are."""

import base64
import itertools
import json
from collections import Counter
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.registry import PASSWORD, USER, Registry
from testbed.world import World
from tests.contract.conftest import read
from tests.contract.recorded import NVME
from tests.permutations import (
    CONTRACTS,
    STEMCELLS,
    TABLE,
    Caller,
    Permutation,
    Place,
    created_vm,
    placed,
    vm_arguments,
    without_name,
)

pytestmark = pytest.mark.usefixtures("warm")

ENV = {"bosh": {"group": "my-group"}, "persistent_disk_fs": "ext4"}
LOGIN = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()


def answered(caller: Caller, method: str, *arguments: Any) -> Any:
    """Call a method that must succeed, and return its result."""
    document = read(caller.call(method, *arguments))
    assert document["error"] is None
    return document["result"]


def refused(caller: Caller, method: str, *arguments: Any) -> str:
    """Call a method that must fail with a CloudError, and return its message."""
    error = read(caller.call(method, *arguments))["error"]
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", False)
    message: str = error["message"]
    return message


def live(caller: Caller, arguments: list[Any]) -> tuple[str, str, Any]:
    """Create a VM, attach a disk, detach it and delete the VM.

    Returns:
        The VM's id, the disk's, and the result of attach_disk.
    """
    assert caller.announced() == caller.permutation.contract
    vm_cid = created_vm(caller.permutation, answered(caller, "create_vm", *arguments), arguments[3])
    disk_cid = answered(caller, "create_disk", 1024, {}, vm_cid)
    hint = answered(caller, "attach_disk", vm_cid, disk_cid)
    assert answered(caller, "detach_disk", vm_cid, disk_cid) is None
    assert answered(caller, "delete_vm", vm_cid) is None
    return vm_cid, disk_cid, hint


def path_of(disk_cid: str) -> str:
    """Return the path of a disk on a Nitro type."""
    return NVME + disk_cid.replace("-", "")


def user_data(fake_aws: FakeAws) -> Any:
    """Read the user data of the one instance that was launched."""
    (call,) = [call for call in fake_aws.calls() if call["action"] == "RunInstances"]
    return json.loads(base64.b64decode(call["parameters"]["UserData"]))


def exchanges(registry: Registry, vm_cid: str) -> list[tuple[str, Any]]:
    """List the requests to the registry, all for one VM: method and document, without the VM's name."""
    listed: list[tuple[str, Any]] = []
    for request in registry.requests:
        assert request.path == f"/instances/{vm_cid}/settings"
        assert request.headers["authorization"] == LOGIN
        if request.method == "PUT":
            assert request.headers["content-type"] == "application/json"
            listed.append((request.method, without_name(json.loads(request.body))))
        else:
            assert request.body == b""
            listed.append((request.method, None))
    return listed


def full(caller: Caller, arguments: list[Any], *disks: tuple[str, str]) -> dict[str, Any]:
    """Write the settings that an agent boots with, except for the VM's name."""
    agent_id, _, _, networks, _, env = arguments
    return {
        "agent_id": agent_id,
        "networks": {key: {**network, "use_dhcp": True} for key, network in networks.items()},
        "disks": {"system": "/dev/xvda", "ephemeral": "/dev/sdb", "persistent": dict(disks)},
        "env": env,
        **caller.agent,
    }


def minimal(caller: Caller, arguments: list[Any], registry: Registry) -> dict[str, Any]:
    """Write the settings with which an agent finds its registry, if there is one."""
    has_registry = caller.permutation.has_registry
    return {
        "dns": {"nameserver": ["10.0.0.2"]},
        "networks": full(caller, arguments)["networks"],
        **({"registry": {"endpoint": registry.endpoint}} if has_registry else {}),
    }


def test_table() -> None:
    """The table has each contract with each stemcell, with a registry and without, once."""
    rows = Counter((each.contract, each.stemcell, each.has_registry) for each in TABLE)
    assert rows == Counter(itertools.product(CONTRACTS, STEMCELLS, (True, False)))


@pytest.mark.parametrize("permutation", placed(Place.USER_DATA), ids=str)
def test_settings_in_user_data(
    permutation: Permutation, fake_aws: FakeAws, world: World, registry: Registry
) -> None:
    """From V2 and stemcell 2 on, user_data has all settings, and the registry is not asked."""
    caller = Caller(permutation, fake_aws, registry)
    arguments = vm_arguments(world, ENV)
    vm_cid, disk_cid, hint = live(caller, arguments)
    assert hint == path_of(disk_cid)
    whole = {**full(caller, arguments), **minimal(caller, arguments, registry)}
    assert without_name(user_data(fake_aws)) == whole
    assert exchanges(registry, vm_cid) == []
    assert world.state() == {**world.empty, "volumes": [disk_cid]}


@pytest.mark.parametrize("permutation", placed(Place.REGISTRY), ids=str)
def test_settings_in_the_registry(
    permutation: Permutation, fake_aws: FakeAws, world: World, registry: Registry
) -> None:
    """In V1, or for stemcell 1, the registry has all settings, and user_data says where it is."""
    caller = Caller(permutation, fake_aws, registry)
    arguments = vm_arguments(world, ENV)
    vm_cid, disk_cid, hint = live(caller, arguments)
    assert hint == (None if permutation.contract == 1 else path_of(disk_cid))
    assert user_data(fake_aws) == minimal(caller, arguments, registry)
    assert exchanges(registry, vm_cid) == [
        ("PUT", full(caller, arguments)),
        ("GET", None),
        ("PUT", full(caller, arguments, (disk_cid, path_of(disk_cid)))),
        ("GET", None),
        ("PUT", full(caller, arguments)),
        ("DELETE", None),
    ]
    assert world.state() == {**world.empty, "volumes": [disk_cid]}


@pytest.mark.parametrize("permutation", placed(Place.REFUSED), ids=str)
def test_without_the_registry(
    permutation: Permutation, fake_aws: FakeAws, world: World, registry: Registry
) -> None:
    """Without a needed registry, no VM is created; what the other methods do is a story of the registry."""
    caller = Caller(permutation, fake_aws, registry)
    assert caller.announced() == permutation.contract
    stemcell = f"v2 and stemcell api version {permutation.stemcell}" if permutation.contract > 1 else "v1"
    assert (
        refused(caller, "create_vm", *vm_arguments(world, ENV))
        == f"Cannot create VM without registry with CPI {stemcell}. Registry not configured."
    )
    assert fake_aws.actions() == []
    assert registry.requests == []
