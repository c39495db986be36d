"""Holds calls and answers, delays answers, and closes connections."""

import contextlib
import os
import socket
import struct
import threading
from typing import NoReturn

from werkzeug.wrappers import Request

PATIENCE = 60.0
"""Seconds after which a held answer is sent, and a wait for one ends."""


def is_gone(request: Request) -> bool:
    """Whether the client has closed its connection, as the system does when it is killed."""
    connection: socket.socket = request.environ["werkzeug.socket"]
    try:
        return not connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def drop(request: Request, *, is_reset: bool = False) -> NoReturn:
    """Close a connection in the middle of a call, like a network failure, or reset it."""
    connection: socket.socket = request.environ["werkzeug.socket"]
    with contextlib.suppress(OSError):  # the client may be gone already
        if is_reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            os.close(connection.detach())  # closing with this option sends the reset
        else:
            connection.shutdown(socket.SHUT_RDWR)
    # This ends werkzeug's work on the call without an answer.
    raise ConnectionAbortedError


class Hold:
    """Keeps held and late calls and answers until their release."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._held: list[str] = []
        self._releases = 0

    def hold(self, action: str) -> None:
        """Hold the calling thread until the next release."""
        with self._condition:
            self._held.append(action)
            self._condition.notify_all()
            if not self._wait_for_release(PATIENCE):
                self._held.remove(action)

    def delay(self, seconds: float) -> None:
        """Delay the calling thread for some seconds, or until the next release; it does not count as held."""
        with self._condition:
            self._wait_for_release(seconds)

    def release(self) -> None:
        """Release everything that is held or late now."""
        with self._condition:
            self._releases += 1
            self._held.clear()  # at once: what waits next must not find these calls
            self._condition.notify_all()

    def wait(self, seconds: float) -> list[str]:
        """Wait until something is held; returns the held actions, none if the time is over."""
        with self._condition:
            self._condition.wait_for(lambda: self._held, timeout=seconds)
            return list(self._held)

    def _wait_for_release(self, seconds: float) -> bool:
        mine = self._releases
        return self._condition.wait_for(lambda: self._releases > mine, timeout=seconds)
