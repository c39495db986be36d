"""The instance groups of a deployment manifest, and what the Director refuses of them apart from networks.

Rules of BOSH, src/bosh-director/lib/bosh/director: deployment_plan/instance_group_spec_parser.rb,
instance_group_availability_zone_parser.rb, instance_group.rb (valid lifecycles and states), planner.rb
(add_instance_group), and dns/canonicalizer.rb for names.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tools.checks.bosh.cloud_config import CloudConfig, canonical, unserved
from bosh_aws_cpi.tools.checks.bosh.compilation import of_resources
from bosh_aws_cpi.tools.checks.bosh.rules import (
    hashes,
    name_of,
    refused,
    renamed,
    similar_keys,
    text_of,
    wrong_keys,
)
from bosh_aws_cpi.tools.checks.bosh.shapes import ERRAND, INSTANCE_GROUP
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.findings import Finding

DISKS: Final = ("persistent_disk", "persistent_disk_type", "persistent_disks")


class Group(Record):
    """An instance group.

    Attributes:
        node: Its entry.
        instances: How many; None when that isn't known.
        zones: The names of its azs, "" alone without any; None when they aren't known.
        networks: Its networks: the entry, and the network in the cloud config.
    """

    node: Node
    instances: int | None
    zones: Sequence[str] | None
    networks: Sequence[tuple[Node, Node]]

    @classmethod
    def of(cls, node: Node, config: CloudConfig) -> "Group":
        """Read it; what can't be read is left out."""
        count = node.value.get("instances")
        azs = node.get("azs")
        zones: list[str] | None = [""]
        if azs is not None:
            is_known = isinstance(azs.value, list) and all(isinstance(each, str) for each in azs.value)
            zones = list(azs.value) if is_known and not azs.has_variables else None
        found = [(each, config.named("networks", name_of(each))) for each in hashes(node.get("networks"))]
        networks = [(entry, network) for entry, network in found if network is not None]
        is_number = isinstance(count, int) and not isinstance(count, bool)
        return cls(node, count if is_number else None, zones, networks)

    @property
    def is_errand(self) -> bool:
        """Whether a deployment creates no VMs for it."""
        return is_errand(self.node)

    @property
    def shown(self) -> str:
        """Its name, for messages."""
        return f"instance group '{name_of(self.node)}'"


def is_errand(node: Node) -> bool:
    """Whether a deployment creates no VMs for a group (planner.rb, instance_groups_starting_on_deploy)."""
    return text_of(node.get("lifecycle")) == ERRAND


def findings(groups: Sequence[Group], config: CloudConfig) -> Iterator[Finding]:
    """Check all instance groups."""
    seen: dict[str, Node] = {}
    for group in groups:
        yield from _name(group.node, seen)
        yield from similar_keys(group.node, INSTANCE_GROUP)
        yield from wrong_keys(group.node, INSTANCE_GROUP)
        yield from config.missing_names(group.node, INSTANCE_GROUP)
        yield from _kind(group.node, config)
        yield from _disks(group.node, config)
        yield from _zones(group, config)


def _name(node: Node, seen: dict[str, Node]) -> Iterator[Finding]:
    """The name is valid in DNS, and no other group has the same one there."""
    yield from dns_name(node)
    name = canonical(name_of(node))
    if name and (first := seen.setdefault(name, node)) is not node:
        what = f"in DNS the name is that of instance group '{name_of(first)}', line {first.place.line}"
        yield refused(node.at("name"), what, "Use another name")


def dns_name(node: Node) -> Iterator[Finding]:
    """Check the beginning and the end of a name that becomes a part of DNS names."""
    name = canonical(name_of(node))
    if name != name.strip("-"):
        what = "must not begin or end with a hyphen or an underscore, for DNS"
        yield refused(node.at("name"), what, "Use another name")


def _kind(node: Node, config: CloudConfig) -> Iterator[Finding]:
    given = [key for key in ("vm_type", "vm_resources") if node.get(key) is not None]
    if len(given) != 1:
        what = "has both vm_type and vm_resources" if given else "has neither vm_type nor vm_resources"
        add = renamed(node, "vm_type", INSTANCE_GROUP) or "Add vm_type"
        yield refused(node.at(*given[1:]), what, "Keep one of them" if given else add)
    if (resources := node.get("vm_resources")) is not None:
        yield from of_resources(resources, config)


def _disks(node: Node, config: CloudConfig) -> Iterator[Finding]:
    given = [found for key in DISKS if (found := node.get(key)) is not None]
    if len(given) > 1:
        names = " and ".join(str(each.route[-1]) for each in given)
        yield refused(given[1], f"has {names}: only one is allowed", "Keep one of them")
    names_seen: set[str] = set()
    for each in hashes(node.get("persistent_disks")):
        yield from _named_disk(each, names_seen)
        yield from config.missing(each.get("type"), "disk_types")


def _named_disk(disk: Node, seen: set[str]) -> Iterator[Finding]:
    name = text_of(disk.get("name"))
    if not name.strip() and not disk.at("name").is_unknown:
        yield refused(disk, "has no name", "Add name")
    elif name in seen:
        yield refused(disk.at("name"), f"the name '{name}' is listed more than once", "Use another name")
    seen.add(name)


def _zones(group: Group, config: CloudConfig) -> Iterator[Finding]:
    """Each network of the group serves each of its zones (network.rb, has_azs?)."""
    azs = group.node.get("azs")
    if azs is not None and azs.value == []:
        yield refused(azs, "must not be empty", "Name an az, or remove azs")
        return
    for each in azs.entries() if azs is not None and isinstance(azs.value, list) else ():
        if isinstance(each.value, str):
            yield from config.missing(each, "azs")
        else:
            yield refused(each, f"'{each.value}' must be a string", "Put it into quotation marks")
    for entry, network in group.networks if group.zones is not None else ():
        for zone in unserved(network, group.zones or ()):
            place = azs.entries()[(group.zones or []).index(zone)] if azs is not None else entry
            named = f"az '{zone}'" if zone else "instances without azs, because its subnets have azs"
            what = f"network '{name_of(network)}' has no subnet for {named}"
            yield refused(place, what, "Add a subnet, or change azs")
