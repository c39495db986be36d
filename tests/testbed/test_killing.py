"""Signals to the executable at a certain call, and calls that are held before they reach AWS."""

import signal
import threading
from typing import Any

import pytest
from botocore.exceptions import ClientError

from testbed.cloud import FakeAws
from testbed.executable import Cpi
from testbed.killing import interrupt_at, kill_at

CREATE_DISK = ["DescribeAvailabilityZones", "CreateVolume", "DescribeVolumes"]


@pytest.mark.parametrize(("when", "volumes"), [("before", 0), ("after", 1)])
def test_killed(fake_aws: FakeAws, world: Any, cpi: Cpi, when: Any, volumes: int) -> None:
    """A call has no effect if the executable is killed before it, and has one if killed after it."""
    assert kill_at(fake_aws, lambda: cpi.start("create_disk", 1024, {}, None), 2, when=when) == "CreateVolume"
    assert fake_aws.actions() == CREATE_DISK[:2]
    assert len(world.state()["volumes"]) == volumes
    world.ec2.create_volume(AvailabilityZone=world.zone, Size=1)  # the rule is used up


def test_interrupted(fake_aws: FakeAws, world: Any, cpi: Cpi) -> None:
    """After a signal that it handles the executable answers; other rules stay."""
    fake_aws.rule(action="DeleteVolume", times=1, error={"code": "Busy", "message": "x", "status": 503})
    answer = interrupt_at(
        fake_aws, lambda: cpi.start("create_disk", 1024, {}, None), when="after", action="CreateVolume"
    )
    assert signal.SIGTERM.name in answer.error["message"]
    assert world.state() == world.empty
    assert fake_aws.actions().count("DeleteVolume") == 2


def test_too_few_calls(fake_aws: FakeAws, cpi: Cpi) -> None:
    """It is an error if the executable ends before the moment of the kill."""
    with pytest.raises(AssertionError, match="ended before"):
        kill_at(fake_aws, lambda: cpi.start("ping"))


def test_rule_for_a_held_call(fake_aws: FakeAws, ec2: Any) -> None:
    """A rule that is set while a call is held counts it as its first one; the next hold is another call's."""
    fake_aws.rule(action="DescribeVpcs", nth=1, hold_before=True)
    codes: list[str] = []

    def call() -> None:
        for _ in range(2):
            try:
                ec2.describe_vpcs()
            except ClientError as error:
                codes.append(error.response["Error"]["Code"])
            else:
                codes.append("")

    thread = threading.Thread(target=call)
    thread.start()
    assert fake_aws.wait_until_held() == ["DescribeVpcs"]
    fake_aws.rule(action="DescribeVpcs", nth=1, error={"code": "Busy", "message": "x"})
    fake_aws.rule(action="*", nth=2, hold_before=True)
    fake_aws.release()
    assert fake_aws.wait_until_held() == ["DescribeVpcs"]
    assert codes == ["Busy"]
    fake_aws.release()
    thread.join(timeout=30)
    assert codes == ["Busy", ""]


def test_held_call(fake_aws: FakeAws, ec2: Any, world: Any) -> None:
    """A held call has its effect only after the release, if its client is still connected."""
    fake_aws.rule(action="CreateVolume", hold_before=True)
    made: list[Any] = []
    thread = threading.Thread(
        target=lambda: made.append(ec2.create_volume(AvailabilityZone=world.zone, Size=1))
    )
    thread.start()
    assert fake_aws.wait_until_held() == ["CreateVolume"]
    assert world.state() == world.empty
    fake_aws.release()
    thread.join(timeout=30)
    assert world.state()["volumes"] == [made[0]["VolumeId"]]
    assert fake_aws.held_within(0) == []
