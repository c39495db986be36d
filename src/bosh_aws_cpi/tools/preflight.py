"""`cpi preflight CONFIG`: checks a configuration's credentials, endpoints and permissions; read-only."""

import argparse
from typing import Final

from bosh_aws_cpi.aws.sdk.permissions import BASELINE, FEATURES
from bosh_aws_cpi.config.loading import load
from bosh_aws_cpi.jsontext import encode
from bosh_aws_cpi.log import redact
from bosh_aws_cpi.tools import command

_DESCRIPTION: Final = """\
Check whether the CPI can use AWS: credentials, region, endpoints and each permission in docs/iam-policy.json.
Nothing is created or changed."""
_EPILOG: Final = f"""\
All features are checked and shown.
The exit status depends on {BASELINE} and the features that --feature names:
0: no permission is missing, and the endpoints answer; the report counts the permissions that can't be checked
1: a permission is missing or could not be determined, or an endpoint fails
2: the check failed: bad arguments, a bad configuration, or keys that AWS does not accept"""


def main(arguments: list[str]) -> int:
    """Check, and print a report.

    Args:
        arguments: The arguments after ``preflight`` on the command line.

    Returns:
        The exit status.
    """
    given = _parser().parse_args(arguments)
    return command.carried_out(lambda: _check(given))


def _parser() -> argparse.ArgumentParser:
    parser = command.parser("preflight", _DESCRIPTION, _EPILOG)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument(
        "--feature",
        metavar="NAME",
        action="append",
        default=[],
        choices=list(FEATURES),
        help=f"a feature that you need; may be repeated; one of {', '.join(FEATURES)}",
    )
    return parser


def _check(given: argparse.Namespace) -> int:
    from bosh_aws_cpi.tools import examination, preflight_report  # noqa: PLC0415 - --help needs no SDK

    config = load(given.config, {}).aws
    report = preflight_report.document(examination.examine(config), given.feature, config.role_arn)
    command.show(map(redact, [encode(report)] if given.json else preflight_report.lines(report)))
    return preflight_report.status(report)
