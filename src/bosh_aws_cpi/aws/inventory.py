"""Lists a Director's resources, of all kinds that the CPI creates, as `Resource` records."""

from collections.abc import Mapping
from datetime import datetime
from ipaddress import IPv4Network
from typing import TYPE_CHECKING, Any, Final, Literal

from bosh_aws_cpi.aws.listings import PAGE, entries
from bosh_aws_cpi.aws.sdk.filters import by_tags, equals
from bosh_aws_cpi.aws.sdk.idempotency import parse_time, tags_of
from bosh_aws_cpi.aws.snapshots import is_for_image
from bosh_aws_cpi.aws.subnets import CREATED_TAG
from bosh_aws_cpi.model import KEPT_FIRST
from bosh_aws_cpi.records import EMPTY, Record

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

Kind = Literal["AMI", "snapshot", "volume", "interface", "subnet", "placement group", "instance"]


class Resource(Record):
    """A resource at EC2; a field that does not apply to the resource's kind is empty."""

    kind: Kind
    resource_id: str
    state: str
    tags: Mapping[str, str]
    created: datetime | None
    """When the resource was created (a subnet: by its tag), or a snapshot, which may take hours, was
    completed; None for interfaces and placement groups, for which EC2 reports no time."""
    size_gib: int = 0
    type: str = ""
    """The type of a volume or an instance; the strategy of a placement group."""
    snapshot_ids: tuple[str, ...] = ()
    """The snapshots of an AMI."""
    is_used: bool = False
    """Whether a subnet has interfaces."""
    is_for_image: bool = False
    """Whether EC2 shows that a snapshot was made for an AMI."""
    description: str = ""
    """The description, which tells who created an interface."""
    group: str = ""
    """The name of a placement group, or of the placement group of an instance."""


def list_resources(client: "EC2Client", kind: Kind, tags: Mapping[str, str]) -> list[Resource]:
    """List the resources with these tags, but all AMIs of the account: any of them may use a snapshot."""
    return _list(client, kind) if kind == "AMI" else _list(client, kind, Filters=by_tags(tags))


def reload(client: "EC2Client", resource: Resource) -> Resource | None:
    """Look a resource up again; None when the resource is gone."""
    listing = _LISTINGS[resource.kind]
    value = resource.group if listing.id_filter == "group-name" else resource.resource_id
    return next(iter(_list(client, resource.kind, Filters=[equals(listing.id_filter, value)])), None)


class _Listing(Record):
    """How to list the resources of a kind.

    Attributes:
        operation: The client's method.
        key: The key of the list in the response.
        id_key: The key of the id in an entry of the list.
        id_filter: The name of the filter for one resource.
        page: EC2's maximum page size; None for a listing that has no pages.
        arguments: The call's other parameters.
    """

    operation: str
    key: str
    id_key: str
    id_filter: str
    page: int | None = PAGE
    arguments: Mapping[str, Any] = EMPTY


def _list(client: "EC2Client", kind: Kind, **more: Any) -> list[Resource]:  # noqa: ANN401 - parameters
    listing = _LISTINGS[kind]
    listed = entries(client, listing.operation, listing.key, page=listing.page, **listing.arguments, **more)
    if kind == "instance":
        listed = (instance for reservation in listed for instance in reservation["Instances"])
    return [_resource(kind, listing.id_key, entry) for entry in listed]


def _resource(kind: Kind, id_key: str, entry: Any) -> Resource:  # noqa: ANN401 - one of the SDK's typed dicts
    state = entry.get("State") or entry["Status"]
    tags = tags_of(entry, "TagSet" if kind == "interface" else "Tags")
    times = ("CreateTime", "CompletionTime", "StartTime", "LaunchTime")
    created = next((entry[name] for name in times if entry.get(name)), None)
    devices = (device.get("Ebs", {}) for device in entry.get("BlockDeviceMappings", []))
    return Resource(
        kind,
        entry[id_key],
        state["Name"] if kind == "instance" else state,
        tags,
        created or parse_time(entry.get("CreationDate") or tags.get(CREATED_TAG, "")),
        size_gib=entry.get("Size") or entry.get("VolumeSize", 0),
        type=entry.get("VolumeType") or entry.get("InstanceType") or entry.get("Strategy", ""),
        snapshot_ids=tuple(device["SnapshotId"] for device in devices if device.get("SnapshotId")),
        is_used=kind == "subnet" and _has_interfaces(entry),
        is_for_image=kind == "snapshot" and is_for_image(entry),
        description=entry.get("Description", ""),
        group=entry.get("GroupName") or entry.get("Placement", {}).get("GroupName", ""),
    )


def _has_interfaces(subnet: Any) -> bool:  # noqa: ANN401
    """Whether a subnet has interfaces, by its free IPv4 addresses; True without an IPv4 range."""
    if not (block := subnet.get("CidrBlock")):
        return True
    return bool(subnet["AvailableIpAddressCount"] < IPv4Network(block).num_addresses - (KEPT_FIRST + 1))


_ALL_AMIS: Final = {"Owners": ["self"], "IncludeDeprecated": True, "IncludeDisabled": True}
"""Deprecated and disabled AMIs are listed too, because they still need their snapshots."""
_LISTINGS: Final[Mapping[Kind, _Listing]] = {
    "snapshot": _Listing(
        "describe_snapshots", "Snapshots", "SnapshotId", "snapshot-id", arguments={"OwnerIds": ["self"]}
    ),
    "placement group": _Listing(
        "describe_placement_groups", "PlacementGroups", "GroupId", "group-name", None
    ),
    "AMI": _Listing("describe_images", "Images", "ImageId", "image-id", arguments=_ALL_AMIS),
    "volume": _Listing("describe_volumes", "Volumes", "VolumeId", "volume-id", 500),
    "interface": _Listing(
        "describe_network_interfaces", "NetworkInterfaces", "NetworkInterfaceId", "network-interface-id"
    ),
    "subnet": _Listing("describe_subnets", "Subnets", "SubnetId", "subnet-id"),
    "instance": _Listing("describe_instances", "Reservations", "InstanceId", "instance-id"),
}
KINDS: Final = tuple(_LISTINGS)
"""The kinds in the order in which to list them: a kind comes after the kinds that it uses."""
