"""Deregisters a VM from its load balancers before its deletion, so that no request is cut off."""

from collections.abc import Callable, Sequence
from functools import partial

from bosh_aws_cpi import recorded_targets
from bosh_aws_cpi.aws import instances, load_balancers
from bosh_aws_cpi.aws.sdk.errors import described
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.vms.own_targets import is_own
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Instance
from bosh_aws_cpi.recorded_targets import Target


def deregister(cloud: Cloud, vm_cid: str) -> tuple[Instance, Sequence[Target]]:
    """Deregister a VM from every target group and classic load balancer that it is registered with.

    With ``fast_path_delete`` it does not wait until the connections are drained. Errors are only logged: a VM
    that can't leave its load balancers is terminated all the same. `delete.delete_vm` then tries addresses
    again, and fails if it can't deregister them.

    Returns:
        The VM as it was, and the targets that are deregistered or may not be its own.

    Raises:
        VMNotFound: EC2 does not know the VM.
    """
    instance = instances.find(cloud.ec2, vm_cid)
    if instance.vpc_id is None:  # it is terminated
        return instance, []
    _attempt("finding classic load balancers", lambda: _leave_load_balancers(cloud, vm_cid))
    foreign: list[Target] = []
    found = [*_recorded(cloud, instance, foreign), *_at_own_ports(cloud, vm_cid, instance.vpc_id)]
    deregistered = [target for target in found if _leave_target_group(cloud, target)]
    if deregistered and not cloud.config.aws.fast_path_delete:
        _attempt(
            "waiting until connections are drained",
            lambda: load_balancers.wait_until_drained(cloud.clients.elbv2, deregistered),
        )
    return instance, [*deregistered, *foreign]


def _recorded(cloud: Cloud, instance: Instance, foreign: list[Target]) -> list[Target]:
    """The recorded targets that are the VM's own; those that may not be are added to `foreign`."""
    own: list[Target] = []
    for target in recorded_targets.recorded(instance.tags):

        def sort(target: Target = target) -> None:
            (own if is_own(cloud.clients, instance, target) else foreign).append(target)

        _attempt(f"checking {target} in '{target.group_arn}'", sort)
    return own


def _leave_load_balancers(cloud: Cloud, vm_cid: str) -> None:
    elb = cloud.clients.elb
    for name in load_balancers.load_balancers_of(elb, vm_cid):
        logger.info("Deregistering '%s' from '%s'", vm_cid, name)
        _attempt(f"deregistering from '{name}'", partial(load_balancers.remove, elb, name, vm_cid))


def _at_own_ports(cloud: Cloud, vm_cid: str, vpc_id: str) -> list[Target]:
    """The VM as a target at the groups' own ports; those that were found before an error, which is logged."""
    found: list[Target] = []
    _attempt(
        "finding target groups",
        lambda: found.extend(load_balancers.targets_of(cloud.clients.elbv2, vm_cid, vpc_id)),
    )
    return found


def _leave_target_group(cloud: Cloud, target: Target) -> bool:
    logger.info("Deregistering %s from '%s'", target, target.group_arn)
    return _attempt(
        f"deregistering {target} from '{target.group_arn}'",
        partial(load_balancers.remove_target, cloud.clients.elbv2, target),
    )


def _attempt(what: str, step: Callable[[], None]) -> bool:
    """Run a step; if it fails, log the error and return False."""
    try:
        step()
    except Exception as error:  # noqa: BLE001 - no error may prevent the deletion
        logger.error("Deregistration failed, the VM is terminated anyway: %s: %s", what, described(error))
        return False
    return True
