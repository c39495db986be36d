"""The output of the demo, the console and the programs for an AWS account: short, and without secrets."""

import json
import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterable
from typing import Any, TextIO

from testbed import executable, registry

SECRETS = (*executable.SECRETS, registry.PASSWORD)
MASK = "<secret>"
BOLD, DIM, RED, GREEN, YELLOW = "1", "2", "31", "32", "33"
WIDTH = 100
"""The width of lines where there is no terminal."""

_ID = re.compile(r"\b([a-z]+-[0-9a-f]{6})[0-9a-f]{11}\b")


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


def cut(text: str) -> str:
    """Cut a line to the width of the terminal."""
    width = shutil.get_terminal_size((WIDTH, 1)).columns
    return text if len(text) <= width else text[: width - 2] + ".."


def brief(value: Any) -> str:
    """Write a value in short: ids cut, no quotes, no secrets."""
    if isinstance(value, str):
        return _ID.sub(r"\1", masked(value))
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {brief(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(brief, value)) + "]"
    return json.dumps(value)


def readable(document: Any) -> str:
    """Write a document as JSON in lines, without secrets."""
    return masked(json.dumps(document, indent=2))


def calls_in_short(actions: Iterable[str]) -> str:
    """Write the calls to AWS, each name once."""
    counted = Counter(actions).items()
    return ", ".join(name if times == 1 else f"{name} ({times} times)" for name, times in counted) or "none"
