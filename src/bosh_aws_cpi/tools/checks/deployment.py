"""A deployment manifest: what its instance groups ask for, and the Director's rules for that.

The rules are those of BOSH, src/bosh-director/lib/bosh/director/deployment_plan: manifest_validator.rb,
instance_group_spec_parser.rb and instance_group_availability_zone_parser.rb. Jobs, stemcells and releases are
not checked.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from bosh_aws_cpi.tools.checks.cloud_config import CloudConfig, unserved
from bosh_aws_cpi.tools.checks.combinations import Use, extensions_of, of_compilation, sized_properties
from bosh_aws_cpi.tools.checks.compilation import of_resources
from bosh_aws_cpi.tools.checks.documents import Document, Node
from bosh_aws_cpi.tools.checks.quotas import Demand
from bosh_aws_cpi.tools.checks.reading import properties_of
from bosh_aws_cpi.tools.checks.rules import hashes, name_of, refused, text_of, unlike, wrong_types
from bosh_aws_cpi.tools.findings import Finding

_ELSEWHERE: Final = {
    **dict.fromkeys(
        ("azs", "vm_types", "disk_types", "compilation", "networks"), "Move it to the cloud config"
    ),
    **dict.fromkeys(("disk_pools", "resource_pools"), "Use disk_types and vm_types of the cloud config"),
    "jobs": "Use instance_groups",
}
"""Keys that the Director refuses, and what to do."""
_DISKS: Final = ("persistent_disk", "persistent_disk_type", "persistent_disks")


@dataclass(frozen=True)
class Group:
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
            zones = None if azs.has_variables else [text_of(each) for each in azs.entries()]
        found = [(each, config.named("networks", name_of(each))) for each in hashes(node.get("networks"))]
        networks = [(entry, network) for entry, network in found if network is not None]
        is_number = isinstance(count, int) and not isinstance(count, bool)
        return cls(node, count if is_number else None, zones, networks)

    @property
    def shown(self) -> str:
        """Its name, for messages."""
        return f"instance group '{name_of(self.node)}'"


def groups(document: Document, config: CloudConfig) -> list[Group]:
    """The instance groups of a manifest."""
    root = document.root
    entries = hashes(root.get("instance_groups")) if isinstance(root.value, dict) else []
    return [Group.of(each, config) for each in entries]


def findings(document: Document, config: CloudConfig) -> Iterator[Finding]:
    """What the Director refuses, apart from addresses."""
    root = document.root
    if not isinstance(root.value, dict):
        what = "is empty" if root.value is None else "is no hash"
        yield refused(root, f"{what}: a deployment manifest has instance_groups and others")
        return
    for key, remedy in _ELSEWHERE.items():
        if (node := root.child(key)) is not None:
            yield refused(node, f"{key} is not allowed in a deployment manifest", remedy)
    if root.child("instance_groups") is None:
        yield refused(root, "has no instance_groups", "Add instance_groups")
    yield from wrong_types(root, instance_groups=list)
    listed = root.get("instance_groups")
    for entry in listed.entries() if listed is not None and isinstance(listed.value, list) else ():
        if wrong := unlike(entry, dict):
            yield wrong
    for group in groups(document, config):
        yield from _group(group, config)


def _group(group: Group, config: CloudConfig) -> Iterator[Finding]:
    node = group.node
    for key in ("name", "instances", "networks"):
        if node.child(key) is None:
            yield refused(node, f"has no {key}", f"Add {key}")
    yield from wrong_types(node, name=str, instances=int, networks=list, vm_type=str, vm_resources=dict)
    yield from wrong_types(node, vm_extensions=list, azs=list, persistent_disk=int, persistent_disk_type=str)
    yield from _kind(node, config)
    yield from _disks(node, config)
    yield from _zones(group, config)


def _kind(node: Node, config: CloudConfig) -> Iterator[Finding]:
    given = [key for key in ("vm_type", "vm_resources") if node.get(key) is not None]
    if len(given) != 1:
        what = "has both vm_type and vm_resources" if given else "has neither vm_type nor vm_resources"
        yield refused(node.at(*given[1:]), what, "Keep one of them" if given else "Add vm_type")
    yield from config.missing(node.get("vm_type"), "vm_types")
    if (resources := node.get("vm_resources")) is not None:
        yield from of_resources(resources, config)
    extensions = node.get("vm_extensions")
    for each in extensions.entries() if extensions is not None else ():
        yield from config.missing(each, "vm_extensions")


def _disks(node: Node, config: CloudConfig) -> Iterator[Finding]:
    given = [found for key in _DISKS if (found := node.get(key)) is not None]
    if len(given) > 1:
        names = " and ".join(str(each.route[-1]) for each in given)
        yield refused(given[1], f"has {names}: only one is allowed", "Keep one of them")
    size = node.get("persistent_disk")
    if size is not None and isinstance(size.value, int) and size.value < 0:
        yield refused(size, f"must not be negative, got {size.value}", "Give MiB")
    yield from config.missing(node.get("persistent_disk_type"), "disk_types")
    for each in hashes(node.get("persistent_disks")):
        yield from config.missing(each.get("type"), "disk_types")


def _zones(group: Group, config: CloudConfig) -> Iterator[Finding]:
    """Each network of the group serves each of its zones (network.rb, has_azs?)."""
    azs = group.node.get("azs")
    if azs is not None and azs.value == []:
        yield refused(azs, "must not be empty", "Name an az, or remove azs")
        return
    for each in azs.entries() if azs is not None and isinstance(azs.value, list) else ():
        yield from config.missing(each, "azs")
    for entry, network in group.networks if group.zones is not None else ():
        for zone in unserved(network, group.zones or ()):
            place = azs.entries()[(group.zones or []).index(zone)] if azs is not None else entry
            named = f"az '{zone}'" if zone else "instances without azs, because its subnets have azs"
            what = f"network '{name_of(network)}' has no subnet for {named}"
            yield refused(place, what, "Add a subnet, or change azs")


def uses(document: Document, config: CloudConfig) -> list[Use]:
    """The VMs that the manifest asks for; those whose VM type is not known are left out."""
    found = []
    for group in groups(document, config):
        own = config.named("vm_types", text_of(group.node.get("vm_type")))
        sized = sized_properties(group.node, config)
        if sized is None or (own is None and not sized):
            continue
        zones = [config.named("azs", name) for name in group.zones or ()]
        known: list[Node | None] = [each for each in zones if each is not None]
        known = known or ([None] if group.zones == [""] else [])
        types = [own] if own is not None else []
        extensions = extensions_of(config, group.node)
        found.append(Use(group.node, group.shown, types, extensions, known, sized))
    return found


def demand(document: Document, config: CloudConfig) -> Demand:
    """The number of instances of each type that the manifest and the compilation ask for.

    What is a variable is left out. Fallback types are not counted, nor are VMs on Dedicated Hosts, which have
    quotas of their own.
    """
    found: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for use in [*uses(document, config), *of_compilation(config)]:
        merged = {
            key: node for each in (*use.types, *use.extensions) for key, node in properties_of(each).items()
        }
        name = text_of(merged.get("instance_type")) or str(use.sized.get("instance_type", ""))
        count = use.node.value.get("workers" if use.node.path == "compilation" else "instances")
        if name and isinstance(count, int) and count > 0 and "dedicated_host" not in merged:
            found["spot_bid_price" in merged][name] += count
    return Demand(found[False], found[True])
