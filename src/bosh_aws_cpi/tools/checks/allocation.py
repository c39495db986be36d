"""The addresses that a deployment manifest asks for: the Director's rules, and whether there are enough.

Rules of BOSH, deployment_plan: instance_group_networks_parser.rb (parse_static_ips), dynamic_network.rb
(validate_reference_from_job!), instance_group_spec_parser.rb (parse_desired_instances),
placement_planner/networks_to_static_ips.rb, network_planner/vip_planner.rb, ip_provider/ip_provider.rb
(reserve_manual, reserve_vip) and ip_provider/ip_repo.rb: an address belongs to one instance.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from bosh_aws_cpi.log import counted
from bosh_aws_cpi.tools.checks import combinations
from bosh_aws_cpi.tools.checks.aws_addresses import aws_addresses, free, kept_by_aws
from bosh_aws_cpi.tools.checks.bosh import network_defaults
from bosh_aws_cpi.tools.checks.bosh.cloud_config import CloudConfig, type_of, unserved, zones_of
from bosh_aws_cpi.tools.checks.bosh.instance_groups import Group
from bosh_aws_cpi.tools.checks.bosh.ranges import AnyNetwork, Blocks, overlaps, ranges_of, shared
from bosh_aws_cpi.tools.checks.bosh.rules import (
    DIRECTOR,
    hashes,
    name_of,
    refused,
    text_of,
    unknown_keys,
    wrong_keys,
)
from bosh_aws_cpi.tools.checks.bosh.shapes import NETWORK_OF_GROUP
from bosh_aws_cpi.tools.checks.bosh.subnets import Addresses, delegated_length
from bosh_aws_cpi.tools.checks.combinations import Use
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.interfaces import Attachment, Vm, any_address
from bosh_aws_cpi.tools.checks.network_properties import entries_of
from bosh_aws_cpi.tools.findings import Finding, Severity

_OPTIONAL_DEFAULTS: Final = ("addressable",)


def _of_networks(group: Group, config: CloudConfig) -> Iterator[Finding]:
    """Check the networks that a group names, and for what they are the default."""
    listed = group.node.get("networks")
    if listed is None:
        return
    if listed.value == []:
        yield refused(listed, "must not be empty", "Name a network")
    entries = hashes(listed)
    for entry in entries:
        yield from unknown_keys(entry, NETWORK_OF_GROUP)
        yield from wrong_keys(entry, NETWORK_OF_GROUP)
        yield from config.missing_names(entry, NETWORK_OF_GROUP)
    yield from network_defaults.findings(listed, entries, _OPTIONAL_DEFAULTS)
    yield from _vip(group, listed)


def _vip(group: Group, listed: Node) -> Iterator[Finding]:
    """A vip network is the default for nothing, and a lone network is it for all."""
    vips = [entry for entry, network in group.networks if type_of(network) == "vip"]
    if vips and len(listed.entries()) == 1:
        what = "the only network is a vip network, which gives VMs no interface"
        yield refused(listed, what, "Add a manual or a dynamic network")
        return
    for entry in vips:
        if (default := entry.get("default")) is not None and default.value:
            yield refused(default, "a vip network can't be a default", "Move default to another network")


def vms(groups: Sequence[Group], uses: Iterable[Use], config: CloudConfig) -> Iterator[Vm]:
    """The VMs of groups, and those that compile, in each zone in which each network has one subnet."""
    by_node = {group.node.route: group for group in groups}
    for use in uses:
        group = by_node[use.node.route]
        if len(group.networks) == len(group.node.at("networks").entries()):
            yield from _vms(group.networks, use, config, "networks")
    for use in combinations.of_compilation(config):
        network = config.named("networks", text_of(use.node.get("network")))
        yield from _vms([(network, network)], use, config, "network") if network is not None else ()


def _vms(networks: Sequence[tuple[Node, Node]], use: Use, config: CloudConfig, key: str) -> Iterator[Vm]:
    for merged in combinations.of_use(use, config):
        found = [_attachment(*each, merged.zone, index) for index, each in enumerate(networks)]
        known = [each for each in found if each is not None]
        if len(known) == len(networks) and not merged.is_open:
            yield Vm(merged, known, use.node, key)


def _attachment(entry: Node, network: Node, zone: Node | None, index: int) -> Attachment | None:
    kind = type_of(network)
    if kind == "vip":
        return Attachment(entry, kind, network, f"192.0.2.{index}")
    name = name_of(zone) if zone is not None else ""
    there = [each for each in entries_of(network) if not name or name in (zones_of(each) or [name])]
    if len(there) != 1 or not kind or network.value.get("managed"):
        return None
    return Attachment(entry, kind, there[0], any_address(there[0], index) if kind == "manual" else None)


Block = tuple[Node, AnyNetwork]
"""A block of addresses, and where it is written."""
_OTHER: Final = "Use another address"
_NO_ADDRESS: Final = "Use a larger range, or take addresses out of reserved or static"
_LARGER: Final = {
    "manual": "Use a larger range, or fewer instances",
    "vip": "Add elastic IPs to static, or use fewer instances",
}
"""What to do if a network of a type has not enough addresses."""


def findings(groups: Sequence[Group], config: CloudConfig) -> Iterator[Finding]:
    """Check the networks and addresses of all instance groups."""
    statics = {name_of(network): _Statics(network) for group in groups for _, network in group.networks}
    for group in groups:
        yield from _of_networks(group, config)
        for entry, network in group.networks:
            yield from _static(entry, statics[name_of(network)], group)
    yield from _twice(groups)
    yield from _enough(groups)


class _Statics:
    """A network with the static addresses of its subnets."""

    def __init__(self, network: Node) -> None:
        self.network = network
        self.kind = type_of(network)
        nodes = hashes(network.get("subnets"))
        self.has_variables = any(each.at(key).has_variables for each in nodes for key in ("range", "static"))
        known = [(each, found) for each in nodes if (found := Addresses.of(each)) is not None]
        self._subnets = [(node, found, Blocks(found.static_blocks)) for node, found in known]

    def around(self, block: AnyNetwork) -> tuple[Node, Addresses] | None:
        """The subnet that has a block among its static addresses."""
        return next(((node, found) for node, found, own in self._subnets if own.overlap(block)), None)


def _static(entry: Node, statics: _Statics, group: Group) -> Iterator[Finding]:
    """Check static_ips."""
    node, kind = entry.get("static_ips"), statics.kind
    subnets = statics.network.get("subnets")
    if kind == "dynamic" and (given := entry.child("static_ips")) is not None:
        yield refused(given, "a dynamic network has no static addresses", "Remove static_ips")
    elif kind == "vip" and subnets is not None and subnets.value and node is not None and node.value:
        what = "the vip network's subnets have the addresses: instance groups must not name any"
        yield refused(node, what, "Remove static_ips, or the network's subnets")
    elif kind == "vip" and node is None and (subnets is None or subnets.value == []) and group.instances:
        what = "has no static_ips, which a vip network without subnets needs"
        yield refused(entry, what, "Add static_ips, one elastic IP for each instance")
    elif node is not None:
        yield from _listed(node, statics, group)


def _listed(node: Node, statics: _Statics, group: Group) -> Iterator[Finding]:
    found, wrong = ranges_of(node)
    yield from wrong
    blocks = [(each.node, one) for each in found for one in each.networks]
    count = sum(one.num_addresses for _, one in blocks)
    if not node.has_variables and not wrong and group.instances not in {None, count}:
        what = f"has {counted(count, 'address')} for {counted(group.instances or 0, 'instance')}"
        yield refused(node, what, "Give one for each instance")
    repeated = shared([one for _, one in blocks])
    for index, (place, one) in enumerate(blocks):
        if index in repeated:
            yield refused(place, f"'{place.value}' is listed more than once", "Remove it")
        elif statics.kind == "manual" and not statics.has_variables:
            yield from _static_block((place, one), statics, group)


def _static_block(block: Block, statics: _Statics, group: Group) -> Iterator[Finding]:
    """An address must be static in a subnet of one of the group's zones, and none that AWS keeps."""
    place, one = block
    own = statics.around(one)
    if own is None:
        what = f"'{place.value}' is not among the static addresses of network '{name_of(statics.network)}'"
        yield refused(place, what, "Add it to the subnet's static, or use another address")
        return
    subnet, addresses = own
    zones = zones_of(subnet)
    if zones and group.zones is not None and not set(zones) & set(group.zones):
        what = f"'{place.value}' is in {', '.join(zones)}, which is none of the instance group's azs"
        yield refused(place, what, "Add the az, or use another address")
    elif overlaps(one, aws_addresses(addresses.whole)):
        what = f"'{place.value}' is one of the addresses that AWS keeps: {kept_by_aws(addresses.whole)}"
        yield Finding(Severity.ERROR, what, _OTHER, place.place, "AWS")


