"""`cpi sweep`: lists resources that interrupted calls have left behind, and deletes them on request."""

import argparse
import math
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from functools import partial
from itertools import zip_longest
from textwrap import wrap
from typing import TYPE_CHECKING, Final, NoReturn

from bosh_aws_cpi import interrupts, log
from bosh_aws_cpi.aws import (
    images,
    instances,
    inventory,
    network_interfaces,
    placement_groups,
    snapshots,
    tags,
    volumes,
)
from bosh_aws_cpi.aws.inventory import Kind, Resource
from bosh_aws_cpi.aws.sdk import attempts, clock, timing
from bosh_aws_cpi.aws.sdk.clients import Clients
from bosh_aws_cpi.aws.sdk.errors import FAILURES, UNAUTHORIZED, is_timeout
from bosh_aws_cpi.aws.sdk.idempotency import format_time
from bosh_aws_cpi.aws.sdk.translation import explain
from bosh_aws_cpi.config.loading import load
from bosh_aws_cpi.cpi.vms.deregister import deregister_addresses
from bosh_aws_cpi.errors import BoshError, CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.model import ID_DIGITS
from bosh_aws_cpi.plan.tag_plan import of_origin
from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tools import command
from bosh_aws_cpi.tools.asking import Asker
from bosh_aws_cpi.tools.strays import (
    Inventory,
    Removal,
    Stray,
    StrayOutcome,
    SweepOptions,
    decide_outcome,
    seen_tags,
)

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

_NO_LONGER_THERE: Final = frozenset({StrayOutcome.REMOVED, StrayOutcome.GONE})
_DESCRIPTION: Final = """\
List the resources of one Director that interrupted calls have left behind, and delete them with --delete."""
_NOT_PERMITTED: Final = "not permitted"
_PER_GIB: Final = {"gp2": 0.10, "gp3": 0.08, "sc1": 0.015, "st1": 0.045, "standard": 0.05}
"""The list price in us-east-1, in US dollars per GiB and month, of volume types without provisioned IOPS."""
_PER_SNAPSHOT_GIB: Final = 0.05
_SHOWN_IN_HOURS: Final = 48
_WIDEST: Final = 50
"""Characters of a column: a longer text goes on in the lines below, but for that of the last column."""
_SLOWEST: Final = max(each.seconds for each in vars(timing).values() if isinstance(each, timing.Policy))
"""The longest time in seconds between a call's creation of a resource and its use."""
_NOT_DUE: Final = frozenset({StrayOutcome.MARKED, StrayOutcome.UNKNOWN, StrayOutcome.YOUNG})
_NO_ACTION: Final = _NOT_DUE | {StrayOutcome.REMOVED, StrayOutcome.GONE, StrayOutcome.SPARED}


