"""The end of a run: finds and deletes all resources with its tag, whoever created them."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from acceptance.account import Account
from acceptance.patience import LONG, NotYet, until

DENIED = ("UnauthorizedOperation", "AccessDenied", "AuthFailure")

DESCRIBING = {
    "Addresses": "describe_addresses",
    "Images": "describe_images",
    "InternetGateways": "describe_internet_gateways",
    "NetworkAcls": "describe_network_acls",
    "NetworkInterfaces": "describe_network_interfaces",
    "PlacementGroups": "describe_placement_groups",
    "Reservations": "describe_instances",
    "RouteTables": "describe_route_tables",
    "SecurityGroups": "describe_security_groups",
    "Snapshots": "describe_snapshots",
    "SpotInstanceRequests": "describe_spot_instance_requests",
    "Subnets": "describe_subnets",
    "TargetGroups": "describe_target_groups",
    "Volumes": "describe_volumes",
    "Vpcs": "describe_vpcs",
}
"""The calls that list things, by the name of the list in their answers."""


@dataclass(frozen=True)
class Kind:
    """A kind of resource.

    Attributes:
        name: The name of the kind.
        find: Lists the ids of the existing resources with a tag.
        delete: Deletes a resource.
    """

    name: str
    find: Callable[[str, str], list[str]]
    delete: Callable[[str], object]


def delete_all(account: Account, tags: Mapping[str, str], seconds: float = LONG) -> dict[str, str]:
    """Delete all resources with one of these tags, in the order that AWS requires.

    It ends when nothing was found for `account.settles` seconds: AWS may not show the newest
    resources at once.

    Args:
        account: The account to work in.
        tags: A resource with any one of them is deleted.
        seconds: How long to retry; a resource can be deleted when nothing depends on it any more.

    Returns:
        The resources that are left or can't be listed, with the reason; empty if all are gone.
    """
    kinds = kinds_of(account)
    left: dict[str, str] = {}
    clean_since: float | None = None

    def delete_found() -> None:
        nonlocal clean_since
        left.clear()
        for kind in kinds:
            left.update(_delete(kind, tags))
        if any(not _is_denied(reason) for reason in left.values()):
            clean_since = None
            raise NotYet(str(left))
        now = time.monotonic()
        if clean_since is None:
            clean_since = now
        if now - clean_since < account.settles:
            raise NotYet("nothing is found; AWS may show something later")

    try:
        until(delete_found, seconds)
    except NotYet:
        return left
    return left


def _delete(kind: Kind, tags: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Delete all resources of a kind; yields those that are left, with the reason."""
    for key, value in tags.items():
        try:
            found = kind.find(key, value)
        except Exception as error:  # noqa: BLE001 - also an answer that can't be read: other kinds come after it
            yield f"perhaps {kind.name}s", _reason(error)
            continue
        for identifier in found:
            try:
                kind.delete(identifier)
            except Exception as error:  # noqa: BLE001 - the same
                if not _says_gone(error):
                    yield f"{kind.name} {identifier}", _reason(error)
            else:
                yield f"{kind.name} {identifier}", "is being deleted"


def _reason(error: Exception) -> str:
    """AWS's or the SDK's words; another error means that an element is missing, and says only which."""
    is_told = isinstance(error, ClientError | BotoCoreError)
    return str(error) if is_told else f"the answer can't be read: {type(error).__name__}: {error}"


def _code(error: Exception) -> str:
    return str(error.response["Error"].get("Code", "")) if isinstance(error, ClientError) else ""


def _says_gone(error: Exception) -> bool:
    code = _code(error)
    return code.endswith("NotFound") or code in {"InvalidAMIID.Unavailable", "InvalidPlacementGroup.Unknown"}


def _is_denied(reason: str) -> bool:
    return any(f"({code})" in reason for code in DENIED)


