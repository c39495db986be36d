"""The launches of one VM: the client tokens of earlier calls, and launches that EC2 does not answer."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from bosh_aws_cpi.aws import network_interfaces
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.identity import client_token
from bosh_aws_cpi.cpi.undo import Undo
from bosh_aws_cpi.cpi.vms.create.instance import MAX_GENERATIONS, InstanceCreation
from bosh_aws_cpi.errors import CloudError, VMCreationFailed
from bosh_aws_cpi.model import Instance, Nic, StateReason
from bosh_aws_cpi.plan.launch_options import LaunchOption
from bosh_aws_cpi.plan.tags import of_origin
from tests.unit.aws.timing_script import refusal
from tests.unit.conftest import DIRECTOR
from tests.unit.cpi.vms.create.vm_plans import AGENT, DYNAMIC, FIXED, option, plan

FAULT = StateReason("Server.InternalError", "Server.InternalError: so")
ON_DEMAND, OTHER, SPOT = option(), option("c5.large"), option(market="spot")
LONG_AGO = 1e6
SPENT, NO_CAPACITY = refusal("IdempotentParameterMismatch"), refusal("InsufficientInstanceCapacity")
LOST = ReadTimeoutError(endpoint_url="http://h/")


def token(way: LaunchOption, generation: int) -> str:
    """Return the client token of a launch."""
    return client_token("instance", DIRECTOR, AGENT, way, generation)


def instance(vm_cid: str, state: str = "running", by: str | None = None, age: float = 0) -> Instance:
    """Describe an instance, which EC2 may have ended for a reason of its own."""
    return Instance(vm_cid, state, "m5.large", "z", {}, client_token=by, age=age, state_reason=FAULT)


class Launches:
    """EC2, as far as launches need it.

    Attributes:
        answers: What RunInstances answers to a client token: an instance or an error; without it, nothing.
        shown: The agent's instances.
        ended: The ids of instances that EC2 ends before they run.
        unseen: The ids of instances that EC2 never shows.
        sent: The client tokens that were sent.
        discarded: The ids of the instances that were discarded.
    """

    def __init__(self) -> None:
        """Know nothing."""
        self.answers: dict[str, Instance | Exception] = {}
        self.shown: list[Instance] = []
        self.ended: set[str] = set()
        self.unseen: set[str] = set()
        self.sent: list[str] = []
        self.discarded: list[str] = []

    def launched(self, way: LaunchOption, generation: int, answer: Instance | Exception) -> None:
        """Answer a launch."""
        self.answers[token(way, generation)] = answer

    def run(
        self, _: object, arguments: dict[str, Any], find: Callable[[], Instance | None], *__: object
    ) -> Any:
        """Answer, or find the instance of a launch without an answer."""
        self.sent.append(arguments["ClientToken"])
        answer = self.answers.get(arguments["ClientToken"]) or find() or LOST
        if isinstance(answer, Exception):
            raise answer
        return answer

    def wait_until_running(self, _: object, vm_cid: str, *__: object, **___: object) -> Instance | None:
        """Show what a launch has answered."""
        known = [each for each in (*self.answers.values(), *self.shown) if isinstance(each, Instance)]
        found = next(each for each in known if each.vm_cid == vm_cid)
        if vm_cid in self.unseen:
            return None
        return found.replaced(state="terminated") if vm_cid in self.ended else found


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> Launches:
    """Return EC2, whose search by tags takes no time."""
    fake = Launches()
    monkeypatch.setattr("bosh_aws_cpi.aws.launches.run", fake.run)
    monkeypatch.setattr("bosh_aws_cpi.aws.launches.wait_until_running", fake.wait_until_running)
    monkeypatch.setattr("bosh_aws_cpi.aws.instances.tagged", lambda *_: fake.shown)
    monkeypatch.setattr("bosh_aws_cpi.aws.instances.discard", lambda _, vm_cid: fake.discarded.append(vm_cid))
    return fake


def launch(cloud: Cloud, *options: LaunchOption, made: Sequence[Nic] = ()) -> tuple[str, LaunchOption]:
    """Launch the VM, with an interface of its own or with those that were made before."""
    nic_plans = (FIXED, DYNAMIC)[: len(made) or 1]
    found, way = InstanceCreation(cloud, plan(*nic_plans, options=options), made, Undo()).run()
    return found.vm_cid, way


def test_spent_tokens(cloud: Cloud, launches: Launches) -> None:
    """A spent token is followed by the first one after those whose ended instances EC2 still shows."""
    launches.launched(ON_DEMAND, 0, SPENT)
    launches.launched(ON_DEMAND, 4, instance("i-4"))
    launches.shown = [instance(f"i-{n}", "terminated", token(ON_DEMAND, n)) for n in (1, 3)]
    assert launch(cloud, ON_DEMAND) == ("i-4", ON_DEMAND)


@pytest.mark.parametrize("state", ["pending", "shutting-down", "terminated"])
def test_ended_instances_of_earlier_calls(cloud: Cloud, launches: Launches, state: str) -> None:
    """An earlier call's instance that has ended is passed over: only own launches are counted."""
    for generation in range(5):
        age = LONG_AGO if generation < 2 else 0
        launches.launched(ON_DEMAND, generation, instance(f"i-{generation}", state, age=age))
        launches.ended.add(f"i-{generation}")
    with pytest.raises(VMCreationFailed, match="EC2 terminated instance 'i-4'") as caught:
        launch(cloud, ON_DEMAND)
    assert caught.value.ok_to_retry is True
    launches.launched(ON_DEMAND, 4, instance("i-5"))
    assert launch(cloud, ON_DEMAND) == ("i-5", ON_DEMAND)


