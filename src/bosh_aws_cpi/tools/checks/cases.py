"""The requests that the Director would make of the files, with the place that each value comes from.

The Director merges cloud properties key by key: an az's, a VM type's, then its extensions' (BOSH:
deployment_plan/merged_cloud_properties.rb). Of a manifest for `bosh create-env`, bosh-cli
(deployment/manifest/parser.go) passes those of the resource pool, of the disk pool, and of each network or
its only subnet.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Final

from pydantic import ValidationError

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.plan import vm_sizes
from bosh_aws_cpi.plan.instance_types import tabled_facts
from bosh_aws_cpi.properties.types import Problem, mistakes
from bosh_aws_cpi.properties.vm import REQUIRED, VmProperties
from bosh_aws_cpi.records import EMPTY, Entity
from bosh_aws_cpi.tools.checks.addresses import Range, range_of, ranges_of
from bosh_aws_cpi.tools.checks.bosh.models import Compilation, VmResources
from bosh_aws_cpi.tools.checks.bosh.rules import keys_of, name_of, renamed, text_of
from bosh_aws_cpi.tools.checks.cloud_config import Files, type_of, zones_of
from bosh_aws_cpi.tools.checks.documents import VARIABLE, Node
from bosh_aws_cpi.tools.findings import Finding, Place, Severity

Networks = Mapping[str, tuple[Json, Node]]
"""By name: what create_vm gets, and what has the cloud properties."""
_OF_NETWORKS: Final = frozenset({"networks", "primary_ipv6", "security_groups", "zone_fallback"})
"""What can be wrong only with networks that are known."""
_ZONE: Final = "availability_zone"
_ANY_VIP: Final = "192.0.2.1"


class Case(Entity):
    """A request to the CPI.

    Attributes:
        entries: What has its cloud properties, in the order in which they are merged.
        user: Who asks for it: an instance group, the compilation, or one of the entries.
        key: The user's key that is to blame for networks that don't fit each other.
        shown: Who asks for it, for messages; empty if nobody is known to do so.
        networks: Its networks; none for a disk, or if they are not known.
        sized: The cloud properties that the CPI chooses for ``vm_resources``.
        unknown: The properties that something else may set.
    """

    entries: Sequence[Node]
    user: Node
    key: str = "cloud_properties"
    shown: str = ""
    networks: Networks = EMPTY
    sized: Mapping[str, object] = EMPTY
    unknown: frozenset[str] = frozenset()

    @cached_property
    def properties(self) -> dict[str, Node]:
        """Where each of its cloud properties stands."""
        return {key: node for entry in self.entries for key, node in entry.properties.items()}

    @cached_property
    def cloud_properties(self) -> Json:
        """Its cloud properties without those that have a variable in them."""
        known = {key: each.value for key, each in self.properties.items() if not each.has_variables}
        return {**self.sized, **known}

    @cached_property
    def open(self) -> frozenset[str]:
        """The properties that are not known, because they are variables, or something else sets them."""
        open_networks = any(entry.has_variables or entry.is_open for _, entry in self.networks.values())
        of_networks = _OF_NETWORKS if open_networks or not self.networks else frozenset()
        variables = (key for key, node in self.properties.items() if node.has_variables)
        return frozenset([*variables, *of_networks, *self.unknown])

    def remedy(self, key: str) -> str:
        """How to give a required property that is there under another key; empty for others."""
        entry = self._owner(key)
        if key not in REQUIRED or key in self.properties:
            return ""
        if entry.child(key):
            return f"Move {key} into cloud_properties"
        return renamed(entry, "cloud_properties", Compilation.model_fields) if not entry.properties else ""

    @property
    def is_open(self) -> bool:
        """Whether any of the merged hashes may hold any property."""
        return any(entry.is_open for entry in self.entries)

    def is_known(self, problem: Problem) -> bool:
        """Whether no property that has a part in a problem is open."""
        keys = (problem.key, *problem.beside)
        networks = [found for key in keys if (found := self._network_of(key)) is not None]
        others = {key.partition(".")[0] for key in keys if self._network_of(key) is None}
        return self.open.isdisjoint(others) and not any(entry.has_variables for entry, _ in networks)

    def _network_of(self, key: str) -> tuple[Node, str] | None:
        """The entry and the rest of the key of a network's property; None for another property."""
        for name, (_, entry) in self.networks.items():
            if key.startswith(prefix := f"networks.{name}."):
                return entry, key.removeprefix(prefix)
        return None

    def blamed(self, key: str, text: str) -> Place:
        """The place of a property that has a part in a problem.

        Args:
            key: The property.
            text: The problem, which may quote one of the property's entries.
        """
        top, *rest = key.split(".")
        if top == "aws":
            return Place(key)
        if (found := self._network_of(key)) is not None:
            node, inner = found
            return _named_in(node.at(*inner.split(".")), text).place
        if top in self.properties:
            return _named_in(self.properties[top].at(*rest), text).place
        return self._absent(top).place

    def _absent(self, top: str) -> Node:
        """What lacks a property that is not there."""
        if top == "networks" or (top in _OF_NETWORKS and self.key != "cloud_properties"):
            return self.user.at(self.key)
        if top in {*REQUIRED, *_OF_NETWORKS}:
            return self._owner(top).at("cloud_properties")
        return self.properties.get("instance_type", self.user.at(self.key))

    def _owner(self, key: str) -> Node:
        """The entry that should have a property: the az its zone, the VM type all others."""
        entries = self.entries or [self.user]
        return entries[0 if key == _ZONE else -1]


