"""Elastic IP addresses."""

from typing import TYPE_CHECKING, Any

from bosh_aws_cpi.aws import network_interfaces
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.errors import NOT_ASSOCIABLE_YET, ask_or_warn
from bosh_aws_cpi.aws.sdk.filters import equals
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.records import Record

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ec2.type_defs import AddressTypeDef


class ElasticIp(Record):
    """An elastic IP address."""

    ip: str
    allocation_id: str
    nic_id: str | None = None
    """The network interface that the address is associated with."""
    private_ip: str | None = None
    """The interface's private address that the elastic IP is associated with."""


def find(client: "EC2Client", ip: str) -> ElasticIp:
    """DescribeAddresses for one elastic IP.

    Raises:
        CloudError: The account has no such address, or a service of AWS holds it.
    """
    answer = client.describe_addresses(Filters=[equals("public-ip", ip)])
    for entry in answer["Addresses"]:
        nic_id = entry.get("NetworkInterfaceId")
        if holder := _service_with(client, entry):
            raise CloudError(
                f"Elastic IP {ip} can't move to the VM: {holder} has it. Allocate another one and correct "
                "the static IP of the vip network, or delete the resource that has it"
            )
        if nic_id:
            logger.info("Elastic IP %s will move to the VM from network interface '%s'", ip, nic_id)
        return ElasticIp(ip, entry["AllocationId"], nic_id, entry.get("PrivateIpAddress"))
    raise CloudError(
        f"Elastic IP with VPC scope not found with address '{ip}'. Allocate it in region "
        f"{client.meta.region_name} in this account, or correct the static IP of the vip network"
    )


def _service_with(client: "EC2Client", entry: "AddressTypeDef") -> str:
    """The service of AWS, such as a NAT gateway, that holds an address and can't give it up; empty without.

    Only an address that an interface without an instance holds costs a call.
    """
    if service := entry.get("ServiceManaged"):
        return f"the service {service}"
    nic_id = entry.get("NetworkInterfaceId")
    if not nic_id or entry.get("InstanceId"):
        return ""
    nic = ask_or_warn(f"the holder of {nic_id}", lambda: network_interfaces.find(client, nic_id))
    return f"'{nic_id}' of AWS's ({nic.description})" if nic is not None and nic.is_managed else ""


def associate(client: "EC2Client", allocation_id: str, nic_id: str, private_ip: str | None = None) -> None:
    """Call AssociateAddress; retry while EC2 answers that the instance is not ready.

    Args:
        nic_id: The interface that gets the elastic IP, even if another interface has it now.
        private_ip: The private address of the interface to use; None for the primary address.
    """
    which: Any = {"PrivateIpAddress": private_ip} if private_ip else {}
    timing.retry_on_codes(
        timing.ADDRESS_ASSOCIATED,
        f"network interface '{nic_id}' to accept an elastic IP",
        NOT_ASSOCIABLE_YET,
        lambda: client.associate_address(AllocationId=allocation_id, NetworkInterfaceId=nic_id, **which),
    )
