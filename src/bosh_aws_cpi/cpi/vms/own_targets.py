"""Which targets that a VM's tags record are certainly its own.

Anybody who may tag the VM can write such a record. So EC2 must confirm that it is about this VM: its deletion
must never take another VM out of a target group.
"""

from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING

from bosh_aws_cpi.aws import load_balancers, network_interfaces, subnets
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Instance, Nic
from bosh_aws_cpi.plan.nics import description
from bosh_aws_cpi.plan.tags import AGENT_TAG, DIRECTOR_TAG
from bosh_aws_cpi.recorded_targets import Target

if TYPE_CHECKING:
    from bosh_aws_cpi.aws.sdk.clients import Clients


def is_own(clients: "Clients", instance: Instance, target: Target) -> bool:
    """Whether a recorded target is certainly the VM's own; if not, the log says why, and how to remove it.

    Args:
        clients: The AWS clients.
        instance: The VM, as it was before its termination if possible.
        target: A target that its tags record.

    Raises:
        ClientError: AWS refused to answer.
    """
    if target.target_id == instance.vm_cid:
        return True
    why_not = _doubt(clients, instance, target)
    if why_not:
        logger.warning(
            "Not deregistering %s from '%s': %s. If nobody needs this target, run: %s",
            *(target, target.group_arn, why_not, target.removal),
            is_whole=True,
        )
    return why_not is None


def _doubt(clients: "Clients", instance: Instance, target: Target) -> str | None:
    """Why a target may not be the VM's own; None for an address of its interfaces, in the group's VPC."""
    if not target.is_address:
        return "it is another instance"
    vpc_id = load_balancers.vpc_of(clients.elbv2, target.group_arn)
    if vpc_id is None or instance.vpc_id not in {None, vpc_id}:
        return "the VM's VPC has no such target group"
    if any(target.target_id in nic.addresses for nic in instance.nics):
        return None
    if instance.nics and not instance.is_ending:  # an instance that ends loses one interface after the other
        return "the VM does not have this address"
    return _doubt_about_terminated(clients, instance, target, vpc_id)


def _doubt_about_terminated(
    clients: "Clients", instance: Instance, target: Target, vpc_id: str
) -> str | None:
    """The same for a VM of which EC2 may not show all interfaces: no other instance may have the address."""
    try:
        address = ip_address(target.target_id)
    except ValueError:
        return "it is no address"
    for subnet in subnets.of_vpc(clients.ec2, vpc_id):
        if any(address in ip_network(each) for each in (subnet.range, *subnet.ipv6_ranges) if each):
            nic = network_interfaces.holder(clients.ec2, subnet.subnet_id, target.target_id)
            if nic is None or nic.vm_cid == instance.vm_cid or _was_its(instance, nic):
                return None
            return f"network interface '{nic}' has this address now"
    return f"no subnet of VPC '{vpc_id}' has this address"


def _was_its(instance: Instance, nic: Nic) -> bool:
    """Whether an interface that no instance has was created for a VM: its description says so."""
    director, agent = (instance.tags.get(key) for key in (DIRECTOR_TAG, AGENT_TAG))
    return nic.vm_cid is None and agent is not None and nic.description == description(director, agent)
