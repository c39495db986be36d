"""Routes, registrations and elastic IPs of a VM, and their undo, if something changes meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws.elastic_ips import ElasticIp
from bosh_aws_cpi.aws.load_balancers import TargetGroup
from bosh_aws_cpi.aws.routes import Route, RouteTable
from bosh_aws_cpi.cpi.undo import Undo
from bosh_aws_cpi.cpi.vms.create.traffic import Traffic, route_traffic
from bosh_aws_cpi.model import Instance, Nic, Vip

if TYPE_CHECKING:
    from bosh_aws_cpi.cpi.cloud import Cloud
    from tests.unit.conftest import Ec2, Stub

pytestmark = pytest.mark.usefixtures("undone")

VM = Instance("i-1", "running", "t", "z", {}, nics=[Nic(f"eni-{n}", device_index=n) for n in (0, 1)])
TABLE, DESTINATION, ARN = "rtb-1", "10.9.0.0/16", "arn:web"
ROUTE = {"RouteTableId": TABLE, "DestinationCidrBlock": DESTINATION}
OURS = {"NetworkInterfaceId": "eni-0"}
THEIRS = {"NatGatewayId": "nat-1"}
FILTERS = [{"Name": "route-table-id", "Values": [TABLE]}]
BOOM = "an error"


def lead(cloud: Cloud, *before: Route) -> Undo:
    """Route the destination to the VM, and return the undo."""
    undo = Undo()
    tables = {TABLE: RouteTable(TABLE, "vpc-1", before)}
    route_traffic(cloud, Traffic(routes=[(TABLE, DESTINATION)], tables=tables), VM, undo)
    return undo


def was(target: dict[str, str], *, is_blackhole: bool = False) -> Route:
    """Describe the route as it was."""
    return Route(DESTINATION, target, is_blackhole)


def lay_table(ec2: Ec2, *routes: dict[str, str]) -> None:
    """Lay out DescribeRouteTables."""
    entries = [{"DestinationCidrBlock": DESTINATION, "State": "active", **route} for route in routes]
    table = {"RouteTableId": TABLE, "VpcId": "vpc-1", "Routes": entries}
    ec2.answers("describe_route_tables", {"RouteTables": [table]}, Filters=FILTERS)


@pytest.mark.parametrize("before", [was(THEIRS, is_blackhole=True), was({})], ids=["nowhere", "unknown"])
def test_route_that_led_nowhere(cloud: Cloud, ec2: Ec2, before: Route) -> None:
    """A route without a usable target stays as it is on undo: it is a black hole once the VM is deleted."""
    ec2.answers("replace_route", **ROUTE, **OURS)
    undo = lead(cloud, before)
    lay_table(ec2, OURS)
    undo.run(BOOM)


def test_route_that_leads_here(cloud: Cloud, ec2: Ec2) -> None:
    """A route to the VM from an earlier call stays, and is deleted if this call fails."""
    undo = lead(cloud, was(OURS))
    lay_table(ec2, OURS)
    ec2.answers("delete_route", **ROUTE)
    undo.run(BOOM)


def test_route_whose_answer_was_lost(cloud: Cloud, ec2: Ec2) -> None:
    """CreateRoute has no client token: an existing route to the VM may be its own."""
    ec2.refuses("create_route", "RouteAlreadyExists", **ROUTE, **OURS)
    lay_table(ec2, OURS)
    undo = lead(cloud)
    lay_table(ec2, OURS)
    ec2.answers("delete_route", **ROUTE)
    undo.run(BOOM)


def test_route_made_by_another_meanwhile(cloud: Cloud, ec2: Ec2) -> None:
    """An existing route to another target is replaced, and restored on undo."""
    ec2.refuses("create_route", "RouteAlreadyExists", **ROUTE, **OURS)
    lay_table(ec2, THEIRS)
    ec2.answers("replace_route", **ROUTE, **OURS)
    undo = lead(cloud)
    lay_table(ec2, OURS)
    ec2.answers("replace_route", **ROUTE, **THEIRS)
    undo.run(BOOM)


def test_route_that_is_not_shown_yet(cloud: Cloud, ec2: Ec2) -> None:
    """An existing route that EC2 does not show is replaced, and deleted on undo."""
    ec2.refuses("create_route", "RouteAlreadyExists", **ROUTE, **OURS)
    lay_table(ec2)
    ec2.answers("replace_route", **ROUTE, **OURS)
    undo = lead(cloud)
    lay_table(ec2, OURS)
    ec2.answers("delete_route", **ROUTE)
    undo.run(BOOM)


GONE_WAYS = pytest.mark.parametrize("code", ["InvalidRoute.NotFound", "InvalidParameterValue"])


@GONE_WAYS
def test_route_that_went_meanwhile(cloud: Cloud, ec2: Ec2, code: str) -> None:
    """A route that disappeared meanwhile is created, and deleted on undo."""
    ec2.refuses("replace_route", code, "There is no route defined", **ROUTE, **OURS)
    ec2.answers("create_route", {"Return": True}, **ROUTE, **OURS)
    undo = lead(cloud, was(THEIRS))
    lay_table(ec2, OURS)
    ec2.answers("delete_route", **ROUTE)
    undo.run(BOOM)


@pytest.mark.parametrize("now", [[THEIRS], []], ids=["led elsewhere", "removed"])
@pytest.mark.parametrize("before", [[was(THEIRS)], []], ids=["was there", "was made"])
def test_route_changed_meanwhile(
    cloud: Cloud, ec2: Ec2, before: list[Route], now: list[dict[str, str]]
) -> None:
    """A route that was changed or deleted meanwhile is not touched on undo."""
    if before:
        ec2.answers("replace_route", **ROUTE, **OURS)
    else:
        ec2.answers("create_route", {"Return": True}, **ROUTE, **OURS)
    undo = lead(cloud, *before)
    lay_table(ec2, *now)
    undo.run(BOOM)


def test_local_route(cloud: Cloud, ec2: Ec2) -> None:
    """A part of the VPC's local route is restored with the target's name that ReplaceRoute accepts."""
    local: dict[str, str | bool] = {"LocalTarget": True}
    ec2.answers("replace_route", **ROUTE, **OURS)
    undo = lead(cloud, Route(DESTINATION, local, is_blackhole=False))
    lay_table(ec2, OURS)
    ec2.answers("replace_route", **ROUTE, **local)
    undo.run(BOOM)


def test_registrations(cloud: Cloud, elb: Stub, elbv2: Stub) -> None:
    """A registration is undone even if its call failed."""
    target = {"TargetGroupArn": ARN, "Targets": [{"Id": "i-1"}]}
    named = {"LoadBalancerName": "web", "Instances": [{"InstanceId": "i-1"}]}
    elbv2.answers("register_targets", **target)
    elb.refuses("register_instances_with_load_balancer", "InternalFailure", **named)
    undo = Undo()
    with pytest.raises(ClientError, match="InternalFailure"):
        route_traffic(
            cloud, Traffic(target_groups=[TargetGroup(ARN, None)], load_balancers=["web"]), VM, undo
        )
    elb.answers("deregister_instances_from_load_balancer", **named)
    elbv2.answers("deregister_targets", **target)
    undo.run(BOOM)


@pytest.mark.parametrize("private", [{"PrivateIpAddress": "10.0.0.9"}, {}], ids=["an address", "unknown"])
def test_elastic_ip_given_back(cloud: Cloud, ec2: Ec2, private: dict[str, str]) -> None:
    """If the call fails, the elastic IP returns to its former interface and address."""
    arguments = {"AllocationId": "eipalloc-1", "NetworkInterfaceId": "eni-0"}
    ec2.answers("associate_address", {"AssociationId": "eipassoc-1"}, **arguments)
    undo = Undo()
    held = ElasticIp("52.1.2.3", "eipalloc-1", "eni-9", private.get("PrivateIpAddress"))
    route_traffic(cloud, Traffic(vip=Vip("52.1.2.3", 0), elastic_ip=held), VM, undo)
    back = {**arguments, "NetworkInterfaceId": "eni-9", **private}
    ec2.answers("associate_address", {"AssociationId": "eipassoc-2"}, **back)
    undo.run(BOOM)


def test_elastic_ip_that_is_refused(cloud: Cloud, ec2: Ec2) -> None:
    """The elastic IP returns even if AssociateAddress failed."""
    arguments = {"AllocationId": "eipalloc-1", "NetworkInterfaceId": "eni-0"}
    ec2.refuses("associate_address", "InternalError", **arguments)
    undo = Undo()
    held = ElasticIp("52.1.2.3", "eipalloc-1", "eni-9", "10.0.0.9")
    with pytest.raises(ClientError, match="InternalError"):
        route_traffic(cloud, Traffic(vip=Vip("52.1.2.3", 0), elastic_ip=held), VM, undo)
    back = {"NetworkInterfaceId": "eni-9", "PrivateIpAddress": "10.0.0.9"}
    associated = {"AssociationId": "eipassoc-2"}
    ec2.answers("associate_address", associated, AllocationId="eipalloc-1", **back)
    undo.run(BOOM)


def test_elastic_ip_that_it_has(cloud: Cloud, ec2: Ec2) -> None:
    """An elastic IP that the VM already had is not moved on undo."""
    arguments = {"AllocationId": "eipalloc-1", "NetworkInterfaceId": "eni-0"}
    ec2.answers("associate_address", {"AssociationId": "eipassoc-1"}, **arguments)
    undo = Undo()
    own = ElasticIp("52.1.2.3", "eipalloc-1", "eni-0", "10.0.0.5")
    route_traffic(cloud, Traffic(vip=Vip("52.1.2.3", 0), elastic_ip=own), VM, undo)
    undo.run(BOOM)
