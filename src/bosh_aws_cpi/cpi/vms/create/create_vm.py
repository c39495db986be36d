"""create_vm: parse, gather, plan, apply. All checks run before anything is created."""

from functools import partial

from bosh_aws_cpi.aws import instances, network_interfaces
from bosh_aws_cpi.cpi.agent_registry import DisabledRegistry
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.encryption_keys import naming_keys
from bosh_aws_cpi.cpi.undo import Undo, run_with_undo
from bosh_aws_cpi.cpi.vms.create.gather import gather
from bosh_aws_cpi.cpi.vms.create.instance import InstanceCreation
from bosh_aws_cpi.cpi.vms.create.interfaces import create_interfaces
from bosh_aws_cpi.cpi.vms.create.parse import VmArguments, parse
from bosh_aws_cpi.cpi.vms.create.spread import prepare_group
from bosh_aws_cpi.cpi.vms.create.traffic import route_traffic
from bosh_aws_cpi.cpi.vms.create.vm_plan import VmPlan, plan_vm
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.model import Instance
from bosh_aws_cpi.plan import agent_settings
from bosh_aws_cpi.properties.types import Review, refuse


def create_vm(
    cloud: Cloud,
    agent_id: str,
    stemcell_cid: str,
    cloud_properties: Json,
    networks: Json,
    disk_cids: list[str],
    environment: Json | None,
) -> tuple[str, Json]:
    """Create a VM that runs and whose agent can boot (contract: create_vm).

    A retry with the same agent id finds the resources of the first call and completes the VM.

    Args:
        agent_id: The Director's id for the agent.
        stemcell_cid: The AMI, with or without " light".
        cloud_properties: See `VmProperties`.
        networks: See `Network`, by name.
        disk_cids: Disks that will be attached: they must be in the VM's zone.
        environment: Goes into the agent settings; ``bosh.tags`` become tags, ``bosh.group`` names the
            instance group for ``spread``.

    Returns:
        The VM's id, and the networks as the caller gave them; with ``zone_fallback``, with the subnet that
        the VM is in.

    Raises:
        CloudError: An argument is wrong, EC2 refused a step, or the registry did not accept the settings.
        VMCreationFailed: EC2 could not create the VM. In all cases nothing is left behind.
    """
    _check_registry(cloud)
    arguments = VmArguments(agent_id, stemcell_cid, cloud_properties, networks, disk_cids, environment)
    plan = _plan(cloud, arguments)
    return run_with_undo(cloud.undo, partial(_create, cloud, plan))


def _check_registry(cloud: Cloud) -> None:
    if not isinstance(cloud.registry, DisabledRegistry):
        return
    version = "v1" if cloud.api_version == 1 else f"v2 and stemcell api version {cloud.stemcell_api_version}"
    raise CloudError(f"Cannot create VM without registry with CPI {version}. Registry not configured.")


def _plan(cloud: Cloud, arguments: VmArguments) -> VmPlan:
    """The VM, checked and planned.

    Raises:
        CloudError: An argument is wrong, or contradicts another one or what is in the account.
    """
    review = Review()
    wanted = parse(cloud.config, arguments, review)
    refuse(review.problems)
    facts = gather(cloud, wanted)
    plan = plan_vm(cloud.config, wanted, facts, review, is_registry_used=cloud.registry.is_used)
    return review.accept(plan)


def _create(cloud: Cloud, plan: VmPlan, undo: Undo) -> tuple[str, Json]:
    created = create_interfaces(cloud, plan, undo) if plan.creates_nics_first else []
    if (group := plan.spread) is not None and not (group.exists or group.is_avoided):
        plan = plan.replace(options=prepare_group(cloud, group, plan.options))
    with naming_keys(*(text for option in plan.options for text in option.devices.key_texts)):
        instance, option = InstanceCreation(cloud, plan, created, undo).run()
    if created:
        network_interfaces.delete_on_termination(cloud.ec2, instance.nics)
    if not plan.properties.source_dest_check:
        _pass_foreign_traffic(cloud, instance)
    if plan.traffic is not None:
        route_traffic(cloud, plan.traffic, instance, undo)
    settings = agent_settings.full(plan.settings_input, option.devices, plan.mac_addresses(created))
    cloud.registry.save(instance.vm_cid, settings)
    return instance.vm_cid, plan.networks_in(option)


def _pass_foreign_traffic(cloud: Cloud, instance: Instance) -> None:
    if len(instance.nics) == 1:
        instances.disable_source_dest_check(cloud.ec2, instance.vm_cid)
        return
    for nic in instance.nics:
        network_interfaces.disable_source_dest_check(cloud.ec2, nic.nic_id)
