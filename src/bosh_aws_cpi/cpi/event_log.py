"""The event log: a file with one line of JSON for each call, without secrets.

A line has no text of a person or of AWS: only names that the program knows, numbers, and ids and codes whose
form is checked. Only calls with ``debug.event_log`` load this module.
"""

import errno
import json
import os
import re
import stat
import time
from collections.abc import Iterable
from typing import Any, Final

from bosh_aws_cpi.call_statistics import caller
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.jsontext import encode
from bosh_aws_cpi.log import logger, redact
from bosh_aws_cpi.model import ID_DIGITS

CODE: Final = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
"""An error code of AWS, a name of an exception, a request id of AWS."""
_CID: Final = re.compile(f"((?:ami|i|snap|subnet|vol)-{ID_DIGITS})(?: light)?")
"""The id of a VM, a disk, a stemcell, a snapshot or a network."""
_MOST_IDS: Final = 20
_OPEN_FLAGS: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def note(
    cloud: Cloud, method: str, arguments: list[Any], response: bytes, seconds: float, *, is_delivered: bool
) -> None:
    """Append a line about a finished call to the configured file; a failure is only logged.

    Args:
        seconds: How long the call took.
        is_delivered: Whether the caller got the response.
    """
    config, counted = cloud.config, cloud.statistics
    document = json.loads(response)
    result, error = document["result"], document["error"]
    ids = caller(config.director_uuid, config.request_id)
    ids = {name: value for name, value in ids.items() if redact(value) == value}
    now = time.time()
    event = {
        "time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now % 1 * 1000):03d}Z",
        "method": method,
        "director_uuid": ids.get("director"),
        "request_id": ids.get("request"),
        "ids": _ids(arguments),
        "result": result if isinstance(result, bool) else _ids([result]),
        "error": error["type"] if error else None,
        "delivered": is_delivered,
        "seconds": round(seconds, 3),
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
    path = str(config.debug.event_log)
    try:
        _append(path, f"{encode(event, ascii_only=True)}\n".encode())
    except (OSError, ValueError) as problem:  # Python's for a path that has a NUL or can't be encoded
        reason = problem.strerror if isinstance(problem, OSError) else type(problem).__name__
        logger.warning("The event log '%s' can't be written: %s", path, reason)


def _ids(values: Iterable[Any]) -> list[str]:
    """Return the ids among the arguments and in their lists; hashes may have foreign texts, such as tags."""
    texts = (text for value in values for text in (value if isinstance(value, list) else [value]))
    matches = (_CID.fullmatch(text) for text in texts if isinstance(text, str))
    return [each[1] for each in matches if each][:_MOST_IDS]


def _safe(text: str | None) -> str | None:
    """Return an error code or a request id of AWS; None if the text has another form, or is a secret."""
    return text if text and CODE.fullmatch(text) and redact(text) == text else None


def _append(path: str, line: bytes) -> None:
    """Append a line, with one write: other processes append to the same file.

    Raises:
        OSError: The file can't be written, or is a link or another thing than a file.
    """
    descriptor = os.open(path, _OPEN_FLAGS, 0o640)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        if status.st_size and os.pread(descriptor, 1, status.st_size - 1) != b"\n":
            line = b"\n" + line  # cut by a full disk; or its write goes on, and a line stays empty
        if os.write(descriptor, line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(descriptor)
