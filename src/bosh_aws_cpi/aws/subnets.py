"""The subnets of managed networks: create, find, wait until available."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from bosh_aws_cpi.aws import tags
from bosh_aws_cpi.aws.sdk import clock, timing
from bosh_aws_cpi.aws.sdk.error_codes import NOT_FOUND_YET, SUBNET_MISSING, SUBNET_USED
from bosh_aws_cpi.aws.sdk.errors import described, has_code, looked_up, may_be_done
from bosh_aws_cpi.aws.sdk.filters import by_tags, exactly
from bosh_aws_cpi.aws.sdk.idempotency import (
    WITHOUT_TOKEN,
    create_once,
    is_recent,
    parsed_time,
    tags_of,
    written_time,
)
from bosh_aws_cpi.errors import CloudError, NetworkNotFound
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.records import EMPTY, Record

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ec2.type_defs import FilterTypeDef


CREATED_TAG: Final = "bosh_created"
"""The time in UTC when the CPI called CreateSubnet: EC2 does not report when a subnet was created."""
_FAILED: Final = frozenset({"failed", "failed-insufficient-capacity", "failing"})
"""States of a subnet, and of the association of its IPv6 range."""


class ManagedSubnet(Record):
    """A subnet as EC2 shows it."""

    subnet_id: str
    range: str
    """IPv4; empty for an IPv6-only subnet."""
    ipv6_ranges: Sequence[str] = ()
    tags: Mapping[str, str] = EMPTY
    is_failed: bool = False
    """Whether EC2 could not create it."""

    def __str__(self) -> str:
        return self.subnet_id

    def is_marked(self, mark: tuple[str, str]) -> bool:
        """Whether it has this tag, is recent, and did not fail.

        An older one belongs to another request with the same id.
        """
        key, value = mark
        created = parsed_time(self.tags.get(CREATED_TAG, ""))
        return self.tags.get(key) == value and is_recent(created) and not self.is_failed


def of_vpc(client: "EC2Client", vpc_id: str) -> list[ManagedSubnet]:
    """DescribeSubnets: all subnets of a VPC, including those that the CPI did not create."""
    return _listed(client, exactly("vpc-id", vpc_id))


def create(client: "EC2Client", arguments: Json, mark: tuple[str, str]) -> ManagedSubnet:
    """CreateSubnet; the subnet is pending.

    Args:
        mark: The key and value of one of the tags, by which the subnet is found if the answer is lost:
            CreateSubnet takes no client token.
    """
    return create_once(
        f"the subnet with the tag {mark[0]}={mark[1]}",
        lambda: _subnet(client.create_subnet(**arguments)["Subnet"]),
        lambda: next(
            (each for each in _listed(client, *by_tags(dict([mark]))) if each.is_marked(mark)), None
        ),
        WITHOUT_TOKEN,
    )


def wait_until_available(client: "EC2Client", subnet_id: str) -> None:
    """Wait until a new subnet, and the association of its IPv6 range, are usable.

    Raises:
        CloudError: EC2 could not create it, it is gone, or the wait timed out.
    """
    window = timing.VisibilityWindow()

    def probe() -> None:
        try:
            answer = client.describe_subnets(SubnetIds=[subnet_id])
        except client.exceptions.ClientError as error:
            if not has_code(error, SUBNET_MISSING):
                raise
            if window.is_lost:
                message = f"Subnet '{subnet_id}' is gone"
                raise CloudError(message) from error
            raise timing.NotYet("not visible yet") from None
        window.was_seen = True
        _check_state(answer["Subnets"][0])

    timing.until(timing.SUBNET_AVAILABLE, f"subnet '{subnet_id}' to be available", probe)


def _check_state(entry: Any) -> None:  # noqa: ANN401 - the SDK's typed dict, looked at by name
    associations = entry.get("Ipv6CidrBlockAssociationSet", [])
    states = [entry["State"], *(each["Ipv6CidrBlockState"]["State"] for each in associations)]
    if failed := [state for state in states if state in _FAILED]:
        message = f"EC2 could not create subnet '{entry['SubnetId']}': it is in state {failed[0]}"
        raise CloudError(message)
    if waiting := [state for state in states if state not in {"available", "associated"}]:
        raise timing.NotYet(waiting[0])


def _listed(client: "EC2Client", *filters: "FilterTypeDef") -> list[ManagedSubnet]:
    pages = client.get_paginator("describe_subnets").paginate(Filters=filters)
    return [_subnet(entry) for page in pages for entry in page["Subnets"]]


def _subnet(entry: Any) -> ManagedSubnet:  # noqa: ANN401 - the same
    return ManagedSubnet(
        subnet_id=entry["SubnetId"],
        range=entry.get("CidrBlock", ""),
        ipv6_ranges=[each["Ipv6CidrBlock"] for each in entry.get("Ipv6CidrBlockAssociationSet", [])],
        tags=tags_of(entry),
        is_failed=entry["State"] in _FAILED,
    )


def vpc_of_acl(client: "EC2Client", acl_id: str) -> str | None:
    """DescribeNetworkAcls: the id of a network ACL's VPC; None when EC2 does not know the ACL."""
    answer = client.describe_network_acls(Filters=[exactly("network-acl-id", acl_id)])
    return next((entry["VpcId"] for entry in answer["NetworkAcls"]), None)


