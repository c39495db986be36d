"""Classic load balancers, and the target groups of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import load_balancers
from bosh_aws_cpi.aws.load_balancers import Target
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.properties.vm import TargetGroup

if TYPE_CHECKING:
    from tests.unit.conftest import Clock, Stub

VM, VPC = "i-1", "vpc-1"
ARN = "arn:aws:elasticloadbalancing:us-east-1:1:targetgroup/web/1"
VM_IN_GROUP = Target(ARN, VM)
TARGET = {"TargetGroupArn": ARN, "Targets": [{"Id": VM}]}
NAMED = {"LoadBalancerName": "web", "Instances": [{"InstanceId": VM}]}


def group(name: str = "web", **more: Any) -> dict[str, Any]:
    """Describe a target group."""
    return {"TargetGroupArn": f"arn:{name}", "VpcId": VPC, "TargetType": "instance", **more}


def wanted(*names: str) -> list[TargetGroup]:
    """Name target groups as a manifest does."""
    return [TargetGroup.model_validate(name) for name in names]


def lay_groups(elbv2: Stub, *found: tuple[str, dict[str, Any]]) -> None:
    """Lay out DescribeTargetGroups for each name."""
    for name, entry in found:
        elbv2.answers("describe_target_groups", {"TargetGroups": [entry]}, Names=[name])


def test_target_groups(elbv2: Stub) -> None:
    """Each target group is found by its name, in the order given, each once."""
    no_type = {"TargetGroupArn": "arn:c", "VpcId": VPC}
    lay_groups(elbv2, ("b", group("b")), ("a", group("a")), ("c", no_type))
    found = load_balancers.target_groups(elbv2.client, wanted("b", "a", "b", "c"), VPC, "us-east-1")
    assert [(each.arn, each.port, each.family) for each in found] == [
        ("arn:b", None, ""),
        ("arn:a", None, ""),
        ("arn:c", None, ""),
    ]


@pytest.mark.parametrize(
    ("of_group", "port", "expected"),
    [
        ({}, None, (None, "")),
        ({}, 8080, (None, "")),
        ({}, 9100, (9100, "")),
        ({"TargetType": "ip"}, None, (8080, "ipv4")),
        ({"TargetType": "ip"}, 8080, (8080, "ipv4")),
        ({"TargetType": "ip", "IpAddressType": "ipv6"}, 9100, (9100, "ipv6")),
    ],
)
def test_ports(elbv2: Stub, of_group: dict[str, str], port: int | None, expected: tuple[Any, str]) -> None:
    """An address gets the group's port and family; for an instance, the group's port is not given."""
    lay_groups(elbv2, ("web", group(Port=8080, **of_group)))
    given = [TargetGroup(name="web", port=port)]
    (found,) = load_balancers.target_groups(elbv2.client, given, VPC, "us-east-1")
    assert (found.port, found.family) == expected


def test_register_what_is_not_known_yet(elb: Stub, elbv2: Stub, clock: Clock) -> None:
    """Registration is retried while ELB does not know the instance."""
    for _ in range(3):
        elb.refuses("register_instances_with_load_balancer", "InvalidInstance", **NAMED)
        elbv2.refuses("register_targets", "InvalidTarget", **TARGET)
    elb.answers("register_instances_with_load_balancer", **NAMED)
    elbv2.answers("register_targets", **TARGET)
    load_balancers.add(elb.client, "web", VM)
    load_balancers.add_target(elbv2.client, VM_IN_GROUP)
    assert len(clock.pauses) == 6


@pytest.mark.parametrize("code", ["LoadBalancerNotFound", "InvalidInstance"])
def test_register_in_vain(elb: Stub, clock: Clock, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """After a minute ELB's error is raised; other refusals are raised at once."""
    answer: Any = {"Error": {"Code": code, "Message": "no"}}

    def refuse(**_: Any) -> None:
        raise ClientError(answer, "Register")

    monkeypatch.setattr(elb.client, "register_instances_with_load_balancer", refuse)
    with pytest.raises(ClientError, match=code):
        load_balancers.add(elb.client, "web", VM)
    if code == "InvalidInstance":
        assert 60 <= clock.now <= 66
    else:
        assert clock.pauses == []


def test_deregister_what_is_not_registered(elb: Stub) -> None:
    """An instance that is not registered is no error; other refusals are."""
    elb.refuses("deregister_instances_from_load_balancer", "InvalidInstance", **NAMED)
    elb.refuses("deregister_instances_from_load_balancer", "LoadBalancerNotFound", **NAMED)
    load_balancers.remove(elb.client, "web", VM)
    with pytest.raises(ClientError, match="LoadBalancerNotFound"):
        load_balancers.remove(elb.client, "web", VM)


