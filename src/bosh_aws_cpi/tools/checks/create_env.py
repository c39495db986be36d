"""A manifest for `bosh create-env`: its resource pools, disk pools and networks, and bosh-cli's rules.

The rules are those of deployment/manifest/parser.go and validator.go. bosh-cli checks the manifest before it
calls the CPI, and passes the cloud properties of the resource pool, of the disk pool, and of each network or
its only subnet.
"""

from collections.abc import Iterator
from typing import Final

from bosh_aws_cpi.tools.checks.aws_addresses import aws_addresses, kept_by_aws, router
from bosh_aws_cpi.tools.checks.bosh import network_defaults
from bosh_aws_cpi.tools.checks.bosh.cloud_config import CloudConfig, type_of
from bosh_aws_cpi.tools.checks.bosh.ranges import address_of, overlaps, parsed, range_of
from bosh_aws_cpi.tools.checks.bosh.rules import (
    BOSH_CLI,
    hashes,
    name_of,
    refused,
    similar_keys,
    text_of,
    unknown_keys,
    unknown_name,
    unlike,
    wrong_keys,
)
from bosh_aws_cpi.tools.checks.bosh.shapes import (
    CREATE_ENV,
    CREATE_ENV_GROUP,
    CREATE_ENV_GROUP_NETWORK,
    CREATE_ENV_SUBNET,
    NETWORK_TYPES,
    Shape,
)
from bosh_aws_cpi.tools.checks.bosh.subnets import CIDR, WITHIN, gateway
from bosh_aws_cpi.tools.checks.combinations import Merged
from bosh_aws_cpi.tools.checks.documents import Document, Node
from bosh_aws_cpi.tools.checks.interfaces import Attachment, Vm
from bosh_aws_cpi.tools.checks.reading import is_open, properties_of
from bosh_aws_cpi.tools.findings import Finding, Severity

_SIGNS: Final = ("cloud_provider", "resource_pools", "disk_pools")
_LISTS: Final = {"resource_pools": "vm_types", "disk_pools": "disk_types", "networks": "networks"}
"""The lists, and those of a cloud config that have the same cloud properties."""
_GROUPS: Final = ("instance_groups", "jobs")
_SERVICE: Final = "service"
"""The only lifecycle that bosh-cli takes."""


def is_for_create_env(document: Document) -> bool:
    """Whether a file is such a manifest, and no cloud config."""
    value = document.value
    return isinstance(value, dict) and any(key in value for key in _SIGNS)


def config_of(document: Document) -> CloudConfig:
    """The manifest's pools and networks, as a cloud config has them."""
    nodes = {target: document.root.get(key) for key, target in _LISTS.items()}
    may_have_more = frozenset(
        target
        for target, node in nodes.items()
        if node is not None and any(each.is_unknown for each in [node, *node.entries()])
    )
    lists = {target: hashes(node) for target, node in nodes.items()}
    return CloudConfig({"azs": [], "vm_extensions": [], **lists}, None, may_have_more)


def findings(document: Document, config: CloudConfig) -> Iterator[Finding]:
    """Check the pools, the networks and the instance group, whose VM create-env creates."""
    root = document.root
    if _is_blank(root.get("name")):
        yield refused(root, "has no name", "Add name", BOSH_CLI)
    for key in (*_LISTS, *_GROUPS):
        if wrong := unlike(root.get(key), list, BOSH_CLI):
            yield wrong
    for key, target in _LISTS.items():
        for entry in config.lists[target]:
            yield from unknown_keys(entry, CREATE_ENV[key], BOSH_CLI)
            yield from wrong_keys(entry, CREATE_ENV[key], BOSH_CLI)
            yield from _missing_names(entry, CREATE_ENV[key], config)
            if key == "networks":
                yield from _network(entry)
    yield from _groups(root, config)


def _is_blank(node: Node | None) -> bool:
    """Whether a name is absent, or has nothing but spaces (bosh-cli: isBlank)."""
    return node is None or (isinstance(node.value, str) and not node.value.strip())


def _missing_names(node: Node, shape: Shape, config: CloudConfig) -> Iterator[Finding]:
    """A finding for each name that no entry of its list has."""
    for key, found in shape.keys.items():
        value, name = node.get(key), text_of(node.get(key))
        if not found.names or value is None or not name:
            continue
        target = _LISTS[found.names]
        if target not in config.open_lists and config.named(target, name) is None:
            yield unknown_name(value, name, config.names(target), found.names, BOSH_CLI)


def _network(network: Node) -> Iterator[Finding]:
    kind = network.get("type")
    if kind is None or (not kind.is_unknown and kind.value not in NETWORK_TYPES):
        what = "has no type" if kind is None else f"'{kind.value}' is not a network type"
        yield refused(network.at("type"), what, f"Use {', '.join(NETWORK_TYPES)}", BOSH_CLI)
        return
    subnets = network.get("subnets")
    if kind.value != "manual" or (subnets is not None and subnets.is_unknown):
        return
    entries = hashes(subnets)
    if len(entries) != 1:
        yield refused(
            network.at("subnets"), "a manual network needs one subnet", "Give exactly one subnet", BOSH_CLI
        )
    for subnet in entries:
        yield from _subnet(subnet)


