"""Draws docs/demo.svg, a part of the demo's output: `python -m testbed.demo_picture`, or `make picture`.

The demo's test compares its output with the picture's words, so that the picture stays true.
"""

from __future__ import annotations

import errno
import os
import pty
import re
import subprocess
import sys
from collections import defaultdict
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

from testbed.demo_text import BOLD, DIM, GREEN, RED, WIDTH, YELLOW

if TYPE_CHECKING:
    from collections.abc import Iterable

PICTURE = Path(__file__).parents[1] / "docs/demo.svg"
PARTS = ("Contract V3", "cpi check")
"""How the first lines of the parts of the output begin that are drawn; each ends before an empty line."""
WIDE, HIGH, MARGIN = 8, 18, 16
"""The size of a character, and what is left around all, in pixels."""
COLOURS = {
    "": "#c9d1d9",
    BOLD: "#ffffff",
    DIM: "#8b949e",
    RED: "#ff7b72",
    GREEN: "#7ee787",
    YELLOW: "#e3b341",
}
SVG = "http://www.w3.org/2000/svg"
FONT = 'font-family="ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="13"'
_CODE = re.compile(r"\033\[(\d+)m")
_ID = re.compile(r"\b([a-z]+)-([0-9a-f]{6})([0-9a-f]{11})?\b")
_MILLISECONDS = re.compile(r"^([a-z_]+ .*?) +\d+(?=  [ \d]\d(?: |$))")


def drawn(output: str) -> list[str]:
    """Return the lines of the demo's output that are drawn, with colours, and the same ids in each run."""
    lines = iter(output.splitlines())
    parts = []
    for part in PARTS:
        first = next(line for line in lines if _plain(line).startswith(part))
        parts.append("\n".join([first, *takewhile(str.strip, lines)]))
    seen: dict[str, dict[str, str]] = defaultdict(dict)

    def same(found: re.Match[str]) -> str:
        kind, short, rest = found.groups()
        known = seen[kind]
        digits = known.setdefault(short, sha256(f"{kind} {len(known)}".encode()).hexdigest())
        return f"{kind}-{digits[: 17 if rest else 6]}"

    return _ID.sub(same, "\n\n".join(parts)).splitlines()


def words(lines: Iterable[str]) -> list[str]:
    """Return lines without colours, and without the times, which differ in each run."""
    return [_MILLISECONDS.sub(r"\1", _plain(line)).rstrip() for line in lines]


def lines_of(picture: str) -> list[str]:
    """Return the lines of a picture's text."""
    root = ET.fromstring(picture)  # noqa: S314 - a file of this repository
    return ["".join(each.itertext()) for each in root.iter(f"{{{SVG}}}text")]


def picture(lines: list[str]) -> str:
    """Draw lines with colours as a terminal."""
    width, height = WIDTH * WIDE + 2 * MARGIN, len(lines) * HIGH + 2 * MARGIN
    texts = [_line(line, MARGIN + number * HIGH + 13) for number, line in enumerate(lines)]
    return "\n".join(
        [
            f'<svg xmlns="{SVG}" viewBox="0 0 {width} {height}" width="{width}" {FONT}>',
            "<!-- Written by `make picture` from a run of `make demo`. -->",
            "<title>The output of make demo</title>",
            f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>',
            *texts,
            "</svg>\n",
        ]
    )


def _line(line: str, y: int) -> str:
    plain = _plain(line)
    length = f' textLength="{len(plain) * WIDE}"' if plain else ""
    spans = []
    colour = ""
    for number, part in enumerate(_CODE.split(line)):
        if number % 2:
            colour = part if part in COLOURS else ""
        elif part:
            weight = ' font-weight="bold"' if colour == BOLD else ""
            spans.append(f'<tspan fill="{COLOURS[colour]}"{weight}>{escape(part)}</tspan>')
    return f'<text x="{MARGIN}" y="{y}" xml:space="preserve"{length}>{"".join(spans)}</text>'


def _plain(line: str) -> str:
    return _CODE.sub("", line)


def _run() -> str:
    """Run the demo in a terminal of `WIDTH` columns; return what it writes."""
    ours, its = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(WIDTH)}
    environment.pop("NO_COLOR", None)
    written = bytearray()
    command = [sys.executable, "-m", "testbed.demo"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=its, env=environment) as demo:
        os.close(its)
        while chunk := _read(ours):
            written += chunk
    os.close(ours)
    if demo.returncode != 0:
        sys.exit("the demo failed: nothing is drawn")
    return written.decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    """Read on; nothing at the end, which Linux reports as an error."""
    try:
        return os.read(terminal, 1 << 16)
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        return b""


if __name__ == "__main__":
    PICTURE.write_text(picture(drawn(_run())), encoding="utf-8")
