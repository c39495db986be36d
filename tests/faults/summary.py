"""The table of the matrix at the end of a run: counted from what its cases have noted, wherever they ran."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest

from tests.faults.kinds import KINDS
from tests.faults.outcome import COLUMNS, OTHER
from tests.faults.pairs import SEED

TRIED, FOUND = "fault tried", "fault found"
"""What a case notes: its method and kind, and then the columns that it counts in; none when it is well."""
DRAWN = "pairs drawn"
"""What a pair notes besides: how many were drawn until both faults of one were injected."""
WELL = "survived or well refused"
ALL = "all"


def rows(notes: Iterable[dict[str, Any]]) -> dict[str, dict[str, Counter[str]]]:
    """Count the notes of all cases, by kind and by method.

    Args:
        notes: What each test has noted.
    """
    tables: dict[str, dict[str, Counter[str]]] = {"kind": {}, "method": {}}
    for note in notes:
        method, kind = note[TRIED]
        columns = note.get(FOUND, [OTHER]) or [WELL]  # one that broke off was not well
        for table, key in (("kind", kind), ("method", method), ("kind", ALL), ("method", ALL)):
            tables[table].setdefault(key, Counter()).update(["tried", *columns])
    return tables


def written(rows_by_name: dict[str, Counter[str]], title: str) -> Iterator[str]:
    """Write a table, the sum last."""
    heads = ["tried", WELL, *COLUMNS]
    yield _line(title, heads, heads)
    order = [*(kind.name for kind in KINDS), *sorted(rows_by_name)]
    for name in sorted(rows_by_name, key=lambda name: (name == ALL, order.index(name))):
        yield _line(name, [str(rows_by_name[name][head]) for head in heads], heads)


def _line(name: str, cells: Sequence[str], heads: Sequence[str]) -> str:
    padded = [cell.rjust(len(head)) for cell, head in zip(cells, heads, strict=True)]
    return "  ".join([name.ljust(24), *padded])


def noted(terminalreporter: pytest.TerminalReporter) -> list[dict[str, Any]]:
    """Collect what each case of the matrix has noted."""
    notes: dict[str, dict[str, Any]] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            notes.setdefault(getattr(report, "nodeid", ""), {}).update(getattr(report, "user_properties", ()))
    return [note for note in notes.values() if TRIED in note]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the tables, if any case was tried."""
    notes = noted(terminalreporter)
    if not notes:
        return
    terminalreporter.section("faults at AWS")
    for title, table in rows(notes).items():
        for line in written(table, title):
            terminalreporter.write_line(line)
        terminalreporter.write_line("")
    if drawn := [note[DRAWN] for note in notes if DRAWN in note]:
        terminalreporter.write_line(f"both faults of {len(drawn)} pairs, of {sum(drawn)} drawn, seed {SEED}")
