"""Private addresses that somebody else still holds: departing holders are waited for."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from bosh_aws_cpi.aws import instances, network_interfaces, timing
from bosh_aws_cpi.aws.errors import code_of, described
from bosh_aws_cpi.errors import CloudError, VMNotFound
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import AddressHolder, NicPlan

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

Made = TypeVar("Made")

_IN_USE = "InvalidIPAddress.InUse"
MAX_UNHELD = 10
"""Attempts, over about 20 seconds, at an address that nobody is seen to hold."""


class AddressTaken(CloudError):
    """The address belongs to somebody who stays."""


def claiming(client: "EC2Client", plan: NicPlan, make: Callable[[], Made]) -> Made:
    """Make something that takes an interface's address, as soon as the address is free.

    Args:
        client: The EC2 client.
        plan: The interface with its address.
        make: Makes it; nothing is made when EC2 says that the address is in use.

    Raises:
        AddressTaken: An interface that is not about to go holds it, or it takes too long.
    """
    unheld: list[str] = []

    def attempt() -> Made:
        try:
            return make()
        except client.exceptions.ClientError as error:
            if code_of(error) != _IN_USE:
                raise
            if not _is_held_by_departing(client, plan, error):
                unheld.append(described(error))
            if len(unheld) > MAX_UNHELD:
                message = f"{unheld[-1]}: no interface is seen to hold it; is it in a delegated prefix?"
                raise AddressTaken(message) from error
            raise timing.NotYet(described(error)) from error

    addresses = " and ".join(filter(None, (plan.ipv4_address, plan.ipv6_address))) or "an address"
    what = f"{addresses} in subnet '{plan.subnet_id}' to be released"
    return timing.until(timing.ADDRESS_RELEASED, what, attempt, AddressTaken)


def _is_held_by_departing(client: "EC2Client", plan: NicPlan, error: Exception) -> bool:
    """False when nobody is seen to hold the address, as for a moment after it was released."""
    is_held = False
    for address in filter(None, (plan.ipv4_address, plan.ipv6_address)):
        holder = network_interfaces.holder(client, plan.subnet_id, address)
        if holder is None:
            continue
        if not _is_departing(client, holder):
            owner = f"of instance '{holder.vm_cid}'" if holder.vm_cid else "which no instance uses"
            message = (
                f"{described(error)}: {address} is held by network interface '{holder.nic_id}' "
                f"({holder.status}) {owner}"
            )
            raise AddressTaken(message) from error
        is_held = True
        logger.info("Address %s is still held by '%s', which is going away", address, holder.nic_id)
    return is_held


def _is_departing(client: "EC2Client", holder: AddressHolder) -> bool:
    if holder.vm_cid is None:
        return False
    try:
        return instances.find(client, holder.vm_cid).is_ending
    except VMNotFound:
        return True
