"""Regular expressions, compiled when BOSH compiles the package: ``stored_regexes.py LIB`` stores their code.

Python compiles each expression of each module that it loads in every process: a sixth of what `has_vm`
executes (docs/performance.md). `record` stores the code of the expressions that the CPI's modules, and the
libraries that they import, compile while they are loaded; `use` lets `re` take the stored code. Expressions
that are not stored, or that another interpreter has stored, are compiled as usual.
"""

import _sre  # type: ignore[import-not-found] # the engine of `re`
import marshal
import sys
from re import _compiler  # type: ignore[attr-defined]

STORE = "regexes.marshal"
_INTERPRETER = (_sre.MAGIC, _sre.CODESIZE, sys.hexversion)
"""The interpreter for which the code is compiled."""


def use(lib: str) -> None:
    """Let `re` use the stored code from now on, if this interpreter has stored it."""
    try:
        with open(f"{lib}/{STORE}", "rb") as file:  # noqa: PTH123 - pathlib compiles expressions itself
            interpreter, stored = marshal.loads(file.read())  # noqa: S302 - as trusted as the bytecode beside it
    except (OSError, EOFError, ValueError, TypeError):
        return
    if interpreter != _INTERPRETER:
        return
    original = _compiler.compile

    def compile_stored(pattern: object, flags: int = 0) -> object:
        entry = stored.get((pattern, flags))
        if entry is None:
            return original(pattern, flags)
        all_flags, code, *groups = entry
        return _sre.compile(pattern, all_flags, memoryview(code).cast("I").tolist(), *groups)

    _compiler.compile = compile_stored


def record(lib: str) -> None:
    """Load all modules of the CPI, and store the expressions that they compile, in a new process."""
    from array import array  # noqa: PLC0415 - a call also loads this module, but needs none of these
    from importlib import import_module  # noqa: PLC0415
    from pkgutil import walk_packages  # noqa: PLC0415
    from types import SimpleNamespace  # noqa: PLC0415

    stored = {}
    original = _compiler.compile

    def compile_and_note(pattern: object, flags: int = 0) -> object:
        def note(_pattern: object, all_flags: int, code: list[int], *groups: object) -> object:
            if not all_flags & _compiler.SRE_FLAG_LOCALE:
                stored[pattern, int(flags)] = (all_flags, array("I", code).tobytes(), *groups)
            return _sre.compile(pattern, all_flags, code, *groups)

        _compiler._sre = SimpleNamespace(**{**vars(_sre), "compile": note})  # noqa: SLF001
        return original(pattern, flags)

    _compiler.compile = compile_and_note
    sys.path.insert(0, lib)
    program = import_module("bosh_aws_cpi")
    for module in walk_packages(program.__path__, "bosh_aws_cpi."):
        import_module(module.name)
    with open(f"{lib}/{STORE}", "wb") as file:  # noqa: PTH123
        marshal.dump((_INTERPRETER, stored), file)


if __name__ == "__main__":
    record(sys.argv[1])
