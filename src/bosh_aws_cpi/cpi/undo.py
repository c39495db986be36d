"""Nothing orphaned: what was made is removed again unless the whole succeeds."""

from collections.abc import Callable
from typing import TypeVar

from bosh_aws_cpi import interrupts
from bosh_aws_cpi.aws.sdk import errors
from bosh_aws_cpi.errors import BoshError
from bosh_aws_cpi.log import logger

Made = TypeVar("Made")
Result = TypeVar("Result")


class Undo:
    """Removals that were armed, each in the step that made the thing; see `undoing`."""

    def __init__(self) -> None:
        self._removals: list[Callable[[], None]] = []

    def make(self, make: Callable[[], Made], remove: Callable[[Made], object]) -> Made:
        """Make something and arm its removal; a signal waits until both are done.

        Args:
            make: Makes it; when this fails, there is nothing to remove.
            remove: Removes what ``make`` returned.
        """
        with interrupts.shielded():
            made = make()
            self.arm(made, lambda: remove(made))
        return made

    def arm(self, what: object, remove: Callable[[], object]) -> None:
        """Arm a removal that is right whether or not the thing will be there.

        Args:
            what: What is removed, for the log: its text.
            remove: Removes it.
        """
        self._removals.append(lambda: _attempt(what, remove))

    def run(self, reason: str) -> None:
        """Remove everything, last made first.

        A removal that fails is logged with what may be left behind and hides no other.

        Args:
            reason: Why, for the log, in a few words: the whole error is told in the end.
        """
        if self._removals:
            logger.warning("Removing what was made, after %s", reason)
        while self._removals:
            self._removals[-1]()
            self._removals.pop()  # only now: a removal that a signal cut off is made again


def undoing(body: Callable[[Undo], Result]) -> Result:
    """Run a body whose every step that makes something arms its removal.

    When the body is ended by an error or a signal, the removals run and hide nothing of it.
    When it succeeds, they are forgotten and no signal ends the call any more.

    A function and not a context manager: Python may raise a signal's exception as the very
    first thing in ``__exit__``, before a line of it has run, and nothing would be removed.
    Here that exception, too, comes inside the ``try``.

    Args:
        body: Makes things with the `Undo` it is given.
    """
    undo = Undo()
    try:
        result = body(undo)
        interrupts.close()
    except BaseException as error:
        waiting = None
        try:  # no context manager here either, for the same reason
            waiting = interrupts.pending()
            interrupts.close()
        except interrupts.Interrupted:
            logger.warning("A signal came while the call was ending anyway")
        undo.run(errors.code_of(error) or type(error).__name__)
        if waiting is not None and _is_passing(error):  # without the signal it would have been waited out
            raise interrupts.Interrupted(waiting) from error
        raise
    return result


def _is_passing(error: BaseException) -> bool:
    return error.ok_to_retry if isinstance(error, BoshError) else errors.is_passing(error)


def _attempt(what: object, remove: Callable[[], object]) -> None:
    try:
        remove()
    except Exception as error:  # noqa: BLE001 - the first error is the one that counts
        logger.error("Perhaps left behind, removing it failed: %s: %s: %s", what, type(error).__name__, error)
