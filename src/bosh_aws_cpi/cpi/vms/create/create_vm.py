"""create_vm: parse, gather, plan, apply. All checks run before anything is created."""

from typing import TYPE_CHECKING

from bosh_aws_cpi.aws import instances, network_interfaces
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.encryption_keys import naming_keys
from bosh_aws_cpi.cpi.undo import Undo, undoing
from bosh_aws_cpi.cpi.vms.create import gather
from bosh_aws_cpi.cpi.vms.create.instance import InstanceCreation
from bosh_aws_cpi.cpi.vms.create.interfaces import create_interfaces
from bosh_aws_cpi.cpi.vms.create.launch_plan import LaunchPlan
from bosh_aws_cpi.cpi.vms.create.parse import VmRequest, parse
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.model import Image, Instance
from bosh_aws_cpi.plan import agent_settings, nics
from bosh_aws_cpi.plan.agent_settings import AgentSettingsInput
from bosh_aws_cpi.plan.launch_options import in_subnets
from bosh_aws_cpi.plan.run_instances import LaunchSpec
from bosh_aws_cpi.records import Record

if TYPE_CHECKING:
    from bosh_aws_cpi.cpi.vms.create.traffic import Traffic
    from bosh_aws_cpi.plan.spread import SpreadGroup


class CreatedVm(Record):
    """The result of create_vm, which each contract version returns in its own form."""

    vm_cid: str
    networks: Json
    """The networks as the caller gave them."""


def create_vm(
    cloud: Cloud,
    agent_id: str,
    stemcell_cid: str,
    cloud_properties: Json,
    networks: Json,
    disk_cids: list[str],
    environment: Json | None,
) -> CreatedVm:
    """Create a VM that runs and whose agent can boot (contract: create_vm).

    A retry with the same agent id finds the resources of the first call and completes the VM.

    Args:
        cloud: The call's cloud.
        agent_id: The Director's id for the agent.
        stemcell_cid: The AMI, with or without " light".
        cloud_properties: See `VmProperties`.
        networks: See `Network`, by name.
        disk_cids: Disks that will be attached: they must be in the VM's zone.
        environment: Goes into the agent settings; ``bosh.tags`` become tags, ``bosh.group`` names the
            instance group for ``spread``.

    Returns:
        The VM's id and the networks as they were given.

    Raises:
        CloudError: An argument is wrong; nothing was created.
        VMCreationFailed: EC2 could not create the VM; nothing is left behind.
    """
    _check_registry(cloud)
    request = parse(cloud, agent_id, cloud_properties, networks, environment)
    image = gather.image(cloud, stemcell_cid)
    options = gather.options(cloud, request, image)
    place = gather.place(cloud, request, disk_cids)
    spread = _spread_group(cloud, environment) if request.properties.spread else None
    plan = LaunchPlan(
        launch_spec=_launch_spec(cloud, request, image, place.zone, spread),
        settings_input=AgentSettingsInput(
            agent_id=agent_id,
            networks=networks,
            environment=environment,
            agent=cloud.config.agent,
            registry_endpoint=cloud.config.registry.endpoint if cloud.config.registry else None,
            root_device_name=image.root_device_name,
        ),
        options=in_subnets(options, place.subnets),
        nic_plans=request.nic_plans,
        creates_nics_first=request.creates_nics_first,
        group_ids=gather.group_ids(cloud, request.groups, place.vpc_id),
        traffic=_traffic(cloud, request, place.vpc_id) if request.gets_traffic else None,
        director_uuid=cloud.config.director_uuid,
    )
    _check_size(plan, is_registry_used=cloud.registry.is_used)
    return CreatedVm(launch(cloud, plan), networks)


def _check_registry(cloud: Cloud) -> None:
    if cloud.registry.is_there:
        return
    version = "v1" if cloud.api_version == 1 else f"v2 and stemcell api version {cloud.stemcell_api_version}"
    message = f"Cannot create VM without registry with CPI {version}. Registry not configured."
    raise CloudError(message)


