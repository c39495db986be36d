"""The network interfaces of a VM, planned as create_vm plans them for the networks of a manifest."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json, is_true
from bosh_aws_cpi.model import NicPlan
from bosh_aws_cpi.plan import nics, subnet_fallbacks
from bosh_aws_cpi.properties.network import Network, parse_networks
from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tools.checks.bosh.instance_groups import DISKS
from bosh_aws_cpi.tools.checks.bosh.ranges import range_of
from bosh_aws_cpi.tools.checks.bosh.rules import text_of
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.reading import is_open, said
from bosh_aws_cpi.tools.findings import Finding, Severity

_DISKS: Final = (*DISKS, "persistent_disk_pool")
"""The keys of an instance group that give it disks, in manifests and for create-env."""


class Attachment(Record):
    """A network of a VM.

    Attributes:
        node: Where the manifest names it.
        kind: Its type.
        entry: What has its cloud properties: a subnet, or the network.
        address: The VM's address, if BOSH gives it one.
    """

    node: Node
    kind: str
    entry: Node
    address: str | None

    @property
    def is_known(self) -> bool:
        """Whether no part of it is a variable."""
        return not (self.node.has_variables or self.entry.has_variables or is_open(self.entry))

    def document(self) -> Json:
        """The network as create_vm gets it."""
        group, prefix = self.node.get("nic_group"), self.entry.get("prefix")
        values = {
            "type": self.kind,
            "ip": self.address,
            "nic_group": text_of(group) if group is not None else None,
            "prefix": text_of(prefix) if prefix is not None else None,
            "cloud_properties": self.entry.value.get("cloud_properties") if self.kind != "vip" else None,
        }
        return {key: value for key, value in values.items() if value is not None}


def findings(
    attachments: Sequence[Attachment], properties: dict[str, Node], aws: AwsConfig, group: Node, key: str
) -> Iterator[Finding]:
    """What create_vm refuses of a VM's networks.

    Args:
        attachments: The networks.
        properties: The VM's merged cloud properties.
        aws: The CPI's configuration, for its default security groups.
        group: Who asks for the VM: an instance group, or the compilation section.
        key: Its key that names the networks.
    """
    if not all(each.is_known for each in attachments):
        return
    documents = {text_of(each.node.get("name")): each.document() for each in attachments}
    if said(lambda: parse_networks(documents)):
        return  # the network's own findings say it
    networks = parse_networks(documents)
    if any(each.kind != "vip" and not each.cloud_properties.subnet for each in networks.values()):
        return  # the same
    checks = [said(lambda: nics.vip_plan(networks, nics.nic_plans(networks)))]
    primary = properties.get("primary_ipv6")
    if primary is not None and not primary.has_variables and is_true(primary.value):
        checks.append(said(lambda: nics.with_primary_ipv6(nics.nic_plans(networks))))
    leaving = properties.get("zone_fallback")
    if leaving is not None and not leaving.has_variables and is_true(leaving.value):
        checks.append(said(lambda: _check_leaving(networks, group)))
    if (own := properties.get("security_groups")) is None or (not own.has_variables and own.value == []):
        checks.append(said(lambda: nics.security_groups([], networks, aws.default_security_groups)))
    for text in dict.fromkeys(filter(None, checks)):
        yield Finding(Severity.ERROR, text, "", group.at(key).place)


def _check_leaving(networks: Mapping[str, Network], group: Node) -> None:
    given = [each for key in _DISKS if (each := group.get(key)) is not None]
    has_disks = any(each.value and not each.has_variables for each in given)  # a variable may be 0
    subnet_fallbacks.check_leaving(nics.nic_plans(networks)[0], has_disks=has_disks)


def plans(attachments: Sequence[Attachment]) -> list[NicPlan]:
    """The interfaces of a VM with these networks; none if they are not known, or create_vm refuses them."""
    documents = {text_of(each.node.get("name")): each.document() for each in attachments if each.is_known}
    with suppress(CloudError):
        return nics.nic_plans(parse_networks(documents)) if len(documents) == len(attachments) else []
    return []


def any_address(subnet: Node, index: int) -> str:
    """Some address for a manual network, other than those of the VM's other networks."""
    whole = range_of(subnet.value.get("range"))
    return f"10.255.{index}.0" if whole is None or whole.version == 4 else f"fd00:0:0:0:{index}::"  # noqa: PLR2004 - IPv4
