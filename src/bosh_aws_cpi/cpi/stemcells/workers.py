"""Threads for an upload: as many as the limits of this process permit, or none."""

from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock, Thread, stack_size
from typing import Final, Generic, TypeVar

from bosh_aws_cpi.log import logger

Job = TypeVar("Job")
Result = TypeVar("Result")

_STACK: Final = 2 << 20
_ARENA: Final = 128 << 20
"""The most address space that the GNU C library reserves for a thread's allocations (malloc/arena.c)."""
_SHARE: Final = 4 << 20
"""A thread's share of the work: two blocks, the SDK's copies of them, a connection."""
_PAGE: Final = 4096


class Workers(Generic[Job, Result]):
    """Carries out jobs in threads. If no thread can be started, the caller's thread does the work.

    A thread is started only if it leaves enough memory for the work. RLIMIT_AS also counts reserved memory.

    Args:
        work: Carries out a job.
        most: The maximum number of threads.
    """

    def __init__(self, work: Callable[[Job], Result], most: int) -> None:
        self.pending = 0
        """The number of jobs whose results are not collected yet."""
        self._work = work
        self._most = most
        self._threads: list[Thread] = []
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._done: SimpleQueue[Result | BaseException] = SimpleQueue()

    @property
    def is_busy(self) -> bool:
        """Whether every thread has a job, and another one waits for it."""
        return self.pending >= max(1, 2 * len(self._threads))

    def submit(self, job: Job) -> None:
        """Start a job; without threads, carry it out."""
        if len(self._threads) < self._most:
            self._start_thread()
        self.pending += 1
        if self._threads:
            self._jobs.put(job)
        else:
            self._done.put(self._outcome(job))

    def collect(self, seconds: float) -> list[Result]:
        """The new results; waits so many seconds at most for the first one.

        Raises:
            Exception: The error of a job.
            MemoryError: A thread has ended without a result.
        """
        results: list[Result] = []
        with suppress(Empty):
            outcome = self._done.get(timeout=seconds)
            while True:
                self.pending -= 1
                if isinstance(outcome, BaseException):
                    raise outcome
                results.append(outcome)
                outcome = self._done.get_nowait()
        if not all(thread.is_alive() for thread in self._threads):
            raise MemoryError
        return results

    def end(self) -> None:
        """Wait for the jobs, and end the threads."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()

    def _start_thread(self) -> None:
        count = len(self._threads) + 1
        ready = Lock()
        try:
            bytes(_STACK + _ARENA + count * _SHARE)  # fails if there is less; its pages are never used
            stack_size(_STACK)
            thread = Thread(target=self._run, args=(ready,), daemon=True)
            ready.acquire()
            thread.start()
            _await(thread, ready)
            self._threads.append(thread)
        except (MemoryError, RuntimeError) as error:
            said = str(error) or "too little memory"
            logger.warning(
                "Uploading in %d of %d threads, because of a limit: %s", count - 1, self._most, said
            )
            self._most = count - 1

    def _run(self, ready: Lock) -> None:
        with suppress(MemoryError):
            bytes(_PAGE)  # the C library reserves the thread's memory now
        ready.release()
        while (job := self._jobs.get()) is not None:
            self._done.put(self._outcome(job))
            del job  # frees its memory while the thread waits

    def _outcome(self, job: Job) -> Result | BaseException:
        try:
            return self._work(job)
        except BaseException as error:  # noqa: BLE001 - `collect` raises it
            return error


def _await(thread: Thread, ready: Lock) -> None:
    """Wait until a thread has its memory.

    Raises:
        MemoryError: It ended before.
    """
    while not ready.acquire(timeout=1):
        if not thread.is_alive():
            raise MemoryError
