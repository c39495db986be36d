"""Starts a program under the system call filter of bpm's containers; needs Python's own library alone.

The filter is bpm's for x86_64 (bpm-release, src/bpm/runc/specbuilder/seccomp.go, November 2026), which lists
the calls that it permits. Here are those that are not on that list and that a program without capabilities
may make: the kernel itself refuses the others. As runc adds (libcontainer/seccomp/patchbpf), calls that are
newer than all of the list are unknown, not forbidden.
"""

import ctypes
import errno
import os
import signal
import struct
import sys

X86_64 = 0xC000003E
"""The kernel's AUDIT_ARCH_X86_64."""
NEWEST = 437
"""openat2: the newest call that bpm's list has."""
CLONE, PERSONALITY, CLONE3 = 56, 135, 435
NEW_NAMESPACES = 0x7C020000
"""CLONE_NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET: clone is permitted without them."""
PERSONALITIES = (0, 8, 0xFFFFFFFF)
FORBIDDEN = {
    "ptrace": 101,
    "ustat": 136,
    "sysfs": 139,
    "mbind": 237,
    "set_mempolicy": 238,
    "get_mempolicy": 239,
    "add_key": 248,
    "request_key": 249,
    "keyctl": 250,
    "migrate_pages": 256,
    "unshare": 272,
    "move_pages": 279,
    "perf_event_open": 298,
    "name_to_handle_at": 303,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "kcmp": 312,
    "bpf": 321,
    "userfaultfd": 323,
    "membarrier": 324,
    "pkey_mprotect": 329,
    "pkey_alloc": 330,
    "pkey_free": 331,
    "io_pgetevents": 333,
    "rseq": 334,
    "pidfd_send_signal": 424,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "pidfd_open": 434,
    "close_range": 436,
}
"""Calls that fail with EPERM, by name, with their numbers on x86_64 (asm/unistd_64.h)."""

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
"""Operations of classic BPF (linux/bpf_common.h)."""
_NUMBER, _ARCHITECTURE, _ARGUMENT = 0, 4, 16
"""Offsets into the kernel's struct seccomp_data."""
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_PR_SET_SECCOMP, _FILTER_MODE = 22, 2


def program() -> bytes:
    """Write the filter."""
    forbidden = _ERROR | errno.EPERM
    unknown = _ERROR | errno.ENOSYS
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, X86_64),
        (_RETURN, 0, 0, forbidden),
        (_LOAD, 0, 0, _NUMBER),
        (_EQUAL, 0, 1, CLONE3),
        (_RETURN, 0, 0, unknown),
        (_AT_LEAST, 0, 1, NEWEST + 1),
        (_RETURN, 0, 0, unknown),
    ]
    for number in sorted(FORBIDDEN.values()):
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, forbidden)]
    steps += [
        (_EQUAL, 0, 4, CLONE),
        (_LOAD, 0, 0, _ARGUMENT),
        (_ANY_BIT, 0, 1, NEW_NAMESPACES),
        (_RETURN, 0, 0, forbidden),
        (_RETURN, 0, 0, _ALLOW),
        (_EQUAL, 0, 5, PERSONALITY),
        (_LOAD, 0, 0, _ARGUMENT),
        *((_EQUAL, 3 - place, 0, value) for place, value in enumerate(PERSONALITIES)),
        (_RETURN, 0, 0, forbidden),
        (_RETURN, 0, 0, _ALLOW),
    ]
    # A jump past the last comparison leads to the permission.
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def apply() -> None:
    """Put this process, and all that it starts, under the filter; it may gain no privileges already."""
    text = program()
    buffer = ctypes.create_string_buffer(text, len(text))
    steps = len(text) // struct.calcsize("HBBI")
    described = ctypes.create_string_buffer(struct.pack("HP", steps, ctypes.addressof(buffer)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _FILTER_MODE, ctypes.byref(described), 0, 0):
        raise OSError(ctypes.get_errno(), "the system call filter can't be applied")


if __name__ == "__main__":
    if os.uname().machine == "x86_64":
        apply()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and a program would inherit that
    for name in ("LC_CTYPE", "OLDPWD", "PWD"):  # from Python, and from the shell before it
        os.environ.pop(name, None)
    os.execv(sys.argv[1], sys.argv[1:])  # noqa: S606 - no shell is wanted
