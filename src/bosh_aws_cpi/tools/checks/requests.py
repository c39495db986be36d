"""What `cpi check` tries: the requests that BOSH would make of the files, and where each value stands.

An instance group, the compilation and create-env each ask for a VM in each of their azs, in each subnet there
(`of_deployment`). A disk type, and a subnet of a managed network, is a request, too (`of_files`). A VM type,
an extension or a subnet that none of these uses is tried alone, in each az: in one subnet there it must do
(`_of_unused`). What is not known of a request, because it stands alone or has a variable or an unknown name,
may give any property, and nothing is said that depends on such a property (`Request.fixes`).
`request_findings` gives each request to the code of its method.

The Director merges cloud properties key by key: an az's, a VM type's, then its extensions' (BOSH:
deployment_plan/merged_cloud_properties.rb). Of a manifest for `bosh create-env`, bosh-cli
(deployment/manifest/parser.go) passes those of the resource pool, of the disk pool, and of each network or
its only subnet.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Final

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.plan import vm_sizes
from bosh_aws_cpi.properties.types import Problem
from bosh_aws_cpi.properties.vm import REQUIRED, VmProperties
from bosh_aws_cpi.records import EMPTY, Entity, Record
from bosh_aws_cpi.tools.checks.addresses import delegated_prefix, range_of, ranges_of
from bosh_aws_cpi.tools.checks.bosh_models import VmResources
from bosh_aws_cpi.tools.checks.bosh_rules import DIRECTOR, hashes, keys_of, name_of, text_of
from bosh_aws_cpi.tools.checks.cloud_config import Files, is_managed, type_of, zones_of
from bosh_aws_cpi.tools.checks.documents import VARIABLE, Node
from bosh_aws_cpi.tools.checks.references import REFUSES, names_in
from bosh_aws_cpi.tools.findings import Finding, Place, Severity

AWS: Final = "AWS"
Networks = Mapping[str, tuple[Json, Node]]
"""By name: the network that create_vm gets, and the entry with its cloud properties."""
ZONE: Final = "availability_zone"
_OF_NETWORKS: Final = frozenset(
    {"networks", "primary_ipv6", "security_groups", "zone_fallback", "aws.default_security_groups"}
    | {"advertised_routes", "elbs", "lb_target_groups"}
)
"""Properties that can be judged only with known networks: the things must be in the networks' VPC."""


class Refusal(Record):
    """A problem of a request.

    Attributes:
        problem: The problem.
        severity: How bad it is.
        source: Who refuses the request.
    """

    problem: Problem
    severity: Severity = Severity.ERROR
    source: str = "CPI"


