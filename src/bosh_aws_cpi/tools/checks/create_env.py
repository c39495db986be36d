"""A manifest for `bosh create-env`: its resource pools, disk pools and networks.

bosh-cli (deployment/manifest/parser.go) passes the cloud properties of the resource pool, of the disk pool,
and of each network or its only subnet. What its validator.go refuses, it says itself before it calls the CPI.
"""

from collections.abc import Iterator
from typing import Final

from bosh_aws_cpi.tools.checks import aws_addresses
from bosh_aws_cpi.tools.checks.bosh.cloud_config import CloudConfig, type_of
from bosh_aws_cpi.tools.checks.bosh.instance_groups import Group
from bosh_aws_cpi.tools.checks.bosh.rules import hashes, text_of
from bosh_aws_cpi.tools.checks.combinations import Merged
from bosh_aws_cpi.tools.checks.documents import Document, Node
from bosh_aws_cpi.tools.checks.interfaces import Attachment, Vm
from bosh_aws_cpi.tools.checks.reading import is_open, properties_of
from bosh_aws_cpi.tools.findings import Finding

_SIGNS: Final = ("cloud_provider", "resource_pools", "disk_pools")
_LISTS: Final = {"resource_pools": "vm_types", "disk_pools": "disk_types", "networks": "networks"}
"""The lists, and those of a cloud config that have the same cloud properties."""
_GROUPS: Final = ("instance_groups", "jobs")


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
    """Check the addresses that AWS keeps."""
    for group in _groups(document):
        for entry, network in Group.of(group, config).networks:
            if type_of(network) == "manual":
                yield from aws_addresses.of_create_env(network, entry.get("static_ips"))


def _groups(document: Document) -> list[Node]:
    """The instance group, of which bosh-cli takes one."""
    return [each for key in _GROUPS for each in hashes(document.root.get(key))][:1]


def vms(document: Document, config: CloudConfig) -> Iterator[Vm]:
    """The VM of the instance group, if its networks are known."""
    for group in _groups(document):
        pool = config.named("vm_types", text_of(group.get("resource_pool")))
        attachments = [one for each in Group.of(group, config).networks for one in _attachment(*each)]
        is_whole = len(attachments) == len(group.at("networks").entries())
        if attachments and is_whole and pool is not None and not is_open(pool):
            yield Vm(Merged(pool, properties_of(pool)), attachments, group)


def _attachment(entry: Node, network: Node) -> list[Attachment]:
    """The network as the bosh CLI passes it: with the first static address (network.go, Interface)."""
    ips = entry.get("static_ips")
    first = next((text_of(each) for each in ips.entries()), None) if ips is not None else None
    kind = type_of(network)
    entries = hashes(network.get("subnets"))[:1] if kind == "manual" else [network]
    return [Attachment(entry, kind, each, first) for each in entries]
