"""Findings when some azs have a `cpi`: VM types and disk types don't say which CPI they are for. Pure."""

from collections.abc import Iterable, Iterator
from typing import Final

from bosh_aws_cpi.tools.findings import Finding, Severity

_OF_ANY: Final = ("vm_types/", "vm_extensions/", "disk_types/")
"""Beginnings of the paths of what may be meant for another CPI."""


def softened(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Turn errors into warnings where what is wrong here may be right for another CPI."""
    for each in findings:
        path = each.place.path if each.place is not None else ""
        is_doubtful = each.severity is Severity.ERROR and path.startswith(_OF_ANY)
        yield each.replaced(severity=Severity.WARNING) if is_doubtful else each
