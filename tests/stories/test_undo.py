"""Nothing is left behind: AWS refuses one call after the other, for good, and the first error counts."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from testbed.executable import Cpi, config
from testbed.loopback import Reply, Request
from testbed.registry import PASSWORD, USER, Registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from testbed.cloud import FakeAws
    from testbed.executable import Answer
    from testbed.world import World

DENIED = {"code": "UnauthorizedOperation", "message": "You are not authorized to do this.", "status": 403}
SAID = (
    "{} failed with UnauthorizedOperation: You are not authorized to do this. "
    "(request id 00000000-0000-4000-8000-000000000000)"
)

COMMON = {"DescribeImages": 1, "DescribeSubnets": 1, "DescribeSecurityGroups": 1, "DescribeVolumes": 1}
ONE_NETWORK = {**COMMON, "RunInstances": 1, "DescribeInstances": 1}
TWO_NETWORKS = {
    **ONE_NETWORK,
    "CreateNetworkInterface": 2,
    "DescribeNetworkInterfaces": 2,
    "ModifyNetworkInterfaceAttribute": 2,
}
CREATE_DISK = {"DescribeAvailabilityZones": 1, "CreateVolume": 1, "DescribeVolumes": 1}
ENCRYPTED_STEMCELL = {"CopyImage": 1, "DescribeImages": 2}


class LateRefusal(Registry):
    """A registry that keeps the settings, and then says that it failed."""

    def reply(self, request: Request) -> Reply:
        """Do what is asked, and answer a PUT with an error."""
        reply = super().reply(request)
        if request.method == "PUT":
            assert self.documents != {}
            return Reply(500)
        return reply


def each(calls: dict[str, int]) -> list[tuple[str, int]]:
    """List every call: action and number."""
    return [(action, number + 1) for action, times in calls.items() for number in range(times)]


@pytest.fixture
def two_networks(network: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    """Return networks that need two interfaces."""
    return {"first": network("10.0.1.10"), "second": network("10.0.2.10", 1)}


@pytest.fixture
def create_stemcell(cpi: Cpi, world: World) -> Callable[[], Answer]:
    """Return a function that asks for an encrypted stemcell."""
    properties = {"ami": {"us-east-1": world.image_id}, "encrypted": True}
    return lambda: cpi.call("create_stemcell", "/x/image", properties)


def test_all_calls_are_known(
    create_vm: Callable[..., Answer],
    create_stemcell: Callable[[], Answer],
    two_networks: dict[str, Any],
    disk: Callable[..., str],
    fake_aws: FakeAws,
    cpi: Cpi,
) -> None:
    """The tables of this module hold all calls that are made, so none is forgotten below."""
    disks = [disk()]
    asked: list[tuple[dict[str, int], Callable[[], Answer]]] = [
        (TWO_NETWORKS, lambda: create_vm(networks=two_networks, disks=disks)),
        (
            ONE_NETWORK,
            lambda: create_vm(networks={"third": {**two_networks["first"], "ip": "10.0.1.11"}}, disks=disks),
        ),
        (CREATE_DISK, lambda: cpi.call("create_disk", 1024, {}, None)),
        (ENCRYPTED_STEMCELL, create_stemcell),
    ]
    for expected, ask in asked:
        fake_aws.forget_calls()
        ask().ok()
        assert Counter(fake_aws.actions()) == Counter(expected)


@pytest.mark.parametrize(("action", "number"), each(ONE_NETWORK))
def test_create_vm(
    create_vm: Callable[..., Answer],
    disk: Callable[..., str],
    failure: Callable[..., dict[str, Any]],
    fake_aws: FakeAws,
    world: World,
    action: str,
    number: int,
) -> None:
    """A VM with one network: each call that fails ends it with AWS's words, and leaves nothing."""
    disk_cid = disk()
    fake_aws.rule(action=action, nth=number, times=None, error=DENIED)
    answer = create_vm(disks=[disk_cid])
    assert answer.error == failure("CloudError", SAID.format(action))
    fake_aws.clear_rules()
    assert world.state() == {**world.empty, "volumes": [disk_cid]}


@pytest.mark.parametrize(("action", "number"), [call for call in each(TWO_NETWORKS) if call[0] not in COMMON])
def test_create_vm_with_two_networks(
    create_vm: Callable[..., Answer],
    two_networks: dict[str, Any],
    failure: Callable[..., dict[str, Any]],
    fake_aws: FakeAws,
    world: World,
    action: str,
    number: int,
) -> None:
    """A VM with two networks: no interface is left either; its group is named when it can't be made."""
    fake_aws.rule(action=action, nth=number, times=None, error=DENIED)
    message = SAID.format(action)
    if action in {"CreateNetworkInterface", "DescribeNetworkInterfaces"}:
        group = list(two_networks)[number - 1]
        message = f"Failed to create network interface for nic_group '{group}': {message}"
    assert create_vm(networks=two_networks).error == failure("CloudError", message)
    fake_aws.clear_rules()
    assert world.state() == world.empty


