"""The network interfaces that are created before the launch, because the agent's settings need their MACs."""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

from bosh_aws_cpi.aws import instances, network_interfaces
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.errors import ADDRESS_TAKEN, TOKEN_SPENT, ask_or_warn, describe_error
from bosh_aws_cpi.aws.sdk.timing import Policy
from bosh_aws_cpi.aws.sdk.translation import translate
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.identity import client_token
from bosh_aws_cpi.cpi.undo import Undo
from bosh_aws_cpi.cpi.vms.create.vm_plan import VmPlan
from bosh_aws_cpi.errors import BoshError, CloudError, VMCreationFailed, VMNotFound
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import DEBUG, INFO, logger, pluralize
from bosh_aws_cpi.model import Instance, Nic, NicPlan
from bosh_aws_cpi.plan import nics, tag_plan
from bosh_aws_cpi.plan.tag_plan import AGENT_TAG, DIRECTOR_TAG
from bosh_aws_cpi.tag_names import VM_METADATA

Created = TypeVar("Created")

MAX_UNHELD = 5
"""Attempts, over about 20 seconds, while no interface is visible that holds the address."""
MAX_UNATTACHED = 2
"""Attempts, over about 8 seconds, while an unattached interface of unknown origin holds the address.

The interface may belong to an instance that is being terminated, and is then deleted with it.
"""
MAX_OF_ANOTHER_AGENT = 5
"""Attempts, over about 20 seconds, before another VM's unattached interface counts as a stray."""
MAX_NIC_GENERATIONS = 10
"""The maximum number of client tokens, and so of earlier calls' interfaces, for one nic group."""


class AddressTaken(CloudError):
    """Another interface holds the address, and keeps it."""


def _retry_until_free(
    cloud: Cloud, plan: VmPlan, subnet_id: str, addresses: Sequence[str], create: Callable[[], Created]
) -> Created:
    """Take addresses as soon as they are free.

    Args:
        create: Takes them; it creates nothing when EC2 says that one is in use.
    """
    wait = address_wait(timing.ADDRESS_RELEASED, cloud, plan, subnet_id, addresses)
    while True:
        try:
            return create()
        except cloud.ec2.exceptions.ClientError as error:
            if not ADDRESS_TAKEN(error):
                raise
            wait.pause(error)


def address_wait(
    policy: Policy, cloud: Cloud, plan: VmPlan, subnet_id: str, addresses: Sequence[str]
) -> timing.Wait:
    """The wait until other interfaces release addresses.

    Args:
        plan: The VM that they are for.
        subnet_id: Their subnet.
        addresses: IPv4 and IPv6 addresses, or delegated prefixes.

    Raises:
        AddressTaken: At a pause: an interface holds one and keeps it, or the release takes too long.
    """
    what = f"{' and '.join(addresses) or 'an address'} in subnet '{subnet_id}' to be released"
    return timing.Wait(policy, what, AddressTaken, _Holders(cloud, plan, subnet_id, addresses).look)


