"""VPCs, subnets and availability zones: find; subnets: create, change, delete."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import network_interfaces, tags
from bosh_aws_cpi.aws.listings import list_by_values
from bosh_aws_cpi.aws.sdk import clock, errors, timing
from bosh_aws_cpi.aws.sdk.errors import ask_or_warn, call_unless, describe_error, may_have_taken_effect
from bosh_aws_cpi.aws.sdk.filters import by_tags, equals
from bosh_aws_cpi.aws.sdk.idempotency import (
    WITHOUT_TOKEN,
    create_once,
    format_time,
    is_recent,
    parse_time,
    tags_of,
)
from bosh_aws_cpi.errors import CloudError, NetworkNotFound
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Nic, Subnet
from bosh_aws_cpi.records import Record

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ec2.type_defs import FilterTypeDef

CREATED_TAG: Final = "bosh_created"
"""The time in UTC when the CPI called CreateSubnet: EC2 does not report when a subnet was created."""
DELETE_FAILED_TAG: Final = "bosh_delete_failed"
"""The time in UTC when delete_network failed because the subnet still had interfaces."""
_FAILED_SUBNET_STATES: Final = frozenset({"failed", "failed-insufficient-capacity", "failing"})
"""The states of a subnet, or of the association of its IPv6 range, that EC2 could not create."""
_USABLE_SUBNET_STATES: Final = frozenset({"available", "associated"})
_MAX_NICS: Final = 10
"""The maximum number of interfaces that an error lists."""
_ALIVE_STATES: Final = ("pending", "running", "stopping", "stopped")
"""The states in which an instance does not release its interfaces."""


class Vpc(Record):
    """A VPC.

    Attributes:
        ranges: The IPv4 ranges, the primary range first.
        ipv6_ranges: The IPv6 ranges.
        owner_id: The account that owns the VPC; its subnets may be shared with other accounts.
    """

    vpc_id: str
    ranges: Sequence[str]
    ipv6_ranges: Sequence[str] = ()
    owner_id: str = ""

    @property
    def cidrs(self) -> tuple[str, ...]:
        """All IPv4 and IPv6 ranges, the primary range first."""
        return (*self.ranges, *self.ipv6_ranges)


def find_vpc(client: "EC2Client", vpc_id: str) -> Vpc | None:
    """DescribeVpcs for one VPC; None when EC2 does not show the VPC."""
    for entry in client.describe_vpcs(Filters=[equals("vpc-id", vpc_id)])["Vpcs"]:
        ipv4 = [entry.get("CidrBlock"), *_associated_ranges(entry, "CidrBlock")]
        return Vpc(
            entry["VpcId"],
            list(dict.fromkeys(filter(None, ipv4))),
            _associated_ranges(entry, "Ipv6CidrBlock"),
            entry.get("OwnerId", ""),
        )
    return None


def has_dns(client: "EC2Client", vpc_id: str) -> bool:
    """Whether Amazon's DNS server answers in the VPC (DescribeVpcAttribute, enableDnsSupport)."""
    answer = client.describe_vpc_attribute(VpcId=vpc_id, Attribute="enableDnsSupport")
    return answer["EnableDnsSupport"].get("Value", True)


def zones(client: "EC2Client") -> set[str]:
    """DescribeAvailabilityZones: the names of the zones that the account can use, even constrained zones."""
    zones = client.describe_availability_zones()["AvailabilityZones"]
    return {each["ZoneName"] for each in zones if each["State"] != "unavailable"}


def ordinary_zones(client: "EC2Client") -> list[str]:
    """The region's availability zones where any disk can be created: no Local and no Wavelength Zones.

    Raises:
        CloudError: EC2 shows no such zone.
    """
    answer = client.describe_availability_zones(
        Filters=[equals("state", "available"), equals("zone-type", "availability-zone")]
    )
    zones = sorted(zone["ZoneName"] for zone in answer["AvailabilityZones"])
    if not zones:
        raise CloudError(
            "No availability zone in the region is available for the disk. "
            f"AWS shows none in region {client.meta.region_name}: see AWS's health dashboard"
        )
    return zones


def find_by_id(client: "EC2Client", subnet_ids: Iterable[str]) -> dict[str, Subnet]:
    """DescribeSubnets: the subnets with these ids that exist, by id."""
    entries = list_by_values(client, "describe_subnets", "Subnets", "subnet-id", subnet_ids, page=None)
    return {entry["SubnetId"]: _subnet(entry) for entry in entries}


def find_by_vpc(client: "EC2Client", vpc_id: str) -> list[Subnet]:
    """DescribeSubnets: all subnets of a VPC, including subnets that the CPI did not create."""
    return _describe(client, equals("vpc-id", vpc_id))


def is_marked(subnet: Subnet, mark: tuple[str, str]) -> bool:
    """Whether a subnet has this tag, is recent, and did not fail.

    An older subnet belongs to another request with the same request id.
    """
    key, value = mark
    created = parse_time(subnet.tags.get(CREATED_TAG, ""))
    return subnet.tags.get(key) == value and is_recent(created) and subnet.state not in _FAILED_SUBNET_STATES


