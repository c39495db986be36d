"""The benchmark's results as values, which are saved as JSON, and their limits."""

from __future__ import annotations

import statistics
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Iterable

INFO = "info"
"""The row that asks no AWS."""
DEPLOYMENT = "deployment"
"""The row of all calls of a recorded deployment; about half of them are `info`."""
ISOLATED, BARE, PLAIN, PIP, RELEASE = "python -I -S", "python", "boto3 script", "pip", "release"
"""The forms: the interpreter alone, in two ways; the plain script; the executable, in two ways."""
PLAIN_OF_RELEASE = "boto3 script, release's Python"
"""The plain script on the interpreter of the release, where that is another one."""
PLAINS = (PLAIN, PLAIN_OF_RELEASE)
BARE_OF = {PIP: BARE, RELEASE: ISOLATED}
"""The interpreter alone as it is started for each form of the executable."""

MOST_INSTRUCTIONS: dict[str, dict[str, float]] = {
    INFO: {PIP: 3.07, RELEASE: 3.89},
    "has_vm": {PIP: 0.59, RELEASE: 0.42},
    "create_disk": {PIP: 0.85, RELEASE: 0.62},
    "attach_disk": {PIP: 0.62, RELEASE: 0.45},
    "create_vm": {PIP: 0.93, RELEASE: 0.67},
    "delete_vm": {PIP: 0.61, RELEASE: 0.44},
    "has_vm-tls": {PIP: 0.65, RELEASE: 0.38},
    "has_vm-role": {PIP: 0.71, RELEASE: 0.44},
    "create_vm-tls-role": {PIP: 1.05, RELEASE: 0.56},
}
"""How many of the yardstick's instructions a row may take, by the form; docs/performance.md has the rule."""
MOST_GROWTH = 3.0
"""How many times longer `cpi sweep` may judge each of the most volumes than each of the fewest. At equal work
it is 1 to 1.6, as more memory is slower; if each volume were compared with each, it would be 10."""
SOON, MOST_SOON, MOST_LATER = 20.0, 1.0, 0.10
"""A change within so many seconds is noticed after so many more, a later one after this part of the wait."""


class Spread(NamedTuple):
    """What the middle half of some values lies between.

    Attributes:
        median: In the middle.
        low: The lower quartile.
        high: The upper quartile.
    """

    median: float
    low: float
    high: float


def spread(values: Iterable[float]) -> Spread:
    """Return the median and the quartiles of at least one value, rounded to hundredths."""
    every = list(values)
    low, median, high = statistics.quantiles(every, n=4, method="inclusive") if len(every) > 1 else every * 3
    return Spread(round(median, 2), round(low, 2), round(high, 2))


@dataclass(frozen=True)
class Starts:
    """What the starts of one form took for one method.

    Attributes:
        cpu: Milliseconds.
        wall: Milliseconds.
        memory: MiB, at the peak.
        modules: How many were loaded in the end; None where they were not counted.
        calls: How many to AWS.
        stderr: Bytes; the most of all starts.
        instructions: Millions, of one more start; None where they were not counted.
    """

    cpu: Spread
    wall: Spread
    memory: Spread
    modules: int | None
    calls: int
    stderr: int
    instructions: float | None = None

    @classmethod
    def parse(cls, document: dict[str, Any]) -> Self:
        """Read the output of `asdict`."""
        spreads = {name: Spread(*document[name]) for name in ("cpu", "wall", "memory")}
        return cls(**{**document, **spreads})


Row = dict[str, Starts]
"""By the form's name."""


@dataclass(frozen=True)
class Upload:
    """What a heavy stemcell took, in MiB of data per second.

    Attributes:
        latency: Seconds that each answer of the stand-in was late, as AWS's are.
        plain: The sequential loop's.
        ours: The executable's.
    """

    latency: float
    plain: Spread
    ours: Spread


