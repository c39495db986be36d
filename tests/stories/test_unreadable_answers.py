"""Answers that can't be read, such as a proxy's, at any call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from testbed.executable import Cpi, config

if TYPE_CHECKING:
    from testbed.cloud import FakeAws
    from testbed.world import World
    from tests.protocols import CreateVm, CreateVolume

SECRET = "hunter2-hunter2"

pytestmark = pytest.mark.usefixtures("hasty")


def garble(fake_aws: FakeAws, action: str) -> None:
    """Replace the next answer to a call, which takes effect."""
    fake_aws.rule(action=action, replace=[[r"\A.*\Z", f"<p>{SECRET}"]])


def test_instance(create_vm: CreateVm, world: World, fake_aws: FakeAws) -> None:
    """A launch whose answer can't be read may have been done: its instance is found, and the only one."""
    garble(fake_aws, "RunInstances")
    vm_cid = create_vm().ok()[0]
    assert world.state()["instances"] == [vm_cid]


def test_volume(cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """So is a volume."""
    garble(fake_aws, "CreateVolume")
    disk_cid = cpi.call("create_disk", 1024, {}).ok()
    assert world.state()["volumes"] == [disk_cid]


def test_snapshot(cpi: Cpi, world: World, disk: CreateVolume, fake_aws: FakeAws) -> None:
    """So is a snapshot, whose creation takes no client token."""
    disk_cid = disk()
    garble(fake_aws, "CreateSnapshot")
    snapshot_id = cpi.call("snapshot_disk", disk_cid, {}).ok()
    assert world.state()["snapshots"] == [snapshot_id]


@pytest.mark.parametrize(
    ("method", "action"), [("has_disk", "DescribeVolumes"), ("create_disk", "CreateVolume")]
)
def test_not_quoted(fake_aws: FakeAws, disk: CreateVolume, method: str, action: str) -> None:
    """Nothing of it reaches the response or the log, which name the call."""
    disk_cid = disk()
    garble(fake_aws, action)
    document = config(fake_aws.endpoint)
    document["cloud"]["properties"]["debug"] = {"cpi": {"log_level": "debug"}}
    arguments = [disk_cid] if method == "has_disk" else [1024, {}]
    answer = Cpi(document).call(method, *arguments)
    assert SECRET not in answer.stdout.decode() + answer.stderr
    assert f"its answer can't be read. Is there a proxy in between? (ec2:{action}" in answer.stderr