class Request(Entity):
    """A request to the CPI: one that will be made, or all that is known of those for an entry in an az.

    Attributes:
        entries: What has its cloud properties, in the order in which they are merged.
        user: Who asks for it: an instance group, the compilation, or one of the entries.
        shown: Who asks for it, for messages; empty if nobody is known to do so.
        networks: Its networks; none for a disk, or if they are not known.
        tags: The tags of the manifest, if there are any.
        sized: The cloud properties that the CPI chooses for ``vm_resources``.
        entry: The entry that is judged alone, because no request is known to use it.
        unknown: The properties that something else may set.
        is_whole: Whether its VM type and az are known; else the configuration's defaults may not be for it.
        method: The CPI's method.
    """

    entries: Sequence[Node]
    user: Node
    shown: str = ""
    networks: Networks = EMPTY
    tags: Node | None = None
    sized: Mapping[str, object] = EMPTY
    entry: Node | None = None
    unknown: Collection[str] = ()
    is_whole: bool = True
    method: str = "create_vm"

    @property
    def az(self) -> Node | None:
        """Its az, if that is known."""
        return next((each for each in self.entries if each.route[0] == "azs"), None)

    @cached_property
    def properties(self) -> dict[str, Node]:
        """Where each of its cloud properties stands."""
        return {key: node for entry in self.entries for key, node in entry.properties.items()}

    @cached_property
    def cloud_properties(self) -> Json:
        """Its cloud properties without those that have a variable; a type that others give is one."""
        known = {key: each.value for key, each in self.properties.items() if not each.has_variables}
        is_typed = "instance_type" in self.properties or "instance_type" not in self.unknown
        return {**({} if is_typed else {"instance_type": VARIABLE}), **self.sized, **known}

    @property
    def documents(self) -> Json:
        """Its networks as the method gets them, by name."""
        return {name: document for name, (document, _) in self.networks.items()}

    def fixes(self, problem: Problem) -> bool:
        """Whether a problem will occur: the request fixes all properties in it.

        Not fixed are variables, what something else may set, and, if an entry is judged alone, what another
        entry than it and its az gives.
        """
        networks = [entry for _, entry in self.networks.values()]
        is_open = not networks or any(entry.has_variables or entry.is_open for entry in networks)
        for key in self._parts(problem):
            whole, _ = self._network(key) or (self.properties.get(_top(key)), "")
            if _top(key) in self.unknown or (is_open and _top(key) in _OF_NETWORKS):
                return False
            if whole is not None and whole.has_variables:
                return False
            is_of_network = key == "networks" or self._network(key) is not None
            if self.entry is not None and is_of_network and self.entry not in networks:
                return False
        given = (key == "networks" or self.node_of(key) for key in self._parts(problem))
        return self.is_whole or any(given)

    @property
    def is_open(self) -> bool:
        """Whether any of the merged hashes may hold any property."""
        return any(entry.is_open for entry in self.entries)

    def node_of(self, key: str) -> Node | None:
        """Where a property stands, or the nearest value around it; None if nothing has it."""
        if (found := self._network(key)) is not None:
            entry, inner = found
            return entry.at(*_route(inner))
        top, *rest = _route(key)
        return self.properties[str(top)].at(*rest) if top in self.properties else None

    def _network(self, key: str) -> tuple[Node, str] | None:
        """The entry with a network's property, and its key there; None for another property."""
        names = [name for name in self.networks if key.startswith(f"networks.{name}.")]
        name = max(names, key=len, default="")
        return (self.networks[name][1], key.removeprefix(f"networks.{name}.")) if names else None

    def _parts(self, problem: Problem) -> tuple[str, ...]:
        """The properties in a problem, the one to blame first.

        Of a subnet in another zone than the VM's own zone, it is only that zone, as all subnets are tried.
        """
        zone, parts = self.properties.get(ZONE), (problem.key, *problem.beside)
        is_own = ZONE in problem.beside and zone is not None and zone.route[0] != "azs"
        return (ZONE,) if is_own and self._network(problem.key) is not None else parts

    def place_of(self, problem: Problem) -> Place:
        """The place of the property to blame."""
        return self._place(self._parts(problem)[0], problem.text)

    def _place(self, key: str, text: str) -> Place:
        """The place of a property; of a list or hash the entry that the text names, if it names one."""
        if key.startswith("aws."):
            return Place(key)
        node = self.node_of(key)
        if key == "tags" and (
            node is None or len(_quoted_values(self.tags, text)) > len(_quoted_values(node, text))
        ):
            node = self.tags
        if key == "tags" and node is None:
            return Place("aws.tags")
        named = _quoted_values(node, text)
        return (named[0] if len(named) == 1 else node if node is not None else self._absent(key, text)).place

    def _absent(self, key: str, text: str) -> Node:
        """The entry that lacks a property: of the VM's networks the one that the text names."""
        networks = self.user.get("networks") or self.user.get("network")
        if key in _OF_NETWORKS and (networks is not None or key == "networks"):
            shown = {each: (f"'{name_of(each)}'", f"networks.{name_of(each)}.") for each in hashes(networks)}
            named = [each for each, forms in shown.items() if any(form in text for form in forms)]
            return named[0] if len(named) == 1 else networks or self.user
        if key in {*REQUIRED, *_OF_NETWORKS}:
            return self._owner(key).at("cloud_properties")
        return self.properties.get("instance_type", networks or self.user.at("cloud_properties"))

    def _owner(self, key: str) -> Node:
        """The entry that lacks a property: the az its zone, the VM type all others."""
        entries = [each for each in self.entries if key == ZONE or each.route[0] != "azs"]
        return [*entries, self.user][0]

    def remedy(self, key: str) -> str:
        """What to do if no az gives the zone; empty for another key."""
        is_absent = key == ZONE and ZONE not in self.properties
        is_without_az = is_absent and self._owner(key).route[0] in {"vm_types", "vm_extensions"}
        return "Name the cloud config with the azs, too, or give the VMs an az" if is_without_az else ""


