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
from bosh_aws_cpi.properties.vm import VmProperties
from bosh_aws_cpi.records import EMPTY, Record
from bosh_aws_cpi.tools.checks.bosh.cloud_config import CloudConfig
from bosh_aws_cpi.tools.checks.bosh.models import VmResources
from bosh_aws_cpi.tools.checks.bosh.rules import keys_of, text_of
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.reading import is_open, properties_of
from bosh_aws_cpi.tools.findings import Finding, Severity

Identity = tuple[object, ...]
_ZONE: Final = "availability_zone"


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

    @property
    def properties(self) -> dict[str, Node]:
        """The cloud properties that its VM type and extensions give together."""
        return {
            key: node for each in (*self.types, *self.extensions) for key, node in properties_of(each).items()
        }


class Merged(Record):
    """The merged cloud properties of a VM, or of an extension alone.

    Attributes:
        entry: What has them: a VM type, the compilation section, an instance group with ``vm_resources``, or
            an extension.
        nodes: Where each property comes from.
        zone: The az; None without one.
        extensions: The extensions that are merged in.
        use: Who asks for this VM; None when nobody is known to do so.
        is_open: Whether some of the merged hashes are a variable, which may hold any property.
        sized: The properties that the CPI chooses; the others go before them.
    """

    entry: Node
    nodes: Mapping[str, Node]
    zone: Node | None = None
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
        own = tuple((key, *identity(node)) for key, node in self.nodes.items() if key != _ZONE)
        return (self.is_extension, _ZONE in self.nodes, *own, str(self.sized))


def identity(node: Node) -> Identity:
    """What tells a value from all others: its place."""
    return (node.document.name, *node.route)


def vms(config: CloudConfig, uses: Sequence[Use] | None = None) -> Iterator[Merged]:
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
        shown: The same for messages.
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
