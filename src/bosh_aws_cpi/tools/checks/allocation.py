"""The addresses that a deployment manifest asks for: the Director's rules, and whether there are enough.

Rules of BOSH: deployment_plan/instance_group_networks_parser.rb, instance_group_spec_parser.rb
(parse_desired_instances) and placement_planner/networks_to_static_ips.rb.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.tools.checks import interfaces
from bosh_aws_cpi.tools.checks.cloud_config import CloudConfig, type_of, zones_of
from bosh_aws_cpi.tools.checks.combinations import Use
from bosh_aws_cpi.tools.checks.deployment import Group
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.interfaces import Attachment, any_address
from bosh_aws_cpi.tools.checks.network_properties import entries_of
from bosh_aws_cpi.tools.checks.ranges import AnyNetwork, overlaps, ranges_of, within
from bosh_aws_cpi.tools.checks.reading import is_open, properties_of
from bosh_aws_cpi.tools.checks.rules import hashes, name_of, refused, wrong_types
from bosh_aws_cpi.tools.checks.subnets import Addresses, delegated_length, kept_by_aws
from bosh_aws_cpi.tools.findings import Finding, Severity

_DEFAULTS: Final = ("dns", "gateway")


def findings(
    groups: Sequence[Group], uses: Sequence[Use], config: CloudConfig, aws: AwsConfig
) -> Iterator[Finding]:
    """Check the networks and addresses of all instance groups."""
    for group in groups:
        yield from _networks(group, config)
    yield from _enough(groups)
    by_node = {use.node.route: use for use in uses}
    for group in groups:
        if (use := by_node.get(group.node.route)) is not None:
            yield from _interfaces(group, use, aws)


def _networks(group: Group, config: CloudConfig) -> Iterator[Finding]:
    listed = group.node.get("networks")
    if listed is not None and listed.value == []:
        yield refused(listed, "must not be empty", "Name a network")
    entries = hashes(listed)
    for entry in entries:
        yield from wrong_types(entry, name=str, default=list, nic_group=str)
        if entry.child("name") is None:
            yield refused(entry, "has no name", "Add name")
        yield from config.missing(entry.get("name"), "networks")
    if listed is not None and not listed.has_variables:
        yield from _defaults(listed, entries)
    for entry, network in group.networks:
        yield from _static(entry, network, group)


def _defaults(listed: Node, entries: Sequence[Node]) -> Iterator[Finding]:
    """With several networks, one is the default for DNS and one for the gateway."""
    given = Counter(
        str(each.value) for entry in entries if entry.get("default") for each in entry.at("default").entries()
    )
    for key in _DEFAULTS:
        if given[key] > 1 or (not given[key] and len(entries) > 1):
            what = f"one network must be the default for {key}"
            yield refused(listed, what, "Add default: [dns, gateway] to one network")


def _static(entry: Node, network: Node, group: Group) -> Iterator[Finding]:
    node = entry.get("static_ips")
    if node is None:
        return
    if type_of(network) == "dynamic":
        yield refused(node, "a dynamic network has no static addresses", "Remove static_ips")
        return
    found, wrong = ranges_of(node)
    yield from wrong
    blocks = [(each.node, one) for each in found for one in each.networks]
    count = sum(one.num_addresses for _, one in blocks)
    if not node.has_variables and not wrong and group.instances not in {None, count}:
        yield refused(
            node, f"has {count} addresses for {group.instances} instances", "Give one for each instance"
        )
    for index, (place, one) in enumerate(blocks):
        if overlaps(one, [other for _, other in blocks[:index]]):
            yield refused(place, f"'{place.value}' is there more than once", "Remove it")
        elif type_of(network) == "manual":
            yield from _static_block(place, one, network, group)


def _static_block(place: Node, block: AnyNetwork, network: Node, group: Group) -> Iterator[Finding]:
    """An address must be static in a subnet of one of the group's zones, and none that AWS keeps."""
    subnets = hashes(network.get("subnets"))
    if any(subnet.at(key).has_variables for subnet in subnets for key in ("range", "static")):
        return
    known = [(subnet, found) for subnet in subnets if (found := Addresses.of(subnet)) is not None]
    own = next(((subnet, one) for subnet, one in known if overlaps(block, one.statics)), None)
    if own is None:
        what = f"'{place.value}' is not among the static addresses of network '{name_of(network)}'"
        yield refused(place, what, "Add it to the subnet's static, or use another address")
        return
    subnet, addresses = own
    zones = zones_of(subnet)
    if zones and group.zones is not None and not set(zones) & set(group.zones):
        what = f"'{place.value}' is in {', '.join(zones)}, which is none of the instance group's azs"
        yield refused(place, what, "Add the az, or use another address")
    elif any(within(block, kept) or overlaps(block, [kept]) for kept in addresses.kept_by_aws):
        what = f"'{place.value}' is one of the addresses that AWS keeps: {kept_by_aws(addresses.whole)}"
        yield Finding(Severity.ERROR, what, "Use another address", place.place, "AWS")


