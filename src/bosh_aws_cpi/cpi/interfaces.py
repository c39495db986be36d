"""The network interfaces that are made before the launch: their MACs belong into the agent's settings."""

from functools import partial

from bosh_aws_cpi.aws import instances, network_interfaces
from bosh_aws_cpi.aws.errors import TOKEN_SPENT, has_code, translate
from bosh_aws_cpi.cpi.addresses import claiming
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.launch_plan import LaunchPlan
from bosh_aws_cpi.cpi.undo import Undo
from bosh_aws_cpi.errors import BoshError, CloudError, VMNotFound
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Json, Nic, NicPlan
from bosh_aws_cpi.plan import nics
from bosh_aws_cpi.plan import tags as tag_plan
from bosh_aws_cpi.plan.tokens import client_token

MAX_GENERATIONS = 10
"""Interfaces of earlier calls that may stand behind the client tokens of one group."""


def make_interfaces(cloud: Cloud, plan: LaunchPlan, undo: Undo) -> list[Nic]:
    """Make all interfaces of a VM, usable and with their prefixes.

    Raises:
        CloudError: One could not be made.
    """
    made = []
    for index, nic_plan in enumerate(plan.nic_plans):
        try:
            nic = _make(cloud, plan, nic_plan, undo)
            _delegate_prefixes(cloud, nic_plan, nic)
            if index == 0 and plan.blueprint.properties.auto_assign_public_ip:
                network_interfaces.make_public(cloud.ec2, nic.nic_id)
        except Exception as error:
            typed = error if isinstance(error, BoshError) else translate(error)
            if typed is None:
                raise
            raise nic_failed(nic_plan, typed.message) from error
        made.append(nic)
    return made


def nic_failed(plan: NicPlan, reason: str) -> CloudError:
    """The error for an interface that could not be made, before or in the launch."""
    return CloudError(f"Failed to create network interface for nic_group '{plan.group}': {reason}")


def _make(cloud: Cloud, plan: LaunchPlan, nic_plan: NicPlan, undo: Undo) -> Nic:
    """Make an interface, or find the one that the same create_vm made before it was cut off."""
    arguments = {
        **nics.create_arguments(nic_plan, plan.group_ids),
        **tag_plan.specifications(plan.blueprint.tags, "network-interface"),
    }
    is_launched = partial(_is_alive, cloud)
    for generation in range(MAX_GENERATIONS):
        token = client_token("interface", *plan.identity, nic_plan.group, generation)
        seen: set[str] = set()
        nic = _create(cloud, nic_plan, {**arguments, "ClientToken": token}, undo, seen)
        if nic is None:
            logger.info("An earlier call made the interface of '%s' in another way", nic_plan.group)
            continue
        try:
            usable = network_interfaces.wait_until_usable(cloud.ec2, nic.nic_id, is_launched)
        except network_interfaces.NicGone:
            logger.info("Network interface '%s' of an earlier call is gone: making another", nic.nic_id)
            seen.add(nic.nic_id)
            network_interfaces.discard(cloud.ec2, nic.nic_id, was_seen=True)
        else:
            seen.add(nic.nic_id)
            return usable
    message = f"{MAX_GENERATIONS} interfaces were made and removed for this VM before"
    raise CloudError(message)


def _create(cloud: Cloud, nic_plan: NicPlan, arguments: Json, undo: Undo, seen: set[str]) -> Nic | None:
    """CreateNetworkInterface under undo; None when the client token stands for another request."""

    def create() -> Nic:
        return undo.make(
            lambda: network_interfaces.create(cloud.ec2, arguments),
            lambda made: network_interfaces.discard(cloud.ec2, made.nic_id, was_seen=made.nic_id in seen),
        )

    try:
        return claiming(cloud, nic_plan.subnet_id, nic_plan.addresses, create)
    except cloud.ec2.exceptions.ClientError as error:
        if has_code(error, TOKEN_SPENT):
            return None
        raise


def _delegate_prefixes(cloud: Cloud, nic_plan: NicPlan, nic: Nic) -> None:
    for prefix in filter(None, (nic_plan.ipv4_prefix, nic_plan.ipv6_prefix)):
        claiming(
            cloud,
            nic_plan.subnet_id,
            [prefix],
            partial(network_interfaces.delegate, cloud.ec2, nic, prefix),
        )


def _is_alive(cloud: Cloud, vm_cid: str) -> bool:
    try:
        return not instances.find(cloud.ec2, vm_cid).is_ending
    except VMNotFound:
        return False
