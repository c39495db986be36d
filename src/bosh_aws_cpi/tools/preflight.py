"""`cpi preflight CONFIG`: may this configuration do what the CPI does? Nothing is made or changed."""

import argparse
import json
import sys
from dataclasses import dataclass, field
from typing import Final

from bosh_aws_cpi.loading import load
from bosh_aws_cpi.log import redact
from bosh_aws_cpi.tools.command import carried_out
from bosh_aws_cpi.tools.permissions import BASELINE, FEATURES

_DESCRIPTION: Final = """\
Check what the CPI needs of AWS: credentials, region, endpoints, and each permission of docs/iam-policy.json.
Nothing is made or changed."""
_EPILOG: Final = f"""\
All features are checked and shown. The exit status is about {BASELINE} and those that --feature names:
0: nothing of them is missing, and the endpoints that they ask answer; 1: something is missing;
2: it could not be carried out: bad arguments, a bad configuration, or keys that AWS does not take."""


@dataclass
class _Options:
    """What the command line says."""

    config: str = ""
    json: bool = False
    feature: list[str] = field(default_factory=list)


def main(arguments: list[str]) -> int:
    """Check, and print a report.

    Args:
        arguments: What follows ``preflight`` on the command line.

    Returns:
        The exit status.
    """
    options = _parser().parse_args(arguments, _Options())
    return carried_out(lambda: _check(options))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "cpi preflight",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("config", metavar="CONFIG", help="the CPI's configuration file, cpi.json")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument(
        "--feature",
        metavar="NAME",
        action="append",
        choices=list(FEATURES),
        help=f"a feature that is needed; may be repeated; one of {', '.join(FEATURES)}",
    )
    return parser


def _check(options: _Options) -> int:
    from bosh_aws_cpi.tools import examination, preflight_report  # noqa: PLC0415 - --help needs no SDK

    config = load(options.config, {}).aws
    report = preflight_report.document(examination.examine(config), options.feature, config.role_arn)
    shown = json.dumps(report, indent=2) + "\n" if options.json else preflight_report.text(report)
    sys.stdout.write(redact(shown))
    return preflight_report.status(report)
