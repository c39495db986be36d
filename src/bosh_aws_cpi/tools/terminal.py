"""How a report's lines look: as they are in a file or a pipe; on a terminal wrapped, and with colours."""

import os
import sys
from textwrap import fill
from typing import Final, Self

from bosh_aws_cpi.log import printable

RED, YELLOW, CYAN, MAGENTA = "1;31", "33", "36", "35"
"""Parameters of a terminal's sequence for colours (ECMA-48, "select graphic rendition")."""
_HOLE: Final = "\ue000"
"""Stands for the characters of the coloured word while the line is wrapped: `printable` leaves none."""
_INDENT: Final = 4
"""Where the rest of a line begins whose text begins beyond the middle of the terminal."""


class Line(str):
    """A line of a report, and what a terminal does with it. A line that is a plain string stays whole.

    Args:
        text: The line, without secrets.
        word: The program's own word that is coloured.
        colour: One of the colours above; without one, nothing is coloured.
        at: The column, from 0, at or after which the word stands.
        under: The column of the text, under which the rest of a long line is continued.
    """

    __slots__ = ("at", "colour", "under", "word")
    word: str
    colour: str
    at: int
    under: int

    def __new__(  # noqa: D102 - see the class
        cls, text: str, word: str = "", colour: str = "", *, at: int = 0, under: int = 2
    ) -> Self:
        line = super().__new__(cls, text)
        line.word, line.colour, line.at, line.under = word, colour, at, under
        return line

    def replaced(self, text: str) -> Self:
        """The same with another text, such as one without secrets."""
        return type(self)(text, self.word, self.colour, at=self.at, under=self.under)


class Screen:
    """Stdout: a terminal, or not."""

    def __init__(self) -> None:
        is_terminal = sys.stdout is not None and sys.stdout.isatty()
        self._width = os.get_terminal_size(sys.stdout.fileno()).columns if is_terminal else 0
        wants_none = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        self._has_colours = is_terminal and not wants_none

    def shown(self, line: str) -> str:
        """The line as it is written; its foreign text is escaped before anything else is done."""
        text = printable(line)
        if not isinstance(line, Line):
            return text
        begin = text.find(line.word, line.at)
        is_coloured = self._has_colours and line.colour and begin >= 0
        hole = _HOLE * len(line.word)
        if is_coloured:
            text = text[:begin] + hole + text[begin + len(hole) :]
        if 0 < self._width < len(text):
            under = line.under if line.under <= self._width // 2 else _INDENT
            text = fill(
                text,
                self._width,
                subsequent_indent=" " * under,
                break_long_words=False,  # an id or a path is copied as a whole
                break_on_hyphens=False,
            )
        return text.replace(hole, f"\033[{line.colour}m{line.word}\033[0m") if is_coloured else text