def _top(key: str) -> str:
    return key if key.startswith(("aws.", "networks.")) else key.partition(".")[0]


def _route(key: str) -> list[str | int]:
    return [int(each) if each.isdecimal() else each for each in key.split(".")]


def _quoted_values(node: Node | None, text: str) -> list[Node]:
    """The values in a list or hash that a text quotes, or whose keys it quotes."""
    entries = node.entries() if node is not None and isinstance(node.value, list | dict) else []
    inner = [value for each in entries for value in (each.entries() or [each])]
    return [
        each
        for each in inner
        if any(f"{mark}{word}'" in text for mark in "'`" for word in (each.value, each.route[-1]))
    ]


Alternatives = Sequence[Request]
"""Requests of which one must succeed: of an entry that is judged alone, one in each subnet of an az."""


@cache
def of_files(files: Files) -> Sequence[Alternatives]:
    """All requests; those for one entry in its azs follow one another."""
    disks = [Request([each], each, method="create_disk") for each in files.lists["disk_types"]]
    certain = [[each] for each in (*of_deployment(files), *disks, *_of_managed(files))]
    return [*certain, *(() if files.is_for_create_env else _of_unused(files))]


def count(files: Files) -> dict[str, int]:
    """The numbers of VMs, disks and networks that are tried, each VM in each of its azs and subnets."""
    methods = Counter(each.method for tried in of_files(files) for each in tried if not each.is_open)
    return {f"{kind}s": methods[f"create_{kind}"] for kind in ("vm", "disk", "network")}


@cache
def of_deployment(files: Files) -> Sequence[Request]:
    """The requests for VMs that are certain: of instance groups, of the compilation, of create-env's VM."""
    return [request for user in files.users for request in _of_user(files, user)]


def _networks_of(files: Files, user: Node) -> list[tuple[Node, Node]]:
    """A user's entries for networks, with the networks that they name; none if one is not known."""
    given = user.get("network" if user is files.compilation else "networks")
    entries = [] if given is None else given.entries() or [given]
    found = [(each, files.find("networks", each.get("name") or each)) for each in entries]
    known = [(each, network) for each, network in found if network is not None]
    return known if len(known) == len(entries) else []


def missing_subnets(files: Files) -> Iterator[Finding]:
    """The networks that have no subnet in an az of their user: no VM is tried with them."""
    for user in files.users:
        azs, is_known = _azs(files, user)
        for entry, network in _networks_of(files, user) if is_known else ():
            is_whole = all(isinstance(each.value, dict) for each in network.at("subnets").entries())
            for az in azs if is_whole and _subnets_in(files, network, None) else ():
                if az is not None and not _subnets_in(files, network, az):
                    what = f"network '{name_of(network)}' has no subnet in az '{name_of(az)}': {REFUSES}"
                    yield Finding(Severity.NOT_CHECKED, what, "", entry.place, DIRECTOR)


def _of_user(files: Files, node: Node) -> Iterator[Request]:
    """The requests for a user's VMs, one for each az and subnet: what is not known may give any property."""
    shown = f"instance group '{name_of(node)}'" if files.manifest is not None else ""
    shown = "compilation" if node is files.compilation else shown
    networks = _networks_of(files, node)
    own = files.find("vm_types", node.get("resource_pool") or node.get("vm_type"))
    sized = sized_properties(files, node)[0] if node.get("vm_resources") is not None else {}
    if own is None and not sized:
        is_bare = node is files.compilation and not (node.get("vm_type") or node.get("vm_resources"))
        own = node if is_bare or node.get("cloud_properties") is not None else None
    names = [*names_in(node.get("vm_extensions"))]
    extensions = [each for name in names if (each := files.find("vm_extensions", name)) is not None]
    if shown and extensions:
        shown += " with vm_extensions " + ", ".join(f"'{name_of(each)}'" for each in extensions)
    azs, is_az_known = _azs(files, node)
    has_type = own is not None or bool(sized)
    entries = [each for each in (own, *extensions) if each is not None]
    for az in azs:
        unknown = _unknown(
            files,
            az,
            entries,
            has_az=is_az_known,
            has_type=has_type,
            has_extensions=len(names) == len(extensions),
        )
        given = [each for each in (az, *entries) if each is not None] or [node]
        for documents in _networks_in(files, networks, az) if is_az_known else [EMPTY]:
            yield Request(
                given,
                node,
                shown,
                documents,
                files.tags,
                sized,
                unknown=unknown,
                is_whole=has_type and is_az_known,
            )


