"""create_vm's effects: interfaces, instance, registry document; all under undo."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bosh_aws_cpi.aws import instances, network_interfaces
from bosh_aws_cpi.aws.cleanup import in_turn
from bosh_aws_cpi.aws.errors import translate
from bosh_aws_cpi.cpi.addresses import AddressTaken, claiming
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.undo import Undo, undoing
from bosh_aws_cpi.errors import BoshError, CloudError
from bosh_aws_cpi.model import Instance, Json, Nic, NicPlan
from bosh_aws_cpi.plan import agent_settings, nics, run_instances
from bosh_aws_cpi.plan import tags as tag_plan
from bosh_aws_cpi.plan.agent_settings import VmFacts
from bosh_aws_cpi.properties import VmProperties


@dataclass(frozen=True)
class Launch:
    """A VM that was checked and planned and is to be made."""

    ami_id: str
    properties: VmProperties
    facts: VmFacts
    nic_plans: Sequence[NicPlan]
    nics_first: bool
    """Whether the interfaces are made before the instance; else there is one, made with it."""
    group_ids: Sequence[str]
    zone: str
    metadata_options: Json
    """EC2's instance metadata options, in snake case."""
    tags: Mapping[str, str]


def launch(cloud: Cloud, plan: Launch) -> str:
    """Make the VM and wait until it runs; whatever fails, nothing is left.

    Returns:
        The VM's id.

    Raises:
        CloudError: An interface could not be made, or the registry did not take the settings.
        VMCreationFailed: EC2 did not make the instance run.
    """
    return undoing(lambda undo: _launch(cloud, plan, undo))


def _launch(cloud: Cloud, plan: Launch, undo: Undo) -> str:
    made = _make_nics(cloud, plan, undo) if plan.nics_first else []
    macs = nics.mac_addresses(plan.nic_plans, [nic.mac_address for nic in made])
    arguments = _run_arguments(cloud, plan, made, macs)
    vm_cid = _run(cloud, plan, arguments, undo).vm_cid
    running = instances.wait_until_running(cloud.ec2, vm_cid, [nic.nic_id for nic in made])
    attachments = [(nic.nic_id, running.nic_attachments[nic.nic_id]) for nic in made]
    network_interfaces.delete_on_termination(cloud.ec2, attachments)
    cloud.registry.save(vm_cid, agent_settings.full(plan.facts, macs))
    return vm_cid


def _run(cloud: Cloud, plan: Launch, arguments: Json, undo: Undo) -> Instance:
    def run() -> Instance:
        return undo.make(
            lambda: instances.run(cloud.ec2, arguments),
            lambda made: _discard(cloud, made.vm_cid),
        )

    if plan.nics_first:
        return run()
    nic_plan = plan.nic_plans[0]
    try:
        return claiming(cloud.ec2, nic_plan, run)
    except AddressTaken as error:
        raise _nic_failed(nic_plan, error.message) from error


def _discard(cloud: Cloud, vm_cid: str) -> None:
    """Remove the instance and its settings: the registry may have taken some whose answer was lost."""
    in_turn(lambda: instances.discard(cloud.ec2, vm_cid), lambda: cloud.registry.delete(vm_cid))


def _make_nics(cloud: Cloud, plan: Launch, undo: Undo) -> list[Nic]:
    """Make the interfaces first: their MACs belong into the settings that the VM boots from."""
    return [_make_nic(cloud, plan, nic_plan, undo) for nic_plan in plan.nic_plans]


def _make_nic(cloud: Cloud, plan: Launch, nic_plan: NicPlan, undo: Undo) -> Nic:
    arguments = {
        **nics.create_arguments(nic_plan, plan.group_ids),
        **tag_plan.specifications(plan.tags, "network-interface"),
    }

    seen: set[str] = set()

    def create() -> Nic:
        return undo.make(
            lambda: network_interfaces.create(cloud.ec2, arguments),
            lambda made: network_interfaces.discard(cloud.ec2, made, was_seen=made.nic_id in seen),
        )

    try:
        nic = claiming(cloud.ec2, nic_plan, create)
        network_interfaces.wait_until_available(cloud.ec2, nic.nic_id)
        seen.add(nic.nic_id)
    except Exception as error:
        typed = error if isinstance(error, BoshError) else translate(error)
        if typed is None:
            raise
        raise _nic_failed(nic_plan, typed.message) from error
    return nic


def _nic_failed(plan: NicPlan, reason: str) -> CloudError:
    return CloudError(f"Failed to create network interface for nic_group '{plan.group}': {reason}")


def _run_arguments(cloud: Cloud, plan: Launch, made: Sequence[Nic], macs: Mapping[str, str]) -> Json:
    aws = cloud.config.aws
    if made:
        interfaces = [nics.attached_specification(index, nic.nic_id) for index, nic in enumerate(made)]
    else:
        interfaces = [nics.inline_specification(plan.nic_plans[0], plan.group_ids)]
    return run_instances.arguments(
        ami_id=plan.ami_id,
        properties=plan.properties,
        defaults={
            "key_name": aws.default_key_name,
            "iam_instance_profile": aws.default_iam_instance_profile,
        },
        metadata_options=plan.metadata_options,
        devices=plan.facts.devices,
        interfaces=interfaces,
        tags=plan.tags,
        user_data=agent_settings.user_data(plan.facts, macs, is_registry_used=cloud.registry.is_used),
        zone=plan.zone,
    )
