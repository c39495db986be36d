"""Nothing orphaned: what was made is removed again unless the whole succeeds."""

from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import Self, TypeVar

from bosh_aws_cpi import interrupts
from bosh_aws_cpi.log import logger

Made = TypeVar("Made")


class Undo:
    """A context in which each step that makes something arms its removal at once.

    When the context is left by an error or a signal, the removals run, last made first.
    One that fails is logged with what it leaves behind and hides neither the first error
    nor the other removals. When it is left without an error, they are forgotten.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._is_armed = False

    def __enter__(self) -> Self:
        return self

    def make(self, make: Callable[[], Made], remove: Callable[[Made], object]) -> Made:
        """Make something and arm its removal; a signal waits until both are done.

        Args:
            make: Makes it; when this fails, there is nothing to remove.
            remove: Removes what ``make`` returned.
        """
        with interrupts.shielded():
            made = make()
            self._stack.callback(self._attempt, remove, made)
            self._is_armed = True
        return made

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        interrupts.close()
        if kind is None:
            self._stack.pop_all()
        elif self._is_armed:
            logger.warning("Removing what was made, after %s: %s", kind.__name__, error)
            self._stack.close()

    @staticmethod
    def _attempt(remove: Callable[[Made], object], made: Made) -> None:
        try:
            remove(made)
        except Exception as error:  # noqa: BLE001 - the first error is the one that counts
            logger.error("Left behind, removing it failed: %s: %s: %s", made, type(error).__name__, error)
