"""What all commands do with a report."""

import io
import sys

import pytest

from bosh_aws_cpi.tools import command
from bosh_aws_cpi.tools.findings import Finding, Severity
from bosh_aws_cpi.tools.strays import StrayOutcome


def test_narrow_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the encoding of stdout lacks is escaped."""
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    assert command.show({}, ["a … b"], as_json=False) == 0
    assert raw.getvalue() == b"a \\u2026 b\n"


def test_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal the words that say how bad something is are coloured, where the program says them."""
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    lines = {
        "\033[1;31merror\033[0m: an error: no": str(Finding(Severity.ERROR, "an error: no")),
        "\033[33mwarning\033[0m: x": str(Finding(Severity.WARNING, "x")),
        "\033[35mnot checked\033[0m: x": str(Finding(Severity.NOT_CHECKED, "x")),
        "\033[36mnote\033[0m: x": str(Finding(Severity.NOTE, "x")),
        "x  \033[33mleft to you: name it with --disk\033[0m": f"x  {StrayOutcome.LEFT_DISK.value}",
        "x  \033[1;31mfailed\033[0m: no": f"x  {StrayOutcome.FAILED.value}: no",
        "\033[1;31mNOT READY\033[0m for Baseline": "NOT READY for Baseline",
    }
    assert command.show({}, lines.values(), as_json=False) == 0
    assert screen.getvalue().splitlines() == list(lines)
