"""Run a Python program and write how many modules it has loaded in the end: `loaded.py FILE PROGRAM ...`.

PROGRAM is a script, or a folder that can be run. This imports nothing that is not built into Python, but
runpy for a folder, as Python itself does.
"""

import atexit
import sys


def main() -> None:
    """Become the program."""
    file, *sys.argv = sys.argv[1:]
    program = sys.argv[0]
    leave = sys.modules["posix"]._exit  # noqa: SLF001 - what os hands out

    def tell() -> None:
        with open(file, "w") as written:  # noqa: PTH123 - pathlib would be loaded, and counted
            written.write(str(len(sys.modules)))

    def tell_and_leave(status: int) -> None:
        tell()
        leave(status)

    atexit.register(tell)
    for name in ("posix", "os"):
        if name in sys.modules:
            sys.modules[name]._exit = tell_and_leave  # type: ignore[attr-defined]  # noqa: SLF001 - as above
    try:
        with open(program, "rb") as script:  # noqa: PTH123 - as above
            code = compile(script.read(), program, "exec")
    except IsADirectoryError:
        import runpy  # noqa: PLC0415 - not for a script

        runpy.run_path(program, run_name="__main__")
    else:
        sys.path[0] = program.rpartition("/")[0]
        exec(code, {"__name__": "__main__", "__file__": program})  # noqa: S102 - Python does no more


if __name__ == "__main__":
    main()