def _azs(files: Files, node: Node) -> tuple[Sequence[Node | None], bool]:
    """The azs of this CPI that a group or the compilation names, and whether they are known.

    There is a None for one that names none, or none that is known.
    """
    names = [*names_in(node.get("az" if node is files.compilation else "azs"))]
    named = [each for name in names if (each := files.find("azs", name)) is not None]
    own = [each for each in named if each not in files.azs_of_others]
    return own if named else [None], bool(named) or not names


def _networks_in(files: Files, networks: Sequence[tuple[Node, Node]], az: Node | None) -> Iterator[Networks]:
    """The networks of a VM, with each subnet that one of them has in an az."""
    choices = []
    for index, (entry, network) in enumerate(networks):
        subnets = [network] if type_of(network) == "vip" else _subnets_in(files, network, az)
        choices.append([_network(files, entry, network, subnet, index) for subnet in subnets])
    if not choices or not all(choices):
        yield {}
        return
    for number in range(max(map(len, choices))):
        chosen = (each[number % len(each)] for each in choices)
        yield {name: document for each in chosen if each is not None for name, document in [each]}


def _subnets_in(files: Files, network: Node, az: Node | None) -> list[Node]:
    """The subnets of a network that VMs of an az may be in; without an az, all of them."""
    return [subnet for each, subnet in files.subnets if each is network and _serves(subnet, az)]


def _serves(subnet: Node, az: Node | None) -> bool:
    """Whether VMs of an az may be in a subnet."""
    names = zones_of(subnet)
    return not names or az is None or name_of(az) in names


def _network(
    files: Files, entry: Node, network: Node, subnet: Node, index: int = 0
) -> tuple[str, tuple[Json, Node]] | None:
    """A network as create_vm gets it; None for an elastic IP that is not known."""
    kind, given = type_of(network), subnet.value.get("cloud_properties")
    static = [block for _, blocks in ranges_of(entry.get("static_ips")) for block in blocks]
    address = str(static[0][0]) if static else ""
    if files.is_for_create_env:  # bosh-cli passes the first as it is
        address = next((text.value for text in entry.at("static_ips").texts()), "")
    is_chosen_later = not files.is_for_create_env or entry.at("static_ips").has_variables
    if kind == "vip" and not address and is_chosen_later:
        return None
    if kind == "manual" and is_chosen_later:
        address = address or _any_address(subnet, index)
    if is_managed(network):  # create_network returns these
        groups = subnet.get("cloud_properties", "security_groups")
        given = {"subnet": VARIABLE, **({"security_groups": groups.value} if groups is not None else {})}
    group = entry.get("nic_group")
    values = {
        "type": kind,
        "ip": address,
        "nic_group": text_of(group),
        "prefix": delegated_prefix(subnet),
        "cloud_properties": given,
    }
    document = {key: value for key, value in values.items() if value}
    if group is not None and group.value == "":
        document["nic_group"] = ""  # a name like any other
    return name_of(network), (document, subnet)


def _any_address(subnet: Node, index: int) -> str:
    """Some address for a manual network, other than those of the VM's other networks."""
    whole = range_of(subnet.value.get("range"))
    return f"10.255.{index}.0" if whole is None or whole.version == 4 else f"fd00:0:0:0:{index}::"  # noqa: PLR2004 - IPv4


