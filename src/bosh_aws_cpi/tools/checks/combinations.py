"""The combinations of zone, VM type and extensions whose cloud properties the Director merges.

It merges them key by key, in this order (BOSH: deployment_plan/merged_cloud_properties.rb).
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, get_args

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.model import TypeOption
from bosh_aws_cpi.plan import vm_sizes
from bosh_aws_cpi.properties.vm import EXCLUSIVE, NEEDS
from bosh_aws_cpi.records import EMPTY, Record
from bosh_aws_cpi.tools.checks.bosh.cloud_config import CloudConfig
from bosh_aws_cpi.tools.checks.bosh.rules import name_of, text_of
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.reading import is_open, properties_of

Identity = tuple[object, ...]
_ZONE: Final = "availability_zone"
_FEW: Final = 3
"""How many names a message has."""
_TYPES: Final = ("instance_type", "instance_type_fallbacks")
_INTERACTING: Final = (
    *({_ZONE, key} for key in ("security_groups", "elbs", "lb_target_groups", "advertised_routes")),
    {_ZONE, *_TYPES, "capacity_reservation", "dedicated_host", "tenancy"},
    {name.partition(".")[0] for row in (*NEEDS, *(row[:2] for row in EXCLUSIVE)) for name in row},
    {*_TYPES, "ebs_optimized", "ephemeral_disk", "raw_instance_storage"}
    | {name.partition(".")[0] for name in get_args(TypeOption)},
    {"tags", "metadata_options"},
)
"""Properties that may be right alone, and wrong together: for create_vm, or in AWS."""
_ALL: Final = "hibernation"
"""With it, all disks and the type must fit each other."""


class Use(Record):
    """A kind of VM that a manifest, or the compilation section, asks for.

    Attributes:
        node: Who asks: an instance group, or the compilation section.
        shown: The same for messages.
        types: The VM type, or what else has the cloud properties; empty with ``vm_resources``.
        extensions: The VM extensions, in the order in which they are merged.
        zones: The azs; None stands for a VM without one.
        sized: The cloud properties that the CPI chooses for ``vm_resources``.
    """

    node: Node
    shown: str
    types: Sequence[Node] = ()
    extensions: Sequence[Node] = ()
    zones: Sequence[Node | None] = (None,)
    sized: Mapping[str, object] = EMPTY


class Merged(Record):
    """The merged cloud properties of a VM.

    Attributes:
        entry: What has them: a VM type, the compilation section, or an instance group with ``vm_resources``.
        nodes: Where each property comes from.
        zone: The az; None without one.
        extensions: The extensions that are merged in.
        use: Who asks for this VM; None when nobody is known to do so.
        is_open: Whether some of the merged hashes are a variable, which may hold any property.
        sized: The properties that the CPI chooses; the others go before them.
        alike: The VM types with which an extension gives the same, of which `entry` is one.
    """

    entry: Node
    nodes: Mapping[str, Node]
    zone: Node | None = None
    extensions: Sequence[Node] = ()
    use: Use | None = None
    is_open: bool = False
    sized: Mapping[str, object] = EMPTY
    alike: Sequence[Node] = ()

    @property
    def identity(self) -> Identity:
        """What combinations that differ only in the zone's name in AWS have in common."""
        own = tuple((key, *identity(node)) for key, node in self.nodes.items() if key != _ZONE)
        return (_ZONE in self.nodes, *own, str(self.sized))


def identity(node: Node) -> Identity:
    """What tells a value from all others: its place."""
    return (node.document.name, *node.route)


def vms(config: CloudConfig, uses: Iterable[Use] | None = None) -> Iterator[Merged]:
    """The combinations that are to be checked.

    Args:
        config: The cloud config.
        uses: What a manifest asks for; None without a manifest: then each VM type is combined with each
            extension, though no manifest may do so. Azs of other CPIs are left out.
    """
    zones: Sequence[Node | None] = config.own_azs if config.lists["azs"] else [None]
    for entry in config.lists["vm_types"]:
        yield from (_merged(entry, [entry], zone) for zone in zones)
    for use in [*of_compilation(config), *(uses or ())]:
        yield from of_use(use, config)
    if uses is None:
        yield from _extended(config, zones)


