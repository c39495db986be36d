"""Whatever comes on stdin, or does not, is answered by exactly one response."""

import json

import pytest

from testbed.executable import DIRECTOR_UUID, EXECUTABLE, Cpi, config
from tests.protocols import Checked

pytestmark = pytest.mark.usefixtures("warm")

MEGABYTES = 10_000_000
SECRET = "stdin-secret-55c1"


def ping(more: str = "") -> bytes:
    """Write a ping by hand, with more in its context."""
    context = f'{{"director_uuid": "{DIRECTOR_UUID}"{more}}}'
    return f'{{"method": "ping", "arguments": [], "context": {context}}}'.encode()


def undeserializable(problem: tuple[str, str]) -> str:
    """Check that an error is about a request that is no JSON object, and return its details."""
    kind, message = problem
    assert kind == "InvalidCall"
    head, separator, details = message.partition(", details: ")
    assert (head, separator) == ("Request cannot be deserialized", ", details: ")
    assert details
    return details


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        ping()[: len(ping()) // 2],
        ping() + b"\n" + ping(),
        b"\xef\xbb\xbf" + ping(),
        ping(', "a": "\xe9"').decode().encode("latin-1"),
        ping(f', "director_uuid": "{DIRECTOR_UUID}"'),
        ping(', "a": "' + "x" * MEGABYTES),
        b"[]",
        b"null",
    ],
    ids=["nothing", "half", "two", "bom", "latin-1", "same-key", "half-of-10-MB", "array", "null"],
)
def test_no_json(offline: Cpi, early: Checked, raw: bytes) -> None:
    """Invalid JSON, JSON that other programs would read differently, and no object are refused."""
    undeserializable(early(offline.raw(raw)))


def test_too_large(offline: Cpi, early: Checked) -> None:
    """A request that is larger than any honest one is refused before all of it is read."""
    raw = ping(f', "a": "{"x" * 2 * MEGABYTES}"')
    assert undeserializable(early(offline.raw(raw))) == "more than 16 MiB"


@pytest.mark.parametrize(
    "raw",
    [
        b"\r\n\t " + ping() + b" \r\n",
        ping(', "a": "größe 😀"'),
        ping(', "a": "' + "x" * MEGABYTES + '"'),
    ],
    ids=["blanks", "utf-8", "10-MB-string"],
)
def test_json(offline: Cpi, result: Checked, raw: bytes) -> None:
    """Any JSON object is read, also an odd or a large one."""
    assert result(offline.raw(raw)) == "pong"


@pytest.mark.parametrize(
    "line",
    ['exec "$0" "$1" <&-', 'exec "$0" "$1" </dev/null', 'exec "$0" "$1" 0>/dev/null'],
    ids=["closed", "empty", "write-only"],
)
def test_no_stdin(early: Checked, line: str) -> None:
    """A stdin that can't be read, or is closed, is answered like an empty one."""
    cpi = Cpi(config("http://127.0.0.1:1"), command=["/bin/sh", "-c", line, EXECUTABLE])
    undeserializable(early(cpi.raw(b"")))


def test_not_quoted(offline: Cpi, early: Checked) -> None:
    """A request that is no JSON is not quoted: it may hold secrets."""
    document = json.dumps({"method": "create_vm", "arguments": [{"password": SECRET}]})
    answer = offline.raw(document[:-1].encode())
    undeserializable(early(answer))
    assert SECRET not in answer.stdout.decode() + answer.stderr
