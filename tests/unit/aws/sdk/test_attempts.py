"""What a call remembers of its attempts, and what ends it, against a server."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError, ConnectionClosedError, EndpointConnectionError

from bosh_aws_cpi import interrupts
from bosh_aws_cpi.aws import attachments, volumes
from bosh_aws_cpi.aws.sdk.errors import call_of, may_be_done
from bosh_aws_cpi.aws.sdk.timing import THROTTLED_CALL
from bosh_aws_cpi.errors import DiskNotAttached, DiskNotFound
from bosh_aws_cpi.interrupts import Interrupted

if TYPE_CHECKING:
    from collections.abc import Callable

    from testbed.cloud import FakeAws
    from testbed.world import World
    from tests.unit.conftest import Clock

THROTTLED = {"code": "RequestLimitExceeded", "message": "slow", "status": 503}
FAULT = {"code": "InternalError", "message": "sorry", "status": 500}
SHORT = {"code": "InsufficientVolumeCapacity", "message": "full", "status": 400}
NO_ROOM = {"code": "InsufficientInstanceCapacity", "message": "full", "status": 500}
ERRORS = {"throttled": THROTTLED, "fault": FAULT, "refused": SHORT, "shortage": NO_ROOM}
DROPS = {"lost": "after", "unanswered": "before"}
RETRIES = 2
"""As many as `max_retries` says."""
MARK = ("bosh_call", "call-1")


def lay(fake_aws: FakeAws, client: Any, action: str, *attempts: str) -> None:
    """Lay out how one attempt after the other ends, and all that follow as the last one.

    A word of `ERRORS`; "lost": it is done, and not answered; "unanswered": it is not done either;
    "unconnected": it does not arrive.
    """
    arriving = [end for end in attempts if end != "unconnected"]
    for number, end in enumerate(arriving, 1):
        times = None if number == len(arriving) else 1
        how = {"error": ERRORS[end]} if end in ERRORS else {"drop": DROPS[end]}
        fake_aws.rule(action=action, nth=number, times=times, **how)
    left = list(attempts)

    def connect(**_: Any) -> None:
        end = left.pop(0) if len(left) > 1 else left[0]
        if end == "unconnected":
            raise EndpointConnectionError(endpoint_url="http://h/")

    client.meta.events.register(f"before-send.ec2.{action}", connect)


@pytest.mark.parametrize(
    ("attempts", "throttled", "is_perhaps_done"),
    [
        ("refused", 0, False),
        ("throttled refused", 1, False),
        ("throttled throttled throttled throttled refused", 4, False),
        ("unconnected refused", 0, False),
        ("unconnected throttled unconnected", 1, False),
        ("shortage", 0, False),
        ("fault refused", 0, True),
        ("fault shortage", 0, True),
        ("unanswered refused", 0, True),
        ("unanswered throttled throttled refused", 2, True),
        ("unanswered unconnected", 0, True),
        ("throttled unanswered unconnected", 1, True),
        ("unanswered", 0, True),
    ],
)
def test_memory(
    fake_aws: FakeAws, client: Any, attempts: str, throttled: int, *, is_perhaps_done: bool
) -> None:
    """A call may have done its work when any of its attempts may, however the last one ends."""
    lay(fake_aws, client, "DescribeInstances", *attempts.split())
    with pytest.raises((ClientError, BotoCoreError)) as caught:
        client.describe_instances()
    call = call_of(caught.value)
    assert call is not None
    assert call.throttled == throttled
    assert may_be_done(caught.value) is is_perhaps_done


@pytest.mark.parametrize("then", ["throttled", "refused", "unconnected"])
def test_lost_volume(world: World, fake_aws: FakeAws, client: Any, clock: Clock, then: str) -> None:
    """A volume whose making was not answered is found, whatever the next attempts meet."""
    lay(fake_aws, client, "CreateVolume", "lost", then)
    tags = [{"ResourceType": "volume", "Tags": [{"Key": MARK[0], "Value": MARK[1]}]}]
    arguments = {"AvailabilityZone": world.zone, "Size": 1, "ClientToken": "t", "TagSpecifications": tags}
    made = volumes.create(client, arguments, MARK)
    assert [each["VolumeId"] for each in world.ec2.describe_volumes()["Volumes"]] == [made]
    assert clock.now <= THROTTLED_CALL.seconds + 10


def test_delete_of_an_unknown_volume(world: World, fake_aws: FakeAws, client: Any) -> None:
    """A volume that was unknown from the first attempt that was not throttled is not found."""
    assert world.ec2.describe_volumes()["Volumes"] == []
    fake_aws.rule(action="DeleteVolume", times=RETRIES + 2, error=THROTTLED)
    with pytest.raises(DiskNotFound):
        volumes.delete(client, "vol-0123456789abcdef0")


def volume(world: World) -> str:
    """Make a volume."""
    return str(world.ec2.create_volume(AvailabilityZone=world.zone, Size=1)["VolumeId"])


def instance(world: World) -> str:
    """Launch an instance in the volume's zone."""
    where = {"SubnetId": world.subnet_ids[0], "MinCount": 1, "MaxCount": 1}
    made = world.ec2.run_instances(ImageId=world.image_id, **where)["Instances"][0]
    return str(made["InstanceId"])


