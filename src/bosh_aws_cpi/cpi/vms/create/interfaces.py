"""The network interfaces that are created before the launch, because the agent's settings need their MACs."""

from functools import partial

from bosh_aws_cpi.aws import instances, network_interfaces
from bosh_aws_cpi.aws.sdk.error_codes import TOKEN_SPENT
from bosh_aws_cpi.aws.sdk.errors import described, has_code
from bosh_aws_cpi.aws.sdk.translation import translate
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.undo import Undo
from bosh_aws_cpi.cpi.vms.create.addresses import claiming
from bosh_aws_cpi.cpi.vms.create.launch_plan import LaunchPlan
from bosh_aws_cpi.errors import BoshError, CloudError, VMCreationFailed
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Nic, NicPlan
from bosh_aws_cpi.plan import nics
from bosh_aws_cpi.plan import tags as tag_plan
from bosh_aws_cpi.plan.tokens import client_token

MAX_GENERATIONS = 10
"""The maximum number of client tokens, and so of earlier calls' interfaces, for one nic group."""


def create_interfaces(cloud: Cloud, plan: LaunchPlan, undo: Undo) -> list[Nic]:
    """Create all interfaces of a VM, with their prefixes, and wait until they are usable.

    Raises:
        CloudError: One could not be created.
    """
    creation = _InterfaceCreation(cloud, plan, undo)
    return [creation.create(index, nic_plan) for index, nic_plan in enumerate(plan.nic_plans)]


def nic_failed(plan: NicPlan, why: BoshError) -> CloudError:
    """The error for an interface that could not be created, before the launch or by it."""
    message = f"Failed to create network interface for nic_group '{plan.group}': {why.message}"
    return VMCreationFailed(message, ok_to_retry=True) if why.ok_to_retry else CloudError(message)


class _InterfaceCreation:
    """Creates the interfaces of one VM, or finds those of an earlier, interrupted attempt."""

    def __init__(self, cloud: Cloud, plan: LaunchPlan, undo: Undo) -> None:
        self._cloud = cloud
        self._plan = plan
        self._undo = undo
        self._agent_id = plan.settings_input.agent_id
        self._created: set[str] = set()
        self._seen: set[str] = set()

    def create(self, index: int, nic_plan: NicPlan) -> Nic:
        """Create the interface for a device index.

        Raises:
            CloudError: It could not be created.
            VMCreationFailed: AWS was busy; retriable.
        """
        try:
            nic = self._usable(nic_plan)
            self._delegate_prefixes(nic_plan, nic)
            if index == 0 and self._plan.launch_spec.properties.auto_assign_public_ip:
                network_interfaces.request_public_ip(self._cloud.ec2, nic.nic_id)
        except Exception as error:
            typed = error if isinstance(error, BoshError) else translate(error, "create_vm")
            if typed is None:
                raise
            raise nic_failed(nic_plan, typed) from error
        return nic

    def _usable(self, nic_plan: NicPlan) -> Nic:
        arguments = {
            **nics.create_arguments(nic_plan, self._plan.group_ids),
            "Description": nics.description(self._cloud.config.director_uuid, self._agent_id),
            **tag_plan.specifications(self._plan.launch_spec.tags, "network-interface"),
        }
        ec2 = self._cloud.ec2
        is_alive = partial(instances.is_alive, ec2)
        for generation in range(MAX_GENERATIONS):
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
        message = f"{MAX_GENERATIONS} interfaces were already created for this VM, and none can be used"
        raise CloudError(message)

    def _create(self, nic_plan: NicPlan, arguments: Json) -> Nic | None:
        """CreateNetworkInterface, with its undo; None when the client token belongs to another request."""
        cloud = self._cloud

        def create() -> Nic:
            return self._undo.create(
                lambda: network_interfaces.create(cloud.ec2, arguments, lambda: self._unanswered(nic_plan)),
                lambda created: self._discard(created.nic_id),
            )

        try:
            return claiming(cloud, self._agent_id, nic_plan.subnet_id, nic_plan.addresses, create)
        except cloud.ec2.exceptions.ClientError as error:
            if has_code(error, TOKEN_SPENT):
                return None
            raise

    def _unanswered(self, nic_plan: NicPlan) -> Nic | None:
        """The interface whose creation was not answered."""
        wanted = set(nic_plan.addresses)
        return next((nic for nic in self._unattached(nic_plan) if wanted <= nic.addresses), None)

    def _discard_earlier(self, nic_plan: NicPlan) -> None:
        """Delete interfaces that an earlier call created for this VM with other arguments and did not use."""
        for nic in self._unattached(nic_plan):
            logger.warning("Network interface '%s' was created by an earlier call: deleting it", nic.nic_id)
            network_interfaces.delete_unattached(self._cloud.ec2, nic.nic_id)

    def _unattached(self, nic_plan: NicPlan) -> list[Nic]:
        tags = tag_plan.of_origin(*self._plan.identity)
        found = network_interfaces.of_agent(self._cloud.ec2, tags, nic_plan.subnet_id)
        return [nic for nic in found if nic.vm_cid is None and nic.nic_id not in self._created]

    def _discard(self, nic_id: str) -> None:
        """Delete an interface, unless an instance that this call did not launch uses it."""
        if holder := self._holder(nic_id):
            logger.error("Network interface '%s' is kept: instance '%s' uses it", nic_id, holder)
            return
        network_interfaces.discard(self._cloud.ec2, nic_id, was_seen=nic_id in self._seen)

    def _holder(self, nic_id: str) -> str | None:
        """The live instance that uses an interface; None if there is none, or if the lookup fails."""
        try:
            nic = network_interfaces.find(self._cloud.ec2, nic_id)
            if nic is not None and nic.vm_cid is not None and instances.is_alive(self._cloud.ec2, nic.vm_cid):
                return nic.vm_cid
        except Exception as error:  # noqa: BLE001 - deleting it is safe: EC2 refuses that for one in use
            logger.warning("Could not look up network interface '%s': %s", nic_id, described(error))
        return None

    def _delegate_prefixes(self, nic_plan: NicPlan, nic: Nic) -> None:
        for prefix in filter(None, (nic_plan.ipv4_prefix, nic_plan.ipv6_prefix)):
            delegate = partial(network_interfaces.delegate, self._cloud.ec2, nic, prefix)
            claiming(self._cloud, self._agent_id, nic_plan.subnet_id, [prefix], delegate)
