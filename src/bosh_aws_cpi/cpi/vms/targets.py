"""Deregisters a terminated VM's addresses from target groups; ELB does this only for instances."""

from collections.abc import Container
from typing import TYPE_CHECKING

from bosh_aws_cpi import targets
from bosh_aws_cpi.aws import instances, load_balancers
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Instance
from bosh_aws_cpi.targets import Target

if TYPE_CHECKING:
    from bosh_aws_cpi.aws.sdk.clients import Clients


def leave(clients: "Clients", instance: Instance, left: Container[Target] = ()) -> None:
    """Deregister the addresses that the VM's tags record; without any, there is no call to AWS.

    An address that stays registered would send traffic to the next VM that gets it. A terminated VM no longer
    holds its address: if another VM has recorded the same target since, the target is that VM's.

    Args:
        clients: The AWS clients.
        instance: The VM, after TerminateInstances.
        left: Targets that are deregistered already.
    """
    for target in targets.recorded(instance.tags):
        if not target.is_address or target in left:
            continue
        if instance.is_gone and _is_of_another(clients, instance, target):
            logger.info("Another VM has %s in '%s': it stays", target, target.group_arn)
            continue
        logger.info("Deregistering %s from '%s'", target, target.group_arn)
        load_balancers.remove_target(clients.elbv2, target)


def _is_of_another(clients: "Clients", instance: Instance, target: Target) -> bool:
    found = instances.tagged(clients.ec2, targets.tags_of([target]))
    return any(each.vm_cid != instance.vm_cid and not each.is_gone for each in found)
