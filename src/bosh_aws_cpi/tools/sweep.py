"""`cpi sweep`: lists what calls that were cut off have left at EC2, and removes it when told to."""

import argparse
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from botocore.exceptions import BotoCoreError, ClientError

from bosh_aws_cpi import log
from bosh_aws_cpi.aws import image_removal, inventory, network_interfaces, snapshots, volumes
from bosh_aws_cpi.aws.clients import Clients
from bosh_aws_cpi.aws.errors import UNAUTHORIZED, described, has_code
from bosh_aws_cpi.aws.inventory import Kind, Resource
from bosh_aws_cpi.errors import BoshError, CloudError
from bosh_aws_cpi.jsontext import encode
from bosh_aws_cpi.loading import load
from bosh_aws_cpi.plan.tags import of_origin
from bosh_aws_cpi.tally import Tally
from bosh_aws_cpi.tools.command import carried_out
from bosh_aws_cpi.tools.strays import SEEN_TAG, Action, Inventory, Stray, Wish, action
from bosh_aws_cpi.tools.sweep_report import Report, Row, written_time

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

_BASELINE: Final[tuple[Kind, ...]] = ("volume", "interface", "instance")
"""What every policy lets the CPI list, beside AMIs; one without stemcells of its own lacks snapshots."""


def main(arguments: list[str]) -> int:
    """List, and with ``--delete`` remove, what is stray of one director.

    Args:
        arguments: What follows the command's name.

    Returns:
        The exit status: 0 nothing is left to do, 1 something is, 2 it could not be carried out.
    """
    parser = _parser()
    given = parser.parse_args(arguments)
    wish = Wish(given.older_than, given.delete, given.disks)
    if wish.disks and not wish.delete:
        parser.error("--disks says what --delete may remove: give both")
    return carried_out(lambda: _sweep(given.config, given.director, wish, is_json=given.json))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("cpi sweep", description=__doc__, allow_abbrev=False)
    parser.add_argument("config", metavar="CONFIG_PATH", help="the configuration, cpi.json")
    parser.add_argument("--director", required=True, type=_uuid, metavar="UUID", help="whose resources")
    parser.add_argument(
        "--older-than",
        default=24.0,
        type=_hours,
        metavar="HOURS",
        help="spare what is younger; 24 by default",
    )
    parser.add_argument("--delete", action="store_true", help="remove the strays")
    parser.add_argument("--disks", action="store_true", help="with --delete: unused persistent disks too")
    parser.add_argument("--json", action="store_true", help="write one JSON document in place of the table")
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


def _sweep(path: str, director: str, wish: Wish, *, is_json: bool) -> int:
    client = Clients(load(path, {}).aws, Tally()).ec2
    there, not_listed = _look(client, director)
    now = datetime.now(UTC)
    rows: list[Row] = []
    for stray in there.strays():
        if (then := action(stray, wish, now)) is not None:
            rows.append(_carry_out(client, there, stray, then, rows, now))
    report = Report(director, wish, now, rows, not_listed)
    sys.stdout.write(log.redact(f"{encode(report.document())}\n" if is_json else report.table()))
    return report.status


def _look(client: "EC2Client", director: str) -> tuple[Inventory, list[Kind]]:
    """What there is, and the kinds that the credentials may not list.

    The instances come last: one that was launched meanwhile is seen then, and all that is its own
    stays.
    """
    tags = of_origin(director)
    found, not_listed = _snapshots(client, tags)
    found += inventory.own_images(client)
    for kind in _BASELINE:
        found += inventory.tagged(client, kind, tags)
    return Inventory(director, found), not_listed


def _snapshots(client: "EC2Client", tags: Mapping[str, str]) -> tuple[list[Resource], list[Kind]]:
    try:
        return inventory.tagged(client, "snapshot", tags), []
    except client.exceptions.ClientError as error:
        if not has_code(error, UNAUTHORIZED):
            raise
        log.logger.warning("Snapshots are left out, they may not be listed: %s", described(error))
        return [], ["snapshot"]


def _carry_out(
    client: "EC2Client", there: Inventory, stray: Stray, then: Action, before: Sequence[Row], now: datetime
) -> Row:
    """Do what was decided; what fails is told of this one stray, and the others go on."""
    try:
        if then is Action.MARK:
            inventory.mark(client, stray.resource.resource_id, SEEN_TAG, written_time(now))
        elif then is Action.REMOVE:
            return Row(stray, _remove(client, there, stray, before))
    except (ClientError, BotoCoreError, BoshError) as error:
        said = error.message if isinstance(error, BoshError) else described(error)
        return Row(stray, "failed", said)
    return Row(stray, then.value)


def _remove(client: "EC2Client", there: Inventory, stray: Stray, before: Sequence[Row]) -> str:
    """Remove a stray that is one still; returns what became of it."""
    stayed = {row.stray.resource.resource_id for row in before if row.outcome not in _WENT}
    if stayed & set(stray.images):
        return "spared"
    fresh = inventory.again(client, stray.resource)
    if fresh is None:
        return "gone"
    judged = there.judge(fresh)
    if judged is None or judged.removal is not stray.removal:
        return "spared"
    _REMOVERS[fresh.kind](client, judged)
    return Action.REMOVE.value


def _remove_image(client: "EC2Client", stray: Stray) -> None:
    image_removal.deregister(client, stray.resource.resource_id)


def _remove_snapshot(client: "EC2Client", stray: Stray) -> None:
    if not snapshots.delete(client, stray.resource.resource_id, next(iter(stray.images), None)):
        raise CloudError("Another AMI uses it")


def _remove_volume(client: "EC2Client", stray: Stray) -> None:
    volumes.discard(client, stray.resource.resource_id)


def _remove_interface(client: "EC2Client", stray: Stray) -> None:
    network_interfaces.discard(client, stray.resource.resource_id, was_seen=True)


_WENT: Final = frozenset({Action.REMOVE.value, "gone"})
_REMOVERS: Final[Mapping[Kind, Callable[["EC2Client", Stray], None]]] = {
    "AMI": _remove_image,
    "snapshot": _remove_snapshot,
    "volume": _remove_volume,
    "interface": _remove_interface,
}
"""An instance is never removed."""
