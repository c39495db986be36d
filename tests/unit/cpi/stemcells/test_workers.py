"""Threads of an upload, where the system refuses some of them."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

import pytest

from bosh_aws_cpi.cpi.stemcells import snapshot_upload
from bosh_aws_cpi.cpi.stemcells.snapshot_upload import Workers
from bosh_aws_cpi.interrupts import Interrupted

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.conftest import ProgramLog

PATIENCE = 30.0


def drained(of: Workers[int, int]) -> list[int]:
    """Collect all results, and end the threads."""
    results: list[int] = []
    while of.pending:
        results += of.collect(PATIENCE)
    of.end()
    return sorted(results)


@pytest.fixture
def permit(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that lets only so many threads start, as RLIMIT_NPROC does for users but root."""

    def set_limit(most: int) -> None:
        permitted = iter(range(most))

        class Limited(threading.Thread):
            def start(self) -> None:
                if next(permitted, None) is None:
                    raise RuntimeError("can't start new thread")
                super().start()

        monkeypatch.setattr(snapshot_upload, "Thread", Limited)

    return set_limit


@pytest.mark.parametrize("most", [0, 1, 3, 8])
def test_limit(permit: Callable[[int], None], program_log: ProgramLog, most: int) -> None:
    """The threads that can be started do all jobs; without any, the caller's thread does them."""
    permit(most)
    names: set[str] = set()

    def work(job: int) -> int:
        names.add(threading.current_thread().name)
        return job * job

    four: Workers[int, int] = Workers(work, 4)
    for job in range(20):
        four.submit(job)
    assert drained(four) == [job * job for job in range(20)]
    assert ("MainThread" in names) is (most == 0)
    said = f"Uploading in {most} of 4 threads, because of a limit: can't start new thread"
    assert [each.text for each in program_log.records] == ([said] if most < 4 else [])


@pytest.mark.parametrize("most", [0, 2])
def test_error(permit: Callable[[int], None], most: int) -> None:
    """The error of a job is raised where its result is collected."""
    permit(most)
    two: Workers[int, float] = Workers(lambda job: 1 / job, 2)
    two.submit(0)
    with pytest.raises(ZeroDivisionError):
        two.collect(PATIENCE)
    two.end()


def test_thread_that_is_lost() -> None:
    """The loss of a thread that can't report its error is an error."""
    one: Workers[int, int] = Workers(lambda job: job, 1)
    one.submit(1)
    assert one.collect(PATIENCE) == [1]
    one.end()
    one.submit(2)
    with pytest.raises(MemoryError):
        one.collect(0)


@pytest.mark.usefixtures("signals")
def test_signal_while_a_thread_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each thread is ended and waited for, also the one that a signal found starting."""
    let_go = threading.Event()
    many: Workers[int, bool] = Workers(lambda _: let_go.wait(PATIENCE), 2)
    many.submit(1)

    class Met(threading.Thread):
        def start(self) -> None:
            super().start()
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(snapshot_upload, "Thread", Met)
    before = threading.active_count()
    with pytest.raises(Interrupted):
        many.submit(2)
    assert threading.active_count() == before + 1
    ending = threading.Thread(target=many.end, daemon=True)
    ending.start()
    let_go.set()
    ending.join(PATIENCE)
    assert threading.active_count() == before - 1
