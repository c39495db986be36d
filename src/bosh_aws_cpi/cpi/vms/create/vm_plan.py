"""create_vm up to its first resource: parses and checks arguments, gathers AWS's facts, plans the VM."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bosh_aws_cpi.aws import firewalls, images, volumes
from bosh_aws_cpi.aws import subnets as aws_subnets
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.type_facts import type_facts
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Image, InstanceTypeFacts, Nic, NicPlan, TemplateVersion
from bosh_aws_cpi.plan import agent_settings, instance_types, interface_options, nics, placement, type_options
from bosh_aws_cpi.plan import tags as tag_plan
from bosh_aws_cpi.plan.agent_settings import AgentSettingsInput
from bosh_aws_cpi.plan.block_devices import BlockDevices
from bosh_aws_cpi.plan.disk_defaults import DiskDefaults
from bosh_aws_cpi.plan.launch_options import LaunchOption, in_subnets, launch_options
from bosh_aws_cpi.plan.run_instances import InstanceSpec, template_problems
from bosh_aws_cpi.properties.network import Network, parse_networks
from bosh_aws_cpi.properties.types import refuse
from bosh_aws_cpi.properties.vm import LaunchTemplate, MetadataOptions, VmProperties
from bosh_aws_cpi.records import Record

if TYPE_CHECKING:
    from bosh_aws_cpi.cpi.vms.create.traffic import Traffic


class VmPlan(Record):
    """A VM that is checked and planned, before the first resource is created."""

    spec: InstanceSpec
    settings_input: AgentSettingsInput
    options: Sequence[LaunchOption]
    """The ways in which it may be launched, in the order in which they are tried."""
    nic_plans: Sequence[NicPlan]
    creates_nics_first: bool
    """Whether the interfaces are created before the instance; otherwise RunInstances creates the only one."""
    group_ids: Sequence[str]
    traffic: "Traffic | None"
    """Routes, load balancers and an elastic IP, if the VM gets traffic from any."""
    director_uuid: str | None
    has_disks: bool = False
    """Whether persistent disks will be attached to it."""

    @property
    def identity(self) -> tuple[str, str]:
        """Director and agent: they are the same for a create_vm and its retry, and for no other call."""
        return self.director_uuid or "", self.settings_input.agent_id

    def nic_plan_of(self, option: LaunchOption) -> NicPlan:
        """The interface that RunInstances creates, in the launch option's subnet."""
        first = self.nic_plans[0]
        return first.replaced(subnet_id=option.subnet_id) if option.subnet_id else first

    @property
    def limits(self) -> str:
        """What keeps the VM from capacity that EC2 may have elsewhere, as sentences."""
        zone = self.options[0].zone or self.spec.zone
        must_spread = self.spec.spread and not any(option.is_outside for option in self.options)
        return (f". The VM's persistent disks keep it in {zone}" if self.has_disks else "") + (
            ". With spread: prefer, it could be launched outside of its placement group"
            if must_spread
            else ""
        )

    def networks_in(self, option: LaunchOption) -> Json:
        """The networks as they were given; with ``zone_fallback``, with the subnet of the launch option."""
        given = self.settings_input.networks
        if not self.spec.properties.zone_fallback:
            return given
        name = self.nic_plans[0].networks[0]
        properties = {**given[name]["cloud_properties"], "subnet": option.subnet_id}
        return {**given, name: {**given[name], "cloud_properties": properties}}

    def mac_addresses(self, created: Sequence[Nic]) -> Mapping[str, str]:
        """MAC address by network, for the interfaces that were created before the launch."""
        return nics.mac_addresses(self.nic_plans, [nic.mac_address for nic in created])


