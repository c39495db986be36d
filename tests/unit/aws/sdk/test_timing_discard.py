"""Removals: of what AWS does not know yet, and against throttling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.errors import has_code

if TYPE_CHECKING:
    from tests.unit.conftest import Clock, ProgramLog

GONE = frozenset({"InvalidVolume.NotFound"})
UNKNOWN = "InvalidVolume.NotFound"
THROTTLED = "RequestLimitExceeded"


class Deletion:
    """Refuses with one code after the other, the last one again and again; empty: it is done."""

    def __init__(self, *codes: str) -> None:
        """Begin with the first code."""
        self._codes = list(codes)
        self.calls = 0

    def __call__(self) -> None:
        """Refuse, or remove."""
        self.calls += 1
        code = self._codes.pop(0) if len(self._codes) > 1 else self._codes[0]
        if code:
            raise ClientError({"Error": {"Code": code, "Message": "said"}}, "DeleteVolume")


def discard(deletion: Deletion, **policy: Any) -> None:
    """Remove it."""
    timing.discard("volume 'vol-1'", lambda error: has_code(error, GONE), deletion, **policy)


def infos(program_log: ProgramLog) -> list[str]:
    """List what was logged for operators."""
    return [record.text for record in program_log.records if record.level != "DEBUG"]


def test_at_once(clock: Clock, program_log: ProgramLog) -> None:
    """An existing resource is deleted by one call, without a log line."""
    deletion = Deletion("")
    discard(deletion)
    assert (deletion.calls, clock.pauses, infos(program_log)) == (1, [], [])


def test_not_seen_yet(clock: Clock, program_log: ProgramLog) -> None:
    """The deletion is retried while AWS does not know the resource yet."""
    deletion = Deletion(UNKNOWN, UNKNOWN, "")
    discard(deletion)
    assert (deletion.calls, len(clock.pauses), infos(program_log)) == (3, 2, [])


def test_never_seen(clock: Clock, program_log: ProgramLog) -> None:
    """A resource that is unknown for a minute counts as gone, and that is logged."""
    deletion = Deletion(UNKNOWN)
    discard(deletion)
    assert 60 <= clock.now <= 66
    assert deletion.calls == len(clock.pauses) + 1
    assert infos(program_log) == ["There is no volume 'vol-1': it is gone, or was never created"]


def test_seen_before(clock: Clock, program_log: ProgramLog) -> None:
    """A resource that AWS has shown before is gone as soon as it is unknown."""
    deletion = Deletion(UNKNOWN)
    discard(deletion, policy=timing.AT_ONCE)
    assert (deletion.calls, clock.pauses) == (1, [])
    assert infos(program_log) == ["There is no volume 'vol-1': it is gone, or was never created"]


@pytest.mark.parametrize("policy", [{}, {"policy": timing.AT_ONCE}], ids=["new", "seen"])
def test_throttled(clock: Clock, policy: dict[str, Any]) -> None:
    """Throttling is waited out for longer than the unknown is, also of what was seen before."""
    deletion = Deletion(*[THROTTLED] * 50, "")
    discard(deletion, **policy)
    assert (deletion.calls, len(clock.pauses)) == (51, 50)
    assert clock.now > timing.VISIBLE.seconds


@pytest.mark.parametrize("policy", [{}, {"policy": timing.AT_ONCE}], ids=["new", "seen"])
def test_throttled_for_good(clock: Clock, policy: dict[str, Any]) -> None:
    """Throttling that does not end within two minutes is an error: the deletion is not certain."""
    with pytest.raises(ClientError, match=THROTTLED):
        discard(Deletion(THROTTLED), **policy)
    assert 120 <= clock.now <= 125.25


@pytest.mark.parametrize("codes", [["UnauthorizedOperation"], [UNKNOWN, "UnauthorizedOperation"]])
def test_refused(clock: Clock, program_log: ProgramLog, codes: list[str]) -> None:
    """Any other refusal ends it at once: the deletion is not certain."""
    deletion = Deletion(*codes)
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        discard(deletion)
    assert (deletion.calls, len(clock.pauses)) == (len(codes), len(codes) - 1)
    assert infos(program_log) == []