def _twice(groups: Sequence[Group]) -> Iterator[Finding]:
    """An address belongs to one instance; errands, which may run one after the other, may share theirs."""
    given = [
        (group, each.node, one)
        for group in groups
        if not group.is_errand
        for entry, network in group.networks
        if type_of(network) != "dynamic"
        for each in ranges_of(entry.get("static_ips"))[0]
        for one in each.networks
    ]
    for later, earlier in shared([one for _, _, one in given]).items():
        (group, place, _), (other, _, _) = given[later], given[earlier]
        if group is not other:
            yield refused(place, f"'{place.value}' is also a static address of {other.shown}", _OTHER)


def _enough(groups: Sequence[Group]) -> Iterator[Finding]:
    """Each network, and each of its zones, has addresses for the instances that it gets at least.

    A deployment reserves none for errands (BOSH: instance_groups_starting_on_deploy in planner.rb, and
    bind_instance_networks in assembler.rb).
    """
    networks: dict[str, Node] = {}
    wanted: dict[str, Counter[str | None]] = {}
    for group in groups:
        for entry, network in group.networks:
            is_chosen = type_of(network) in _LARGER and entry.get("static_ips") is None
            if is_chosen and group.zones and not group.is_errand:
                name = name_of(network)
                networks[name] = network
                _add(wanted.setdefault(name, Counter()), group)
    for name, network in networks.items():
        yield from _short(network, wanted[name])


