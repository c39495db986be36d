"""Deregisters a VM from its load balancers before its deletion, so that no request is cut off."""

from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from ipaddress import ip_address, ip_network

from bosh_aws_cpi.aws import load_balancers, network_interfaces, subnets
from bosh_aws_cpi.aws.load_balancers import Target
from bosh_aws_cpi.aws.sdk.clients import Clients
from bosh_aws_cpi.aws.sdk.errors import FAILURES, ask_or_warn, describe_error, is_transient
from bosh_aws_cpi.aws.sdk.translation import explain
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Instance, Nic
from bosh_aws_cpi.plan import tag_plan
from bosh_aws_cpi.plan.nics import description
from bosh_aws_cpi.plan.tag_plan import AGENT_TAG, DIRECTOR_TAG


def is_own(clients: Clients, instance: Instance, target: Target) -> bool:
    """Whether a recorded target is certainly the VM's own; if not, the log says why, and how to remove it.

    Args:
        instance: The VM, as it was before its termination if possible.
        target: A target that its tags record.

    Raises:
        ClientError: AWS refused to answer.
    """
    if target.target_id == instance.vm_cid:
        return True
    why_not = _why_not_own(clients, instance, target)
    if why_not:
        logger.warning(
            "Not deregistering %s from '%s': %s. If nobody needs this target, run: %s",
            *(target, target.group_arn, why_not, target.removal),
            is_whole=True,
        )
    return why_not is None


def _why_not_own(clients: Clients, instance: Instance, target: Target) -> str | None:
    """Return why a target may not be the VM's own; None for an address of the VM in the group's VPC."""
    if not target.is_address:
        return "it is another instance"
    vpc_id = load_balancers.vpc_of(clients.elbv2, target.group_arn)
    if vpc_id is None or instance.vpc_id not in {None, vpc_id}:
        return "the VM's VPC has no such target group"
    if any(target.target_id in nic.addresses for nic in instance.nics):
        return None
    if instance.nics and not instance.is_ending:  # an instance that ends loses one interface after the other
        return "the VM does not have this address"
    return _why_not_own_any_more(clients, instance, target, vpc_id)


def _why_not_own_any_more(clients: Clients, instance: Instance, target: Target, vpc_id: str) -> str | None:
    """Return why an address may no longer be the VM's; None if nobody else has it."""
    try:
        address = ip_address(target.target_id)
    except ValueError:
        return "it is not an address"
    for subnet in subnets.find_by_vpc(clients.ec2, vpc_id):
        if any(address in ip_network(each) for each in subnet.ranges):
            nic = network_interfaces.find_holder(clients.ec2, subnet.subnet_id, target.target_id)
            if nic is None or nic.vm_cid == instance.vm_cid or _was_of_vm(instance, nic):
                return None
            return f"network interface '{nic}' has this address now"
    return f"no subnet of VPC '{vpc_id}' has this address"


def _was_of_vm(instance: Instance, nic: Nic) -> bool:
    """Whether an unattached interface was created for the VM, by its description."""
    director, agent = (instance.tags.get(key) for key in (DIRECTOR_TAG, AGENT_TAG))
    return nic.vm_cid is None and agent is not None and nic.description == description(director, agent)


