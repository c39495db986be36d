"""Answers of the registry and of instance metadata that have no end, or are no answer."""

from collections.abc import Callable, Iterator

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Answer, Cpi, config
from testbed.imds import Imds
from testbed.loopback import LoopbackServer, Reply, Request, endlessly
from testbed.registry import PASSWORD, USER

pytestmark = pytest.mark.usefixtures("fast_clock")

VM, DISK = "i-00000000000000001", "vol-00000000000000001"


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


def test_registry(fake_aws: FakeAws) -> None:
    """A registry that answers endlessly fails the call, which names it."""
    with Sender(endlessly) as registry:
        section = {"endpoint": registry.url, "user": USER, "password": PASSWORD}
        answer = Cpi(config(fake_aws.endpoint, registry=section)).call("detach_disk", VM, DISK, stemcell=1)
    problem = "the answer has more than 4194304 bytes"
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


def test_own_id() -> None:
    """A VM's own id that has no end is not used."""
    path = "/latest/meta-data/instance-id"
    with OddImds(path, endlessly) as server:
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
