"""create_vm: parse, gather, plan, apply. What can be known to be wrong is said before anything is made."""

from dataclasses import dataclass

from bosh_aws_cpi.aws import images, networks, volumes
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.stemcells.delete import ami_id
from bosh_aws_cpi.cpi.type_facts import type_facts
from bosh_aws_cpi.cpi.vms.create import traffic
from bosh_aws_cpi.cpi.vms.create.apply import launch
from bosh_aws_cpi.cpi.vms.create.launch_plan import LaunchPlan
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import BlockDevices, CreatedVm, Image, InstanceTypeFacts, NicPlan, Vip
from bosh_aws_cpi.plan import agent_settings, instance_types, nics, placement
from bosh_aws_cpi.plan import tags as tag_plan
from bosh_aws_cpi.plan.agent_settings import AgentSettingsInput
from bosh_aws_cpi.plan.block_devices import block_devices
from bosh_aws_cpi.plan.launch_options import LaunchOption, launch_options
from bosh_aws_cpi.plan.run_instances import LaunchSpec
from bosh_aws_cpi.properties.network import Network, parse_networks
from bosh_aws_cpi.properties.vm import MetadataOptions, VmProperties


def create_vm(
    cloud: Cloud,
    agent_id: str,
    stemcell_cid: str,
    cloud_properties: Json,
    networks_given: Json,
    disk_cids: list[str],
    environment: Json | None,
) -> CreatedVm:
    """Make a VM that runs and whose agent can boot (contract: create_vm).

    Made again with the same agent id, it finds what the first call made and finishes it.

    Args:
        cloud: The call's cloud.
        agent_id: The Director's id for the agent.
        stemcell_cid: The AMI, with or without " light".
        cloud_properties: See `VmProperties`.
        networks_given: See `Network`, by name.
        disk_cids: Disks that will be attached: they must be in the VM's zone.
        environment: Goes into the agent settings; ``bosh.tags`` become tags.

    Returns:
        The VM's id and the networks as they were given.

    Raises:
        CloudError: Something is wrong with the arguments; nothing was made.
        VMCreationFailed: EC2 could not make the VM; nothing of it is left.
    """
    _check_registry(cloud)
    asked = _parse(cloud, agent_id, cloud_properties, networks_given, environment)
    image = _image(cloud, stemcell_cid)
    found_options = _options(cloud, asked.properties, image)
    where = _where(cloud, asked, disk_cids)
    plan = LaunchPlan(
        launch_spec=LaunchSpec(
            ami_id=image.ami_id,
            properties=asked.properties,
            default_key_name=cloud.config.aws.default_key_name,
            default_iam_instance_profile=cloud.config.aws.default_iam_instance_profile,
            metadata_options=asked.metadata_options,
            tags=asked.tags,
            zone=where.zone,
        ),
        facts=AgentSettingsInput(
            agent_id=agent_id,
            networks=networks_given,
            environment=environment,
            agent=cloud.config.agent,
            registry_endpoint=cloud.config.registry.endpoint if cloud.config.registry else None,
            root_device_name=image.root_device_name,
            devices=found_options[0].devices,
        ),
        options=found_options,
        nic_plans=asked.nic_plans,
        nics_first=nics.are_made_first(asked.networks),
        group_ids=_group_ids(cloud, asked.group_entries, where.vpc_id),
        traffic=traffic.look_up(cloud, asked.properties, asked.vip, where.vpc_id),
        director_uuid=cloud.config.director_uuid,
    )
    _check_size(plan, is_registry_used=cloud.registry.is_used)
    return CreatedVm(launch(cloud, plan), networks_given)


@dataclass(frozen=True)
class _Asked:
    """The arguments, read and checked as far as that goes without asking AWS."""

    properties: VmProperties
    networks: dict[str, Network]
    nic_plans: list[NicPlan]
    vip: Vip | None
    group_entries: list[str]
    metadata_options: Json
    tags: dict[str, str]


@dataclass(frozen=True)
class _Where:
    zone: str
    vpc_id: str


