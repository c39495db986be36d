"""`cpi preflight CONFIG`: may this configuration do what the CPI does? Nothing is made or changed."""

import argparse
import sys
from typing import Final

from bosh_aws_cpi.aws.sdk.permissions import BASELINE, FEATURES
from bosh_aws_cpi.config.loading import load
from bosh_aws_cpi.jsontext import encode
from bosh_aws_cpi.log import redact
from bosh_aws_cpi.tools.command import carried_out

_DESCRIPTION: Final = """\
Check what the CPI needs of AWS: credentials, region, endpoints, and each permission of docs/iam-policy.json.
Nothing is made or changed."""
_EPILOG: Final = f"""\
All features are checked and shown. The exit status is about {BASELINE} and those that --feature names:
0: nothing of them is missing, and the endpoints that they ask answer; what can't be checked is counted;
1: something is missing, or AWS gave no verdict on it; 2: it could not be carried out: bad arguments, a bad
configuration, or keys that AWS does not take."""


def main(arguments: list[str]) -> int:
    """Check, and print a report.

    Args:
        arguments: What follows ``preflight`` on the command line.

    Returns:
        The exit status.
    """
    given = _parser().parse_args(arguments)
    return carried_out(lambda: _check(given))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "cpi preflight",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("config", metavar="CONFIG_PATH", help="the CPI's configuration file, cpi.json")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument(
        "--feature",
        metavar="NAME",
        action="append",
        default=[],
        choices=list(FEATURES),
        help=f"a feature that is needed; may be repeated; one of {', '.join(FEATURES)}",
    )
    return parser


def _check(given: argparse.Namespace) -> int:
    from bosh_aws_cpi.tools import examination, preflight_report  # noqa: PLC0415 - --help needs no SDK

    config = load(given.config, {}).aws
    report = preflight_report.document(examination.examine(config), given.feature, config.role_arn)
    sys.stdout.write(redact(f"{encode(report)}\n" if given.json else preflight_report.text(report)))
    return preflight_report.status(report)
