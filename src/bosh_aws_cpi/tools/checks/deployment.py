"""Manifests: the VMs and disks that they ask for. The rest of a deployment's is the Director's.

Of a manifest for `bosh create-env`, bosh-cli (deployment/manifest/parser.go) passes the cloud properties of
the resource pool, of the disk pool, and of each network or its only subnet. What its validator.go refuses, it
says itself before it calls the CPI.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from bosh_aws_cpi.jsontext import is_true
from bosh_aws_cpi.plan.spread import MAX_RUNNING
from bosh_aws_cpi.tools.checks import addresses
from bosh_aws_cpi.tools.checks.bosh.cloud_config import CloudConfig, type_of, zones_of
from bosh_aws_cpi.tools.checks.bosh.rules import hashes, name_of, text_of
from bosh_aws_cpi.tools.checks.combinations import ZONE, Merged, Use, of_compilation, of_use, use_of
from bosh_aws_cpi.tools.checks.documents import Document, Node
from bosh_aws_cpi.tools.checks.interfaces import Attachment, Vm, any_address
from bosh_aws_cpi.tools.checks.network_properties import entries_of
from bosh_aws_cpi.tools.checks.quotas import Demand
from bosh_aws_cpi.tools.checks.reading import is_open, properties_of
from bosh_aws_cpi.tools.findings import Finding, Severity

_DIVIDE: Final = (
    "Give the instance group more azs, divide it into several, use spread: prefer, or remove spread"
)
_USED: Final = {
    "vm_types": ("vm_type",),
    "vm_extensions": ("vm_extensions",),
    "disk_types": ("persistent_disk_type", "persistent_disks"),
    "networks": ("networks", "network"),
    "azs": ("azs", "az"),
}
"""The keys of an instance group, or of the compilation, that name entries of the sections."""
_SIGNS: Final = ("cloud_provider", "resource_pools", "disk_pools")
_LISTS_OF_CREATE_ENV: Final = {
    "resource_pools": "vm_types",
    "disk_pools": "disk_types",
    "networks": "networks",
}
"""The lists, and those of a cloud config that have the same cloud properties."""
_GROUPS_OF_CREATE_ENV: Final = ("instance_groups", "jobs")


def asked_for(groups: Iterable[Node], config: CloudConfig) -> list[Use]:
    """The VMs that a manifest's instance groups ask for; those whose VM type is not known are left out."""
    found: list[Use] = []
    for group in groups:
        own = config.named("vm_types", text_of(group.get("vm_type")))
        found += use_of(group, f"instance group '{name_of(group)}'", own, _azs(group, config), config)
    return found


def _azs(group: Node, config: CloudConfig) -> list[Node | None]:
    """The azs of an instance group, None for a group without any; what can't be read is left out."""
    azs = group.get("azs")
    if azs is None:
        return [None]
    if not isinstance(azs.value, list) or not all(isinstance(each, str) for each in azs.value):
        return []
    found = [config.named("azs", name) for name in azs.value] if not azs.has_variables else []
    return [each for each in found if each is not None]


def _networks(group: Node, config: CloudConfig) -> list[tuple[Node, Node]]:
    """An instance group's entries for networks, with the networks in the cloud config that they name."""
    found = [(each, config.named("networks", name_of(each))) for each in hashes(group.get("networks"))]
    return [(entry, network) for entry, network in found if network is not None]


def vms(uses: Iterable[Use], config: CloudConfig) -> Iterator[Vm]:
    """The VMs of groups, and those that compile, in each zone in which each network has one subnet."""
    for use in uses:
        networks = _networks(use.node, config)
        if len(networks) == len(use.node.at("networks").entries()):
            yield from _vms(networks, use, config, "networks")
    for use in of_compilation(config):
        network = config.named("networks", text_of(use.node.get("network")))
        yield from _vms([(network, network)], use, config, "network") if network is not None else ()


def _vms(networks: Sequence[tuple[Node, Node]], use: Use, config: CloudConfig, key: str) -> Iterator[Vm]:
    for merged in of_use(use, config):
        found = [_attachment(*each, merged.az, index) for index, each in enumerate(networks)]
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


