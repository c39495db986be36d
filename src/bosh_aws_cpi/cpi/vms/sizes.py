"""calculate_vm_cloud_properties: cloud properties for a VM of a given size, without a call to AWS."""

from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.plan import vm_sizes


def calculate_vm_cloud_properties(cloud: Cloud, desired_instance_size: Json) -> Json:
    """Name the smallest known instance type for a size (contract: calculate_vm_cloud_properties).

    Args:
        cloud: For its configuration.
        desired_instance_size: ``cpu``, ``ram`` (MiB), ``ephemeral_disk_size`` (MB).

    Raises:
        CloudError: A key is missing, a configured family is unknown, or no known type is large enough.
    """
    sizes = vm_sizes.of_families(cloud.config.aws.vm_resources_families)
    return vm_sizes.cloud_properties(desired_instance_size, sizes)
