"""The server process and the laid world."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from testbed.cloud import ROOT, FakeAws


def test_world(world: Any, ec2: Any) -> None:
    """A new world contains no resources of a CPI; its image can be deleted."""
    assert world.state() == world.empty
    assert len(set(world.subnet_ids)) == 3
    ec2.deregister_image(ImageId=world.image_id)
    assert world.state() == world.empty


def test_state(world: Any, ec2: Any, run: Any) -> None:
    """The state lists only the resources that were created after the world."""
    instance = run()
    volume = ec2.create_volume(AvailabilityZone=world.zone, Size=1)["VolumeId"]
    snapshot = ec2.create_snapshot(VolumeId=volume)["SnapshotId"]
    state = world.state()
    assert state["instances"] == [instance["InstanceId"]]
    assert volume in state["volumes"]
    assert state["snapshots"] == [snapshot]
    assert len(state["interfaces"]) == 1


def test_reset(world: Any, fake_aws: FakeAws, ec2: Any) -> None:
    """A reset forgets resources, rules and calls."""
    fake_aws.rule(action="DescribeVpcs", error={"code": "X", "message": "Y"})
    fake_aws.reset()
    assert fake_aws.calls() == []
    vpcs = [vpc["VpcId"] for vpc in ec2.describe_vpcs()["Vpcs"]]
    assert world.vpc_id not in vpcs


def test_machine_configuration_is_unused(fake_aws: FakeAws, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client uses neither the machine's profile nor its keys nor its proxy."""
    monkeypatch.setenv("AWS_PROFILE", "of-the-machine")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAMACHINE")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    fake_aws.new_client("ec2").describe_vpcs()
    assert fake_aws.actions() == ["DescribeVpcs"]


@pytest.mark.parametrize("how", ["eof", "terminate"])
def test_end(how: str, tmp_path: Path) -> None:
    """The server prints its address, and ends on SIGTERM or when its input ends."""
    with subprocess.Popen(
        [sys.executable, "-m", "testbed.moto_server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": str(ROOT), "PATH": os.defpath, "HOME": str(tmp_path)},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"listening on http://127.0.0.1:")
        if how == "terminate":
            process.terminate()
            assert process.wait(timeout=30) == 0
        rest, _ = process.communicate(timeout=30)
    assert rest == b""
    assert process.returncode == 0