def used(groups: Iterable[Node], config: CloudConfig) -> dict[str, set[str] | None]:
    """The entries that instance groups and the compilation name, by section; None if they may name any.

    Those in azs of other CPIs do not count.
    """
    others = {name_of(az) for az in config.azs_of_others}
    nodes = [*groups, *([config.compilation] if config.compilation else [])]
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
    deployed = (use for use in uses if text_of(use.node.get("lifecycle")) != "errand")
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


def crowded(uses: Iterable[Use]) -> Iterator[Finding]:
    """Find groups with `spread` that have more VMs than EC2 runs in a spread placement group.

    Some zone has too many if all of them together do, however the Director distributes the instances.

    Args:
        uses: What a manifest asks for.
    """
    for use in uses:
        asked, count = use.properties.get("spread"), use.node.get("instances")
        if asked is None or asked.value is not True or count is None or not isinstance(count.value, int):
            continue
        room = MAX_RUNNING * _zones(use)
        if count.value > room:
            what = (
                f"spread: {use.shown} has {count.value} instances, but EC2 runs at most {MAX_RUNNING} in "
                f"each zone, {room} in all"
            )
            yield Finding(Severity.ERROR, what, _DIVIDE, count.place, "EC2")


def _zones(use: Use) -> int:
    """The number of zones in AWS; several azs may be in one."""
    if ZONE in use.properties:
        return 1
    own = [properties_of(zone).get(ZONE) for zone in use.zones if zone is not None]
    return len({text_of(node) or str(index) for index, node in enumerate(own)}) or 1


def is_for_create_env(document: Document) -> bool:
    """Whether a file is a manifest for create-env, and no cloud config."""
    value = document.value
    return isinstance(value, dict) and any(key in value for key in _SIGNS)


def config_of_create_env(document: Document) -> CloudConfig:
    """The manifest's pools and networks, as a cloud config has them."""
    nodes = {target: document.root.get(key) for key, target in _LISTS_OF_CREATE_ENV.items()}
    may_have_more = frozenset(
        target
        for target, node in nodes.items()
        if node is not None and any(each.is_unknown for each in [node, *node.entries()])
    )
    lists = {target: hashes(node) for target, node in nodes.items()}
    return CloudConfig({"azs": [], "vm_extensions": [], **lists}, None, may_have_more)


def kept_by_aws(document: Document, config: CloudConfig) -> Iterator[Finding]:
    """Check the addresses that AWS keeps, for a manifest for create-env."""
    for group in _groups_of_create_env(document):
        for entry, network in _networks(group, config):
            if type_of(network) == "manual":
                yield from addresses.of_create_env(network, entry.get("static_ips"))


def _groups_of_create_env(document: Document) -> list[Node]:
    """The instance group, of which bosh-cli takes one."""
    return [each for key in _GROUPS_OF_CREATE_ENV for each in hashes(document.root.get(key))][:1]


def vms_of_create_env(document: Document, config: CloudConfig) -> Iterator[Vm]:
    """The VM of the instance group for create-env, if its networks are known."""
    for group in _groups_of_create_env(document):
        pool = config.named("vm_types", text_of(group.get("resource_pool")))
        attachments = [one for each in _networks(group, config) for one in _static_attachment(*each)]
        is_whole = len(attachments) == len(group.at("networks").entries())
        if attachments and is_whole and pool is not None and not is_open(pool):
            yield Vm(Merged(pool, properties_of(pool)), attachments, group)


def _static_attachment(entry: Node, network: Node) -> list[Attachment]:
    """The network as the bosh CLI passes it: with the first static address (network.go, Interface)."""
    ips = entry.get("static_ips")
    first = next((text_of(each) for each in ips.entries()), None) if ips is not None else None
    kind = type_of(network)
    entries = hashes(network.get("subnets"))[:1] if kind == "manual" else [network]
    return [Attachment(entry, kind, each, first) for each in entries]
