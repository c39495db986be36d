"""Keeps all frames in one chunk of memory, because CPython would map and unmap chunks thousands of times.

CPython 3.11 to 3.13 keeps frames in chunks of 16 KiB, and returns a chunk to the system when the first frame
in it ends. When a loop calls functions across the end of a chunk, as deep imports that compile regular
expressions do, each call maps and unmaps memory: 3,000 to 5,000 page faults in a create_vm. One chunk saves
15 ms of create_vm with CPython 3.11, and 30 ms of has_vm and 40 ms of create_disk with CPython 3.13
(docs/decisions/start-up.md).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Final

WORDS: Final = 1 << 14
"""The size of the outermost frame, 128 KiB: the chunk that CPython maps for it has room for all others."""


def roomy(code: CodeType) -> CodeType:
    """Return a function's code with a frame so large that the frames of all inner calls fit in its chunk."""
    return code.replace(co_stacksize=WORDS)