@pytest.mark.parametrize("is_several", [False, True], ids=["one-network", "two-networks"])
def test_create_vm_with_registry(
    world: World,
    two_networks: dict[str, Any],
    failure: Callable[..., dict[str, Any]],
    server: FakeAws,
    *,
    is_several: bool,
) -> None:
    """A VM goes with its interfaces, and with settings that the registry kept though it answered 500."""
    networks = two_networks if is_several else {"first": two_networks["first"]}
    properties = {"instance_type": "t3.micro", "availability_zone": world.zone}
    with LateRefusal() as registry:
        section = {"endpoint": registry.endpoint, "user": USER, "password": PASSWORD}
        cpi = Cpi(config(server.endpoint, registry=section))
        answer = cpi.call("create_vm", "agent-1", world.image_id, properties, networks, [], {}, stemcell=1)
        vm_cid = registry.requests[0].path.split("/")[2]
        assert [request.method for request in registry.requests] == ["PUT", "DELETE"]
        assert registry.documents == {}
    message = f"Cannot update settings for '{vm_cid}', got HTTP 500"
    assert answer.error == failure("CloudError", message)
    assert world.instance(vm_cid)["State"]["Name"] == "terminated"
    assert world.state() == world.empty


@pytest.mark.parametrize(("action", "number"), each(CREATE_DISK))
def test_create_disk(
    cpi: Cpi,
    failure: Callable[..., dict[str, Any]],
    fake_aws: FakeAws,
    world: World,
    action: str,
    number: int,
) -> None:
    """A disk: each call that fails leaves no volume."""
    fake_aws.rule(action=action, nth=number, times=None, error=DENIED)
    answer = cpi.call("create_disk", 1024, {}, None)
    assert answer.error == failure("CloudError", SAID.format(action))
    fake_aws.clear_rules()
    assert world.state() == world.empty


@pytest.mark.parametrize(("action", "number"), each(ENCRYPTED_STEMCELL))
def test_create_stemcell(
    create_stemcell: Callable[[], Answer],
    failure: Callable[..., dict[str, Any]],
    fake_aws: FakeAws,
    world: World,
    action: str,
    number: int,
) -> None:
    """An encrypted stemcell: each call that fails leaves neither image nor snapshot."""
    fake_aws.rule(action=action, nth=number, times=None, error=DENIED)
    assert create_stemcell().error == failure("CloudError", SAID.format(action))
    fake_aws.clear_rules()
    assert world.state() == world.empty


def test_undo_that_fails(
    create_vm: Callable[..., Answer],
    two_networks: dict[str, Any],
    failure: Callable[..., dict[str, Any]],
    fake_aws: FakeAws,
    world: World,
) -> None:
    """What can't be removed is logged by its id; the first error is answered, and the rest is removed."""
    fake_aws.rule(action="RunInstances", error=DENIED)
    fake_aws.rule(action="DeleteNetworkInterface", nth=1, error=DENIED)
    answer = create_vm(networks=two_networks)
    assert answer.error == failure("CloudError", SAID.format("RunInstances"))
    (left,) = world.state()["interfaces"]
    errors = [line for line in answer.stderr.splitlines() if "Perhaps left behind" in line]
    assert len(errors) == 1
    assert left in errors[0]


@pytest.mark.parametrize(
    ("action", "number", "deletions"),
    [("RunInstances", 1, 2), ("DescribeNetworkInterfaces", 2, 3)],
    ids=["seen", "not-seen"],
)
def test_interface_that_is_unknown(
    create_vm: Callable[..., Answer],
    two_networks: dict[str, Any],
    fake_aws: FakeAws,
    world: World,
    action: str,
    number: int,
    deletions: int,
) -> None:
    """An interface that is unknown when it is to be removed is gone only if EC2 has shown it before."""
    fake_aws.rule(action=action, nth=number, times=None, error=DENIED)
    unknown = {"code": "InvalidNetworkInterfaceID.NotFound", "message": "It does not exist."}
    fake_aws.rule(action="DeleteNetworkInterface", nth=1, error=unknown)
    assert SAID.format(action) in create_vm(networks=two_networks).error["message"]
    assert fake_aws.actions().count("DeleteNetworkInterface") == deletions
    fake_aws.clear_rules()
    assert len(world.state()["interfaces"]) == 3 - deletions