def _parse(
    cloud: Cloud, agent_id: str, cloud_properties: Json, networks_given: Json, environment: Json | None
) -> _Asked:
    properties = VmProperties.parse(cloud_properties)
    parsed = parse_networks(networks_given)
    plans = nics.nic_plans(parsed)
    aws = cloud.config.aws
    tags = {**tag_plan.of_environment(environment), **tag_plan.checked(properties.tags)}
    all_tags = {**tag_plan.formatted(tags), **tag_plan.of_origin(cloud.config.director_uuid, agent_id)}
    tag_plan.check_for_ec2(all_tags)
    return _Asked(
        properties=properties,
        networks=parsed,
        nic_plans=plans,
        vip=nics.vip_plan(parsed, plans),
        group_entries=nics.security_groups(properties.security_groups, parsed, aws.default_security_groups),
        metadata_options=MetadataOptions.parse(aws.metadata_options, properties.metadata_options),
        tags=all_tags,
    )


def _check_registry(cloud: Cloud) -> None:
    if cloud.registry.is_there:
        return
    version = "v1" if cloud.api_version == 1 else f"v2 and stemcell api version {cloud.stemcell_api_version}"
    message = f"Cannot create VM without registry with CPI {version}. Registry not configured."
    raise CloudError(message)


def _image(cloud: Cloud, stemcell_cid: str) -> Image:
    image = images.find(cloud.ec2, ami_id(stemcell_cid))
    if image is None:
        message = f"could not find AMI '{ami_id(stemcell_cid)}'"
        raise CloudError(message)
    if image.state == "disabled":
        message = (
            f"AMI '{image.ami_id}' is disabled: no VM can be launched from it. Enable it (aws ec2 "
            "enable-image), or upload the stemcell again: bosh upload-stemcell --fix"
        )
        raise CloudError(message)
    return image


def _options(cloud: Cloud, properties: VmProperties, image: Image) -> list[LaunchOption]:
    """The ways to launch the VM; each type is checked against the AMI and the disks that are asked for."""
    known = type_facts(cloud, properties.instance_types)
    types = [_with_devices(cloud, properties, image, known[name]) for name in properties.instance_types]
    left_out = dict.fromkeys(text for _, devices in types for text in devices.left_out)
    for text in left_out:
        logger.warning("Left out: %s", text)
    return launch_options(
        types,
        is_spot=properties.spot_bid_price is not None,
        falls_back_to_demand=properties.spot_ondemand_fallback,
    )


def _with_devices(
    cloud: Cloud, properties: VmProperties, image: Image, facts: InstanceTypeFacts
) -> tuple[InstanceTypeFacts, BlockDevices]:
    instance_types.check_architecture(image, facts)
    instance_types.check_ebs_optimized(facts, is_asked=bool(properties.ebs_optimized))
    if properties.credit_specification and not facts.is_burstable:
        logger.warning("Left out: credit_specification, which type %s does not take", facts.name)
    return facts, block_devices(properties, image, facts, cloud.config.aws.encryption)


def _where(cloud: Cloud, asked: _Asked, disk_cids: list[str]) -> _Where:
    found = networks.subnets(cloud.ec2, [plan.subnet_id for plan in asked.nic_plans])
    ordered = [found[plan.subnet_id] for plan in asked.nic_plans]
    zone = placement.one_subnet_zone(subnet.availability_zone for subnet in ordered)
    disks = volumes.find_all(cloud.ec2, disk_cids) if disk_cids else []
    vm_zone = str(asked.properties.availability_zone)
    placement.check_zone(zone, vm_zone, [disk.availability_zone for disk in disks])
    return _Where(zone, placement.one_vpc(subnet.vpc_id for subnet in ordered))


def _check_size(plan: LaunchPlan, *, is_registry_used: bool) -> None:
    """Measure user_data before anything is made: its MACs are not known yet, but their length is."""
    count = len(plan.nic_plans) if plan.nics_first else 0
    placeholders = nics.mac_addresses(plan.nic_plans, [agent_settings.MAC_PLACEHOLDER] * count)
    for option in plan.options:
        agent_settings.user_data(plan.facts_for(option), placeholders, is_registry_used=is_registry_used)


def _group_ids(cloud: Cloud, entries: list[str], vpc_id: str) -> list[str]:
    """Every entry as an id; only when there are names is EC2 asked."""
    names = [entry for entry in entries if not nics.is_group_id(entry)]
    by_name = networks.security_group_ids(cloud.ec2, vpc_id, names) if names else {}
    return list(dict.fromkeys(by_name.get(entry, entry) for entry in entries))
