"""Small HTTP servers on the loopback interface, for one `with` block."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

REQUEST_ID = "x-amzn-RequestId"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
PAUSE = 0.02
"""Seconds between two bytes of a slow answer."""


@dataclass(frozen=True)
class Request:
    """One request as it came in; header names are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Reply:
    """The answer to a request."""

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    request_id: str = ""
    """AWS's, in the header of its JSON protocols."""
    pieces: Iterator[bytes] | None = None
    """Sent in place of all of this, one by one, until there are no more or the client hangs up."""


def slowly(answer: bytes = HEAD + b"X-Long: " + b"x" * 60_000) -> Iterator[bytes]:
    """The bytes of an answer, of which nobody can await the last."""
    pacer = threading.Event()
    for byte in answer:
        yield bytes([byte])
        pacer.wait(PAUSE)


def endlessly() -> Iterator[bytes]:
    """An answer without an end, as fast as it is read."""
    return itertools.chain([HEAD + b"\r\n"], itertools.repeat(b"x" * 65_536))


class _Server(ThreadingHTTPServer):
    """Does not report clients that close their connection during an answer."""

    owner: LoopbackServer

    def handle_error(self, request: object, client_address: object) -> None:
        del request, client_address


class _Handler(BaseHTTPRequestHandler):
    """Passes requests to its server."""

    server: _Server

    def _serve(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, self.path, headers, self.rfile.read(size))
        reply = self.server.owner.take(request)
        if reply.pieces is not None:
            self.close_connection = True
            for piece in reply.pieces:
                self.wfile.write(piece)
            return
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.content_type)
        self.send_header("Content-Length", str(len(reply.body)))
        if reply.request_id:
            self.send_header(REQUEST_ID, reply.request_id)
        if reply.status == HTTPStatus.FOUND:
            self.send_header("Location", "/")
        self.end_headers()
        self.wfile.write(reply.body)

    do_GET = do_PUT = do_POST = do_DELETE = _serve  # noqa: N815 - the library's names

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


class LoopbackServer:
    """A server that records its requests; subclasses answer them."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.owner = self
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def take(self, request: Request) -> Reply:
        """Record a request and answer it, one at a time."""
        with self._lock:
            self.requests.append(request)
            return self.reply(request)

    def reply(self, request: Request) -> Reply:
        """Answer a request."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
