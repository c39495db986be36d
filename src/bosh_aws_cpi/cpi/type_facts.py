"""What is known of instance types: from EC2, or from the built-in table where it may not be asked."""

from collections.abc import Sequence

from bosh_aws_cpi.aws import instance_types
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import InstanceTypeFacts
from bosh_aws_cpi.plan.instance_types import static_facts


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
