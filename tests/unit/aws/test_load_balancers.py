"""Classic load balancers, and the target groups of the others."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import load_balancers
from bosh_aws_cpi.aws.load_balancers import Target, record_tags
from bosh_aws_cpi.aws.sdk.timing import TARGETS_DRAINED
from bosh_aws_cpi.errors import CloudError
from tests.unit.conftest import Clock, Stub

VM, VPC = "i-1", "vpc-1"
ARN = "arn:aws-us-gov:elasticloadbalancing:us-gov-west-1:123456789012:targetgroup/web/0123456789abcdef"
VM_IN_GROUP = Target(ARN, VM)
TARGET = {"TargetGroupArn": ARN, "Targets": [{"Id": VM}]}
NAMED = {"LoadBalancerName": "web", "Instances": [{"InstanceId": VM}]}


def group(name: str = "web", **more: Any) -> dict[str, Any]:
    """Describe a target group."""
    return {"TargetGroupArn": f"arn:{name}", "VpcId": VPC, "TargetType": "instance", **more}


def test_deregister_what_is_not_registered(elb: Stub, elbv2: Stub) -> None:
    """What is not registered, or whose target group is gone, is no error; other refusals are."""
    elb.lay("deregister_instances_from_load_balancer", "InvalidInstance", "LoadBalancerNotFound", **NAMED)
    load_balancers.remove(elb.client, "web", VM)
    with pytest.raises(ClientError, match="LoadBalancerNotFound"):
        load_balancers.remove(elb.client, "web", VM)
    elbv2.lay("deregister_targets", "InvalidTarget", "TargetGroupNotFound", **TARGET)
    for _ in range(2):
        load_balancers.remove_target(elbv2.client, VM_IN_GROUP)


def health(state: str, reason: str = "") -> dict[str, Any]:
    """Answer with a target's health."""
    shown = {"State": state, **({"Reason": reason} if reason else {})}
    return {"TargetHealthDescriptions": [{"Target": {"Id": VM}, "TargetHealth": shown}]}


DRAINING = health("draining", "Target.DeregistrationInProgress")
NOT_REGISTERED = health("unused", "Target.NotRegistered")
NO_TARGETS: dict[str, Any] = {"TargetHealthDescriptions": []}


@pytest.mark.parametrize("last", [NOT_REGISTERED, NO_TARGETS, "TargetGroupNotFound"])
def test_drained(elbv2: Stub, last: dict[str, Any] | str) -> None:
    """The wait covers all groups; one that is gone, or that no longer has the target, is not asked again."""
    elbv2.lay("describe_target_health", health("healthy"), DRAINING, last, **TARGET)
    other = {**TARGET, "TargetGroupArn": "arn:b"}
    elbv2.lay("describe_target_health", DRAINING, last, **other)
    load_balancers.wait_until_drained(elbv2.client, [VM_IN_GROUP, Target("arn:b", VM)])


def test_never_drained(elbv2: Stub, clock: Clock) -> None:
    """The wait has one time limit for all groups."""
    elbv2.keeps("describe_target_health", DRAINING)
    with pytest.raises(CloudError, match=f"'{VM}' to be drained; last seen: draining"):
        load_balancers.wait_until_drained(elbv2.client, [Target(f"arn:{name}", VM) for name in "abc"])
    assert 0 <= clock.now - TARGETS_DRAINED.seconds <= 6


def test_targets_of(elbv2: Stub) -> None:
    """Only the VPC's groups of instances are asked for the VM, on all pages."""
    pages = [
        [group("a"), group("b", TargetType="ip"), group("c", VpcId="vpc-2")],
        [group("d"), group("e"), {"TargetGroupArn": "arn:f", "TargetType": "lambda"}],
    ]
    asked = {"Targets": [{"Id": VM}]}
    elbv2.lay("describe_target_groups", {"TargetGroups": pages[0], "NextMarker": "n"})
    elbv2.lay("describe_target_health", health("healthy"), TargetGroupArn="arn:a", **asked)
    elbv2.lay("describe_target_groups", {"TargetGroups": pages[1]}, Marker="n")
    elbv2.lay("describe_target_health", NOT_REGISTERED, TargetGroupArn="arn:d", **asked)
    elbv2.lay("describe_target_health", health("unused", "Target.NotInUse"), TargetGroupArn="arn:e", **asked)
    found = load_balancers.targets_of(elbv2.client, VM, VPC)
    assert list(found) == [Target("arn:a", VM), Target("arn:e", VM)]


def test_load_balancers_of(elb: Stub) -> None:
    """The classic load balancers that have the VM are found on all pages."""
    have = [("a", [VM]), ("b", ["i-2"]), ("c", ["i-2", VM]), ("d", [])]
    entries: list[dict[str, Any]] = [
        {"LoadBalancerName": name, "Instances": [{"InstanceId": each} for each in ids]} for name, ids in have
    ]
    elb.lay("describe_load_balancers", {"LoadBalancerDescriptions": entries[:2], "NextMarker": "n"})
    elb.lay("describe_load_balancers", {"LoadBalancerDescriptions": entries[2:]}, Marker="n")
    assert load_balancers.load_balancers_of(elb.client, VM) == ["a", "c"]


def test_longest_record() -> None:
    """The longest record is within EC2's limits for tags."""
    long = record_tags([Target(ARN.replace("/web/", f"/{'w' * 32}/"), ":".join(["2001"] * 8), 65_535)])
    assert [(len(key) <= 127, len(value) <= 255) for key, value in long.items()] == [(True, True)]
