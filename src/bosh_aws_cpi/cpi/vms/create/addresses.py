"""Private addresses that another interface still holds: waits for their release, and deletes strays."""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from bosh_aws_cpi.aws import instances, network_interfaces
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.errors import code_of, described, looked_up
from bosh_aws_cpi.errors import CloudError, VMNotFound
from bosh_aws_cpi.log import DEBUG, INFO, logger
from bosh_aws_cpi.model import Instance, Nic
from bosh_aws_cpi.plan.tags import AGENT_TAG, DIRECTOR_TAG
from bosh_aws_cpi.tag_names import VM_METADATA

if TYPE_CHECKING:
    from bosh_aws_cpi.cpi.cloud import Cloud

Created = TypeVar("Created")

_IN_USE = "InvalidIPAddress.InUse"
MAX_UNHELD = 22
"""Attempts, over about 20 seconds, while no interface is visible that holds the address."""
MAX_UNATTACHED = 7
"""Attempts, over about 5 seconds, while an unattached interface of unknown origin holds the address.

The interface may belong to an instance that is being terminated, and is then deleted with it.
"""
_SHOWN_IN_MINUTES = 120
"""From this number of minutes on, errors show a duration in hours."""
MAX_OF_ANOTHER_AGENT = 22
"""Attempts, over about 20 seconds, before another VM's unattached interface counts as a stray."""


class AddressTaken(CloudError):
    """Another interface holds the address, and keeps it."""


def claiming(
    cloud: "Cloud", agent_id: str, subnet_id: str, addresses: Sequence[str], create: Callable[[], Created]
) -> Created:
    """Take addresses as soon as they are free.

    Args:
        cloud: The call's cloud.
        agent_id: The agent of the VM that they are for.
        subnet_id: Their subnet.
        addresses: IPv4 and IPv6 addresses, or delegated prefixes.
        create: Takes them; it creates nothing when EC2 says that one is in use.

    Raises:
        AddressTaken: An interface holds one and keeps it, or the release takes too long.
    """
    holders = _Holders(cloud, agent_id, subnet_id)

    def attempt() -> Created:
        try:
            return create()
        except cloud.ec2.exceptions.ClientError as error:
            if code_of(error) != _IN_USE:
                raise
            holders.look(addresses, error)
            raise timing.NotYet(described(error)) from error

    what = f"{' and '.join(addresses) or 'an address'} in subnet '{subnet_id}' to be released"
    return timing.until(timing.ADDRESS_RELEASED, what, attempt, AddressTaken, is_repeatable=False)


class _Holders:
    """The holders of the addresses, attempt by attempt."""

    def __init__(self, cloud: "Cloud", agent_id: str, subnet_id: str) -> None:
        self._cloud = cloud
        self._agent_id = agent_id
        self._subnet_id = subnet_id
        self._looks: Counter[str] = Counter()

    def look(self, addresses: Sequence[str], error: Exception) -> None:
        """Find the holders of the addresses, and delete strays.

        Raises:
            AddressTaken: An interface keeps one, or no holder can be found.
        """
        ec2, subnet_id = self._cloud.ec2, self._subnet_id
        found = looked_up(
            f"who holds {' and '.join(addresses)}",
            lambda: {each: network_interfaces.holder(ec2, subnet_id, each) for each in addresses},
        )
        holders = {address: nic for address, nic in (found or {}).items() if nic is not None}
        for address, nic in holders.items():
            self._looks[nic.nic_id] += 1
            vm = self._vm_of(nic)
            if not (self._is_departing(nic, vm) or self._is_orphan_discarded(nic)):
                hint = _hint(vm, self._cloud.config.director_uuid)
                raise AddressTaken(f"{described(error)}: {_held(address, nic)}{hint}") from error
            level = INFO if self._looks[nic.nic_id] == 1 else DEBUG  # this may take minutes
            logger.log(level, "Address %s is still held by '%s', which is going away", address, nic.nic_id)
        if not holders:
            self._looks[""] += 1
        if self._looks[""] > MAX_UNHELD:
            why = (
                ": EC2 shows no network interface that has this address. "
                "Check the subnet's CIDR reservations, or use another address"
            )
            raise AddressTaken(described(error) + (why if found is not None else "")) from error

    def _vm_of(self, nic: Nic) -> Instance | None:
        """The instance of an interface; None when there is none, or it can't be looked up."""

        def find(vm_cid: str) -> Instance | None:
            with suppress(VMNotFound):
                return instances.find(self._cloud.ec2, vm_cid)
            return None

        return looked_up(f"instance '{nic.vm_cid}'", lambda: find(nic.vm_cid) if nic.vm_cid else None)

    def _is_departing(self, nic: Nic, vm: Instance | None) -> bool:
        if nic.vm_cid is None:
            return DIRECTOR_TAG not in nic.tags and self._looks[nic.nic_id] <= MAX_UNATTACHED
        return vm is None or vm.is_ending

    def _is_orphan_discarded(self, nic: Nic) -> bool:
        """Delete an interface that a call of the same Director created and could not delete.

        A Director gives an address to one VM at a time, so an unattached interface of this Director that
        holds the address is a stray. If it belongs to another VM, that VM may be about to be launched: it
        gets some time.
        """
        director = self._cloud.config.director_uuid
        if nic.vm_cid is not None or director is None or nic.tags.get(DIRECTOR_TAG) != director:
            return False
        is_own = nic.tags.get(AGENT_TAG, self._agent_id) == self._agent_id
        if not is_own and self._looks[nic.nic_id] <= MAX_OF_ANOTHER_AGENT:
            return True
        logger.warning("Network interface '%s' is a stray of an earlier call: deleting it", nic.nic_id)
        network_interfaces.delete_unattached(self._cloud.ec2, nic.nic_id)
        return True


def _held(address: str, nic: Nic) -> str:
    owner = f"of instance '{nic.vm_cid}'" if nic.vm_cid else "which no instance uses"
    return f"{address} is held by network interface '{nic.nic_id}' ({nic.status}) {owner}"


def _hint(vm: Instance | None, director: str | None) -> str:
    """What to do about an instance that this Director may not know; empty for all others.

    The Director has set_vm_metadata tag each VM right after create_vm.
    """
    if vm is None or director is None or vm.tags.get(DIRECTOR_TAG) != director:
        return ""
    if VM_METADATA & vm.tags.keys():
        return ""
    since = "" if vm.age is None else f", launched {_duration(vm.age)} ago,"
    return (
        f". This instance{since} lacks the tags of set_vm_metadata: an earlier call may have leaked it. "
        "If no task is creating it and `bosh vms` does not list it, delete it: "
        f"bin/cpi sweep --director {director} --delete --instance {vm.vm_cid}"
    )


def _duration(seconds: float) -> str:
    """A duration, in minutes or hours."""
    minutes = max(seconds, 0) / 60
    return f"{minutes:.0f} minutes" if minutes < _SHOWN_IN_MINUTES else f"{minutes / 60:.0f} hours"
