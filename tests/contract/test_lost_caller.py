"""The caller is gone: a call that creates something deletes it, and other calls complete their work."""

from pathlib import Path

import pytest

from testbed.cloud import FakeAws
from testbed.executable import EXECUTABLE, Cpi, config
from testbed.killing import abandon_at
from testbed.world import World

FULL = Path("/dev/full")
ENDED = "The call was interrupted by the loss of its caller before it was complete"
GONE = "The caller is gone and did not read the response"


@pytest.mark.usefixtures("fast_clock")
def test_waiting(fake_aws: FakeAws, world: World, cpi: Cpi) -> None:
    """A call that waits for its new resource ends when its caller is gone, however long the wait would be."""
    fake_aws.rule(action="DescribeVolumes", replace=[["available", "creating"]])
    answer = abandon_at(fake_aws, lambda: cpi.start("create_disk", 1024, {}), action="DescribeVolumes")
    assert (answer.returncode, answer.stdout) == (1, b"")
    assert ENDED in answer.stderr
    assert world.state() == world.empty


@pytest.mark.usefixtures("fast_clock")
def test_throttled(fake_aws: FakeAws, world: World, cpi: Cpi) -> None:
    """A throttled call is not retried once the caller is gone, and nothing more is created."""
    fake_aws.refuse("CreateVolume", "RequestLimitExceeded", "Request limit exceeded.", 503)
    answer = abandon_at(fake_aws, lambda: cpi.start("create_disk", 1024, {}), action="CreateVolume")
    assert answer.returncode == 1
    assert fake_aws.actions().count("CreateVolume") == 1
    assert world.state() == world.empty


@pytest.mark.skipif(not FULL.exists(), reason="this system has no file that accepts no data")
def test_answer_refused(fake_aws: FakeAws, world: World) -> None:
    """A disk is deleted when its id can't be written, whatever the reason; the log has the id."""
    command = ["/bin/sh", "-c", f'exec "$0" "$1" >{FULL}', EXECUTABLE]
    answer = Cpi(config(fake_aws.endpoint), command=command).call("create_disk", 1024, {})
    assert answer.returncode == 1
    assert f'{GONE}: {{"result":"vol-' in answer.stderr
    assert "Deleting the resources that this call created, after its response could not be written" in (
        answer.stderr
    )
    assert world.state() == world.empty


@pytest.mark.usefixtures("fast_clock")
def test_deletion(fake_aws: FakeAws, world: World, cpi: Cpi) -> None:
    """A deletion continues without its caller, and waits until it is complete."""
    launched = world.ec2.run_instances(
        ImageId=world.image_id, SubnetId=world.subnet_id, MinCount=1, MaxCount=1
    )
    vm_cid = launched["Instances"][0]["InstanceId"]
    fake_aws.rule(action="DescribeInstances", times=2, replace=[["terminated", "shutting-down"]])
    answer = abandon_at(fake_aws, lambda: cpi.start("delete_vm", vm_cid), action="TerminateInstances")
    assert answer.returncode == 1
    assert f'{GONE}: {{"result":null,"error":null' in answer.stderr
    assert fake_aws.actions().count("DescribeInstances") == 3
    assert world.state() == world.empty
