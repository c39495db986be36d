"""The memory for frames: in one piece, for as long as the interpreter needs that."""

from __future__ import annotations

import subprocess
import sys

from bosh_release import blobs

MEASURED = {(3, 11), (3, 12), (3, 13)}
"""The versions of CPython that need it, by measurement."""
FAULTS = """
import resource, sys
from bosh_aws_cpi.process import FRAME_WORDS

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def call():
    return None

def loop():
    before = faults()
    for _ in range(2000):
        call()
    return faults() - before

def deep(depth):
    return deep(depth - 1) if depth else loop()

def main():
    return max(deep(depth) for depth in range(300))

if sys.argv[1:] == ["roomy"]:
    main.__code__ = main.__code__.replace(co_stacksize=FRAME_WORDS)
print(main())
"""


def page_faults(*arguments: str) -> int:
    """Call a function 2,000 times at each of 300 depths; return the most page faults of one depth."""
    command = [sys.executable, "-c", FAULTS, *arguments]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_room_for_all_frames() -> None:
    """With room for all frames no call costs a page fault, however deep it is."""
    assert page_faults("roomy") < 100


def test_the_interpreter_needs_it() -> None:
    """Without it each call at some depth costs one; where that has changed, it is to be deleted."""
    is_measured = sys.version_info[:2] in MEASURED
    assert not is_measured or page_faults() >= 2000, f"Python {sys.version} keeps frames otherwise"


def test_interpreter_of_the_release() -> None:
    """The release's interpreter is one that it was measured with; another one is measured first."""
    version = tuple(map(int, blobs.PYTHON.split(".")))
    assert version in MEASURED, "run `make bench` with and without FRAME_WORDS"
