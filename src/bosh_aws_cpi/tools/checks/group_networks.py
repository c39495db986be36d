"""The networks of an instance group in a deployment manifest: names, defaults, and a VM's interfaces.

The rules are those of BOSH, deployment_plan/instance_group_networks_parser.rb; vip_network.rb
(network_settings) refuses defaults.
"""

from collections.abc import Iterator
from typing import Final

from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.tools.checks import interfaces, network_defaults
from bosh_aws_cpi.tools.checks.cloud_config import CloudConfig, type_of, zones_of
from bosh_aws_cpi.tools.checks.combinations import Use
from bosh_aws_cpi.tools.checks.deployment import properties_by_key
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.instance_groups import Group
from bosh_aws_cpi.tools.checks.interfaces import Attachment, any_address
from bosh_aws_cpi.tools.checks.network_properties import entries_of
from bosh_aws_cpi.tools.checks.reading import is_open, properties_of
from bosh_aws_cpi.tools.checks.rules import hashes, name_of, refused, wrong_types
from bosh_aws_cpi.tools.findings import Finding

_OPTIONAL_DEFAULTS: Final = ("addressable",)


def findings(group: Group, config: CloudConfig) -> Iterator[Finding]:
    """Check the networks that a group names, and for what they are the default."""
    listed = group.node.get("networks")
    if listed is None:
        return
    if listed.value == []:
        yield refused(listed, "must not be empty", "Name a network")
    entries = hashes(listed)
    for entry in entries:
        yield from wrong_types(entry, name=str, default=list, nic_group=str)
        if entry.child("name") is None:
            yield refused(entry, "has no name", "Add name")
        yield from config.missing(entry.get("name"), "networks")
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


def of_vms(group: Group, use: Use, aws: AwsConfig) -> Iterator[Finding]:
    """What create_vm refuses, for each zone in which each network has one subnet."""
    listed = group.node.at("networks")
    if any(map(is_open, [*use.types, *use.extensions])) or len(group.networks) != len(listed.entries()):
        return
    properties = properties_by_key(use)
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
