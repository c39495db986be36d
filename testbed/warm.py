"""The executable without its start: forked from a process that has loaded it already.

For the many tests that are about what a call does and answers. What is about starting the executable, its
arguments, its streams and what it loads runs it as it ships, and so do the console, `make demo` and the
end-to-end suite.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import IO, Self

from testbed.cloud import scrubbed_environment
from testbed.warm_server import NUMBER


class Forked:
    """A process of the executable; as far as tests need it, it is used like a `subprocess.Popen`."""

    def __init__(self, connection: socket.socket, streams: Sequence[int]) -> None:
        self._connection = connection
        self.pid = int.from_bytes(connection.recv(NUMBER, socket.MSG_WAITALL), "big")
        self.stdin: IO[bytes] | None = os.fdopen(streams[0], "wb", buffering=0)
        self.stdout: IO[bytes] = os.fdopen(streams[1], "rb")
        self.stderr: IO[bytes] = os.fdopen(streams[2], "rb")
        self.returncode: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close_stdin()
        self.wait()
        self.stdout.close()
        self.stderr.close()
        self._connection.close()

    def poll(self) -> int | None:
        """Look whether it has ended."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, so many seconds at most.

        Raises:
            subprocess.TimeoutExpired: It still runs.
        """
        if self.returncode is None:
            self._connection.settimeout(timeout)
            try:
                told = self._connection.recv(NUMBER, socket.MSG_WAITALL)
            except (BlockingIOError, TimeoutError):
                raise subprocess.TimeoutExpired("cpi", timeout or 0) from None
            self.returncode = int.from_bytes(told, "big", signed=True)
        return self.returncode

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def communicate(self, given: bytes | None = None, timeout: float | None = None) -> tuple[bytes, bytes]:
        """Write its request, read its streams to their ends, and wait for it, so many seconds at most.

        Raises:
            subprocess.TimeoutExpired: It still runs.
        """
        is_late = threading.Event()

        def end() -> None:
            is_late.set()
            self.kill()

        watch = threading.Timer(timeout or threading.TIMEOUT_MAX, end)
        watch.start()
        try:
            with ThreadPoolExecutor(2) as readers:
                stdout, stderr = readers.submit(self.stdout.read), readers.submit(self.stderr.read)
                if given and self.stdin:
                    with suppress(BrokenPipeError):  # it ended without reading them
                        self.stdin.write(given)
                self._close_stdin()
            self.wait()
        finally:
            watch.cancel()
            watch.join()
        if is_late.is_set():
            raise subprocess.TimeoutExpired("cpi", timeout or 0)
        return stdout.result(), stderr.result()

    def _close_stdin(self) -> None:
        if self.stdin:
            self.stdin.close()
            self.stdin = None


class Warm:
    """The process to fork from, for one `with` block."""

    def __init__(self, speed: float = 1) -> None:
        self._speed = speed
        self._home = ""
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._home = tempfile.mkdtemp(prefix="warm-")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "testbed.warm_server", self.path, str(self._speed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=scrubbed_environment(self._home),
            cwd=self._home,
        )
        assert self._process.stdout is not None  # noqa: S101 - tells the type checker
        if self._process.stdout.readline() != b"ready\n":
            self.__exit__()
            raise RuntimeError("the process to fork from did not start")
        return self

    def __exit__(self, *_: object) -> None:
        """End it: it ends with its standard input."""
        if self._process is not None:
            self._process.communicate()
            self._process = None
        shutil.rmtree(self._home, ignore_errors=True)

    @property
    def path(self) -> str:
        """The path of its socket, for `fork`."""
        return str(Path(self._home) / "socket")


def fork(path: str, arguments: Sequence[str], environment: Mapping[str, str], folder: Path) -> Forked:
    """Start the executable."""
    request = {"arguments": list(arguments), "environment": dict(environment), "folder": str(folder)}
    pipes = [os.pipe() for _ in range(3)]
    far = [pipes[0][0], pipes[1][1], pipes[2][1]]
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(path)
        socket.send_fds(connection, [json.dumps(request).encode()], far)
    finally:
        for descriptor in far:
            os.close(descriptor)
    return Forked(connection, [pipes[0][1], pipes[1][0], pipes[2][0]])
