"""Nothing is left behind: AWS refuses one call after the other, for good, and the first error counts."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from testbed.executable import Cpi, config
from testbed.loopback import Reply, Request
from testbed.matrix import sampled
from testbed.registry import PASSWORD, USER, Registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from testbed.cloud import FakeAws
    from testbed.executable import Answer
    from testbed.world import World

COMMON = {
    "DescribeImages": 1,
    "DescribeInstanceTypes": 1,
    "DescribeSubnets": 1,
    "DescribeSecurityGroups": 1,
    "DescribeVolumes": 1,
}
ONE_NETWORK = {**COMMON, "RunInstances": 1, "DescribeInstances": 1}
TWO_NETWORKS = {
    **ONE_NETWORK,
    "CreateNetworkInterface": 2,
    "DescribeNetworkInterfaces": 2,
    "ModifyNetworkInterfaceAttribute": 2,
}
CREATE_DISK = {"DescribeAvailabilityZones": 1, "CreateVolume": 1, "DescribeVolumes": 1}
ENCRYPTED_STEMCELL = {"CopyImage": 1, "DescribeImages": 3}


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
    network: Callable[..., dict[str, Any]],
    two_networks: dict[str, Any],
    disk: Callable[..., str],
    fake_aws: FakeAws,
    cpi: Cpi,
) -> None:
    """The tables of this module hold all calls that are made, so none is forgotten below."""
    disks = [disk()]
    asked: list[tuple[dict[str, int], Callable[[], Answer]]] = [
        (TWO_NETWORKS, lambda: create_vm(networks=two_networks, disks=disks)),
        # Of another type: what is known of a type is kept.
        (ONE_NETWORK, lambda: create_vm({"instance_type": "m5.large"}, {"third": network()}, disks)),
        (CREATE_DISK, lambda: cpi.call("create_disk", 1024, {}, None)),
        (ENCRYPTED_STEMCELL, create_stemcell),
    ]
    for expected, ask in asked:
        fake_aws.forget_calls()
        ask().ok()
        assert Counter(fake_aws.actions()) == Counter(expected)


@pytest.mark.parametrize(("action", "number"), sampled(each(ONE_NETWORK), 3))
def test_create_vm(
    create_vm: Callable[..., Answer],
    disk: Callable[..., str],
    failure: Callable[..., dict[str, Any]],
    deny: Callable[..., str],
    left: Callable[[], dict[str, list[str]]],
    action: str,
    number: int,
) -> None:
    """A VM with one network: each call that fails ends it with AWS's words, and leaves nothing."""
    disk_cid = disk()
    message = deny(action, number)
    answer = create_vm(disks=[disk_cid])
    assert answer.error == failure("CloudError", message)
    assert left() == {"volumes": [disk_cid]}


@pytest.mark.parametrize(
    ("action", "number"), sampled([call for call in each(TWO_NETWORKS) if call[0] not in COMMON], 3)
)
def test_create_vm_with_two_networks(
    create_vm: Callable[..., Answer],
    two_networks: dict[str, Any],
    failure: Callable[..., dict[str, Any]],
    deny: Callable[..., str],
    left: Callable[[], dict[str, list[str]]],
    action: str,
    number: int,
) -> None:
    """A VM with two networks: no interface is left either; its group is named when it can't be made."""
    message = deny(action, number)
    if action in {"CreateNetworkInterface", "DescribeNetworkInterfaces"}:
        group = list(two_networks)[number - 1]
        message = f"Failed to create network interface for nic_group '{group}': {message}"
    assert create_vm(networks=two_networks).error == failure("CloudError", message)
    assert left() == {}


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
    deny: Callable[..., str],
    left: Callable[[], dict[str, list[str]]],
    action: str,
    number: int,
) -> None:
    """A disk: each call that fails leaves no volume."""
    message = deny(action, number)
    answer = cpi.call("create_disk", 1024, {}, None)
    assert answer.error == failure("CloudError", message)
    assert left() == {}


@pytest.mark.parametrize(("action", "number"), sampled(each(ENCRYPTED_STEMCELL), 2))
def test_create_stemcell(
    create_stemcell: Callable[[], Answer],
    failure: Callable[..., dict[str, Any]],
    deny: Callable[..., str],
    left: Callable[[], dict[str, list[str]]],
    action: str,
    number: int,
) -> None:
    """An encrypted stemcell: each call that fails leaves neither image nor snapshot."""
    message = deny(action, number)
    assert create_stemcell().error == failure("CloudError", message)
    assert left() == {}


def test_undo_that_fails(
    create_vm: Callable[..., Answer],
    two_networks: dict[str, Any],
    failure: Callable[..., dict[str, Any]],
    deny: Callable[..., str],
    fake_aws: FakeAws,
    world: World,
) -> None:
    """What can't be removed is logged by its id; the first error is answered, and the rest is removed."""
    message = deny("RunInstances")
    denied = {"code": "UnauthorizedOperation", "message": "Not now.", "status": 403}
    fake_aws.rule(action="DeleteNetworkInterface", nth=1, error=denied)
    answer = create_vm(networks=two_networks)
    assert answer.error == failure("CloudError", message)
    (left,) = world.state()["interfaces"]
    errors = [line for line in answer.stderr.splitlines() if "Perhaps left behind" in line]
    assert len(errors) == 1
    assert left in errors[0]


@pytest.mark.parametrize(
    ("call", "deletions"),
    [(("RunInstances", 1), 2), (("DescribeNetworkInterfaces", 2), 3)],
    ids=["seen", "not-seen"],
)
def test_interface_that_is_unknown(
    create_vm: Callable[..., Answer],
    two_networks: dict[str, Any],
    deny: Callable[..., str],
    fake_aws: FakeAws,
    left: Callable[[], dict[str, list[str]]],
    call: tuple[str, int],
    deletions: int,
) -> None:
    """An interface that is unknown when it is to be removed is gone only if EC2 has shown it before."""
    message = deny(*call)
    unknown = {"code": "InvalidNetworkInterfaceID.NotFound", "message": "It does not exist."}
    fake_aws.rule(action="DeleteNetworkInterface", nth=1, error=unknown)
    assert message[:-1] in create_vm(networks=two_networks).error["message"]
    assert fake_aws.actions().count("DeleteNetworkInterface") == deletions
    assert len(left().get("interfaces", [])) == 3 - deletions
