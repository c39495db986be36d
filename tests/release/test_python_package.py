"""How the package of Python compiles, with stand-ins for CPython's source and for compilers."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
import tarfile
from typing import TYPE_CHECKING

import pytest

from bosh_release import blobs
from testbed.job import PYTHON

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAME = "Python-3.13.99"
UNUSED = ("test", "ctypes", "curses", "dbm", "ensurepip", "idlelib", "pydoc_data", "site-packages", "sqlite3")
UNUSED_TOO = ("tkinter", "turtle.py", "turtledemo", "venv")
CONFIGURE = """#!/bin/sh
echo "CC=$STAND_INS/cc" | cat - makefile.txt >Makefile
"""
MAKEFILE = """
MODULE__SSL_STATE=yes
MODULE__HASHLIB_STATE=yes
MODULE_ZLIB_STATE=yes
.NOTPARALLEL:
sharedmods: objects.o
\t@cp program python
\t@mkdir -p built && touch built/_ssl.so built/_sysconfigdata_x.py && echo built >pybuilddir.txt
objects.o: | _bootstrap_python Programs/_freeze_module
\t@echo "compiles [$(CFLAGS_NODIST)] [$(LDFLAGS_NODIST)] $(AR)" >>"$$STAND_INS/log"
\t@[ -z "$$BREAKS" ] || [ -z "$(findstring -flto,$(LDFLAGS_NODIST))" ]
\t@touch objects.o
_bootstrap_python Programs/_freeze_module: always
\t@echo "links $@" >>"$$STAND_INS/log"
always:
clean:
\t@echo "$@" >>"$$STAND_INS/log"
\t@rm -f objects.o
"""
PROGRAM = """#!/bin/sh
case "$*" in
*training.py)
    echo trains >>"$STAND_INS/log"
    : >seen-1.profraw
    exit "$TRAINING"
    ;;
esac
"""
COMPILER = """#!/bin/sh
case "$*" in
--version) echo "$COMPILER" ;;
-dumpversion) echo 97.1 ;;
-print-prog-name=*) echo "$STAND_INS/profdata" ;;
*) [ -z "$REFUSES" ] && printf '#!/bin/sh\\n' >count && chmod +x count ;;
esac
"""
PROFDATA = """#!/bin/sh
[ "$*" = "merge --help" ] || echo "profdata $*" >>"$STAND_INS/log"
"""
LIBRARIAN = """#!/bin/sh
[ -z "$LACKS_GCC_AR" ]
"""
PROCESSORS = """#!/bin/sh
echo 3
"""
LINKS = ["links _bootstrap_python", "links Programs/_freeze_module"]
GCC = [*LINKS, "compiles [-fprofile-generate] [-fprofile-generate] ar", *["trains"] * 3]
LTO = "-flto=3 -fuse-linker-plugin"
USED = "-fprofile-use -fprofile-correction -Wno-missing-profile -Wno-error=coverage-mismatch"
WHOLE = f"compiles [{USED} {LTO}] [{LTO}] gcc-ar-97"
PARTS = f"compiles [{USED} ] [] ar"
CLANG = [*LINKS, "compiles [-fprofile-instr-generate] [-fprofile-instr-generate] ar", *["trains"] * 3]
PLAIN = [*LINKS, "compiles [] [] ar"]


def executable(path: Path, text: str) -> None:
    """Write a program."""
    path.write_text(text)
    path.chmod(0o755)


def source(folder: Path) -> bytes:
    """Return a source that compiles to a program of a few lines."""
    root = folder / NAME
    for name in ("Modules", *(f"Lib/{each}" for each in (*UNUSED, *UNUSED_TOO))):
        (root / name).mkdir(parents=True)
    (root / "Lib" / "compileall.py").touch()
    (root / "LICENSE").touch()
    executable(root / "configure", CONFIGURE)
    executable(root / "program", PROGRAM)
    (root / "makefile.txt").write_text(MAKEFILE)
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:xz") as archive:
        archive.add(root, NAME)
    return made.getvalue()


@pytest.fixture
def compiled(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that compiles the package, in folders with a space in their names."""
    stand_ins, sources = tmp_path / "stand-ins", tmp_path / "the sources"
    (sources / "python").mkdir(parents=True)
    (sources / "bosh_release").mkdir()
    stand_ins.mkdir()
    executable(stand_ins / "cc", COMPILER)
    executable(stand_ins / "gcc-ar-97", LIBRARIAN)
    executable(stand_ins / "gcc-ranlib-97", LIBRARIAN)
    executable(stand_ins / "getconf", PROCESSORS)
    content = source(tmp_path / "made")
    (sources / "python" / f"{NAME}.tar.xz").write_bytes(content)
    (sources / "python" / "Python-3.13.98.tar.xz").write_bytes(b"of an earlier release")
    listed = f"{hashlib.sha256(content).hexdigest()}  python/{NAME}.tar.xz\n"
    (sources / blobs.SOURCE_HASH).write_text(listed)
    shutil.copy(blobs.ROOT / "packages" / PYTHON / "packaging", sources)

    def run(**settings: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": f"{stand_ins}:{os.environ['PATH']}",
            "STAND_INS": str(stand_ins),
            "COMPILER": "gcc",
            "TRAINING": "0",
        }
        target = {"BOSH_INSTALL_TARGET": str(tmp_path / "the target")}
        return subprocess.run(
            ["bash", "packaging"],  # noqa: S607 - whichever there is
            check=False,
            capture_output=True,
            text=True,
            cwd=sources,
            env={**environment, **target, **settings},
        )

    return run


