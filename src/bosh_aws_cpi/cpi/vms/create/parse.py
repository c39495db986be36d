"""create_vm's first stage: reads the arguments, and finds contradictions without AWS."""

from collections.abc import Mapping, Sequence

from bosh_aws_cpi.config.cpi_config import CpiConfig
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import NicPlan, Vip
from bosh_aws_cpi.plan import nics, placement, spread, tag_plan
from bosh_aws_cpi.plan.disk_defaults import DiskDefaults
from bosh_aws_cpi.plan.spread import SpreadGroup
from bosh_aws_cpi.properties.network import Network, parse_networks
from bosh_aws_cpi.properties.types import Review, read_properties
from bosh_aws_cpi.properties.vm import MetadataOptions, VmProperties
from bosh_aws_cpi.records import Confidential, Record


class VmArguments(Confidential):
    """create_vm's arguments, as `create_vm` describes them."""

    agent_id: str
    stemcell_cid: str
    cloud_properties: Json
    networks: Json
    disk_cids: list[str]
    environment: Json | None


class WantedVm(Record):
    """The VM that the arguments ask for, with the configuration's defaults."""

    arguments: VmArguments
    properties: VmProperties
    networks: Mapping[str, Network]
    nic_plans: Sequence[NicPlan]
    vip: Vip | None
    groups: Mapping[str, str]
    """The property that gives each of its security groups, by their names and ids."""
    metadata_options: Json
    """EC2's instance metadata options, in snake case."""
    tags: Mapping[str, str]
    """The tags of the instance, its volumes and its interfaces."""
    disk_defaults: DiskDefaults
    spread: SpreadGroup | None
    """The placement group of its instance group; whether it exists is not known yet."""

    @property
    def subnet_ids(self) -> list[str]:
        """The subnets in which it may be."""
        return [each for plan in self.nic_plans for each in (plan.subnet_id, *plan.fallback_subnets)]


def parse(config: CpiConfig, arguments: VmArguments, review: Review) -> WantedVm:
    """Read create_vm's arguments.

    Args:
        config: The configuration.
        arguments: What the caller gave.
        review: Collects the problems, and what is ignored. With a problem, the result is not complete.

    Raises:
        CloudError: A value has the wrong type.
    """
    aws = config.aws
    properties = read_properties(VmProperties, arguments.cloud_properties, "cloud_properties")
    networks = parse_networks(arguments.networks)
    review.problems += properties.problems()
    review.ignored += properties.ignored()
    for name, network in networks.items():
        review.problems += network.problems(name)
    nic_plans = review.attempt("networks", lambda: _nic_plans(properties, networks, review)) or []
    given = (aws.metadata_options, properties.metadata_options)
    options = review.attempt("metadata_options", lambda: MetadataOptions.parse(*given)) or {}
    tags = _tags(config, arguments, properties, options, review)
    vip = review.attempt("networks", lambda: nics.vip_plan(networks, nic_plans))
    of_vm, defaults = properties.security_groups, aws.default_security_groups
    groups = review.attempt("security_groups", lambda: nics.security_groups(of_vm, networks, defaults))
    disk_defaults = review.attempt("", lambda: DiskDefaults.of(aws)) or DiskDefaults(aws.encryption)
    review.problems += disk_defaults.key_problems(properties.root_disk, properties.ephemeral_disk)
    return WantedVm(
        arguments=arguments,
        properties=properties,
        networks=networks,
        nic_plans=nic_plans,
        vip=vip,
        groups=groups or {},
        metadata_options=options,
        tags=tags,
        disk_defaults=disk_defaults,
        spread=_spread(config, arguments.environment, properties, review),
    )


def _nic_plans(properties: VmProperties, networks: Mapping[str, Network], review: Review) -> list[NicPlan]:
    """Return a plan per network interface, in the order of the device indexes."""
    plans = nics.nic_plans(networks)
    review.ignored += nics.ignored_problems(networks, plans)
    if properties.zone_fallback:
        review.problems += placement.leaving_problems(plans[0])
    if not properties.primary_ipv6:
        return plans
    return review.attempt("primary_ipv6", lambda: nics.with_primary_ipv6(plans)) or plans


def _tags(
    config: CpiConfig, arguments: VmArguments, properties: VmProperties, options: Json, review: Review
) -> dict[str, str]:
    """The tags of the instance, its volumes and its interfaces."""
    aws, is_skipped = config.aws, properties.skip_os_shutdown
    own = review.attempt("tags", lambda: tag_plan.of_vm(arguments.environment, properties.tags, review))
    if is_skipped and aws.skip_os_shutdown is None:
        text = "Ignored: skip_os_shutdown, because aws.skip_os_shutdown is not set (to true or false)"
        review.ignore("skip_os_shutdown", text)
    origin = tag_plan.of_origin(config.director_uuid, arguments.agent_id)
    tags = {**aws.tags, **(own or {}), **origin, **tag_plan.of_shutdown(is_skipped=is_skipped)}
    review.attempt("tags", lambda: tag_plan.check_for_instance(tags, options))
    return tags


def _spread(
    config: CpiConfig, environment: Json | None, properties: VmProperties, review: Review
) -> SpreadGroup | None:
    """The placement group for a VM with ``spread``, its own or the configuration's.

    ``aws.spread`` has no effect on a VM with a property that excludes ``spread``. It also concerns instance
    groups with one instance, because the request does not say how many there are.
    """
    is_own = properties.spread is not None
    if not (properties.spread or (not is_own and config.aws.spread and properties.allows_spread)):
        return None
    group = spread.group_of(environment)
    if spread.is_compilation(group):
        logger.info("Not spread: a VM that compiles packages is alone in its group")
        return None
    if group and config.director_uuid:
        return spread.spread_group(config.director_uuid, group, config.aws.tags)
    if is_own:
        text = "Ignored: spread, because the request names no instance group (env.bosh.group)"
        review.ignore("spread", text)
    return None
