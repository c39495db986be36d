"""The event log: a file with one line of JSON for each call, without secrets.

A line has no text of a person or of AWS: only names that the program knows, numbers, and ids and codes whose
form is checked. Only calls with ``debug.event_log`` load this module.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from typing import TYPE_CHECKING

from bosh_aws_cpi.call_statistics import caller
from bosh_aws_cpi.jsontext import decode, encode
from bosh_aws_cpi.log import redact
from bosh_aws_cpi.records import Confidential

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Final

    from bosh_aws_cpi.call_statistics import CallStatistics

CODE: Final = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
"""An error code of AWS, a name of an exception, a request id of AWS."""
_ID: Final = re.compile(r"((?:ami|i|snap|subnet|vol)-[0-9a-f]{8,17})(?: light)?")
"""The id of a VM, a disk, a stemcell, a snapshot or a network."""
_MOST_IDS: Final = 20
_OPENING: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Call(Confidential):
    """A call that has ended."""

    method: str
    arguments: list[Any]
    director_uuid: str | None
    request_id: str | None
    response: bytes
    is_delivered: bool
    """Whether the caller got the response."""
    seconds: float
    statistics: CallStatistics


def note(path: str, call: Call) -> None:
    """Append a call to the file.

    Raises:
        OSError: The file can't be written, or is a link or another thing than a file.
    """
    _append(path, f"{encode(_event(call), ascii_only=True)}\n".encode())


def _event(call: Call) -> dict[str, Any]:
    response = decode(call.response)
    result, error = response["result"], response["error"]
    counted = call.statistics
    ids = caller(call.director_uuid, call.request_id)
    ids = {name: value for name, value in ids.items() if redact(value) == value}
    now = time.time()
    return {
        "time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now % 1 * 1000):03d}Z",
        "method": call.method,
        "director_uuid": ids.get("director"),
        "request_id": ids.get("request"),
        "ids": _ids(call.arguments),
        "result": result if isinstance(result, bool) else _ids([result]),
        "error": error["type"] if error else None,
        "delivered": call.is_delivered,
        "seconds": round(call.seconds, 3),
        "aws": {
            "calls": dict(counted.calls),
            "retries": dict(counted.retries),
            "throttled": dict(counted.throttled),
            "failures": [
                {"call": name, "code": _safe(code), "request_id": _safe(request_id)}
                for name, code, request_id in counted.failures
            ],
        },
    }


def _ids(values: Iterable[Any]) -> list[str]:
    """The ids among values and in lists of them; an object may have others' texts, such as tags."""
    texts = (text for value in values for text in (value if isinstance(value, list) else [value]))
    found = (_ID.fullmatch(text) for text in texts if isinstance(text, str))
    return [each[1] for each in found if each][:_MOST_IDS]


def _safe(text: str | None) -> str | None:
    """A code or a request id of AWS; None if it has another form, or is a secret."""
    return text if text and CODE.fullmatch(text) and redact(text) == text else None


def _append(path: str, line: bytes) -> None:
    """Append a line, with one write: other processes append to the same file.

    Raises:
        OSError: The file can't be written, or is a link or another thing than a file.
    """
    descriptor = os.open(path, _OPENING, 0o640)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        if found.st_size and os.pread(descriptor, 1, found.st_size - 1) != b"\n":
            line = b"\n" + line  # cut by a full disk; or its write goes on, and a line stays empty
        if os.write(descriptor, line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(descriptor)