def _subnet(subnet: Node) -> Iterator[Finding]:
    yield from similar_keys(subnet, CREATE_ENV_SUBNET, BOSH_CLI)
    yield from wrong_keys(subnet, CREATE_ENV_SUBNET, BOSH_CLI)
    node = subnet.get("range")
    if node is None or node.is_unknown:
        return
    whole = range_of(node.value)
    if whole is None:
        what = f"'{node.value}' is not a range of addresses in CIDR notation"
        yield refused(node, what, CIDR, BOSH_CLI)
        return
    yield from gateway(subnet, whole, BOSH_CLI)
    yield from router(subnet, whole)


def _groups(root: Node, config: CloudConfig) -> Iterator[Finding]:
    groups = [node for key in _GROUPS if (node := root.get(key))]
    if len(groups) > 1:
        yield refused(groups[1], "has both instance_groups and jobs", "Keep one of them", BOSH_CLI)
    entries = hashes(groups[0]) if groups else []
    for extra in entries[1:]:
        yield refused(extra, "create-env deploys only one instance group", "Remove it", BOSH_CLI)
    for group in entries[:1]:
        yield from _group(group, config)
        yield from _networks_of(group, config)


def _group(group: Node, config: CloudConfig) -> Iterator[Finding]:
    """The keys of an instance group, apart from its networks."""
    if _is_blank(group.get("name")):
        yield refused(group, "has no name", "Add name", BOSH_CLI)
    yield from similar_keys(group, CREATE_ENV_GROUP, BOSH_CLI)
    yield from wrong_keys(group, CREATE_ENV_GROUP, BOSH_CLI)
    yield from _missing_names(group, CREATE_ENV_GROUP, config)
    lifecycle = group.get("lifecycle")
    if lifecycle is not None and not lifecycle.is_unknown and lifecycle.value not in {"", _SERVICE}:
        what = f"lifecycle '{lifecycle.value}' is not supported"
        yield refused(lifecycle, what, f"Use {_SERVICE}, or remove lifecycle", BOSH_CLI)


def _networks_of(group: Node, config: CloudConfig) -> Iterator[Finding]:
    listed = group.get("networks")
    if listed is None or listed.value == []:
        yield refused(group, "has no networks", "Add networks", BOSH_CLI)
        return
    entries = hashes(listed)
    yield from network_defaults.findings(listed, entries, source=BOSH_CLI)
    for entry in entries:
        yield from similar_keys(entry, CREATE_ENV_GROUP_NETWORK, BOSH_CLI)
        yield from wrong_keys(entry, CREATE_ENV_GROUP_NETWORK, BOSH_CLI)
        yield from _missing_names(entry, CREATE_ENV_GROUP_NETWORK, config)
        if (network := config.named("networks", name_of(entry))) is not None:
            yield from _static(entry, network)


def vms(document: Document, config: CloudConfig) -> Iterator[Vm]:
    """The VM of the instance group, if its networks are known."""
    for group in [each for key in _GROUPS for each in hashes(document.root.get(key))][:1]:
        listed, pool = group.at("networks"), config.named("vm_types", text_of(group.get("resource_pool")))
        attachments = [
            attachment
            for entry in hashes(listed)
            if (network := config.named("networks", name_of(entry))) is not None
            for attachment in _attachment(entry, network)
        ]
        is_whole = bool(attachments) and len(attachments) == len(listed.entries())
        if is_whole and pool is not None and not is_open(pool):
            yield Vm(Merged(pool, properties_of(pool)), attachments, group)


def _static(entry: Node, network: Node) -> Iterator[Finding]:
    ips = entry.get("static_ips")
    whole = next((range_of(each.value.get("range")) for each in hashes(network.get("subnets"))), None)
    for ip in ips.entries() if ips is not None else ():
        if ip.is_unknown:
            continue
        address = address_of(ip.value)
        if address is None:
            yield refused(ip, f"'{ip.value}' is not an IP address", WITHIN, BOSH_CLI)
        elif type_of(network) != "manual" or whole is None:
            continue
        elif address not in whole:
            yield refused(ip, f"{address} is not within range {whole}", WITHIN, BOSH_CLI)
        elif overlaps((parsed(str(address)) or ())[0], aws_addresses(whole)):
            what = f"{address} is one of the addresses that AWS keeps: {kept_by_aws(whole)}"
            yield Finding(Severity.ERROR, what, "Use another address", ip.place, "AWS")


def _attachment(entry: Node, network: Node) -> list[Attachment]:
    """The network as the bosh CLI passes it: with the first static address (network.go, Interface)."""
    ips = entry.get("static_ips")
    first = next((text_of(each) for each in ips.entries()), None) if ips is not None else None
    kind = type_of(network)
    entries = hashes(network.get("subnets"))[:1] if kind == "manual" else [network]
    return [Attachment(entry, kind, each, first) for each in entries]