def test_no_end(cloud: Cloud, launches: Launches) -> None:
    """The number of tokens is limited."""
    for generation in range(MAX_GENERATIONS):
        launches.launched(ON_DEMAND, generation, SPENT)
    with pytest.raises(VMCreationFailed, match="use another agent id") as caught:
        launch(cloud, ON_DEMAND)
    assert caught.value.ok_to_retry is False
    assert len(set(launches.sent)) == MAX_GENERATIONS


def test_further_down_the_list(cloud: Cloud, launches: Launches) -> None:
    """The option of an earlier call's instance comes first; without capacity, the others follow in order."""
    launches.shown = [instance("i-1", by=token(ON_DEMAND, 1))]
    launches.launched(SPOT, 0, NO_CAPACITY)
    launches.launched(OTHER, 0, instance("i-2"))
    assert launch(cloud, SPOT, ON_DEMAND, OTHER) == ("i-1", ON_DEMAND)
    assert launches.sent == [token(ON_DEMAND, 1)]
    launches.shown = []
    launches.launched(ON_DEMAND, 0, NO_CAPACITY)
    assert launch(cloud, SPOT, ON_DEMAND, OTHER) == ("i-2", OTHER)


def test_nothing_alive(cloud: Cloud, launches: Launches) -> None:
    """Neither ended instances nor those of other requests change the order of the options."""
    launches.shown = [
        instance("i-0", "shutting-down", token(OTHER, 0)),
        instance("i-1", by="another token"),
    ]
    launches.launched(SPOT, 0, instance("i-2"))
    assert launch(cloud, SPOT, OTHER) == ("i-2", SPOT)


@pytest.mark.parametrize("first", [SPOT, ON_DEMAND], ids=["spot", "on demand"])
def test_unanswered(cloud: Cloud, launches: Launches, first: LaunchOption) -> None:
    """A launch without an answer may have launched the VM: no second one follows, and a retry may find it."""
    with pytest.raises(VMCreationFailed) as caught:
        launch(cloud, first, OTHER)
    assert caught.value.ok_to_retry is True
    assert launches.sent == [token(first, 0)]


@pytest.mark.parametrize(
    ("way", "answer", "is_cancelled"),
    [(SPOT, LOST, True), (SPOT, refusal("InvalidParameterValue"), False), (ON_DEMAND, LOST, False)],
    ids=["no answer", "refused", "on demand"],
)
def test_open_request(
    cloud: Cloud,
    launches: Launches,
    monkeypatch: pytest.MonkeyPatch,
    way: LaunchOption,
    answer: Exception,
    *,
    is_cancelled: bool,
) -> None:
    """Without an answer EC2 may keep the spot request of a launch open, so it is cancelled."""
    cancelled: list[object] = []
    monkeypatch.setattr(
        "bosh_aws_cpi.aws.launches.cancel_open_requests", lambda _, tags: cancelled.append(tags)
    )
    launches.launched(way, 0, answer)
    with pytest.raises(CloudError):
        launch(cloud, way)
    assert cancelled == [of_origin(DIRECTOR, AGENT)] * is_cancelled


def test_never_seen(cloud: Cloud, launches: Launches) -> None:
    """An earlier call's instance that EC2 answers and never shows is discarded, and replaced."""
    launches.launched(ON_DEMAND, 0, instance("i-0", age=LONG_AGO))
    launches.unseen = {"i-0"}
    launches.launched(ON_DEMAND, 1, instance("i-1"))
    assert launch(cloud, ON_DEMAND) == ("i-1", ON_DEMAND)
    assert launches.discarded == ["i-0"]


MADE = [Nic("eni-0", "m0", "available"), Nic("eni-1", "m1", "available")]


def test_interfaces_gone(cloud: Cloud, launches: Launches, monkeypatch: pytest.MonkeyPatch) -> None:
    """If an interface is deleted with an ended instance, the call fails, and can be retried."""

    def wait(_: object, nic_id: str, is_launched: Callable[[str], bool]) -> None:
        assert not is_launched("i-1")
        if nic_id == "eni-1":
            raise network_interfaces.NicGone(nic_id, was_seen=True)

    monkeypatch.setattr(network_interfaces, "wait_until_usable", wait)
    launches.launched(ON_DEMAND, 0, instance("i-1", "terminated"))
    with pytest.raises(VMCreationFailed, match="Network interface 'eni-1' is gone") as caught:
        launch(cloud, ON_DEMAND, made=MADE)
    assert caught.value.ok_to_retry is True


def test_interfaces_in_use(cloud: Cloud, launches: Launches) -> None:
    """If an instance with other arguments has the interfaces, the call fails, and names it."""
    launches.launched(ON_DEMAND, 0, SPENT)
    launches.shown = [instance("i-0", by=token(ON_DEMAND, 0))]
    made = [nic.replaced(vm_cid="i-0", status="in-use") for nic in MADE]
    with pytest.raises(CloudError, match=r"'i-0' .* has its network interfaces"):
        launch(cloud, ON_DEMAND, made=made)
