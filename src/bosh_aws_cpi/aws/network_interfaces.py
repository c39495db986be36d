"""Elastic network interfaces that are made before the instance."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bosh_aws_cpi.aws import timing
from bosh_aws_cpi.aws.errors import NIC_IN_USE, NIC_MISSING, has_code
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import AddressHolder, Json, Nic

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client


def create(client: "EC2Client", arguments: Json) -> Nic:
    """CreateNetworkInterface; it is pending."""
    entry = client.create_network_interface(**arguments)["NetworkInterface"]
    return Nic(entry["NetworkInterfaceId"], entry["MacAddress"])


def wait_until_available(client: "EC2Client", nic_id: str) -> None:
    """Wait for a new interface to be usable.

    Raises:
        CloudError: It takes too long.
    """

    def probe() -> None:
        try:
            answer = client.describe_network_interfaces(NetworkInterfaceIds=[nic_id])
        except client.exceptions.ClientError as error:
            if has_code(error, NIC_MISSING):  # eventual consistency
                raise timing.NotYet("not to be seen yet") from None
            raise
        status = answer["NetworkInterfaces"][0]["Status"]
        if status != "available":
            raise timing.NotYet(status)

    timing.until(timing.NIC_AVAILABLE, f"network interface '{nic_id}' to be available", probe)


def holder(client: "EC2Client", subnet_id: str, address: str) -> AddressHolder | None:
    """Who holds an IPv4 or IPv6 address in a subnet; None when nobody does any more."""
    name = "ipv6-addresses.ipv6-address" if ":" in address else "addresses.private-ip-address"
    answer = client.describe_network_interfaces(
        Filters=[
            {"Name": "subnet-id", "Values": [subnet_id]},
            {"Name": name, "Values": [address]},
        ]
    )
    for entry in answer["NetworkInterfaces"]:
        vm_cid = entry.get("Attachment", {}).get("InstanceId")
        return AddressHolder(entry["NetworkInterfaceId"], entry["Status"], vm_cid)
    return None


def delete_on_termination(client: "EC2Client", attachments: Sequence[tuple[str, str]]) -> None:
    """Let interfaces end with their instance: RunInstances takes that only for those it makes.

    Args:
        client: The EC2 client.
        attachments: (interface id, attachment id) of each.
    """
    for nic_id, attachment_id in attachments:
        client.modify_network_interface_attribute(
            NetworkInterfaceId=nic_id,
            Attachment={"AttachmentId": attachment_id, "DeleteOnTermination": True},
        )


def discard(client: "EC2Client", nic: Nic, *, was_seen: bool) -> None:
    """Remove an interface; one that went with its instance is fine.

    It is repeated while EC2 still holds the interface for an instance that has ended.

    Args:
        client: The EC2 client.
        nic: The interface.
        was_seen: Whether EC2 has shown it since it was made; if not, its being unknown
            may pass.
    """
    logger.info("Removing network interface '%s'", nic.nic_id)

    def delete() -> None:
        timing.patiently(
            timing.NIC_RELEASED,
            f"network interface '{nic.nic_id}' to be released",
            NIC_IN_USE,
            lambda: client.delete_network_interface(NetworkInterfaceId=nic.nic_id),
        )

    timing.remove(
        f"network interface '{nic.nic_id}'",
        lambda error: has_code(error, NIC_MISSING),
        delete,
        timing.AT_ONCE if was_seen else timing.VISIBLE,
    )