def _extended(config: CloudConfig, zones: Sequence[Node | None]) -> Iterator[Merged]:
    """Each extension with the VM types that differ in something that the extension interacts with."""
    plain = [_merged(entry, [entry], zone) for entry in config.lists["vm_types"] for zone in zones]
    grouped: dict[frozenset[str] | None, list[list[Merged]]] = {}
    for extension in config.lists["vm_extensions"]:
        own = properties_of(extension).keys()
        near = [each for each in _INTERACTING if each & own]
        keys = frozenset(set().union(*near) - own) if _ALL not in own else None
        if keys not in grouped:
            grouped[keys] = _alike(plain, keys)
        for group in grouped[keys]:
            first, alike = group[0], list({identity(each.entry): each.entry for each in group}.values())
            yield _merged(first.entry, [first.entry], first.zone, [extension]).replaced(alike=alike)


def _alike(plain: Iterable[Merged], keys: frozenset[str] | None) -> list[list[Merged]]:
    """The VMs in groups that have the same values of properties; of all, without keys."""
    found: dict[str, list[Merged]] = {}
    for each in plain:
        values = {key: node.value for key, node in each.nodes.items()}
        if keys is not None and _ALL not in values:
            values = {key: _unsized(value) for key, value in values.items() if key in keys}
        found.setdefault(json.dumps([each.is_open, values], sort_keys=True), []).append(each)
    return list(found.values())


def _unsized(value: object) -> object:
    """A disk whose size is some number: which one matters only to its own other properties."""
    return {**value, "size": 1} if isinstance(value, dict) and value.get("size") else value


def of_use(use: Use, config: CloudConfig) -> Iterator[Merged]:
    """The VMs that somebody asks for, in each zone of this CPI."""
    for zone in (each for each in use.zones if each not in config.azs_of_others):
        yield _merged(use.types[0] if use.types else use.node, use.types, zone, use.extensions, use)


def _merged(
    entry: Node,
    types: Sequence[Node],
    zone: Node | None,
    extensions: Sequence[Node] = (),
    use: Use | None = None,
) -> Merged:
    nodes: dict[str, Node] = {}
    whole = [*([zone] if zone is not None else []), *types, *extensions]
    for each in whole:
        nodes.update(properties_of(each))
    sized = use.sized if use is not None else {}
    return Merged(entry, nodes, zone, extensions, use, any(map(is_open, whole)), sized)


def of_compilation(config: CloudConfig) -> Iterator[Use]:
    """The VMs that compile packages: with a VM type, with sizes, or with cloud properties of their own."""
    node = config.compilation
    if node is None or not isinstance(node.value, dict):
        return
    zone = node.get("az")
    zones = [config.named("azs", text_of(zone))] if zone is not None else [None]
    own = config.named("vm_types", text_of(node.get("vm_type"))) if node.get("vm_type") is not None else node
    sized = sized_properties(node, config)
    if sized is not None and own is not None and (zone is None or zones != [None]):
        types = [] if sized else [own]
        yield Use(node, "compilation", types, extensions_of(config, node), zones, sized)


def sized_properties(node: Node, config: CloudConfig) -> Json | None:
    """The properties that the CPI chooses for ``vm_resources``; None when it can't, empty without them."""
    resources = node.get("vm_resources")
    if resources is None:
        return {}
    wanted = resources.known()
    if not config.sizes or resources.has_variables or not isinstance(wanted, dict):
        return None
    try:
        return vm_sizes.cloud_properties(wanted, config.sizes)
    except CloudError:
        return None


def extensions_of(config: CloudConfig, node: Node) -> list[Node]:
    """The extensions that a compilation section or an instance group names."""
    names = node.get("vm_extensions")
    entries = names.entries() if names is not None and isinstance(names.value, list) else []
    return [found for each in entries if (found := config.named("vm_extensions", text_of(each)))]


def shown(nodes: Sequence[Node]) -> str:
    """Names for a message; the first few of many."""
    names = [f"'{name_of(each)}'" for each in nodes]
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return f"{', '.join(names[:_FEW])}{more}"