def of_compilation(config: CloudConfig) -> Iterator[Finding]:
    """The network of the compilation has an address for each worker (concourse/concourse issue 928)."""
    node = config.compilation
    network = config.named("networks", text_of(node.get("network"))) if node is not None else None
    if node is None or network is None or type_of(network) != "manual" or network.value.get("managed"):
        return
    workers, zone = node.value.get("workers"), text_of(node.get("az")) or None
    if node.at("az").is_unknown or unserved(network, [zone or ""]):
        return
    if zone is not None and zone in map(name_of, config.azs_of_others):
        return
    count = _free(network, zone)
    if count is None or not isinstance(workers, int) or workers <= count:
        return
    where = f" in az '{zone}'" if zone is not None else ""
    what = f"network '{name_of(network)}' has {counted(count, 'address')}{where}, neither reserved nor static"
    if count == 0:
        yield refused(node.at("network"), f"{what}: packages can't be compiled", _NO_ADDRESS)
    else:
        what = f"{what}, for {counted(workers, 'worker')}"
        remedy = f"{_NO_ADDRESS}, or use fewer workers"
        yield Finding(Severity.WARNING, what, remedy, node.at("network").place, DIRECTOR)


def _add(wanted: Counter[str | None], group: Group) -> None:
    """Add the instances of a group: all of them (None), and those that each of its zones gets at least."""
    count, zones = group.instances or 0, group.zones or ()
    wanted[None] += count
    for zone in filter(None, zones):
        wanted[zone] += count // len(zones)


def _short(network: Node, wanted: Counter[str | None]) -> Iterator[Finding]:
    """The first shortage of a network: in all zones, or in one."""
    for zone, count in wanted.items():
        free = _free(network, zone)
        if free is not None and count > free:
            where = f" in az '{zone}'" if zone is not None else ""
            needed, are = counted(count, "address"), "is" if free == 1 else "are"
            what = f"the manifest needs {needed}{where}, but only {free} {are} free"
            yield refused(network.at("subnets"), what, _LARGER[type_of(network)])
            return


def _free(network: Node, zone: str | None) -> int | None:
    """How many addresses a network has for instances without static ones; None when that isn't known."""
    subnets = network.get("subnets")
    if subnets is None or (type_of(network) == "vip" and subnets.value == []):
        return None
    if any(each.is_unknown for each in [subnets, *subnets.entries()]):
        return None
    free = 0
    for subnet in hashes(subnets):
        zones, own = zones_of(subnet), _free_in(subnet, type_of(network))
        if zones is None or own is None:
            return None
        if zone is None or zone in zones:
            free += own
    return free


def _free_in(subnet: Node, kind: str) -> int | None:
    """The same of a subnet: a vip network gives its static addresses."""
    if kind == "vip":
        found, wrong = ranges_of(subnet.get("static"))
        is_known = not wrong and not subnet.at("static").has_variables
        return sum(one.num_addresses for each in found for one in each.networks) if is_known else None
    addresses = Addresses.of(subnet)
    if (
        addresses is None
        or not addresses.is_complete
        or delegated_length(subnet, addresses.whole) is not None
    ):
        return None
    return free(addresses)
