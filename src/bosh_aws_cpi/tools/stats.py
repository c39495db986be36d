"""`cpi stats CONFIG_PATH [FILE ...]`: sums up event logs, in little memory however long they are."""

import argparse
import errno
import json
import os
import re
import select
import stat
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final

from bosh_aws_cpi import event_log
from bosh_aws_cpi.config.loading import STDIN, load
from bosh_aws_cpi.errors import Unknown
from bosh_aws_cpi.rpc.methods import METHODS
from bosh_aws_cpi.tools import command
from bosh_aws_cpi.tools.terminal import RED, YELLOW, Line

Document = dict[str, Any]
_STDIN: Final = 0
_OPENING: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
_LONGEST: Final = 1 << 16
"""The maximum length of a line in bytes; the CPI writes at most about 10,000."""
_MOST_NAMES: Final = 1000
"""The maximum number of AWS calls and codes that are told apart; the CPI knows fewer."""
_MOST: Final = 10**9
"""Counts and seconds from here on are none that the CPI writes."""
_ACTION: Final = re.compile(r"[a-z0-9-]{1,32}\.[A-Za-z0-9]{1,64}")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)
_UNDELIVERED: Final = "response not delivered"
"""The caller was gone: counted as a failure, because what the call had created was deleted again."""
_DESCRIPTION: Final = """\
Sum up the event log of debug.event_log: calls, failures and seconds by method, and
throttled attempts, retries and errors by AWS call. AWS is not called."""
_EPILOG: Final = """\
exit status:
0: the files were read; damaged lines, which are left out, are counted
2: the command failed: bad arguments, or a file that can't be read"""


def main(arguments: list[str]) -> int:
    """Read the files, and print their sums."""
    return command.run(_parser(), arguments, _stats)


def _parser() -> argparse.ArgumentParser:
    parser = command.parser("stats", _DESCRIPTION, _EPILOG)
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        default=[],  # without it, the usage's error calls FILE required
        help="an event log, - for stdin; by default the one in CONFIG_PATH, which is not read otherwise, "
        "with its older files",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser


def _stats(given: argparse.Namespace) -> int:
    _refuse_log(given.config)
    sums = Sums()
    with ExitStack() as stack:
        # All are open before the first is read: one that a call renames meanwhile counts once.
        for path, file in _opened(given, stack):
            with _reading(path):
                _await_writer(file)
                sums.read(path, file)
    report = sums.document()
    command.show(report, lines(report), as_json=given.json)
    return 0


def _refuse_log(config: str) -> None:
    """Refuse an event log in place of the configuration, about whose other mistakes this says nothing."""
    try:
        if config == STDIN or not Path(config).is_file():
            return
        with Path(config).open("rb") as file:
            event = _event(file.readline(_LONGEST))
    except (OSError, ValueError):
        return
    if event is not None:
        meant = f"cpi stats cpi.json {config}"
        message = f"'{config}' is an event log, but the configuration comes first: {meant}"
        raise Unknown(message)


def _opened(given: argparse.Namespace, stack: ExitStack) -> list[tuple[str, IO[bytes]]]:
    """The named files, or else the configuration's event log with its older files; each once.

    The older ones come later: one that is renamed meanwhile is found again, and none is missed.
    """
    paths = given.files or _configured(given.config)
    found: dict[tuple[int, int], tuple[str, IO[bytes]]] = {}
    for path in paths:
        with _reading(path), suppress(*(() if given.files else (FileNotFoundError,))):
            file = stack.enter_context(_open(path, may_be_pipe=bool(given.files)))
            state = os.fstat(file.fileno())
            found.setdefault((state.st_dev, state.st_ino), (path, file))
    if not found:
        message = f"No call has written the event log '{paths[0]}' yet"
        raise Unknown(message)
    return [*found.values()]


def _configured(config: str) -> list[str]:
    """The paths of the configuration's event log and of its older files; they need not exist."""
    path = load(config, {}).event_log
    if path is None:
        message = "No event log: set debug.event_log, or name its files after the configuration"
        raise Unknown(message)
    return [path, *event_log.older(path)]


