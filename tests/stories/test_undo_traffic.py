"""Nothing is left behind of a VM that has everything: interfaces, routes, load balancers, an elastic IP."""

from collections.abc import Callable
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi, config
from testbed.registry import PASSWORD, USER, Registry
from testbed.traffic import Traffic
from testbed.world import World
from tests.protocols import CreateVm, ListResources, Refuse, VmArguments, WriteError

pytestmark = pytest.mark.usefixtures("hasty")


LEFT = "Perhaps left behind"


@pytest.fixture
def routes(world: World) -> Callable[[], list[dict[str, Any]]]:
    """Return a function that reads all routes of the VM's route table."""

    def read() -> Any:
        tables = world.ec2.describe_route_tables(RouteTableIds=[world.route_table_id])["RouteTables"]
        return tables[0]["Routes"]

    return read


@pytest.fixture
def nothing_left(
    left: ListResources,
    traffic: Traffic,
    routes: Callable[[], list[dict[str, Any]]],
) -> Callable[[], None]:
    """Return a function that checks that everything is as it was."""
    before = routes()

    def check() -> None:
        assert left() == {}
        assert traffic.state() == traffic.empty
        assert routes() == before

    return check


def test_registry_refuses(
    exposed: dict[str, Any],
    vm_arguments: VmArguments,
    failure: WriteError,
    fake_aws: FakeAws,
    nothing_left: Callable[[], None],
) -> None:
    """The registry comes last: when it does not take the settings, all the rest is taken back."""
    with Registry() as registry:
        registry.answer(503)
        section = {"endpoint": registry.endpoint, "user": USER, "password": PASSWORD}
        cpi = Cpi(config(fake_aws.endpoint, registry=section))
        answer = cpi.call("create_vm", *vm_arguments(**exposed), stemcell=1)
        vm_cid = registry.requests[0].path.split("/")[2]
        assert [request.method for request in registry.requests] == ["PUT", "DELETE"]
    where = f"registry at http://{registry.endpoint.rpartition('@')[2]}"
    message = f"Cannot update settings for '{vm_cid}', got HTTP 503 ({where})"
    assert answer.error == failure("CloudError", message)
    nothing_left()


@pytest.mark.parametrize(
    ("kind", "actions"),
    [
        ("registered", {"DeregisterTargets": 1, "DeregisterInstancesFromLoadBalancer": 1}),
        ("routes", {"ReplaceRoute": 2, "DeleteRoute": 1}),
    ],
    ids=["load-balancers", "routes"],
)
def test_removals_that_fail(
    create_vm: CreateVm,
    exposed: dict[str, Any],
    traffic: Traffic,
    deny: Refuse,
    left: ListResources,
    kind: str,
    actions: dict[str, int],
) -> None:
    """Removals that fail are logged with what may be left; the rest goes, and the first error is answered.

    A target group shows no target that has ended.
    """
    message = deny("AssociateAddress")
    for action, number in actions.items():
        deny(action, number)
    answer = create_vm(**exposed)
    assert answer.error["message"] == message
    assert left() == {}
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
