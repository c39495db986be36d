"""Nothing orphaned: what was made is removed again unless the whole succeeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bosh_aws_cpi.cpi.undo import Undo, undoing

if TYPE_CHECKING:
    from tests.unit.conftest import ProgramLog

pytestmark = pytest.mark.usefixtures("signals")


class Maker:
    """Makes things and removes them, and notes both.

    Attributes:
        notes: What was done, in its order.
    """

    def __init__(self, undo: Undo) -> None:
        """Make things under this undo."""
        self.notes: list[str] = []
        self._undo = undo

    def make(self, name: str, failing: BaseException | None = None) -> str:
        """Make a thing; its removal fails with the error given."""

        def make() -> str:
            self.notes.append(f"make {name}")
            return name

        return self._undo.create(make, lambda created: self._remove(created, failing))

    def _remove(self, name: str, failing: BaseException | None) -> None:
        self.notes.append(f"remove {name}")
        if failing is not None:
            raise failing


def test_success() -> None:
    """When all goes well the body's result is returned and nothing is removed."""
    makers: list[Maker] = []

    def body(undo: Undo) -> str:
        makers.append(Maker(undo))
        makers[0].make("a")
        return makers[0].make("b")

    assert undoing(Undo(), body) == "b"
    assert makers[0].notes == ["make a", "make b"]


def test_failure(program_log: ProgramLog) -> None:
    """An error removes everything, last made first, and goes on as it is; the log says why."""
    error = LookupError("said")
    makers: list[Maker] = []

    def body(undo: Undo) -> None:
        makers.append(Maker(undo))
        makers[0].make("a")
        makers[0].make("b")
        raise error

    with pytest.raises(LookupError) as caught:
        undoing(Undo(), body)
    assert caught.value is error
    assert makers[0].notes == ["make a", "make b", "remove b", "remove a"]
    (record,) = program_log.records
    assert record.level == "WARNING"
    assert record.text == "Deleting the resources that this call created, after LookupError"


def test_nothing_made(program_log: ProgramLog) -> None:
    """A step that made nothing has nothing to remove, and nothing is said of it."""

    def make() -> str:
        raise LookupError

    def remove(made: str) -> None:
        pytest.fail(f"{made} was never made")

    with pytest.raises(LookupError):
        undoing(Undo(), lambda undo: undo.create(make, remove))
    assert program_log.records == []


def test_removal_that_fails(program_log: ProgramLog) -> None:
    """A removal that fails is logged with what it leaves; the others run, the first error goes on."""
    first = LookupError("first")
    makers: list[Maker] = []

    def body(undo: Undo) -> None:
        makers.append(Maker(undo))
        makers[0].make("a", ValueError("worse"))
        makers[0].make("b")
        makers[0].make("c", OSError("bad"))
        raise first

    with pytest.raises(LookupError) as caught:
        undoing(Undo(), body)
    assert caught.value is first
    assert makers[0].notes[3:] == ["remove c", "remove b", "remove a"]
    errors = [record.text for record in program_log.records if record.level == "ERROR"]
    assert errors == [
        "Perhaps left behind, because its undo failed: c: OSError: bad",
        "Perhaps left behind, because its undo failed: a: ValueError: worse",
    ]


def test_armed_removals(program_log: ProgramLog) -> None:
    """A removal armed by itself runs in its turn, and is told by the words that it was given."""
    notes: list[str] = []

    def fail() -> None:
        notes.append("remove b")
        raise ValueError("worse")

    def body(undo: Undo) -> None:
        undo.arm("'i-1' in 'a'", lambda: notes.append("remove a"))
        undo.arm("'i-1' in 'b'", fail)
        undo.create(lambda: "c", lambda created: notes.append(f"remove {created}"))
        raise LookupError

    with pytest.raises(LookupError):
        undoing(Undo(), body)
    assert notes == ["remove c", "remove b", "remove a"]
    errors = [record.text for record in program_log.records if record.level == "ERROR"]
    assert errors == ["Perhaps left behind, because its undo failed: 'i-1' in 'b': ValueError: worse"]


def test_armed_before_a_step_that_fails() -> None:
    """A removal armed before the step runs although the step failed: its answer may have been lost."""
    removed: list[str] = []

    def body(undo: Undo) -> None:
        undo.arm("a", lambda: removed.append("a"))
        raise LookupError

    with pytest.raises(LookupError):
        undoing(Undo(), body)
    assert removed == ["a"]


def test_caller_gone_after_success() -> None:
    """After a success the undo steps stay armed, and run if the caller is gone."""
    notes: list[str] = []
    undo = Undo()
    undoing(undo, lambda undo: undo.create(lambda: "a", lambda created: notes.append(f"remove {created}")))
    assert notes == []
    undo.run("its response could not be written")
    assert notes == ["remove a"]