def vm_plan(
    cloud: Cloud,
    agent_id: str,
    stemcell_cid: str,
    cloud_properties: Json,
    networks: Json,
    disk_cids: list[str],
    environment: Json | None,
) -> VmPlan:
    """Check create_vm's arguments, first without AWS, then with what AWS tells, and plan the VM.

    The arguments are those of `create_vm`.

    Raises:
        CloudError: An argument is wrong, or contradicts another one or what is in the account.
    """
    _check_registry(cloud)
    aws = cloud.config.aws
    properties = VmProperties.parse(cloud_properties)
    parsed = parse_networks(networks)
    nic_plans = _nic_plans(properties, parsed)
    tags = _tags(cloud, agent_id, properties, environment)
    metadata_options = MetadataOptions.parse(aws.metadata_options, properties.metadata_options)
    tag_plan.check_for_instance(tags, metadata_options)
    vip = nics.vip_plan(parsed, nic_plans)
    groups = nics.security_groups(properties.security_groups, parsed, aws.default_security_groups)
    disk_defaults = DiskDefaults.of(aws)
    refuse(disk_defaults.key_problems(properties.root_disk, properties.ephemeral_disk))
    image = _image(cloud, stemcell_cid)
    options = _options(cloud, properties, nic_plans, image, disk_defaults)
    place = _place(cloud, properties, nic_plans, disk_cids)
    spread, template, traffic = None, None, None
    if properties.spread or (properties.spread is None and aws.spread):
        from bosh_aws_cpi.cpi.vms.create.spread import spread_options  # noqa: PLC0415 - few VMs have a group

        spread, options = spread_options(cloud, properties, environment, options)
    if properties.launch_template:
        template = _launch_template(cloud, properties.launch_template)
    group_ids = _group_ids(cloud, groups, place.vpc_id)
    if properties.lb_target_groups or properties.elbs or properties.advertised_routes or vip:
        from bosh_aws_cpi.cpi.vms.create.traffic import look_up  # noqa: PLC0415 - few VMs get any

        traffic = look_up(cloud, properties, vip, place.vpc_id, tags)
    plan = VmPlan(
        spec=InstanceSpec(
            ami_id=image.ami_id,
            properties=properties,
            default_key_name=aws.default_key_name,
            default_iam_instance_profile=aws.default_iam_instance_profile,
            metadata_options=metadata_options,
            tags=tags,
            zone=place.zone,
            spread=spread,
            template=template,
        ),
        settings_input=AgentSettingsInput(
            agent_id=agent_id,
            networks=networks,
            environment=environment,
            agent=cloud.config.agent,
            registry_endpoint=cloud.config.registry.endpoint if cloud.config.registry else None,
            root_device_name=image.root_device_name,
        ),
        options=in_subnets(options, place.subnets),
        nic_plans=nic_plans,
        creates_nics_first=nics.are_created_first(parsed),
        group_ids=group_ids,
        traffic=traffic,
        director_uuid=cloud.config.director_uuid,
        has_disks=bool(disk_cids),
    )
    _check_size(plan, is_registry_used=cloud.registry.is_used)
    return plan


def _check_registry(cloud: Cloud) -> None:
    if cloud.registry.is_there:
        return
    version = "v1" if cloud.api_version == 1 else f"v2 and stemcell api version {cloud.stemcell_api_version}"
    raise CloudError(f"Cannot create VM without registry with CPI {version}. Registry not configured.")


def _nic_plans(properties: VmProperties, networks: Mapping[str, Network]) -> list[NicPlan]:
    """One per network interface, in the order of their device indexes."""
    plans = nics.nic_plans(networks)
    for text in (*(each.text for each in properties.ignored()), *nics.ignored(networks, plans)):
        logger.warning("%s", text, is_whole=True)
    return nics.with_primary_ipv6(plans) if properties.primary_ipv6 else plans


def _tags(cloud: Cloud, agent_id: str, properties: VmProperties, environment: Json | None) -> dict[str, str]:
    """The tags of the instance, its volumes and its interfaces."""
    aws = cloud.config.aws
    if properties.skip_os_shutdown and aws.skip_os_shutdown is None:
        logger.warning(
            "Ignored: skip_os_shutdown, because aws.skip_os_shutdown is not set (to true or false)"
        )
    return {
        **aws.tags,
        **tag_plan.of_vm(environment, properties.tags),
        **tag_plan.of_origin(cloud.config.director_uuid, agent_id),
        **tag_plan.of_shutdown(is_skipped=properties.skip_os_shutdown),
    }


def _image(cloud: Cloud, stemcell_cid: str) -> Image:
    found = images.find(cloud.ec2, images.of_stemcell(stemcell_cid))
    if found is None:
        aws = cloud.config.aws
        role = f" with aws.role_arn '{aws.role_arn}'" if aws.role_arn else ""
        message = (
            f"could not find AMI '{images.of_stemcell(stemcell_cid)}'. It does not exist in region "
            f"{aws.region}{role}, or its owner does not share it with this account: upload the stemcell "
            "again (bosh upload-stemcell --fix), or correct aws.region"
        )
        if stemcell_cid.endswith(images.LIGHT_SUFFIX):  # an AMI of the account itself is never hidden
            message = ". ".join(filter(None, [message, images.allowed_images_hint(cloud.ec2)]))
        raise CloudError(message)
    if found.state == "disabled":
        raise CloudError(
            f"AMI '{found.ami_id}' is disabled: no VM can be launched from it. Enable it (aws ec2 "
            "enable-image), or upload the stemcell again: bosh upload-stemcell --fix"
        )
    return found


