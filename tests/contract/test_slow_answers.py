"""Answers that come byte by byte, or that have no end: each attempt has a limit of time and of size."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from testbed import imds
from testbed.cloud import FakeAws
from testbed.executable import ABSENT, Answer, Cpi, config
from testbed.imds import Imds
from testbed.loopback import HEAD, LoopbackServer, Reply, Request, endlessly, slowly
from testbed.proxy import AwsCall, Proxy, Relay
from testbed.registry import PASSWORD, USER

pytestmark = pytest.mark.usefixtures("hasty")

VM, DISK = "i-00000000000000001", "vol-00000000000000001"
KEYLESS: dict[str, Any] = {
    "access_key_id": ABSENT,
    "secret_access_key": ABSENT,
    "credentials_source": "env_or_profile",
}
LONG = HEAD + b"Content-Length: 1000000\r\n\r\n" + b"x" * 60_000


class Sender(LoopbackServer):
    """Sends the same bytes whatever it is asked."""

    def __init__(self, pieces: Callable[[], Iterator[bytes]]) -> None:
        """Send what this returns for each request."""
        super().__init__()
        self._pieces = pieces

    def reply(self, request: Request) -> Reply:  # noqa: ARG002 - the answer is always the same
        """Answer."""
        return Reply(0, pieces=self._pieces())


class SlowOnce(Relay):
    """Passes each call on to AWS, and sends the answer to the first call of an action too slowly."""

    def __init__(self, upstream: str, action: str) -> None:
        """Relay to AWS."""
        super().__init__(upstream)
        self._action = action

    def reply(self, request: Request) -> Reply:
        """Let AWS carry out the call."""
        answer = super().reply(request)
        actions = [call.action for call in self.calls]
        is_first = AwsCall.read(request).action == self._action and actions.count(self._action) == 1
        return Reply(0, pieces=slowly(LONG)) if is_first else answer


def failed(answer: Answer, *words: str, is_retriable: bool = False) -> None:
    """Check for a typed error in these words."""
    assert answer.error["type"] == "Bosh::Clouds::CloudError"
    assert answer.error["ok_to_retry"] is is_retriable
    for word in words:
        assert word in answer.error["message"]


@pytest.mark.parametrize(
    ("pieces", "problem"),
    [(slowly, "ReadTimeoutError"), (lambda: slowly(LONG), "ReadTimeoutError"), (endlessly, "AWS could not")],
    ids=["headers", "body", "endless"],
)
def test_aws(pieces: Callable[[], Iterator[bytes]], problem: str) -> None:
    """A call that AWS answers too slowly, or without an end, is one that AWS did not answer."""
    with Sender(pieces) as server:
        answer = Cpi(config(server.url, max_retries=0)).call("has_disk", DISK)
        assert len(server.requests) == 1
    failed(answer, problem, server.url, is_retriable=True)


def test_retry(fake_aws: FakeAws) -> None:
    """A slow answer is retried like any other attempt that AWS did not answer."""
    with SlowOnce(fake_aws.endpoint, "DescribeVolumes") as front:
        answer = Cpi(config(front.url, max_retries=1)).call("has_disk", DISK)
        assert [call.action for call in front.calls] == ["DescribeVolumes"] * 2
    assert answer.ok() is False
    assert "1 AWS call, 1 retry" in answer.stderr


def test_proxy() -> None:
    """A proxy that opens a tunnel too slowly is one that does not answer."""
    with SlowProxy() as proxy:
        document = config("https://127.0.0.2:1", max_retries=0)
        answer = Cpi(document, env={"HTTPS_PROXY": proxy.url}).call("has_disk", DISK)
        assert proxy.tunnels == ["127.0.0.2:1"]
    failed(answer, "AWS could not be called", is_retriable=True)


class SlowProxy(Proxy):
    """Opens tunnels too slowly."""

    def reply(self, request: Request) -> Reply:  # noqa: ARG002 - the answer is always the same
        """Answer."""
        return Reply(0, pieces=slowly())


@pytest.mark.parametrize(
    ("pieces", "problem"),
    [(slowly, "timed out"), (endlessly, "the answer has more than 4194304 bytes")],
    ids=["slow", "endless"],
)
def test_registry(fake_aws: FakeAws, pieces: Callable[[], Iterator[bytes]], problem: str) -> None:
    """A registry that answers too slowly or endlessly fails the call, which names it."""
    with Sender(pieces) as registry:
        section = {"endpoint": registry.url, "user": USER, "password": PASSWORD}
        answer = Cpi(config(fake_aws.endpoint, registry=section)).call("detach_disk", VM, DISK, stemcell=1)
    failed(answer, f"Cannot read settings for '{VM}': ", problem, f"(registry at {registry.url})")


@pytest.mark.parametrize("case", ["token", "keys"])
def test_instance_profile(fake_aws: FakeAws, case: str) -> None:
    """Metadata that comes too slowly is asked for again; a token is not, so there are no keys."""
    path = {"token": "/latest/api/token", "keys": imds.CREDENTIALS + imds.ROLE}[case]
    with OddImds(path, lambda: slowly(LONG)) as server:
        answer = Cpi(config(fake_aws.endpoint, **KEYLESS), env=server.environment).call("has_disk", DISK)
        asked = [request.path for request in server.requests].count(path)
    if case == "token":
        failed(answer, "MetadataRetrievalError", "Unable to retrieve token")
        assert asked == 1
    else:
        assert answer.ok() is False
        assert asked == 2


def test_container_that_says_too_much(fake_aws: FakeAws) -> None:
    """A container's keys are not used if they are longer than any honest ones."""
    body = json.dumps(imds.credentials()).encode() + b" " * 70_000
    head = HEAD + f"Content-Length: {len(body)}\r\n\r\n".encode()
    with Sender(lambda: iter([head, body])) as server:
        env = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{server.url}/keys"}
        answer = Cpi(config(fake_aws.endpoint, **KEYLESS), env=env).call("has_disk", DISK)
    failed(answer)
    assert fake_aws.actions() == []


