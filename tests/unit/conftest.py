"""What the unit tests share: a clock that stands still, a stubbed EC2, signals, the program's log."""

from __future__ import annotations

import logging
import os
import signal
import time
from functools import cache
from typing import TYPE_CHECKING, Any

import botocore.session
import pytest
from botocore.stub import Stubber

from bosh_aws_cpi import interrupts

if TYPE_CHECKING:
    from collections.abc import Iterator


class Clock:
    """A clock that only the program's own pauses move.

    Attributes:
        now: Seconds since the test began.
        pauses: How long each pause was.
    """

    def __init__(self) -> None:
        """Begin at 0."""
        self.now = 0.0
        self.pauses: list[float] = []

    def monotonic(self) -> float:
        """Tell the time."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let the time pass at once."""
        self.pauses.append(seconds)
        self.now += seconds


class Ec2:
    """An EC2 client that takes exactly the calls that were laid out, in their order.

    Attributes:
        client: What the program is given.
    """

    def __init__(self, client: Any, stubber: Stubber) -> None:
        """Lay out calls of this client."""
        self.client = client
        self._stubber = stubber

    def answers(self, operation: str, answer: dict[str, Any] | None = None, /, **expected: Any) -> None:
        """Lay out a call with exactly these parameters, and its answer."""
        self._stubber.add_response(operation, answer or {}, expected)

    def refuses(self, operation: str, code: str, message: str = "", /, **expected: Any) -> None:
        """Lay out a call with exactly these parameters that EC2 answers with an error."""
        self._stubber.add_client_error(operation, code, message, expected_params=expected)


@cache
def _client() -> Any:
    """Make one client for all tests: nothing leaves the process, each test stubs it anew.

    Nothing of the machine's configuration reaches it, whichever test is the first to ask for it.
    """
    nowhere: dict[str, Any] = {
        "profile": (None, None, None, None),
        "config_file": (None, None, os.devnull, None),
        "credentials_file": (None, None, os.devnull, None),
    }
    session: Any = botocore.session.Session(session_vars=nowhere)
    return session.create_client(
        "ec2", region_name="us-east-1", aws_access_key_id="AKIAUNIT", aws_secret_access_key="unit"
    )


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Replace the clock and the sleep."""
    fake = Clock()
    monkeypatch.setattr(time, "monotonic", fake.monotonic)
    monkeypatch.setattr(time, "sleep", fake.sleep)
    return fake


@pytest.fixture
def ec2(clock: Clock) -> Iterator[Ec2]:
    """Return a stubbed EC2; at the end all calls that were laid out must have been made."""
    assert clock.now == 0
    client = _client()
    with Stubber(client) as stubber:
        yield Ec2(client, stubber)
        stubber.assert_no_pending_responses()


@pytest.fixture(autouse=True)
def no_signal_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test a call that has had no signal and is not past its end."""
    monkeypatch.setattr("bosh_aws_cpi.interrupts._signals", type(vars(interrupts)["_signals"])())


@pytest.fixture
def signals(no_signal_yet: None) -> Iterator[None]:
    """Let signals arrive as in a call, and give the handlers back."""
    assert no_signal_yet is None
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    interrupts.install()
    interrupts.start()
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


@pytest.fixture
def program_log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """Return what the program logs, from debug level on."""
    caplog.set_level(logging.DEBUG, logger="bosh_aws_cpi")
    return caplog
