"""The compilation section: the Director's rules (BOSH: deployment_plan/compilation_config.rb)."""

from collections.abc import Iterator
from typing import Final

from pydantic import ValidationError

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.plan import vm_sizes
from bosh_aws_cpi.properties.types import mistakes
from bosh_aws_cpi.properties.vm import VmProperties
from bosh_aws_cpi.tools.checks.bosh.cloud_config import CloudConfig, unserved
from bosh_aws_cpi.tools.checks.bosh.rules import name_of, refused, text_of, unknown_keys, unlike, wrong_keys
from bosh_aws_cpi.tools.checks.bosh.shapes import COMPILATION, VM_RESOURCES
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.findings import Finding, Severity

_KINDS: Final = ("vm_type", "vm_resources", "cloud_properties")


def findings(config: CloudConfig) -> Iterator[Finding]:
    """Check the section: it names a network, a zone that the network has, and one kind of VM."""
    node = config.compilation
    if node is None or not isinstance(node.value, dict):
        return
    yield from unknown_keys(node, COMPILATION)
    yield from wrong_keys(node, COMPILATION)
    yield from config.missing_names(node, COMPILATION)
    yield from _kind(config, node)
    yield from _zone(config, node)


def _kind(config: CloudConfig, node: Node) -> Iterator[Finding]:
    given = [key for key in _KINDS if node.value.get(key)]
    if len(given) > 1:
        yield refused(
            node.at(given[1]), f"has {' and '.join(given)}: only one is allowed", "Keep one of them"
        )
    resources = node.get("vm_resources")
    if resources is not None and node.get("vm_type") is None:
        yield from of_resources(resources, config)
    extensions = node.get("vm_extensions")
    names = extensions.entries() if extensions is not None and isinstance(extensions.value, list) else []
    if extensions is not None and names and not {"vm_type", "vm_resources"} & set(given):
        yield refused(extensions, "vm_extensions need a vm_type or vm_resources", "Add vm_type")


def of_resources(node: Node, config: CloudConfig) -> Iterator[Finding]:
    """Check ``vm_resources`` (BOSH: deployment_plan/vm_resources.rb), and that there is such a type."""
    if not isinstance(node.value, dict):
        return
    wrong = list(wrong_keys(node, VM_RESOURCES))
    yield from wrong
    if config.sizes and not node.has_variables and not wrong:
        yield from _chosen(node, config)


def _chosen(node: Node, config: CloudConfig) -> Iterator[Finding]:
    """The CPI chooses a type that is large enough, and create_vm must accept what it has chosen."""
    try:
        properties = vm_sizes.cloud_properties(node.value, config.sizes)
    except CloudError as error:
        yield Finding(Severity.ERROR, error.message, "", node.place)
        return
    try:
        VmProperties.model_validate(properties)
    except ValidationError as error:
        for _, text in mistakes(error):
            yield Finding(Severity.ERROR, text, "", node.at("ephemeral_disk_size").place)


def _zone(config: CloudConfig, node: Node) -> Iterator[Finding]:
    zone, network = node.get("az"), config.named("networks", text_of(node.get("network")))
    if network is None or (zone is not None and unlike(zone, str) is not None) or node.at("az").is_unknown:
        return
    if unserved(network, [text_of(zone)]):
        where = f"az '{text_of(zone)}'" if zone is not None else "a VM without az: its subnets have azs"
        remedy = "Name an az of the network's subnets"
        yield refused(
            zone or node.at("network"), f"network '{name_of(network)}' has no subnet for {where}", remedy
        )