class OddImds(Imds):
    """Answers the first request for a path with other bytes."""

    def __init__(self, path: str, pieces: Callable[[], Iterator[bytes]]) -> None:
        """Send what this returns."""
        super().__init__()
        self._path = path
        self._pieces = pieces

    def reply(self, request: Request) -> Reply:
        """Answer."""
        is_first = [each.path for each in self.requests].count(self._path) == 1
        is_odd = request.path == self._path and is_first
        return Reply(0, pieces=self._pieces()) if is_odd else super().reply(request)


@pytest.mark.parametrize(
    ("path", "pieces"),
    [("/latest/api/token", endlessly), ("/latest/meta-data/instance-id", lambda: slowly(LONG))],
    ids=["token", "id"],
)
def test_own_id(path: str, pieces: Callable[[], Iterator[bytes]]) -> None:
    """A VM's own id that comes too slowly, or without an end, is not used."""
    with OddImds(path, pieces) as server:
        answer = Cpi(config("http://127.0.0.1:1"), env=server.environment).call("current_vm_id")
        assert [request.path for request in server.requests].count(path) == 1
    failed(answer, "The VM's own id can't be read from instance metadata")


@pytest.mark.parametrize(
    "said",
    ["", "<html>i-0123456789abcdef0</html>", f"{VM}\n", "i-0123"],
)
def test_no_id(said: str) -> None:
    """An invalid instance id is not returned."""
    with Imds(said) as server:
        answer = Cpi(config("http://127.0.0.1:1"), env=server.environment).call("current_vm_id")
    failed(answer, "can't be read from instance metadata (the answer is no instance id)")


def test_own_id_elsewhere() -> None:
    """The token is not carried to another server."""
    with Imds() as other, Redirecting(other.url) as server:
        answer = Cpi(config("http://127.0.0.1:1"), env=server.environment).call("current_vm_id")
        assert other.requests == []
    failed(answer, "can't be read from instance metadata")


class Redirecting(Imds):
    """Sends all who ask for the id to another server."""

    def __init__(self, other: str) -> None:
        """Redirect to this server."""
        super().__init__()
        self._other = other

    def reply(self, request: Request) -> Reply:
        """Answer."""
        if request.path == "/latest/api/token":
            return super().reply(request)
        line = f"HTTP/1.1 302 Found\r\nLocation: {self._other}{request.path}\r\nContent-Length: 0\r\n\r\n"
        return Reply(0, pieces=iter([line.encode()]))
