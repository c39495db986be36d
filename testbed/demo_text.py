"""The output of the demo and the console: short, in plain ASCII, without secrets."""

from __future__ import annotations

import json
import os
import re
import sys
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
"""The width of documents; it does not depend on the terminal."""

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


def brief(value: Any) -> str:
    """Write a value in short: ids cut, no quotes, no secrets."""
    if isinstance(value, str):
        return _UUID.sub(r"\1", _ID.sub(r"\1", masked(value)))
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {brief(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(brief, value)) + "]"
    return json.dumps(value)


def readable(document: Any, indent: str = "") -> str:
    """Write a document over as few lines as are readable."""
    flat = json.dumps(document)
    if len(indent) + len(flat) <= WIDTH or not isinstance(document, dict | list):
        return flat
    deeper = indent + "  "
    if isinstance(document, list):
        parts = [readable(value, deeper) for value in document]
    else:
        parts = [f"{json.dumps(key)}: {readable(value, deeper)}" for key, value in document.items()]
    before, after = "[]" if isinstance(document, list) else "{}"
    lines = ",\n".join(deeper + part for part in parts)
    return f"{before}\n{lines}\n{indent}{after}"


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
