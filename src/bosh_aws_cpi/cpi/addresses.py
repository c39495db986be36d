"""Private addresses that somebody else still holds: departing holders are waited for, strays removed."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from bosh_aws_cpi.aws import instances, network_interfaces, timing
from bosh_aws_cpi.aws.errors import code_of, described
from bosh_aws_cpi.errors import CloudError, VMNotFound
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Nic
from bosh_aws_cpi.plan.tags import DIRECTOR_TAG

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

    from bosh_aws_cpi.cpi.cloud import Cloud

Made = TypeVar("Made")

_IN_USE = "InvalidIPAddress.InUse"
MAX_UNHELD = 16
"""Attempts, over about 20 seconds, at an address that nobody is seen to hold."""


class AddressTaken(CloudError):
    """The address belongs to somebody who stays."""


def claiming(cloud: "Cloud", subnet_id: str, addresses: Sequence[str], make: Callable[[], Made]) -> Made:
    """Take addresses as soon as they are free.

    Args:
        cloud: The call's cloud.
        subnet_id: Where the addresses are.
        addresses: IPv4 and IPv6 addresses, or delegated prefixes.
        make: Takes them; nothing is made when EC2 says that one is in use.

    Raises:
        AddressTaken: An interface that is not about to go holds one, or it takes too long.
    """
    unheld: list[str] = []

    def attempt() -> Made:
        try:
            return make()
        except cloud.ec2.exceptions.ClientError as error:
            if code_of(error) != _IN_USE:
                raise
            if not _is_held_by_departing(cloud, subnet_id, addresses, error):
                unheld.append(described(error))
            if len(unheld) > MAX_UNHELD:
                message = f"{unheld[-1]}: no interface is seen to hold it"
                raise AddressTaken(message) from error
            raise timing.NotYet(described(error)) from error

    what = f"{' and '.join(addresses) or 'an address'} in subnet '{subnet_id}' to be released"
    return timing.until(timing.ADDRESS_RELEASED, what, attempt, AddressTaken)


def _is_held_by_departing(cloud: "Cloud", subnet_id: str, addresses: Sequence[str], error: Exception) -> bool:
    """False when nobody is seen to hold the addresses, as for a moment after they were released."""
    is_held = False
    for address in addresses:
        holder = network_interfaces.holder(cloud.ec2, subnet_id, address)
        if holder is None:
            continue
        if not (_is_departing(cloud.ec2, holder) or _is_stray_removed(cloud, holder)):
            owner = f"of instance '{holder.vm_cid}'" if holder.vm_cid else "which no instance uses"
            message = (
                f"{described(error)}: {address} is held by network interface '{holder.nic_id}' "
                f"({holder.status}) {owner}"
            )
            raise AddressTaken(message) from error
        is_held = True
        logger.info("Address %s is still held by '%s', which is going away", address, holder.nic_id)
    return is_held


def _is_departing(client: "EC2Client", holder: Nic) -> bool:
    if holder.vm_cid is None:
        return False
    try:
        return instances.find(client, holder.vm_cid).is_ending
    except VMNotFound:
        return True


def _is_stray_removed(cloud: "Cloud", holder: Nic) -> bool:
    """Remove an interface that a call of the same Director made and could not remove.

    A Director gives an address to one VM at a time: an unattached interface of its own that
    holds it is left over.
    """
    director = cloud.config.director_uuid
    if holder.vm_cid is not None or director is None or holder.tags.get(DIRECTOR_TAG) != director:
        return False
    logger.warning("Network interface '%s' was left over by an earlier call: removing it", holder.nic_id)
    network_interfaces.delete_unattached(cloud.ec2, holder.nic_id)
    return True
