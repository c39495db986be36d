"""Buckets: which calls share one, and when it is empty."""

import pytest

from testbed.buckets import THROTTLED, Buckets, limits_of

V1, V2 = {"Version": "2012-06-01"}, {"Version": "2015-12-01"}


@pytest.mark.parametrize(
    ("service", "action", "parameters", "limits"),
    [
        ("ec2", "RunInstances", {"ImageId": "ami-1"}, {"RunInstances": (5, 2)}),
        ("ec2", "TerminateInstances", {"InstanceId.1": "i-1"}, {"TerminateInstances": (100, 5)}),
        ("ec2", "CreateTags", {}, {"CreateTags": (100, 10)}),
        ("ec2", "CopyImage", {}, {"CopyImage": (100, 1)}),
        ("ec2", "AttachVolume", {}, {"AttachVolume": (50, 5)}),
        ("ec2", "DescribeVolumes", {"VolumeId.1": "vol-1"}, {"DescribeVolumes": (100, 20)}),
        ("ec2", "DescribeVolumes", {"Filter.1.Name": "tag-key"}, {"DescribeVolumes": (100, 20)}),
        ("ec2", "DescribeVolumes", {"MaxResults": "5"}, {"DescribeVolumes": (100, 20)}),
        ("ec2", "DescribeVolumes", {"DryRun": "true"}, {"DescribeVolumes (all)": (50, 10)}),
        ("ec2", "DescribeImages", {}, {"DescribeImages": (100, 20)}),
        ("ebs", "PutSnapshotBlock", {}, {"PutSnapshotBlock": (1000, 1000)}),
        ("sts", "AssumeRole", {}, {}),
    ],
)
def test_limits(
    service: str, action: str, parameters: dict[str, str], limits: dict[str, tuple[int, float]]
) -> None:
    """A call takes from the bucket that AWS documents for it."""
    assert limits_of(service, action, parameters) == limits
    assert not limits or service in THROTTLED


def test_balancers() -> None:
    """Calls of ELB take from the bucket of their kind and from the one for all; each version has its own."""
    now = 0.0
    buckets = Buckets(lambda: now)
    buckets.fill(1)

    def allowed(count: int, action: str, parameters: dict[str, str]) -> int:
        return sum(buckets.allow("elasticloadbalancing", action, parameters) for _ in range(count))

    assert allowed(25, "RegisterTargets", V2) == 20
    assert allowed(25, "DescribeTargetHealth", V2) == 20
    assert allowed(1, "DescribeLoadBalancers", V1) == 1
    now = 1.0
    assert allowed(25, "DeregisterTargets", V2) == 4
    assert allowed(25, "DescribeTargetHealth", V2) == 6
