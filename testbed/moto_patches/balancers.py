"""Load balancers: classic ones, and target groups."""

from collections.abc import Iterable
from ipaddress import ip_address
from typing import Any

from moto.ec2.models import ec2_backends
from moto.elb.exceptions import ELBClientError as ClassicError
from moto.elb.exceptions import LoadBalancerNotFoundError, NoActiveLoadBalancerFoundError
from moto.elb.models import ELBBackend
from moto.elb.responses import ELBResponse
from moto.elbv2.exceptions import ELBClientError
from moto.elbv2.models import ELBv2Backend, FakeHealthStatus, FakeTargetGroup

from testbed.moto_patches.identifiers import well_formed
from testbed.moto_patches.patching import Original, Patches, parameter

PATCHES = Patches()

QUIC = frozenset({"QUIC", "TCP_QUIC"})
"""The protocols of target groups whose targets have a server id."""


def known_balancer(backend: Any, name: str) -> Any:
    """Find a classic load balancer, or refuse."""
    if name not in backend.load_balancers:
        raise NoActiveLoadBalancerFoundError(name)
    return backend.load_balancers[name]


@PATCHES.around(ELBBackend, "register_instances")
def registered_once(
    original: Original,
    backend: Any,
    load_balancer_name: str,
    instance_ids: Iterable[str],
    *positional: Any,
    **keywords: Any,
) -> Any:
    """ELB refuses unknown balancers and instances, and registers an instance only once.

    moto failed for an unknown balancer (HTTP 500), accepted any text as an instance, and
    listed an instance as often as it was registered.
    """
    balancer = known_balancer(backend, load_balancer_name)
    ec2 = ec2_backends[backend.account_id][backend.region_name]
    for instance_id in instance_ids:
        if ec2.get_instance_by_id(instance_id) is None:
            raise ClassicError("InvalidInstance", f"Could not find EC2 instance {instance_id}.")
    new = [instance_id for instance_id in instance_ids if instance_id not in balancer.instance_ids]
    return original(backend, load_balancer_name, new, *positional, **keywords)


@PATCHES.around(ELBBackend, "deregister_instances")
def deregistered_once(
    original: Original,
    backend: Any,
    load_balancer_name: str,
    instance_ids: Iterable[str],
    *positional: Any,
    **keywords: Any,
) -> Any:
    """ELB refuses unknown balancers, and instances that are not registered.

    An instance that is not registered gets the same error as an unknown one. moto answered success.
    """
    balancer = known_balancer(backend, load_balancer_name)
    for instance_id in instance_ids:
        if instance_id not in balancer.instance_ids:
            raise ClassicError("InvalidInstance", f"Could not find EC2 instance {instance_id}.")
    return original(backend, load_balancer_name, instance_ids, *positional, **keywords)


def listed_instances(original: Original, response: Any) -> Any:
    """ELB answers the instances that are registered now; moto answered an empty list."""
    result = original(response)
    balancer = response.elb_backend.load_balancers[parameter(response, "LoadBalancerName")]
    result.result["Instances"] = [{"InstanceId": instance_id} for instance_id in balancer.instance_ids]
    return result


for _name in ("register_instances_with_load_balancer", "deregister_instances_from_load_balancer"):
    PATCHES.around(ELBResponse, _name)(listed_instances)


@PATCHES.around(ELBBackend, "describe_load_balancers")
def described_balancers(
    original: Original, backend: Any, names: list[str], *positional: Any, **keywords: Any
) -> Any:
    """For an unknown name ELB says that there is no active balancer; moto had another message."""
    try:
        return original(backend, names, *positional, **keywords)
    except LoadBalancerNotFoundError:
        unknown = next(name for name in names if name not in backend.load_balancers)
        raise NoActiveLoadBalancerFoundError(unknown) from None


@PATCHES.around(ELBv2Backend, "create_target_group")
def quic_groups(original: Original, backend: Any, name: str, **keywords: Any) -> Any:
    """ELB accepts the protocols QUIC and TCP_QUIC (API model, ProtocolEnum); moto does not know them."""
    protocol = keywords.get("protocol")
    if protocol not in QUIC:
        return original(backend, name, **keywords)
    group = original(backend, name, **{**keywords, "protocol": "TCP_UDP"})
    group.protocol = protocol
    return group


