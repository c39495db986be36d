"""create_vm's third stage: plans the VM from its arguments and AWS's answers; pure."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bosh_aws_cpi.config.cpi_config import CpiConfig
from bosh_aws_cpi.cpi.vms.create.gather import VmFacts
from bosh_aws_cpi.cpi.vms.create.parse import WantedVm
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import InstanceTypeFacts, Nic, NicPlan
from bosh_aws_cpi.plan import (
    agent_settings,
    instance_types,
    interface_options,
    nics,
    placement,
    tag_plan,
    type_options,
)
from bosh_aws_cpi.plan.agent_settings import AgentSettingsInput
from bosh_aws_cpi.plan.block_devices import TYPES, BlockDevices
from bosh_aws_cpi.plan.disk_defaults import DiskDefaults
from bosh_aws_cpi.plan.launch_options import LaunchOption, in_subnets, launch_options, prefer_spread
from bosh_aws_cpi.plan.run_instances import InstanceSpec, template_problems
from bosh_aws_cpi.properties.types import Review

if TYPE_CHECKING:
    from bosh_aws_cpi.cpi.vms.create.traffic import Traffic


class VmPlan(InstanceSpec):
    """A VM that is checked and planned, before the first resource is created."""

    settings_input: AgentSettingsInput
    options: Sequence[LaunchOption]
    """The launch options, in the order in which create_vm tries them."""
    nic_plans: Sequence[NicPlan]
    creates_nics_first: bool
    """Whether the interfaces are created before the instance; otherwise RunInstances creates the only one."""
    group_ids: Sequence[str]
    traffic: "Traffic | None"
    """Routes, load balancers and an elastic IP, if the VM gets traffic from any."""
    identity: tuple[str, str]
    """Director and agent: they are the same for a create_vm and its retry, and for no other call."""
    has_disks: bool
    """Whether persistent disks will be attached to it."""

    def nic_plan_of(self, option: LaunchOption) -> NicPlan:
        """The interface that RunInstances creates, in the launch option's subnet."""
        first = self.nic_plans[0]
        return first.replace(subnet_id=option.subnet_id) if option.subnet_id else first

    @property
    def limits(self) -> str:
        """Return the restrictions that keep the VM from capacity elsewhere, as sentences."""
        zone = self.options[0].zone
        must_spread = self.spread and not any(option.skips_placement_group for option in self.options)
        return (f". The VM's persistent disks keep it in {zone}" if self.has_disks else "") + (
            ". With spread: prefer, it could be launched outside of its placement group"
            if must_spread
            else ""
        )

    def networks_in(self, option: LaunchOption) -> Json:
        """The networks as they were given; with ``zone_fallback``, with the subnet of the launch option."""
        given = self.settings_input.networks
        if not self.properties.zone_fallback:
            return given
        name = self.nic_plans[0].networks[0]
        properties = {**given[name]["cloud_properties"], "subnet": option.subnet_id}
        return {**given, name: {**given[name], "cloud_properties": properties}}

    def mac_addresses(self, created: Sequence[Nic]) -> Mapping[str, str]:
        """MAC address by network, for the interfaces that were created before the launch."""
        return nics.mac_addresses(self.nic_plans, [nic.mac_address for nic in created])


def plan_vm(
    config: CpiConfig, wanted: WantedVm, facts: VmFacts, review: Review, *, is_registry_used: bool
) -> VmPlan | None:
    """Plan a VM.

    Args:
        config: The configuration.
        wanted: What create_vm's arguments ask for.
        facts: What AWS says of it.
        review: Collects the problems, and what is ignored.
        is_registry_used: Whether the registry has the agent's settings.

    Returns:
        The plan; None if there is a problem, or if a fact is missing.
    """
    zone, subnets = wanted.properties.availability_zone, _subnets(wanted, facts, review)
    options = _options(wanted, facts, review)
    if facts.template is not None:
        review.problems += template_problems(facts.template)
    records = facts.traffic.records if facts.traffic is not None else {}
    tags = review.attempt(
        "tags",
        lambda: tag_plan.at_launch(wanted.tags, records, lambda text: review.ignore("tags", text)),
    )
    if review.problems or zone is None or subnets is None or not options or tags is None:
        return None
    aws, properties = config.aws, wanted.properties
    plan = VmPlan(
        ami_id=facts.image.ami_id,
        properties=properties,
        key_name=properties.key_name or aws.default_key_name,
        iam_instance_profile=properties.iam_instance_profile or aws.default_iam_instance_profile,
        metadata_options=wanted.metadata_options,
        tags=tags,
        spread=facts.spread,
        template=facts.template,
        settings_input=AgentSettingsInput(
            agent_id=wanted.arguments.agent_id,
            networks=wanted.arguments.networks,
            environment=wanted.arguments.environment,
            agent=config.agent,
            registry_endpoint=config.registry.endpoint if config.registry else None,
            root_device_name=facts.image.root_device_name,
            is_registry_used=is_registry_used,
        ),
        options=in_subnets(options, subnets, zone),
        nic_plans=wanted.nic_plans,
        creates_nics_first=nics.are_created_first(wanted.networks),
        group_ids=facts.group_ids,
        traffic=facts.traffic,
        identity=(config.director_uuid or "", wanted.arguments.agent_id),
        has_disks=bool(facts.disks),
    )
    review.attempt("", lambda: _check_size(plan))
    return None if review.problems else plan


