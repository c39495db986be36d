"""Writes what `aws_check` and `lifecycle` saw as a dated page: `python3 -m acceptance.certificate --help`.

It needs the standard library only, and reads what the two programs print with `--json`.
"""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_ACCOUNT = re.compile(r"\b\d{12}\b")
NO_RESULT: dict[str, Any] = {"is_good": False, "summary": "It ended without a result", "left": {}}


def page(title: str, checked: dict[str, Any], lived: dict[str, Any]) -> str:
    """Return the page, in Markdown.

    Args:
        title: The date, the region and the commit.
        checked: The outcome of `aws_check`.
        lived: The outcome of `lifecycle`.
    """
    lines = [f"# {title}", ""]
    for name, outcome in {"make aws-check": checked, "make lifecycle": lived}.items():
        verdict = "passed" if outcome["is_good"] else "failed"
        lines += [f"- `{name}` **{verdict}**: {_text(outcome['summary'])}"]
        lines += [f"  - left behind: {_text(what)}: {_text(why)}" for what, why in outcome["left"].items()]
    findings = checked.get("assumptions", [])
    rows = [(f"`{each['name']}`", each["verdict"], _text(each["seen"])) for each in findings]
    lines += _table(("assumption", "verdict", "seen"), rows)
    timed = [(f"`{each['method']}`", f"{each['seconds']:g}") for each in lived.get("calls", [])]
    return "\n".join([*lines, *_table(("method", "seconds"), timed), ""])


def _table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    drawn = [header, ("---",) * len(header), *rows]
    return ["", *(f"| {' | '.join(row)} |" for row in drawn)] if rows else []


def _text(seen: str) -> str:
    """What AWS said, without an account's number, for a cell of a table."""
    shown = "".join(each if each.isprintable() else " " for each in _ACCOUNT.sub("ACCOUNT", seen))
    return re.sub(r"([|<>`\[\]\\])", r"\\\1", shown)


def _read(path: Path) -> dict[str, Any]:
    """Return a program's outcome; one that ended early has printed none."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return NO_RESULT
    return found


def main() -> int:
    """Write the page to standard output."""
    options = argparse.ArgumentParser(prog="python3 -m acceptance.certificate", description=__doc__)
    options.add_argument("--region", required=True)
    options.add_argument("--commit", required=True, help="what was tried")
    options.add_argument("checked", type=Path, metavar="AWS_CHECK.json")
    options.add_argument("lived", type=Path, metavar="LIFECYCLE.json")
    given = options.parse_args()
    title = f"{datetime.now(UTC):%Y-%m-%d}, {given.region}, commit {given.commit}"
    print(page(title, _read(given.checked), _read(given.lived)), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
