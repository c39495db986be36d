"""Runs the executable on a terminal: a pseudoterminal takes the place of some of its streams."""

import contextlib
import os
import subprocess
import termios
import threading
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from testbed.executable import PATIENCE, Answer

ALL = ("stdin", "stdout", "stderr")
END = b"\x04"
"""Ctrl-D: at the beginning of a line it ends what is typed."""
_OUTPUT, _LOCAL = 1, 3
"""Places in a terminal's attributes."""


def run(
    command: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    *,
    columns: int = 80,
    typed: bytes = b"",
    streams: Collection[str] = ALL,
) -> Answer:
    """Run a command, and wait for its end.

    Args:
        command: The command.
        environment: Its whole environment.
        folder: Where it runs.
        columns: The terminal's width; 0 for a terminal that does not know its own.
        typed: What is typed; if stdin is not the terminal, its content.
        streams: Those that are the terminal; the others are pipes.

    Returns:
        Its answer. What it wrote to the terminal is its stdout, also if only stderr is the terminal.
    """
    near, far = os.openpty()
    attributes = termios.tcgetattr(far)
    attributes[_OUTPUT] &= ~termios.OPOST  # newlines as they are written
    attributes[_LOCAL] &= ~termios.ECHO
    termios.tcsetattr(far, termios.TCSANOW, attributes)
    termios.tcsetwinsize(far, (24, columns))
    ends = [far if name in streams else subprocess.PIPE for name in ALL]
    process = subprocess.Popen(
        command, stdin=ends[0], stdout=ends[1], stderr=ends[2], env=environment, cwd=folder
    )
    os.close(far)
    shown = bytearray()
    reader = threading.Thread(target=_read, args=(near, shown))
    reader.start()
    try:
        if "stdin" in streams:
            os.write(near, typed)
        piped, stderr = process.communicate(None if "stdin" in streams else typed, timeout=PATIENCE)
    finally:
        process.kill()
        process.wait()
        reader.join()
        os.close(near)
    return Answer(bytes(shown) + (piped or b""), (stderr or b"").decode(), process.returncode, 0.0)


def _read(terminal: int, shown: bytearray) -> None:
    """Read what is shown until the last process has left the terminal, which Linux tells as an error."""
    with contextlib.suppress(OSError):
        while chunk := os.read(terminal, 1 << 16):
            shown += chunk
