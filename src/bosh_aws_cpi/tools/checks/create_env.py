"""A manifest for `bosh create-env`: its resource pools, disk pools and networks, and bosh-cli's rules.

The rules are those of deployment/manifest/parser.go and validator.go. bosh-cli checks the manifest before it
calls the CPI, and passes the cloud properties of the resource pool, of the disk pool, and of each network or
its only subnet.
"""

from collections.abc import Iterator
from typing import Final

from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.tools.checks import interfaces
from bosh_aws_cpi.tools.checks.cloud_config import NETWORK_TYPES, CloudConfig, type_of
from bosh_aws_cpi.tools.checks.documents import Document, Node
from bosh_aws_cpi.tools.checks.interfaces import Attachment
from bosh_aws_cpi.tools.checks.ranges import address_of, aws_addresses, overlaps, parsed, range_of
from bosh_aws_cpi.tools.checks.reading import properties_of
from bosh_aws_cpi.tools.checks.rules import (
    BOSH_CLI,
    hashes,
    refused,
    text_of,
    unknown_key,
    unknown_name,
    unlike,
    wrong_types,
)
from bosh_aws_cpi.tools.checks.subnets import gateway, kept_by_aws
from bosh_aws_cpi.tools.findings import Finding, Severity

_SIGNS: Final = ("cloud_provider", "resource_pools", "disk_pools")
_LISTS: Final = {"resource_pools": "vm_types", "disk_pools": "disk_types", "networks": "networks"}
"""The lists, and those of a cloud config that have the same cloud properties."""
_KEYS: Final = {
    "resource_pools": ("name", "network", "size", "cloud_properties", "env", "stemcell"),
    "disk_pools": ("name", "disk_size", "cloud_properties"),
    "networks": ("name", "type", "cloud_properties", "subnets", "ip", "netmask", "gateway", "dns"),
}
_DEFAULTS: Final = ("dns", "gateway")


def is_for_create_env(document: Document) -> bool:
    """Whether a file is such a manifest, and no cloud config."""
    value = document.value
    return isinstance(value, dict) and any(key in value for key in _SIGNS)


def config_of(document: Document) -> CloudConfig:
    """The manifest's pools and networks, as a cloud config has them."""
    root = document.root
    nodes = {key: root.get(key) for key in _LISTS}
    lists = {target: hashes(nodes[key]) for key, target in _LISTS.items()}
    is_open = {
        target
        for key, target in _LISTS.items()
        if (node := nodes[key]) is not None and any(each.is_unknown for each in [node, *node.entries()])
    }
    findings = [*wrong_types(root, BOSH_CLI, **dict.fromkeys(_LISTS, list))]
    for key in _LISTS:
        findings += [finding for entry in lists[_LISTS[key]] for finding in _of_entry(key, entry)]
    config = CloudConfig({"azs": [], "vm_extensions": [], **lists}, None, frozenset(is_open))
    findings += [
        finding
        for pool in lists["vm_types"]
        if (node := pool.get("network")) is not None
        for finding in _missing(config, node, "networks", "networks")
    ]
    return CloudConfig(config.lists, None, config.open_lists, tuple(findings))


def _missing(config: CloudConfig, node: Node, key: str, where: str) -> Iterator[Finding]:
    name = text_of(node)
    if name and key not in config.open_lists and config.named(key, name) is None:
        yield unknown_name(node, name, config.names(key), where, BOSH_CLI)


def _of_entry(key: str, entry: Node) -> Iterator[Finding]:
    for each in entry.entries():
        if (name := str(each.route[-1])) not in _KEYS[key]:
            yield unknown_key(each, name, _KEYS[key], BOSH_CLI)
    if entry.get("name") is None:
        yield refused(entry, "has no name", "Add name", BOSH_CLI)
    yield from wrong_types(entry, BOSH_CLI, name=str)
    if entry.get("cloud_properties") is not None:
        yield from wrong_types(entry, BOSH_CLI, cloud_properties=dict)
    if key == "resource_pools" and entry.get("network") is None:
        yield refused(entry, "has no network", "Add network, the name of one of networks", BOSH_CLI)
    if key == "disk_pools":
        yield from _size(entry)
    if key == "networks":
        yield from _network(entry)


def _size(entry: Node) -> Iterator[Finding]:
    size = entry.get("disk_size")
    if size is None:
        yield refused(entry, "has no disk_size", "Add disk_size, in MiB", BOSH_CLI)
    elif wrong := unlike(size, int, BOSH_CLI):
        yield wrong
    elif isinstance(size.value, int) and size.value < 0:
        yield refused(size, f"must be more than 0, got {size.value}", "Give MiB", BOSH_CLI)


