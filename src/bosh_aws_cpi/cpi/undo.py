"""Undo: a call that fails discards the resources that it created."""

from collections.abc import Callable
from typing import TypeVar

from bosh_aws_cpi import interrupts
from bosh_aws_cpi.aws.sdk import errors
from bosh_aws_cpi.errors import BoshError
from bosh_aws_cpi.log import logger

Created = TypeVar("Created")
Result = TypeVar("Result")


class Undo:
    """The undo steps, each armed by the step that creates; see `run_with_undo`."""

    def __init__(self) -> None:
        self._steps: list[Callable[[], None]] = []

    def create(self, create: Callable[[], Created], discard: Callable[[Created], object]) -> Created:
        """Create something and arm the step that discards it; a signal is held back until both are done.

        Args:
            create: Creates it; when this fails, there is nothing to discard.
            discard: Discards what ``create`` returned.

        Raises:
            Interrupted: Before or after the creation, because of a signal or because the caller is gone.
        """
        interrupts.check()
        with interrupts.shielded():
            created = create()
            self.arm(created, lambda: discard(created))
        return created

    def arm(self, what: object, discard: Callable[[], object]) -> None:
        """Arm an undo step that is correct whether or not the resource will exist.

        Args:
            what: The resource or change that is undone; the log shows it as a string.
        """
        self._steps.append(lambda: attempt(what, discard))

    def run(self, reason: str) -> None:
        """Run the undo steps, the last one first.

        A step that fails is logged with the resource that may be left behind; the other steps still run.

        Args:
            reason: The reason in a few words, for the log: the caller gets the whole error.
        """
        if self._steps:
            logger.warning("Deleting the resources that this call created, after %s", reason)
        while self._steps:
            self._steps[-1]()
            self._steps.pop()  # only now: a step that a signal cut off runs again


def run_with_undo(undo: Undo, body: Callable[[Undo], Result]) -> Result:
    """Run a body that arms an undo step for everything that it creates.

    When an error, a signal or the loss of the caller ends the body, the undo steps run, and the error is
    raised unchanged. When the body succeeds, signals no longer end the call; the undo steps stay armed,
    because the caller may be gone by the time the answer is written.

    This is a function and not a context manager: Python may raise a signal's exception as the very
    first thing in ``__exit__``, before a line of it has run, and then nothing would be discarded. Here
    even that exception is raised inside the ``try``.

    Args:
        undo: Gets the steps; `Cloud.undo`, except in tests.
        body: Creates resources with the `Undo` that it is given.
    """
    try:
        interrupts.end_without_caller()
        result = body(undo)
        interrupts.close()
    except BaseException as error:
        waiting = None
        try:  # no context manager here either, for the same reason
            waiting = interrupts.pending()
            interrupts.close()
        except interrupts.Interrupted:
            logger.warning("Ignored a signal: the call was already ending")
        undo.run(errors.code_of(error) or type(error).__name__)
        if waiting is not None and _is_transient(error):  # without the signal, the call would have retried
            raise interrupts.Interrupted(waiting) from error
        raise
    return result


def _is_transient(error: BaseException) -> bool:
    return error.ok_to_retry if isinstance(error, BoshError) else errors.is_transient(error)


def attempt(what: object, discard: Callable[[], object]) -> None:
    """Discard something; a failure is logged with what may be left behind."""
    try:
        discard()
    except Exception as error:  # noqa: BLE001 - the caller gets the first error
        message = f"{type(error).__name__}: {error}"
        logger.error("Perhaps left behind, because its undo failed: %s: %s", what, message)
