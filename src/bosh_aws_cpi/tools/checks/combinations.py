"""The cloud properties of VMs, merged from az, VM type and extensions as the Director merges them.

It merges them key by key, in this order (BOSH: deployment_plan/merged_cloud_properties.rb).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pydantic import ValidationError

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.plan import vm_sizes
from bosh_aws_cpi.properties.types import mistakes
from bosh_aws_cpi.properties.vm import TargetGroup, VmProperties
from bosh_aws_cpi.records import EMPTY, Entity, Record
from bosh_aws_cpi.tools.checks.bosh.cloud_config import CloudConfig
from bosh_aws_cpi.tools.checks.bosh.models import VmResources
from bosh_aws_cpi.tools.checks.bosh.rules import keys_of, text_of
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.reading import is_open, properties_of, read_known
from bosh_aws_cpi.tools.findings import Finding, Severity

Identity = tuple[object, ...]
ZONE: Final = "availability_zone"
_TYPES: Final = ("instance_type", "instance_type_fallbacks")
_LISTS: Final = frozenset({"elbs", "instance_type_fallbacks", "security_groups"})
"""The properties that must be a list, among those whose texts name something in AWS."""


class Use(Record):
    """A kind of VM that a manifest, or the compilation section, asks for.

    Attributes:
        node: Who asks: an instance group, or the compilation section.
        shown: Who asks, for messages.
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

    @property
    def properties(self) -> dict[str, Node]:
        """The cloud properties that its VM type and extensions give together."""
        return {
            key: node for each in (*self.types, *self.extensions) for key, node in properties_of(each).items()
        }


class Merged(Entity):
    """The merged cloud properties of a VM, or of an extension alone.

    Attributes:
        entry: What has them: a VM type, the compilation section, an instance group with ``vm_resources``, or
            an extension.
        nodes: Where each property comes from.
        az: The az; None without one.
        extensions: The extensions that are merged in.
        use: Who asks for this VM; None when nobody is known to do so.
        is_open: Whether some of the merged hashes are a variable, which may hold any property.
        sized: The properties that the CPI chooses; the others go before them.
    """

    entry: Node
    nodes: Mapping[str, Node]
    az: Node | None = None
    extensions: Sequence[Node] = ()
    use: Use | None = None
    is_open: bool = False
    sized: Mapping[str, object] = EMPTY

    @property
    def is_extension(self) -> bool:
        """Whether it is an extension alone: a VM type gives the rest."""
        return self.use is None and bool(self.extensions)

    @property
    def identity(self) -> Identity:
        """What combinations that differ only in the zone's name in AWS have in common."""
        own = tuple((key, *identity(node)) for key, node in self.nodes.items() if key != ZONE)
        return (self.is_extension, ZONE in self.nodes, *own, str(self.sized))

    @property
    def zone(self) -> str:
        """AWS's zone; empty when it isn't known."""
        node = self.nodes.get(ZONE)
        return next((str(each.value) for each in node.texts()), "") if node is not None else ""

    @property
    def types(self) -> list[Node]:
        """The known instance types, in the order in which they are tried."""
        return [each for key in _TYPES for each in self.named(key)]

    @property
    def knows_all_types(self) -> bool:
        """Whether no type is a variable."""
        return not any(node.has_variables for key in _TYPES if (node := self.nodes.get(key)))

    def get(self, *route: str | int) -> Node | None:
        """A property; None when there is none."""
        node = self.nodes.get(str(route[0]))
        return node.get(*route[1:]) if node is not None else None

    def has(self, key: str) -> bool:
        """Whether a property is given, or may be, and so takes a default's place; an empty one does not."""
        node = self.nodes.get(key)
        return self.is_open or (node is not None and bool(node.value))

    def named(self, key: str) -> list[Node]:
        """The known texts of a property; none if it is no list and must be one, or the other way round."""
        node = self.get(key)
        has_right_form = node is not None and isinstance(node.value, list) == (key in _LISTS)
        return list(node.texts()) if node is not None and has_right_form else []

    def chosen(self, key: str, choice: str, beside: str = "") -> list[Node]:
        """The known text under a hash's key; none if the hash says more, which is refused.

        Args:
            key: The property that is the hash.
            choice: The key in it.
            beside: A key that the hash may have in addition.
        """
        node, whole = self.get(key, choice), self.get(key)
        if node is None or whole is None:
            return []
        given = [each for each in whole.entries() if each.value is not None and each.route[-1] != beside]
        return list(node.texts()) if len(given) == 1 else []

    def target_groups(self) -> list[Node]:
        """The known names and ARNs of target groups, alone or in a hash; not those of wrong entries."""
        groups = self.get("lb_target_groups")
        if groups is None or not isinstance(groups.value, list):
            return []
        found: list[Node | None] = []
        for entry in (each for each in groups.entries() if read_known(TargetGroup, each)):
            found += [entry.get("name"), entry.get("arn")] if isinstance(entry.value, dict) else [entry]
        return [each for node in found if node is not None for each in node.texts()]

    def route_tables(self) -> list[Node]:
        """The ids of the route tables of advertised_routes."""
        routes = self.get("advertised_routes")
        nodes = [entry.get("table_id") for entry in routes.entries()] if routes is not None else []
        return [each for node in nodes if node is not None for each in node.texts()]