def deregister(cloud: Cloud, instance: Instance) -> Sequence[Target]:
    """Deregister a VM from every target group and classic load balancer that it is registered with.

    With ``fast_path_delete`` it does not wait until the connections are drained. Errors are only logged: a VM
    that can't leave its load balancers is terminated all the same. `delete.delete_vm` then tries addresses
    again, and fails if it can't deregister them.

    Returns:
        The targets that are deregistered or may not be its own.
    """
    if instance.vpc_id is None:  # it is terminated
        return []
    clients, vm_cid = cloud.clients, instance.vm_cid
    with _logging_errors("finding classic load balancers"):
        for name in load_balancers.load_balancers_of(clients.elb, vm_cid):
            logger.info("Deregistering '%s' from '%s'", vm_cid, name)
            with _logging_errors(f"deregistering from '{name}'"):
                load_balancers.remove(clients.elb, name, vm_cid)
    own: list[Target] = []
    unused: set[Target] = set()
    foreign: list[Target] = []
    for target in load_balancers.recorded_targets(instance.tags):
        with _logging_errors(f"checking {target} in '{target.group_arn}'"):
            (own if is_own(clients, instance, target) else foreign).append(target)
    with _logging_errors("finding target groups"):  # those that are found before an error count
        for target, is_used in load_balancers.targets_of(clients.elbv2, vm_cid, instance.vpc_id):
            own.append(target)
            if not is_used:
                unused.add(target)
    deregistered: list[Target] = []
    for target in own:
        logger.info("Deregistering %s from '%s'", target, target.group_arn)
        with _logging_errors(f"deregistering {target} from '{target.group_arn}'"):
            load_balancers.remove_target(clients.elbv2, target)
            deregistered.append(target)
    draining = [target for target in deregistered if target not in unused]
    if draining and not cloud.config.aws.fast_path_delete:
        with _logging_errors("waiting until connections are drained"):
            load_balancers.wait_until_drained(clients.elbv2, draining)
    return [*deregistered, *foreign]


@contextmanager
def _logging_errors(what: str) -> Iterator[None]:
    """Log the error of a step; it does not end the deletion."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - no error may prevent the deletion
        logger.error(
            "Deregistration failed, the VM is terminated anyway: %s: %s", what, describe_error(error)
        )


def deregister_addresses(clients: Clients, instance: Instance, deregistered: Container[Target] = ()) -> None:
    """Deregister the addresses that the VM's tags record; if EC2 does not show the tags, those that it has.

    An address that stays registered would send traffic to the next VM that gets it. But a target that is not
    certainly the VM's own stays.

    Args:
        instance: The VM, after TerminateInstances.
        deregistered: Targets that need no attempt.

    Raises:
        CloudError: AWS refused, or did not answer; the message says how to repeat the attempt.
    """
    targets = list(load_balancers.recorded_targets(instance.tags))
    if not tag_plan.are_shown(instance.tags):
        targets += _find_targets(clients, instance)
    for target in dict.fromkeys(targets):
        if not target.is_address or target in deregistered:
            continue
        try:
            if is_own(clients, instance, target):
                logger.info("Deregistering %s from '%s'", target, target.group_arn)
                load_balancers.remove_target(clients.elbv2, target)
        except FAILURES as error:
            message = _still_registered(instance.vm_cid, target, error)
            raise CloudError(message, ok_to_retry=is_transient(error)) from error


def _find_targets(clients: Clients, instance: Instance) -> Sequence[Target]:
    """Look for the addresses of a VM whose tags EC2 does not show, in the target groups of its VPC.

    A VM is registered by the primary addresses of its first interface. A warning says if they can't be found.
    """
    nics = [nic for nic in instance.nics if nic.card_index == nic.device_index == 0]
    both = [nic.primary_address(family) for nic in nics for family in ("ipv4", "ipv6")]
    addresses, vpc_id = frozenset(filter(None, both)), instance.vpc_id
    shown = " and ".join(sorted(addresses)) or "its addresses"
    found: Sequence[Target] | None = None
    if addresses and vpc_id:
        find = partial(load_balancers.targets_at, clients.elbv2, addresses, vpc_id)
        found = ask_or_warn(f"the target groups of {shown}", lambda: list(find()))
    if found is None:
        logger.warning(
            "EC2 does not show the tags of VM '%s', which record its targets. If it had lb_target_groups of "
            "type ip, look for %s in them: aws elbv2 describe-target-health --target-group-arn ARN",
            *(instance, shown),
        )
    elif not found:
        logger.info("EC2 does not show the tags of VM '%s'; no target group has %s", instance, shown)
    return found or []


def _still_registered(vm_cid: str, target: Target, error: Exception) -> str:
    return (
        f"VM '{vm_cid}' is terminated or shutting down, but its address {target} is still in target group "
        f"'{target.group_arn}': {explain(error)}. Repeat the deletion within an hour, or run: "
        f"{target.removal}"
    )
