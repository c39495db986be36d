"""The report of `cpi sweep`: a table for people, or one JSON document for scripts. Pure."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from bosh_aws_cpi.aws.inventory import Kind, Resource
from bosh_aws_cpi.aws.sdk.idempotency import written_time
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import counted, printable
from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tools.strays import Inventory, Outcome, Stray, Wish

_PER_GIB: Final = {"gp2": 0.10, "gp3": 0.08, "sc1": 0.015, "st1": 0.045, "standard": 0.05}
"""The list price in us-east-1, in US dollars per GiB and month, of volume types without provisioned IOPS."""
_PER_SNAPSHOT_GIB: Final = 0.05
_SHOWN_IN_HOURS: Final = 48
_LEAVE_NOTHING: Final = frozenset({Outcome.REMOVED, Outcome.GONE, Outcome.SPARED})
_ASK_NOBODY: Final = _LEAVE_NOTHING | {Outcome.MARKED, Outcome.UNKNOWN, Outcome.YOUNG}


class Report(Record):
    """The report of one run.

    Attributes:
        there: What is there.
        region: The region.
        wish: What the operator asked for.
        now: The time by AWS's clock.
        not_listed: The kinds that could not be listed.
        strays: The strays so far, with their outcomes, which are right even after an interruption.
    """

    there: Inventory
    region: str
    wish: Wish
    now: datetime
    not_listed: Sequence[Kind]
    strays: list[Stray]

    @property
    def status(self) -> int:
        """The exit status: 1 when something is left to do, or the stemcells' snapshots could not be listed.

        A Director without spread placement groups needs no permission to list placement groups.
        """
        return int(
            "snapshot" in self.not_listed or any(each.outcome not in _ASK_NOBODY for each in self.strays)
        )

    def lines(self, *, is_complete: bool) -> list[str]:
        """The table for people, and its summary; whether it is complete depends on the run's end."""
        counts = [
            f"{kind}s not permitted" if kind in self.not_listed else counted(len(own), kind)
            for kind, own in self.there.own.items()
        ]
        return [
            *(self._table() if self.strays else [f"No strays of director {self.there.director}"]),
            f"Looked at in {self.region}: {', '.join(counts)}",
            *([] if is_complete else ["INCOMPLETE: the run was interrupted"]),
        ]

    def document(self, *, is_complete: bool) -> Json:
        """The report for scripts; whether it is complete depends on the run's end."""
        own = self.there.own.items()
        return {
            "director": self.there.director,
            "region": self.region,
            "older_than_hours": self.wish.older_than,
            "delete": self.wish.delete,
            "disks": sorted(self.wish.disks),
            "instances": sorted(self.wish.instances),
            "looked_at": {kind: len(found) for kind, found in own if kind not in self.not_listed},
            "not_listed": list(self.not_listed),
            "is_complete": is_complete,
            "strays": [self._entry(each) for each in self.strays],
        }

    def _table(self) -> list[str]:
        rows = [("KIND", "ID", "AGE", "COST", "WHAT", "OUTCOME"), *map(self._cells, self.strays)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        left = [each for each in self.strays if each.outcome not in _LEAVE_NOTHING]
        return [
            *("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows),
            "",
            f"{len(self.strays)} listed, {len(left)} left",
        ]

    def _cells(self, stray: Stray) -> tuple[str, ...]:
        resource, price = stray.resource, monthly(stray.resource)
        size = f"{resource.size_gib} GiB" if resource.size_gib else ""
        bound = "at most " if resource.kind == "snapshot" else ""
        cost = [
            " ".join(filter(None, [size, resource.type])),
            "" if price is None else f"{bound}${price:.2f}",
        ]
        outcome = f"{stray.outcome.value}: {stray.error}" if stray.error else stray.outcome.value
        cells = (
            resource.kind,
            resource.resource_id,
            self._age(stray),
            ", ".join(filter(None, cost)),
            stray.why,
            outcome,
        )
        return tuple(map(printable, cells))  # before they are aligned

    def _age(self, stray: Stray) -> str:
        hours = stray.age(self.now)
        if hours is None:
            return "unknown"
        text = f"{hours:.1f} h" if hours < _SHOWN_IN_HOURS else f"{hours / 24:.0f} days"
        return f"seen {text} ago" if stray.is_marked else text

    def _entry(self, stray: Stray) -> Json:
        resource, age, price = stray.resource, stray.age(self.now), monthly(stray.resource)
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
            "outcome": stray.outcome.value,
            "error": stray.error,
        }


def monthly(resource: Resource) -> float | None:
    """A resource's approximate cost in US dollars per month; None when its size does not determine it.

    A snapshot's cost depends on the size of its data, which is at most the size of its volume.
    """
    per_gib = _PER_SNAPSHOT_GIB if resource.kind == "snapshot" else _PER_GIB.get(resource.type)
    return None if per_gib is None or not resource.size_gib else resource.size_gib * per_gib
