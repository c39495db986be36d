"""Calls that are ended by a signal."""

import signal
from typing import Any

import pytest

from bosh_aws_cpi import interrupts
from bosh_aws_cpi.rpc import dispatch
from tests.unit.rpc.standin import Host, ask, failing

pytestmark = pytest.mark.usefixtures("signals")


def ended_by(document: dict[str, Any], name: str) -> bool:
    """Check for the answer of a call that a signal ended."""
    error = document["error"]
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", False)
    assert document["log"] == ""
    return bool(error["message"].startswith(f"The call was interrupted by {name} before it was complete"))


def test_signal_while_an_error_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal while another error is being answered still leaves one answer."""
    rescued = dispatch.__dict__["_rescued"]

    def interrupted(*arguments: Any) -> Any:
        signal.raise_signal(signal.SIGTERM)
        return rescued(*arguments)

    monkeypatch.setattr(dispatch, "_rescued", interrupted)
    host = Host(failing(SystemExit()))
    assert ended_by(ask(host, "has_vm", "i-1"), "SIGTERM")


def test_signal_after_the_answer() -> None:
    """Once the answer is made a signal changes it no more."""
    assert ask(Host(lambda *_: True), "has_vm", "i-1")["result"] is True
    signal.raise_signal(signal.SIGTERM)
    interrupts.check()