def kinds_of(account: Account) -> list[Kind]:
    """Return all kinds that are created, in the order of their deletion."""
    ec2 = account.ec2

    def kind(name: str, list_of: str, key: str, delete: Callable[[str], object], **limits: Any) -> Kind:
        return Kind(name, partial(_tagged, ec2, list_of, key, limits), delete)

    return [
        Kind(
            "open spot request",
            partial(_open_requests, ec2),
            lambda i: ec2.cancel_spot_instance_requests(SpotInstanceRequestIds=[i]),
        ),
        Kind("instance", partial(_instances, ec2), lambda i: ec2.terminate_instances(InstanceIds=[i])),
        Kind("AMI", partial(_images, ec2), lambda i: ec2.deregister_image(ImageId=i)),
        Kind("volume", partial(_volumes, ec2), lambda i: ec2.delete_volume(VolumeId=i)),
        kind(
            "snapshot",
            "Snapshots",
            "SnapshotId",
            lambda i: ec2.delete_snapshot(SnapshotId=i),
            OwnerIds=["self"],
        ),
        kind("elastic IP", "Addresses", "AllocationId", lambda i: ec2.release_address(AllocationId=i)),
        Kind(
            "target group",
            partial(_target_groups, account),
            lambda i: account.elbv2.delete_target_group(TargetGroupArn=i),
        ),
        kind(
            "network interface",
            "NetworkInterfaces",
            "NetworkInterfaceId",
            lambda i: ec2.delete_network_interface(NetworkInterfaceId=i),
        ),
        kind(
            "internet gateway",
            "InternetGateways",
            "InternetGatewayId",
            partial(_delete_internet_gateway, ec2),
        ),
        kind(
            "placement group",
            "PlacementGroups",
            "GroupName",
            lambda i: ec2.delete_placement_group(GroupName=i),
        ),
        kind("subnet", "Subnets", "SubnetId", lambda i: ec2.delete_subnet(SubnetId=i)),
        kind("network ACL", "NetworkAcls", "NetworkAclId", lambda i: ec2.delete_network_acl(NetworkAclId=i)),
        kind("route table", "RouteTables", "RouteTableId", lambda i: ec2.delete_route_table(RouteTableId=i)),
        kind("security group", "SecurityGroups", "GroupId", partial(_delete_security_group, ec2)),
        kind("VPC", "Vpcs", "VpcId", lambda i: ec2.delete_vpc(VpcId=i)),
    ]


def _filters(key: str, value: str) -> list[dict[str, Any]]:
    return [{"Name": f"tag:{key}", "Values": [value]}]


def _all(client: Any, list_of: str, **arguments: Any) -> list[Any]:
    """List the results of a kind's Describe call, from all pages."""
    operation = DESCRIBING[list_of]
    if not client.can_paginate(operation):
        return list(getattr(client, operation)(**arguments)[list_of])
    pages = client.get_paginator(operation).paginate(**arguments)
    return [entry for page in pages for entry in page[list_of]]


def _tagged(
    ec2: Any, list_of: str, identifier: str, limits: Mapping[str, Any], key: str, value: str
) -> list[str]:
    found = _all(ec2, list_of, Filters=_filters(key, value), **limits)
    return [entry[identifier] for entry in found]


def _instances(ec2: Any, key: str, value: str) -> list[str]:
    """List all but the terminated ones: an instance that is shutting down still holds its interfaces."""
    reservations = _all(ec2, "Reservations", Filters=_filters(key, value))
    instances = [instance for each in reservations for instance in each["Instances"]]
    return [each["InstanceId"] for each in instances if each["State"]["Name"] != "terminated"]


def _open_requests(ec2: Any, key: str, value: str) -> list[str]:
    """List those that may launch something yet."""
    requests = _all(ec2, "SpotInstanceRequests", Filters=_filters(key, value))
    return [each["SpotInstanceRequestId"] for each in requests if each["State"] == "open"]


def _images(ec2: Any, key: str, value: str) -> list[str]:
    images = _all(ec2, "Images", Owners=["self"], IncludeDisabled=True, Filters=_filters(key, value))
    return [image["ImageId"] for image in images if image["State"] != "deregistered"]


def _volumes(ec2: Any, key: str, value: str) -> list[str]:
    volumes = _all(ec2, "Volumes", Filters=_filters(key, value))
    return [each["VolumeId"] for each in volumes if each["State"] not in {"deleting", "deleted"}]


def _target_groups(account: Account, key: str, value: str) -> list[str]:
    """List the target groups of our VPC; there are no filters for them."""
    ours = {vpc["VpcId"] for vpc in _all(account.ec2, "Vpcs", Filters=_filters(key, value))}
    if not ours:
        return []
    groups = _all(account.elbv2, "TargetGroups")
    return [group["TargetGroupArn"] for group in groups if group.get("VpcId") in ours]


def _delete_security_group(ec2: Any, group_id: str) -> None:
    """Delete a security group; while it is associated with other VPCs, AWS refuses that."""
    try:
        ec2.delete_security_group(GroupId=group_id)
    except ClientError as error:
        if _code(error) == "DependencyViolation":
            of_group = [{"Name": "group-id", "Values": [group_id]}]
            found = ec2.describe_security_group_vpc_associations(Filters=of_group)
            for each in found["SecurityGroupVpcAssociations"]:
                ec2.disassociate_security_group_vpc(GroupId=group_id, VpcId=each["VpcId"])
        raise


def _delete_internet_gateway(ec2: Any, gateway_id: str) -> None:
    for gateway in ec2.describe_internet_gateways(InternetGatewayIds=[gateway_id])["InternetGateways"]:
        for attachment in gateway["Attachments"]:
            ec2.detach_internet_gateway(InternetGatewayId=gateway_id, VpcId=attachment["VpcId"])
    ec2.delete_internet_gateway(InternetGatewayId=gateway_id)