class Report(Record):
    """The report of one run: a table for people, or one JSON document for scripts.

    Attributes:
        there: What is there.
        region: The region.
        options: What the operator asked for.
        now: The time by AWS's clock.
        strays: The strays so far, with their outcomes, which are right even after an interruption.
        is_complete: Whether the run was not interrupted.
    """

    there: Inventory
    region: str
    options: SweepOptions
    now: datetime
    strays: list[Stray]
    is_complete: bool = False

    @property
    def status(self) -> int:
        """The exit status: 1 when something is left to do, or could not be listed.

        A Director without spread placement groups needs no permission to list placement groups.
        """
        is_partial = bool(self.there.not_listed.items() - {("placement group", _NOT_PERMITTED)})
        return int(is_partial or any(each.outcome not in _NO_ACTION for each in self.strays))

    def lines(self) -> list[str]:
        """The table for people, and its summary."""
        counts = [
            f"{kind}s {why}" if (why := self.there.not_listed.get(kind)) else log.pluralize(len(own), kind)
            for kind, own in self.there.own.items()
        ]
        unjudged = [log.pluralize(count, kind) for kind, count in self.there.not_judged.items()]
        return [
            *(self._table() if self.strays else [f"No strays of director {self.there.director}"]),
            f"Looked at in {self.region}: {', '.join(counts)}",
            *([f"Not judged without these lists: {', '.join(unjudged)}"] if unjudged else []),
            *([] if self.is_complete else ["INCOMPLETE: the run was interrupted"]),
        ]

    def document(self) -> Json:
        """The report for scripts."""
        own = self.there.own.items()
        return {
            "director": self.there.director,
            "region": self.region,
            "older_than_hours": self.options.older_than,
            "delete": self.options.delete,
            "disks": sorted(self.options.disks),
            "instances": sorted(self.options.instances),
            "looked_at": {kind: len(found) for kind, found in own if kind not in self.there.not_listed},
            "not_listed": list(self.there.not_listed),
            "not_judged": dict(self.there.not_judged),
            "is_complete": self.is_complete,
            "strays": [self._entry(each) for each in self.strays],
        }

    def _table(self) -> list[str]:
        rows = [("KIND", "ID", "AGE", "COST", "WHAT", "OUTCOME"), *map(self._cells, self.strays)]
        shown = [
            line
            for *cells, outcome in rows
            for line in zip_longest(*(wrap(each, _WIDEST) for each in cells), [outcome], fillvalue="")
        ]
        widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
        to_do = sum(each.outcome not in _NO_ACTION for each in self.strays)
        not_due = sum(each.outcome in _NOT_DUE for each in self.strays)
        return [
            *("  ".join(map(str.ljust, line, widths)).rstrip() for line in shown),
            "",
            f"{len(self.strays)} listed, {to_do} left to do{f', {not_due} not due' if not_due else ''}",
        ]

    def _cells(self, stray: Stray) -> tuple[str, ...]:
        resource, price = stray.resource, monthly_cost(stray.resource)
        cost = f"{resource.size_gib} GiB {resource.type}".strip() if resource.size_gib else resource.type
        if price is not None:
            cost += f", {'at most ' if resource.kind == 'snapshot' else ''}${price:.2f}"
        outcome = f"{stray.outcome.value}: {stray.error}" if stray.error else stray.outcome.value
        cells = (resource.kind, resource.resource_id, self._age(stray), cost, stray.why, outcome)
        return tuple(map(log.printable, cells))  # before they are aligned

    def _age(self, stray: Stray) -> str:
        hours = stray.age(self.now)
        if hours is None:
            return "unknown"
        text = f"{hours:.1f} h" if hours < _SHOWN_IN_HOURS else f"{hours / 24:.0f} days"
        return f"seen {text} ago" if stray.is_aged_by_mark else text

    def _entry(self, stray: Stray) -> Json:
        resource, age, price = stray.resource, stray.age(self.now), monthly_cost(stray.resource)
        return {
            "kind": resource.kind,
            "id": resource.resource_id,
            "why": stray.why,
            "since": None if stray.since is None else format_time(stray.since),
            "age_hours": None if age is None else round(age, 2),
            "size_gib": resource.size_gib or None,
            "type": resource.type or None,
            "usd_per_month": None if price is None else round(price, 2),
            "removal": stray.removal.value,
            "outcome": stray.outcome.value,
            "error": stray.error,
        }


def monthly_cost(resource: Resource) -> float | None:
    """A resource's approximate cost in US dollars per month; None when its size does not determine it.

    A snapshot's cost depends on the size of its data, which is at most the size of its volume.
    """
    per_gib = _PER_SNAPSHOT_GIB if resource.kind == "snapshot" else _PER_GIB.get(resource.type)
    return None if per_gib is None or not resource.size_gib else resource.size_gib * per_gib


