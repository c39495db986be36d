"""How the demo writes and compares: short, readable, without secrets, in colour where that is of use."""

import io

import pytest

from testbed.demo import row
from testbed.demo_text import BOLD, SECRETS, brief, calls_in_short, cell, folded, paint, readable


class Screen(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


@pytest.mark.parametrize(
    ("stream", "no_color", "text"),
    [
        (Screen(), "", "\033[1mtext\033[0m"),
        (Screen(), "1", "text"),
        (io.StringIO(), "", "text"),
    ],
)
def test_colours(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, no_color: str, text: str) -> None:
    """Colours are for terminals, and only while NO_COLOR is not set."""
    monkeypatch.setenv("NO_COLOR", no_color)
    assert paint("text", BOLD, stream) == text


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (brief(["vol-0123456789abcdef0", {"a": None, "b": [True]}]), "[vol-012345, {a: null, b: [true]}]"),
        (brief(f"nats://nats:{SECRETS[-1]}@h"), "nats://nats:<secret>@h"),
        (cell("abcdefgh", 6), "abcd.."),
        (cell("abc", 6), "abc   "),
        (calls_in_short([], []), " 0"),
        (calls_in_short(["DescribeA", "Run", "DescribeA"], ["PUT"]), " 3 Describe(A*2) Run registry(PUT)"),
        (folded("  error: " + "word " * 20), f"  error: {('word ' * 18).strip()}\n         word word"),
        (readable({"a": [1, 2]}), '{"a": [1, 2]}'),
        (readable(["x" * 60, "y" * 60]), f'[\n  "{"x" * 60}",\n  "{"y" * 60}"\n]'),
    ],
)
def test_text(written: str, text: str) -> None:
    """The text is short, and has no secret."""
    assert written == text


@pytest.mark.parametrize(("columns", "widest"), [("40", 76), ("80", 80), ("100", 100), ("300", 160)])
def test_width(monkeypatch: pytest.MonkeyPatch, columns: str, widest: int) -> None:
    """Rows, reports and documents fit the terminal; one that is very narrow or very wide is not followed."""
    monkeypatch.setattr("sys.stdout", Screen())
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("NO_COLOR", "1")
    calls = calls_in_short(["DescribeSecurityGroups", "DescribeInstanceTypes", "RunInstances"] * 9, [])
    written = [
        row(["set_disk_metadata", "a" * 99, "b" * 99, "12345", calls], [""] * 5),
        folded(f"error: {'word ' * 99}", "  "),
        readable({"key": [f"value {number}" for number in range(99)], "other": {"key": "v" * 30}}),
    ]
    lengths = [max(map(len, text.splitlines())) for text in written]
    assert max(lengths) <= widest
    assert lengths[0] > widest - 20
    assert lengths[1] > widest - 5
