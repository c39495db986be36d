"""Stand-ins between a client and a server: a relay that sees headers, and an HTTP proxy."""

from __future__ import annotations

from dataclasses import dataclass
from http.client import HTTPConnection
from urllib.parse import SplitResult, parse_qs, urlsplit, urlunsplit

from testbed.loopback import REQUEST_ID, LoopbackServer, Reply, Request, _Handler

LOOPBACK = frozenset({"127.0.0.1", "localhost"})
PATIENCE = 60.0
_PER_CONNECTION = frozenset({"connection", "proxy-connection", "proxy-authorization", "keep-alive"})


@dataclass(frozen=True)
class AwsCall:
    """A request to AWS, with its sender according to its headers."""

    action: str
    access_key_id: str
    region: str
    token: str | None
    parameters: dict[str, str]

    @classmethod
    def read(cls, request: Request) -> AwsCall:
        """Read a request in AWS's query protocol."""
        parameters = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
        _, _, scope = request.headers.get("authorization", "").partition("Credential=")
        key, _, region, *_ = [*scope.split(",")[0].split("/"), "", "", ""]
        token = request.headers.get("x-amz-security-token")
        return cls(parameters["Action"], key, region, token, parameters)


class Relay(LoopbackServer):
    """Passes each request on to one server, and records it with its headers."""

    def __init__(self, upstream: str) -> None:
        super().__init__()
        self._upstream = urlsplit(upstream)

    @property
    def calls(self) -> list[AwsCall]:
        """The requests so far, read as calls of AWS."""
        return [AwsCall.read(request) for request in self.requests]

    def reply(self, request: Request) -> Reply:
        """Pass on the server's answer."""
        return pass_on(request, self._upstream, request.path)


class Proxy(LoopbackServer):
    """An HTTP proxy from which nothing leaves the loopback interface.

    Requests for a loopback address go there. Requests for any other host go to one given
    server. Tunnels (CONNECT) are refused with a 502.
    """

    def __init__(self, upstream: str = "") -> None:
        """Send the requests for all other hosts to this server; without one they fail."""
        super().__init__()
        self._server.RequestHandlerClass = _TunnelHandler
        self._upstream = urlsplit(upstream)

    @property
    def tunnels(self) -> list[str]:
        """The hosts and ports of the requested tunnels."""
        return [request.path for request in self.requests if request.method == "CONNECT"]

    @property
    def hosts(self) -> list[str]:
        """The hosts and ports of the requests without a tunnel."""
        return [urlsplit(request.path).netloc for request in self.requests if request.method != "CONNECT"]

    def reply(self, request: Request) -> Reply:
        """Pass on the answer of the requested server."""
        target = urlsplit(request.path)
        server = target if target.hostname in LOOPBACK else self._upstream
        if request.method == "CONNECT" or not server.hostname:
            return Reply(502, b"out of reach", "text/plain")
        return pass_on(request, server, urlunsplit(("", "", target.path, target.query, "")))


class _TunnelHandler(_Handler):
    """Accepts requests for a tunnel too."""

    def do_CONNECT(self) -> None:  # noqa: N802 - the library's name
        self._serve()


def pass_on(request: Request, server: SplitResult, path: str) -> Reply:
    """Send a request to a server; returns its answer."""
    headers = {name: value for name, value in request.headers.items() if name not in _PER_CONNECTION}
    connection = HTTPConnection("127.0.0.1", server.port or 80, timeout=PATIENCE)
    try:
        connection.request(request.method, path, request.body, headers)
        answer = connection.getresponse()
        kind, request_id = (
            answer.headers.get("Content-Type", "text/plain"),
            answer.headers.get(REQUEST_ID, ""),
        )
        return Reply(answer.status, answer.read(), kind, request_id)
    finally:
        connection.close()
