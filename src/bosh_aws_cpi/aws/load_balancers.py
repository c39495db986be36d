"""Classic load balancers, and the target groups of application and network load balancers."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from bosh_aws_cpi.aws.sdk import errors, timing
from bosh_aws_cpi.aws.sdk.errors import ask_or_warn, call_unless
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import ID_DIGITS
from bosh_aws_cpi.properties.vm import TargetGroup as Wanted
from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tag_names import TARGET_TAG, records_target

if TYPE_CHECKING:
    from mypy_boto3_elb import ElasticLoadBalancingClient
    from mypy_boto3_elbv2 import ElasticLoadBalancingv2Client
    from mypy_boto3_elbv2.type_defs import TargetDescriptionTypeDef, TargetGroupTypeDef

_TARGET_TYPES: Final = ("instance", "ip")
_WITH_SERVER_IDS: Final = frozenset({"QUIC", "TCP_QUIC"})
"""Protocols with which RegisterTargets requires a QuicServerId per target (API model, TargetDescription)."""

_DEFAULT_DELAY: Final = 300
"""Seconds (API reference, TargetGroupAttribute)."""
_NO_TARGET: Final = errors.TARGET_REFUSED | errors.TARGET_GROUP_MISSING
_RECORD: Final = re.compile(rf"(arn:[\w:/-]+) (i-{ID_DIGITS}|[0-9.]+|[0-9a-f.]*:[0-9a-f:.]*)", re.ASCII)
"""The value of a tag that records a target. Strict, because messages show both parts in a shell command."""


class ResolvedTargetGroup(Record):
    """A target group that a VM will be registered with."""

    arn: str
    port: int | None
    """The port of the VM; None for an instance at the group's default port."""
    family: str = "ipv4"
    """The family of the addresses at which it reaches its targets, "ipv4" or "ipv6"."""
    is_of_addresses: bool = False
    """Whether its targets are addresses, and not instances."""

    @property
    def lacking(self) -> str:
        """The error for a VM without an address of the family."""
        return (
            f"Target group '{self.arn}' has IP address type {self.family}, but the VM's first interface has "
            "no such address: give it one, or use a target group of the other type"
        )


class Target(Record):
    """A VM in a target group."""

    group_arn: str
    target_id: str
    """The instance's id, or one of its IP addresses."""
    port: int | None = None
    """The port of the target; None for an instance at the group's default port."""

    def __str__(self) -> str:
        shown = f"[{self.target_id}]" if ":" in self.target_id else self.target_id
        return f"'{shown}:{self.port}'" if self.port else f"'{shown}'"

    @property
    def is_address(self) -> bool:
        """Whether the target is an address, which stays registered when the instance is terminated."""
        return not self.target_id.startswith("i-")

    @property
    def removal(self) -> str:
        """The command with which an operator deregisters the target."""
        return (
            f"aws elbv2 deregister-targets --target-group-arn {self.group_arn} "
            f"--targets Id={self.target_id},Port={self.port}"
        )


class Misfit(Record):
    """Why a VM can't be registered with a target group."""

    why: str
    """A predicate whose subject is the group: "has target type lambda"."""
    remedy: str


def misfit(group: "TargetGroupTypeDef") -> Misfit | None:
    """Why a VM can't be registered with a target group that ELB describes so; None if it can."""
    if (kind := group.get("TargetType", "instance")) not in _TARGET_TYPES:
        return Misfit(f"has target type {kind}", f"Use a target group of type {' or '.join(_TARGET_TYPES)}")
    if (protocol := group.get("Protocol", "")) in _WITH_SERVER_IDS:
        remedy = (
            "Use a target group of another protocol: each target of this one needs a QuicServerId of its "
            "own, which the CPI can't give"
        )
        return Misfit(f"has protocol {protocol}", remedy)
    return None


def record_tags(targets: Iterable[Target]) -> dict[str, str]:
    """The instance's tags that record targets; a target by instance id at the default port needs none.

    ELB deregisters a terminated instance that is registered by its id. ELB neither deregisters an address,
    nor lists the ports of an instance or the target groups of an address.
    """
    return {
        f"{TARGET_TAG}{each.group_arn.rpartition('/')[2]}_{each.port}": f"{each.group_arn} {each.target_id}"
        for each in targets
        if each.port is not None
    }


def recorded_targets(tags: Mapping[str, str]) -> Iterator[Target]:
    """The targets that an instance's tags record; anybody may have written the tags. Skips malformed tags."""
    for key, value in tags.items():
        if records_target(key) and (match := _RECORD.fullmatch(value)):
            yield Target(match[1], match[2], int(key.rpartition("_")[2]))


