"""Which targets that a VM's tags record are certainly its own.

Anybody who may tag the VM can write such a record. So a target counts as the VM's only if EC2 confirms it, and the
VM that is deleted can't take another one out of its target group.
"""

from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING

from bosh_aws_cpi.aws import load_balancers, network_interfaces, subnets
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Instance
from bosh_aws_cpi.recorded_targets import Target

if TYPE_CHECKING:
    from bosh_aws_cpi.aws.sdk.clients import Clients


def is_own(clients: "Clients", instance: Instance, target: Target) -> bool:
    """Whether a recorded target is the VM's own; if not, the log says why, and how to remove it.

    It is if it is the VM's id, or an address of its interfaces in the target group's VPC. EC2 no longer shows the
    interfaces of a terminated VM: then no other interface may have the address, which must be one of the VPC.

    Args:
        clients: The AWS clients.
        instance: The VM, as it was before its termination if possible.
        target: A target that its tags record.

    Raises:
        ClientError: AWS refused to answer.
    """
    if target.target_id == instance.vm_cid:
        return True
    if not target.is_address:
        return _is_foreign(target, "it is another instance")
    vpc_id = load_balancers.vpc_of(clients.elbv2, target.group_arn)
    if vpc_id is None:
        logger.info("Target group '%s' is gone", target.group_arn)
        return False
    if instance.vpc_id not in {None, vpc_id}:
        return _is_foreign(target, f"the group is in VPC '{vpc_id}', but the VM is in '{instance.vpc_id}'")
    if not instance.nics:
        return _is_free(clients, instance, target, vpc_id)
    if any(target.target_id in nic.addresses for nic in instance.nics):
        return True
    return _is_foreign(target, f"VM '{instance.vm_cid}' does not have this address")


def _is_free(clients: "Clients", instance: Instance, target: Target, vpc_id: str) -> bool:
    """Whether an address of a VPC belongs to no interface but the VM's, which may still be there."""
    address = ip_address(target.target_id)
    for subnet in subnets.of_vpc(clients.ec2, vpc_id):
        if any(address in ip_network(each) for each in (subnet.range, *subnet.ipv6_ranges) if each):
            holder = network_interfaces.holder(clients.ec2, subnet.subnet_id, target.target_id)
            if holder is None or holder.vm_cid == instance.vm_cid:
                return True
            return _is_foreign(target, f"network interface '{holder}' has this address now")
    return _is_foreign(target, f"VPC '{vpc_id}' has no such address")


def _is_foreign(target: Target, why: str) -> bool:
    logger.warning(
        "Not deregistering %s from '%s': %s. If nobody needs this target, run: %s",
        *(target, target.group_arn, why, target.removal),
        is_whole=True,
    )
    return False
