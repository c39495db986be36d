"""How long the program waits for what, and how soon it sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.timing import NotYet, Policy
from tests.unit.aws.timing_script import Script, jitter, refusal

if TYPE_CHECKING:
    from tests.unit.conftest import Clock


RUBY: dict[str, int] = {
    **dict.fromkeys(("VOLUME_AVAILABLE", "VOLUME_DELETED", "VOLUME_ATTACHED", "VOLUME_DETACHED"), 1598),
    **dict.fromkeys(("VOLUME_MODIFIED", "IMAGE_AVAILABLE", "IMAGE_GONE", "SNAPSHOT_COMPLETED"), 1598),
    "INSTANCE_SEEN": 200,
    "INSTANCE_RUNNING": 200 + 600,
    "INSTANCE_TERMINATED": 600,
    "NIC_AVAILABLE": 200,
    "NIC_RELEASED": 490,
    "ADDRESS_RELEASED": 570,
    "VOLUME_RELEASED": 572,
    "INSTANCE_READY_TO_ATTACH": 29,
    "TAGGABLE": 265,
    "ADDRESS_ASSOCIATED": 9,
    "DEVICE_SEEN": 60,
}
"""Seconds that the Ruby release 107.3.2 waits, pauses alone.

From its resource_wait.rb, volume_manager.rb, network_interface.rb, network_interface_manager.rb,
network_configurator.rb, tag_manager.rb, block_device_manager.rb, and the SDK's waiters in instance.rb.
"""


@pytest.mark.parametrize("name", RUBY)
def test_no_shorter_than_the_ruby_release(name: str) -> None:
    """No wait is shorter than the Ruby release's."""
    policy: Policy = getattr(timing, name)
    assert policy.seconds >= RUBY[name]


def test_pauses() -> None:
    """Long waits have longer pauses."""
    found = {name: policy for name, policy in vars(timing).items() if isinstance(policy, Policy)}
    slow = {name for name, policy in found.items() if policy.longest_pause > 5}
    assert slow == {
        "COPY_ACCEPTED",
        "VOLUME_RELEASED",
        "IMAGE_AVAILABLE",
        "IMAGE_COPIED",
        "SNAPSHOT_COMPLETED",
    }
    assert {found[name].longest_pause for name in slow} == {15}
    quick = {name: policy.longest_pause for name, policy in found.items() if policy.longest_pause < 5}
    assert quick == {"ANSWERED": 0, "BLOCK_WRITTEN": 2, "DEVICE_SEEN": 1}


def test_tries_until_ready(clock: Clock) -> None:
    """An instance that is not ready to attach a disk is tried for a minute, fifteen times at the least."""
    script = Script(refusal("IncorrectState"))
    with pytest.raises(ClientError):
        timing.patiently(
            timing.INSTANCE_READY_TO_ATTACH, "i-1 to be ready", frozenset({"IncorrectState"}), script
        )
    assert 15 <= script.calls <= 45
    assert 60 <= clock.now <= 66


@pytest.mark.parametrize("part", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("ready", [0.1, 1, 2, 4, 8, 8.5])
def test_promptness(clock: Clock, monkeypatch: pytest.MonkeyPatch, part: float, ready: float) -> None:
    """A VM that runs after 8 seconds is seen within 10, and no sooner one later than that."""
    jitter(monkeypatch, part)

    def probe() -> float:
        if clock.now < ready:
            raise NotYet("pending")
        return clock.now

    seen = timing.until(timing.INSTANCE_RUNNING, "instance 'i-1' to run", probe)
    assert ready <= seen <= ready + 1.5


def test_sight_of_what_is_new(clock: Clock) -> None:
    """A new resource may stay unseen for a minute; then it counts as lost."""
    clock.now = 1000
    sight = timing.VisibilityWindow()
    for seconds, is_lost in ((0, False), (59, False), (60, False), (60.5, True), (600, True)):
        clock.now = 1000 + seconds
        assert sight.is_lost is is_lost


def test_sight_of_another_patience(clock: Clock) -> None:
    """Some things are shown sooner."""
    sight = timing.VisibilityWindow(timing.NIC_SEEN)
    for seconds, is_overdue in ((0, False), (30, False), (30.5, True), (60, True)):
        clock.now = seconds
        assert (sight.is_overdue, sight.is_lost) == (is_overdue, is_overdue)


def test_sight_of_what_was_seen(clock: Clock) -> None:
    """A resource that was seen and is no longer shown is lost at once, and never overdue."""
    sight = timing.VisibilityWindow()
    for was_seen in (False, True):
        sight.was_seen = was_seen
        assert sight.is_lost is was_seen
        assert sight.is_overdue is False
    clock.now = 600
    assert (sight.is_overdue, sight.is_lost) == (False, True)
    clock.now = 0
    assert clock.now == 0