def create(client: "EC2Client", arguments: Json, mark: tuple[str, str]) -> Subnet:
    """Call CreateSubnet, which takes no client token; the subnet is pending.

    Args:
        mark: The key and value of one of the tags, by which to find the subnet if the answer is lost.
    """
    return create_once(
        f"the subnet with the tag {mark[0]}={mark[1]}",
        lambda: _subnet(client.create_subnet(**arguments)["Subnet"]),
        lambda: next(
            (each for each in _describe(client, *by_tags(dict([mark]))) if is_marked(each, mark)), None
        ),
        WITHOUT_TOKEN,
    )


def wait_until_available(client: "EC2Client", subnet_id: str) -> None:
    """Wait until a new subnet, and the association of its IPv6 range, are usable.

    Raises:
        CloudError: EC2 could not create the subnet, the subnet is gone, or the wait timed out.
    """
    window = timing.VisibilityWindow()

    def probe() -> None:
        answer = call_unless(errors.SUBNET_MISSING, lambda: client.describe_subnets(SubnetIds=[subnet_id]))
        entry = window.check(answer, CloudError(f"Subnet '{subnet_id}' is gone"))["Subnets"][0]
        associations = entry.get("Ipv6CidrBlockAssociationSet", [])
        states = [entry["State"], *(each["Ipv6CidrBlockState"]["State"] for each in associations)]
        if failed := [state for state in states if state in _FAILED_SUBNET_STATES]:
            raise CloudError(f"EC2 could not create subnet '{subnet_id}': it is in state {failed[0]}")
        if waiting := [state for state in states if state not in _USABLE_SUBNET_STATES]:
            raise timing.NotYet(waiting[0])

    timing.poll(timing.SUBNET_AVAILABLE, f"subnet '{subnet_id}' to be available", probe)


def use_route_table(client: "EC2Client", subnet_id: str, table_id: str) -> None:
    """Associate a new subnet with a route table (AssociateRouteTable); no error if it already is."""

    def is_associated() -> bool:
        answer = client.describe_route_tables(Filters=[equals("association.subnet-id", subnet_id)])
        return any(entry["RouteTableId"] == table_id for entry in answer["RouteTables"])

    _retry_until_seen(
        subnet_id,
        lambda: client.associate_route_table(SubnetId=subnet_id, RouteTableId=table_id),
        is_associated,
    )


def use_acl(client: "EC2Client", subnet_id: str, acl_id: str) -> None:
    """Replace the ACL of a new subnet (ReplaceNetworkAclAssociation), which is the VPC's default at first.

    Raises:
        CloudError: EC2 shows no association of the subnet.
    """

    def associations() -> Iterator[tuple[str, str]]:
        answer = client.describe_network_acls(Filters=[equals("association.subnet-id", subnet_id)])
        for acl in answer["NetworkAcls"]:
            for each in acl["Associations"]:
                if each["SubnetId"] == subnet_id:
                    yield each["NetworkAclAssociationId"], each["NetworkAclId"]

    def association() -> tuple[str, str]:
        for entry in associations():
            return entry
        raise timing.NotYet("its association is not visible yet")

    what = f"the network ACL of subnet '{subnet_id}'"
    association_id, current = timing.poll(timing.VISIBLE, what, association)
    if current != acl_id:
        _retry_until_seen(
            subnet_id,
            lambda: client.replace_network_acl_association(AssociationId=association_id, NetworkAclId=acl_id),
            lambda: any(acl == acl_id for _, acl in associations()),
        )


def assign_public_addresses(client: "EC2Client", subnet_id: str) -> None:
    """Let instances in the subnet get a public address by default (ModifySubnetAttribute)."""
    timing.retry_until_visible(
        f"subnet '{subnet_id}'",
        lambda: client.modify_subnet_attribute(SubnetId=subnet_id, MapPublicIpOnLaunch={"Value": True}),
    )


def _retry_until_seen(subnet_id: str, call: Callable[[], object], is_done: Callable[[], bool]) -> None:
    """Make a call about a new subnet; retry while EC2 does not know the subnet.

    Args:
        is_done: Whether an earlier attempt succeeded, checked after a failure: EC2 refuses a second attempt.
    """
    try:
        timing.retry_until_visible(f"subnet '{subnet_id}'", call)
    except ClientError:
        if not ask_or_warn(f"subnet '{subnet_id}'", is_done):
            raise