class _Holders:
    """Finds the holders of the addresses, once per attempt."""

    def __init__(self, cloud: Cloud, plan: VmPlan, subnet_id: str, addresses: Sequence[str]) -> None:
        self._cloud = cloud
        self._director, self._agent_id = plan.identity
        self._subnet_id = subnet_id
        self._addresses = addresses
        self._looks: Counter[str] = Counter()

    def look(self, error: BaseException) -> str:
        """Find the holders of the addresses, and delete strays; returns what EC2 says.

        Raises:
            AddressTaken: An interface keeps one, or no holder can be found.
        """
        ec2, subnet_id, addresses = self._cloud.ec2, self._subnet_id, self._addresses
        interfaces = ask_or_warn(
            f"who holds {' and '.join(addresses)}",
            lambda: {each: network_interfaces.find_holder(ec2, subnet_id, each) for each in addresses},
        )
        holders = {address: nic for address, nic in (interfaces or {}).items() if nic is not None}
        for address, nic in holders.items():
            self._looks[nic.nic_id] += 1
            vm = self._vm_of(nic)
            if not (self._is_departing(nic, vm) or self._discard_orphan(nic)):
                owner = f"of instance '{nic.vm_cid}'" if nic.vm_cid else "which no instance uses"
                held = f"{address} is held by network interface '{nic.nic_id}' ({nic.status}) {owner}"
                hint = _hint(vm, self._director)
                raise AddressTaken(f"{describe_error(error)}: {held}{hint}") from error
            level = INFO if self._looks[nic.nic_id] == 1 else DEBUG  # this may take minutes
            logger.log(level, "Address %s is still held by '%s', which is going away", address, nic.nic_id)
        if not holders:
            self._looks[""] += 1
        if self._looks[""] > MAX_UNHELD:
            why = (
                ": EC2 shows no network interface that has this address. "
                "Check the subnet's CIDR reservations, or use another address"
            )
            raise AddressTaken(describe_error(error) + (why if interfaces is not None else "")) from error
        return describe_error(error)

    def _vm_of(self, nic: Nic) -> Instance | None:
        """The instance of an interface; None when there is none, or it can't be looked up."""

        def find(vm_cid: str) -> Instance | None:
            with suppress(VMNotFound):
                return instances.find(self._cloud.ec2, vm_cid)
            return None

        return ask_or_warn(f"instance '{nic.vm_cid}'", lambda: find(nic.vm_cid) if nic.vm_cid else None)

    def _is_departing(self, nic: Nic, vm: Instance | None) -> bool:
        if nic.vm_cid is None:
            return DIRECTOR_TAG not in nic.tags and self._looks[nic.nic_id] <= MAX_UNATTACHED
        return vm is None or vm.is_ending

    def _discard_orphan(self, nic: Nic) -> bool:
        """Delete an interface that a call of the same Director created and could not delete.

        A Director gives an address to one VM at a time, so an unattached interface of this Director that
        holds the address is a stray. If it belongs to another VM, that VM may be about to be launched: it
        gets some time.
        """
        if nic.vm_cid is not None or not self._director or nic.tags.get(DIRECTOR_TAG) != self._director:
            return False
        is_own = nic.tags.get(AGENT_TAG, self._agent_id) == self._agent_id
        if not is_own and self._looks[nic.nic_id] <= MAX_OF_ANOTHER_AGENT:
            return True
        logger.warning("Network interface '%s' is a stray of an earlier call: deleting it", nic.nic_id)
        network_interfaces.delete_unattached(self._cloud.ec2, nic.nic_id)
        return True


def _hint(vm: Instance | None, director: str) -> str:
    """Return what to do about an instance that this Director may not know; empty for all others.

    The Director has set_vm_metadata tag each VM right after create_vm.
    """
    if vm is None or not director or vm.tags.get(DIRECTOR_TAG) != director:
        return ""
    if VM_METADATA & vm.tags.keys():
        return ""
    since = "" if vm.age is None else f", launched {pluralize(max(vm.age, 0) / 60, 'minute')} ago,"
    return (
        f". This instance{since} lacks the tags of set_vm_metadata: an earlier call may have leaked it. "
        "If no task is creating it and `bosh vms` does not list it, delete it: "
        f"bin/cpi sweep --director {director} --delete --instance {vm.vm_cid}"
    )


def create_interfaces(cloud: Cloud, plan: VmPlan, undo: Undo) -> list[Nic]:
    """Create all interfaces of a VM, with their prefixes, and wait until they are usable.

    Raises:
        CloudError: One could not be created.
    """
    creation = _InterfaceCreation(cloud, plan, undo)
    return [creation.create(index, nic_plan) for index, nic_plan in enumerate(plan.nic_plans)]


def nic_error(plan: NicPlan, why: BoshError) -> CloudError:
    """Return the error for an interface that neither the CPI nor RunInstances could create."""
    message = f"Failed to create network interface for nic_group '{plan.group}': {why.message}"
    return VMCreationFailed(message, ok_to_retry=True) if why.ok_to_retry else CloudError(message)


