"""The report of `cpi sweep`: a table for people, or one JSON document for scripts. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from bosh_aws_cpi.aws.inventory import Kind, Resource
from bosh_aws_cpi.aws.sdk.idempotency import written_time
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import counted, printable
from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tools.strays import Action, Inventory, Stray, Wish
from bosh_aws_cpi.tools.terminal import MAGENTA, RED, YELLOW, Line

_PER_GIB: Final = {
    "gp2": 0.10,
    "gp3": 0.08,
    "io1": 0.125,
    "io2": 0.125,
    "sc1": 0.015,
    "st1": 0.045,
    "standard": 0.05,
}
"""The list price in us-east-1, in US dollars per GiB and month, by volume type."""
_PER_IOPS: Final = 0.065
"""The price per provisioned IOPS of io1 and io2."""
_BY_IOPS: Final = frozenset({"io1", "io2"})
_PER_SNAPSHOT_GIB: Final = 0.05
_SHOWN_IN_HOURS: Final = 48


NEEDLESS: Final[frozenset[Kind]] = frozenset({"placement group"})
"""The kinds that need not be listed: a Director without the property has none. The table names them."""
_LISTING: Final[Mapping[Kind, str]] = {
    "snapshot": "ec2:DescribeSnapshots",
    "placement group": "ec2:DescribePlacementGroups",
}
"""The permissions of the kinds that some policies do not allow to be listed."""
GONE: Final = "gone"
SPARED: Final = "spared"
FAILED: Final = "failed"
NOT_CERTAIN: Final = "not certain"
"""The outcome when the run was interrupted during the deletion."""
_LEAVE_NOTHING: Final = frozenset({Action.REMOVE.value, GONE, SPARED})
_ASK_NOBODY: Final = _LEAVE_NOTHING | {Action.MARK.value, Action.UNKNOWN.value, Action.YOUNG.value}


class Row(Record):
    """A stray and its outcome."""

    stray: Stray
    outcome: str
    """An action's value, or one of the constants above."""
    error: str | None = None


