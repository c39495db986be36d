"""What is wrong with a file that is not YAML, as a person would say it, and the line where it begins. Pure.

PyYAML names the token that it can't read, which is often lines after the mistake. What is said here never
quotes the file, which may contain secrets: only characters that have a meaning in YAML.
"""

import re
from collections import deque
from collections.abc import Iterator
from itertools import takewhile
from typing import Final

import yaml

from bosh_aws_cpi.config.bounded_yaml import BoundedLoader

_QUOTE: Final = "put the text into quotation marks"
_NO_SPACE: Final = re.compile(r"\s*(?:- +)*(?:([\w./-]+:)(?=[^\s:/])|-(?=[A-Za-z_]))")
"""A line without the space after the colon of its key, or after the dash of its list entry."""
_HAS_VALUE: Final = re.compile(r"(\s*(?:- +)*)[^\s#:][^:]*:\s+[^\s#|>&]")
"""A line with a key that has a value."""
_QUOTES: Final = frozenset("'\"")
"""The styles of quoted texts."""
_PLACEHOLDERS: Final = {"{{": "{{…}}", "<%": "<% … %>"}
"""What other programs replace, and the bosh CLI does not."""
_CHARACTERS: Final = {
    "undefined alias": f"* begins an alias, but no value is marked with & and its name: {_QUOTE}, or mark it",
    "scanning an anchor": f"a text can't begin with &: {_QUOTE}",
    "scanning an alias": f"a text can't begin with *: {_QUOTE}",
    "constructor for the tag": f"a text can't begin with !: {_QUOTE}",
    "unknown escape character": (
        r"between double quotation marks \ has a meaning of its own: use single quotation marks"
    ),
}
"""What is meant by parts of PyYAML's messages."""
_COLUMNS: Final = (
    "the indentation fits none of the lines above: the keys of a hash, and the entries of a list, begin in "
    "one column"
)
_CONFLICT: Final = ("<<<<<<<", "=======", ">>>>>>>")


def said(error: yaml.YAMLError, content: bytes) -> tuple[int, str] | None:
    """The line, from 1, and the mistake with its remedy; None if PyYAML's own words must do.

    Args:
        error: What PyYAML says.
        content: The file.
    """
    if isinstance(error, yaml.reader.ReaderError):
        return _unreadable(content)
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return None
    return _Mistake(error, error.problem_mark, content).said()


