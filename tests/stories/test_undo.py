"""Nothing is left behind of a VM that can't be made, and of what can't be removed that much is logged."""

from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi, config
from testbed.loopback import Reply, Request
from testbed.registry import PASSWORD, USER, Registry
from testbed.traffic import Traffic
from testbed.world import World
from tests.conftest import SPEED
from tests.stories.story import Story

pytestmark = pytest.mark.usefixtures("fast_clock")


LEFT = "Perhaps left behind"


@pytest.fixture
def two_networks(story: Story) -> dict[str, Any]:
    """Return networks that need two interfaces."""
    return {"first": story.network("10.0.1.10"), "second": story.network("10.0.2.10", 1)}


def test_end_that_can_not_be_seen(story: Story) -> None:
    """If DescribeInstances fails, the instance may still run: it is named."""
    message = story.deny("DescribeInstances")
    answer = story.create_vm()
    assert answer.error == story.failure("CloudError", message)
    assert LEFT in answer.stderr
    assert story.leftovers() == {}


def test_settings_that_stay(story: Story, world: World, fake_aws: FakeAws) -> None:
    """The log names the settings in the registry as left behind, not the terminated VM."""
    with Registry(USER, PASSWORD) as registry:
        registry.answer(500, times=9)
        section = {"endpoint": registry.endpoint, "user": USER, "password": PASSWORD}
        cpi = Cpi(config(fake_aws.endpoint, registry=section))
        answer = cpi.call("create_vm", *story.vm_arguments(), stemcell=1)
        vm_cid = registry.requests[0].path.split("/")[2]
    assert world.instance(vm_cid)["State"]["Name"] == "terminated"
    (left,) = [line.partition(": ")[2] for line in answer.stderr.splitlines() if LEFT in line]
    assert left.startswith(f"{LEFT}, because its undo failed: the settings of '{vm_cid}' in the registry: ")


def test_instance_that_ended_by_itself(story: Story, fake_aws: FakeAws) -> None:
    """An instance that EC2 ended is not left behind, even if its termination is refused."""
    denied = {"code": "UnauthorizedOperation", "message": "no", "status": 403}
    fake_aws.rule(action="RunInstances", times=None, ends="Client.VolumeLimitExceeded: Volume limit exceeded")
    fake_aws.rule(action="TerminateInstances", error=denied)
    answer = story.create_vm()
    assert "Volume limit exceeded" in answer.error["message"]
    assert LEFT not in answer.stderr
    assert story.leftovers() == {}


def test_undo_that_fails(story: Story, two_networks: dict[str, Any], fake_aws: FakeAws, world: World) -> None:
    """A failed removal is logged with the id; the first error is answered, and the other removals go on."""
    message = story.deny("RunInstances")
    fake_aws.refuse("DeleteNetworkInterface", "UnauthorizedOperation", "Not now.", 403, nth=1)
    answer = story.create_vm(networks=two_networks)
    assert answer.error == story.failure("CloudError", message)
    (left,) = world.state()["interfaces"]
    errors = [line for line in answer.stderr.splitlines() if LEFT in line]
    assert len(errors) == 1
    assert left in errors[0]


@pytest.mark.parametrize(
    ("call", "deletions"),
    [(("RunInstances", 1), 2), (("DescribeNetworkInterfaces", 2), 3)],
    ids=["seen", "not-seen"],
)
def test_interface_that_is_unknown(
    story: Story, two_networks: dict[str, Any], fake_aws: FakeAws, call: tuple[str, int], deletions: int
) -> None:
    """An interface that is unknown when it is to be removed is gone only if EC2 has shown it before."""
    message = story.deny(*call)
    fake_aws.refuse(
        "DeleteNetworkInterface", "InvalidNetworkInterfaceID.NotFound", "It does not exist.", nth=1
    )
    assert message[:-1] in story.create_vm(networks=two_networks).error["message"]
    assert fake_aws.actions().count("DeleteNetworkInterface") == deletions
    assert len(story.leftovers().get("interfaces", [])) == 3 - deletions


