"""A deployment manifest: the VMs and disks that it asks for. The rest of it is the Director's."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from bosh_aws_cpi.jsontext import is_true
from bosh_aws_cpi.tools.checks import combinations
from bosh_aws_cpi.tools.checks.bosh.cloud_config import CloudConfig, type_of, zones_of
from bosh_aws_cpi.tools.checks.bosh.instance_groups import Group, is_errand
from bosh_aws_cpi.tools.checks.bosh.rules import hashes, name_of, text_of
from bosh_aws_cpi.tools.checks.combinations import Use, extensions_of, of_compilation, sized_properties
from bosh_aws_cpi.tools.checks.documents import Document, Node
from bosh_aws_cpi.tools.checks.interfaces import Attachment, Vm, any_address
from bosh_aws_cpi.tools.checks.network_properties import entries_of
from bosh_aws_cpi.tools.checks.quotas import OPEN, UNKNOWN, Demand, InstanceKind
from bosh_aws_cpi.tools.checks.reading import properties_of
from bosh_aws_cpi.tools.findings import Finding, Severity

_BLOCK: Final = "capacity-block"


def groups_of(document: Document, config: CloudConfig) -> list[Group]:
    """The instance groups of a manifest."""
    root = document.root
    entries = hashes(root.get("instance_groups")) if isinstance(root.value, dict) else []
    return [Group.of(each, config) for each in entries]


def uses(groups: Iterable[Group], config: CloudConfig) -> list[Use]:
    """The VMs that a manifest's instance groups ask for; those whose VM type is not known are left out."""
    found = []
    for group in groups:
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


_USED: Final = {
    "vm_types": ("vm_type",),
    "vm_extensions": ("vm_extensions",),
    "disk_types": ("persistent_disk_type", "persistent_disks"),
    "networks": ("networks", "network"),
    "azs": ("azs", "az"),
}
"""The keys of an instance group, or of the compilation, that name entries of the sections."""


def used(groups: Iterable[Group], config: CloudConfig) -> dict[str, set[str] | None]:
    """The entries that instance groups and the compilation name, by section; None if they may name any.

    Those in azs of other CPIs do not count.
    """
    others = {name_of(az) for az in config.azs_of_others}
    nodes = [*(group.node for group in groups), *([config.compilation] if config.compilation else [])]
    found: dict[str, set[str] | None] = {}
    for section, keys in _USED.items():
        names: set[str] = set()
        for node in nodes:
            azs = [text_of(each) for key in _USED["azs"] for each in _listed(node.get(key))]
            if not azs or not set(azs) <= others:
                named = [each for key in keys for each in _listed(node.get(key))]
                names.update(text_of(each) for each in named)
        found[section] = None if "" in names else names
    return found


def _listed(node: Node | None) -> Iterator[Node]:
    """The names in a list, in its hashes, or the name itself."""
    for each in node.entries() if node is not None and isinstance(node.value, list) else [node]:
        if each is not None:
            yield each.get("type") or each.get("name") or each


def properties_by_key(use: Use) -> dict[str, Node]:
    """The cloud properties that a use's VM type and extensions give together."""
    return {key: node for each in (*use.types, *use.extensions) for key, node in properties_of(each).items()}


def demand(uses: Iterable[Use], config: CloudConfig) -> Demand:
    """The number of instances of each type that a manifest and the compilation ask for.

    A number or a type that is a variable is left out. Fallback types are not counted, nor are errands, VMs on
    Dedicated Hosts, which have quotas of their own, and VMs of capacity blocks, which have none. Those whose
    quota is not known are named: VMs of resource groups, whose reservations may be another account's, and of
    reservations whose market is a variable.
    """
    deployed = [use for use in uses if not is_errand(use.node)]
    compiling = list(of_compilation(config))
    return Demand(
        _instances(deployed, "instances"),
        _instances(compiling, "workers"),
        [each for use in (*deployed, *compiling) for each in _uncounted(use)],
    )


def _instances(uses: Iterable[Use], key: str) -> Counter[InstanceKind]:
    """The VMs of uses, whose number has a key."""
    found: Counter[InstanceKind] = Counter()
    for use in uses:
        properties = properties_by_key(use)
        name = text_of(properties.get("instance_type")) or str(use.sized.get("instance_type", ""))
        count, reservation = use.node.value.get(key), _reservation(properties.get("capacity_reservation"))
        is_counted = "dedicated_host" not in properties and reservation is not None
        if name and isinstance(count, int) and count > 0 and is_counted:
            kind = InstanceKind(name, "spot" if _is_spot(properties) else "demand", reservation or "")
            found[kind] += count
    return found


def _is_spot(properties: Mapping[str, Node]) -> bool:
    return "spot_bid_price" in properties or ("spot" in properties and is_true(properties["spot"].value))


def _reservation(node: Node | None) -> str | None:
    """The reservation that VMs use, as in `InstanceKind`; None if they need no quota, or it is not known."""
    if node is None:
        return OPEN
    if _has_unknown_quota(node) or text_of(node.get("market")) == _BLOCK:
        return None
    if (named := node.get("id")) is not None:
        return text_of(named) or UNKNOWN
    return "" if text_of(node.get("preference")) == "none" else OPEN


def _has_unknown_quota(reservation: Node) -> bool:
    """Whether VMs in a reservation may need vCPUs of this account, or of another one, or none."""
    market = reservation.get("market")
    if reservation.is_unknown or (market is not None and market.is_unknown):
        return True
    return reservation.get("resource_group_arn") is not None and text_of(market) != _BLOCK


def _uncounted(use: Use) -> Iterator[Finding]:
    node = properties_by_key(use).get("capacity_reservation")
    if node is not None and _has_unknown_quota(node):
        what = f"the vCPUs of {use.shown}: whose quota its capacity reservations count against is not known"
        remedy = "Compare them with the quotas in the AWS console (Service Quotas, Amazon EC2)"
        yield Finding(Severity.NOT_CHECKED, what, remedy, node.place, "AWS")