@pytest.mark.parametrize("code", ["InvalidTarget", "TargetGroupNotFound"])
def test_deregister_what_is_gone(elbv2: Stub, code: str) -> None:
    """A target that is not registered, or whose group does not exist, counts as deregistered."""
    elbv2.refuses("deregister_targets", code, **TARGET)
    load_balancers.remove_target(elbv2.client, VM_IN_GROUP)


def health(state: str, reason: str | None = None) -> dict[str, Any]:
    """Describe a target's health."""
    return {"Target": {"Id": VM}, "TargetHealth": {"State": state, **({"Reason": reason} if reason else {})}}


def lay_health(elbv2: Stub, *answers: dict[str, Any] | str | None, arn: str = ARN) -> None:
    """Lay out the answers of DescribeTargetHealth; a string is the code of a refusal."""
    arguments = {**TARGET, "TargetGroupArn": arn}
    for answer in answers:
        if isinstance(answer, str):
            elbv2.refuses("describe_target_health", answer, **arguments)
        else:
            listed = [answer] if answer else []
            elbv2.answers("describe_target_health", {"TargetHealthDescriptions": listed}, **arguments)


DRAINING = health("draining", "Target.DeregistrationInProgress")
NOT_REGISTERED = health("unused", "Target.NotRegistered")


@pytest.mark.parametrize("last", [NOT_REGISTERED, None, "InvalidTarget", "TargetGroupNotFound"])
@pytest.mark.parametrize("before", [[], [DRAINING], [health("healthy"), DRAINING, DRAINING]])
def test_drained(
    elbv2: Stub, clock: Clock, before: list[dict[str, Any]], last: dict[str, Any] | str | None
) -> None:
    """The wait ends when the target is no longer registered, or its group is gone."""
    lay_health(elbv2, *before, last)
    load_balancers.wait_until_drained(elbv2.client, [VM_IN_GROUP])
    assert len(clock.pauses) == len(before)


def test_several_drained(elbv2: Stub, clock: Clock) -> None:
    """The wait covers all groups; a drained one is not asked again."""
    lay_health(elbv2, DRAINING, NOT_REGISTERED)
    lay_health(elbv2, DRAINING, None, arn="arn:b")
    load_balancers.wait_until_drained(elbv2.client, [VM_IN_GROUP, Target("arn:b", VM)])
    load_balancers.wait_until_drained(elbv2.client, [])
    assert len(clock.pauses) == 2


def test_never_drained(elbv2: Stub, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait has one time limit for all groups."""
    answer = {"TargetHealthDescriptions": [DRAINING]}
    monkeypatch.setattr(elbv2.client, "describe_target_health", lambda **_: answer)
    with pytest.raises(CloudError, match=f"'{VM}' to be drained; last seen: draining"):
        load_balancers.wait_until_drained(elbv2.client, [Target(f"arn:{name}", VM) for name in "abc"])
    assert 330 <= clock.now <= 336


def test_targets_of(elbv2: Stub) -> None:
    """Only the VPC's groups of instances are asked for the VM, on all pages."""
    first = [group("a"), group("b", TargetType="ip"), group("c", VpcId="vpc-2")]
    elbv2.answers("describe_target_groups", {"TargetGroups": first, "NextMarker": "n"})
    lay_health(elbv2, health("healthy"), arn="arn:a")
    second = [group("d"), group("e"), {"TargetGroupArn": "arn:f", "TargetType": "lambda"}]
    elbv2.answers("describe_target_groups", {"TargetGroups": second}, Marker="n")
    lay_health(elbv2, NOT_REGISTERED, arn="arn:d")
    lay_health(elbv2, health("unused", "Target.NotInUse"), arn="arn:e")
    found = load_balancers.targets_of(elbv2.client, VM, VPC)
    assert list(found) == [Target("arn:a", VM), Target("arn:e", VM)]


def test_load_balancers_of(elb: Stub) -> None:
    """The classic load balancers that have the VM are found on all pages."""

    def page(*named: tuple[str, list[str]]) -> list[dict[str, Any]]:
        return [
            {"LoadBalancerName": name, "Instances": [{"InstanceId": vm_cid} for vm_cid in vm_cids]}
            for name, vm_cids in named
        ]

    first = {"LoadBalancerDescriptions": page(("a", [VM]), ("b", ["i-2"])), "NextMarker": "n"}
    second = {"LoadBalancerDescriptions": [*page(("c", ["i-2", VM])), {"LoadBalancerName": "d"}]}
    elb.answers("describe_load_balancers", first)
    elb.answers("describe_load_balancers", second, Marker="n")
    assert load_balancers.load_balancers_of(elb.client, VM) == ["a", "c"]
