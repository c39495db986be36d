"""`cpi sweep`: lists resources that interrupted calls have left behind, and deletes them on request."""

import argparse
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from bosh_aws_cpi import interrupts, log
from bosh_aws_cpi.aws import inventory
from bosh_aws_cpi.aws.inventory import Kind, Resource
from bosh_aws_cpi.aws.sdk import clock
from bosh_aws_cpi.aws.sdk.clients import Clients
from bosh_aws_cpi.aws.sdk.error_codes import UNAUTHORIZED
from bosh_aws_cpi.aws.sdk.errors import described, has_code
from bosh_aws_cpi.call_statistics import CallStatistics
from bosh_aws_cpi.config.loading import load
from bosh_aws_cpi.plan.tags import of_origin
from bosh_aws_cpi.tools import command
from bosh_aws_cpi.tools.deletion import Run
from bosh_aws_cpi.tools.strays import Inventory, Wish
from bosh_aws_cpi.tools.sweep_report import NEEDLESS, Report

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

_DESCRIPTION: Final = """\
List the resources of one Director that interrupted calls have left behind, and delete them with --delete."""
_EPILOG: Final = """\
exit status:
0: nothing is left to do
1: something is left to do, or could not be listed
2: the command failed: bad arguments, a bad configuration, or an error of AWS"""
_OPTIONAL: Final[tuple[Kind, ...]] = ("snapshot", "placement group")
"""The kinds that some policies do not allow to be listed."""
_BASELINE: Final[tuple[Kind, ...]] = ("volume", "interface", "subnet", "instance")
"""The other kinds, without AMIs."""


def main(arguments: list[str]) -> int:
    """List the strays of one Director, and delete them with ``--delete``."""
    parser = _parser()
    given = parser.parse_args(arguments)
    for option, named in (("--disk", given.disk), ("--instance", given.instance)):
        if named and not given.delete:
            parser.error(f"{option} has no effect without --delete: give both")
    if given.delete and 0 < given.older_than < 1:
        parser.error(
            "with --delete, --older-than must be 0, or at least 1, because a retried call reuses resources "
            "of the last 30 minutes; 0 includes all ages, and is safe only while no other call runs"
        )
    return command.carried_out(lambda: _sweep(given))


def _parser() -> argparse.ArgumentParser:
    parser = command.parser("sweep", _DESCRIPTION, _EPILOG)
    parser.add_argument(
        "--director", required=True, type=_uuid, metavar="UUID", help="the Director that owns the resources"
    )
    parser.add_argument(
        "--older-than",
        default=24.0,
        type=_hours,
        metavar="HOURS",
        help="the minimum age of a stray; 24 by default",
    )
    parser.add_argument(
        "--delete", action="store_true", help="delete the strays, except unnamed disks and instances"
    )
    parser.add_argument(
        "--disk",
        action="append",
        default=[],
        metavar="ID",
        help="with --delete: delete this disk too, if it is a stray; may be repeated",
    )
    parser.add_argument(
        "--instance",
        action="append",
        default=[],
        metavar="ID",
        help="with --delete: delete this instance too, of any age, if it is a stray; may be repeated",
    )
    parser.add_argument("--json", action="store_true", help="write one JSON document instead of the table")
    return parser


def _uuid(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("the director's UUID must not be empty; `bosh env` shows it")
    return text.strip()


def _hours(text: str) -> float:
    try:
        hours = float(text)
    except ValueError:
        hours = math.nan
    if not 0 <= hours < math.inf:
        raise argparse.ArgumentTypeError(f"not a number of hours, 0 or more: '{text}'")
    return hours


def _sweep(given: argparse.Namespace) -> int:
    config = load(given.config, {}).aws
    clients = Clients(config, CallStatistics())
    there, not_listed = _look(clients.ec2, given.director)
    if not any(there.looked_at.values()):
        log.logger.warning(
            "No resource has the tag of director '%s': the UUID, region (%s) or account may be wrong",
            given.director,
            config.region,
        )
    wish = Wish(given.older_than, given.delete, frozenset(given.disk), frozenset(given.instance))
    report = Report(there, config.region, wish, clock.began(), not_listed)
    try:
        Run(clients, there, wish, report.now).carry_out(report.rows)
        report.is_complete = True
    finally:  # deletions are always reported, and no signal interrupts the report
        interrupts.close()
        shown = (line.replaced(log.redact(line)) for line in report.lines())
        command.show(report.document(), shown, as_json=given.json)
    return report.status


def _look(client: "EC2Client", director: str) -> tuple[Inventory, list[Kind]]:
    """The Director's resources, and the kinds that the credentials have no permission to list.

    The instances come last. So an instance that is launched in the meantime is listed, and its interfaces and
    volumes don't count as strays.
    """
    tags = of_origin(director)
    found: list[Resource] = []
    not_listed: list[Kind] = []
    for kind in _OPTIONAL:
        listed = _permitted(client, kind, tags)
        found += listed or []
        not_listed += [kind] if listed is None else []
    found += inventory.own_images(client)
    for kind in _BASELINE:
        found += inventory.tagged(client, kind, tags)
    return Inventory(director, found), not_listed


def _permitted(client: "EC2Client", kind: Kind, tags: Mapping[str, str]) -> list[Resource] | None:
    """The resources of a kind; None without the permission to list them."""
    try:
        return inventory.tagged(client, kind, tags)
    except client.exceptions.ClientError as error:
        if not has_code(error, UNAUTHORIZED):
            raise
        level = log.INFO if kind in NEEDLESS else log.WARNING
        log.logger.log(
            level, "%ss are left out: no permission to list them: %s", kind.capitalize(), described(error)
        )
        return None
