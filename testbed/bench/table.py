"""The table of docs/performance.md, and what exceeds its limits."""

from collections.abc import Iterator, Mapping

from testbed.bench.forms import yardsticks
from testbed.bench.measuring import Figures
from testbed.bench.rows import MOST, RELEASE, method_of

Rows = Mapping[str, Mapping[str, Figures]]
"""By the row's name, and by the form's."""

HEAD = ["Row", "Form", "Million instructions", "Yardstick = 1", "Memory MiB", "Yardstick's MiB", "AWS calls"]


def replace(page: str, text: str, command: str = "make bench") -> str:
    """Return a page with this text between a command's markers, which it must have."""
    begin, end = f"<!-- Written by {command} -->", f"<!-- The end of what {command} writes -->"
    before, has_begin, rest = page.partition(begin)
    _, has_end, after = rest.partition(end)
    if not (has_begin and has_end):
        message = f"the page has no '{begin}' with '{end}' after it"
        raise ValueError(message)
    return f"{before}{begin}\n\n{text}\n\n{end}{after}"


def aligned(head: list[str], cells: list[list[str]]) -> str:
    """Write a table."""
    widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
    lines = [head, ["-" * width for width in widths], *cells]
    return "\n".join(
        f"| {' | '.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))} |"
        for line in lines
    )


def table(rows: Rows) -> str:
    """Write the executable's figures beside those of their yardstick."""
    cells = [
        [
            *(name, form, _million(own), _ratio(own, other)),
            *(f"{own.memory:.1f}", f"{other.memory:.1f}", str(own.calls)),
        ]
        for name, form, own, other in _compared(rows)
    ]
    return aligned(HEAD, cells)


def minima(rows: Rows, runs: int) -> str:
    """Write the release's least CPU in each row, in parts of the yardstick's, as one line."""
    parts = [
        f"{name} {own.cpu / other.cpu:.2f}" for name, form, own, other in _compared(rows) if form == RELEASE
    ]
    return f"CPU of the release, the least of {runs} starts in turn, yardstick = 1: {', '.join(parts)}."


def beyond(rows: Rows) -> list[str]:
    """List the exceeded limits."""
    return [
        f"{name}, {form}: {part:.2f} of the yardstick's instructions, {most:.2f} at most"
        for name, form, own, other in _compared(rows)
        if (part := _part(own, other)) is not None and part > (most := MOST[name][form])
    ]


def _compared(rows: Rows) -> Iterator[tuple[str, str, Figures, Figures]]:
    """Yield each row's name and form, its figures and those of its yardstick."""
    for name, row in rows.items():
        for form, yardstick in yardsticks(method_of(name)).items():
            if form in row:
                yield name, form, row[form], row[yardstick.name]


def _part(own: Figures, other: Figures) -> float | None:
    return own.instructions / other.instructions if own.instructions and other.instructions else None


def _ratio(own: Figures, other: Figures) -> str:
    part = _part(own, other)
    return "-" if part is None else f"{part:.2f}"


def _million(figures: Figures) -> str:
    return "-" if figures.instructions is None else f"{figures.instructions:,.0f}"
