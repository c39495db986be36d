"""Removing several things, of which any may fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bosh_aws_cpi.aws.sdk.errors import in_turn
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.interrupts import Interrupted

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.conftest import ProgramLog


@pytest.fixture
def taken() -> list[str]:
    """Return a list of the steps that were taken."""
    return []


@pytest.fixture
def step(taken: list[str]) -> Callable[..., Callable[[], object]]:
    """Return a function that makes a step, with the error it ends with."""

    def make(name: str, error: BaseException | None = None) -> Callable[[], object]:
        def take() -> object:
            taken.append(name)
            if error:
                raise error
            return "of no interest"

        return take

    return make


def test_order(step: Callable[..., Callable[[], object]], taken: list[str], program_log: ProgramLog) -> None:
    """The steps are taken in their order; nothing is logged when all succeed."""
    in_turn(step("b"), step("a"), step("c"))
    in_turn()
    assert taken == ["b", "a", "c"]
    assert program_log.records == []


def test_first_error(
    step: Callable[..., Callable[[], object]], taken: list[str], program_log: ProgramLog
) -> None:
    """Every step is taken whatever fails; the first error is raised, and each further one is logged."""
    first = CloudError("first")
    steps = [step("a"), step("b", first), step("c", ValueError("second")), step("d", CloudError("third"))]
    with pytest.raises(CloudError) as caught:
        in_turn(*steps, step("e"))
    assert caught.value is first
    assert taken == ["a", "b", "c", "d", "e"]
    assert [(record.level, record.text) for record in program_log.records] == [
        ("ERROR", "Another cleanup step failed: ValueError: second"),
        ("ERROR", "Another cleanup step failed: CloudError: third"),
    ]


def test_signal(step: Callable[..., Callable[[], object]], taken: list[str]) -> None:
    """A signal ends the whole at once."""
    with pytest.raises(Interrupted):
        in_turn(step("a", Interrupted("SIGTERM")), step("b"))
    assert taken == ["a"]