@pytest.mark.usefixtures("fast_clock")
def test_instance_that_ec2_does_not_know_yet(story: Story, fake_aws: FakeAws) -> None:
    """A new instance that EC2 does not know for two minutes is not given up: it is terminated then."""
    denied = {"code": "UnauthorizedOperation", "message": "no", "status": 403}
    unknown = {"code": "InvalidInstanceID.NotFound", "message": "not known", "status": 400}
    fake_aws.rule(action="ModifyInstanceAttribute", error=denied)
    fake_aws.rule(action="TerminateInstances", seconds=125 / SPEED, error=unknown)
    error = story.create_vm({"source_dest_check": False}).error
    assert "ModifyInstanceAttribute failed with UnauthorizedOperation" in error["message"]
    assert story.leftovers() == {}


class LateRefusal(Registry):
    """A registry that keeps the settings, and then says that it failed."""

    def reply(self, request: Request) -> Reply:
        """Do what is asked, and answer a PUT with an error."""
        reply = super().reply(request)
        if request.method == "PUT":
            assert self.documents != {}
            return Reply(500)
        return reply


def test_registry_refuses(
    story: Story, exposed: dict[str, Any], fake_aws: FakeAws, world: World, traffic: Traffic
) -> None:
    """The registry comes last: when it answers an error, all the rest is taken back, and what it kept."""
    routes = world.ec2.describe_route_tables(RouteTableIds=[world.route_table_id])["RouteTables"]
    with LateRefusal() as registry:
        section = {"endpoint": registry.endpoint, "user": USER, "password": PASSWORD}
        cpi = Cpi(config(fake_aws.endpoint, registry=section))
        answer = cpi.call("create_vm", *story.vm_arguments(**exposed), stemcell=1)
        vm_cid = registry.requests[0].path.split("/")[2]
        assert [request.method for request in registry.requests] == ["PUT", "DELETE"]
        assert registry.documents == {}
    where = f"registry at http://{registry.endpoint.rpartition('@')[2]}"
    message = f"Cannot update settings for '{vm_cid}', got HTTP 500 ({where})"
    assert answer.error == story.failure("CloudError", message)
    assert story.leftovers() == {}
    assert traffic.state() == traffic.empty
    assert world.ec2.describe_route_tables(RouteTableIds=[world.route_table_id])["RouteTables"] == routes


@pytest.mark.parametrize(
    ("kind", "actions"),
    [
        ("registered", {"DeregisterTargets": 1, "DeregisterInstancesFromLoadBalancer": 1}),
        ("routes", {"ReplaceRoute": 2, "DeleteRoute": 1}),
    ],
    ids=["load-balancers", "routes"],
)
def test_removals_that_fail(
    story: Story, exposed: dict[str, Any], traffic: Traffic, kind: str, actions: dict[str, int]
) -> None:
    """Removals that fail are logged with what may be left; the rest goes, and the first error is answered.

    A target group shows no target that has ended.
    """
    message = story.deny("AssociateAddress")
    for action, number in actions.items():
        story.deny(action, number)
    answer = story.create_vm(**exposed)
    assert answer.error["message"] == message
    assert story.leftovers() == {}
    state = traffic.state()
    assert [name for name, found in state.items() if found] == [kind]
    errors = [line for line in answer.stderr.splitlines() if LEFT in line]
    assert [action for action in actions if any(action in line for line in errors)] == list(actions)
    table_id = traffic.route_table_id
    logged = {
        "registered": [
            f"'{vm_cid}' in '{name}'"
            for vm_cid in state["registered"]
            for name in (traffic.load_balancer, traffic.target_group_arn)
        ],
        "routes": [f"route to {range_} in {table_id}" for range_ in ("0.0.0.0/0", "10.9.0.0/16")],
    }
    assert [what for what in logged[kind] if any(what in line for line in errors)] == logged[kind]
    assert len(errors) == len(logged[kind]) == 2