def _options(
    cloud: Cloud,
    properties: VmProperties,
    nic_plans: Sequence[NicPlan],
    image: Image,
    configured: DiskDefaults,
) -> list[LaunchOption]:
    """The ways to launch the VM; each instance type is checked against the AMI and the requested disks."""
    known = type_facts(cloud, properties.instance_types)
    defaults = configured.for_image(image)  # in which the root disk is not smaller than the AMI's
    if defaults != configured and properties.root_disk.size is None:
        logger.info(
            "The root disk gets the stemcell's %d GiB: aws.default_root_disk.size is less", image.root_gib
        )
    types = {
        name: _with_devices(properties, image, known[name], defaults) for name in properties.instance_types
    }
    for text in dict.fromkeys(text for _, devices in types.values() for text in devices.left_out):
        logger.warning("Ignored: %s", text)
    if any(plan.options for plan in nic_plans):
        for facts, _ in types.values():
            refuse(interface_options.problems_of_type(nic_plans, facts))
    return launch_options(properties, types)


def _with_devices(
    properties: VmProperties, ami: Image, facts: InstanceTypeFacts, defaults: DiskDefaults
) -> tuple[InstanceTypeFacts, BlockDevices]:
    instance_types.check_image(ami, facts)
    if properties.credit_specification and not facts.is_burstable:
        logger.warning("Ignored: credit_specification, which type %s does not accept", facts.name)
    devices, problems = type_options.planned(properties, ami, facts, defaults)
    refuse(problems)
    if text := type_options.hibernation_warning(properties, ami, facts, devices):
        logger.warning("%s", text)
    return facts, devices


class _VmPlace(Record):
    """Where a VM will be."""

    zone: str
    vpc_id: str
    subnets: Mapping[str, str]
    """The zones of the first interface's subnets, by id, in the order in which to try them; empty if its
    network has only one subnet.

    It must not depend on what changes in AWS: a retry after a kill must begin with the same launch, and so
    with the same client token, while DescribeInstances does not show the first call's instance yet.
    """


def _place(
    cloud: Cloud, properties: VmProperties, plans: Sequence[NicPlan], disk_cids: list[str]
) -> _VmPlace:
    """The zone and the VPC, in which all of the VM's subnets and disks must be."""
    first, *_ = plans
    leaves_zone = properties.zone_fallback
    if leaves_zone:
        placement.check_leaving(first)
    found = aws_subnets.find_all(
        cloud.ec2, [each for plan in plans for each in (plan.subnet_id, *plan.fallback_subnets)]
    )
    ordered = [found[plan.subnet_id] for plan in plans]
    zone = placement.one_subnet_zone(ordered)
    if text := placement.without_ipv4(ordered[0]):
        logger.warning("%s. If the VM does not answer, use a dual-stack subnet", text)
    disks = volumes.find_all(cloud.ec2, disk_cids) if disk_cids else []
    vm_zone = str(properties.availability_zone)
    zones = {each: found[each].availability_zone for each in (first.subnet_id, *first.fallback_subnets)}
    disk_zones = {disk.availability_zone for disk in disks}
    usable = {subnet_id: place for subnet_id, place in zones.items() if disk_zones <= {place}}
    unusable_disks = [] if leaves_zone and usable else disks
    placement.check_zone(ordered, vm_zone, unusable_disks, is_any_zone=leaves_zone)
    vpc_id = placement.one_vpc(ordered)
    placement.check_fallbacks(first, found, is_any_zone=leaves_zone)
    return _VmPlace(zone, vpc_id, usable if first.fallback_subnets else {})


def _group_ids(cloud: Cloud, groups: list[str], vpc_id: str) -> list[str]:
    """The ids of security groups; EC2 is called only if some are given by name."""
    names = [entry for entry in groups if not nics.is_group_id(entry)]
    by_name = firewalls.security_group_ids(cloud.ec2, vpc_id, names) if names else {}
    return list(dict.fromkeys(by_name.get(entry, entry) for entry in groups))


def _launch_template(cloud: Cloud, given: LaunchTemplate) -> TemplateVersion:
    from bosh_aws_cpi.aws import launch_templates  # noqa: PLC0415 - few VMs have one

    template = launch_templates.version(cloud.ec2, given)
    refuse(template_problems(template))
    return template


def _check_size(plan: VmPlan, *, is_registry_used: bool) -> None:
    """Check user_data's size before anything is created: the MACs are not known yet, but their length is."""
    count = len(plan.nic_plans) if plan.creates_nics_first else 0
    placeholders = nics.mac_addresses(plan.nic_plans, [agent_settings.MAC_PLACEHOLDER] * count)
    for option in plan.options:
        agent_settings.user_data(
            plan.settings_input, option.devices, placeholders, is_registry_used=is_registry_used
        )
