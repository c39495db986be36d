"""What the tests of the protocol share: a strict reader of responses, and an executable without AWS."""

from collections.abc import Callable
from typing import Any

import pytest

from testbed.executable import Answer, Cpi, config

NOWHERE = "http://127.0.0.1:1"
"""An endpoint where nobody listens: a call that succeeds has not asked AWS."""


def read(answer: Answer) -> dict[str, Any]:
    """Read a response as the Director and the CLI do, and check its form."""
    assert answer.returncode == 0, answer.stderr
    assert "Traceback" not in answer.stderr
    document = answer.document
    assert document.keys() == {"result", "error", "log"}
    assert isinstance(document["log"], str)
    error = document["error"]
    if error is None:
        assert document["log"] == ""
        return document
    assert isinstance(error, dict)
    assert error.keys() == {"type", "message", "ok_to_retry"}
    assert isinstance(error["type"], str)
    assert isinstance(error["message"], str)
    assert isinstance(error["ok_to_retry"], bool)
    assert document["result"] is None
    return document


@pytest.fixture
def result() -> Callable[[Answer], Any]:
    """Return a function that checks a response without an error, and hands out its result."""

    def checked(answer: Answer) -> Any:
        document = read(answer)
        assert document["error"] is None
        return document["result"]

    return checked


@pytest.fixture
def early() -> Callable[[Answer], tuple[str, str]]:
    """Return a function that checks an error from before the method ran: type and message, no log."""

    def checked(answer: Answer) -> tuple[str, str]:
        document = read(answer)
        assert document["log"] == ""
        error = document["error"]
        assert error["ok_to_retry"] is False
        return error["type"], error["message"]

    return checked


@pytest.fixture
def late() -> Callable[[Answer], tuple[str, str]]:
    """Return a function that checks an error from while the method ran: its log names it, too."""

    def checked(answer: Answer) -> tuple[str, str]:
        document = read(answer)
        error = document["error"]
        kind, message = error["type"], error["message"]
        head = f"Rescued {kind}: {message}. backtrace: "
        assert document["log"].startswith(head)
        assert len(document["log"]) > len(head)
        return kind, message

    return checked


@pytest.fixture
def offline() -> Cpi:
    """Return the executable with a valid configuration and no AWS behind it."""
    return Cpi(config(NOWHERE))
