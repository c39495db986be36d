"""`cpi check CONFIG_PATH FILE…`: checks a cloud config before a deployment; read-only."""

import argparse
import sys
from typing import TYPE_CHECKING, Final

from bosh_aws_cpi.tools.command import carried_out
from bosh_aws_cpi.tools.findings import Finding, Severity, json_text, ordered, status, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bosh_aws_cpi.config.aws_config import AwsConfig
    from bosh_aws_cpi.tools.checks.cloud_config import CloudConfig
    from bosh_aws_cpi.tools.checks.documents import Document

_DESCRIPTION: Final = """\
Check a cloud config (bosh cloud-config) as the Director and the CPI read it; several files are merged.
What it names in AWS is looked up. Nothing is created or changed."""
_EPILOG: Final = """\
0: no finding is an error
1: a finding is an error: the deployment fails
2: the check failed: bad arguments, or a file that can't be read"""


def main(arguments: list[str]) -> int:
    """Check, and print a report.

    Args:
        arguments: The arguments after ``check`` on the command line.

    Returns:
        The exit status.
    """
    given = _parser().parse_args(arguments)
    return carried_out(lambda: _check(given))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "cpi check",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("config", metavar="CONFIG_PATH", help="the CPI's configuration file, cpi.json")
    parser.add_argument("files", metavar="FILE", nargs="+", help="a cloud config")
    parser.add_argument("--offline", action="store_true", help="don't call AWS")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser


def _check(given: argparse.Namespace) -> int:
    from bosh_aws_cpi.config.loading import load  # noqa: PLC0415 - --help needs none of these
    from bosh_aws_cpi.tools.checks import combinations, networks  # noqa: PLC0415
    from bosh_aws_cpi.tools.checks.cloud_config import CloudConfig  # noqa: PLC0415
    from bosh_aws_cpi.tools.checks.documents import Document  # noqa: PLC0415

    aws = load(given.config, {}).aws
    documents = [Document.read(name) for name in given.files]
    config = CloudConfig.merged(documents)
    found = ordered(
        [
            *config.findings,
            *networks.findings(config),
            *combinations.findings(config, aws),
            *([] if given.offline else _account(aws, config)),
            *_variables(documents),
        ]
    )
    closing = f"Checked {', '.join(given.files)}"
    sys.stdout.write(json_text(found, {"files": given.files}) if given.json else text(found, closing))
    return status(found)


def _account(aws: "AwsConfig", config: "CloudConfig") -> "Iterator[Finding]":
    """What AWS says of the things that the cloud config names."""
    from bosh_aws_cpi.aws.sdk.command_clients import CommandClients  # noqa: PLC0415 - --offline needs no SDK
    from bosh_aws_cpi.call_statistics import CallStatistics  # noqa: PLC0415
    from bosh_aws_cpi.tools.checks.account import Account  # noqa: PLC0415
    from bosh_aws_cpi.tools.checks.references import References  # noqa: PLC0415

    return Account(CommandClients(aws, CallStatistics()), aws, References.of(config)).findings()


def _variables(documents: "Sequence[Document]") -> list[Finding]:
    """One finding for each value that only the Director knows."""
    nodes = [node for document in documents for node in document.root.variables()]
    return [Finding(Severity.NOT_CHECKED, f"{node.value} is a variable", "", node.place) for node in nodes]
