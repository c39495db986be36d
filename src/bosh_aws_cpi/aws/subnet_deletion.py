"""Deletes the subnets of managed networks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.error_codes import SUBNET_MISSING, SUBNET_USED
from bosh_aws_cpi.aws.sdk.errors import described, has_code, may_be_done
from bosh_aws_cpi.errors import CloudError, NetworkNotFound
from bosh_aws_cpi.log import logger

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

_SHOWN: Final = 10
"""The maximum number of interfaces that an error lists."""
_ALIVE: Final = ["pending", "running", "stopping", "stopped"]
"""The states of instances that do not release their interfaces."""


@dataclass(frozen=True)
class _Interface:
    """An interface in a subnet."""

    text: str
    """For errors."""
    vm_cid: str | None
    """The instance that it is attached to."""


def delete(client: "EC2Client", subnet_id: str) -> None:
    """DeleteSubnet, retried while VMs that were deleted still have interfaces in the subnet.

    The subnet's associations with a route table and a network ACL are deleted with it.

    Raises:
        NetworkNotFound: EC2 does not know it.
        CloudError: It still has interfaces; the message names them.
    """

    def attempt() -> None:
        try:
            client.delete_subnet(SubnetId=subnet_id)
        except client.exceptions.ClientError as error:
            if has_code(error, SUBNET_USED):
                interfaces = _interfaces(client, subnet_id)
                if _has_living_vm(client, interfaces):
                    raise _in_use(subnet_id, interfaces, described(error)) from error
                raise timing.NotYet(described(error)) from error
            if not has_code(error, SUBNET_MISSING):
                raise
            if not may_be_done(error):
                raise NetworkNotFound(subnet_id) from error
            logger.info("Subnet '%s' was deleted by the call whose answer was lost", subnet_id)

    timing.until(
        timing.SUBNET_RELEASED,
        f"subnet '{subnet_id}' to be released",
        attempt,
        lambda said: _in_use(subnet_id, _interfaces(client, subnet_id), said),
    )


def discard(client: "EC2Client", subnet_id: str) -> None:
    """Discard a subnet that was just created: EC2 may not know it yet."""
    logger.info("Deleting subnet '%s'", subnet_id)
    timing.discard(
        f"subnet '{subnet_id}'",
        lambda error: isinstance(error, NetworkNotFound),
        lambda: delete(client, subnet_id),
    )


def _in_use(subnet_id: str, interfaces: Sequence[_Interface], said: str) -> CloudError:
    texts = [*(each.text for each in interfaces[:_SHOWN]), *(["…"] if len(interfaces) > _SHOWN else [])]
    message = (
        f"Subnet '{subnet_id}' can't be deleted while it has interfaces: "
        f"{', '.join(texts) or 'EC2 did not list them'}. "
        f"Delete them, and then the subnet, by hand, because the Director does not retry this. {said}"
    )
    return CloudError(message)


def _interfaces(client: "EC2Client", subnet_id: str) -> list[_Interface]:
    """DescribeNetworkInterfaces: the interfaces in a subnet; none if the call fails."""
    try:
        pages = client.get_paginator("describe_network_interfaces").paginate(
            Filters=[{"Name": "subnet-id", "Values": [subnet_id]}]
        )
        return [_interface(entry) for page in pages for entry in page["NetworkInterfaces"]]
    except (ClientError, BotoCoreError) as error:
        logger.warning("Could not list the interfaces in subnet '%s': %s", subnet_id, described(error))
        return []


def _interface(entry: Any) -> _Interface:  # noqa: ANN401 - the SDK's typed dict, looked at by name
    vm_cid = entry.get("Attachment", {}).get("InstanceId")
    what = vm_cid or entry.get("Description") or "no description"
    return _Interface(f"{entry['NetworkInterfaceId']} ({entry['Status']}, {what})", vm_cid)


def _has_living_vm(client: "EC2Client", interfaces: Sequence[_Interface]) -> bool:
    """DescribeInstances: whether an interface belongs to a VM that is not ending; False if the call fails."""
    if not (vm_cids := sorted({each.vm_cid for each in interfaces if each.vm_cid})):
        return False
    filters = [
        {"Name": "instance-id", "Values": vm_cids},
        {"Name": "instance-state-name", "Values": _ALIVE},
    ]
    try:
        return bool(client.describe_instances(Filters=filters)["Reservations"])  # type: ignore[arg-type]
    except (ClientError, BotoCoreError) as error:
        logger.warning("Could not look up %s: %s", ", ".join(vm_cids), described(error))
        return False
