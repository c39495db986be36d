"""Lists a Director's resources, of all kinds that the CPI creates, as values of one type."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from ipaddress import IPv4Network
from typing import TYPE_CHECKING, Any, Final, Literal

from botocore.exceptions import ClientError

from bosh_aws_cpi.aws.sdk.error_codes import (
    GROUP_IN_USE,
    GROUP_MISSING,
    NIC_IN_USE,
    NIC_MISSING,
    VOLUME_IN_USE,
)
from bosh_aws_cpi.aws.sdk.errors import has_code, is_volume_missing
from bosh_aws_cpi.aws.sdk.idempotency import by_tags, parsed_time, tags_of
from bosh_aws_cpi.aws.snapshots import is_for_image
from bosh_aws_cpi.aws.subnets import CREATED_TAG
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.records import Record

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ec2.type_defs import FilterTypeDef

Kind = Literal["AMI", "snapshot", "volume", "interface", "subnet", "placement group", "instance"]


class Resource(Record):
    """One resource at EC2; a field that its kind does not have is empty."""

    kind: Kind
    resource_id: str
    state: str
    tags: Mapping[str, str]
    created: datetime | None
    """None for an interface and a placement group: EC2 does not report it. For a subnet: from its tag."""
    size_gib: int = 0
    type: str = ""
    """Of a volume or an instance; the strategy of a placement group."""
    iops: int = 0
    snapshot_ids: tuple[str, ...] = ()
    """The snapshots of an AMI."""
    source_id: str = ""
    """The volume that a volume was copied from."""
    is_used: bool = False
    """Whether a subnet has interfaces."""
    is_for_image: bool = False
    """Whether EC2 shows that a snapshot was made for an AMI."""
    description: str = ""
    """Of an interface."""
    group: str = ""
    """The name of a placement group, or of the one that an instance is in."""


def tagged(client: "EC2Client", kind: Kind, tags: Mapping[str, str]) -> list[Resource]:
    """List the resources with these tags; EC2 treats ``*`` and ``?`` in the values as wildcards."""
    return _list(client, kind, Filters=by_tags(tags))


def own_images(client: "EC2Client") -> list[Resource]:
    """List all AMIs that the account owns."""
    return _list(client, "AMI")


def reload(client: "EC2Client", resource: Resource) -> Resource | None:
    """Look a resource up again; None when it is gone."""
    way = _KINDS[resource.kind]
    value = resource.group if way.id_filter == "group-name" else resource.resource_id
    by_id: FilterTypeDef = {"Name": way.id_filter, "Values": [value]}
    return next(iter(_list(client, resource.kind, Filters=[by_id])), None)


def delete_idle_volume(client: "EC2Client", volume_id: str) -> bool:
    """DeleteVolume, without waiting until it is deleted; False when the volume has come into use.

    It is no error if the volume is already gone.
    """
    return _delete_idle(lambda: client.delete_volume(VolumeId=volume_id), VOLUME_IN_USE, is_volume_missing)


def delete_idle_interface(client: "EC2Client", nic_id: str) -> bool:
    """DeleteNetworkInterface, one attempt; False when the interface is attached or being detached."""
    return _delete_idle(
        lambda: client.delete_network_interface(NetworkInterfaceId=nic_id),
        NIC_IN_USE,
        lambda error: has_code(error, NIC_MISSING),
    )


def delete_idle_group(client: "EC2Client", name: str) -> bool:
    """DeletePlacementGroup, one attempt; False when an instance has been launched into the group."""
    return _delete_idle(
        lambda: client.delete_placement_group(GroupName=name),
        GROUP_IN_USE,
        lambda error: has_code(error, GROUP_MISSING),
    )


def _delete_idle(
    delete: Callable[[], object], in_use: frozenset[str], is_missing: Callable[[ClientError], bool]
) -> bool:
    try:
        delete()
    except ClientError as error:
        if has_code(error, in_use):
            return False
        if not is_missing(error):
            raise
    return True


class _Way(Record):
    """How a kind is listed, and how the answer is read."""

    operation: str
    id_filter: str
    page_size: int | None
    """EC2's maximum; None for a listing that has no pages. Without a page size, EC2 may try to return
    everything, and fail if that is too much."""
    resources: Callable[[Any], Iterable[Resource]]
    """Reads the resources from a page."""
    arguments: Json


def _list(client: Any, kind: Kind, **more: Any) -> list[Resource]:  # noqa: ANN401 - the operation is data here
    way = _KINDS[kind]
    if way.page_size is None:
        return list(way.resources(getattr(client, way.operation)(**way.arguments, **more)))
    asked = {**way.arguments, **more, "PaginationConfig": {"PageSize": way.page_size}}
    pages = client.get_paginator(way.operation).paginate(**asked)
    return [resource for page in pages for resource in way.resources(page)]


def _interfaces(page: Any) -> Iterable[Resource]:  # noqa: ANN401 - one of the SDK's pages
    for entry in page["NetworkInterfaces"]:
        tags = tags_of(entry, "TagSet")
        nic_id, description = entry["NetworkInterfaceId"], entry.get("Description", "")
        yield Resource("interface", nic_id, entry["Status"], tags, None, description=description)


def _volumes(page: Any) -> Iterable[Resource]:  # noqa: ANN401
    for entry in page["Volumes"]:
        yield Resource(
            "volume",
            entry["VolumeId"],
            entry["State"],
            tags_of(entry),
            entry["CreateTime"],
            size_gib=entry["Size"],
            type=entry["VolumeType"],
            iops=entry.get("Iops", 0),
            source_id=entry.get("SourceVolumeId", ""),
        )


def _snapshots(page: Any) -> Iterable[Resource]:  # noqa: ANN401
    for entry in page["Snapshots"]:
        yield Resource(
            "snapshot",
            entry["SnapshotId"],
            entry["State"],
            tags_of(entry),
            entry["StartTime"],
            size_gib=entry["VolumeSize"],
            is_for_image=is_for_image(entry),
        )


def _images(page: Any) -> Iterable[Resource]:  # noqa: ANN401
    for entry in page["Images"]:
        devices = [device.get("Ebs", {}) for device in entry.get("BlockDeviceMappings", [])]
        yield Resource(
            "AMI",
            entry["ImageId"],
            entry["State"],
            tags_of(entry),
            parsed_time(entry.get("CreationDate", "")),
            snapshot_ids=tuple(device["SnapshotId"] for device in devices if device.get("SnapshotId")),
        )


def _subnets(page: Any) -> Iterable[Resource]:  # noqa: ANN401
    for entry in page["Subnets"]:
        tags = tags_of(entry)
        yield Resource(
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


def _instances(page: Any) -> Iterable[Resource]:  # noqa: ANN401
    for entry in (each for reservation in page["Reservations"] for each in reservation["Instances"]):
        yield Resource(
            "instance",
            entry["InstanceId"],
            entry["State"]["Name"],
            tags_of(entry),
            entry["LaunchTime"],
            type=entry["InstanceType"],
            group=entry.get("Placement", {}).get("GroupName", ""),
        )


def _placement_groups(page: Any) -> Iterable[Resource]:  # noqa: ANN401
    for entry in page["PlacementGroups"]:
        tags, name = tags_of(entry), entry["GroupName"]
        strategy = entry.get("Strategy", "")
        yield Resource(
            "placement group", entry["GroupId"], entry["State"], tags, None, type=strategy, group=name
        )


_KEPT_BY_AWS: Final = 5
"""The addresses of each subnet that AWS keeps."""
_HIDDEN_TOO: Final = {"Owners": ["self"], "IncludeDeprecated": True, "IncludeDisabled": True}
"""Deprecated and disabled AMIs are listed too, because they still need their snapshots."""
_KINDS: Final[Mapping[Kind, _Way]] = {
    "AMI": _Way("describe_images", "image-id", 1000, _images, _HIDDEN_TOO),
    "snapshot": _Way("describe_snapshots", "snapshot-id", 1000, _snapshots, {"OwnerIds": ["self"]}),
    "volume": _Way("describe_volumes", "volume-id", 500, _volumes, {}),
    "interface": _Way("describe_network_interfaces", "network-interface-id", 1000, _interfaces, {}),
    "subnet": _Way("describe_subnets", "subnet-id", 1000, _subnets, {}),
    "placement group": _Way("describe_placement_groups", "group-name", None, _placement_groups, {}),
    "instance": _Way("describe_instances", "instance-id", 1000, _instances, {}),
}