def check_server_id(group: Any, target: dict[str, Any]) -> None:
    """Refuse a target without a server id in a QUIC group, and one with it in any other; moto ignored it.

    Source: the API model, TargetDescription.QuicServerId. The code is a guess: ELB's for what is wrong with
    a target (hashicorp/terraform-provider-aws issue 38987).
    """
    if (group.protocol in QUIC) != bool(target.get("QuicServerId")):
        is_needed = "is required" if group.protocol in QUIC else "can't be specified"
        raise ELBClientError(
            "ValidationError", f"A QUIC server ID {is_needed} for protocol '{group.protocol}'"
        )


@PATCHES.around(ELBv2Backend, "register_targets")
def known_targets(
    original: Original, backend: Any, target_group_arn: str, instances: list[dict[str, Any]]
) -> None:
    """ELB refuses unknown instances, and what is no address of a group's family; moto accepted any text.

    Source: the API model of Elastic Load Balancing v2, TargetDescription.Id and TargetGroup.IpAddressType.
    """
    group = backend.target_groups.get(target_group_arn)
    for target in instances if group is not None else ():
        check_server_id(group, target)
    if group is not None and group.target_type == "ip":
        for target in instances:
            if not is_address(target["Id"], group.ip_address_type):
                raise ELBClientError("ValidationError", f"IP address '{target['Id']}' is not valid")
    if group is not None and group.target_type == "instance":
        for target in instances:
            if not well_formed("i", target["Id"]):
                raise ELBClientError("ValidationError", f"Instance ID '{target['Id']}' is not valid")
            if backend.ec2_backend.get_instance_by_id(target["Id"]) is None:
                raise ELBClientError(
                    "InvalidTarget", f"The following instances do not exist: '{target['Id']}'"
                )
    original(backend, target_group_arn, instances)


def is_address(text: str, family: str) -> bool:
    """Whether a text is an address of a family, ipv4 or ipv6."""
    try:
        return f"ipv{ip_address(text).version}" == family
    except ValueError:
        return False


def key_of(group: Any, target: dict[str, Any]) -> Any:
    """The key of a registration: moto's own, the id, at the group's port; id and port at another."""
    port = int(target.get("Port") or group.port)
    return target["Id"] if port == int(group.port) else (target["Id"], port)


@PATCHES.around(FakeTargetGroup, "register")
def registered_by_port(original: Original, group: Any, targets: list[dict[str, Any]]) -> None:
    """A target can be registered several times, at different ports; moto knew the last port only.

    Source: the API model of Elastic Load Balancing v2, RegisterTargets.
    """
    for target in targets:
        own = group.targets.pop(target["Id"], None)
        original(group, [target])
        registered = group.targets.pop(target["Id"])
        if own is not None:
            group.targets[target["Id"]] = own
        group.targets[key_of(group, target)] = registered


@PATCHES.around(FakeTargetGroup, "deregister")
def deregistered_by_port(original: Original, group: Any, targets: list[dict[str, Any]]) -> None:
    """ELB answers success for a target that is not registered, also for another port's.

    moto answered InvalidTarget, and did not look at the port. Source: the same model, DeregisterTargets: a
    registration that overrides the port needs the port.
    """
    for target in targets:
        key = key_of(group, target)
        if key == target["Id"] and key in group.targets:
            original(group, [target])
        group.targets.pop(key, None)


@PATCHES.around(FakeTargetGroup, "deregister_terminated_instances")
def all_ports_terminated(original: Original, group: Any, instance_ids: list[str]) -> None:
    """An instance that is terminated leaves with all its ports."""
    original(group, instance_ids)
    for key in [key for key in group.targets if isinstance(key, tuple) and key[0] in instance_ids]:
        del group.targets[key]


@PATCHES.around(FakeTargetGroup, "health_for")
def health_by_port(original: Original, group: Any, target: dict[str, Any], ec2: Any) -> Any:
    """The health is that of a target at a port; moto did not look at the port."""
    key = key_of(group, target)
    if key == target["Id"]:
        return original(group, target, ec2)
    if key in group.targets:
        return FakeHealthStatus(key[0], key[1], group.health_check_port, "healthy")
    return FakeHealthStatus(key[0], key[1], group.health_check_port, "unused", "Target.NotRegistered")
