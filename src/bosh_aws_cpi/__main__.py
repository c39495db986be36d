"""The start of the executable: makes imports lazy, catches signals, and then loads the other modules.

CPython has lazy imports from 3.15 on (PEP 810): a module is loaded when a name from its import statement is
first used. A call never uses most modules that the libraries import. To import this module has no effect.
"""

import _signal  # type: ignore[import-not-found] # the imports of `signal` take longer than all else here
import sys


def hold_signals() -> None:
    """Block signals until `interrupts` catches them; else they would end the process without a response."""
    _signal.pthread_sigmask(_signal.SIG_BLOCK, (_signal.SIGHUP, _signal.SIGINT, _signal.SIGTERM))


def run() -> None:
    """Run the executable, and exit the process."""
    hold_signals()
    if turn_on := getattr(sys, "set_lazy_imports", None):
        turn_on("all")
    from bosh_aws_cpi import interrupts  # noqa: PLC0415 - after set_lazy_imports

    interrupts.install()
    from bosh_aws_cpi import process  # noqa: PLC0415 - a signal that comes meanwhile is answered

    process.run()


if __name__ == "__main__":
    run()
