"""How the package of Python compiles, with stand-ins for CPython's source and for compilers."""

import hashlib
import io
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from bosh_release import blobs
from testbed.job import PYTHON

NAME = "Python-3.13.99"
UNUSED = ("test", "ctypes", "curses", "dbm", "ensurepip", "idlelib", "pydoc_data", "site-packages", "sqlite3")
UNUSED_TOO = ("tkinter", "turtle.py", "turtledemo", "venv")
CONFIGURE = """#!/bin/sh
echo "configures $*" | sed 's/ ac_.*OPT=-O2//' >>"$STAND_INS/log"
case "$REFUSES $*" in yes*--enable-optimizations*) exit 1 ;; esac
cp makefile.txt Makefile
echo "MODULE_ZLIB_STATE=${ZLIB:-yes}" >>Makefile
case "$BREAKS $*" in yes*--enable-optimizations*) echo FAILS=yes >>Makefile ;; esac
"""
MAKEFILE = """
PGO_PROF_GEN_FLAG=-fprofile-generate
MODULE__SSL_STATE=yes
MODULE__HASHLIB_STATE=yes
all:
\t@echo "compiles [$(PGO_PROF_GEN_FLAG)] [$(PROFILE_TASK)]" >>"$$STAND_INS/log"
\t@[ -f training.py ] && [ -z "$(FAILS)" ]
\t@cp program python
\t@mkdir -p built && touch built/_ssl.so built/_sysconfigdata_x.py && echo built >pybuilddir.txt
clean:
\t@echo "$@" >>"$$STAND_INS/log"
"""
PROGRAM = """#!/bin/sh
"""
COMPILES = "compiles [-fprofile-generate -fno-lto] [-I -S training.py]"
WATCHED = ["configures --enable-optimizations --with-lto", COMPILES]
PLAIN = ["configures", COMPILES]


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
    content = source(tmp_path / "made")
    (sources / "python" / f"{NAME}.tar.xz").write_bytes(content)
    (sources / "python" / "Python-3.13.98.tar.xz").write_bytes(b"of an earlier release")
    listed = f"{hashlib.sha256(content).hexdigest()}  python/{NAME}.tar.xz\n"
    (sources / blobs.SOURCE_HASH).write_text(listed)
    shutil.copy(blobs.ROOT / "packages" / PYTHON / "packaging", sources)
    shutil.copy(blobs.ROOT / "src" / "bosh_release" / "training.py", sources / "bosh_release")

    def run(**settings: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": os.environ["PATH"], "STAND_INS": str(stand_ins)}
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


def test_compiled_with_a_profile(
    compiled: Callable[..., subprocess.CompletedProcess[str]], log: Callable[[], list[str]], tmp_path: Path
) -> None:
    """CPython's makefile compiles, trains and compiles again; the package has nothing of the training."""
    ended = compiled()
    assert ended.returncode == 0, ended.stderr
    assert log() == WATCHED
    found = {
        str(path.relative_to(tmp_path / "the target")) for path in (tmp_path / "the target").rglob("*.*")
    }
    library = "lib/python3.13"
    modules = {
        f"{library}/{each}" for each in ("compileall.py", "_sysconfigdata_x.py", "lib-dynload/_ssl.so")
    }
    assert found == {library, "bin/python3.13", *modules}


@pytest.mark.parametrize(
    ("settings", "tried"),
    [({"REFUSES": "yes"}, WATCHED[:1]), ({"BREAKS": "yes"}, [*WATCHED, "clean"])],
    ids=["refuses", "breaks"],
)
def test_machine_without_profiles(
    settings: dict[str, str],
    tried: list[str],
    compiled: Callable[..., subprocess.CompletedProcess[str]],
    log: Callable[[], list[str]],
) -> None:
    """Where configure refuses to compile with a profile, or the compiler fails, it compiles without one."""
    ended = compiled(**settings)
    assert ended.returncode == 0, ended.stderr
    assert log() == [*tried, *PLAIN]
    assert "compiling without a profile" in ended.stderr


def test_missing_headers(
    compiled: Callable[..., subprocess.CompletedProcess[str]], log: Callable[[], list[str]]
) -> None:
    """Without zlib's headers it ends before it compiles anything, and says what to install."""
    ended = compiled(ZLIB="missing")
    assert ended.returncode == 1
    assert ended.stderr.startswith("aws-cpi-python-3.13: needs ")
    assert log() == WATCHED[:1]


def test_build_of_a_developer(
    compiled: Callable[..., subprocess.CompletedProcess[str]], log: Callable[[], list[str]], tmp_path: Path
) -> None:
    """With the file that marks a developer's build, it compiles once and without a profile."""
    (tmp_path / "the sources" / "bosh_release" / "python.developer-build").touch()
    ended = compiled()
    assert ended.returncode == 0, ended.stderr
    assert log() == PLAIN
    assert "compiling without a profile" in ended.stderr
