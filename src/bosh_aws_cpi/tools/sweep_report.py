"""What `cpi sweep` says: a table for people, or one JSON document for scripts. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from bosh_aws_cpi.aws.inventory import Kind, Resource
from bosh_aws_cpi.model import Json
from bosh_aws_cpi.tools.strays import Action, Stray, Wish

_PER_GIB: Final = {
    "gp2": 0.10,
    "gp3": 0.08,
    "io1": 0.125,
    "io2": 0.125,
    "sc1": 0.015,
    "st1": 0.045,
    "standard": 0.05,
}
"""US dollars a month by list price in us-east-1, by volume type."""
_PER_IOPS: Final = 0.065
"""The same for each of io1's and io2's."""
_BY_IOPS: Final = frozenset({"io1", "io2"})
_PER_SNAPSHOT_GIB: Final = 0.05
_SHOWN_IN_HOURS: Final = 48
_TIME: Final = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True)
class Row:
    """A stray, and what became of it."""

    stray: Stray
    outcome: str
    """An action's value, or "spared", "gone" or "failed"."""
    error: str | None = None


@dataclass(frozen=True)
class Report:
    """All that one run has to say."""

    director: str
    wish: Wish
    now: datetime
    rows: Sequence[Row]
    not_listed: Sequence[Kind] = ()
    """What could not be asked for."""

    @property
    def status(self) -> int:
        """The exit status: 1 when there is something to do for someone."""
        done = {Action.MARK.value, Action.REMOVE.value, Action.YOUNG.value, "gone", "spared"}
        return int(any(not self.wish.delete or row.outcome not in done for row in self.rows))

    def table(self) -> str:
        """The table, and what it amounts to."""
        if not self.rows:
            return f"Nothing stray of director {self.director}\n"
        head = ("KIND", "ID", "AGE", "COST", "WHAT", "OUTCOME")
        lines = [head, *(self._cells(row) for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        padded = ("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
        return "\n".join([*padded, "", self._sum(), ""])

    def document(self) -> Json:
        """The same for scripts."""
        return {
            "director": self.director,
            "older_than_hours": self.wish.older_than,
            "delete": self.wish.delete,
            "disks": self.wish.disks,
            "not_listed": list(self.not_listed),
            "strays": [self._entry(row) for row in self.rows],
        }

    def _cells(self, row: Row) -> tuple[str, ...]:
        stray, resource = row.stray, row.stray.resource
        outcome = f"{row.outcome}: {row.error}" if row.error else row.outcome
        age = _age_text(stray, self.now)
        return resource.kind, resource.resource_id, age, _cost_text(resource), stray.why, outcome

    def _sum(self) -> str:
        left = [row for row in self.rows if row.outcome not in {Action.REMOVE.value, "gone", "spared"}]
        price = sum(monthly(row.stray.resource) or 0 for row in left)
        return (
            f"{len(self.rows)} listed, {len(left)} left. Volumes and snapshots that are left cost about "
            f"${price:.2f} a month: a hint, by list prices in us-east-1"
        )

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
    """About what a resource costs, in US dollars a month; None when that can't be said from its size.

    A snapshot costs what it holds: its volume's size is the most that may be.
    """
    if resource.kind == "volume":
        iops = resource.iops if resource.type in _BY_IOPS else 0
        per_gib = _PER_GIB.get(resource.type)
        return None if per_gib is None else resource.size_gib * per_gib + iops * _PER_IOPS
    return resource.size_gib * _PER_SNAPSHOT_GIB if resource.kind == "snapshot" else None


def written_time(time: datetime) -> str:
    """A time as tags and reports have it: in UTC, to the second."""
    return time.astimezone(UTC).strftime(_TIME)


def _cost_text(resource: Resource) -> str:
    price = monthly(resource)
    said: Mapping[Kind, str] = {
        "AMI": "its snapshot's",
        "instance": f"a running {resource.type}",
        "interface": "holds an address",
    }
    size = " ".join(filter(None, [f"{resource.size_gib} GiB", resource.type]))
    bound = "at most " if resource.kind == "snapshot" else ""
    return said.get(resource.kind) or (size if price is None else f"{size}, {bound}${price:.2f}")


def _age_text(stray: Stray, now: datetime) -> str:
    hours = stray.age(now)
    if hours is None:
        return "unknown"
    text = f"{hours:.1f} h" if hours < _SHOWN_IN_HOURS else f"{hours / 24:.0f} days"
    return f"unknown, seen {text}" if stray.resource.kind == "interface" else text
