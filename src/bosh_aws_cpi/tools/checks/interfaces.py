"""The network interfaces of a VM, planned as create_vm plans them for the networks of a manifest."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property

from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json, is_true
from bosh_aws_cpi.model import InstanceTypeFacts, NicPlan
from bosh_aws_cpi.plan import interface_options, nics, placement
from bosh_aws_cpi.properties.network import Network, parse_networks
from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tools.checks.addresses import range_of
from bosh_aws_cpi.tools.checks.bosh.rules import text_of
from bosh_aws_cpi.tools.checks.combinations import Merged
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.reading import is_open, said
from bosh_aws_cpi.tools.findings import Finding, Severity


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
        values = {
            "type": self.kind,
            "ip": self.address,
            "nic_group": text_of(self.node.get("nic_group")),
            "prefix": text_of(self.entry.get("prefix")),
            "cloud_properties": self.entry.value.get("cloud_properties") if self.kind != "vip" else None,
        }
        return {key: value for key, value in values.items() if value}


class Vm(Record):
    """A VM whose networks are named: of an instance group, of the compilation, or of create-env.

    Attributes:
        merged: Its cloud properties.
        attachments: Its networks.
        group: Who asks for it: an instance group, or the compilation section.
        key: Its key that names the networks.
    """

    merged: Merged
    attachments: Sequence[Attachment]
    group: Node
    key: str = "networks"

    def says(self, name: str) -> bool | None:
        """Whether a boolean property is true; None when it is a variable."""
        node = self.merged.nodes.get(name)
        if node is not None and node.has_variables:
            return None
        return node is not None and is_true(node.value)

    @cached_property
    def networks(self) -> Mapping[str, Network]:
        """The networks as create_vm reads them; none if one is unknown, or wrong, which it says itself."""
        if not all(each.is_known for each in self.attachments):
            return {}
        documents = {text_of(each.node.get("name")): each.document() for each in self.attachments}
        with suppress(CloudError):
            found = parse_networks(documents)
            if all(each.kind == "vip" or each.cloud_properties.subnet for each in found.values()):
                return found
        return {}

    @cached_property
    def plans(self) -> list[NicPlan]:
        """The interfaces; none if the networks are not known, or create_vm refuses them."""
        with suppress(CloudError):
            return nics.nic_plans(self.networks)
        return []


def findings(vm: Vm, aws: AwsConfig) -> Iterator[Finding]:
    """What create_vm refuses of a VM's networks, or ignores.

    Args:
        vm: The VM.
        aws: The CPI's configuration, for its default security groups.
    """
    if not (networks := vm.networks):
        return
    checks = [said(lambda: nics.vip_plan(networks, nics.nic_plans(networks)))]
    if vm.says("primary_ipv6"):
        checks.append(said(lambda: nics.with_primary_ipv6(nics.nic_plans(networks))))
    if vm.says("zone_fallback"):
        checks.append(said(lambda: placement.check_leaving(nics.nic_plans(networks)[0])))
    own = vm.merged.nodes.get("security_groups")
    if own is None or (not own.has_variables and own.value == []):
        checks.append(said(lambda: nics.security_groups([], networks, aws.default_security_groups)))
    for text in dict.fromkeys([*filter(None, checks), *nics.ignored(networks, vm.plans)]):
        yield Finding(Severity.ERROR, text, "", vm.group.at(vm.key).place)


def of_types(vm: Vm, facts: Mapping[str, InstanceTypeFacts]) -> Iterator[Finding]:
    """What create_vm refuses of a VM's interfaces, because an instance type can't have them."""
    plans = vm.plans
    for node in vm.merged.types if plans else ():
        own = facts.get(str(node.value))
        for problem in interface_options.problems_of_type(plans, own) if own is not None else ():
            yield Finding(Severity.ERROR, problem.text, "", node.place)


def any_address(subnet: Node, index: int) -> str:
    """Some address for a manual network, other than those of the VM's other networks."""
    whole = range_of(subnet.value.get("range"))
    return f"10.255.{index}.0" if whole is None or whole.version == 4 else f"fd00:0:0:0:{index}::"  # noqa: PLR2004 - IPv4
