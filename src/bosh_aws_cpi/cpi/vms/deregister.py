"""Deregisters a VM from its load balancers before its deletion, so that no request is cut off."""

from collections.abc import Callable
from functools import partial

from bosh_aws_cpi.aws import instances, load_balancers
from bosh_aws_cpi.aws.sdk.errors import described
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.log import logger


def deregister(cloud: Cloud, vm_cid: str) -> None:
    """Deregister a VM from every target group and classic load balancer that it is registered with.

    With ``fast_path_delete`` it does not wait until the connections are drained. Errors are only logged:
    they must not prevent the VM's deletion.

    Raises:
        VMNotFound: EC2 does not know the VM.
    """
    instance = instances.find(cloud.ec2, vm_cid)
    if instance.vpc_id is None:  # it is terminated
        return
    vpc_id = instance.vpc_id
    _attempt("classic load balancers", lambda: _leave_load_balancers(cloud, vm_cid))
    _attempt("target groups", lambda: _leave_target_groups(cloud, vm_cid, vpc_id))


def _leave_load_balancers(cloud: Cloud, vm_cid: str) -> None:
    elb = cloud.clients.elb
    for name in load_balancers.load_balancers_of(elb, vm_cid):
        logger.info("Deregistering '%s' from '%s'", vm_cid, name)
        _attempt(name, partial(load_balancers.remove, elb, name, vm_cid))


def _leave_target_groups(cloud: Cloud, vm_cid: str, vpc_id: str) -> None:
    elbv2 = cloud.clients.elbv2
    arns = list(load_balancers.target_groups_of(elbv2, vm_cid, vpc_id))
    draining = []
    for arn in arns:
        logger.info("Deregistering '%s' from '%s'", vm_cid, arn)
        if _attempt(arn, partial(load_balancers.remove_target, elbv2, arn, vm_cid)):
            draining.append(arn)
    if not cloud.config.aws.fast_path_delete:
        load_balancers.wait_until_drained(elbv2, draining, vm_cid)


def _attempt(what: str, step: Callable[[], None]) -> bool:
    """Run a step; if it fails, log the error and return False."""
    try:
        step()
    except Exception as error:  # noqa: BLE001 - no error may prevent the deletion
        said = described(error)
        logger.error("Deregistering from %s failed, the VM is deleted anyway: %s", what, said)
        return False
    return True
