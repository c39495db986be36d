"""What the unit tests share: a clock that stands still, stubbed AWS clients, a call's cloud, the log."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any

import botocore.session
import pytest
from botocore.exceptions import ClientError, ReadTimeoutError
from botocore.stub import Stubber

from bosh_aws_cpi import interrupts, log
from bosh_aws_cpi.aws.sdk import clock as aws_clock
from bosh_aws_cpi.aws.sdk.errors import CALL, Call
from bosh_aws_cpi.config import cpi_config
from bosh_aws_cpi.cpi.cloud import Cloud

DIRECTOR = "director-1"


class Clock:
    """A clock that only the program's own pauses move.

    Attributes:
        now: Seconds since the test began.
        pauses: How long each pause was.
    """

    def __init__(self) -> None:
        """Begin at 0."""
        self.now = 0.0
        self.pauses: list[float] = []

    def monotonic(self) -> float:
        """Tell the time."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let the time pass at once."""
        self.pauses.append(seconds)
        self.now += seconds


class Stub:
    """A client of AWS that takes exactly the calls that were laid out, in their order.

    Attributes:
        client: What the program is given.
    """

    def __init__(self, client: Any, stubber: Stubber) -> None:
        """Lay out calls of this client."""
        self.client = client
        self._stubber = stubber
        self._kept: set[str] = set()

    def lay(self, operation: str, /, *ends: dict[str, Any] | str, **expected: Any) -> None:
        """Lay out a call with exactly these parameters for each end: an answer, "lost", or an error's code.

        Before the code may stand "fault" where AWS is at fault, "again" if an earlier attempt had no answer,
        and "throttled" if it was throttled, which has no effect.
        """
        calls = {"again": Call("", (), was_uncertain=True), "throttled": Call("", (), throttled=1)}
        for end in ends:
            if not isinstance(end, str) or end == "lost":
                answer: Any = {"ResponseMetadata": {"IsLost": True}} if end == "lost" else end
                self._stubber.add_response(operation, answer, expected)
                continue
            how, _, code = end.rpartition(" ")
            self._stubber.add_client_error(
                operation,
                code,
                "said",
                500 if how == "fault" else 400,
                {CALL: calls[how]} if how in calls else None,
                expected,
            )

    def keeps(self, operation: str, end: dict[str, Any] | str) -> None:
        """Give all further calls of an operation the same end: an answer, or the code of a refusal."""

        def call(**_: Any) -> dict[str, Any]:
            if isinstance(end, dict):
                return end
            raise ClientError({"Error": {"Code": end, "Message": "said"}}, operation)

        setattr(self.client, operation, call)
        self._kept.add(operation)

    def end(self) -> None:
        """Give the operations back that `keeps` took: all tests share the client. All others must be made."""
        for operation in self._kept:
            delattr(self.client, operation)
        left = [
            f"{each['operation_name']} {each['expected_params']}" for each in vars(self._stubber)["_queue"]
        ]
        assert left == [], f"laid out, but not called: {'; '.join(left)}"

    def refuses(self, operation: str, code: str, message: str = "", /, **expected: Any) -> None:
        """Lay out a call with exactly these parameters that AWS answers with an error."""
        self._stubber.add_client_error(operation, code, message, expected_params=expected)


@cache
def _client(service: str) -> Any:
    """Make one client for all tests: nothing leaves the process, each test stubs it anew.

    Nothing of the machine's configuration reaches it, whichever test is the first to ask for it.
    """
    nowhere: dict[str, Any] = {
        "profile": (None, None, None, None),
        "config_file": (None, None, os.devnull, None),
        "credentials_file": (None, None, os.devnull, None),
    }
    session: Any = botocore.session.Session(session_vars=nowhere)
    client = session.create_client(
        service, region_name="us-east-1", aws_access_key_id="AKIAUNIT", aws_secret_access_key="unit"
    )
    client.meta.events.register("after-call", _lose)
    return client


def _lose(parsed: dict[str, Any], **_: Any) -> None:
    """Lose an answer that is laid out as lost."""
    if parsed.get("ResponseMetadata", {}).get("IsLost"):
        raise ReadTimeoutError(endpoint_url="http://h/")


