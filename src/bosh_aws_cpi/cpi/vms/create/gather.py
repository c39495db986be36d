"""Collects the facts from AWS that create_vm needs before it creates anything, and refuses contradictions."""

from collections.abc import Sequence

from bosh_aws_cpi.aws import images, networks, volumes
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.stemcells.delete import LIGHT_SUFFIX, ami_id
from bosh_aws_cpi.cpi.type_facts import type_facts
from bosh_aws_cpi.cpi.vms.create.parse import VmRequest
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import BlockDevices, Image, InstanceTypeFacts
from bosh_aws_cpi.plan import instance_types, nics, placement, subnet_fallbacks, type_options
from bosh_aws_cpi.plan.disk_defaults import DiskDefaults
from bosh_aws_cpi.plan.launch_options import LaunchOption, launch_options
from bosh_aws_cpi.properties.types import refuse
from bosh_aws_cpi.properties.vm import VmProperties
from bosh_aws_cpi.records import Record


def image(cloud: Cloud, stemcell_cid: str) -> Image:
    """The stemcell's AMI.

    Raises:
        CloudError: It does not exist, or is disabled.
    """
    found = images.find(cloud.ec2, ami_id(stemcell_cid))
    if found is None:
        message = f"could not find AMI '{ami_id(stemcell_cid)}'"
        if stemcell_cid.endswith(LIGHT_SUFFIX):  # an AMI of the account itself is never hidden
            from bosh_aws_cpi.aws import allowed_images  # noqa: PLC0415 - only for this error

            message = ". ".join(filter(None, [message, allowed_images.hint(cloud.ec2)]))
        raise CloudError(message)
    if found.state == "disabled":
        message = (
            f"AMI '{found.ami_id}' is disabled: no VM can be launched from it. Enable it (aws ec2 "
            "enable-image), or upload the stemcell again: bosh upload-stemcell --fix"
        )
        raise CloudError(message)
    return found


def options(cloud: Cloud, request: VmRequest, ami: Image) -> list[LaunchOption]:
    """The ways to launch the VM; each instance type is checked against the AMI and the requested disks.

    Raises:
        CloudError: A type does not exist, or does not fit.
    """
    properties = request.properties
    known = type_facts(cloud, properties.instance_types)
    defaults = _disk_defaults(request, ami)
    types = {
        name: _with_devices(properties, ami, known[name], defaults) for name in properties.instance_types
    }
    left_out = dict.fromkeys(text for _, devices in types.values() for text in devices.left_out)
    for text in left_out:
        logger.warning("Ignored: %s", text)
    return launch_options(properties, types)


def _disk_defaults(request: VmRequest, ami: Image) -> DiskDefaults:
    """The defaults for the VM's disks, in which the root disk is not smaller than the AMI's."""
    fitting = request.disk_defaults.for_image(ami)
    if fitting != request.disk_defaults and request.properties.root_disk.size is None:
        logger.info(
            "The root disk gets the stemcell's %d GiB: aws.default_root_disk.size is less", ami.root_gib
        )
    return fitting


def _with_devices(
    properties: VmProperties, ami: Image, facts: InstanceTypeFacts, defaults: DiskDefaults
) -> tuple[InstanceTypeFacts, BlockDevices]:
    instance_types.check_architecture(ami, facts)
    if properties.credit_specification and not facts.is_burstable:
        logger.warning("Ignored: credit_specification, which type %s does not accept", facts.name)
    devices, problems = type_options.planned(properties, ami, facts, defaults)
    refuse(problems)
    if text := type_options.hibernation_warning(properties, ami, facts, devices):
        logger.warning("%s", text)
    return facts, devices


class Place(Record):
    """Where a VM will be."""

    zone: str
    vpc_id: str
    subnets: Sequence[str]
    """The subnets of the first interface, in the order in which to try them.

    It must not depend on AWS: a retry after a kill must begin with the same launch, and so with the same
    client token, while DescribeInstances does not show the first call's instance yet.
    """


def place(cloud: Cloud, request: VmRequest, disk_cids: list[str]) -> Place:
    """The availability zone and the VPC of the VM's subnets, and the subnets of its first interface.

    Raises:
        CloudError: The subnets, the disks and the requested zone are not in one zone, or the subnets are
            not in one VPC, or a fallback subnet does not fit.
    """
    plans = request.nic_plans
    found = networks.subnets(
        cloud.ec2, [each for plan in plans for each in (plan.subnet_id, *plan.fallback_subnets)]
    )
    ordered = [found[plan.subnet_id] for plan in plans]
    zone = placement.one_subnet_zone(subnet.availability_zone for subnet in ordered)
    disks = volumes.find_all(cloud.ec2, disk_cids) if disk_cids else []
    vm_zone = str(request.properties.availability_zone)
    placement.check_zone(zone, vm_zone, [disk.availability_zone for disk in disks])
    vpc_id = placement.one_vpc(subnet.vpc_id for subnet in ordered)
    subnet_fallbacks.check(plans[0], found)
    return Place(zone, vpc_id, [plans[0].subnet_id, *plans[0].fallback_subnets])


def group_ids(cloud: Cloud, groups: list[str], vpc_id: str) -> list[str]:
    """The ids of security groups; EC2 is called only if some are given by name."""
    names = [entry for entry in groups if not nics.is_group_id(entry)]
    by_name = networks.security_group_ids(cloud.ec2, vpc_id, names) if names else {}
    return list(dict.fromkeys(by_name.get(entry, entry) for entry in groups))