def _enough(groups: Sequence[Group]) -> Iterator[Finding]:
    """Each zone of a network has addresses for the instances that it gets at least."""
    wanted: dict[tuple[str, ...], int] = defaultdict(int)
    networks: dict[str, Node] = {}
    for group in groups:
        for entry, network in group.networks:
            if type_of(network) != "manual" or entry.get("static_ips") is not None or not group.zones:
                continue
            networks[name_of(network)] = network
            wanted[name_of(network),] += group.instances or 0
            for zone in group.zones:
                wanted[name_of(network), zone] += (group.instances or 0) // len(group.zones)
    for (name, *zones), count in wanted.items():
        free = _free(networks[name], zones)
        if free is not None and count > free:
            where = f" in az '{zones[0]}'" if zones and zones[0] else ""
            what = f"the manifest needs {count} addresses{where}, but only {free} are free"
            remedy = "Use a larger range, or fewer instances"
            yield refused(networks[name].at("subnets"), what, remedy)
            return


def _free(network: Node, zone: Sequence[str]) -> int | None:
    """How many addresses a network has for instances without static ones; None when that isn't known."""
    free = 0
    for subnet in hashes(network.get("subnets")):
        zones, addresses = zones_of(subnet), Addresses.of(subnet)
        if zones is None or addresses is None or not addresses.is_complete:
            return None
        if delegated_length(subnet, addresses.whole) is not None:
            return None
        if not zone or not zone[0] or zone[0] in zones:
            free += addresses.free
    return free


def _interfaces(group: Group, use: Use, aws: AwsConfig) -> Iterator[Finding]:
    """What create_vm refuses, for each zone in which each network has one subnet."""
    listed = group.node.at("networks")
    properties = {
        key: node for each in (*use.types, *use.extensions) for key, node in properties_of(each).items()
    }
    if any(map(is_open, [*use.types, *use.extensions])) or len(group.networks) != len(listed.entries()):
        return
    found: dict[Finding, None] = {}
    for zone in use.zones:
        attachments = [
            each
            for index, (entry, network) in enumerate(group.networks)
            if (each := _attachment(entry, network, zone, index)) is not None
        ]
        if len(attachments) == len(group.networks):
            merged = {**(properties_of(zone) if zone is not None else {}), **properties}
            found.update(dict.fromkeys(interfaces.findings(attachments, merged, aws, listed)))
    yield from found


def _attachment(entry: Node, network: Node, zone: Node | None, index: int) -> Attachment | None:
    kind = type_of(network)
    if kind == "vip":
        return Attachment(entry, kind, network, f"192.0.2.{index}")
    name = name_of(zone) if zone is not None else ""
    there = [each for each in entries_of(network) if not name or name in (zones_of(each) or [name])]
    if len(there) != 1 or not kind or network.value.get("managed"):
        return None
    return Attachment(entry, kind, there[0], any_address(there[0], index) if kind == "manual" else None)
