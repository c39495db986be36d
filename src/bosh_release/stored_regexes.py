"""Regular expressions, compiled when BOSH compiles the package: ``stored_regexes.py LIB`` stores their code.

Python compiles each expression of each module that it loads in every process: a sixth of what `has_vm`
executes (docs/performance.md). `record` stores the code of those that the CPI's modules, and the
libraries that they import, compile while they are loaded; `use` lets `re` take it from there. What is not
stored, and all of it with another interpreter, is compiled as ever.
"""

import _sre  # type: ignore[import-not-found] # the engine of `re`
import marshal
import sys
from re import _compiler  # type: ignore[attr-defined]

NAME = "regexes.marshal"
_OF = (_sre.MAGIC, _sre.CODESIZE, sys.hexversion)
"""What compiled code is for: this interpreter."""


def use(lib: str) -> None:
    """Let `re` use the stored code from now on, if there is any for this interpreter."""
    try:
        with open(f"{lib}/{NAME}", "rb") as file:  # noqa: PTH123 - pathlib compiles expressions itself
            of, stored = marshal.loads(file.read())  # noqa: S302 - as trusted as the bytecode beside it
    except (OSError, EOFError, ValueError, TypeError):
        return
    if of != _OF:
        return
    plain = _compiler.compile

    def compiled(pattern: object, flags: int = 0) -> object:
        known = stored.get((pattern, flags))
        if known is None:
            return plain(pattern, flags)
        all_flags, code, *groups = known
        return _sre.compile(pattern, all_flags, memoryview(code).cast("I").tolist(), *groups)

    _compiler.compile = compiled


def record(lib: str) -> None:
    """Load all modules of the CPI, and store what they compile. In a process that did nothing before."""
    from array import array  # noqa: PLC0415 - a call, which also loads this module, needs none of these
    from importlib import import_module  # noqa: PLC0415
    from pkgutil import walk_packages  # noqa: PLC0415
    from types import SimpleNamespace  # noqa: PLC0415

    stored = {}
    plain = _compiler.compile

    def noted(pattern: object, flags: int = 0) -> object:
        def note(_pattern: object, all_flags: int, code: list[int], *groups: object) -> object:
            if not all_flags & _compiler.SRE_FLAG_LOCALE:
                stored[pattern, int(flags)] = (all_flags, array("I", code).tobytes(), *groups)
            return _sre.compile(pattern, all_flags, code, *groups)

        _compiler._sre = SimpleNamespace(**{**vars(_sre), "compile": note})  # noqa: SLF001
        return plain(pattern, flags)

    _compiler.compile = noted
    sys.path.insert(0, lib)
    program = import_module("bosh_aws_cpi")
    for module in walk_packages(program.__path__, "bosh_aws_cpi."):
        import_module(module.name)
    with open(f"{lib}/{NAME}", "wb") as file:  # noqa: PTH123
        marshal.dump((_OF, stored), file)


if __name__ == "__main__":
    record(sys.argv[1])