def main(arguments: list[str]) -> int:
    """List the strays of one Director, and delete them with ``--delete``."""
    parser = command.parser(
        "sweep", _DESCRIPTION, "nothing is left to do", "something is left to do, or could not be listed"
    )
    parser.add_argument(
        "--director",
        required=True,
        type=command.uuid,
        metavar="UUID",
        help="the Director that owns the resources",
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
    for option, what, prefix in (("--disk", "disk", "vol"), ("--instance", "instance, of any age,", "i")):
        parser.add_argument(
            option,
            action="append",
            type=partial(_id, prefix),
            default=[],
            metavar="ID",
            help=f"with --delete: delete this {what} too, if it is a stray; may be repeated",
        )
    return command.run(parser, arguments, _sweep)


def _hours(text: str) -> float:
    """A number of hours."""
    with suppress(ValueError):
        if 0 <= float(text) < math.inf:
            return float(text)
    raise argparse.ArgumentTypeError(f"must be a number of hours, such as 24, not '{text}'")


def _id(prefix: str, text: str) -> str:
    """One id of AWS's."""
    if not re.fullmatch(f"{prefix}-{ID_DIGITS}", text):
        raise argparse.ArgumentTypeError(f"must be one id, {prefix}-…, not '{text}'; repeat it for others")
    return text


def _sweep(given: argparse.Namespace) -> int:
    if (given.disk or given.instance) and not given.delete:
        raise CloudError("--disk and --instance have no effect without --delete: give both")
    if given.delete and 0 < given.older_than < _SLOWEST / 3600:
        raise CloudError(
            f"with --delete, --older-than must be 0, or at least {_SLOWEST / 3600:g}, because a running "
            "call may wait that long for its resource; 0 includes all ages, and is safe only while no other "
            "call runs"
        )
    config = load(given.config, {}).aws
    clients = Clients(config, command.ToldStatistics())
    attempts.end_at(clients.ec2, is_timeout)
    there = _list_resources(clients.ec2, given.director, Asker(config))
    if not any(there.own.values()):
        log.logger.warning(
            "No resource has the tag of director '%s': the UUID, region (%s) or account may be wrong",
            given.director,
            config.region,
        )
    options = SweepOptions(given.older_than, given.delete, frozenset(given.disk), frozenset(given.instance))
    report = Report(there, config.region, options, clock.first_time(), [])
    try:
        _handle_all(clients, report)
        report = report.replace(is_complete=True)
    finally:  # deletions are always reported, and no signal interrupts the report
        interrupts.close()
        shown = command.show(report.document(), map(log.redact, report.lines()), as_json=given.json)
    return shown or report.status


def _list_resources(client: "EC2Client", director: str, asker: Asker) -> Inventory:
    """The Director's resources of all kinds that can be listed.

    The instances come last. So an instance that is launched in the meantime is listed, and its interfaces and
    volumes don't count as strays.

    Raises:
        CloudError: No kind can be listed.
    """
    found: list[Resource] = []
    not_listed: dict[Kind, str] = {}
    tags = of_origin(director)

    def look(kind: Kind) -> list[Resource] | None:
        not_listed[kind] = "not listed"
        try:
            listed = inventory.list_resources(client, kind, tags)
        except client.exceptions.ClientError as error:
            if UNAUTHORIZED(error):
                not_listed[kind] = _NOT_PERMITTED
            raise
        if kind == "AMI" or all(tags.items() <= each.tags.items() for each in listed):
            return listed
        asker.leave_out(f"{kind}s: EC2 shows some without the tag by which it found them")
        return None

    for kind in inventory.KINDS:
        listed = asker.ask(f"{kind}s", partial(look, kind))
        if listed is not None:
            found += listed
            del not_listed[kind]
    refusals = [". ".join(filter(None, [each.what, each.remedy])) for each in asker.not_checked]
    if len(refusals) == len(inventory.KINDS):
        raise CloudError(f"Nothing can be listed: {refusals[0]}")
    for each in refusals:
        log.logger.warning("Not listed: %s", each)
    return Inventory(director, found, not_listed)


def _handle_all(clients: Clients, report: Report) -> None:
    """Handle each stray as the operator's options say, and add it to the report."""
    strays, options = report.strays, report.options
    for stray in report.there.strays():
        strays.append(stray)
        strays[-1] = _note(stray, partial(_handle, clients, report, stray))
    listed = {stray.resource.resource_id for stray in strays}
    for each in sorted((options.disks | options.instances) - listed):
        is_disk = each in options.disks
        resource = Resource("volume" if is_disk else "instance", each, "", {}, None)
        named = Stray(resource, "named by you", Removal.DISK if is_disk else Removal.INSTANCE, None)
        strays.append(_note(named, partial(_refuse_named, clients, report, resource)))


def _note(stray: Stray, handle: Callable[[], StrayOutcome]) -> Stray:
    """The stray with what became of it; an error is noted, and the run continues."""
    try:
        return stray.replace(outcome=handle())
    except (*FAILURES, BoshError) as error:
        said = error.message if isinstance(error, BoshError) else explain(error)
        return stray.replace(outcome=StrayOutcome.FAILED, error=said)


def _refuse_named(clients: Clients, report: Report, named: Resource) -> NoReturn:
    """Refuse a resource that the operator names and that is no stray."""
    why = report.there.why_no_stray(inventory.reload(clients.ec2, named))
    raise CloudError(f"not a stray of this Director: {why}")


def _handle(clients: Clients, report: Report, stray: Stray) -> StrayOutcome:
    """Mark or delete a stray, or leave it."""
    outcome = decide_outcome(stray, report.options, report.now)
    if outcome is StrayOutcome.MARKED:
        tags.require(clients.ec2, stray.resource.resource_id, seen_tags(stray.resource, report.now))
    elif outcome is StrayOutcome.REMOVED:
        outcome = _delete_if_stray(clients, report, stray)
    return outcome


def _delete_if_stray(clients: Clients, report: Report, stray: Stray) -> StrayOutcome:
    """Delete a stray, if it still is one and the AMIs that use it are deleted."""
    users = {image.resource_id for image in report.there.users.get(stray.resource.resource_id, ())}
    deleted = {each.resource.resource_id for each in report.strays if each.outcome in _NO_LONGER_THERE}
    if not users <= deleted:
        return StrayOutcome.SPARED
    fresh = inventory.reload(clients.ec2, stray.resource)
    if fresh is None:
        return StrayOutcome.GONE
    judged = report.there.judge(fresh)
    if judged is None or decide_outcome(judged, report.options, report.now) is not StrayOutcome.REMOVED:
        return StrayOutcome.SPARED
    log.logger.info("Deleting %s '%s'", fresh.kind, fresh.resource_id)
    is_deleted = _delete_resource(clients, fresh, next(iter(users), None))
    return StrayOutcome.REMOVED if is_deleted else StrayOutcome.SPARED


def _delete_resource(clients: Clients, resource: Resource, ami_id: str | None) -> bool:
    """Delete a resource; False when it has come into use. A subnet is left to a person, and never gets here.

    Args:
        clients: The AWS clients.
        resource: The resource.
        ami_id: For a snapshot: the AMI that was deregistered before.
    """
    ec2, resource_id = clients.ec2, resource.resource_id
    match resource.kind:
        case "AMI":
            images.deregister(ec2, resource_id)
        case "snapshot":
            return snapshots.delete(ec2, resource_id, ami_id)
        case "volume":  # without a retry: a volume in use is not a stray
            if not volumes.delete_idle(ec2, resource_id):
                return False
            volumes.wait_until_deleted(ec2, resource_id)
        case "interface":
            return network_interfaces.delete_unattached(ec2, resource_id)
        case "placement group":
            return placement_groups.delete_unused(ec2, resource.group)
        case "instance":  # wait until it has released its addresses, also in target groups
            instances.terminate(ec2, resource_id)
            instances.wait_until_terminated(
                ec2, resource_id, lambda ended: deregister_addresses(clients, ended)
            )
    return True
