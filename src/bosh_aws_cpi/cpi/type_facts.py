"""What is known of instance types: from EC2, or from the built-in table where it may not be asked."""

from collections.abc import Sequence

from bosh_aws_cpi.aws import instance_types
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Instance, InstanceTypeFacts
from bosh_aws_cpi.plan import device_names
from bosh_aws_cpi.plan.instance_types import static_facts, tabled_facts


def type_facts(cloud: Cloud, names: Sequence[str]) -> dict[str, InstanceTypeFacts]:
    """The facts of instance types, by name."""
    if cloud.config.aws.enable_describe_instance_types:
        if (asked := instance_types.facts(cloud.ec2, names)) is not None:
            return asked
        logger.warning(
            "The account may not call ec2:DescribeInstanceTypes: a built-in table is used, which knows no "
            "types newer than itself. Allow the call, or set aws.enable_describe_instance_types to false"
        )
    return {name: static_facts(name) for name in names}


def facts_for_attaching(cloud: Cloud, instance: Instance) -> InstanceTypeFacts:
    """What attaching a disk depends on, mostly without asking: how a type shows disks never changes.

    EC2 is asked for a type that the built-in table does not have, and for an instance with so many disks
    that the type's limit counts, which AWS may have raised.
    """
    name = instance.instance_type
    if device_names.has_usual_name_free(instance.devices) and (tabled := tabled_facts(name)) is not None:
        return tabled
    return type_facts(cloud, [name])[name]