def _named_in(node: Node, text: str) -> Node:
    """The entry of a list that a message quotes; the list if that is not certain."""
    entries = node.entries() if isinstance(node.value, list) else []
    found = [value for each in entries for value in (each.entries() or [each]) if f"'{value.value}'" in text]
    return found[0] if len(found) == 1 else node


Question = tuple[Sequence[Node | None], Iterable[Case]]
"""Entries that must work together, and the requests that show that they do: one of these must succeed."""


def of_deployment(files: Files) -> Iterator[Case]:
    """The requests for VMs that are certain: of instance groups, of the compilation, of create-env's VM."""
    for group in files.groups:
        shown = f"instance group '{name_of(group)}'" if files.manifest is not None else ""
        yield from _of_user(files, group, shown, _networks_of(files, group), "networks")
    if (node := files.compilation) is not None:
        network = files.named("networks", node.get("network"))
        networks = [(node.at("network"), network)] if network is not None else []
        shown = "compilation" if files.manifest is not None else ""
        yield from _of_user(files, node, shown, networks, "network")


def _networks_of(files: Files, group: Node) -> list[tuple[Node, Node]]:
    """A group's entries for networks, with the networks that they name; none if one is not known."""
    entries = group.at("networks").entries() if group.get("networks") is not None else []
    found = [(each, files.named("networks", each.get("name"))) for each in entries]
    known = [(each, network) for each, network in found if network is not None]
    return known if len(known) == len(entries) else []


def _of_user(
    files: Files, node: Node, shown: str, networks: Sequence[tuple[Node, Node]], key: str
) -> Iterator[Case]:
    own = files.named("vm_types", node.get("resource_pool") or node.get("vm_type"))
    sized = sized_properties(files, node)[0] if node.get("vm_resources") is not None else {}
    if own is None and not sized:
        own = node if node.get("cloud_properties") is not None else None
    if own is None and not sized:
        return
    names = node.get("vm_extensions")
    found = [files.named("vm_extensions", each) for each in names.entries()] if names is not None else []
    extensions = [each for each in found if each is not None]
    if shown and extensions:
        shown += " with vm_extensions " + ", ".join(f"'{name_of(each)}'" for each in extensions)
    for az in _azs(files, node):
        entries = [each for each in (az, own, *extensions) if each is not None] or [node]
        for documents in _together(files, networks, az):
            yield Case(entries, node, key, f"for {shown}: " if shown else "", documents, sized)


