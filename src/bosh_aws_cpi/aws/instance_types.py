"""What EC2 says of instance types."""

from typing import TYPE_CHECKING

from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import InstanceTypeFacts

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client


def facts(client: "EC2Client", name: str) -> InstanceTypeFacts:
    """DescribeInstanceTypes for one type; one that EC2 does not know is taken as one without NVMe."""
    try:
        found = client.describe_instance_types(InstanceTypes=[name])["InstanceTypes"]  # type: ignore[list-item]
    except client.exceptions.ClientError as error:
        if error.response["Error"].get("Code") not in {"InvalidInstanceType", "InvalidParameterValue"}:
            raise
        found = []
    if not found:
        logger.warning("EC2 does not know instance type '%s': taken as one without NVMe", name)
        return InstanceTypeFacts(name, ebs_needs_nvme_path=False)
    nvme = found[0].get("EbsInfo", {}).get("NvmeSupport")
    return InstanceTypeFacts(name, ebs_needs_nvme_path=nvme == "required")
