"""Elastic IP addresses."""

from typing import TYPE_CHECKING, Final

from bosh_aws_cpi.aws import timing
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.log import logger

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

_NOT_READY: Final = frozenset(
    {"IncorrectInstanceState", "InvalidInstanceID", "InvalidNetworkInterfaceID.NotFound"}
)


def allocation(client: "EC2Client", ip: str) -> str:
    """DescribeAddresses: the allocation id of an elastic IP.

    Raises:
        CloudError: The account has no such address for VPCs.
    """
    answer = client.describe_addresses(
        Filters=[{"Name": "public-ip", "Values": [ip]}, {"Name": "domain", "Values": ["vpc"]}]
    )
    for entry in answer["Addresses"]:
        if holder := entry.get("InstanceId"):
            logger.info("Elastic IP %s is taken over from instance '%s'", ip, holder)
        return entry["AllocationId"]
    message = f"Elastic IP with VPC scope not found with address '{ip}'"
    raise CloudError(message)


def associate(client: "EC2Client", allocation_id: str, nic_id: str) -> None:
    """AssociateAddress, repeated while EC2 says that the instance is not ready for it."""
    timing.patiently(
        timing.ADDRESS_ASSOCIATED,
        f"network interface '{nic_id}' to take an elastic IP",
        _NOT_READY,
        lambda: client.associate_address(AllocationId=allocation_id, NetworkInterfaceId=nic_id),
    )
