"""`cpi diagnose CONFIG_PATH VM_CID`: says why a VM does not answer, the likeliest cause first; read-only."""

import argparse
from collections.abc import Callable, Iterable, Sequence
from ipaddress import ip_address
from typing import Final

from bosh_aws_cpi import log
from bosh_aws_cpi.aws.sdk.clients import CommandClients
from bosh_aws_cpi.call_statistics import CallStatistics
from bosh_aws_cpi.config.loading import load
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.tools import command, findings
from bosh_aws_cpi.tools.diagnosis import console, gathering, network_causes, vm_causes
from bosh_aws_cpi.tools.diagnosis.facts import Facts
from bosh_aws_cpi.tools.findings import Finding

_DESCRIPTION: Final = """\
Say why a VM does not answer ("Timed out pinging VM"), the likeliest cause first: its state, user data,
console, and the routes and firewalls between it and the Director. Nothing is created or changed."""
_CAUSES: Final[tuple[Callable[[Facts], Iterable[Finding]], ...]] = (
    vm_causes.status_checks,
    vm_causes.on_console,
    vm_causes.metadata,
    vm_causes.user_data,
    network_causes.director,
    network_causes.servers,
    network_causes.notes,
)
"""The VM itself, its settings, the network from near to far, notes."""
_NEXT: Final = (
    "No error was found from outside. The agent's log is on the VM: /var/vcap/bosh/log/current "
    '(docs/diagnose.md, "Look into the VM")'
)


def main(arguments: list[str]) -> int:
    """Look at a VM, and print what is wrong."""
    return command.run(_parser(), arguments, _diagnose)


def _parser() -> argparse.ArgumentParser:
    parser = command.parser("diagnose", _DESCRIPTION, "no cause was found", "a cause was found")
    parser.add_argument("vm", metavar="VM_CID", help="the instance's id, which `bosh vms` shows: i-…")
    parser.add_argument(
        "--director-address",
        type=_address,
        metavar="IP",
        help="the Director's address, by default the one in the agent's mbus; for a VM of bosh create-env "
        "the address of the machine that runs it",
    )
    return parser


def _address(text: str) -> str:
    try:
        return str(ip_address(text.strip()))
    except ValueError:
        raise argparse.ArgumentTypeError(f"not an IP address: '{text}'") from None


def _diagnose(given: argparse.Namespace) -> int:
    config = load(given.config, {})
    statistics = CallStatistics()
    instance = gathering.instance(CommandClients(config.aws, statistics).ec2, config, given.vm)
    # Only the first call must succeed; all others are left out if AWS does not answer at once.
    without_retries = CommandClients(config.aws.replaced(max_retries=0), statistics).ec2
    facts = gathering.gather(without_retries, config, instance, given.director_address or "")
    found = causes(facts)
    told = findings.document(found, document(facts))
    shown = command.show(told, lines(facts, found), as_json=given.json)
    return shown or findings.status(found)


def causes(facts: Facts) -> list[Finding]:
    """The causes that apply: errors first, else in the order of likelihood.

    Nothing else is said of an instance that is gone: it has neither network nor user data.
    """
    found = list(vm_causes.state(facts))
    if not facts.instance.is_ending:
        found += [finding for cause in _CAUSES for finding in cause(facts)]
    return findings.ordered([*found, *facts.not_checked])


def document(facts: Facts) -> Json:
    """What the report tells apart from the findings; unknown values are null."""
    instance, settings = facts.instance, facts.settings
    return {
        "vm": {
            "id": instance.vm_cid,
            "state": instance.state,
            "type": instance.instance_type,
            "zone": instance.availability_zone,
        },
        "director_address": facts.remote or None,
        "user_data": settings
        and {
            "size": settings.size,
            "mbus": settings.mbus and str(settings.mbus),
            "blobstore": settings.blobstore and str(settings.blobstore),
            "registry": settings.registry and str(settings.registry),
            "dns": list(settings.dns),
            "ntp": list(settings.ntp),
        },
        "console": console.lines(facts.console or "")[-console.LAST_LINES :],
    }


def lines(facts: Facts, found: Sequence[Finding]) -> list[str]:
    """The report for people: the findings, the VM, and the console's last lines."""
    told = document(facts)
    vm = told["vm"]
    mbus = f"; mbus {facts.mbus}" if facts.mbus else ""
    closing = f"{vm['id']}: {vm['state']}, {vm['type']}, {vm['zone'] or 'no zone'}{mbus}"
    shown = [f"  {log.redact(line)}" for line in told["console"]]
    return [
        *findings.lines(found, closing),
        *([] if findings.status(found) else [_NEXT]),
        *(["", "The console's last lines:", *shown] if shown else []),
    ]
