"""Codes for what is not registered, and which target groups of several pages are asked."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import load_balancers
from bosh_aws_cpi.aws.load_balancers import Target
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


NOT_REGISTERED = health("unused", "Target.NotRegistered")


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
    assert list(found) == [(Target("arn:a", VM), True), (Target("arn:e", VM), False)]


@pytest.mark.parametrize(
    ("first", "second", "longest"),
    [("20", "400", 400), ("3600", "0", 3600), ("AccessDenied", "20", 300), ("20", "", 300), ("0", "20", 20)],
)
def test_drained(elbv2: Stub, clock: Clock, first: str, second: str, longest: float) -> None:
    """Nothing is asked before the longest delay is over, and only a little while after it.

    ELB shows a target as draining until then. A group that does not say has ELB's default.
    """
    groups = ["arn:a", "arn:b"]
    key = "deregistration_delay.timeout_seconds"
    for group_arn, delay in zip(groups, (first, second), strict=True):
        shown = [{"Key": key, "Value": delay}] if delay else []
        answer: Any = delay if delay.isalpha() else {"Attributes": [{"Key": "x", "Value": "y"}, *shown]}
        elbv2.lay("describe_target_group_attributes", answer, TargetGroupArn=group_arn)
    elbv2.keeps("describe_target_health", health("draining"))
    with pytest.raises(CloudError, match="last seen: draining"):
        load_balancers.wait_until_drained(elbv2.client, [Target(each, VM) for each in groups])
    assert clock.pauses[0] == pytest.approx(longest, abs=1)
    assert 0 <= clock.now - longest - TARGETS_DRAINED.seconds <= 20