@pytest.fixture(autouse=True)
def aws_not_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin each test without AWS's time."""
    monkeypatch.setattr(aws_clock, "server_time", aws_clock.ServerTime())


@pytest.fixture(autouse=True)
def no_secret_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin each test without the secrets of others: they may be words, which would be masked."""
    monkeypatch.setattr(log.redact, "_values", [])


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Replace the clock and the sleep."""
    fake = Clock()
    monkeypatch.setattr(time, "monotonic", fake.monotonic)
    monkeypatch.setattr(time, "sleep", fake.sleep)
    return fake


@pytest.fixture
def stubs(clock: Clock) -> Iterator[Callable[[str], Stub]]:
    """Return a function that stubs a service's client; in the end all calls laid out must have been made."""
    assert clock.now == 0
    with ExitStack() as stack:
        made: list[Stub] = []

        def stub(service: str) -> Stub:
            client = _client(service)
            made.append(Stub(client, stack.enter_context(Stubber(client))))
            return made[-1]

        yield stub
        for each in made:
            each.end()


@pytest.fixture
def ec2(stubs: Callable[[str], Stub]) -> Stub:
    """Return a stubbed client of EC2."""
    return stubs("ec2")


@pytest.fixture
def elb(stubs: Callable[[str], Stub]) -> Stub:
    """Return a stubbed client for classic load balancers."""
    return stubs("elb")


@pytest.fixture
def elbv2(stubs: Callable[[str], Stub]) -> Stub:
    """Return a stubbed client for target groups."""
    return stubs("elbv2")


@pytest.fixture
def ebs(stubs: Callable[[str], Stub]) -> Stub:
    """Return a stubbed client for the EBS direct APIs."""
    return stubs("ebs")


@pytest.fixture
def cloud(ec2: Stub, elb: Stub, elbv2: Stub) -> Cloud:
    """Return the cloud of a call that `DIRECTOR` makes, with the stubbed clients and without a registry."""
    keys = {"access_key_id": "AKIAUNIT", "secret_access_key": "unit"}
    document = {"cloud": {"properties": {"aws": {"max_retries": 1, "region": "us-east-1", **keys}}}}
    context = {"director_uuid": DIRECTOR, "vm": {"stemcell": {"api_version": 2}}}
    made = Cloud(cpi_config.parse(document, context, {}), 2)
    vars(made)["clients"] = SimpleNamespace(ec2=ec2.client, elb=elb.client, elbv2=elbv2.client)
    return made


@pytest.fixture
def signals() -> Iterator[None]:
    """Let signals arrive as in a call, and give the handlers back."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    interrupts.install()
    interrupts.start()
    yield
    interrupts.install()  # forgets the call
    for number, handler in kept.items():
        signal.signal(number, handler)


@dataclass(frozen=True)
class LogLine:
    """A message of the program's log."""

    level: str
    text: str


class ProgramLog:
    """What the program has logged, from level debug on.

    Attributes:
        records: The messages.
    """

    def __init__(self) -> None:
        """Begin without messages."""
        self.records: list[LogLine] = []

    def log(self, level: int, text: str, *arguments: object, is_whole: bool = False) -> None:
        """Keep a message in place of writing it; of how it is written it shows nothing."""
        assert is_whole in {True, False}
        self.records.append(LogLine(log.NAMES[level], text % arguments if arguments else text))

    @property
    def text(self) -> str:
        """All messages."""
        return "\n".join(each.text for each in self.records)


@pytest.fixture
def program_log(monkeypatch: pytest.MonkeyPatch) -> ProgramLog:
    """Return what the program logs, from level debug on."""
    kept = ProgramLog()
    monkeypatch.setattr(log.logger, "log", kept.log)
    return kept


@pytest.fixture
def undone(program_log: ProgramLog) -> Iterator[None]:
    """Let no removal fail: an `Undo` logs what it could not do, and goes on."""
    yield
    assert [each.text for each in program_log.records if each.text.startswith("Perhaps left behind")] == []
