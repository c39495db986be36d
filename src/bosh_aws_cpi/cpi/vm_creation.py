"""create_vm: parse, gather, plan, apply. What can be known to be wrong is said before anything is made."""

from dataclasses import dataclass

from bosh_aws_cpi.aws import images, networks, volumes
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.launch import Launch, launch
from bosh_aws_cpi.cpi.stemcells import ami_id
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import CreatedVm, Image, Json, NicPlan
from bosh_aws_cpi.plan import agent_settings, nics, placement
from bosh_aws_cpi.plan import tags as tag_plan
from bosh_aws_cpi.plan.agent_settings import VmFacts
from bosh_aws_cpi.plan.block_devices import block_devices
from bosh_aws_cpi.properties import MetadataOptions, VmProperties, parse_networks


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
        NotSupported: Something is asked for that this CPI can't do yet; nothing was made.
        VMCreationFailed: EC2 could not make the VM; nothing of it is left.
    """
    _check_registry(cloud)
    properties = VmProperties.parse(cloud_properties)
    parsed = parse_networks(networks_given)
    plans = nics.nic_plans(parsed)
    options = MetadataOptions.parse(cloud.config.aws.metadata_options, properties.metadata_options)
    tags = {**tag_plan.of_environment(environment), **tag_plan.checked(properties.tags)}
    group_entries = nics.security_groups(
        properties.security_groups, parsed, cloud.config.aws.default_security_groups
    )

    image = _image(cloud, stemcell_cid)
    devices = block_devices(properties, image, cloud.config.aws.encryption)
    for left_out in devices.left_out:
        logger.warning("Left out: %s", left_out)
    where = _where(cloud, plans, properties, disk_cids)

    facts = VmFacts(
        agent_id=agent_id,
        networks=networks_given,
        environment=environment,
        agent=cloud.config.agent,
        registry_endpoint=cloud.config.registry.endpoint if cloud.config.registry else None,
        root_device_name=image.root_device_name,
        devices=devices,
    )
    made_first = plans if nics.are_made_first(parsed) else []
    _check_size(facts, made_first, is_registry_used=cloud.registry.is_used)
    plan = Launch(
        ami_id=image.ami_id,
        properties=properties,
        facts=facts,
        nic_plans=plans,
        nics_first=bool(made_first),
        metadata_options=options,
        group_ids=_group_ids(cloud, group_entries, where.vpc_id),
        zone=where.zone,
        tags=tag_plan.formatted(tags),
    )
    return CreatedVm(launch(cloud, plan), networks_given)


@dataclass(frozen=True)
class _Where:
    zone: str
    vpc_id: str


def _check_registry(cloud: Cloud) -> None:
    if cloud.registry.is_there:
        return
    version = "v1" if cloud.contract == 1 else f"v2 and stemcell api version {cloud.stemcell}"
    message = f"Cannot create VM without registry with CPI {version}. Registry not configured."
    raise CloudError(message)


def _image(cloud: Cloud, stemcell_cid: str) -> Image:
    image = images.find(cloud.ec2, ami_id(stemcell_cid))
    if image is None:
        message = f"could not find AMI '{ami_id(stemcell_cid)}'"
        raise CloudError(message)
    return image


def _where(cloud: Cloud, plans: list[NicPlan], properties: VmProperties, disk_cids: list[str]) -> _Where:
    found = networks.subnets(cloud.ec2, [plan.subnet_id for plan in plans])
    ordered = [found[plan.subnet_id] for plan in plans]
    zone = placement.one_subnet_zone(subnet.availability_zone for subnet in ordered)
    disks = volumes.find_all(cloud.ec2, disk_cids) if disk_cids else []
    placement.check_zone(zone, str(properties.availability_zone), [disk.availability_zone for disk in disks])
    return _Where(zone, placement.one_vpc(subnet.vpc_id for subnet in ordered))


def _check_size(facts: VmFacts, made_first: list[NicPlan], *, is_registry_used: bool) -> None:
    """Measure user_data before anything is made: its MACs are not known yet, but their length is."""
    placeholders = nics.mac_addresses(made_first, [agent_settings.MAC_PLACEHOLDER] * len(made_first))
    agent_settings.user_data(facts, placeholders, is_registry_used=is_registry_used)


def _group_ids(cloud: Cloud, entries: list[str], vpc_id: str) -> list[str]:
    """Every entry as an id; only when there are names is EC2 asked."""
    names = [entry for entry in entries if not nics.is_group_id(entry)]
    by_name = networks.security_group_ids(cloud.ec2, vpc_id, names) if names else {}
    return list(dict.fromkeys(by_name.get(entry, entry) for entry in entries))
