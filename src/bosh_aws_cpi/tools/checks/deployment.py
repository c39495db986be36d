"""A deployment manifest: the VMs and disks that it asks for. The rest of it is the Director's."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from bosh_aws_cpi.jsontext import is_true
from bosh_aws_cpi.tools.checks.bosh.cloud_config import CloudConfig, type_of, zones_of
from bosh_aws_cpi.tools.checks.bosh.instance_groups import Group, is_errand
from bosh_aws_cpi.tools.checks.bosh.rules import name_of, text_of
from bosh_aws_cpi.tools.checks.combinations import Use, of_compilation, of_use, use_of
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.interfaces import Attachment, Vm, any_address
from bosh_aws_cpi.tools.checks.network_properties import entries_of
from bosh_aws_cpi.tools.checks.quotas import Demand


def uses(groups: Iterable[Group], config: CloudConfig) -> list[Use]:
    """The VMs that a manifest's instance groups ask for; those whose VM type is not known are left out."""
    found: list[Use] = []
    for group in groups:
        own = config.named("vm_types", text_of(group.node.get("vm_type")))
        zones = [config.named("azs", name) for name in group.zones or ()]
        known: list[Node | None] = [each for each in zones if each is not None]
        known = known or ([None] if group.zones == [""] else [])
        found += use_of(group.node, group.shown, own, known, config)
    return found


def vms(groups: Sequence[Group], uses: Iterable[Use], config: CloudConfig) -> Iterator[Vm]:
    """The VMs of groups, and those that compile, in each zone in which each network has one subnet."""
    by_node = {group.node.route: group for group in groups}
    for use in uses:
        group = by_node[use.node.route]
        if len(group.networks) == len(group.node.at("networks").entries()):
            yield from _vms(group.networks, use, config, "networks")
    for use in of_compilation(config):
        network = config.named("networks", text_of(use.node.get("network")))
        yield from _vms([(network, network)], use, config, "network") if network is not None else ()


def _vms(networks: Sequence[tuple[Node, Node]], use: Use, config: CloudConfig, key: str) -> Iterator[Vm]:
    for merged in of_use(use, config):
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
    own = [node for node in nodes if not (azs := _named(node, "azs")) or not azs <= others]
    found = {section: set().union(*(_named(node, section) for node in own)) for section in _USED}
    return {section: None if "" in names else names for section, names in found.items()}


def _named(node: Node, section: str) -> set[str]:
    """The entries that an instance group names: alone, in a list, or in its hashes; "" for an unknown one."""
    found = [value for key in _USED[section] if (value := node.get(key)) is not None]
    names = [
        each for value in found for each in (value.entries() if isinstance(value.value, list) else [value])
    ]
    return {text_of(each.get("type") or each.get("name") or each) for each in names}


def demand(uses: Iterable[Use], config: CloudConfig) -> Demand:
    """The number of instances of each type that a manifest and the compilation ask for.

    A number or a type that is a variable is left out. Fallback types are not counted, nor are errands, VMs on
    Dedicated Hosts, which have quotas of their own, and those that name a capacity reservation, which may be
    another account's.
    """
    deployed = (use for use in uses if not is_errand(use.node))
    return Demand(_instances(deployed, "instances"), _instances(of_compilation(config), "workers"))


def _instances(uses: Iterable[Use], key: str) -> Counter[tuple[str, str]]:
    """The VMs of uses by type and market; their number has a key."""
    found: Counter[tuple[str, str]] = Counter()
    for use in uses:
        properties = use.properties
        name = text_of(properties.get("instance_type")) or str(use.sized.get("instance_type", ""))
        count, spot = use.node.value.get(key), properties.get("spot")
        is_spot = "spot_bid_price" in properties or (spot is not None and is_true(spot.value))
        is_counted = not properties.keys() & {"dedicated_host", "capacity_reservation"}
        if name and isinstance(count, int) and count > 0 and is_counted:
            found[name, "spot" if is_spot else "demand"] += count
    return found
