"""Routes, registrations and an elastic IP of a VM, and their undo, if something changes meanwhile."""

from collections.abc import Mapping

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import elastic_ips, load_balancers, routes
from bosh_aws_cpi.aws.elastic_ips import ElasticIp
from bosh_aws_cpi.aws.load_balancers import TargetGroup
from bosh_aws_cpi.aws.routes import Route, RouteTable
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.undo import Undo
from bosh_aws_cpi.cpi.vms.create.traffic import Traffic, route_traffic
from bosh_aws_cpi.model import Instance, Nic, Vip
from tests.unit.aws.timing_script import refusal

pytestmark = pytest.mark.usefixtures("undone")

VM = Instance("i-1", "running", "t", "z", {}, nics=[Nic("eni-0")])
TABLE, DESTINATION = "rtb-1", "10.9.0.0/16"
OURS, THEIRS, OTHERS = {"NetworkInterfaceId": "eni-0"}, {"NatGatewayId": "nat-1"}, {"GatewayId": "igw-1"}
LOCAL = {"LocalTarget": True}


def route(target: Mapping[str, str | bool], *, is_blackhole: bool = False) -> Route:
    """Describe the destination's route."""
    return Route(DESTINATION, target, is_blackhole)


class Table:
    """A route table with the destination's route, or without it.

    Attributes:
        target: Where the route leads to now; none: there is no route.
        is_hidden: Whether EC2 does not show it yet.
    """

    def __init__(self) -> None:
        """Have no route."""
        self.target: Mapping[str, str | bool] | None = None
        self.is_hidden = False

    def create(self, _: object, __: str, ___: str, target: Mapping[str, str | bool]) -> bool:
        """Create the route unless there is one."""
        if self.target is not None:
            return False
        self.target = target
        return True

    def replace(self, _: object, __: str, ___: str, target: Mapping[str, str | bool]) -> bool:
        """Replace the route if there is one."""
        if self.target is None:
            return False
        self.target = target
        return True

    def delete(self, *_: object) -> None:
        """Delete the route."""
        self.target = None

    def find(self, *_: object) -> Route | None:
        """Show the route."""
        return None if self.target is None or self.is_hidden else route(self.target)


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Table:
    """Return the table."""
    fake = Table()
    for name in ("create", "replace", "delete", "find"):
        monkeypatch.setattr(routes, name, getattr(fake, name))
    return fake


def lead(cloud: Cloud, *before: Route) -> Undo:
    """Lead the destination's route, which was seen so before, to the VM; returns the undo."""
    undo = Undo()
    tables = {TABLE: RouteTable(TABLE, "vpc-1", before)}
    route_traffic(cloud, Traffic(routes=[(TABLE, DESTINATION)], tables=tables), VM, undo)
    return undo


@pytest.mark.parametrize(
    ("seen", "there", "after"),
    [
        (None, None, None),
        (None, OURS, None),
        (None, THEIRS, THEIRS),
        (OURS, OURS, None),
        (THEIRS, THEIRS, THEIRS),
        (THEIRS, None, None),
        (LOCAL, LOCAL, LOCAL),
        ({}, THEIRS, OURS),
    ],
    ids=["new", "lost answer", "made meanwhile", "of an earlier call", "changed", "gone", "local", "unknown"],
)
def test_route(
    cloud: Cloud,
    table: Table,
    seen: dict[str, str | bool] | None,
    there: dict[str, str | bool] | None,
    after: dict[str, str | bool] | None,
) -> None:
    """A route is created or replaced, whatever happened since it was looked up; undo takes that back."""
    table.target = there
    undo = lead(cloud, *([] if seen is None else [route(seen)]))
    assert table.target == OURS
    undo.run("an error")
    assert table.target == after


def test_blackhole(cloud: Cloud, table: Table) -> None:
    """A route that was a black hole becomes one again with the end of the VM: undo does not touch it."""
    table.target = THEIRS
    lead(cloud, route(THEIRS, is_blackhole=True)).run("an error")
    assert table.target == OURS


def test_hidden(cloud: Cloud, table: Table) -> None:
    """An existing route that EC2 does not show is replaced, and deleted on undo."""
    table.target, table.is_hidden = THEIRS, True
    undo = lead(cloud)
    table.is_hidden = False
    assert table.target == OURS
    undo.run("an error")
    assert table.target is None


def elastic_ip(former: str | None, private: str | None) -> Traffic:
    """Want an elastic IP that an interface has, by one of its addresses."""
    held = ElasticIp("52.1.2.3", "eipalloc-1", former, private)
    return Traffic(vip=Vip("52.1.2.3", 0), elastic_ip=held)


@pytest.mark.parametrize("now", [OTHERS, None], ids=["led elsewhere", "deleted"])
@pytest.mark.parametrize("before", [THEIRS, None], ids=["was there", "was made"])
def test_changed_since(
    cloud: Cloud, table: Table, before: dict[str, str | bool] | None, now: dict[str, str | bool] | None
) -> None:
    """A route that somebody has changed or deleted since is not touched on undo."""
    table.target = before
    undo = lead(cloud, *([route(before)] if before else []))
    table.target = now
    undo.run("an error")
    assert table.target == now


@pytest.mark.parametrize(
    ("traffic", "undone"),
    [
        (Traffic(load_balancers=["web"]), [("-", "web", "i-1")]),
        (Traffic(target_groups=[TargetGroup("arn:web", None)]), [("-", "i-1")]),
        (elastic_ip("eni-9", "10.0.0.9"), [("eipalloc-1", "eni-9", "10.0.0.9")]),
        (elastic_ip("eni-9", None), [("eipalloc-1", "eni-9", None)]),
        (elastic_ip("eni-0", "10.0.0.9"), []),
        (elastic_ip(None, None), []),
    ],
)
def test_failures(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, traffic: Traffic, undone: list[tuple[object, ...]]
) -> None:
    """Registrations are undone even if their call failed; an elastic IP returns to its former interface."""
    calls: list[tuple[object, ...]] = []

    def fail(_: object, *given: object) -> None:
        calls.append(given)
        raise refusal("InternalError")

    for module, name in ((load_balancers, "add"), (load_balancers, "add_target"), (elastic_ips, "associate")):
        monkeypatch.setattr(module, name, fail)
    monkeypatch.setattr(load_balancers, "remove", lambda _, name, vm_cid: calls.append(("-", name, vm_cid)))
    monkeypatch.setattr(
        load_balancers, "remove_target", lambda _, target: calls.append(("-", target.target_id))
    )
    undo = Undo()
    with pytest.raises(ClientError, match="InternalError"):
        route_traffic(cloud, traffic, VM, undo)
    calls.clear()
    monkeypatch.setattr(elastic_ips, "associate", lambda _, *given: calls.append(given))
    undo.run("an error")
    assert calls == undone