class _InterfaceCreation:
    """Creates the interfaces of one VM, or finds those of an earlier, interrupted attempt."""

    def __init__(self, cloud: Cloud, plan: VmPlan, undo: Undo) -> None:
        self._cloud = cloud
        self._plan = plan
        self._undo = undo
        self._created: set[str] = set()
        self._seen: set[str] = set()

    def create(self, index: int, nic_plan: NicPlan) -> Nic:
        """Create the interface for a device index.

        Raises:
            CloudError: It could not be created.
            VMCreationFailed: AWS was busy; retriable.
        """
        try:
            nic = self._create_usable(nic_plan)
            self._delegate_prefixes(nic_plan, nic)
            if index == 0 and self._plan.properties.auto_assign_public_ip:
                network_interfaces.request_public_ip(self._cloud.ec2, nic.nic_id)
        except Exception as error:
            typed = error if isinstance(error, BoshError) else translate(error, "create_vm")
            if typed is None:
                raise
            raise nic_error(nic_plan, typed) from error
        return nic

    def _create_usable(self, nic_plan: NicPlan) -> Nic:
        arguments = {
            **nics.create_arguments(nic_plan, self._plan.group_ids),
            "Description": nics.description(*self._plan.identity),
            **tag_plan.specifications(self._plan.tags, "network-interface"),
        }
        ec2 = self._cloud.ec2
        is_alive = partial(instances.is_alive, ec2)
        for generation in range(MAX_NIC_GENERATIONS):
            token = client_token("interface", *self._plan.identity, nic_plan.group, generation)
            nic = self._create(nic_plan, {**arguments, "ClientToken": token})
            if nic is None:
                self._discard_earlier(nic_plan)
                continue
            try:
                usable = network_interfaces.wait_until_usable(ec2, nic.nic_id, is_alive)
            except network_interfaces.NicGone as gone:
                logger.info(
                    "Network interface '%s' of an earlier call is gone: creating another one", nic.nic_id
                )
                if gone.was_seen:
                    self._seen.add(nic.nic_id)
                network_interfaces.discard(ec2, nic.nic_id, was_seen=gone.was_seen)
            else:
                self._seen.add(nic.nic_id)
                self._created.add(nic.nic_id)
                return usable
        message = f"{MAX_NIC_GENERATIONS} interfaces were already created for this VM, and none can be used"
        raise CloudError(message)

    def _create(self, nic_plan: NicPlan, arguments: Json) -> Nic | None:
        """CreateNetworkInterface, with its undo; None when the client token belongs to another request."""
        cloud = self._cloud

        def create() -> Nic:
            return self._undo.create(
                lambda: network_interfaces.create(
                    cloud.ec2, arguments, lambda: self._find_unanswered(nic_plan)
                ),
                lambda created: self._discard(created.nic_id),
            )

        try:
            return _retry_until_free(cloud, self._plan, nic_plan.subnet_id, nic_plan.addresses, create)
        except cloud.ec2.exceptions.ClientError as error:
            if TOKEN_SPENT(error):
                return None
            raise

    def _find_unanswered(self, nic_plan: NicPlan) -> Nic | None:
        """Find the interface of a CreateNetworkInterface call whose answer was lost."""
        wanted = set(nic_plan.addresses)
        return next((nic for nic in self._find_unattached(nic_plan) if wanted.issubset(nic.addresses)), None)

    def _discard_earlier(self, nic_plan: NicPlan) -> None:
        """Delete interfaces that an earlier call created for this VM with other arguments and did not use."""
        for nic in self._find_unattached(nic_plan):
            logger.warning("Network interface '%s' was created by an earlier call: deleting it", nic.nic_id)
            network_interfaces.delete_unattached(self._cloud.ec2, nic.nic_id)

    def _find_unattached(self, nic_plan: NicPlan) -> list[Nic]:
        tags = tag_plan.of_origin(*self._plan.identity)
        own_nics = network_interfaces.find_by_agent(self._cloud.ec2, tags, nic_plan.subnet_id)
        return [nic for nic in own_nics if nic.vm_cid is None and nic.nic_id not in self._created]

    def _discard(self, nic_id: str) -> None:
        """Delete an interface, unless an instance that this call did not launch uses it."""
        # If the lookup fails, deleting it is safe: EC2 refuses that for one in use.
        if holder := ask_or_warn(f"network interface '{nic_id}'", lambda: self._find_holder(nic_id)):
            logger.error("Network interface '%s' is kept: instance '%s' uses it", nic_id, holder)
            return
        network_interfaces.discard(self._cloud.ec2, nic_id, was_seen=nic_id in self._seen)

    def _find_holder(self, nic_id: str) -> str | None:
        """The live instance that uses an interface; None if there is none."""
        nic = network_interfaces.find(self._cloud.ec2, nic_id)
        is_used = nic is not None and nic.vm_cid and instances.is_alive(self._cloud.ec2, nic.vm_cid)
        return nic.vm_cid if nic is not None and is_used else None

    def _delegate_prefixes(self, nic_plan: NicPlan, nic: Nic) -> None:
        for prefix in filter(None, (nic_plan.ipv4_prefix, nic_plan.ipv6_prefix)):
            delegate = partial(network_interfaces.delegate_prefix, self._cloud.ec2, nic, prefix)
            _retry_until_free(self._cloud, self._plan, nic_plan.subnet_id, [prefix], delegate)
