"""The output of the demo and the console: as wide as the terminal, in plain ASCII, without secrets."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import textwrap
from collections import Counter
from typing import TYPE_CHECKING, Any, TextIO

from testbed import executable, registry

if TYPE_CHECKING:
    from collections.abc import Iterable

SECRETS = (*executable.SECRETS, registry.PASSWORD)
MASK = "<secret>"
AGENT = {
    "mbus": f"nats://nats:{executable.MBUS_PASSWORD}@10.0.1.6:4222",
    "ntp": ["0.pool.ntp.org"],
    "blobstore": {"provider": "dav", "options": {"endpoint": "http://10.0.1.6:25250"}},
}
"""The agent's section of the configuration."""

BOLD, DIM, RED, GREEN, YELLOW = "1", "2", "31", "32", "33"

WIDTH = 100
"""The width of lines where there is no terminal."""
NARROWEST, WIDEST = 76, 160
"""The widths of terminals that lines are fitted to."""

_ID = re.compile(r"\b([a-z]+-[0-9a-f]{6})[0-9a-f]{11}\b")
_UUID = re.compile(r"\b([0-9a-f]{8})(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")


def masked(text: str) -> str:
    """Take the configuration's secrets out of a text."""
    for secret in SECRETS:
        text = text.replace(secret, MASK)
    return text


def paint(text: str, colour: str, stream: TextIO | None = None) -> str:
    """Colour a text for a stream, by default stdout, if it is a terminal and NO_COLOR is not set."""
    if not (stream or sys.stdout).isatty() or os.environ.get("NO_COLOR"):
        return text
    return f"\033[{colour}m{text}\033[0m"


def width() -> int:
    """Return how long lines may be: as the terminal is wide."""
    columns = shutil.get_terminal_size((WIDTH, 1)).columns if sys.stdout.isatty() else WIDTH
    return min(max(columns, NARROWEST), WIDEST)


def folded(text: str, indent: str = "") -> str:
    """Write a line over as many as it takes, between words; those after the first are under its second word.

    Args:
        text: The line.
        indent: What all lines begin with, before the line's own blanks.
    """
    words = text.lstrip()
    indent += " " * (len(text) - len(words))
    under = indent + " " * (len(words.partition(" ")[0]) + 1)
    lines = textwrap.wrap(
        words,
        width(),
        initial_indent=indent,
        subsequent_indent=under,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines)


def brief(value: Any) -> str:
    """Write a value in short: ids cut, no quotes, no secrets."""
    if isinstance(value, str):
        return _UUID.sub(r"\1", _ID.sub(r"\1", masked(value)))
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {brief(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(brief, value)) + "]"
    return json.dumps(value)


def readable(document: Any, indent: str = "", key: str = "") -> str:
    """Write a document over as few lines as are readable.

    Args:
        document: Anything that JSON can say.
        indent: What its further lines begin with.
        key: What is before it in its first line.
    """
    flat = key + json.dumps(document)
    if len(indent) + len(flat) < width() or not isinstance(document, dict | list):  # a comma may follow
        return flat
    deeper = indent + "  "
    if isinstance(document, list):
        parts = [readable(value, deeper) for value in document]
    else:
        parts = [readable(value, deeper, f"{json.dumps(name)}: ") for name, value in document.items()]
    before, after = "[]" if isinstance(document, list) else "{}"
    lines = ",\n".join(deeper + part for part in parts)
    return f"{key}{before}\n{lines}\n{indent}{after}"


def cell(text: str, width: int) -> str:
    """Cut or fill a text to a width."""
    return text.ljust(width) if len(text) <= width else text[: width - 2] + ".."


def calls_in_short(actions: Iterable[str], registry_methods: Iterable[str]) -> str:
    """Write the calls, with EC2's reading calls grouped together."""
    actions = list(actions)
    reads = _counted(name.removeprefix("Describe") for name in actions if name.startswith("Describe"))
    writes = _counted(name for name in actions if not name.startswith("Describe"))
    asked = _counted(registry_methods)
    parts = [f"Describe({' '.join(reads)})"] if reads else []
    parts += writes
    parts += [f"registry({' '.join(asked)})"] if asked else []
    return f"{len(actions):2} {' '.join(parts)}".rstrip()


def _counted(names: Iterable[str]) -> list[str]:
    return [name if times == 1 else f"{name}*{times}" for name, times in Counter(names).items()]
