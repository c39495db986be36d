"""The benchmark's figures as Markdown, and where they stand in docs/performance.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from testbed.bench.figures import (
    BARE_OF,
    DEPLOYMENT,
    INFO,
    MOST_GROWTH,
    MOST_INSTRUCTIONS,
    above_bare,
    deployments,
    growth,
    most_of_waiting,
    of_bare,
    of_plain,
    of_plain_alike,
    of_yardstick,
    yardstick,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from testbed.bench.figures import Report, Spread, Starts

BEGIN, END = "<!-- Written by make bench -->", "<!-- The end of what make bench writes -->"


def replaced(page: str, tables: str) -> str:
    """Return a page with these tables between its markers.

    Raises:
        ValueError: The page has no markers.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        message = f"the page has no '{BEGIN}' with '{END}' after it"
        raise ValueError(message)
    return f"{before}{BEGIN}\n\n{tables}\n{END}{after}"


def report_tables(report: Report) -> str:
    """Write all that was measured."""
    of_deployment = f", deployments {deployments(report.runs)}" if DEPLOYMENT in report.rows else ""
    parts = [f"{report.machine}; {report.runs} starts of each{of_deployment}."]
    if any(each.instructions for row in report.rows.values() for each in row.values()):
        parts.append(instructions(report))
    if report.rows:
        parts += [ratios(report), starts(report)]
    if report.waiting:
        parts.append(waiting(report))
    if report.uploads:
        parts.append(uploads(report))
    if report.sweep:
        parts.append(sweep(report))
    return "\n\n".join(parts) + "\n"


def instructions(report: Report) -> str:
    """Write the executable's instructions beside those of their yardstick."""
    lines = [
        [
            name,
            form,
            _million(row[form]),
            _million(yardstick(row, form)),
            _part(of_yardstick(row, form)),
            f"{MOST_INSTRUCTIONS[name][form]:.2f}",
        ]
        for name, row in report.rows.items()
        if name in MOST_INSTRUCTIONS
        for form in BARE_OF
        if form in row
    ]
    return table(
        ["Row", "Form", "Million instructions", "The yardstick's", "Yardstick = 1", "At most"], lines
    )


def _million(starts: Starts) -> str:
    return "-" if starts.instructions is None else f"{starts.instructions:,.0f}"


def ratios(report: Report) -> str:
    """Write the executable's figures relative to the yardsticks."""
    lines = [
        [
            method,
            name,
            f"{above_bare(row, name):.1f} ms",
            f"{of_bare(row, name):.2f}",
            _part(of_plain(row, name)),
            _part(of_plain_alike(row, name)),
        ]
        for method, row in report.rows.items()
        for name in BARE_OF
        if name in row
    ]
    return table(
        [
            *("Method", "Form", "CPU above Python alone", "The same, Python alone = 1"),
            *("CPU, boto3 script = 1", "Script on the same Python = 1"),
        ],
        lines,
    )


def _part(part: float | None) -> str:
    return "-" if part is None else f"{part:.2f}"


def starts(report: Report) -> str:
    """Write the cost of each start."""
    lines = [
        [method, name, *_cells(each)]
        for method, row in report.rows.items()
        for name, each in row.items()
        if method == INFO or name not in BARE_OF.values()
    ]
    head = [
        "Method",
        "What is started",
        "CPU ms",
        "Wall ms",
        "Memory MiB",
        "Modules",
        "Calls",
        "stderr bytes",
    ]
    return table(head, lines)


def waiting(report: Report) -> str:
    """Write how soon a change is noticed."""
    lines = [
        [
            f"{after} s",
            f"{each.median:.2f} s",
            f"{each.low:.2f} to {each.high:.2f} s",
            f"{most_of_waiting(after):.1f} s",
        ]
        for after, each in report.waiting.items()
    ]
    return table(["The change comes after", "Noticed after, median", "Middle half", "Median at most"], lines)


def uploads(report: Report) -> str:
    """Write how fast a heavy stemcell is written."""
    lines = [
        [
            f"{each.latency * 1000:.0f} ms",
            _rate(each.plain),
            _rate(each.ours),
            f"{each.ours.median / each.plain.median:.1f} times",
        ]
        for each in report.uploads
    ]
    return table(["Each answer comes late by", "Sequential loop", "cpi", "cpi is as fast"], lines)


def sweep(report: Report) -> str:
    """Write how long `cpi sweep` judges."""
    lines = [
        [size, f"{each:.0f} ms", f"{each / int(size) * 1000:.0f} µs"] for size, each in report.sweep.items()
    ]
    lines[-1][-1] += f": {growth(report.sweep):.1f} times, {MOST_GROWTH} at most"
    return table(["Volumes, as many AMIs", "CPU of judging", "For each volume"], lines)


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Write a table whose columns are as wide as their content."""
    cells = [list(head), *map(list, lines)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(head))]
    rows = [[cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in cells]
    rows.insert(1, ["-" * width for width in widths])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cells(each: Starts) -> list[str]:
    return [
        f"{each.cpu.median:.1f}",
        f"{each.wall.median:.1f}",
        f"{each.memory.median:.1f}",
        "-" if each.modules is None else str(each.modules),
        str(each.calls),
        str(each.stderr),
    ]


def _rate(each: Spread) -> str:
    return f"{each.median:.1f} MiB/s ({each.low:.1f} to {each.high:.1f})"
