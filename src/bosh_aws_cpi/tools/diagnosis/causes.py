"""All causes for which a VM does not answer, in the order of their likelihood. Pure."""

from collections.abc import Callable, Iterable
from typing import Final

from bosh_aws_cpi.tools import findings
from bosh_aws_cpi.tools.diagnosis import network_causes, vm_causes
from bosh_aws_cpi.tools.diagnosis.facts import Facts
from bosh_aws_cpi.tools.findings import Finding

_CAUSES: Final[tuple[Callable[[Facts], Iterable[Finding]], ...]] = (
    vm_causes.state,
    vm_causes.status_checks,
    vm_causes.events,
    vm_causes.on_console,
    vm_causes.metadata,
    vm_causes.user_data,
    vm_causes.certificates,
    vm_causes.registry,
    network_causes.registry,
    network_causes.director,
    network_causes.blobstore,
    network_causes.servers,
    network_causes.notes,
)
"""The VM itself, its settings, the network from near to far, notes."""


def of(facts: Facts) -> list[Finding]:
    """The causes that apply: errors first, else in the order of likelihood.

    Nothing else is said of an instance that is gone: it has neither network nor user data.
    """
    if facts.instance.is_ending:
        return findings.ordered(vm_causes.state(facts))
    found = [finding for cause in _CAUSES for finding in cause(facts)]
    return findings.ordered([*found, *facts.not_checked])
