"""One piece of memory for the frames of all calls, where CPython would map and unmap it thousands of times.

CPython 3.11 to 3.13 keeps frames in pieces of 16 KiB, and returns a piece to the system with the first frame
in it. When a loop calls across the border of two pieces, as deep imports that compile regular expressions do,
each call maps and unmaps memory: 3,000 to 5,000 page faults in a create_vm. Measured, as
docs/decisions/start-up.md tells: 15 ms of create_vm with CPython 3.11, 30 ms of has_vm and 40 ms of
create_disk with CPython 3.13.
"""

from types import CodeType
from typing import Final

WORDS: Final = 1 << 14
"""The size of the frame, 128 KiB: the memory that CPython maps for it has room for all frames within."""


def roomy(code: CodeType) -> CodeType:
    """Return the code of a function with so large a frame that all calls within fit into the same memory."""
    return code.replace(co_stacksize=WORDS)