def delete(client: "EC2Client", subnet_id: str) -> None:
    """Call DeleteSubnet; retry while VMs that were deleted still have interfaces in the subnet.

    EC2 also deletes the subnet's associations with a route table and a network ACL. A subnet that still has
    interfaces gets the tag `DELETE_FAILED_TAG`.

    Raises:
        NetworkNotFound: EC2 does not know the subnet.
        CloudError: The subnet still has interfaces; the message names them.
    """
    what = f"the interfaces in subnet '{subnet_id}'"
    can_look = True

    def attempt() -> None:
        nonlocal can_look
        try:
            client.delete_subnet(SubnetId=subnet_id)
        except ClientError as error:
            if errors.SUBNET_USED(error):
                nics = ask_or_warn(what, lambda: _staying_nics(client, subnet_id)) if can_look else None
                can_look = nics is not None  # one warning is enough
                if nics:
                    raise _in_use(client, subnet_id, nics, describe_error(error)) from error
                raise timing.NotYet(describe_error(error)) from error
            if not errors.SUBNET_MISSING(error):
                raise
            if not may_have_taken_effect(error):
                may_be_unseen = errors.NOT_FOUND_YET(error)  # eventual consistency
                if may_be_unseen and find_by_id(client, [subnet_id]):
                    raise timing.NotYet(describe_error(error)) from error
                raise NetworkNotFound(subnet_id) from error
            logger.info("Subnet '%s' was deleted by the call whose answer was lost", subnet_id)

    timing.poll(
        timing.SUBNET_RELEASED,
        f"subnet '{subnet_id}' to be released",
        attempt,
        lambda message: _in_use(
            client, subnet_id, ask_or_warn(what, lambda: _nics(client, subnet_id)) or [], message
        ),
        needs_answer=True,
    )


def discard(client: "EC2Client", subnet_id: str) -> None:
    """Discard a subnet that was just created, and that EC2 may not know yet."""
    logger.info("Deleting subnet '%s'", subnet_id)
    timing.discard(
        f"subnet '{subnet_id}'",
        lambda error: isinstance(error, NetworkNotFound),
        lambda: delete(client, subnet_id),
    )


def _in_use(client: "EC2Client", subnet_id: str, nics: Sequence[Nic], text: str) -> CloudError:
    """Tag a subnet that has interfaces, so that `cpi sweep` finds it, and return the error."""
    tags.try_to_create(client, subnet_id, {DELETE_FAILED_TAG: format_time(clock.now())})
    texts = [
        f"{nic} ({nic.status}, {nic.vm_cid or nic.description or 'no description'})"
        for nic in nics[:_MAX_NICS]
    ]
    texts += ["…"] if len(nics) > _MAX_NICS else []
    them = (
        "what uses them (AWS deletes those of a load balancer, NAT gateway or endpoint with it, perhaps an "
        "hour later)"
        if any(map(_is_of_aws, nics))
        else "them"
    )
    message = (
        f"Subnet '{subnet_id}' can't be deleted while it has interfaces: "
        f"{', '.join(texts) or 'EC2 did not list them'}. "
        f"Delete {them}, and then the subnet, by hand, because the Director does not retry this. {text}"
    )
    return CloudError(message)


def _nics(client: "EC2Client", subnet_id: str) -> list[Nic]:
    return list(network_interfaces.find_in_subnet(client, subnet_id))


def _staying_nics(client: "EC2Client", subnet_id: str) -> list[Nic]:
    """All interfaces, if an instance that is not ending keeps one of them, or AWS manages one; else none."""
    nics = _nics(client, subnet_id)
    if any(map(_is_of_aws, nics)):
        return nics
    vm_cids = {nic.vm_cid for nic in nics if nic.vm_cid}
    alive = list_by_values(
        client,
        "describe_instances",
        "Reservations",
        "instance-id",
        vm_cids,
        also=[equals("instance-state-name", *_ALIVE_STATES)],
        page=None,
    )
    return nics if any(True for _ in alive) else []


def _is_of_aws(nic: Nic) -> bool:
    """Whether AWS manages an interface, but for no instance."""
    return nic.is_managed and not nic.vm_cid


def _describe(client: "EC2Client", *filters: "FilterTypeDef") -> list[Subnet]:
    pages = client.get_paginator("describe_subnets").paginate(Filters=list(filters))
    return [_subnet(entry) for page in pages for entry in page["Subnets"]]


def _subnet(entry: Any) -> Subnet:  # noqa: ANN401 - the SDK's typed dict, read by name
    """Convert EC2's description of a subnet.

    An interface gets an IPv6 address if the subnet is IPv6-only, or assigns addresses on creation (EC2 API
    reference, Subnet: Ipv6Native, AssignIpv6AddressOnCreation).
    """
    families = {"IPv6"} if entry.get("Ipv6Native") else {"IPv4"}
    if entry.get("AssignIpv6AddressOnCreation"):
        families.add("IPv6")
    return Subnet(
        subnet_id=entry["SubnetId"],
        vpc_id=entry["VpcId"],
        availability_zone=entry["AvailabilityZone"],
        families=frozenset(families),
        state=entry.get("State", "available"),
        ranges=[*filter(None, [entry.get("CidrBlock")]), *_associated_ranges(entry, "Ipv6CidrBlock")],
        free=entry.get("AvailableIpAddressCount", 0),
        tags=tags_of(entry),
    )


def _associated_ranges(entry: Any, key: str) -> list[str]:  # noqa: ANN401 - the same
    """The ranges that are associated with a VPC or a subnet."""
    blocks = entry.get(f"{key}AssociationSet", [])
    return [each[key] for each in blocks if each[f"{key}State"]["State"] in {"associating", "associated"}]
