"""Deregisters a VM's addresses from target groups after TerminateInstances: ELB does not do it."""

from collections.abc import Container
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from bosh_aws_cpi import recorded_targets
from bosh_aws_cpi.aws import load_balancers
from bosh_aws_cpi.aws.sdk.errors import FAILURES, described, is_transient
from bosh_aws_cpi.aws.sdk.translation import explained
from bosh_aws_cpi.cpi.vms.own_targets import is_own
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

    An address that stays registered would send traffic to the next VM that gets it. But a target that is not
    certainly the VM's own stays.

    Args:
        clients: The AWS clients.
        instance: The VM, after TerminateInstances.
        deregistered: Targets that need no attempt.

    Raises:
        CloudError: AWS refused, or did not answer; the message says how to repeat the attempt.
    """
    for target in recorded_targets.recorded(instance.tags):
        if not target.is_address or target in deregistered:
            continue
        try:
            if is_own(clients, instance, target):
                logger.info("Deregistering %s from '%s'", target, target.group_arn)
                load_balancers.remove_target(clients.elbv2, target)
        except FAILURES as error:
            message = _still_registered(instance.vm_cid, target, error)
            raise CloudError(message, ok_to_retry=is_transient(error)) from error


def _still_registered(vm_cid: str, target: Target, error: Exception) -> str:
    said = explained(error) if isinstance(error, ClientError) else described(error)
    return (
        f"VM '{vm_cid}' is terminated or shutting down, but its address {target} is still in target group "
        f"'{target.group_arn}': {said}. Repeat the deletion within an hour, or run: {target.removal}"
    )