@contextmanager
def _reading(path: str) -> Iterator[None]:
    """Name a file that can't be read."""
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a path that no file can have
        message = f"Cannot read '{path}': {getattr(error, 'strerror', None) or error}"
        raise Unknown(message) from None


def _open(path: str, *, may_be_pipe: bool) -> IO[bytes]:
    """Open a file without waiting for a pipe's writer.

    Raises:
        OSError: It can't be opened, or is of another kind.
    """
    if path == STDIN and sys.stdin is None:  # another file may have its descriptor
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    descriptor = os.dup(_STDIN) if path == STDIN else os.open(path, _OPENING)
    mode = os.fstat(descriptor).st_mode
    is_pipe = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)  # stdin may be a socket
    if not (stat.S_ISREG(mode) or (may_be_pipe and is_pipe)):
        os.close(descriptor)
        kind = "neither a file nor a pipe" if may_be_pipe else "not a regular file"
        raise OSError(errno.EINVAL, f"it is {kind}")
    return os.fdopen(descriptor, "rb")


def _await_writer(file: IO[bytes]) -> None:
    """Wait until a pipe has a writer, without which it seems to have ended."""
    poller = select.poll()
    poller.register(file, select.POLLIN)
    poller.poll()
    os.set_blocking(file.fileno(), True)


class _Method:
    """The calls of one method."""

    def __init__(self) -> None:
        self.seconds: Counter[float] = Counter()
        """The number of calls by their seconds, of which three digits count."""
        self.failures: Counter[str] = Counter()
        self.longest = 0.0


class Sums:
    """What is known of all lines that were read."""

    def __init__(self) -> None:
        self._methods: defaultdict[str, _Method] = defaultdict(_Method)
        self._aws: dict[str, Counter[str]] = {name: Counter() for name in ("calls", "retries", "throttled")}
        self._errors: Counter[tuple[str, str]] = Counter()
        self._first, self._last = "", ""
        self._files: list[Document] = []

    def read(self, name: str, file: IO[bytes]) -> None:
        """Add the lines of a file."""
        number, damaged, first = 0, 0, None
        for number, line in enumerate(_lines(file), 1):
            if line == b"\n":
                continue  # two processes that wrote at once may leave an empty one
            if (event := _event(line)) is None:
                damaged += 1
                first = first or number
            else:
                self._add(event)
        self._files.append({"file": name, "lines": number, "damaged": damaged, "first_damaged": first})

    def _add(self, event: Document) -> None:
        method = self._methods[event["method"]]
        method.seconds[float(f"{event['seconds']:.3g}")] += 1
        method.longest = max(method.longest, event["seconds"])
        if failure := event["error"] or (None if event["delivered"] else _UNDELIVERED):
            _count(method.failures, failure, 1)
        for name, counted in self._aws.items():
            for action, number in event["aws"][name].items():
                _count(counted, action, number)
        for each in event["aws"]["failures"]:
            key = each["call"], each["code"] or "unknown"
            self._errors[
                key if key in self._errors or len(self._errors) < _MOST_NAMES else ("", "other")
            ] += 1
        self._first = min(self._first or event["time"], event["time"])
        self._last = max(self._last, event["time"])

    def document(self) -> Document:
        """The report as a JSON document; `lines` shows what it has."""
        methods = [
            {
                "method": name,
                "calls": each.seconds.total(),
                "failed": each.failures.total(),
                "seconds": {
                    "p50": min(each.longest, _percentile(each.seconds, 50)),
                    "p95": min(each.longest, _percentile(each.seconds, 95)),
                    "max": each.longest,
                },
                "failures": dict(each.failures.most_common()),
            }
            for name, each in sorted(self._methods.items())
        ]
        return {
            "calls": sum(each["calls"] for each in methods),
            "failed": sum(each["failed"] for each in methods),
            "first": self._first or None,
            "last": self._last or None,
            "methods": methods,
            "aws": [
                {"call": call, **{name: counted[call] for name, counted in self._aws.items()}}
                for call in sorted(self._aws["calls"])
            ],
            "aws_errors": [
                {"call": call, "code": code, "attempts": number}
                for (call, code), number in self._errors.most_common()
            ],
            "files": self._files,
        }