def _azs(files: Files, node: Node) -> Sequence[Node | None]:
    """The azs of this CPI that a group or the compilation names; None for one that names none."""
    azs = node.get("az" if node is files.compilation else "azs")
    if azs is None:
        return [None]
    named = [files.named("azs", each) for each in (azs.entries() if isinstance(azs.value, list) else [azs])]
    return [each for each in named if each is not None and each not in files.azs_of_others]


def _together(files: Files, networks: Sequence[tuple[Node, Node]], az: Node | None) -> Iterator[Networks]:
    """The networks of a VM, with each subnet that one of them has in an az."""
    choices = []
    for index, (entry, network) in enumerate(networks):
        subnets = (
            [network]
            if type_of(network) == "vip"
            else [subnet for each, subnet in files.subnets if each is network and _serves(subnet, az)]
        )
        choices.append([_network(files, entry, network, subnet, index) for subnet in subnets])
    if not choices or not all(choices):
        yield {}
        return
    for number in range(max(map(len, choices))):
        chosen = (each[number % len(each)] for each in choices)
        yield {name: document for each in chosen if each is not None for name, document in [each]}


def _serves(subnet: Node, az: Node | None) -> bool:
    """Whether VMs of an az may be in a subnet."""
    names = zones_of(subnet)
    return not names or az is None or name_of(az) in names


def _network(
    files: Files, entry: Node, network: Node, subnet: Node, index: int = 0
) -> tuple[str, tuple[Json, Node]] | None:
    """A network as create_vm gets it; None for an elastic IP that is not known."""
    kind, given = type_of(network), subnet.value.get("cloud_properties")
    static: Sequence[Range] = ranges_of(entry.get("static_ips"))
    address = str(static[0].networks[0][0]) if static and static[0].networks else ""
    if kind == "vip" and not address:
        return None
    if kind == "manual" and not files.is_for_create_env:
        address = address or _any_address(subnet, index)
    if network.get("managed") is not None and kind == "manual":  # create_network returns these
        groups = subnet.get("cloud_properties", "security_groups")
        given = {"subnet": VARIABLE, **({"security_groups": groups.value} if groups is not None else {})}
    values = {
        "type": kind,
        "ip": address,
        "nic_group": text_of(entry.get("nic_group")),
        "prefix": text_of(subnet.get("prefix")),
        "cloud_properties": given,
    }
    document = {key: value for key, value in values.items() if value}
    return name_of(network), (document, subnet)


def _any_address(subnet: Node, index: int) -> str:
    """Some address for a manual network, other than those of the VM's other networks."""
    whole = range_of(subnet.value.get("range"))
    return f"10.255.{index}.0" if whole is None or whole.version == 4 else f"fd00:0:0:0:{index}::"  # noqa: PLR2004 - IPv4


def of_vms(files: Files) -> Iterator[Question]:
    """The VM types, extensions and subnets of a cloud config, which does not say what is used together."""
    if files.is_for_create_env:
        return
    azs: Sequence[Node | None] = files.own_azs if files.lists["azs"] else [None]
    types, extensions = files.lists["vm_types"], files.lists["vm_extensions"]
    used = {entry for case in of_deployment(files) for entry in (*case.entries, case.user)}
    for az in azs:
        for entry in (each for each in types if each not in used):
            # An extension may set what the VM type lacks.
            completing = [each for each in extensions if each.properties.keys() & {*REQUIRED}]
            together = [[entry], *([entry, each] for each in completing)]
            yield (entry, az), chain.from_iterable(_anywhere(files, az, each, entry) for each in together)
        for entry in (each for each in extensions if each not in used):
            together = [[each, entry] for each in _distinct(types)] or [[entry]]
            yield (entry, az), chain.from_iterable(_anywhere(files, az, each, entry) for each in together)
        for network, subnet in _alone(files, az) if types else ():
            yield (subnet, az), (_vm(files, az, [each], (network, subnet), subnet) for each in types)
    for network in (each for each in files.lists["networks"] if type_of(each) == "vip"):
        values = {"type": "vip", "ip": _ANY_VIP, "cloud_properties": network.value.get("cloud_properties")}
        networks = {name_of(network): ({key: value for key, value in values.items() if value}, network)}
        yield [network], [Case([], network, networks=networks, unknown=_OF_NETWORKS | {*REQUIRED})]


