"""Nothing orphaned: what was created is discarded unless the whole succeeds, whenever a signal comes."""

import signal

import pytest
from botocore.exceptions import ReadTimeoutError

from bosh_aws_cpi import interrupts
from bosh_aws_cpi.cpi.undo import Undo, undoing
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.interrupts import Interrupted
from tests.unit.conftest import ProgramLog

pytestmark = pytest.mark.usefixtures("signals")


def interrupt() -> None:
    """Let a signal come now."""
    signal.raise_signal(signal.SIGTERM)


@pytest.fixture
def notes() -> list[str]:
    """Return what was discarded, in its order."""
    return []


def test_success(notes: list[str]) -> None:
    """After a success nothing is discarded, nor after a signal; but the steps stay armed."""
    undo = Undo()
    assert undoing(undo, lambda undo: undo.create(lambda: "a", notes.append)) == "a"
    interrupt()
    interrupts.check()
    assert notes == []
    undo.run("its response could not be written")
    assert notes == ["a"]


def test_failure(notes: list[str], program_log: ProgramLog) -> None:
    """An error discards all, the last first, and goes on as it is; a step that fails is only logged."""
    error = LookupError("said")

    def fail(created: str) -> None:
        notes.append(created)
        raise OSError("bad")

    def body(undo: Undo) -> None:
        undo.create(lambda: "a", fail)
        undo.arm("b's entry", lambda: notes.append("b"))
        undo.arm("c's entry", lambda: fail("c"))
        undo.create(lambda: "d", notes.append)
        raise error

    with pytest.raises(LookupError) as caught:
        undoing(Undo(), body)
    assert caught.value is error
    assert notes == ["d", "c", "b", "a"]
    warning, *errors = program_log.records
    assert (warning.level, warning.text.rpartition(" ")[2]) == ("WARNING", "LookupError")
    assert [said.text.partition(": ")[2] for said in errors] == ["c's entry: OSError: bad", "a: OSError: bad"]


@pytest.mark.parametrize("when", ["between steps", "within a step"])
def test_signal(notes: list[str], when: str) -> None:
    """A signal between steps ends the call; one within a step waits until its undo is armed."""

    def create() -> str:
        if when == "within a step":
            interrupt()
        return "a"

    def body(undo: Undo) -> None:
        undo.create(create, notes.append)
        if when == "between steps":
            interrupt()
        notes.append("went on")

    with pytest.raises(Interrupted):
        undoing(Undo(), body)
    assert notes == ["a"]


def test_signal_during_the_undo(notes: list[str]) -> None:
    """A signal while the undo steps run interrupts none of them."""

    def discard(created: str) -> None:
        interrupt()
        notes.append(created)

    def body(undo: Undo) -> None:
        undo.create(lambda: "a", discard)
        undo.create(lambda: "b", discard)
        raise LookupError

    with pytest.raises(LookupError):
        undoing(Undo(), body)
    assert notes == ["b", "a"]


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
        undoing(Undo(), body)
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
        undoing(Undo(), body)
    assert notes == ["a"]