def target_groups(
    client: "ElasticLoadBalancingv2Client", wanted: Sequence[Wanted], vpc_id: str, region: str
) -> list[ResolvedTargetGroup]:
    """DescribeTargetGroups: the target groups that a VM can be registered with.

    Args:
        wanted: The names or ARNs of the target groups, and ports.
        vpc_id: The VM's VPC.
        region: The VM's region.

    Raises:
        CloudError: A group does not exist, can't have a VM as a target, or is in another VPC or region.
    """
    by_name = {str(each): each for each in wanted}
    entries = {name: _target_group(client, each, region) for name, each in by_name.items()}
    for name, group in entries.items():
        if wrong := misfit(group):
            raise CloudError(f"Target group '{name}' {wrong.why}. {wrong.remedy}")
        if group.get("VpcId", vpc_id) != vpc_id:
            raise CloudError(
                f"Target group '{name}' is in VPC '{group.get('VpcId')}', but the VM is in '{vpc_id}'. "
                "Correct lb_target_groups, or the network's subnet"
            )
    return list(dict.fromkeys(_resolve(entries[str(each)], each.port) for each in wanted))


def _resolve(group: "TargetGroupTypeDef", port: int | None) -> ResolvedTargetGroup:
    arn, default_port = group["TargetGroupArn"], group.get("Port")
    family = group.get("IpAddressType", "ipv4")
    if group.get("TargetType") == "ip":
        return ResolvedTargetGroup(arn, port or default_port, family, is_of_addresses=True)
    return ResolvedTargetGroup(arn, port if port != default_port else None, family)


def check(client: "ElasticLoadBalancingClient", names: Sequence[str], vpc_id: str) -> None:
    """Check with DescribeLoadBalancers that classic load balancers exist in the VM's VPC.

    Raises:
        CloudError: A load balancer does not exist, or is in another VPC.
    """
    for name in dict.fromkeys(names):
        describe = partial(client.describe_load_balancers, LoadBalancerNames=[name])
        description = call_unless(errors.BALANCER_MISSING, describe)
        if description is None:
            raise CloudError(
                f"Could not find classic load balancer `{name}'. Region {client.meta.region_name} has none "
                "of that name: correct elbs, or use lb_target_groups if it is not a classic load balancer"
            )
        balancer = description["LoadBalancerDescriptions"][0]
        if balancer.get("VPCId", vpc_id) != vpc_id:
            raise CloudError(
                f"Load balancer '{name}' is in VPC '{balancer['VPCId']}', but the VM is in '{vpc_id}'. "
                "Correct elbs, or the network's subnet"
            )


def vpc_of(client: "ElasticLoadBalancingv2Client", group_arn: str) -> str | None:
    """DescribeTargetGroups: a target group's VPC; None if the account has no such group in the region."""
    answer = call_unless(
        errors.TARGET_GROUP_MISSING | errors.TARGET_GROUP_FOREIGN,
        lambda: client.describe_target_groups(TargetGroupArns=[group_arn]),
    )
    return answer["TargetGroups"][0].get("VpcId") if answer else None


def add_target(client: "ElasticLoadBalancingv2Client", target: Target) -> None:
    """Call RegisterTargets; no error if the target is already registered."""
    timing.retry_on_codes(
        timing.TARGET_KNOWN,
        f"target group '{target.group_arn}' to accept {target}",
        errors.TARGET_REFUSED,
        lambda: client.register_targets(TargetGroupArn=target.group_arn, Targets=[_description(target)]),
    )


def remove_target(client: "ElasticLoadBalancingv2Client", target: Target) -> None:
    """Call DeregisterTargets; no error if the target is not registered, or the target group is gone.

    The target's connections drain for a while afterwards.
    """
    call_unless(
        _NO_TARGET,
        lambda: client.deregister_targets(TargetGroupArn=target.group_arn, Targets=[_description(target)]),
    )


def _description(target: Target) -> "TargetDescriptionTypeDef":
    described: TargetDescriptionTypeDef = {"Id": target.target_id}
    return {**described, "Port": target.port} if target.port is not None else described


def add(client: "ElasticLoadBalancingClient", name: str, vm_cid: str) -> None:
    """Call RegisterInstancesWithLoadBalancer; no error if the instance is already registered."""
    timing.retry_on_codes(
        timing.TARGET_KNOWN,
        f"load balancer '{name}' to accept '{vm_cid}'",
        errors.NOT_IN_BALANCER,
        lambda: client.register_instances_with_load_balancer(
            LoadBalancerName=name, Instances=[{"InstanceId": vm_cid}]
        ),
    )


def remove(client: "ElasticLoadBalancingClient", name: str, vm_cid: str) -> None:
    """Call DeregisterInstancesFromLoadBalancer; no error if the instance is not registered."""
    call_unless(
        errors.NOT_IN_BALANCER,
        lambda: client.deregister_instances_from_load_balancer(
            LoadBalancerName=name, Instances=[{"InstanceId": vm_cid}]
        ),
    )