@dataclass(frozen=True)
class Report:
    """All that was measured.

    Attributes:
        machine: What it was measured on.
        runs: How often each form was started.
        rows: By the row's name.
        waiting: Seconds between a change and its being noticed, by when it came: "5 to 10".
        uploads: Of heavy stemcells.
        sweep: Milliseconds of CPU in which `cpi sweep` judges, by the number of volumes.
    """

    machine: str
    runs: int
    rows: dict[str, Row]
    waiting: dict[str, Spread] = field(default_factory=dict)
    uploads: list[Upload] = field(default_factory=list)
    sweep: dict[str, float] = field(default_factory=dict)

    @classmethod
    def parse(cls, document: dict[str, Any]) -> Self:
        """Read the output of `document`."""
        return cls(
            machine=document["machine"],
            runs=document["runs"],
            rows={
                method: {name: Starts.parse(each) for name, each in row.items()}
                for method, row in document["rows"].items()
            },
            waiting={after: Spread(*each) for after, each in document["waiting"].items()},
            uploads=[
                Upload(each["latency"], Spread(*each["plain"]), Spread(*each["ours"]))
                for each in document["uploads"]
            ],
            sweep=document.get("sweep", {}),
        )

    def document(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return asdict(self)


def deployments(runs: int) -> int:
    """Return how often a deployment is measured when the other rows are measured `runs` times."""
    return max(1, runs // 5)


def above_bare(row: Row, name: str) -> float:
    """Return the milliseconds of CPU above the interpreter alone, started in the same way."""
    return row[name].cpu.median - row[BARE_OF[name]].cpu.median


def of_bare(row: Row, name: str) -> float:
    """Return how many times the CPU of the interpreter alone a form takes above it."""
    return above_bare(row, name) / row[BARE_OF[name]].cpu.median


def of_plain(row: Row, name: str) -> float | None:
    """Return the part of the plain boto3 script's CPU; none where there is no such script."""
    return row[name].cpu.median / row[PLAIN].cpu.median if PLAIN in row else None


def of_plain_alike(row: Row, name: str) -> float | None:
    """Return the part of the CPU of the plain boto3 script on the form's own interpreter."""
    is_other = name == RELEASE and PLAIN_OF_RELEASE in row
    return row[name].cpu.median / row[PLAIN_OF_RELEASE].cpu.median if is_other else of_plain(row, name)


def yardstick(row: Row, name: str) -> Starts:
    """Return what a form's instructions are compared with: the script on its interpreter, or that alone."""
    if PLAIN not in row:
        return row[BARE_OF[name]]
    return row.get(PLAIN_OF_RELEASE, row[PLAIN]) if name == RELEASE else row[PLAIN]


def of_yardstick(row: Row, name: str) -> float | None:
    """Return the instructions as a multiple of the yardstick's; none where they were not counted."""
    own, other = row[name].instructions, yardstick(row, name).instructions
    return own / other if own and other else None


def growth(sweep: dict[str, float]) -> float:
    """Return how many times longer each of the most volumes is judged than each of the fewest."""
    few, many = sorted(sweep, key=int)
    return sweep[many] / int(many) / (sweep[few] / int(few))


def beyond(report: Report) -> list[str]:
    """List the exceeded limits."""
    return [*_beyond_in_rows(report), *_beyond_in_waiting(report), *_beyond_in_sweep(report)]


def _beyond_in_sweep(report: Report) -> list[str]:
    if not report.sweep or (times := growth(report.sweep)) <= MOST_GROWTH:
        return []
    return [f"sweep: each of many volumes is judged {times:.1f} times as long, {MOST_GROWTH} at most"]


def _beyond_in_waiting(report: Report) -> list[str]:
    return [
        f"a change after {after} s is noticed {noticed.median:.2f} s later, {most:.1f} s at most"
        for after, noticed in report.waiting.items()
        if noticed.median > (most := most_of_waiting(after))
    ]


def most_of_waiting(after: str) -> float:
    """Return the seconds within which a change must be noticed that comes between so many: "5 to 10"."""
    low, high = map(float, after.split(" to "))
    return MOST_SOON if high <= SOON else MOST_LATER * low


def _beyond_in_rows(report: Report) -> list[str]:
    return [
        f"{name}, {form}: {part:.2f} of the yardstick's instructions, {most:.2f} at most"
        for name, limits in MOST_INSTRUCTIONS.items()
        for form, most in limits.items()
        if form in (row := report.rows.get(name, {}))
        if (part := of_yardstick(row, form)) is not None and part > most
    ]
