"""Signals, and the loss of an undo step, in moments that no real call reaches for sure."""

import signal
from contextlib import suppress

import pytest
from botocore.exceptions import ReadTimeoutError

from bosh_aws_cpi import interrupts
from bosh_aws_cpi.cpi.undo import Undo, run_with_undo
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.interrupts import Interrupted

pytestmark = pytest.mark.usefixtures("signals")


def interrupt() -> None:
    """Let a signal come now."""
    signal.raise_signal(signal.SIGTERM)


@pytest.fixture
def notes() -> list[str]:
    """Return what was discarded, in its order."""
    return []


def test_signal_that_a_failed_step_held_back(notes: list[str]) -> None:
    """It comes before the next step creates anything."""

    def fail() -> str:
        interrupt()
        raise LookupError

    def body(undo: Undo) -> None:
        with suppress(LookupError):
            undo.create(fail, notes.append)
        undo.create(lambda: "b", notes.append)

    with pytest.raises(Interrupted):
        run_with_undo(Undo(), body)
    assert notes == []


def test_step_that_is_cut_off(notes: list[str]) -> None:
    """A step that a signal cut off runs again in the next run, and the others after it, once."""
    undo = Undo()

    def discard(name: str) -> None:
        notes.append(name)
        interrupt()

    undo.arm("a", lambda: discard("a"))
    undo.arm("b", lambda: discard("b"))
    with pytest.raises(Interrupted):
        undo.run("a signal")
    for _ in range(2):
        undo.run("the same signal")
    assert notes == ["b", "b", "a"]


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (CloudError("throttled", ok_to_retry=True), Interrupted),
        (ReadTimeoutError(endpoint_url="http://h/"), Interrupted),
        (CloudError("refused"), CloudError),
        (LookupError("said"), LookupError),
    ],
    ids=["throttled", "lost", "refused", "other"],
)
def test_signal_while_a_step_fails(notes: list[str], error: Exception, raised: type[BaseException]) -> None:
    """If the signal has kept an error from being waited out, it is the error; any other error says more."""

    def create() -> str:
        interrupt()
        raise error

    def body(undo: Undo) -> None:
        undo.create(lambda: "a", notes.append)
        undo.create(create, notes.append)

    with pytest.raises(raised) as caught:
        run_with_undo(Undo(), body)
    assert error in {caught.value, caught.value.__cause__}
    assert notes == ["a"]


@pytest.mark.parametrize("name", ["pending", "close"])
def test_signal_right_after_an_error(notes: list[str], monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A signal that comes as the very next thing after an error keeps nothing from being discarded."""
    really = getattr(interrupts, name)

    def interrupted() -> object:
        monkeypatch.setattr(interrupts, name, really)
        interrupt()  # as Python may do where a function begins
        return really()

    def body(undo: Undo) -> None:
        undo.create(lambda: "a", notes.append)
        monkeypatch.setattr(interrupts, name, interrupted)
        raise LookupError

    with pytest.raises((LookupError, Interrupted)):
        run_with_undo(Undo(), body)
    assert notes == ["a"]