def targets_of(
    client: "ElasticLoadBalancingv2Client", vm_cid: str, vpc_id: str
) -> Iterator[tuple[Target, bool]]:
    """The registrations of an instance, at the default port, with target groups of type instance in a VPC.

    ELB has no call that finds them, so each target group is queried.

    Returns:
        Each target, and whether it is in use: if not, because for example no listener uses its group or the
        instance is stopped, ELB sends it no traffic (ALB user guide, "Target health status").
    """
    for group_arn in _groups_in(client, vpc_id, "instance"):
        target = Target(group_arn, vm_cid)
        if (state := _state(client, target)) is not None:
            yield target, state != "unused"


def targets_at(
    client: "ElasticLoadBalancingv2Client", addresses: frozenset[str], vpc_id: str
) -> Iterator[Target]:
    """The registrations of addresses with target groups of type ip in a VPC; each group is queried."""
    for group_arn in _groups_in(client, vpc_id, "ip"):
        describe = partial(client.describe_target_health, TargetGroupArn=group_arn)
        answer = call_unless(errors.TARGET_GROUP_MISSING, describe)
        for entry in answer["TargetHealthDescriptions"] if answer else ():
            if entry["Target"]["Id"] in addresses:
                yield Target(group_arn, entry["Target"]["Id"], entry["Target"].get("Port"))


def _groups_in(client: "ElasticLoadBalancingv2Client", vpc_id: str, kind: str) -> Iterator[str]:
    """DescribeTargetGroups: the ARNs of the target groups of one type in a VPC."""
    for page in client.get_paginator("describe_target_groups").paginate():
        for group in page["TargetGroups"]:
            if group.get("VpcId") == vpc_id and group.get("TargetType", "instance") == kind:
                yield group["TargetGroupArn"]


def load_balancers_of(client: "ElasticLoadBalancingClient", vm_cid: str) -> list[str]:
    """The names of the classic load balancers that an instance is registered with."""
    return [
        balancer["LoadBalancerName"]
        for page in client.get_paginator("describe_load_balancers").paginate()
        for balancer in page["LoadBalancerDescriptions"]
        if any(entry["InstanceId"] == vm_cid for entry in balancer.get("Instances", []))
    ]


def wait_until_drained(client: "ElasticLoadBalancingv2Client", targets: Sequence[Target]) -> None:
    """Wait until deregistered targets have no connections left.

    ELB shows a target as draining until the deregistration delay of its group is over, even if nothing is
    left to drain (ALB user guide, "Deregistration delay"): to look before that would be of no use.

    Raises:
        CloudError: The wait timed out.
    """
    draining = list(targets)
    delay = max(
        _deregistration_delay(client, each) for each in dict.fromkeys(target.group_arn for target in targets)
    )
    policy = timing.TARGETS_DRAINED
    policy = policy.replace(seconds=delay + policy.seconds, usually=(delay, delay + policy.usually[1]))

    def probe() -> None:
        while draining:
            if (state := _state(client, draining[0])) is not None:
                raise timing.NotYet(state)
            draining.pop(0)

    shown = ", ".join(dict.fromkeys(map(str, targets)))
    timing.poll(policy, f"{shown} to be drained", probe)


def _deregistration_delay(client: "ElasticLoadBalancingv2Client", group_arn: str) -> int:
    """The seconds for which a target group drains; ELB's default if it does not say."""
    answer = ask_or_warn(
        f"the deregistration delay of '{group_arn}'",
        lambda: client.describe_target_group_attributes(TargetGroupArn=group_arn),
    )
    attributes = {each["Key"]: each["Value"] for each in answer["Attributes"]} if answer else {}
    delay = attributes.get("deregistration_delay.timeout_seconds", "")
    return int(delay) if delay.isdecimal() else _DEFAULT_DELAY


def _target_group(
    client: "ElasticLoadBalancingv2Client", wanted: Wanted, region: str
) -> "TargetGroupTypeDef":
    if wanted.arn and wanted.region != region:
        raise CloudError(
            f"Target group '{wanted.arn}' is in region '{wanted.region}', but the VM is in '{region}'. "
            "Correct lb_target_groups"
        )
    which: Any = {"TargetGroupArns": [wanted.arn]} if wanted.arn else {"Names": [str(wanted)]}
    answer = call_unless(errors.TARGET_GROUP_MISSING, lambda: client.describe_target_groups(**which))
    if answer is None:
        raise CloudError(
            f"Could not find ALB target group `{wanted}'. Region {region} has none of that name or ARN: "
            "correct lb_target_groups: it needs the ARN of the target group, and not of the load balancer"
        )
    return answer["TargetGroups"][0]


def _state(client: "ElasticLoadBalancingv2Client", target: Target) -> str | None:
    """The state of a target's health; None when the target is not registered, or no longer."""
    answer = call_unless(
        _NO_TARGET,
        lambda: client.describe_target_health(
            TargetGroupArn=target.group_arn, Targets=[_description(target)]
        ),
    )
    for entry in answer["TargetHealthDescriptions"] if answer else ():
        health = entry.get("TargetHealth", {})
        if health.get("Reason") != "Target.NotRegistered":
            return str(health.get("State"))
    return None
