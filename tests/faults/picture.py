"""A picture of the stand-in for AWS: all that a call may have changed there, a line for each thing.

Two worlds that are alike have equal pictures: an id that has a name is shown by it, all others, and
what calls draw by lot, by one word.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from testbed.executable import DIRECTOR_UUID
from testbed.registry import Registry
from testbed.traffic import Traffic
from testbed.world import World

ID = re.compile(r"\b(?:ami|i|snap|subnet|vol)-[0-9a-f]{8,17}\b")
TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
ONE_DRAWN = r"(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32,64})"
DRAWN = re.compile(rf"\b{ONE_DRAWN}(?: {ONE_DRAWN})?\b")
ENDED = "ended instance"
FIGURES = {"Encrypted": "encrypted", "Iops": "iops", "Throughput": "throughput"}


@dataclass
class Painter:
    """Takes pictures.

    Attributes:
        world: What is looked at.
        registry: The registry, whose documents belong to the picture.
        traffic: What leads to VMs, where something does.
        names: By id.
        contents: Tells what a snapshot holds, where that counts.
    """

    world: World
    registry: Registry
    traffic: Traffic | None = None
    names: dict[str, str] = field(default_factory=dict)
    contents: Callable[[str], str] | None = None

    def __post_init__(self) -> None:
        """Name what is laid in every world."""
        self.names[DIRECTOR_UUID] = "director"
        self.name(self.world.image_id, "image")
        for number, subnet_id in enumerate(self.world.subnet_ids, 1):
            self.name(subnet_id, f"subnet {number}")

    def name(self, identifier: str, name: str) -> str:
        """Give an id a name, also as it stands in the path of a device; returns the id."""
        self.names[identifier] = name
        self.names[identifier.replace("-", "")] = name
        return identifier

    def named(self, line: str) -> str:
        """Put names in the place of ids."""
        for identifier, name in self.names.items():
            line = line.replace(identifier, name)
        return TIME.sub("…", DRAWN.sub("…", ID.sub("new", line)))

    def picture(self) -> list[str]:
        """Describe all there is, sorted; what has ended is there too, see `lasting`."""
        interfaces = self.world.ec2.describe_network_interfaces()["NetworkInterfaces"]
        for each in interfaces:
            self.name(each["NetworkInterfaceId"], f"eni {each['PrivateIpAddress']}")
        lines = [
            *map(_interface, interfaces),
            *self._instances(),
            *self._disks(),
            *self._exposed(),
            *self._subnets(),
            *map(_group, self.world.ec2.describe_placement_groups()["PlacementGroups"]),
            *self._requests(),
            *(_settings(*each) for each in self.registry.documents.items()),
        ]
        return sorted(self.named(line) for line in lines)

    def holders(self) -> dict[str, set[str]]:
        """List the ids of all that a call can leave behind, each with the ids of what it belongs to."""
        ec2 = self.world.ec2
        instances = (each for part in ec2.describe_instances()["Reservations"] for each in part["Instances"])
        found: dict[str, set[str]] = {
            each["InstanceId"]: set() for each in instances if each["State"]["Name"] != "terminated"
        }
        for each in ec2.describe_volumes()["Volumes"]:
            found[each["VolumeId"]] = {held["InstanceId"] for held in each["Attachments"]}
        for each in ec2.describe_network_interfaces()["NetworkInterfaces"]:
            found[each["NetworkInterfaceId"]] = {each.get("Attachment", {}).get("InstanceId", "")}
        images = ec2.describe_images(Owners=["self"])["Images"]
        for each in ec2.describe_snapshots(OwnerIds=["self"])["Snapshots"]:
            of = {image["ImageId"] for image in images if each["SnapshotId"] in str(image)}
            found[each["SnapshotId"]] = of
        found |= {each["ImageId"]: set() for each in images}
        found |= {each["SubnetId"]: set() for each in ec2.describe_subnets()["Subnets"]}
        groups = ec2.describe_placement_groups()["PlacementGroups"]
        return found | {each["GroupId"]: set() for each in groups}

    def complete_images(self) -> set[str]:
        """List the available AMIs whose snapshots have the tag that the sweep goes by, and those."""
        ec2, found = self.world.ec2, self.holders()
        images = ec2.describe_images(Owners=["self"])["Images"]
        available = [each["ImageId"] for each in images if each["State"] == "available"]
        tagged = [{"Name": "tag:bosh_ami", "Values": available}]
        snapshots = ec2.describe_snapshots(OwnerIds=["self"], Filters=tagged)["Snapshots"]
        return {each for one in snapshots for each in {one["SnapshotId"], *found[one["SnapshotId"]]}}

    def _instances(self) -> Iterator[str]:
        for reservation in self.world.ec2.describe_instances()["Reservations"]:
            yield from map(_instance, reservation["Instances"])

    def _disks(self) -> Iterator[str]:
        ec2 = self.world.ec2
        yield from map(_volume, ec2.describe_volumes()["Volumes"])
        for each in ec2.describe_images(Owners=["self"])["Images"]:
            yield _image(each) + ("" if each["ImageId"] == self.world.image_id else self._settings(each))
        for each in ec2.describe_snapshots(OwnerIds=["self"])["Snapshots"]:
            if each["SnapshotId"] not in self.world.laid["snapshots"]:
                yield _snapshot(each) + (self.contents(each["SnapshotId"]) if self.contents else "")

    def _settings(self, image: Mapping[str, Any]) -> str:
        """Describe when an image is deprecated, and who may launch it."""
        asked = {"ImageId": image["ImageId"], "Attribute": "launchPermission"}
        found = self.world.ec2.describe_image_attribute(**asked)["LaunchPermissions"]
        others = "".join(f", for {next(iter(each.values()))}" for each in found)
        return (", deprecated" if image.get("DeprecationTime") else "") + others

    def _subnets(self) -> Iterator[str]:
        """Describe the subnets that were not laid, and what is associated with no subnet that is there."""
        ec2 = self.world.ec2
        there = {each["SubnetId"]: each for each in ec2.describe_subnets()["Subnets"]}
        links: dict[str, list[str]] = {}
        for table in ec2.describe_route_tables()["RouteTables"]:
            for each in table["Associations"]:
                links.setdefault(each.get("SubnetId", ""), []).append(table["RouteTableId"])
        for acl in ec2.describe_network_acls()["NetworkAcls"]:
            for each in acl["Associations"]:
                name = "default ACL" if acl["IsDefault"] else acl["NetworkAclId"]
                links.setdefault(each["SubnetId"], []).append(name)
        for subnet_id in sorted((there.keys() | links.keys()) - {"", *self.world.laid["subnets"]}):
            linked = "".join(f", {name}" for name in sorted(links.get(subnet_id, [])))
            shown = _subnet(there[subnet_id]) if subnet_id in there else f"no subnet {subnet_id}"
            yield f"{shown}{linked}"

    def _requests(self) -> Iterator[str]:
        for each in self.world.ec2.describe_spot_instance_requests()["SpotInstanceRequests"]:
            if each["State"] != "cancelled":
                yield f"spot request: {each['State']}{_tags(each['Tags'])}"

    def _exposed(self) -> Iterator[str]:
        if self.traffic is None:
            return
        for kind, entries in self.traffic.state().items():
            if kind != "routes":
                yield from (f"{kind}: {entry}" for entry in entries)
        (table,) = self.world.ec2.describe_route_tables(RouteTableIds=[self.world.route_table_id])[
            "RouteTables"
        ]
        for route in table["Routes"]:
            target = route.get("NetworkInterfaceId") or route["GatewayId"]
            yield f"route: {route['DestinationCidrBlock']} to {target}"


def _settings(vm_cid: str, document: str) -> str:
    return f"registry of {vm_cid}: {json.dumps(json.loads(document)['disks']['persistent'])}"


def _tags(tags: list[Mapping[str, str]]) -> str:
    listed = sorted(f"{tag['Key']}={tag['Value']}" for tag in tags)
    return f" [{', '.join(listed)}]" if listed else ""


def _figures(entry: Mapping[str, Any]) -> str:
    return "".join(f", {name} {entry[key]}" for key, name in FIGURES.items() if entry.get(key))


def lasting(picture: Sequence[str]) -> list[str]:
    """Leave terminated instances out of a picture: they are gone, though EC2 shows them for an hour."""
    return [line for line in picture if not line.startswith(ENDED)]


def _instance(entry: Mapping[str, Any]) -> str:
    if entry["State"]["Name"] == "terminated":
        return f"{ENDED} {entry['InstanceId']}"
    devices = sorted(device["DeviceName"] for device in entry["BlockDeviceMappings"])
    return (
        f"instance {entry['InstanceId']}: {entry['InstanceType']} of {entry['ImageId']}, "
        f"{entry['State']['Name']}, {' '.join(devices)}{_tags(entry.get('Tags', []))}"
    )


def _volume(entry: Mapping[str, Any]) -> str:
    attached = "".join(
        f", {each['State']} to {each['InstanceId']} as {each['Device']}{_fate(each)}"
        for each in entry["Attachments"]
    )
    return (
        f"volume {entry['VolumeId']}: {entry['Size']} GiB {entry['VolumeType']}{_figures(entry)}, "
        f"{entry['State']}{attached}{_tags(entry.get('Tags', []))}"
    )


def _fate(attachment: Mapping[str, Any]) -> str:
    return ", goes with it" if attachment.get("DeleteOnTermination") else ""


def _interface(entry: Mapping[str, Any]) -> str:
    attachment = entry.get("Attachment", {})
    on = (
        f", on {attachment['InstanceId']} as {attachment['DeviceIndex']}{_fate(attachment)}"
        if "InstanceId" in attachment
        else ""
    )
    prefixes = "".join(f", {each['Ipv4Prefix']}" for each in entry.get("Ipv4Prefixes", []))
    groups = " ".join(sorted(group["GroupName"] for group in entry["Groups"]))
    checked = "" if entry["SourceDestCheck"] else ", passes foreign traffic"
    return (
        f"{entry['NetworkInterfaceId']}{prefixes}: in {entry['SubnetId']}, {groups}, {entry['Status']}"
        f"{on}{checked}{_tags(entry.get('TagSet', []))}"
    )


def _subnet(entry: Mapping[str, Any]) -> str:
    ipv6 = ", with IPv6" * len(entry["Ipv6CidrBlockAssociationSet"])
    public = ", public" if entry["MapPublicIpOnLaunch"] else ""
    return (
        f"subnet {entry['SubnetId']}: {entry['CidrBlock']}{ipv6} in {entry['AvailabilityZone']}, "
        f"{entry['State']}{public}{_tags(entry.get('Tags', []))}"
    )


def _group(entry: Mapping[str, Any]) -> str:
    return (
        f"placement group {entry['GroupName']}: {entry['Strategy']}, {entry['State']}{_tags(entry['Tags'])}"
    )


def _snapshot(entry: Mapping[str, Any]) -> str:
    return (
        f"snapshot {entry['SnapshotId']}: {entry['VolumeSize']} GiB{_figures(entry)}, {entry['State']}, "
        f"'{entry.get('Description', '')}'{_tags(entry.get('Tags', []))}"
    )


def _image(entry: Mapping[str, Any]) -> str:
    devices = (each["Ebs"] for each in entry["BlockDeviceMappings"] if "Ebs" in each)
    snapshots = sorted(device["SnapshotId"] for device in devices)
    return (
        f"image {entry['ImageId']}: '{entry['Name']}' of {' '.join(snapshots)}, {entry['State']}"
        f"{_tags(entry.get('Tags', []))}"
    )
