"""Parses create_vm's arguments, and checks them as far as possible without AWS."""

from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import NicPlan, Vip
from bosh_aws_cpi.plan import nics
from bosh_aws_cpi.plan import tags as tag_plan
from bosh_aws_cpi.plan.disk_defaults import DiskDefaults
from bosh_aws_cpi.properties.network import parse_networks
from bosh_aws_cpi.properties.vm import MetadataOptions, VmProperties
from bosh_aws_cpi.records import Record


class VmRequest(Record):
    """The requested VM.

    Attributes:
        properties: The cloud properties.
        disk_defaults: The configuration's defaults for the disks.
        nic_plans: One per network interface, in the order of their device indexes.
        creates_nics_first: Whether the interfaces are created before the instance; otherwise RunInstances
            creates the only one.
        vip: The elastic IP, if any.
        groups: Ids and names of the security groups.
        metadata_options: EC2's instance metadata options, in snake case.
        tags: For the instance, its volumes and its interfaces.
    """

    properties: VmProperties
    disk_defaults: DiskDefaults
    nic_plans: list[NicPlan]
    creates_nics_first: bool
    vip: Vip | None
    groups: list[str]
    metadata_options: Json
    tags: dict[str, str]

    @property
    def gets_traffic(self) -> bool:
        """Whether routes, load balancers or an elastic IP will send traffic to the VM."""
        wanted = self.properties
        return bool(wanted.lb_target_groups or wanted.elbs or wanted.advertised_routes or self.vip)


def parse(
    cloud: Cloud, agent_id: str, cloud_properties: Json, networks: Json, environment: Json | None
) -> VmRequest:
    """Parse and check create_vm's arguments, without a call to AWS.

    Args:
        cloud: The call's cloud.
        agent_id: The Director's id for the agent.
        cloud_properties: See `VmProperties`.
        networks: See `Network`, by name.
        environment: ``bosh.tags`` become tags.

    Raises:
        CloudError: An argument is wrong; the message names the key.
    """
    properties = VmProperties.parse(cloud_properties)
    parsed = parse_networks(networks)
    plans = nics.nic_plans(parsed)
    if properties.primary_ipv6:
        plans = nics.with_primary_ipv6(plans)
    aws = cloud.config.aws
    tags = tag_plan.of_vm(environment, properties.tags)
    origin = tag_plan.of_origin(cloud.config.director_uuid, agent_id)
    shutdown = tag_plan.of_shutdown(is_skipped=properties.skip_os_shutdown)
    if properties.skip_os_shutdown and aws.skip_os_shutdown is None:
        logger.warning(
            "Ignored: skip_os_shutdown, because aws.skip_os_shutdown is not set (to true or false)"
        )
    all_tags = {**aws.tags, **tags, **origin, **shutdown}
    tag_plan.check_for_ec2(all_tags)
    return VmRequest(
        properties=properties,
        disk_defaults=DiskDefaults.of(aws),
        nic_plans=plans,
        creates_nics_first=nics.are_created_first(parsed),
        vip=nics.vip_plan(parsed, plans),
        groups=nics.security_groups(properties.security_groups, parsed, aws.default_security_groups),
        metadata_options=MetadataOptions.parse(aws.metadata_options, properties.metadata_options),
        tags=all_tags,
    )
