"""Signals that come while something is made or removed: nothing is orphaned by them."""

from __future__ import annotations

import signal

import pytest
from botocore.exceptions import ReadTimeoutError

from bosh_aws_cpi import interrupts
from bosh_aws_cpi.cpi.undo import Undo, undoing
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.interrupts import Interrupted

pytestmark = pytest.mark.usefixtures("signals")


def test_signal_between_steps() -> None:
    """A signal between two steps removes what the first one made."""
    notes: list[str] = []

    def body(undo: Undo) -> None:
        undo.create(lambda: "a", notes.append)
        signal.raise_signal(signal.SIGTERM)
        notes.append("went on")

    with pytest.raises(Interrupted):
        undoing(Undo(), body)
    assert notes == ["a"]


def test_signal_within_a_step() -> None:
    """A signal while something is being made waits until its removal is armed."""
    removed: list[str] = []

    def make() -> str:
        signal.raise_signal(signal.SIGTERM)
        return "a"

    with pytest.raises(Interrupted):
        undoing(Undo(), lambda undo: undo.create(make, removed.append))
    assert removed == ["a"]


def test_signal_during_the_undo() -> None:
    """A signal while things are being removed interrupts no removal."""
    removed: list[str] = []

    def remove(made: str) -> None:
        signal.raise_signal(signal.SIGTERM)
        removed.append(made)

    def body(undo: Undo) -> None:
        undo.create(lambda: "a", remove)
        undo.create(lambda: "b", remove)
        raise LookupError

    with pytest.raises(LookupError):
        undoing(Undo(), body)
    interrupts.check()
    assert removed == ["b", "a"]


def test_removal_that_is_cut_off() -> None:
    """A removal that a signal cut off is made again by the next run, and the others after it."""
    removed: list[str] = []
    undo = Undo()

    def remove(name: str) -> None:
        removed.append(name)
        signal.raise_signal(signal.SIGTERM)

    undo.arm("a", lambda: remove("a"))
    undo.arm("b", lambda: remove("b"))
    with pytest.raises(Interrupted):
        undo.run("a signal")
    assert removed == ["b"]
    for _ in range(2):  # the second time there is nothing left to do
        undo.run("the same signal")
        assert removed == ["b", "b", "a"]


def test_signal_after_success() -> None:
    """Once everything is made a signal ends the call no more: the result stands."""
    removed: list[str] = []
    undoing(Undo(), lambda undo: undo.create(lambda: "a", removed.append))
    signal.raise_signal(signal.SIGTERM)
    interrupts.check()
    assert removed == []


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (CloudError("throttled", ok_to_retry=True), Interrupted),
        (ReadTimeoutError(endpoint_url="http://h/"), Interrupted),
        (CloudError("refused"), CloudError),
        (LookupError("said"), LookupError),
    ],
    ids=["throttled", "lost", "refused", "other"],
)
def test_signal_while_a_step_fails(error: Exception, told: type[BaseException]) -> None:
    """What the signal has kept from being waited out is told as the signal; any other error says more."""
    removed: list[str] = []

    def make() -> str:
        signal.raise_signal(signal.SIGTERM)
        raise error

    def body(undo: Undo) -> None:
        undo.create(lambda: "a", removed.append)
        undo.create(make, removed.append)

    with pytest.raises(told) as caught:
        undoing(Undo(), body)
    assert error in {caught.value, caught.value.__cause__}
    interrupts.check()
    assert removed == ["a"]


@pytest.mark.parametrize("name", ["pending", "close"])
def test_signal_right_after_an_error(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """One that comes as the very next thing after an error keeps nothing from being removed."""
    removed: list[str] = []
    really = getattr(interrupts, name)

    def interrupted() -> object:
        monkeypatch.setattr(interrupts, name, really)
        signal.raise_signal(signal.SIGTERM)  # as Python may do where a function begins
        return really()

    def body(undo: Undo) -> None:
        undo.create(lambda: "a", removed.append)
        monkeypatch.setattr(interrupts, name, interrupted)
        raise LookupError

    with pytest.raises((LookupError, Interrupted)):
        undoing(Undo(), body)
    assert removed == ["a"]
