"""Deletes the subnets of managed networks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from bosh_aws_cpi.aws import tags
from bosh_aws_cpi.aws.sdk import clock, timing
from bosh_aws_cpi.aws.sdk.error_codes import NOT_FOUND_YET, SUBNET_MISSING, SUBNET_USED
from bosh_aws_cpi.aws.sdk.errors import described, has_code, looked_up, may_be_done
from bosh_aws_cpi.aws.sdk.idempotency import written_time
from bosh_aws_cpi.errors import CloudError, NetworkNotFound
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.records import Record

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ec2.type_defs import FilterTypeDef

_SHOWN: Final = 10
"""The maximum number of interfaces that an error lists."""
_ALIVE: Final = ["pending", "running", "stopping", "stopped"]
"""The states of instances that do not release their interfaces."""
_MOST_VALUES: Final = 200
"""EC2 accepts this many values in a filter (EC2 user guide, "List and filter your resources")."""
DELETE_FAILED_TAG: Final = "bosh_delete_failed"
"""On a subnet that still had interfaces when delete_network ended: the time in UTC."""


class _Interface(Record):
    """An interface in a subnet."""

    text: str
    """For errors."""
    vm_cid: str | None
    """The instance that it is attached to."""
    is_managed: bool
    """Whether AWS manages it for somebody, such as the owner of a load balancer."""


def delete(client: "EC2Client", subnet_id: str) -> None:
    """DeleteSubnet, retried while VMs that were deleted still have interfaces in the subnet.

    The subnet's associations with a route table and a network ACL are deleted with it. If it still has
    interfaces, it gets the tag `DELETE_FAILED_TAG`.

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
                if _are_staying(client, interfaces):
                    raise _in_use(client, subnet_id, interfaces, described(error)) from error
                raise timing.NotYet(described(error)) from error
            if not has_code(error, SUBNET_MISSING):
                raise
            if not may_be_done(error):
                if has_code(error, NOT_FOUND_YET) and _is_shown(client, subnet_id):
                    raise timing.NotYet(described(error)) from error
                raise NetworkNotFound(subnet_id) from error
            logger.info("Subnet '%s' was deleted by the call whose answer was lost", subnet_id)

    timing.until(
        timing.SUBNET_RELEASED,
        f"subnet '{subnet_id}' to be released",
        attempt,
        lambda said: _in_use(client, subnet_id, _interfaces(client, subnet_id), said),
    )


def discard(client: "EC2Client", subnet_id: str) -> None:
    """Discard a subnet that was just created: EC2 may not know it yet."""
    logger.info("Deleting subnet '%s'", subnet_id)
    timing.discard(
        f"subnet '{subnet_id}'",
        lambda error: isinstance(error, NetworkNotFound),
        lambda: delete(client, subnet_id),
    )


def _is_shown(client: "EC2Client", subnet_id: str) -> bool:
    """DescribeSubnets: whether EC2 shows a subnet that DeleteSubnet did not find (eventual consistency)."""
    by_id: list[FilterTypeDef] = [{"Name": "subnet-id", "Values": [subnet_id]}]
    return bool(client.describe_subnets(Filters=by_id)["Subnets"])


def _in_use(client: "EC2Client", subnet_id: str, interfaces: Sequence[_Interface], said: str) -> CloudError:
    """The error for a subnet that has interfaces; it also gets the tag by which a sweep finds it."""
    now = written_time(clock.now())
    tags.try_to_create(client, subnet_id, {DELETE_FAILED_TAG: now})
    texts = [*(each.text for each in interfaces[:_SHOWN]), *(["…"] if len(interfaces) > _SHOWN else [])]
    message = (
        f"Subnet '{subnet_id}' can't be deleted while it has interfaces: "
        f"{', '.join(texts) or 'EC2 did not list them'}. "
        f"Delete them, and then the subnet, by hand, because the Director does not retry this. {said}"
    )
    return CloudError(message)


def _interfaces(client: "EC2Client", subnet_id: str) -> list[_Interface]:
    """DescribeNetworkInterfaces: the interfaces in a subnet; none if the call fails."""
    by_subnet: list[FilterTypeDef] = [{"Name": "subnet-id", "Values": [subnet_id]}]
    pages = client.get_paginator("describe_network_interfaces").paginate(Filters=by_subnet)
    found = looked_up(
        f"the interfaces in subnet '{subnet_id}'",
        lambda: [_interface(entry) for page in pages for entry in page["NetworkInterfaces"]],
    )
    return found or []


def _interface(entry: Any) -> _Interface:  # noqa: ANN401 - the SDK's typed dict, looked at by name
    vm_cid = entry.get("Attachment", {}).get("InstanceId")
    what = vm_cid or entry.get("Description") or "no description"
    text = f"{entry['NetworkInterfaceId']} ({entry['Status']}, {what})"
    return _Interface(text, vm_cid, is_managed=entry.get("RequesterManaged", False))


def _are_staying(client: "EC2Client", interfaces: Sequence[_Interface]) -> bool:
    """Whether an instance, or AWS for somebody, keeps one of the interfaces."""
    if any(each.is_managed and not each.vm_cid for each in interfaces):
        return True
    vm_cids = sorted({each.vm_cid for each in interfaces if each.vm_cid})
    parts = (vm_cids[start : start + _MOST_VALUES] for start in range(0, len(vm_cids), _MOST_VALUES))
    return any(_is_one_alive(client, part) for part in parts)


def _is_one_alive(client: "EC2Client", vm_cids: Sequence[str]) -> bool:
    """DescribeInstances: whether one of these instances is not ending; False if EC2 does not say so."""
    filters: list[FilterTypeDef] = [
        {"Name": "instance-id", "Values": vm_cids},
        {"Name": "instance-state-name", "Values": _ALIVE},
    ]
    found = looked_up(", ".join(vm_cids), lambda: client.describe_instances(Filters=filters)["Reservations"])
    return bool(found)