def _spread_group(cloud: Cloud, environment: Json | None) -> "SpreadGroup | None":
    from bosh_aws_cpi.cpi.vms.create.spread import wanted_group  # noqa: PLC0415 - few VMs have a group

    return wanted_group(cloud, environment)


def _traffic(cloud: Cloud, request: VmRequest, vpc_id: str) -> "Traffic":
    from bosh_aws_cpi.cpi.vms.create import traffic  # noqa: PLC0415 - few VMs get any

    found = traffic.look_up(cloud, request.properties, request.vip, vpc_id)
    traffic.check_tags(found, request.tags)
    return found


def _launch_spec(
    cloud: Cloud, request: VmRequest, image: Image, zone: str, spread: "SpreadGroup | None"
) -> LaunchSpec:
    return LaunchSpec(
        ami_id=image.ami_id,
        properties=request.properties,
        default_key_name=cloud.config.aws.default_key_name,
        default_iam_instance_profile=cloud.config.aws.default_iam_instance_profile,
        metadata_options=request.metadata_options,
        tags=request.tags,
        zone=zone,
        tags_spot_request=bool(cloud.config.aws.tags),
        spread=spread,
    )


def _check_size(plan: LaunchPlan, *, is_registry_used: bool) -> None:
    """Check user_data's size before anything is created: the MACs are not known yet, but their length is."""
    count = len(plan.nic_plans) if plan.creates_nics_first else 0
    placeholders = nics.mac_addresses(plan.nic_plans, [agent_settings.MAC_PLACEHOLDER] * count)
    for option in plan.options:
        agent_settings.user_data(
            plan.settings_input, option.devices, placeholders, is_registry_used=is_registry_used
        )


def launch(cloud: Cloud, plan: LaunchPlan) -> str:
    """Create the VM and wait until it runs; after a failure nothing is left behind.

    Returns:
        The VM's id.

    Raises:
        CloudError: An interface could not be created, EC2 refused the launch or a later step, or
            the registry did not accept the settings.
        VMCreationFailed: The instance did not reach the state running.
    """
    return undoing(cloud.undo, lambda undo: _launch(cloud, plan, undo))


def _launch(cloud: Cloud, plan: LaunchPlan, undo: Undo) -> str:
    created = create_interfaces(cloud, plan, undo) if plan.creates_nics_first else []
    if (group := plan.launch_spec.spread) is not None and not group.exists:
        from bosh_aws_cpi.cpi.vms.create.spread import ensure_group  # noqa: PLC0415 - few VMs have a group

        ensure_group(cloud, group)
    with naming_keys(*(text for option in plan.options for text in option.devices.key_texts)):
        launched = InstanceCreation(cloud, plan, created, undo).run()
    instance = launched.instance
    if created:
        attachments = [(nic.nic_id, nic.attachment_id) for nic in instance.nics]
        network_interfaces.delete_on_termination(cloud.ec2, attachments)
    if not plan.launch_spec.properties.source_dest_check:
        _pass_foreign_traffic(cloud, instance)
    if plan.traffic is not None:
        from bosh_aws_cpi.cpi.vms.create.traffic import route_traffic  # noqa: PLC0415 - few VMs get any

        route_traffic(cloud, plan.traffic, instance, undo)
    settings = agent_settings.full(plan.settings_input, launched.option.devices, plan.mac_addresses(created))
    cloud.registry.save(instance.vm_cid, settings)
    return instance.vm_cid


def _pass_foreign_traffic(cloud: Cloud, instance: Instance) -> None:
    if len(instance.nics) == 1:
        instances.pass_foreign_traffic(cloud.ec2, instance.vm_cid)
        return
    for nic in instance.nics:
        network_interfaces.pass_foreign_traffic(cloud.ec2, nic.nic_id)