def _distinct(types: Iterable[Node]) -> list[Node]:
    """VM types, one of those that have the same properties, and instance types with the same facts."""
    found: dict[object, Node] = {}
    for each in types:
        facts = tabled_facts(text_of(each.properties.get("instance_type")))
        key = (frozenset(each.properties), facts and facts.replaced(name=""))
        found.setdefault(key, each)
    return list(found.values())


def _anywhere(files: Files, az: Node | None, entries: Sequence[Node], user: Node) -> Iterator[Case]:
    """The request for a VM in each subnet of an az."""
    places = _alone(files, az)
    for place in places:
        yield _vm(files, az, entries, place, user)
    if not places:
        yield _vm(files, az, entries, None, user)


def _alone(files: Files, az: Node | None) -> list[tuple[Node, Node]]:
    """The subnets for VMs of an az that may have no other network: no prefixes, no later network card."""
    single = {"", "32", "128"}
    return [
        (network, subnet)
        for network, subnet in files.subnets
        if _serves(subnet, az)
        and text_of(subnet.get("prefix")) in single
        and not text_of(subnet.get("cloud_properties", "network_card_index"))
    ]


def _vm(
    files: Files, az: Node | None, entries: Sequence[Node], place: tuple[Node, Node] | None, user: Node
) -> Case:
    named = _network(files, place[0], *place) if place is not None else None
    networks = dict([named]) if named is not None else {}
    unknown = set() if files.lists["vm_types"] and "vm_types" not in files.open_lists else {"instance_type"}
    if user in files.lists["vm_extensions"]:  # another extension may be beside it
        others = (each for each in files.lists["vm_extensions"] if each is not user)
        unknown |= {key for each in others for key in each.properties} - user.properties.keys()
    if "azs" in files.open_lists:
        unknown.add(_ZONE)
    whole = [each for each in (az, *entries) if each is not None]
    return Case(whole, user, networks=networks, unknown=frozenset(unknown))


def of_disks(files: Files) -> Iterator[Case]:
    """The requests for disks, of each disk type."""
    yield from (Case([each], each) for each in files.lists["disk_types"])


def of_managed(files: Files) -> Iterator[Case]:
    """The requests for the subnets of managed networks."""
    for network, subnet in files.subnets:
        if network.get("managed") is not None and type_of(network) == "manual":
            yield Case([subnet], subnet, networks={name_of(network): ({}, subnet)})


def sized_properties(files: Files, node: Node) -> tuple[Json, list[Finding]]:
    """The cloud properties that the CPI chooses for ``vm_resources``, or why it can't; else neither."""
    resources = node.get("vm_resources")
    if resources is None or not files.sizes or not isinstance(resources.value, dict):
        return {}, []
    if resources.has_variables or [*keys_of(resources, VmResources)]:
        return {}, []
    try:
        chosen = vm_sizes.cloud_properties(resources.value, files.sizes)
        VmProperties.model_validate(chosen)
    except CloudError as error:
        return {}, [Finding(Severity.ERROR, error.message, "", resources.place)]
    except ValidationError as error:
        place = resources.at("ephemeral_disk_size").place
        return {}, [Finding(Severity.ERROR, text, "", place) for _, text in mistakes(error)]
    return chosen, []


def instance_types(files: Files) -> set[str]:
    """All instance types that the files name, and that are no variables."""
    keys = ("instance_type", "instance_type_fallbacks")
    entries = [each for key in ("azs", "vm_types", "vm_extensions") for each in files.lists[key]]
    users = [*files.groups, *([files.compilation] if files.compilation is not None else [])]
    nodes = [node for each in (*entries, *users) for key in keys if (node := each.properties.get(key))]
    sized = (sized_properties(files, each)[0].get("instance_type") for each in users)
    return {str(each.value) for node in nodes for each in node.texts()} | {each for each in sized if each}
