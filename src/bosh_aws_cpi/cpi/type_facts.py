"""Facts about instance types: from EC2, or from the built-in table if EC2 gives none."""

from collections.abc import Sequence

from bosh_aws_cpi.aws import instance_types
from bosh_aws_cpi.aws.sdk.errors import FAILURES, UNAUTHORIZED, describe_error, is_transient
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Instance, InstanceTypeFacts
from bosh_aws_cpi.plan import device_names
from bosh_aws_cpi.plan.instance_types import static_facts, tabled_facts


def type_facts(cloud: Cloud, names: Sequence[str]) -> dict[str, InstanceTypeFacts]:
    """Return the facts about instance types, by name: no answer is no reason not to launch a type."""
    if cloud.config.aws.enable_describe_instance_types:
        try:
            return instance_types.facts(cloud.ec2, names)
        except FAILURES as error:
            is_denied = UNAUTHORIZED(error)
            if not is_denied and not is_transient(error):
                raise
            why = "No permission for ec2:DescribeInstanceTypes" if is_denied else describe_error(error)
            remedy = (
                ". Allow the call, or set aws.enable_describe_instance_types to false" if is_denied else ""
            )
            logger.warning("%s: using a built-in table, which lacks newer types%s", why, remedy)
    return {name: static_facts(name) for name in names}


def facts_for_attaching(cloud: Cloud, instance: Instance) -> InstanceTypeFacts:
    """The facts for attaching a disk, usually without a call to EC2: a type's device names never change.

    EC2 is called for a type that is not in the built-in table, and for an instance with so many disks that
    the type's limit matters: AWS may have raised it.
    """
    name = instance.instance_type
    if device_names.free_names(instance.devices) and (tabled := tabled_facts(name)) is not None:
        return tabled
    return type_facts(cloud, [name])[name]