def test_detach_of_what_is_not_attached(world: World, fake_aws: FakeAws, client: Any) -> None:
    """Detaching is DiskNotAttached if the first attempt that was not throttled says so."""
    disk_cid, vm_cid = volume(world), instance(world)
    fake_aws.rule(action="DetachVolume", times=RETRIES + 2, error=THROTTLED)
    with pytest.raises(DiskNotAttached):
        attachments.detach(client, disk_cid, vm_cid)


def test_lost_removals(world: World, fake_aws: FakeAws, client: Any) -> None:
    """A detachment or deletion whose answer was lost is a success, even if throttling follows."""
    disk_cid, vm_cid = volume(world), instance(world)
    world.ec2.attach_volume(VolumeId=disk_cid, InstanceId=vm_cid, Device="/dev/sdf")
    for action in ("DetachVolume", "DeleteVolume"):
        fake_aws.rule(action=action, nth=1, drop="after")
        fake_aws.rule(action=action, nth=2, times=RETRIES + 2, error=THROTTLED)
    attachments.detach(client, disk_cid, vm_cid)
    volumes.delete(client, disk_cid)
    assert disk_cid not in {each["VolumeId"] for each in world.ec2.describe_volumes()["Volumes"]}


def launch(client: Any) -> None:
    """Launch an instance."""
    client.run_instances(MinCount=1, MaxCount=1, ImageId="ami-1")


def while_a_signal_waits(call: Callable[[], object]) -> None:
    """Make a call within a shielded step that a signal has come to."""
    with interrupts.shielded():
        signal.raise_signal(signal.SIGTERM)
        call()


@pytest.mark.usefixtures("signals")
@pytest.mark.parametrize("end", ["throttled", "fault", "unanswered"])
def test_signal_before(fake_aws: FakeAws, client: Any, end: str) -> None:
    """A call that is made while a signal waits is not repeated, and the signal comes after it."""
    lay(fake_aws, client, "RunInstances", end)

    def launch_in_vain() -> None:
        with interrupts.shielded(), pytest.raises((ClientError, BotoCoreError)):
            launch(client)

    with pytest.raises(Interrupted):
        while_a_signal_waits(launch_in_vain)
    assert len(fake_aws.actions()) == 1


@pytest.mark.usefixtures("signals")
def test_signal_and_success(fake_aws: FakeAws, client: Any) -> None:
    """A call that succeeds while a signal waits returns its answer."""
    answers: list[Any] = []
    with pytest.raises(Interrupted):
        while_a_signal_waits(lambda: answers.append(client.describe_instances()["Reservations"]))
    assert answers == [[]]
    assert len(fake_aws.actions()) == 1


@pytest.mark.usefixtures("signals")
def test_signal_meanwhile(
    fake_aws: FakeAws, client: Any, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that comes while it is throttled ends it within one more attempt."""
    fake_aws.rule(action="RunInstances", error=THROTTLED)
    came: list[float] = []

    def sleep(seconds: float) -> None:
        clock.sleep(seconds)
        if clock.now > 60 and not came:
            came.append(clock.now)
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr("time.sleep", sleep)
    with pytest.raises(Interrupted), interrupts.shielded(), pytest.raises(ClientError):
        launch(client)
    assert came == [clock.now]


@pytest.mark.usefixtures("signals")
def test_signal_that_is_acted_upon(fake_aws: FakeAws, client: Any, clock: Clock) -> None:
    """After the signal has ended the call, its removals are repeated as usual while they are throttled."""
    with pytest.raises(Interrupted):
        signal.raise_signal(signal.SIGTERM)
    fake_aws.rule(action="TerminateInstances", error=THROTTLED)
    with pytest.raises(ClientError, match="RequestLimitExceeded"):
        client.terminate_instances(InstanceIds=["i-1"])
    assert clock.now > THROTTLED_CALL.seconds


def test_lost_connection(fake_aws: FakeAws, client: Any) -> None:
    """An answer that is lost to the last attempt tells how the call ended, as does one that is given."""
    fake_aws.rule(action="*", drop="before")
    with pytest.raises(ConnectionClosedError) as caught:
        client.describe_instances()
    assert call_of(caught.value) is not None
    assert len(fake_aws.actions()) == RETRIES + 1