def use_route_table(client: "EC2Client", subnet_id: str, table_id: str) -> None:
    """AssociateRouteTable for a new subnet; no error if the subnet already has that route table."""

    def associate() -> None:
        client.associate_route_table(SubnetId=subnet_id, RouteTableId=table_id)

    _once_seen(client, subnet_id, associate, lambda: _has_route_table(client, subnet_id, table_id))


def use_acl(client: "EC2Client", subnet_id: str, acl_id: str) -> None:
    """ReplaceNetworkAclAssociation for a new subnet, which has the VPC's default ACL at first.

    Raises:
        CloudError: EC2 shows no association of the subnet.
    """

    def find() -> tuple[str, str]:
        found = _acl_association(client, subnet_id)
        if found is None:
            raise timing.NotYet("its association is not visible yet")
        return found

    association_id, current = timing.until(timing.VISIBLE, f"the network ACL of subnet '{subnet_id}'", find)
    if current == acl_id:
        return

    def replace() -> None:
        client.replace_network_acl_association(AssociationId=association_id, NetworkAclId=acl_id)

    def is_replaced() -> bool:
        now = _acl_association(client, subnet_id)
        return now is not None and now[1] == acl_id

    _once_seen(client, subnet_id, replace, is_replaced)


def assign_public_addresses(client: "EC2Client", subnet_id: str) -> None:
    """ModifySubnetAttribute: interfaces of instances in the subnet get a public address by default."""
    timing.patiently(
        timing.VISIBLE,
        f"subnet '{subnet_id}' to become visible",
        NOT_FOUND_YET,
        lambda: client.modify_subnet_attribute(SubnetId=subnet_id, MapPublicIpOnLaunch={"Value": True}),
    )


def _once_seen(
    client: "EC2Client", subnet_id: str, call: Callable[[], object], is_done: Callable[[], bool]
) -> None:
    """Make a call about a new subnet, retried while EC2 does not know it.

    Args:
        is_done: Checks, after the call failed, whether an earlier attempt succeeded: EC2 refuses the second.
    """
    what = f"subnet '{subnet_id}' to become visible"
    try:
        timing.patiently(timing.VISIBLE, what, NOT_FOUND_YET, call)
    except client.exceptions.ClientError:
        if not looked_up(f"subnet '{subnet_id}'", is_done):
            raise


def _has_route_table(client: "EC2Client", subnet_id: str, table_id: str) -> bool:
    answer = client.describe_route_tables(Filters=[exactly("association.subnet-id", subnet_id)])
    return any(entry["RouteTableId"] == table_id for entry in answer["RouteTables"])


def _acl_association(client: "EC2Client", subnet_id: str) -> tuple[str, str] | None:
    """The id of a subnet's association with a network ACL, and the ACL's id."""
    answer = client.describe_network_acls(Filters=[exactly("association.subnet-id", subnet_id)])
    associations = (each for entry in answer["NetworkAcls"] for each in entry["Associations"])
    return next(
        (
            (each["NetworkAclAssociationId"], each["NetworkAclId"])
            for each in associations
            if each["SubnetId"] == subnet_id
        ),
        None,
    )


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
    found = client.describe_subnets(Filters=[exactly("subnet-id", subnet_id)])["Subnets"]
    return any(each["SubnetId"] == subnet_id for each in found)


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
    by_subnet = exactly("subnet-id", subnet_id)
    pages = client.get_paginator("describe_network_interfaces").paginate(Filters=[by_subnet])
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
    filters = [exactly("instance-id", *vm_cids), exactly("instance-state-name", *_ALIVE)]
    found = looked_up(", ".join(vm_cids), lambda: client.describe_instances(Filters=filters)["Reservations"])
    return bool(found)
