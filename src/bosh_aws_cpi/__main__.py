"""Where the executable starts: it makes imports lazy, catches signals, and loads all else only then.

CPython has lazy imports from 3.15 on (PEP 810): a module is loaded when one of the names that an import
statement binds is first used, and most of what the libraries import is never used in a call. To import this
module changes nothing.
"""

import _signal  # type: ignore[import-not-found] # what `signal` imports first takes longer than all else here
import sys


def hold_signals() -> None:
    """Hold signals back until `interrupts` catches them; before, they end the process without an answer."""
    _signal.pthread_sigmask(_signal.SIG_BLOCK, (_signal.SIGHUP, _signal.SIGINT, _signal.SIGTERM))


def run() -> None:
    """Run the executable; the process exits in it."""
    hold_signals()
    if turn_on := getattr(sys, "set_lazy_imports", None):
        turn_on("all")
    from bosh_aws_cpi import interrupts  # noqa: PLC0415 - only after the switch

    interrupts.install()
    from bosh_aws_cpi import process  # noqa: PLC0415 - a signal that comes meanwhile is answered

    process.run()


if __name__ == "__main__":
    run()
