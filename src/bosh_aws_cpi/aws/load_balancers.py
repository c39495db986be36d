"""Classic load balancers, and the target groups of application and network load balancers."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.errors import code_of, has_code
from bosh_aws_cpi.errors import CloudError

if TYPE_CHECKING:
    from mypy_boto3_elb import ElasticLoadBalancingClient
    from mypy_boto3_elbv2 import ElasticLoadBalancingv2Client
    from mypy_boto3_elbv2.type_defs import TargetGroupTypeDef


_UNKNOWN_INSTANCE: Final = frozenset({"InvalidInstance"})


def target_group_arns(client: "ElasticLoadBalancingv2Client", names: Sequence[str], vpc_id: str) -> list[str]:
    """DescribeTargetGroups: the ARNs of target groups that an instance can be registered with.

    Args:
        client: The ELBv2 client.
        names: Their names.
        vpc_id: The instance's VPC.

    Raises:
        CloudError: One does not exist, does not accept instances, or is in another VPC.
    """
    groups = {name: _target_group(client, name) for name in dict.fromkeys(names)}
    for name, group in groups.items():
        if group.get("TargetType", "instance") != "instance":
            message = (
                f"Target group '{name}' has target type {group.get('TargetType')}: "
                "lb_target_groups needs target type instance"
            )
            raise CloudError(message)
        if group.get("VpcId", vpc_id) != vpc_id:
            message = f"Target group '{name}' is in VPC '{group.get('VpcId')}', but the VM is in '{vpc_id}'"
            raise CloudError(message)
    return [group["TargetGroupArn"] for group in groups.values()]


def check(client: "ElasticLoadBalancingClient", names: Sequence[str], vpc_id: str) -> None:
    """DescribeLoadBalancers: check that classic load balancers exist in the instance's VPC.

    Raises:
        CloudError: One does not exist there.
    """
    for name in dict.fromkeys(names):
        try:
            (balancer,) = client.describe_load_balancers(LoadBalancerNames=[name])["LoadBalancerDescriptions"]
        except client.exceptions.ClientError as error:
            if code_of(error) != "LoadBalancerNotFound":
                raise
            message = f"Could not find classic load balancer `{name}'"
            raise CloudError(message) from error
        if balancer.get("VPCId", vpc_id) != vpc_id:
            message = f"Load balancer '{name}' is in VPC '{balancer['VPCId']}', but the VM is in '{vpc_id}'"
            raise CloudError(message)


def add_target(client: "ElasticLoadBalancingv2Client", arn: str, vm_cid: str) -> None:
    """RegisterTargets; no error if the instance is already registered."""
    timing.patiently(
        timing.TARGET_KNOWN,
        f"target group '{arn}' to accept '{vm_cid}'",
        frozenset({"InvalidTarget"}),
        lambda: client.register_targets(TargetGroupArn=arn, Targets=[{"Id": vm_cid}]),
    )


def remove_target(client: "ElasticLoadBalancingv2Client", arn: str, vm_cid: str) -> None:
    """DeregisterTargets; no error if the instance is not registered. Its connections drain for a while."""
    client.deregister_targets(TargetGroupArn=arn, Targets=[{"Id": vm_cid}])


def add(client: "ElasticLoadBalancingClient", name: str, vm_cid: str) -> None:
    """RegisterInstancesWithLoadBalancer; no error if the instance is already registered."""
    timing.patiently(
        timing.TARGET_KNOWN,
        f"load balancer '{name}' to accept '{vm_cid}'",
        _UNKNOWN_INSTANCE,
        lambda: client.register_instances_with_load_balancer(
            LoadBalancerName=name, Instances=[{"InstanceId": vm_cid}]
        ),
    )


def remove(client: "ElasticLoadBalancingClient", name: str, vm_cid: str) -> None:
    """DeregisterInstancesFromLoadBalancer; no error if the instance is not registered."""
    try:
        client.deregister_instances_from_load_balancer(
            LoadBalancerName=name, Instances=[{"InstanceId": vm_cid}]
        )
    except client.exceptions.ClientError as error:
        if not has_code(error, _UNKNOWN_INSTANCE):
            raise


def target_groups_of(client: "ElasticLoadBalancingv2Client", vm_cid: str, vpc_id: str) -> Iterator[str]:
    """The ARNs of a VPC's target groups that an instance is registered with.

    ELB offers no such lookup, so each target group is queried.
    """
    for page in client.get_paginator("describe_target_groups").paginate():
        for group in page["TargetGroups"]:
            if group.get("VpcId") == vpc_id and group.get("TargetType", "instance") == "instance":
                arn = group["TargetGroupArn"]
                if _state(client, arn, vm_cid) is not None:
                    yield arn


def load_balancers_of(client: "ElasticLoadBalancingClient", vm_cid: str) -> list[str]:
    """The names of the classic load balancers that an instance is registered with."""
    return [
        balancer["LoadBalancerName"]
        for page in client.get_paginator("describe_load_balancers").paginate()
        for balancer in page["LoadBalancerDescriptions"]
        if any(entry["InstanceId"] == vm_cid for entry in balancer.get("Instances", []))
    ]


def wait_until_drained(client: "ElasticLoadBalancingv2Client", arns: Sequence[str], vm_cid: str) -> None:
    """Wait until a deregistered instance has no more connections from any of the target groups.

    Raises:
        CloudError: The wait timed out.
    """
    draining = list(arns)

    def probe() -> None:
        while draining:
            if (state := _state(client, draining[0], vm_cid)) is not None:
                raise timing.NotYet(state)
            draining.pop(0)

    timing.until(timing.TARGETS_DRAINED, f"instance '{vm_cid}' to be drained", probe)


def _target_group(client: "ElasticLoadBalancingv2Client", name: str) -> "TargetGroupTypeDef":
    try:
        return client.describe_target_groups(Names=[name])["TargetGroups"][0]
    except client.exceptions.ClientError as error:
        if code_of(error) != "TargetGroupNotFound":
            raise
        message = f"Could not find ALB target group `{name}'"
        raise CloudError(message) from error


def _state(client: "ElasticLoadBalancingv2Client", arn: str, vm_cid: str) -> str | None:
    """The state of a target's health; None when it is not, or no longer, registered."""
    try:
        answer = client.describe_target_health(TargetGroupArn=arn, Targets=[{"Id": vm_cid}])
    except client.exceptions.ClientError as error:
        if code_of(error) in {"InvalidTarget", "TargetGroupNotFound"}:
            return None
        raise
    for entry in answer["TargetHealthDescriptions"]:
        health = entry.get("TargetHealth", {})
        if health.get("Reason") != "Target.NotRegistered":
            return str(health.get("State"))
    return None
