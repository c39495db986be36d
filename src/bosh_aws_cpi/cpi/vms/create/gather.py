"""create_vm's second stage: looks up what the VM needs in AWS. It only reads."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from bosh_aws_cpi.aws import firewalls, images, launch_templates, volumes
from bosh_aws_cpi.aws import subnets as aws_subnets
from bosh_aws_cpi.aws.sdk.errors import FAILURES
from bosh_aws_cpi.aws.sdk.translation import explain
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.lookup import Ask, ask_now
from bosh_aws_cpi.cpi.type_facts import type_facts
from bosh_aws_cpi.cpi.vms.create.parse import WantedVm
from bosh_aws_cpi.cpi.vms.create.spread import known_group
from bosh_aws_cpi.cpi.vms.create.traffic import look_up
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Image, InstanceTypeFacts, Subnet, TemplateVersion, Volume
from bosh_aws_cpi.plan import nics
from bosh_aws_cpi.plan.spread import SpreadGroup
from bosh_aws_cpi.records import Record

if TYPE_CHECKING:
    from bosh_aws_cpi.cpi.vms.create.traffic import Traffic


class VmFacts(Record):
    """What AWS says. `cpi check` may lack some of it."""

    image: Image
    types: Mapping[str, InstanceTypeFacts]
    """The instance types, by name."""
    subnets: Mapping[str, Subnet] | None
    """The subnets that exist, by id; None if that is not known."""
    disks: Sequence[Volume]
    spread: SpreadGroup | None
    """The placement group of the VM's instance group, if it is launched into it."""
    template: TemplateVersion | None
    group_ids: Sequence[str]
    """The ids of the security groups."""
    traffic: "Traffic | None"
    """Routes, load balancers and an elastic IP, if the VM gets traffic from any."""


UNKNOWN_IMAGE = Image("ami-0", "/dev/xvda", "hvm", "", ["/dev/xvda"], [], is_encrypted=True)
"""Stands for an AMI that `cpi check` does not know."""


def gather(cloud: Cloud, wanted: WantedVm, ask: Ask = ask_now) -> VmFacts:
    """Look up what the VM needs.

    Args:
        cloud: The cloud.
        wanted: What create_vm's arguments ask for.
        ask: Makes each lookup.

    Raises:
        CloudError: Something does not exist, or can't be used.
    """
    properties = wanted.properties
    image = ask("stemcell", lambda: find_image(cloud, wanted.arguments.stemcell_cid))
    types = ask("instance_type", lambda: type_facts(cloud, properties.instance_types)) or {}
    subnets = ask("subnets", lambda: aws_subnets.find_by_id(cloud.ec2, wanted.subnet_ids))
    disk_cids, template, group = wanted.arguments.disk_cids, properties.launch_template, wanted.spread
    disks = ask("", lambda: volumes.find_all(cloud.ec2, disk_cids)) if disk_cids else None
    vpc_id = _vpc_id(wanted, subnets or {})
    return VmFacts(
        image=image or UNKNOWN_IMAGE,
        types=types,
        subnets=subnets,
        disks=disks or (),
        spread=_spread_group(cloud, wanted, types, group, ask) if group else None,
        template=ask("launch_template", lambda: launch_templates.describe_version(cloud.ec2, template))
        if template
        else None,
        group_ids=_group_ids(cloud, wanted.groups, vpc_id, ask) if vpc_id else (),
        traffic=look_up(cloud, wanted, subnets, vpc_id, ask) if vpc_id and subnets else None,
    )


def _vpc_id(wanted: WantedVm, subnets: Mapping[str, Subnet]) -> str | None:
    """The VPC of all the VM's subnets; None if one is missing, or they are in several, as the plan says."""
    vpc_ids = {subnet.vpc_id for subnet in subnets.values()}
    return vpc_ids.pop() if len(vpc_ids) == 1 and subnets.keys() >= {*wanted.subnet_ids} else None


def find_image(cloud: Cloud, stemcell_cid: str) -> Image:
    """The AMI of a stemcell.

    Raises:
        CloudError: It does not exist, or is disabled.
    """
    image = images.find(cloud.ec2, images.ami_id_of(stemcell_cid))
    if image is None:
        aws = cloud.config.aws
        role = f" with aws.role_arn '{aws.role_arn}'" if aws.role_arn else ""
        message = (
            f"could not find AMI '{images.ami_id_of(stemcell_cid)}'. It does not exist in region "
            f"{aws.region}{role}, or its owner does not share it with this account: upload the stemcell "
            "again (bosh upload-stemcell --fix), or correct aws.region"
        )
        if stemcell_cid.endswith(images.LIGHT_SUFFIX):  # an AMI of the account itself is never hidden
            message = ". ".join(filter(None, [message, images.allowed_images_hint(cloud.ec2)]))
        raise CloudError(message)
    if image.state == "disabled":
        raise CloudError(
            f"AMI '{image.ami_id}' is disabled: no VM can be launched from it. Enable it (aws ec2 "
            "enable-image), or upload the stemcell again: bosh upload-stemcell --fix"
        )
    return image


def _spread_group(
    cloud: Cloud, wanted: WantedVm, types: Mapping[str, InstanceTypeFacts], group: SpreadGroup, ask: Ask
) -> SpreadGroup | None:
    """The placement group as EC2 knows it; None if EC2 launches none of the VM's types into such groups.

    If EC2 does not answer, a VM that only prefers the group avoids it.
    """
    is_preferred = wanted.properties.spread is not True
    if is_preferred and types and all("spread" in facts.lacks for facts in types.values()):
        logger.info("Not spread: EC2 launches none of the VM's types into a spread placement group")
        return None
    try:
        return ask("spread", lambda: known_group(cloud, group))
    except FAILURES as error:
        if not is_preferred:
            raise
        logger.warning("Not spread: %s", explain(error))
        return group.replace(is_avoided=True)


def _group_ids(cloud: Cloud, groups: Mapping[str, str], vpc_id: str, ask: Ask) -> list[str]:
    """The ids of security groups; EC2 is called only if some are given by name."""
    names = [entry for entry in groups if not nics.is_group_id(entry)]
    if not names:
        return [*groups]
    by_name = ask(groups[names[0]], lambda: firewalls.security_group_ids(cloud.ec2, vpc_id, names))
    if by_name is None:
        return []
    group_ids = [
        ask(key, partial(firewalls.require_one, entry, by_name[entry], vpc_id)) if entry in by_name else entry
        for entry, key in groups.items()
    ]
    return [each for each in dict.fromkeys(group_ids) if each is not None]
