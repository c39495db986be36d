"""calculate_vm_cloud_properties: cloud properties for a VM of a given size, by default without AWS."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.plan import vm_sizes

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client


def calculate_vm_cloud_properties(cloud: Cloud, desired_instance_size: Json) -> Json:
    """Name the smallest known instance type for a size (contract: calculate_vm_cloud_properties).

    Args:
        cloud: For its configuration.
        desired_instance_size: ``cpu``, ``ram`` (MiB), ``ephemeral_disk_size`` (MB).

    Raises:
        CloudError: A key is missing, a configured family is unknown, or no known type is large enough or
            offered.
    """
    aws = cloud.config.aws
    sizes = vm_sizes.of_families(aws.vm_resources_families)
    if aws.vm_resources_by_region:
        sizes = offered_sizes(aws, lambda: cloud.ec2, sizes)
    return vm_sizes.cloud_properties(desired_instance_size, sizes)


def offered_sizes(
    aws: AwsConfig, ec2: "Callable[[], EC2Client]", sizes: Sequence[vm_sizes.VmSize]
) -> Sequence[vm_sizes.VmSize]:
    """The types that the region offers, of those given; all of them if EC2 does not say which it does.

    Args:
        aws: The configuration.
        ec2: Creates the client.
        sizes: The types to choose from.

    Raises:
        CloudError: The region offers none of them.
    """
    from bosh_aws_cpi.aws.instance_types import offered_names  # noqa: PLC0415 - loads botocore

    names = offered_names(aws, ec2, [size.name for size in sizes])
    return sizes if names is None else vm_sizes.keep_offered(sizes, names, aws.region)