def identity(node: Node) -> Identity:
    """What tells a value from all others: its place."""
    return (node.document.name, *node.route)


def to_check(config: CloudConfig, uses: Sequence[Use] | None = None) -> Iterator[Merged]:
    """The combinations that are to be checked: what nobody is known to use is checked alone.

    Args:
        config: The cloud config.
        uses: What a manifest asks for; None without a manifest. Azs of other CPIs are left out.
    """
    asked = [each for use in [*of_compilation(config), *(uses or ())] for each in of_use(use, config)]
    used = {each for merged in asked if merged.use for each in (*merged.use.types, *merged.use.extensions)}
    zones: Sequence[Node | None] = config.own_azs if config.lists["azs"] else [None]
    for entry in config.lists["vm_types"]:
        if uses is None or entry not in used:
            yield from (_merged(entry, [entry], zone) for zone in zones)
    for entry in config.lists["vm_extensions"]:
        if uses is None or entry not in used:
            yield _merged(entry, [], None, [entry])
    yield from asked


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
    whole = [*([zone] if zone is not None else []), *types, *extensions]
    nodes = {key: node for each in whole for key, node in properties_of(each).items()}
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
    if zone is None or zones != [None]:
        yield from use_of(node, "compilation", own, zones, config)


def use_of(
    node: Node, shown: str, own: Node | None, zones: Sequence[Node | None], config: CloudConfig
) -> Iterator[Use]:
    """The VMs that a compilation section or an instance group asks for; none if their type is not known.

    Args:
        node: Who asks.
        shown: Who asks, for messages.
        own: The VM type that it names.
        zones: See `Use`.
        config: The cloud config.
    """
    if node.get("vm_resources") is not None:
        own, sized = None, sized_properties(node, config)[0]
    else:
        sized = {}
    if sized or own is not None:
        names = node.get("vm_extensions")
        entries = names.entries() if names is not None and isinstance(names.value, list) else []
        found = [config.named("vm_extensions", text_of(each)) for each in entries]
        extensions = [each for each in found if each is not None]
        yield Use(node, shown, [own] if own is not None else [], extensions, zones, sized)


def sized_properties(node: Node, config: CloudConfig) -> tuple[Json, list[Finding]]:
    """The properties that the CPI chooses for ``vm_resources``, or why it can't; else neither."""
    resources = node.get("vm_resources")
    if resources is None or not config.sizes or not isinstance(resources.value, dict):
        return {}, []
    if resources.has_variables or [*keys_of(resources, VmResources)]:
        return {}, []
    try:
        chosen = vm_sizes.cloud_properties(resources.value, config.sizes)
        VmProperties.model_validate(chosen)
    except CloudError as error:
        return {}, [Finding(Severity.ERROR, error.message, "", resources.place)]
    except ValidationError as error:
        place = resources.at("ephemeral_disk_size").place
        return {}, [Finding(Severity.ERROR, text, "", place) for _, text in mistakes(error)]
    return chosen, []
