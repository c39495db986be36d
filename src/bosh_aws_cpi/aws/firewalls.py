"""Security groups and network ACLs, which filter traffic in a VPC: look-ups and their rules.

`subnets` assigns a managed network's ACL.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from bosh_aws_cpi.aws.listings import list_by_values
from bosh_aws_cpi.aws.sdk.filters import equals
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.records import Record

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ec2.type_defs import IpPermissionOutputTypeDef, NetworkAclEntryTypeDef

ALL: Final = "-1"
"""The protocol of a rule for all protocols."""
ANY_PORT: Final = (0, 65535)
"""The ports of a rule that names no ports."""


class GroupRule(Record):
    """A rule of a security group, which allows traffic to or from each of these ranges, groups and lists."""

    protocol: str
    """"tcp", "udp", another protocol's name or number, or `ALL`."""
    ports: tuple[int, int]
    """The first and the last port."""
    cidrs: tuple[str, ...] = ()
    """Ranges of IPv4 and IPv6 addresses."""
    group_ids: tuple[str, ...] = ()
    """Security groups: the rule is for the private addresses of their members."""
    prefix_lists: tuple[str, ...] = ()
    """Managed prefix lists, without their entries."""


class Group(Record):
    """A security group.

    Attributes:
        vpc_id: The VPC in which the group was created.
    """

    group_id: str
    name: str
    vpc_id: str
    ingress: tuple[GroupRule, ...] = ()
    egress: tuple[GroupRule, ...] = ()


class AclRule(Record):
    """A rule of a network ACL."""

    number: int
    """The rule's number: EC2 applies the matching rule with the lowest number."""
    protocol: str
    """The protocol's number, "6" for TCP, or `ALL`."""
    ports: tuple[int, int]
    """The first and the last port."""
    cidr: str
    """A range of IPv4 or IPv6 addresses."""
    is_allowing: bool
    is_egress: bool


class Acl(Record):
    """A network ACL."""

    acl_id: str
    vpc_id: str
    subnet_ids: frozenset[str]
    rules: tuple[AclRule, ...]


def security_group_ids(client: "EC2Client", vpc_id: str, names: Sequence[str]) -> dict[str, list[str]]:
    """Look up security groups of a VPC by name, all with one DescribeSecurityGroups.

    Returns:
        The ids of the groups with each name; `require_one` selects.
    """
    pages = client.get_paginator("describe_security_groups").paginate(
        Filters=[equals("vpc-id", vpc_id), equals("group-name", *sorted(set(names)))]
    )
    groups = [(group["GroupName"], group["GroupId"]) for page in pages for group in page["SecurityGroups"]]
    return {name: [group_id for known, group_id in groups if known == name] for name in names}


def require_one(name: str, group_ids: Sequence[str], vpc_id: str) -> str:
    """Return the id of the only group with a name.

    Raises:
        CloudError: The VPC has no group of that name, or several.
    """
    if not group_ids:
        raise CloudError(
            f"Security group not found with name '{name}'. The subnet's VPC {vpc_id} has none of that name: "
            "correct security_groups or aws.default_security_groups, or create the group in that VPC"
        )
    if len(group_ids) > 1:
        raise CloudError(
            f"Found multiple matching security groups with name '{name}': {', '.join(group_ids)}. "
            "Give the id of one of them instead of the name"
        )
    return group_ids[0]


def groups_by_id(client: "EC2Client", ids: Iterable[str]) -> dict[str, Group]:
    """DescribeSecurityGroups: the groups with these ids that exist, by id."""
    return {
        entry["GroupId"]: Group(
            entry["GroupId"],
            entry.get("GroupName", ""),
            entry["VpcId"],
            tuple(map(_group_rule, entry["IpPermissions"])),
            tuple(map(_group_rule, entry["IpPermissionsEgress"])),
        )
        for entry in list_by_values(client, "describe_security_groups", "SecurityGroups", "group-id", ids)
    }


def group_associations(client: "EC2Client", ids: Iterable[str]) -> dict[tuple[str, str], str]:
    """DescribeSecurityGroupVpcAssociations: the state of each association of the groups, by (group, VPC)."""
    operation = "describe_security_group_vpc_associations"
    associations = list_by_values(client, operation, "SecurityGroupVpcAssociations", "group-id", ids)
    return {(each["GroupId"], each["VpcId"]): each["State"] for each in associations}


def acls_of_vpcs(client: "EC2Client", vpc_ids: Iterable[str]) -> list[Acl]:
    """DescribeNetworkAcls: all network ACLs of these VPCs."""
    return _acls(client, "vpc-id", vpc_ids)


def acls_by_id(client: "EC2Client", ids: Iterable[str]) -> dict[str, Acl]:
    """DescribeNetworkAcls: the network ACLs with these ids that exist, by id."""
    return {each.acl_id: each for each in _acls(client, "network-acl-id", ids)}


def _group_rule(entry: "IpPermissionOutputTypeDef") -> GroupRule:
    first, last = entry.get("FromPort", 0), entry.get("ToPort", ANY_PORT[1])
    return GroupRule(
        entry["IpProtocol"],
        (first, last) if entry["IpProtocol"] in {"tcp", "udp"} else ANY_PORT,
        (
            *(each["CidrIp"] for each in entry.get("IpRanges", [])),
            *(each["CidrIpv6"] for each in entry.get("Ipv6Ranges", [])),
        ),
        tuple(each["GroupId"] for each in entry.get("UserIdGroupPairs", []) if "GroupId" in each),
        tuple(each["PrefixListId"] for each in entry.get("PrefixListIds", [])),
    )


def _acls(client: "EC2Client", name: str, values: Iterable[str]) -> list[Acl]:
    return [
        Acl(
            entry["NetworkAclId"],
            entry["VpcId"],
            frozenset(each["SubnetId"] for each in entry.get("Associations", [])),
            tuple(map(_acl_rule, entry["Entries"])),
        )
        for entry in list_by_values(client, "describe_network_acls", "NetworkAcls", name, values)
    ]


def _acl_rule(entry: "NetworkAclEntryTypeDef") -> AclRule:
    ports: Any = entry.get("PortRange", {})
    return AclRule(
        entry["RuleNumber"],
        entry["Protocol"],
        (ports.get("From", ANY_PORT[0]), ports.get("To", ANY_PORT[1])),
        entry.get("CidrBlock") or entry.get("Ipv6CidrBlock", ""),
        is_allowing=entry["RuleAction"] == "allow",
        is_egress=entry["Egress"],
    )
