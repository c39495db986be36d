"""Where the executable starts: it makes imports lazy, catches signals, and loads all else only then.

CPython has lazy imports from 3.15 on (PEP 810): a module is loaded when one of the names that an import
statement binds is first used, and most of what the libraries import is never used in a call. Before, the
executable does the same for `typing` alone. To import this module changes nothing.
"""

import sys
from types import ModuleType


class _Typing(ModuleType):
    """The module `typing`, whose code runs when anything but `TYPE_CHECKING` is first read from it.

    `info` reads nothing else, and that code takes a seventh of it (docs/decisions/start-up.md). Unlike in an
    import statement there is no lock: something must be read before the first thread starts.
    """

    TYPE_CHECKING = False

    def __getattr__(self, name: str) -> object:
        if name == "__path__":  # each import statement asks whether it is a package
            raise AttributeError(name)
        self.__class__ = ModuleType  # type: ignore[assignment] # from now on a module like any other
        try:
            self.__loader__.exec_module(self)  # type: ignore[union-attr]
        except BaseException:
            del sys.modules["typing"]  # as an import statement does: the next one tries again
            raise
        return getattr(self, name)


def run() -> None:
    """Run the executable; the process exits in it."""
    if turn_on := getattr(sys, "set_lazy_imports", None):
        turn_on("all")
    if "typing" not in sys.modules:
        found = (finder.find_spec("typing", None) for finder in sys.meta_path)
        spec = next(filter(None, found))
        sys.modules["typing"] = typing = _Typing("typing")
        typing.__spec__, typing.__loader__, typing.__file__ = spec, spec.loader, spec.origin
    from bosh_aws_cpi import interrupts  # noqa: PLC0415 - only after the switch

    interrupts.install()
    from bosh_aws_cpi import process  # noqa: PLC0415 - a signal that comes meanwhile is answered

    process.run()


if __name__ == "__main__":
    run()
