"""Sizes in place of a VM type (``vm_resources``): the CPI chooses a type, and create_vm must accept it."""

from collections.abc import Iterator

from pydantic import ValidationError

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.plan import vm_sizes
from bosh_aws_cpi.properties.types import mistakes
from bosh_aws_cpi.properties.vm import VmProperties
from bosh_aws_cpi.tools.checks.bosh.cloud_config import CloudConfig
from bosh_aws_cpi.tools.checks.bosh.models import VmResources
from bosh_aws_cpi.tools.checks.bosh.rules import keys_of
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.findings import Finding, Severity


def findings(node: Node, config: CloudConfig) -> Iterator[Finding]:
    """Check the sizes that an instance group, or the compilation, asks for."""
    resources = node.get("vm_resources")
    if resources is None or not isinstance(resources.value, dict) or not config.sizes:
        return
    if resources.has_variables or [*keys_of(resources, VmResources)]:
        return
    try:
        VmProperties.model_validate(vm_sizes.cloud_properties(resources.value, config.sizes))
    except CloudError as error:
        yield Finding(Severity.ERROR, error.message, "", resources.place)
    except ValidationError as error:
        for _, text in mistakes(error):
            yield Finding(Severity.ERROR, text, "", resources.at("ephemeral_disk_size").place)
