"""For what the networks of an instance group are the default; the Director and bosh-cli have the same rules.

Sources: BOSH, deployment_plan/instance_group_networks_parser.rb (validate_default_properties and
validate_default_networks) and network.rb; bosh-cli, deployment/manifest/validator.go (validateJobNetworks).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from bosh_aws_cpi.tools.checks.bosh.rules import DIRECTOR, refused
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.findings import Finding

REQUIRED: Final = ("dns", "gateway")
"""Some network must be the default for these."""


def findings(
    listed: Node, entries: Sequence[Node], optional: Sequence[str] = (), source: str = DIRECTOR
) -> Iterator[Finding]:
    """Check `default` of an instance group's networks.

    Args:
        listed: The list of its networks.
        entries: The networks.
        optional: For what else a network may be the default.
        source: Who refuses it.
    """
    words = (*REQUIRED, *optional)
    given = [entry.at("default").entries() if entry.get("default") else [] for entry in entries]
    for node in (each for values in given for each in values):
        if not node.is_unknown and node.value not in words:
            what = f"'{node.value}' is not a default"
            yield refused(node, what, f"Use {' or '.join(words)}", source)
    if _has_variables(listed, entries):
        return
    number = Counter(text for values in given for text in {str(each.value) for each in values})
    for word in words:
        if number[word] > 1:
            what = f"more than one network is the default for {word}"
            yield refused(listed, what, f"Keep {word} in the default of one network", source)
        elif not number[word] and word in REQUIRED and len(entries) > 1:
            what = f"one network must be the default for {word}"
            yield refused(listed, what, f"Add {word} to the default of one network", source)


def _has_variables(listed: Node, entries: Sequence[Node]) -> bool:
    """Whether a variable may be a network, or what it is the default for."""
    defaults = [node for entry in entries if (node := entry.get("default")) is not None]
    return any(each.is_unknown for each in [listed, *listed.entries()]) or any(
        each.has_variables for each in defaults
    )