def _unreadable(content: bytes) -> tuple[int, str] | None:
    """Bytes that are not UTF-8, or a character that YAML does not allow."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return (
            line,
            "a character is not in UTF-8, but in another encoding, such as Latin-1: save the file as UTF-8",
        )
    found = yaml.reader.Reader.NON_PRINTABLE.search(text)
    if found is None:
        return None
    line = text.count("\n", 0, found.start()) + 1
    return line, f"the control character U+{ord(found[0]):04X} is not allowed: delete it"


def _tokens(content: bytes) -> Iterator[yaml.Token]:
    """The tokens before the mistake."""
    try:
        yield from yaml.scan(content, BoundedLoader)
    except yaml.YAMLError:
        return


class _Mistake:
    """An error of PyYAML, and what stands around it."""

    def __init__(self, error: yaml.MarkedYAMLError, end: yaml.Mark, content: bytes) -> None:
        self.problem = error.problem or ""
        self.context = error.context or ""
        self.line = end.line + 1
        self.first = error.context_mark.line + 1 if error.context_mark is not None else self.line
        self.lines = content.decode(errors="replace").splitlines()
        tokens = takewhile(lambda token: token.end_mark.index <= end.index, _tokens(content))
        self.before = next(iter(deque(tokens, maxlen=1)), None)

    def said(self) -> tuple[int, str] | None:
        """The line, and the mistake with its remedy."""
        for each in (self._foreign, self._unclosed_quote, self._character, self._bracket, self._structure):
            if (found := each()) is not None:
                return found
        return None

    def _text(self, line: int) -> str:
        """A line of the file; empty beyond its end."""
        return self.lines[line - 1] if 0 < line <= len(self.lines) else ""

    def _foreign(self) -> tuple[int, str] | None:
        """What belongs to another program, in the lines from where PyYAML began to where it gave up."""
        if "another document" in self.problem:
            return self.line, "a second document begins with ---: give each document a file of its own"
        for number in range(min(self.first, self.line), self.line + 1):
            text = self._text(number)
            if text.startswith(_CONFLICT):
                return number, "a conflict that git could not merge is left: keep one of both versions"
            for sign, shown in _PLACEHOLDERS.items():
                if sign in text:
                    return number, f"{shown} is not replaced: BOSH's variables are ((name))"
        return None

    def _unclosed_quote(self) -> tuple[int, str] | None:
        """A quotation mark that is never closed, or only where the next quoted text begins."""
        if "quoted scalar" in self.context and "end of stream" in self.problem:
            return self.first, "a quotation mark is opened and never closed: add the closing one"
        last = self.before
        if not isinstance(last, yaml.ScalarToken) or last.style not in _QUOTES:
            return None
        first, end = last.start_mark.line + 1, last.end_mark.line + 1
        if first < end:
            return first, f"a quotation mark is opened and closed only in line {end}: add the closing one"
        if end == self.line and "but found '<scalar>'" in self.problem:
            return (
                first,
                "text follows the closing quotation mark: put all of the text between quotation marks",
            )
        return None

    def _character(self) -> tuple[int, str] | None:
        """A character that can't begin a text, or that means more than itself."""
        character = (re.findall(r"found character '(\\t|.)' that cannot", self.problem) or [""])[0]
        if character:
            what = f"a text can't begin with {character}: {_QUOTE}"
            return self.line, "a tab is not allowed here: use spaces" if character == r"\t" else what
        whole = f"{self.context}: {self.problem}"
        return next(((self.line, what) for part, what in _CHARACTERS.items() if part in whole), None)

    def _bracket(self) -> tuple[int, str] | None:
        """A list or a hash in brackets that does not end, or a bracket too many."""
        opened = re.search(r"expected ',' or '([\]}])'", self.problem)
        if opened is not None and self.first < self.line:
            bracket = "[" if opened[1] == "]" else "{"
            return (
                self.first,
                f"{bracket} is opened and not closed: add {opened[1]}, or the comma between two entries",
            )
        if opened is not None:
            return self.line, f"between two entries stands no comma, or {opened[1]} is missing at the end"
        stray = re.search(r"(?:but found|got) '([\]}])'", self.problem)
        if stray is not None:
            return self.line, f"{stray[1]} closes nothing that is open: remove it, or add what opens it"
        return None

    def _structure(self) -> tuple[int, str] | None:
        """Lines that don't fit together: a space, or the right indentation, is missing."""
        if "mapping values are not allowed" in self.problem:
            return self._second_colon()
        if "could not find expected ':'" in self.problem:
            return self._no_space(self.first) or (
                self.first,
                "the line is neither a key with its colon nor an entry of a list: write KEY: VALUE",
            )
        if "expected <block end>" in self.problem:
            return self._no_space(self.line) or self._no_space(self.line - 1) or (self.line, _COLUMNS)
        return None

    def _second_colon(self) -> tuple[int, str]:
        """A key where none can stand: in a value, or after one that seems to go on."""
        text, before = self._text(self.line), self._line_before()
        found = self._no_space(before) or self._no_space(self.line)
        if found is not None:
            return found
        value = _HAS_VALUE.match(self._text(before))
        if value is not None and len(text) - len(text.lstrip()) > len(value[1]):
            return self.line, (
                f"the line is indented more than line {before}, which has a value already: begin both keys "
                "in the same column"
            )
        if len(re.findall(r":\s", text)) > 1:
            remedy = "put the value into quotation marks, or a hash into braces"
            return self.line, f"a second colon stands in one line: {remedy}"
        return self.line, "no key can stand here: check the indentation, and the line before"

    def _line_before(self) -> int:
        """The number of the line before that is neither empty nor a comment."""
        numbers = range(self.line - 1, 0, -1)
        return next((each for each in numbers if self._text(each).strip()[:1] not in {"", "#"}), 0)

    def _no_space(self, number: int) -> tuple[int, str] | None:
        found = _NO_SPACE.match(self._text(number))
        if found is None:
            return None
        return number, f"a space is missing after {':' if found[1] else '-'}"
