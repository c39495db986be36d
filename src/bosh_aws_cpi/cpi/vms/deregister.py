"""Deregisters a VM from its load balancers before its deletion, so that no request is cut off."""

from collections.abc import Callable, Sequence
from functools import partial

from bosh_aws_cpi import targets
from bosh_aws_cpi.aws import instances, load_balancers
from bosh_aws_cpi.aws.sdk.errors import described
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Instance
from bosh_aws_cpi.targets import Target


def deregister(cloud: Cloud, vm_cid: str) -> tuple[Instance, set[Target]]:
    """Deregister a VM from every target group and classic load balancer that it is registered with.

    With ``fast_path_delete`` it does not wait until the connections are drained. Errors are only logged:
    they must not prevent the VM's deletion.

    Returns:
        The VM as it was, and the targets that are deregistered.

    Raises:
        VMNotFound: EC2 does not know the VM.
    """
    instance = instances.find(cloud.ec2, vm_cid)
    left: set[Target] = set()
    if instance.vpc_id is None:  # it is terminated
        return instance, left
    found = list(targets.recorded(instance.tags))
    vpc_id = instance.vpc_id
    _attempt("classic load balancers", lambda: _leave_load_balancers(cloud, vm_cid))
    _attempt(
        "target groups",
        lambda: found.extend(load_balancers.targets_of(cloud.clients.elbv2, vm_cid, vpc_id)),
    )
    _attempt("target groups", lambda: _leave_target_groups(cloud, found, left))
    return instance, left


def _leave_load_balancers(cloud: Cloud, vm_cid: str) -> None:
    elb = cloud.clients.elb
    for name in load_balancers.load_balancers_of(elb, vm_cid):
        logger.info("Deregistering '%s' from '%s'", vm_cid, name)
        _attempt(name, partial(load_balancers.remove, elb, name, vm_cid))


def _leave_target_groups(cloud: Cloud, found: Sequence[Target], left: set[Target]) -> None:
    """Deregister targets, add those that are deregistered to ``left``, and wait until they are drained."""
    if not found:
        return
    elbv2 = cloud.clients.elbv2
    for target in found:
        logger.info("Deregistering %s from '%s'", target, target.group_arn)
        if _attempt(target.group_arn, partial(load_balancers.remove_target, elbv2, target)):
            left.add(target)
    if not cloud.config.aws.fast_path_delete:
        load_balancers.wait_until_drained(elbv2, [target for target in found if target in left])


def _attempt(what: str, step: Callable[[], None]) -> bool:
    """Run a step; if it fails, log the error and return False."""
    try:
        step()
    except Exception as error:  # noqa: BLE001 - no error may prevent the deletion
        said = described(error)
        logger.error("Deregistering from %s failed, the VM is deleted anyway: %s", what, said)
        return False
    return True
