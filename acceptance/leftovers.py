"""The end: everything that carries a tag is found and removed, however it was made and whatever failed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from acceptance.patience import LONG, NotYet, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from acceptance.account import Account

DENIED = ("UnauthorizedOperation", "AccessDenied", "AuthFailure")
GONE = ("NotFound", "Unavailable")
"""How the codes end, or what they are, of what was removed meanwhile."""


@dataclass(frozen=True)
class Kind:
    """A kind of things in AWS.

    Attributes:
        name: What it is called.
        find: Lists the ids of those that carry a tag and are not gone.
        remove: Removes one.
    """

    name: str
    find: Callable[[str, str], list[str]]
    remove: Callable[[str], object]


def remove_all(account: Account, tags: Mapping[str, str], seconds: float = LONG) -> dict[str, str]:
    """Remove all that carries one of these tags, in the order in which AWS lets go of it.

    Args:
        account: Where.
        tags: Any one of them marks a thing as ours.
        seconds: How long it is tried; what depends on something else goes when that has gone.

    Returns:
        What is left, or can't be looked for, with the reason; nothing when all is gone.
    """
    kinds = kinds_of(account)
    left: dict[str, str] = {}

    def round_of_removals() -> None:
        left.clear()
        for kind in kinds:
            left.update(_remove(kind, tags))
        if any(not _is_denied(reason) for reason in left.values()):
            raise NotYet(str(left))

    try:
        until(round_of_removals, seconds)
    except NotYet:
        return left
    return left


def _remove(kind: Kind, tags: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Remove all of a kind; what is left is told with the reason."""
    for key, value in tags.items():
        try:
            found = kind.find(key, value)
        except (ClientError, BotoCoreError) as error:
            yield f"perhaps {kind.name}s", str(error)
            continue
        for identifier in found:
            try:
                kind.remove(identifier)
            except (ClientError, BotoCoreError) as error:
                if not _code(error).endswith(GONE):
                    yield f"{kind.name} {identifier}", str(error)
            else:
                yield f"{kind.name} {identifier}", "is being removed"


def _code(error: Exception) -> str:
    return str(error.response["Error"]["Code"]) if isinstance(error, ClientError) else ""


def _is_denied(reason: str) -> bool:
    return any(code in reason for code in DENIED)


def kinds_of(account: Account) -> list[Kind]:
    """List all kinds of things that are made, in the order of their removal."""
    ec2 = account.ec2
    find = partial(_tagged, ec2)
    return [
        Kind("instance", partial(_instances, ec2), lambda i: ec2.terminate_instances(InstanceIds=[i])),
        Kind("AMI", partial(_images, ec2), lambda i: ec2.deregister_image(ImageId=i)),
        Kind("volume", partial(_volumes, ec2), lambda i: ec2.delete_volume(VolumeId=i)),
        Kind(
            "snapshot",
            lambda key, value: find("describe_snapshots", "Snapshots", "SnapshotId", key, value),
            lambda i: ec2.delete_snapshot(SnapshotId=i),
        ),
        Kind(
            "elastic IP",
            lambda key, value: find("describe_addresses", "Addresses", "AllocationId", key, value),
            lambda i: ec2.release_address(AllocationId=i),
        ),
        Kind(
            "target group",
            partial(_target_groups, account),
            lambda i: account.elbv2.delete_target_group(TargetGroupArn=i),
        ),
        Kind(
            "network interface",
            lambda key, value: find(
                "describe_network_interfaces", "NetworkInterfaces", "NetworkInterfaceId", key, value
            ),
            lambda i: ec2.delete_network_interface(NetworkInterfaceId=i),
        ),
        Kind(
            "internet gateway",
            lambda key, value: find(
                "describe_internet_gateways", "InternetGateways", "InternetGatewayId", key, value
            ),
            partial(_remove_gateway, ec2),
        ),
        Kind(
            "subnet",
            lambda key, value: find("describe_subnets", "Subnets", "SubnetId", key, value),
            lambda i: ec2.delete_subnet(SubnetId=i),
        ),
        Kind(
            "route table",
            lambda key, value: find("describe_route_tables", "RouteTables", "RouteTableId", key, value),
            lambda i: ec2.delete_route_table(RouteTableId=i),
        ),
        Kind(
            "security group",
            lambda key, value: find("describe_security_groups", "SecurityGroups", "GroupId", key, value),
            lambda i: ec2.delete_security_group(GroupId=i),
        ),
        Kind(
            "VPC",
            lambda key, value: find("describe_vpcs", "Vpcs", "VpcId", key, value),
            lambda i: ec2.delete_vpc(VpcId=i),
        ),
    ]


def _filters(key: str, value: str) -> list[dict[str, Any]]:
    return [{"Name": f"tag:{key}", "Values": [value]}]


def _tagged(ec2: Any, operation: str, items: str, identifier: str, key: str, value: str) -> list[str]:
    answer = getattr(ec2, operation)(Filters=_filters(key, value))
    return [entry[identifier] for entry in answer[items]]


def _instances(ec2: Any, key: str, value: str) -> list[str]:
    """All but the terminated ones: one that is ending still holds its interfaces."""
    reservations = ec2.describe_instances(Filters=_filters(key, value))["Reservations"]
    instances = [instance for each in reservations for instance in each["Instances"]]
    return [each["InstanceId"] for each in instances if each["State"]["Name"] != "terminated"]


def _images(ec2: Any, key: str, value: str) -> list[str]:
    answer = ec2.describe_images(Owners=["self"], IncludeDisabled=True, Filters=_filters(key, value))
    return [image["ImageId"] for image in answer["Images"]]


def _volumes(ec2: Any, key: str, value: str) -> list[str]:
    answer = ec2.describe_volumes(Filters=_filters(key, value))
    return [each["VolumeId"] for each in answer["Volumes"] if each["State"] not in {"deleting", "deleted"}]


def _target_groups(account: Account, key: str, value: str) -> list[str]:
    """Target groups have no filters: those of our VPC."""
    ours = _tagged(account.ec2, "describe_vpcs", "Vpcs", "VpcId", key, value)
    if not ours:
        return []
    groups = account.elbv2.describe_target_groups()["TargetGroups"]
    return [group["TargetGroupArn"] for group in groups if group.get("VpcId") in ours]


def _remove_gateway(ec2: Any, gateway_id: str) -> None:
    (gateway,) = ec2.describe_internet_gateways(InternetGatewayIds=[gateway_id])["InternetGateways"]
    for attachment in gateway["Attachments"]:
        ec2.detach_internet_gateway(InternetGatewayId=gateway_id, VpcId=attachment["VpcId"])
    ec2.delete_internet_gateway(InternetGatewayId=gateway_id)