class Report:
    """The report of one run; it grows during the run.

    Args:
        there: What is there.
        region: The region.
        wish: What the operator asked for.
        now: The time by AWS's clock.
        not_listed: The kinds that could not be listed.
    """

    def __init__(
        self, there: Inventory, region: str, wish: Wish, now: datetime, not_listed: Sequence[Kind] = ()
    ) -> None:
        self.there = there
        self.region = region
        self.wish = wish
        self.now = now
        self.not_listed = not_listed
        self.rows: list[Row] = []
        self.is_complete = False
        """Whether the run reached its end."""

    @property
    def _lacks_kinds(self) -> bool:
        """Whether a kind could not be listed of which there may be strays."""
        return not NEEDLESS.issuperset(self.not_listed)

    @property
    def status(self) -> int:
        """The exit status: 1 when something is left to do, or a kind could not be listed."""
        return int(self._lacks_kinds or any(row.outcome not in _ASK_NOBODY for row in self.rows))

    def lines(self) -> list[Line]:
        """The table for people, and its summary."""
        unlisted = [
            Line(f"{kind}s: not listed. Allow {_LISTING[kind]} to list them", "not listed", MAGENTA)
            for kind in self.not_listed
        ]
        return [*self._table(), *unlisted, *self._closing()]

    def document(self) -> Json:
        """The report for scripts."""
        return {
            "director": self.there.director,
            "region": self.region,
            "older_than_hours": self.wish.older_than,
            "delete": self.wish.delete,
            "disks": sorted(self.wish.disks),
            "instances": sorted(self.wish.instances),
            "looked_at": {kind: count for kind, count in self._looked_at() if count is not None},
            "not_listed": list(self.not_listed),
            "is_complete": self.is_complete,
            "strays": [self._entry(row) for row in self.rows],
        }

    def _table(self) -> list[Line]:
        if not self.rows:
            seen = ", but some kinds of resources could not be listed" if self._lacks_kinds else ""
            return [Line(f"No strays of director {self.there.director}{seen}")]
        head = ("KIND", "ID", "AGE", "COST", "WHAT", "OUTCOME")
        lines = [head, *(self._cells(row) for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        padded = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
        second, last = widths[0] + 2, sum(widths[:-1]) + 2 * len(widths[:-1])
        coloured = (
            Line(text, row.outcome, _colour(row.outcome), at=last, under=second)
            for text, row in zip(padded[1:], self.rows, strict=True)
        )
        return [Line(padded[0], under=second), *coloured, Line(""), Line(self._sum())]

    def _cells(self, row: Row) -> tuple[str, ...]:
        stray, resource = row.stray, row.stray.resource
        outcome = f"{row.outcome}: {row.error}" if row.error else row.outcome
        age = _age_text(stray, self.now)
        cells = (resource.kind, resource.resource_id, age, _cost_text(resource), stray.why, outcome)
        return tuple(map(printable, cells))  # before they are aligned

    def _sum(self) -> str:
        left = [row for row in self.rows if row.outcome not in _LEAVE_NOTHING]
        price = sum(monthly(row.stray.resource) or 0 for row in left)
        return (
            f"{len(self.rows)} listed, {len(left)} left. Volumes and snapshots that are left cost about "
            f"${price:.2f} a month: an estimate from list prices in us-east-1, without the disks of instances"
        )

    def _closing(self) -> list[Line]:
        counts = [
            f"{kind}s not permitted" if count is None else counted(count, kind)
            for kind, count in self._looked_at()
        ]
        looked = Line(f"Looked at in {self.region}: {', '.join(counts)}")
        word = "INCOMPLETE"
        return [looked, *([] if self.is_complete else [Line(f"{word}: the run was interrupted", word, RED)])]

    def _looked_at(self) -> list[tuple[Kind, int | None]]:
        """The number of resources of each kind; None for a kind that could not be listed."""
        return [
            (kind, None if kind in self.not_listed else count) for kind, count in self.there.looked_at.items()
        ]

    def _entry(self, row: Row) -> Json:
        stray, resource = row.stray, row.stray.resource
        age, price = stray.age(self.now), monthly(resource)
        return {
            "kind": resource.kind,
            "id": resource.resource_id,
            "why": stray.why,
            "since": None if stray.since is None else written_time(stray.since),
            "age_hours": None if age is None else round(age, 2),
            "size_gib": resource.size_gib or None,
            "type": resource.type or None,
            "usd_per_month": None if price is None else round(price, 2),
            "removal": stray.removal.value,
            "outcome": row.outcome,
            "error": row.error,
        }


def monthly(resource: Resource) -> float | None:
    """A resource's approximate cost in US dollars per month; None when its size does not determine it.

    A snapshot's cost depends on the size of its data, which is at most the size of its volume.
    """
    if resource.kind == "volume":
        iops = resource.iops if resource.type in _BY_IOPS else 0
        per_gib = _PER_GIB.get(resource.type)
        return None if per_gib is None else resource.size_gib * per_gib + iops * _PER_IOPS
    return resource.size_gib * _PER_SNAPSHOT_GIB if resource.kind == "snapshot" else None


def _colour(outcome: str) -> str:
    if outcome in {FAILED, NOT_CERTAIN}:
        return RED
    return "" if outcome in _ASK_NOBODY else YELLOW


def _cost_text(resource: Resource) -> str:
    said: Mapping[Kind, str] = {
        "AMI": "its snapshot's",
        "instance": f"{resource.state} {resource.type}",
        "interface": "holds an address",
        "placement group": "free of charge",
        "subnet": "free of charge",
    }
    if resource.kind in said or not resource.size_gib:
        return said.get(resource.kind, "unknown")
    price = monthly(resource)
    size = " ".join(filter(None, [f"{resource.size_gib} GiB", resource.type]))
    bound = "at most " if resource.kind == "snapshot" else ""
    return size if price is None else f"{size}, {bound}${price:.2f}"


def _age_text(stray: Stray, now: datetime) -> str:
    hours = stray.age(now)
    if hours is None:
        return "unknown"
    text = f"{hours:.1f} h" if hours < _SHOWN_IN_HOURS else f"{hours / 24:.0f} days"
    return f"seen {text} ago" if stray.is_marked else text
