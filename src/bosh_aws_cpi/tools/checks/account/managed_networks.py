"""What managed networks name: the VPC exists, and has the route table and the network ACL. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from bosh_aws_cpi.tools.checks.account.named_things import absent
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.naming import texts
from bosh_aws_cpi.tools.findings import Finding, Severity

KEYS: Final = {"VPC": "vpc_id", "route table": "route_table", "network ACL": "network_acl"}
"""What is looked up, and the property that names it."""


def ids(managed: Iterable[Node], key: str) -> set[str]:
    """The known values of a property.

    Args:
        managed: The cloud properties of subnets.
        key: The property.
    """
    return {str(each.value) for section in managed for each in _values(section, key)}


def findings(managed: Iterable[Node], what: str, vpcs: Mapping[str, str]) -> Iterator[Finding]:
    """Check a property.

    Args:
        managed: The cloud properties of subnets.
        what: What it names; one of `KEYS`.
        vpcs: The VPCs of those that exist, by id.
    """
    for section in managed:
        wanted = [str(each.value) for each in _values(section, "vpc_id")]
        for node in _values(section, KEYS[what]):
            vpc = vpcs.get(node.value)
            if vpc is None:
                yield absent(what, node.value, node.place)
            elif wanted and vpc not in wanted:
                said = f"{what} '{node.value}' is in VPC '{vpc}', but the network in '{wanted[0]}'"
                yield Finding(Severity.ERROR, said, "Use one in the network's VPC", node.place, "AWS")


def _values(section: Node, key: str) -> list[Node]:
    node = section.get(key)
    return list(texts(node)) if node is not None and isinstance(node.value, str) else []
