"""Answers of AWS, the registry and instance metadata that are slow, have no end, or are no answer."""

from collections.abc import Callable, Iterator
from threading import Event
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import PATIENCE, Answer, Cpi, config, finish
from testbed.imds import Imds
from testbed.loopback import HEAD, LoopbackServer, Reply, Request, endlessly, slowly
from testbed.proxy import AwsCall, Proxy, Relay
from testbed.registry import PASSWORD, USER
from testbed.warm_server import TIMEOUT_SPEED
from testbed.world import World

pytestmark = pytest.mark.usefixtures("fast_clock")

VM, DISK = "i-00000000000000001", "vol-00000000000000001"
HASTY = {TIMEOUT_SPEED: "10"}


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


def failed(answer: Answer, *words: str, is_retriable: bool = False) -> None:
    """Check for a typed error in these words."""
    assert answer.error["type"] == "Bosh::Clouds::CloudError"
    assert answer.error["ok_to_retry"] is is_retriable
    for word in words:
        assert word in answer.error["message"]


@pytest.mark.parametrize("pieces", [slowly, lambda: slowly(LONG)], ids=["headers", "body"])
def test_aws(pieces: Callable[[], Iterator[bytes]]) -> None:
    """An answer of AWS that comes byte by byte is given up as one that does not come."""
    with Sender(pieces) as server:
        answer = Cpi(config(server.url, max_retries=1), env=HASTY).call("has_disk", DISK)
        assert len(server.requests) == 2
    failed(answer, "ReadTimeoutError", f'Read timeout on endpoint URL: "{server.url}/"', is_retriable=True)


class SlowProxy(Proxy):
    """Opens tunnels too slowly."""

    def reply(self, request: Request) -> Reply:  # noqa: ARG002 - the answer is always the same
        """Answer."""
        return Reply(0, pieces=slowly())


def test_proxy() -> None:
    """The same holds for the answer of a proxy that is asked for a tunnel."""
    with SlowProxy() as proxy:
        cpi = Cpi(config("https://127.0.0.2:1", max_retries=0), env={**HASTY, "HTTPS_PROXY": proxy.url})
        answer = cpi.call("has_disk", DISK)
        assert proxy.tunnels == ["127.0.0.2:1"]
    failed(answer, "AWS could not be called", is_retriable=True)


class SlowOnce(Relay):
    """Passes each call on to AWS, and sends the answer to the first call of an action too slowly."""

    def __init__(self, upstream: str, action: str) -> None:
        """Relay to AWS."""
        super().__init__(upstream)
        self._action = action
        self.is_answering = Event()

    def reply(self, request: Request) -> Reply:
        """Let AWS carry out the call."""
        answer = super().reply(request)
        if AwsCall.read(request).action != self._action or self.is_answering.is_set():
            return answer
        self.is_answering.set()
        return Reply(0, pieces=slowly(LONG))


def test_launch(world: World, fake_aws: FakeAws) -> None:
    """A launch whose answer comes byte by byte is repeated, and is one VM; a signal meanwhile undoes it."""
    properties = {"instance_type": "m5.large", "availability_zone": world.zone}
    networks = {
        "a": {"type": "manual", "ip": "10.0.1.10", "cloud_properties": {"subnet": world.subnet_ids[0]}}
    }
    arguments: list[Any] = [f"{world.image_id} light", properties, networks, [], {}]
    with SlowOnce(fake_aws.endpoint, "RunInstances") as front:
        cpi = Cpi(config(front.url), env=HASTY)
        process = cpi.start("create_vm", "agent-1", *arguments, stemcell=2)
        assert front.is_answering.wait(PATIENCE)
        process.terminate()
        failed(finish(process), "The call was interrupted by SIGTERM")
    assert world.state() == world.empty
    with SlowOnce(fake_aws.endpoint, "RunInstances") as front:
        vm_cid = (
            Cpi(config(front.url), env=HASTY).call("create_vm", "agent-2", *arguments, stemcell=2).ok()[0]
        )
        assert [call.action for call in front.calls].count("RunInstances") == 2
    assert world.state()["instances"] == [vm_cid]


@pytest.mark.parametrize(
    ("pieces", "problem"),
    [(endlessly, "the answer has more than 4194304 bytes"), (slowly, "ReadTimeout: timed out")],
    ids=["endless", "slow"],
)
def test_registry(fake_aws: FakeAws, pieces: Callable[[], Iterator[bytes]], problem: str) -> None:
    """A registry whose answer has no end, or comes byte by byte, fails the call, which names it."""
    with Sender(pieces) as registry:
        section = {"endpoint": registry.url, "user": USER, "password": PASSWORD}
        cpi = Cpi(config(fake_aws.endpoint, registry=section), env=HASTY if pieces is slowly else {})
        answer = cpi.call("detach_disk", VM, DISK, stemcell=1)
    failed(answer, f"Cannot read settings for '{VM}': ", problem, f"(registry at {registry.url})")


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


@pytest.mark.parametrize("pieces", [endlessly, lambda: slowly(LONG)], ids=["endless", "slow"])
def test_own_id(pieces: Callable[[], Iterator[bytes]]) -> None:
    """A VM's own id that has no end, or comes byte by byte, is not used."""
    path = "/latest/meta-data/instance-id"
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
