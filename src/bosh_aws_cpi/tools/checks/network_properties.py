"""The cloud properties of networks: read with the models of create_vm and create_network."""

from collections.abc import Iterator, Mapping, Sequence

from pydantic import ValidationError

from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.plan import tags
from bosh_aws_cpi.properties.managed_network import ManagedNetwork, ManagedNetworkProperties
from bosh_aws_cpi.properties.network import NetworkCloudProperties
from bosh_aws_cpi.properties.types import Problem, wrong_values
from bosh_aws_cpi.tools.checks.bosh.cloud_config import CloudConfig, type_of, zones_of
from bosh_aws_cpi.tools.checks.bosh.rules import hashes
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.naming import texts
from bosh_aws_cpi.tools.checks.reading import blamed, is_open, properties_of, read_known, said
from bosh_aws_cpi.tools.findings import Finding, Severity


def findings(config: CloudConfig, aws: AwsConfig) -> Iterator[Finding]:
    """Check the cloud properties of all networks."""
    for network in config.lists["networks"]:
        if type_of(network) == "vip":
            yield from _of_subnet(network, network) if not is_open(network) else ()
        for entry in entries_of(network):
            if is_open(entry) or config.is_of_others(entry):
                continue
            if network.value.get("managed") and type_of(network) == "manual":
                yield from _of_managed(entry, config, aws.tags)
            else:
                yield from _of_subnet(entry, network)
                yield from _repeated(entry)
    yield from _without_groups(config, aws)


def entries_of(network: Node) -> Sequence[Node]:
    """What has the cloud properties of a network with interfaces: its subnets, or itself."""
    if type_of(network) not in {"manual", "dynamic"}:
        return []
    subnets = network.get("subnets")
    if subnets is None:
        return [network] if type_of(network) == "dynamic" else []
    return hashes(subnets)


def _of_subnet(entry: Node, network: Node) -> Iterator[Finding]:
    section = entry.at("cloud_properties")
    nodes = properties_of(entry)
    properties = read_known(NetworkCloudProperties, entry.get("cloud_properties"))
    for each in properties.problems(type_of(network)) if properties is not None else ():
        yield Finding(Severity.ERROR, each.text, "", section.at(*each.key.split(".")).place)
    is_given = "subnet" in nodes and (nodes["subnet"].is_unknown or nodes["subnet"].value)
    is_given = is_given or type_of(network) == "vip"
    if properties is not None and not is_given:
        what = "has no cloud_properties.subnet: no VM can be created in it"
        remedy = "Add the id of the subnet, subnet-…"
        if entry is not network and network.get("cloud_properties", "subnet") is not None:
            remedy = "Move the network's cloud_properties into its subnets"
        elif entry.child("subnet") is not None:
            remedy = "Move subnet into cloud_properties"
        yield Finding(Severity.ERROR, what, remedy, section.place)


def _repeated(entry: Node) -> Iterator[Finding]:
    """A fallback subnet that is repeated has no effect."""
    nodes = properties_of(entry)
    fallbacks = nodes.get("subnet_fallbacks")
    if fallbacks is None or not isinstance(fallbacks.value, list):
        return  # a wrong type is a finding of its own
    seen = [nodes["subnet"].value] if "subnet" in nodes else []
    for each in texts(fallbacks):
        if each.value in seen:
            what = f"subnet '{each.value}' is repeated, which has no effect"
            yield Finding(Severity.NOTE, what, "Remove it", each.place)
        seen.append(each.value)


def _of_managed(entry: Node, config: CloudConfig, common: Mapping[str, str]) -> Iterator[Finding]:
    """The Director merges the properties of the azs with the subnet's (BOSH: stages/create_network.rb)."""
    section = entry.at("cloud_properties")
    properties = read_known(ManagedNetworkProperties, entry.get("cloud_properties"))
    zones = [config.named("azs", name) for name in zones_of(entry) or ()]
    if properties is None or None in zones or section.has_variables:
        return
    known = {each.route[-1]: each for each in entry.entries() if not each.has_variables}
    given: dict[str, Node] = {key: known[key] for key in ("range", "gateway", "netmask_bits") if key in known}
    values = {**{key: node.value for key, node in given.items()}, "cloud_properties": section.value}
    try:
        problems = [*ManagedNetwork.model_validate(values).problems()]
    except ValidationError as error:
        problems = [wrong_values(error, "network")]
    if text := said(lambda: tags.check_for_ec2({**common, **tags.of_request(tags.checked(properties.tags))})):
        problems.append(Problem("cloud_properties.tags", text))
    for each in problems:
        node = blamed(each, {**given, "cloud_properties": section}, section)
        yield Finding(Severity.ERROR, each.text, "", node.place)


def _without_groups(config: CloudConfig, aws: AwsConfig) -> Iterator[Finding]:
    """VM types for which nothing names security groups, so that create_vm refuses them."""
    networks = config.lists["networks"]
    others = [*config.lists["azs"], *(each for network in networks for each in entries_of(network))]
    has_more = any(map(_may_have_groups, others)) or not networks or config.open_lists & {"networks", "azs"}
    if aws.default_security_groups or has_more:
        return
    is_extension = any(map(_may_have_groups, config.lists["vm_extensions"]))
    severity = Severity.WARNING if is_extension else Severity.ERROR
    for entry in config.lists["vm_types"]:
        if not _may_have_groups(entry):
            what = "has no security_groups; neither has a network, nor aws.default_security_groups"
            yield Finding(severity, what, "Add security_groups", entry.at("cloud_properties").place)


def _may_have_groups(entry: Node) -> bool:
    node = properties_of(entry).get("security_groups")
    return is_open(entry) or (node is not None and bool(node.value))
