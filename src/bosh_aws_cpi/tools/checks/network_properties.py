"""The cloud properties of networks: read with the models of create_vm and create_network."""

from collections.abc import Iterator, Mapping, Sequence

from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.plan import tags
from bosh_aws_cpi.properties.managed_network import ManagedNetwork
from bosh_aws_cpi.properties.network import NetworkCloudProperties
from bosh_aws_cpi.properties.types import Problem
from bosh_aws_cpi.tools.checks.bosh.cloud_config import CloudConfig, type_of
from bosh_aws_cpi.tools.checks.bosh.rules import hashes
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.reading import is_open, properties_of, read_known, said
from bosh_aws_cpi.tools.findings import Finding, Severity


def findings(config: CloudConfig, aws: AwsConfig) -> Iterator[Finding]:
    """Check the cloud properties of all networks."""
    for network in config.lists["networks"]:
        kind = type_of(network)
        for entry in [network] if kind == "vip" else entries_of(network):
            if is_open(entry) or config.is_of_others(entry):
                continue
            if network.value.get("managed") and kind == "manual":
                yield from _of_managed(entry, aws.tags)
            else:
                yield from _of_subnet(entry, kind)
    yield from _without_groups(config, aws)


def entries_of(network: Node) -> Sequence[Node]:
    """What has the cloud properties of a network with interfaces: its subnets, or itself."""
    if type_of(network) not in {"manual", "dynamic"}:
        return []
    subnets = network.get("subnets")
    if subnets is None:
        return [network] if type_of(network) == "dynamic" else []
    return hashes(subnets)


def _of_subnet(entry: Node, kind: str) -> Iterator[Finding]:
    section, subnet = entry.at("cloud_properties"), entry.get("cloud_properties", "subnet")
    properties = read_known(NetworkCloudProperties, entry.get("cloud_properties"))
    if properties is None:
        return
    for each in properties.problems(kind):
        yield Finding(Severity.ERROR, each.text, "", section.at(*each.key.split(".")).place)
    if kind != "vip" and (subnet is None or not subnet.value):
        what = "has no cloud_properties.subnet: no VM can be created in it"
        yield Finding(Severity.ERROR, what, "Add the id of the subnet, subnet-…", section.place)


def _of_managed(entry: Node, common: Mapping[str, str]) -> Iterator[Finding]:
    network = read_known(ManagedNetwork, entry)
    if network is None or entry.has_variables:
        return
    problems, own = [*network.problems()], network.cloud_properties.tags
    if text := said(lambda: tags.check_for_ec2({**common, **tags.of_request(tags.checked(own))})):
        problems.append(Problem("cloud_properties.tags", text))
    for each in problems:
        yield Finding(Severity.ERROR, each.text, "", entry.at(*each.key.split(".")).place)


def _without_groups(config: CloudConfig, aws: AwsConfig) -> Iterator[Finding]:
    """VM types for which nothing names security groups, so that create_vm refuses them."""
    networks = config.lists["networks"]
    others = [
        *config.lists["azs"],
        *config.lists["vm_extensions"],
        *(each for network in networks for each in entries_of(network)),
    ]
    has_more = any(map(_may_have_groups, others)) or not networks or config.open_lists & {"networks", "azs"}
    if aws.default_security_groups or has_more:
        return
    for entry in config.lists["vm_types"]:
        if not _may_have_groups(entry):
            what = "has no security_groups; neither has a network, nor aws.default_security_groups"
            yield Finding(Severity.ERROR, what, "Add security_groups", entry.at("cloud_properties").place)


def _may_have_groups(entry: Node) -> bool:
    node = properties_of(entry).get("security_groups")
    return is_open(entry) or (node is not None and bool(node.value))