def _network(network: Node) -> Iterator[Finding]:
    kind = network.get("type")
    if kind is None or (not kind.is_unknown and kind.value not in NETWORK_TYPES):
        what = "has no type" if kind is None else f"'{kind.value}' is no network type"
        yield refused(network.at("type"), what, f"Use {', '.join(NETWORK_TYPES)}", BOSH_CLI)
        return
    subnets = network.get("subnets")
    if kind.value != "manual" or (subnets is not None and subnets.is_unknown):
        return
    entries = hashes(subnets)
    if len(entries) != 1:
        yield refused(network.at("subnets"), "a manual network needs one subnet", "", BOSH_CLI)
    for subnet in entries:
        yield from _subnet(subnet)


def _subnet(subnet: Node) -> Iterator[Finding]:
    for key in ("range", "gateway"):
        if subnet.get(key) is None:
            yield refused(subnet, f"has no {key}", f"Add {key}", BOSH_CLI)
    node = subnet.get("range")
    if node is None or node.is_unknown:
        return
    whole = range_of(node.value)
    if whole is None:
        what = f"'{node.value}' is not a range of addresses in CIDR notation"
        yield refused(node, what, "", BOSH_CLI)
        return
    yield from gateway(subnet, whole, BOSH_CLI)


def findings(document: Document, config: CloudConfig, aws: AwsConfig) -> Iterator[Finding]:
    """Check the instance group, whose VM create-env creates."""
    groups = [node for key in ("instance_groups", "jobs") if (node := document.root.get(key))]
    if len(groups) > 1:
        yield refused(groups[1], "has both instance_groups and jobs", "Keep one of them", BOSH_CLI)
    entries = hashes(groups[0]) if groups else []
    for extra in entries[1:]:
        yield refused(extra, "create-env deploys only one instance group", "Remove it", BOSH_CLI)
    for group in entries[:1]:
        yield from _group(group, config, aws)


def _group(group: Node, config: CloudConfig, aws: AwsConfig) -> Iterator[Finding]:
    pool, disk = group.get("resource_pool"), group.get("persistent_disk_pool")
    if pool is None:
        yield refused(group, "has no resource_pool", "Add resource_pool", BOSH_CLI)
    else:
        yield from _missing(config, pool, "vm_types", "resource_pools")
    if disk is not None:
        yield from _missing(config, disk, "disk_types", "disk_pools")
    networks = group.get("networks")
    entries = hashes(networks)
    if networks is None or networks.value == []:
        yield refused(group, "has no networks", "Add networks", BOSH_CLI)
        return
    yield from _defaults(networks, entries)
    attachments = []
    for entry in entries:
        name = entry.get("name")
        if name is None:
            yield refused(entry, "has no name", "Add name", BOSH_CLI)
            continue
        yield from _missing(config, name, "networks", "networks")
        if (network := config.named("networks", text_of(name))) is not None:
            yield from _static(entry, network)
            attachments += _attachment(entry, network)
    own = config.named("vm_types", text_of(pool))
    if (
        len(attachments) == len(networks.entries())
        and own is not None
        and not own.at("cloud_properties").is_unknown
    ):
        yield from interfaces.findings(attachments, properties_of(own), aws, networks)


def _defaults(networks: Node, entries: list[Node]) -> Iterator[Finding]:
    given = [each for entry in entries for each in entry.at("default").entries() if entry.get("default")]
    for node in given:
        if not node.is_unknown and node.value not in _DEFAULTS:
            yield refused(node, f"'{node.value}' is no default", "Use dns or gateway", BOSH_CLI)
    for key in _DEFAULTS if not any(node.is_unknown for node in given) and not networks.is_unknown else ():
        number = sum(node.value == key for node in given)
        if number > 1 or (number == 0 and len(entries) > 1):
            yield refused(
                networks,
                f"one network must be the default for {key}",
                "Add default: [dns, gateway]",
                BOSH_CLI,
            )


def _static(entry: Node, network: Node) -> Iterator[Finding]:
    ips = entry.get("static_ips")
    whole = next((range_of(each.value.get("range")) for each in hashes(network.get("subnets"))), None)
    for ip in ips.entries() if ips is not None else ():
        if ip.is_unknown:
            continue
        address = address_of(ip.value)
        if address is None:
            yield refused(ip, f"'{ip.value}' is not an IP address", "", BOSH_CLI)
        elif type_of(network) != "manual" or whole is None:
            continue
        elif address not in whole:
            yield refused(ip, f"{address} is not within range {whole}", "", BOSH_CLI)
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
