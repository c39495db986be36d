"""Launch templates: they exist, and hold what create_vm accepts. Pure."""

from collections.abc import Iterator

from pydantic import ValidationError

from bosh_aws_cpi.plan.launch_template import TemplateVersion
from bosh_aws_cpi.properties import vm
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.naming import Launch
from bosh_aws_cpi.tools.findings import Finding, Severity


def nodes(launch: Launch) -> list[Node]:
    """Where a combination names a template."""
    node = launch.get("launch_template")
    return [] if node is None else [node]


def wanted(node: Node) -> vm.LaunchTemplate | None:
    """The property; None if it has a variable, or a mistake, of which others speak."""
    try:
        given = vm.LaunchTemplate.model_validate(node.value)
    except ValidationError:
        return None
    is_unclear = any(each.is_unknown for each in (node, *node.entries())) or [*given.problems()]
    return None if is_unclear else given


def findings(node: Node, answer: TemplateVersion | str | None) -> Iterator[Finding]:
    """An error if create_vm refuses the template.

    Args:
        node: Where it is named.
        answer: The template, or EC2's words about one that does not exist; None if it could not be read.
    """
    if isinstance(answer, str):
        yield Finding(Severity.ERROR, answer, "Create it, or correct launch_template", node.place, "AWS")
    elif answer is not None:
        yield from (Finding(Severity.ERROR, each.text, "", node.place, "AWS") for each in answer.problems())
