"""VPCs, their subnets, and the zones: find, create, delete."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from bosh_aws_cpi.aws import tags
from bosh_aws_cpi.aws.listings import listed
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
from bosh_aws_cpi.model import Subnet
from bosh_aws_cpi.records import EMPTY, Record

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ec2.type_defs import FilterTypeDef, SubnetTypeDef


NOT_BLOCKED: Final = "off"
BLOCK_INGRESS: Final = "block-ingress"
BLOCK_BIDIRECTIONAL: Final = "block-bidirectional"
"""The modes of VPC Block Public Access (EC2's API model, BlockPublicAccessMode)."""

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


class SubnetFacts(Record):
    """A subnet.

    Attributes:
        state: "available", or why no VM can be created in it.
        ranges: Its ranges in CIDR notation: at most one of IPv4, and those of IPv6.
        free: The number of its free IPv4 addresses.
        families: Those of the addresses that it gives interfaces, as in `Subnet`.
        block_mode: The mode of VPC Block Public Access that exclusions leave for it.
    """

    subnet_id: str
    vpc_id: str
    zone: str
    state: str
    ranges: tuple[str, ...]
    free: int
    families: frozenset[str] = frozenset({"IPv4"})
    block_mode: str = NOT_BLOCKED


def by_id(client: "EC2Client", ids: Iterable[str]) -> dict[str, SubnetFacts]:
    """DescribeSubnets: those of these subnets that exist, by id."""
    return {
        each["SubnetId"]: SubnetFacts(
            each["SubnetId"],
            each["VpcId"],
            each["AvailabilityZone"],
            each.get("State", "available"),
            tuple(_ranges(each)),
            each.get("AvailableIpAddressCount", 0),
            _families(each),
            block_mode(each),
        )
        for each in listed(client, "describe_subnets", "Subnets", "subnet-id", ids)
    }


def _ranges(entry: Any) -> Iterator[str]:  # noqa: ANN401 - one of the SDK's typed dicts
    if entry.get("CidrBlock"):
        yield entry["CidrBlock"]
    for block in entry.get("Ipv6CidrBlockAssociationSet", []):
        if block.get("Ipv6CidrBlockState", {}).get("State", "associated") == "associated":
            yield block["Ipv6CidrBlock"]


def find_all(client: "EC2Client", subnet_ids: Sequence[str]) -> dict[str, Subnet]:
    """DescribeSubnets, by id.

    Raises:
        CloudError: EC2 does not know one of them.
    """
    wanted = sorted(set(subnet_ids))
    answer = client.describe_subnets(Filters=[exactly("subnet-id", *wanted)])
    found = {entry["SubnetId"]: _placed(entry) for entry in answer["Subnets"]}
    missing = [subnet_id for subnet_id in wanted if subnet_id not in found]
    if missing:
        message = (
            f"Subnet not found: {', '.join(missing)}. "
            "Check subnet and subnet_fallbacks in the networks' cloud_properties"
        )
        raise CloudError(message)
    return found


def _families(entry: "SubnetTypeDef") -> frozenset[str]:
    """The families, "IPv4" and "IPv6", of the addresses that a subnet gives an interface that names none.

    An interface gets an IPv6 address if the subnet is IPv6-only, or assigns one on creation (EC2 API
    reference, Subnet: Ipv6Native, AssignIpv6AddressOnCreation).
    """
    if entry.get("Ipv6Native", False):
        return frozenset({"IPv6"})
    return frozenset({"IPv4", "IPv6"} if entry.get("AssignIpv6AddressOnCreation", False) else {"IPv4"})


def zones(client: "EC2Client") -> set[str]:
    """DescribeAvailabilityZones: the region's zones that the account can use, also with restrictions."""
    zones = client.describe_availability_zones()["AvailabilityZones"]
    return {each["ZoneName"] for each in zones if each["State"] != "unavailable"}


def ordinary_zones(client: "EC2Client") -> list[str]:
    """The region's availability zones without Local and Wavelength Zones: any disk can be created there.

    Raises:
        CloudError: There is none.
    """
    answer = client.describe_availability_zones(
        Filters=[exactly("state", "available"), exactly("zone-type", "availability-zone")]
    )
    zones = sorted(zone["ZoneName"] for zone in answer["AvailabilityZones"])
    if not zones:
        message = (
            "No availability zone in the region is available for the disk. "
            f"AWS shows none in region {client.meta.region_name}: see AWS's health dashboard"
        )
        raise CloudError(message)
    return zones


def _placed(entry: "SubnetTypeDef") -> Subnet:
    return Subnet(entry["SubnetId"], entry["VpcId"], entry["AvailabilityZone"], _families(entry))


class Vpc(Record):
    """A VPC.

    Attributes:
        ranges: Its ranges of IPv4 addresses; the first is the primary one.
        ipv6_ranges: Its ranges of IPv6 addresses.
        owner_id: The account that owns it; its subnets may be shared with others.
        dhcp_options_id: "dopt-…", or "default" when it has none.
        block_mode: Its mode of VPC Block Public Access; exclusions of subnets only show in their own modes.
    """

    vpc_id: str
    ranges: Sequence[str]
    ipv6_ranges: Sequence[str] = ()
    owner_id: str = ""
    dhcp_options_id: str = "default"
    block_mode: str = NOT_BLOCKED

    @property
    def cidrs(self) -> tuple[str, ...]:
        """All its ranges; the first is the primary one."""
        return (*self.ranges, *self.ipv6_ranges)


def find_vpc(client: "EC2Client", vpc_id: str) -> Vpc | None:
    """DescribeVpcs for one VPC; None when EC2 does not show it."""
    answer = client.describe_vpcs(Filters=[exactly("vpc-id", vpc_id)])
    return next(map(_vpc, answer["Vpcs"]), None)


def _vpc(entry: Any) -> Vpc:  # noqa: ANN401 - the SDK's typed dict, looked at by name
    ipv4 = [entry.get("CidrBlock"), *_associated(entry, "CidrBlock")]
    return Vpc(
        entry["VpcId"],
        list(dict.fromkeys(filter(None, ipv4))),
        _associated(entry, "Ipv6CidrBlock"),
        entry.get("OwnerId", ""),
        entry.get("DhcpOptionsId", "default"),
        block_mode(entry),
    )


def _associated(entry: Any, key: str) -> list[str]:  # noqa: ANN401
    """The ranges that can be used."""
    blocks = entry.get(f"{key}AssociationSet", [])
    return [each[key] for each in blocks if each[f"{key}State"]["State"] == "associated"]


def block_mode(entry: Any) -> str:  # noqa: ANN401
    """The mode of VPC Block Public Access of a VPC or a subnet, as EC2 describes it."""
    return str(entry.get("BlockPublicAccessStates", {}).get("InternetGatewayBlockMode", NOT_BLOCKED))


def has_dns(client: "EC2Client", vpc_id: str) -> bool:
    """DescribeVpcAttribute: whether the VPC's own DNS server, Amazon's, answers (enableDnsSupport)."""
    answer = client.describe_vpc_attribute(VpcId=vpc_id, Attribute="enableDnsSupport")
    return answer["EnableDnsSupport"].get("Value", True)


def dns_servers(client: "EC2Client", dhcp_options_id: str) -> tuple[str, ...]:
    """DescribeDhcpOptions: the DNS servers that DHCP tells the VM, "AmazonProvidedDNS" or addresses."""
    answer = client.describe_dhcp_options(Filters=[exactly("dhcp-options-id", dhcp_options_id)])
    return tuple(
        value["Value"]
        for options in answer["DhcpOptions"]
        for configuration in options.get("DhcpConfigurations", [])
        if configuration["Key"] == "domain-name-servers"
        for value in configuration.get("Values", [])
    )
