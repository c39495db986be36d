"""Subnets: their ranges, their life, and their route table and network ACL."""

import ipaddress
from collections.abc import Iterable
from typing import Any

from moto.ec2.models.network_acls import NetworkAcl, NetworkAclBackend
from moto.ec2.models.route_tables import RouteBackend
from moto.ec2.models.subnets import Subnet, SubnetBackend
from moto.ec2.responses.subnets import Subnets

from testbed.moto_patches import states
from testbed.moto_patches.identifiers import well_formed
from testbed.moto_patches.patching import Original, Patches, parameter, refuse

PATCHES = Patches()

IPV4_LENGTHS = range(16, 29)
IPV6_LENGTHS = range(44, 65, 4)
"""EC2 API reference, CreateSubnet; VPC user guide, "Subnet CIDR blocks"."""


def check_ids(identifiers: Iterable[object]) -> None:
    """Refuse the first malformed id of a subnet (EC2 errors, InvalidSubnetID.Malformed)."""
    for identifier in identifiers:
        if not well_formed("subnet", identifier):
            refuse("InvalidSubnetID.Malformed", f"The subnet ID '{identifier}' is malformed")


def canonical(cidr: str | None) -> str | None:
    """Write a range without host bits, as EC2 does (EC2 API reference, CreateSubnet, CidrBlock)."""
    try:
        return None if cidr is None else str(ipaddress.ip_network(cidr, strict=False))
    except ValueError:
        return cidr  # moto refuses it


def check_ipv6(backend: Any, vpc_id: str, cidr: str) -> None:
    """Refuse an IPv6 range that is not the VPC's, has a wrong size, or overlaps another subnet's."""
    wanted = ipaddress.IPv6Network(cidr)
    associations = backend.get_vpc(vpc_id).get_cidr_block_association_set(ipv6=True)
    of_vpc = [ipaddress.IPv6Network(each["cidr_block"]) for each in associations]
    if wanted.prefixlen not in IPV6_LENGTHS or not any(wanted.subnet_of(each) for each in of_vpc):
        refuse("InvalidSubnet.Range", f"The CIDR '{cidr}' is invalid.")
    for subnet in backend.describe_subnets(filters={"vpc-id": vpc_id}):
        for each in subnet.ipv6_cidr_block_associations.values():
            if wanted.overlaps(ipaddress.IPv6Network(each["ipv6CidrBlock"])):
                refuse("InvalidSubnet.Conflict", f"The CIDR '{cidr}' conflicts with another subnet")


@PATCHES.around(SubnetBackend, "create_subnet")
def created_subnet(
    original: Original,
    backend: Any,
    vpc_id: str,
    cidr_block: str,
    ipv6_cidr_block: str | None = None,
    *positional: Any,
    **keywords: Any,
) -> Any:
    """EC2 checks size and IPv6 range of a subnet, which assigns no public addresses, and is pending at first.

    moto did not check them, and made the first subnet of a zone a default subnet. Only
    subnets of the default VPC are default subnets (VPC user guide, "Default subnets").
    """
    cidr_block, ipv6_cidr_block = canonical(cidr_block) or cidr_block, canonical(ipv6_cidr_block)
    if cidr_block and int(cidr_block.rpartition("/")[2]) not in IPV4_LENGTHS:
        refuse("InvalidSubnet.Range", f"The CIDR '{cidr_block}' is invalid.")
    if ipv6_cidr_block:
        check_ipv6(backend, vpc_id, ipv6_cidr_block)
    subnet = original(backend, vpc_id, cidr_block, ipv6_cidr_block, *positional, **keywords)
    is_default = bool(backend.get_vpc(vpc_id).is_default)
    subnet.default_for_az = subnet.map_public_ip_on_launch = is_default

    def enter(state: str, _: str) -> None:
        subnet.state = state

    states.begin(subnet, "available", enter)
    return subnet


@PATCHES.around(Subnet, "ipv6_cidr_block_association_set")
def shown_ipv6(original: Original, subnet: Any) -> Any:
    """EC2 shows the state of an IPv6 range as a text; moto nested it twice."""
    shown = original(subnet)
    return [{**each, "ipv6CidrBlockState": each["ipv6CidrBlockState"]["state"]} for each in shown]


@PATCHES.around(Subnets, "describe_subnets")
def described_subnets(original: Original, response: Any) -> Any:
    """A malformed id has its own code, and a subnet goes through its states."""
    check_ids(parameter(response, "SubnetIds", []))
    result = original(response)
    states.look(response, "SubnetIds", result.result["Subnets"])
    return result


