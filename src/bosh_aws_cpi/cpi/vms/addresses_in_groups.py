"""Deregisters a VM's addresses from target groups after TerminateInstances: ELB does not do it."""

from collections.abc import Container
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from bosh_aws_cpi import recorded_targets
from bosh_aws_cpi.aws import instances, load_balancers
from bosh_aws_cpi.aws.sdk.errors import FAILURES, described
from bosh_aws_cpi.aws.sdk.translation import explained
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Instance
from bosh_aws_cpi.recorded_targets import Target

if TYPE_CHECKING:
    from bosh_aws_cpi.aws.sdk.clients import Clients


def deregister_addresses(
    clients: "Clients", instance: Instance, deregistered: Container[Target] = ()
) -> None:
    """Deregister the addresses that the VM's tags record; without any, there is no call to AWS.

    An address that stays registered would send traffic to the next VM that gets it. But if the VM does not
    have the address, as is the case once it is terminated, and another VM has recorded the same target, the
    target is that VM's.

    Args:
        clients: The AWS clients.
        instance: The VM, after TerminateInstances.
        deregistered: Targets that need no second attempt.

    Raises:
        CloudError: AWS refused, or did not answer; the message says how to repeat the attempt.
    """
    for target in recorded_targets.recorded(instance.tags):
        if not target.is_address or target in deregistered:
            continue
        if not _has(instance, target) and _is_of_another(clients, instance, target):
            why = "another VM has this address now"
            logger.info("Not deregistering %s from '%s': %s", target, target.group_arn, why)
            continue
        logger.info("Deregistering %s from '%s'", target, target.group_arn)
        try:
            load_balancers.remove_target(clients.elbv2, target)
        except FAILURES as error:
            raise CloudError(_still_registered(instance.vm_cid, target, error)) from error


def _has(instance: Instance, target: Target) -> bool:
    return any(target.target_id in nic.addresses for nic in instance.nics)


def _is_of_another(clients: "Clients", instance: Instance, target: Target) -> bool:
    found = instances.tagged(clients.ec2, recorded_targets.tags_of([target]))
    return any(each.vm_cid != instance.vm_cid and not each.is_gone for each in found)


def _still_registered(vm_cid: str, target: Target, error: Exception) -> str:
    said = explained(error) if isinstance(error, ClientError) else described(error)
    command = (
        f"aws elbv2 deregister-targets --target-group-arn {target.group_arn} "
        f"--targets Id={target.target_id},Port={target.port}"
    )
    return (
        f"VM '{vm_cid}' is terminated or shutting down, but its address {target} is still in target group "
        f"'{target.group_arn}': {said}. Repeat the deletion within an hour, or run: {command}"
    )
