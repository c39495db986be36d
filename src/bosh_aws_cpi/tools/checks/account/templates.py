"""Launch templates: they exist, and hold what create_vm accepts. Pure."""

from collections.abc import Iterator

from bosh_aws_cpi.plan.run_instances import TemplateVersion
from bosh_aws_cpi.properties import vm
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.reading import read_known
from bosh_aws_cpi.tools.findings import Finding, Severity


def wanted(node: Node) -> vm.LaunchTemplate | None:
    """The property; None if it has a variable, or a mistake, of which others speak."""
    given = None if node.has_variables else read_known(vm.LaunchTemplate, node)
    return None if given is None or [*given.problems()] else given


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