def _of_unused(files: Files) -> Iterator[Alternatives]:
    """The VM types, extensions and subnets that no request is known to use: each alone, in each az."""
    azs: Sequence[Node | None] = files.own_azs if files.lists["azs"] else [None]
    types, extensions = files.lists["vm_types"], files.lists["vm_extensions"]
    known = [each for each in of_deployment(files) if each.is_whole] if files.manifest is not None else []
    used = {node for each in known for node in (*each.entries, *(it for _, it in each.networks.values()))}
    alone: dict[Node, Networks] = {
        subnet: dict([named])
        for network, subnet in files.subnets
        if _is_alone(subnet) and (named := _network(files, network, network, subnet)) is not None
    }
    for entry in (each for each in (*types, *extensions, *alone) if each not in used):
        own = [entry] if entry not in alone else []
        requests: dict[Node | None, list[Request]] = {}
        for az in azs:
            networks = [each for subnet, each in alone.items() if _serves(subnet, az)] or [EMPTY]
            if not own:
                networks = [alone[entry]] if _serves(entry, az) else []
            unknown = _unknown(files, az, own, has_type=entry in types, is_subnet=not own)
            chooses = ZONE in entry.properties and az is not None and not az.properties
            requests.setdefault(None if chooses else az, []).extend(
                Request(
                    [*([az] if az is not None else []), *own],
                    entry,
                    networks=each,
                    tags=files.tags,
                    entry=entry,
                    unknown=unknown,
                    is_whole=entry in types,
                )
                for each in networks
            )
        yield from filter(None, requests.values())


def _unknown(
    files: Files,
    az: Node | None,
    own: Sequence[Node],
    *,
    has_az: bool = True,
    has_type: bool = True,
    has_extensions: bool = False,
    is_subnet: bool = False,
) -> frozenset[str]:
    """The properties that the part of a request that is not known may give.

    Args:
        files: The files, whose other entries may be that part.
        az: The az, if it is known.
        own: The VM type and the extensions that are known: nothing else gives what they give.
        has_az: Whether the az is known.
        has_type: Whether the VM type is known.
        has_extensions: Whether all extensions are known.
        is_subnet: Whether only a subnet is known: its VM has a type of the files, if these have any.
    """
    types, extensions = files.lists["vm_types"], files.lists["vm_extensions"]
    unknown: set[str] = set()
    if not has_extensions:
        unknown.update(*(each.properties for each in extensions))
        unknown |= {ZONE} if "azs" in files.open_lists else set()
    if not has_type:
        is_listed = is_subnet and types and "vm_types" not in files.open_lists
        given = az.properties.keys() if az is not None else set()
        unknown |= ({*REQUIRED} if is_listed else VmProperties.model_fields.keys()) - given
        unknown.update(*(each.properties for each in types))
    if not has_az:
        unknown |= VmProperties.model_fields.keys()
    fixed = {key for each in own for key in each.properties}
    if "instance_type" in fixed:  # its fallbacks cure nothing in it
        fixed.add("instance_type_fallbacks")
    return frozenset(unknown - fixed)


def _is_alone(subnet: Node) -> bool:
    """Whether VMs in a subnet may have no other network: no prefixes, no later network card."""
    is_first = not text_of(subnet.get("cloud_properties", "network_card_index"))
    return is_first and not delegated_prefix(subnet)


def _of_managed(files: Files) -> Iterator[Request]:
    for network, subnet in files.subnets:
        if is_managed(network):
            keys = ("range", "gateway", "netmask_bits")
            document = {key: node.value for key in keys if (node := subnet.get(key)) is not None}
            yield Request(
                [subnet], subnet, networks={name_of(network): (document, subnet)}, method="create_network"
            )


def sized_properties(files: Files, node: Node) -> tuple[Json, list[Finding]]:
    """The cloud properties that the CPI chooses for ``vm_resources``, or why it can't; else neither."""
    resources = node.get("vm_resources")
    if resources is None or not files.sizes or not isinstance(resources.value, dict):
        return {}, []
    if resources.has_variables or [*keys_of(resources, VmResources)]:
        return {}, []
    try:
        return vm_sizes.cloud_properties(resources.value, files.sizes), []
    except CloudError as error:
        return {}, [Finding(Severity.ERROR, error.message, "", resources.place)]


def instance_types(files: Files) -> set[str]:
    """All instance types that the files name, and that are no variables."""
    keys = ("instance_type", "instance_type_fallbacks")
    entries = [each for key in ("azs", "vm_types", "vm_extensions") for each in files.lists[key]]
    nodes = [node for each in (*entries, *files.users) for key in keys if (node := each.properties.get(key))]
    sized = (sized_properties(files, each)[0].get("instance_type") for each in files.users)
    return {str(each.value) for node in nodes for each in node.texts()} | {each for each in sized if each}
