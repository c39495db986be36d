"""`cpi diagnose CONFIG_PATH VM_CID`: says why a VM does not answer, the likeliest cause first; read-only."""

import argparse
from ipaddress import ip_address
from typing import Final

from bosh_aws_cpi.call_statistics import CallStatistics
from bosh_aws_cpi.config.loading import load
from bosh_aws_cpi.tools import command
from bosh_aws_cpi.tools.findings import document, status

_DESCRIPTION: Final = """\
Say why a VM does not answer ("Timed out pinging VM"), the likeliest cause first: its state, user data,
console, and the routes and firewalls between it and the Director. Nothing is created or changed."""
_EPILOG: Final = """\
exit status:
0: no cause was found
1: a cause was found
2: the command failed: bad arguments, a bad configuration, an unknown VM, or keys that AWS does not accept"""


def main(arguments: list[str]) -> int:
    """Look at a VM, and print what is wrong."""
    return command.run(_parser(), arguments, _diagnose)


def _parser() -> argparse.ArgumentParser:
    parser = command.parser("diagnose", _DESCRIPTION, _EPILOG)
    parser.add_argument("vm", metavar="VM_CID", help="the instance's id, which `bosh vms` shows: i-…")
    parser.add_argument(
        "--director-address",
        type=_address,
        metavar="IP",
        help="the Director's address, by default the one in the agent's mbus; for a VM of bosh create-env "
        "the address of the machine that runs it",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser


def _address(text: str) -> str:
    try:
        return str(ip_address(text.strip()))
    except ValueError:
        raise argparse.ArgumentTypeError(f"not an IP address: '{text}'") from None


def _diagnose(given: argparse.Namespace) -> int:
    from bosh_aws_cpi.aws.sdk.command_clients import CommandClients  # noqa: PLC0415 - --help needs no SDK
    from bosh_aws_cpi.tools.diagnosis import causes, gathering, report  # noqa: PLC0415

    config = load(given.config, {})
    statistics = CallStatistics()
    instance = gathering.instance(CommandClients(config.aws, statistics).ec2, config, given.vm)
    # Only the first call must succeed; all others are left out if AWS does not answer at once.
    without_retries = CommandClients(config.aws.replaced(max_retries=0), statistics).ec2
    facts = gathering.gather(without_retries, config, instance, given.director_address or "")
    found = causes.of(facts)
    told = document(found, report.document(facts))
    command.show(told, report.lines(facts, found), as_json=given.json)
    return status(found)
