"""What has changed between two reports: ratios and counts, as milliseconds depend on the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from testbed.bench.figures import BARE_OF, growth, of_bare, of_plain, of_yardstick

if TYPE_CHECKING:
    from collections.abc import Iterator

    from testbed.bench.figures import Report, Row, Upload

NOISE = 0.03
"""A measured figure that has changed by less than this part has not changed."""


def changes(old: Report, new: Report) -> list[str]:
    """List the changes between two measurements."""
    return [
        f"{what}: {before:g} → {now:g} ({now / before - 1:+.0%})" if before else f"{what}: 0 → {now:g}"
        for what, before, now, is_counted in _pairs(old, new)
        if (before != now if is_counted else abs(now - before) > NOISE * abs(before))
    ]


_Pair = tuple[str, float, float, bool]
"""A figure's name, its old and its new value, and whether it is counted (not measured)."""


def _pairs(old: Report, new: Report) -> Iterator[_Pair]:
    for method, row in new.rows.items():
        for name in BARE_OF:
            if name in row and name in old.rows.get(method, {}):
                yield from _row_pairs(f"{method}, {name}", old.rows[method], row, name)
    for after in new.waiting.keys() & old.waiting.keys():
        what = f"a change after {after} s is noticed, seconds"
        yield what, old.waiting[after].median, new.waiting[after].median, False
    if old.sweep and new.sweep:
        yield "sweep, time for each of many volumes", growth(old.sweep), growth(new.sweep), False
    rates = {each.latency: _speedup(each) for each in old.uploads}
    for each in new.uploads:
        if each.latency in rates:
            what = f"upload with {each.latency * 1000:.0f} ms per answer, of the sequential loop's"
            yield what, rates[each.latency], _speedup(each), False


def _row_pairs(what: str, old: Row, new: Row, name: str) -> Iterator[_Pair]:
    before, now = of_yardstick(old, name), of_yardstick(new, name)
    if before is not None and now is not None:
        yield f"{what}, instructions of the yardstick's", round(before, 3), round(now, 3), False
    before, now = of_plain(old, name), of_plain(new, name)
    if before is not None and now is not None:
        yield f"{what}, CPU of the boto3 script's", round(before, 3), round(now, 3), False
    times = [round(of_bare(row, name), 2) for row in (old, new)]
    yield f"{what}, CPU above Python's, of Python's alone", times[0], times[1], False
    yield f"{what}, memory", old[name].memory.median, new[name].memory.median, False
    for attribute in ("modules", "calls", "stderr"):
        figures = [getattr(row[name], attribute) for row in (old, new)]
        if None not in figures:
            yield f"{what}, {attribute}", figures[0], figures[1], True


def _speedup(upload: Upload) -> float:
    return round(upload.ours.median / upload.plain.median, 2)