def _of_table(table: Any) -> dict[str, str]:
    """A route table's associations: the subnet or gateway of each."""
    associations: dict[str, str] = table._associations  # noqa: SLF001 - moto has no other name for them
    return associations


def _of_acl(acl: Any) -> dict[str, Any]:
    """A network ACL's associations."""
    associations: dict[str, Any] = acl._associations  # noqa: SLF001 - the same
    return associations


@PATCHES.around(SubnetBackend, "delete_subnet")
def deleted_subnet(original: Original, backend: Any, subnet_id: str) -> Any:
    """EC2 refuses to delete a subnet with interfaces; the subnet's associations are deleted with it.

    VPC user guide, "Delete a subnet"; EC2 errors, DependencyViolation. That the associations are deleted
    too is a guess: see `subnet-deleted` in docs/aws-assumptions.md. moto deleted any subnet, and left its
    associations.
    """
    check_ids([subnet_id])
    subnet = backend.get_subnet(subnet_id)
    if any(interface.subnet.id == subnet_id for interface in backend.enis.values()):
        refuse("DependencyViolation", f"The subnet '{subnet_id}' has dependencies and cannot be deleted.")
    for table in backend.route_tables.values():
        for key in [key for key, target in _of_table(table).items() if target == subnet_id]:
            del _of_table(table)[key]
    for acl in backend.network_acls.values():
        for key in [key for key, each in _of_acl(acl).items() if each.subnet_id == subnet_id]:
            del _of_acl(acl)[key]
    original(backend, subnet_id)
    return subnet


@PATCHES.around(SubnetBackend, "modify_subnet_attribute")
def modified_subnet(original: Original, backend: Any, subnet_id: str, *positional: Any) -> Any:
    """A malformed id has its own code."""
    check_ids([subnet_id])
    return original(backend, subnet_id, *positional)


def check_same_vpc(what: str, identifier: str, vpc_id: str, subnet: Any) -> None:
    """Refuse to associate a subnet with something in another VPC."""
    if vpc_id != subnet.vpc_id:
        refuse(
            "InvalidParameterValue",
            f"{what} {identifier} and subnet {subnet.id} belong to different networks",
        )


@PATCHES.around(RouteBackend, "associate_route_table")
def associated_table(
    original: Original,
    backend: Any,
    route_table_id: str,
    gateway_id: str | None = None,
    subnet_id: str | None = None,
) -> Any:
    """EC2 refuses to associate a subnet that is associated with another route table.

    Its code is Resource.AlreadyAssociated (hashicorp/terraform-provider-aws, documentation of
    aws_route_table_association, "Import"). moto returned the existing
    association. EC2 also refuses a route table of another VPC; moto did not.
    """
    table = backend.get_route_table(route_table_id)
    if subnet_id is not None:
        check_ids([subnet_id])
        check_same_vpc("route table", route_table_id, table.vpc_id, backend.get_subnet(subnet_id))
        for other in backend.route_tables.values():
            if other is not table and subnet_id in _of_table(other).values():
                refuse(
                    "Resource.AlreadyAssociated",
                    f"the specified association for route table {route_table_id} conflicts with an "
                    "existing association",
                )
    return original(backend, route_table_id, gateway_id, subnet_id)


@PATCHES.around(NetworkAclBackend, "replace_network_acl_association")
def replaced_acl(original: Original, backend: Any, association_id: str, network_acl_id: str) -> Any:
    """EC2 refuses an unknown association, an unknown ACL, and one of another VPC, and changes nothing.

    moto failed (HTTP 500) for an unknown association, and lost the association for an unknown ACL.
    """
    acl = backend.get_network_acl(network_acl_id)
    associations = {key: each for acl in backend.network_acls.values() for key, each in _of_acl(acl).items()}
    found = associations.get(association_id)
    if found is None:
        refuse("InvalidAssociationID.NotFound", f"The association ID '{association_id}' does not exist")
    check_same_vpc("network ACL", network_acl_id, acl.vpc_id, backend.get_subnet(found.subnet_id))
    return original(backend, association_id, network_acl_id)


@PATCHES.around(NetworkAcl, "get_filter_value")
def filtered_acl(original: Original, acl: Any, filter_name: str, method_name: str | None = None) -> Any:
    """EC2 filters network ACLs by their ids; moto did not know this filter."""
    return acl.id if filter_name == "network-acl-id" else original(acl, filter_name, method_name)