@pytest.fixture
def log(tmp_path: Path) -> Callable[[], list[str]]:
    """Return a function that tells what was done."""
    return lambda: (tmp_path / "stand-ins" / "log").read_text().splitlines()


def test_gcc_compiles_with_a_profile(
    compiled: Callable[..., subprocess.CompletedProcess[str]], log: Callable[[], list[str]], tmp_path: Path
) -> None:
    """The program is compiled, trained, and compiled with LTO; the package has nothing of the training."""
    ended = compiled()
    assert ended.returncode == 0, ended.stderr
    assert log() == [*GCC, WHOLE]
    found = {
        str(path.relative_to(tmp_path / "the target")) for path in (tmp_path / "the target").rglob("*.*")
    }
    library = "lib/python3.13"
    modules = {
        f"{library}/{each}" for each in ("compileall.py", "_sysconfigdata_x.py", "lib-dynload/_ssl.so")
    }
    assert found == {library, "bin/python3.13", *modules}


def test_clang_compiles_with_a_profile(
    compiled: Callable[..., subprocess.CompletedProcess[str]], log: Callable[[], list[str]], tmp_path: Path
) -> None:
    """The profile of clang is merged before it is used."""
    executable(tmp_path / "stand-ins" / "profdata", PROFDATA)
    ended = compiled(COMPILER="Apple clang version 17")
    assert ended.returncode == 0, ended.stderr
    *before, merged, last = log()
    assert before == CLANG
    assert merged == "profdata merge -o profile.data seen-1.profraw"
    assert last == "compiles [-fprofile-instr-use=profile.data ] [] ar"


@pytest.mark.parametrize(
    ("settings", "tried"),
    [({"LACKS_GCC_AR": "yes"}, []), ({"BREAKS": "yes"}, [WHOLE])],
    ids=["no-ar", "breaks"],
)
def test_gcc_without_link_time_optimization(
    settings: dict[str, str],
    tried: list[str],
    compiled: Callable[..., subprocess.CompletedProcess[str]],
    log: Callable[[], list[str]],
) -> None:
    """A gcc that can't do it, or fails, compiles with what was counted and links as usual."""
    ended = compiled(**settings)
    assert ended.returncode == 0, ended.stderr
    assert log() == [*GCC, *tried, PARTS]
    assert "compiling without link-time optimization" in ended.stderr


@pytest.mark.parametrize("settings", [{"REFUSES": "yes"}, {"COMPILER": "clang"}], ids=["gcc", "clang"])
def test_compiler_without_profiles(
    settings: dict[str, str],
    compiled: Callable[..., subprocess.CompletedProcess[str]],
    log: Callable[[], list[str]],
) -> None:
    """A compiler that can't count, or whose counts can't be merged, compiles once and without a profile."""
    ended = compiled(**settings)
    assert ended.returncode == 0, ended.stderr
    assert log() == PLAIN
    assert "compiling without a profile" in ended.stderr


def test_build_of_a_developer(
    compiled: Callable[..., subprocess.CompletedProcess[str]], log: Callable[[], list[str]], tmp_path: Path
) -> None:
    """With the file that marks a developer's build, it compiles once and without a profile."""
    (tmp_path / "the sources" / "bosh_release" / "python.developer-build").touch()
    ended = compiled()
    assert ended.returncode == 0, ended.stderr
    assert log() == PLAIN
    assert "compiling without a profile" in ended.stderr


def test_failed_training(
    compiled: Callable[..., subprocess.CompletedProcess[str]], log: Callable[[], list[str]]
) -> None:
    """A program that can't be trained is thrown away, and compiled without a profile."""
    ended = compiled(TRAINING="1")
    assert ended.returncode == 0, ended.stderr
    assert log() == [*GCC[:4], "clean", *PLAIN]
    assert "compiling without a profile" in ended.stderr