def _count(counter: Counter[str], name: str, number: int) -> None:
    counter[name if name in counter or len(counter) < _MOST_NAMES else "other"] += number


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """The lines of a file; of one that is too long only the end, which is damaged too."""
    while line := file.readline(_LONGEST):
        while len(line) == _LONGEST and not line.endswith(b"\n"):
            line = b"too long " + file.readline(_LONGEST - len(b"too long "))
        yield line


def _event(line: bytes) -> Document | None:
    """The event of a line; None if it is none that the CPI writes."""
    try:
        event = json.loads(line)
        return event if _is_event(event) else None
    except (ValueError, RecursionError, AttributeError, LookupError, TypeError):
        return None


def _is_event(event: Any) -> bool:  # noqa: ANN401 - any JSON value; a part of another kind raises an error
    aws = event["aws"]
    counts = [pair for name in ("calls", "retries", "throttled") for pair in aws[name].items()]
    return (
        event["method"] in METHODS
        and _TIME.fullmatch(event["time"]) is not None
        and _is_number(event["seconds"])
        and isinstance(event["delivered"], bool)
        and _is_code(event["error"])
        and all(_ACTION.fullmatch(name) and _is_number(number) for name, number in counts)
        and all(_ACTION.fullmatch(each["call"]) and _is_code(each["code"]) for each in aws["failures"])
    )


def _is_number(value: Any) -> bool:  # noqa: ANN401
    return type(value) in {int, float} and 0 <= value < _MOST


def _is_code(value: Any) -> bool:  # noqa: ANN401
    return value is None or event_log.CODE.fullmatch(value) is not None


def _percentile(seconds: Counter[float], percent: int) -> float:
    """The least value that at least so many percent of the calls don't exceed."""
    rank = -(-seconds.total() * percent // 100)
    for value in sorted(seconds):
        rank -= seconds[value]
        if rank <= 0:
            return value
    return 0.0


def lines(report: Document) -> Iterator[Line]:
    """The report for a person."""
    yield _headline(report)
    yield from _table("Seconds", ("calls", "failed", "p50", "p95", "max"), map(_of_method, report["methods"]))
    yield from _list(
        "Failures",
        ((each["method"], *item) for each in report["methods"] for item in each["failures"].items()),
    )
    of_aws = ("calls", "retries", "throttled")
    rows = ((each["call"], [each[name] for name in of_aws]) for each in report["aws"])
    yield from _table("AWS calls", of_aws, rows)
    errors = ((each["call"], each["code"], each["attempts"]) for each in report["aws_errors"])
    yield from _list("AWS errors, by attempts", errors)
    for each in report["files"]:
        if each["damaged"]:
            text = f"Damaged: {each['damaged']} of {each['lines']} lines of '{each['file']}', "
            yield Line("")
            yield Line(f"{text}the first is line {each['first_damaged']}", "Damaged", YELLOW)


def _headline(report: Document) -> Line:
    if not report["calls"]:
        return Line("No calls")
    failed = f"{report['failed']} failed"
    text = f"{report['calls']} calls from {report['first']} to {report['last']}, {failed}"
    return Line(text, failed, RED if report["failed"] else "", at=text.rfind(failed))


def _of_method(each: Document) -> tuple[str, list[object]]:
    return each["method"], [each["calls"], each["failed"], *map(_shown, each["seconds"].values())]


def _shown(seconds: float) -> str:
    return f"{seconds:.3f}" if seconds < 10 else f"{seconds:.1f}"  # noqa: PLR2004 - more digits say nothing


def _table(title: str, header: tuple[str, ...], rows: Iterator[tuple[str, list[object]]]) -> Iterator[Line]:
    found = [*rows]
    if not found:
        return
    width = max(len(title), *(len(name) for name, _ in found))
    yield Line("")
    for name, cells in [(title, header), *found]:
        yield Line(f"{name:<{width}}" + "".join(f"{cell!s:>11}" for cell in cells))


def _list(title: str, rows: Iterator[tuple[str, str, int]]) -> Iterator[Line]:
    found = [*rows]
    if found:
        yield Line("")
        yield Line(title)
        yield from (Line(f"{number:>8}  {name} {what}") for name, what, number in found)
