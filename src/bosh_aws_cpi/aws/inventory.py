"""Lists a Director's resources, of all kinds that the CPI creates, as values of one type."""

from collections.abc import Callable, Mapping
from datetime import datetime
from ipaddress import IPv4Network
from typing import TYPE_CHECKING, Any, Final, Literal

from bosh_aws_cpi.aws.listings import PAGE, entries
from bosh_aws_cpi.aws.sdk.filters import by_tags, exactly
from bosh_aws_cpi.aws.sdk.idempotency import parsed_time, tags_of
from bosh_aws_cpi.aws.snapshots import is_for_image
from bosh_aws_cpi.aws.subnets import CREATED_TAG
from bosh_aws_cpi.records import EMPTY, Record

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

Kind = Literal["AMI", "snapshot", "volume", "interface", "subnet", "placement group", "instance"]


class Resource(Record):
    """One resource at EC2; a field that its kind does not have is empty."""

    kind: Kind
    resource_id: str
    state: str
    tags: Mapping[str, str]
    created: datetime | None
    """When it was created, for a subnet by its tag; None if EC2 does not report it: interfaces, placement
    groups."""
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
    """An interface's description."""
    group: str = ""
    """The name of a placement group, or of the one that an instance is in."""


def listed(client: "EC2Client", kind: Kind, tags: Mapping[str, str]) -> list[Resource]:
    """List the resources with these tags; all AMIs of the account, since any of them may use a snapshot."""
    return _list(client, kind) if kind == "AMI" else _list(client, kind, Filters=by_tags(tags))


def reload(client: "EC2Client", resource: Resource) -> Resource | None:
    """Look a resource up again; None when it is gone."""
    way = _KINDS[resource.kind]
    value = resource.group if way.id_filter == "group-name" else resource.resource_id
    return next(iter(_list(client, resource.kind, Filters=[exactly(way.id_filter, value)])), None)


class _Way(Record):
    """How a kind is listed, and how the answer is read.

    Attributes:
        operation: The call, by its Python name.
        key: What the entries stand under in the answer.
        id_filter: The filter for one resource.
        read: Reads an entry.
        page: EC2's maximum page size; None for a listing that has no pages.
        arguments: The call's other parameters.
    """

    operation: str
    key: str
    id_filter: str
    read: Callable[[Any], Resource]
    page: int | None = PAGE
    arguments: Mapping[str, Any] = EMPTY


def _list(client: "EC2Client", kind: Kind, **more: Any) -> list[Resource]:  # noqa: ANN401 - parameters
    way = _KINDS[kind]
    found = entries(client, way.operation, way.key, page=way.page, **way.arguments, **more)
    if kind == "instance":
        found = (instance for reservation in found for instance in reservation["Instances"])
    return list(map(way.read, found))


def _interface(entry: Any) -> Resource:  # noqa: ANN401 - one of the SDK's typed dicts
    tags = tags_of(entry, "TagSet")
    nic_id, description = entry["NetworkInterfaceId"], entry.get("Description", "")
    return Resource("interface", nic_id, entry["Status"], tags, None, description=description)


def _volume(entry: Any) -> Resource:  # noqa: ANN401
    return Resource(
        "volume",
        entry["VolumeId"],
        entry["State"],
        tags_of(entry),
        entry["CreateTime"],
        size_gib=entry["Size"],
        type=entry["VolumeType"],
    )


def _snapshot(entry: Any) -> Resource:  # noqa: ANN401
    return Resource(
        "snapshot",
        entry["SnapshotId"],
        entry["State"],
        tags_of(entry),
        entry["StartTime"],
        size_gib=entry["VolumeSize"],
        is_for_image=is_for_image(entry),
    )


def _image(entry: Any) -> Resource:  # noqa: ANN401
    devices = [device.get("Ebs", {}) for device in entry.get("BlockDeviceMappings", [])]
    return Resource(
        "AMI",
        entry["ImageId"],
        entry["State"],
        tags_of(entry),
        parsed_time(entry.get("CreationDate", "")),
        snapshot_ids=tuple(device["SnapshotId"] for device in devices if device.get("SnapshotId")),
    )


def _subnet(entry: Any) -> Resource:  # noqa: ANN401
    tags = tags_of(entry)
    return Resource(
        "subnet",
        entry["SubnetId"],
        entry["State"],
        tags,
        parsed_time(tags.get(CREATED_TAG, "")),
        is_used=_has_interfaces(entry),
    )


def _has_interfaces(subnet: Any) -> bool:  # noqa: ANN401
    """Whether a subnet has interfaces; True if it has no IPv4 range, whose free addresses show it."""
    if not (block := subnet.get("CidrBlock")):
        return True
    return bool(subnet["AvailableIpAddressCount"] < IPv4Network(block).num_addresses - _KEPT_BY_AWS)


def _instance(entry: Any) -> Resource:  # noqa: ANN401
    return Resource(
        "instance",
        entry["InstanceId"],
        entry["State"]["Name"],
        tags_of(entry),
        entry["LaunchTime"],
        type=entry["InstanceType"],
        group=entry.get("Placement", {}).get("GroupName", ""),
    )


def _placement_group(entry: Any) -> Resource:  # noqa: ANN401
    tags, name = tags_of(entry), entry["GroupName"]
    strategy = entry.get("Strategy", "")
    return Resource(
        "placement group", entry["GroupId"], entry["State"], tags, None, type=strategy, group=name
    )


_KEPT_BY_AWS: Final = 5
"""The addresses of each subnet that AWS keeps."""
_HIDDEN_TOO: Final = {"Owners": ["self"], "IncludeDeprecated": True, "IncludeDisabled": True}
"""Deprecated and disabled AMIs are listed too, because they still need their snapshots."""
_OWN: Final = {"OwnerIds": ["self"]}
_KINDS: Final[Mapping[Kind, _Way]] = {
    "snapshot": _Way("describe_snapshots", "Snapshots", "snapshot-id", _snapshot, arguments=_OWN),
    "placement group": _Way(
        "describe_placement_groups", "PlacementGroups", "group-name", _placement_group, None
    ),
    "AMI": _Way("describe_images", "Images", "image-id", _image, arguments=_HIDDEN_TOO),
    "volume": _Way("describe_volumes", "Volumes", "volume-id", _volume, 500),
    "interface": _Way("describe_network_interfaces", "NetworkInterfaces", "network-interface-id", _interface),
    "subnet": _Way("describe_subnets", "Subnets", "subnet-id", _subnet),
    "instance": _Way("describe_instances", "Reservations", "instance-id", _instance),
}
KINDS: Final = tuple(_KINDS)
"""The kinds in the order in which they are listed: what uses others comes after them."""