def _options(wanted: WantedVm, facts: VmFacts, review: Review) -> list[LaunchOption]:
    """Return the launch options, each type checked; none if a type is not known."""
    properties, configured = wanted.properties, wanted.disk_defaults
    defaults = configured.for_image(facts.image)  # in which the root disk is not smaller than the AMI's
    if defaults != configured and properties.root_disk.size is None:
        text = "The root disk gets the stemcell's %d GiB: aws.default_root_disk.size is less"
        logger.info(text, facts.image.root_gib)
    types = {
        name: (each, _devices(wanted, facts, each, defaults, review))
        for name in properties.instance_types
        if (each := facts.types.get(name)) is not None
    }
    if not facts.image.architecture:
        known = [each for each, _ in types.values()]
        key = "instance_type_fallbacks" if properties.instance_type_fallbacks else "instance_type"
        review.attempt(key, lambda: instance_types.check_common_architecture(known))
    others = [name for name, (each, _) in types.items() if not each.is_burstable]
    if properties.credit_specification and others == [*types]:
        text = f"Ignored: credit_specification, which type {', '.join(others)} does not accept"
        review.ignore("credit_specification", text, *TYPES)
    if types.keys() < {*properties.instance_types}:
        return []
    options = launch_options(properties, types)
    if facts.spread is None or properties.spread is True:
        return options
    preferred = prefer_spread(options)
    return [each for each in preferred if each.skips_placement_group or not facts.spread.is_avoided]


def _devices(
    wanted: WantedVm, facts: VmFacts, of_type: InstanceTypeFacts, defaults: DiskDefaults, review: Review
) -> BlockDevices:
    """Check an instance type, and return its block devices."""
    properties, image = wanted.properties, facts.image
    key = "instance_type" if of_type.name == properties.instance_type else "instance_type_fallbacks"
    review.attempt(key, lambda: instance_types.check_image(image, of_type))
    devices = type_options.plan_type(properties, image, of_type, defaults, review)
    if any(plan.options for plan in wanted.nic_plans):
        review.problems += interface_options.problems_of_type(wanted.nic_plans, of_type)
    if text := type_options.hibernation_warning(properties, image, of_type, devices):
        logger.warning("%s", text)
    return devices


def _subnets(wanted: WantedVm, facts: VmFacts, review: Review) -> Mapping[str, str] | None:
    """Check the zones of the VM's subnets and disks.

    Returns:
        The zones of the first interface's subnets, by id, in the order in which to try them; empty if its
        network has only one subnet. None if a subnet is not known. The order must not depend on what changes
        in AWS: a retry after a kill must begin with the same launch, and so with the same client token, while
        DescribeInstances does not show the first call's instance yet.
    """
    known_subnets, plans, leaves_zone = facts.subnets, wanted.nic_plans, wanted.properties.zone_fallback
    if known_subnets is None or not plans:
        return None
    for name in (name for plan in plans for name in plan.networks):
        of_network = wanted.networks[name].cloud_properties
        review.problems += placement.subnet_problems(name, of_network, known_subnets, is_any_zone=leaves_zone)
    if not known_subnets.keys() >= {*wanted.subnet_ids}:
        return None
    first, *_ = plans
    ordered = [known_subnets[plan.subnet_id] for plan in plans]
    if text := placement.ipv6_only_problem(ordered[0]):
        logger.warning("%s. If the VM does not answer, use a dual-stack subnet", text)
    zones = {
        each: known_subnets[each].availability_zone for each in (first.subnet_id, *first.fallback_subnets)
    }
    if leaves_zone and first.fallback_subnets and len({*zones.values()}) == 1:
        text = (
            f"Ignored: zone_fallback, because the subnets of network '{first.group}' are all in "
            f"{zones[first.subnet_id]}: add one of another zone to subnet_fallbacks, or remove zone_fallback"
        )
        review.ignore("zone_fallback", text, "networks")
    disk_zones = {disk.availability_zone for disk in facts.disks}
    usable = {subnet_id: place for subnet_id, place in zones.items() if disk_zones <= {place}}
    unusable_disks = [] if leaves_zone and usable else facts.disks
    vm_zone = wanted.properties.availability_zone
    review.problems += placement.zone_problems(
        first.networks[0], ordered, vm_zone, unusable_disks, is_any_zone=leaves_zone
    )
    review.problems += placement.vpc_problems(ordered)
    return usable if first.fallback_subnets else {}


def _check_size(plan: VmPlan) -> None:
    """Check user_data's size before anything is created: the MACs are not known yet, but their length is."""
    count = len(plan.nic_plans) if plan.creates_nics_first else 0
    placeholders = nics.mac_addresses(plan.nic_plans, [agent_settings.MAC_PLACEHOLDER] * count)
    for option in plan.options:
        agent_settings.user_data(plan.settings_input, option.devices, placeholders)
