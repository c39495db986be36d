"""`cpi sweep`: what calls have left behind is listed, and removed when that is asked for; nothing else is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from testbed.executable import DIRECTOR_UUID
from testbed.rules import REQUEST_ID
from tests.stories.operators import ANY_AGE, GONE, Sweep, Yard

if TYPE_CHECKING:
    from testbed.cloud import FakeAws
    from testbed.executable import Cpi
    from testbed.world import World

READS = {
    "DescribeImages",
    "DescribeInstances",
    "DescribeNetworkInterfaces",
    "DescribeSnapshots",
    "DescribeVolumes",
}
REFUSED = {"code": "UnauthorizedOperation", "message": "You may not.", "status": 403}


@pytest.fixture
def yard(fake_aws: FakeAws, world: World) -> Yard:
    """Return what makes things that are left behind."""
    return Yard(fake_aws, world)


@pytest.fixture
def sweep(cpi: Cpi, fake_aws: FakeAws) -> Sweep:
    """Return the command."""
    return Sweep(cpi, fake_aws)


def test_listed(yard: Yard, sweep: Sweep, fake_aws: FakeAws, world: World) -> None:
    """Each stray has its line, nothing that only looks like one has, and nothing is changed."""
    yard.disguise()
    ids = yard.fill()
    before = world.state()
    answer = sweep(*ANY_AGE)
    lines = [line.split()[:2] for line in answer.stdout.decode().splitlines()]
    assert lines == [
        ["KIND", "ID"],
        ["AMI", ids["failed image"]],
        ["AMI", ids["image"]],
        ["snapshot", ids["snapshot of the failed image"]],
        ["snapshot", ids["snapshot"]],
        ["snapshot", ids["snapshot of a copy"]],
        ["volume", ids["disk"]],
        ["volume", ids["upload"]],
        ["volume", ids["volume"]],
        ["interface", ids["interface"]],
        ["instance", ids["instance"]],
        [],
        ["10", "listed,"],
    ]
    assert (answer.returncode, answer.stderr) == (1, "")
    assert set(fake_aws.actions()) == READS
    assert world.state() == before


def test_removed(yard: Yard, sweep: Sweep, world: World) -> None:
    """All that is certain goes: disks if that is said too, interfaces at the second time; the rest stays."""
    yard.disguise()
    spared = world.state()
    ids = yard.fill()
    left = {ids["image"]: "left to you", ids["instance"]: "left to you"}
    gone = {
        "failed image",
        "snapshot of the failed image",
        "snapshot",
        "snapshot of a copy",
        "upload",
        "volume",
    }
    first = {ids["disk"]: "left: needs --disks", ids["interface"]: "marked"}
    assert sweep.outcomes("--delete", *ANY_AGE) == {
        **dict.fromkeys((ids[name] for name in gone), "removed"),
        **left,
        **first,
    }
    assert sweep.outcomes("--delete", "--disks", *ANY_AGE) == {**left, **dict.fromkeys(first, "removed")}
    world.ec2.terminate_instances(InstanceIds=[ids["instance"]])
    world.ec2.deregister_image(ImageId=ids["image"])
    assert list(sweep.outcomes("--delete", *ANY_AGE, status=0).values()) == ["removed"]  # the AMI's snapshot
    assert world.state() == spared


def test_too_young(yard: Yard, sweep: Sweep, world: World) -> None:
    """What is younger than a day stays, also when it is marked: that is not the day of its making."""
    ids = yard.fill()
    before = world.state()
    young = dict.fromkeys((ids[name] for name in ids if name not in {"image", "instance"}), "too young")
    assert sweep.outcomes("--delete", "--disks", status=0) == {**young, ids["interface"]: "marked"}
    assert sweep.outcomes("--delete", "--disks", status=0) == young
    assert world.state() == before


def test_nothing(sweep: Sweep, world: World) -> None:
    """Where nothing is stray, that is said, and the exit status is 0."""
    assert world.state() == world.empty
    answer = sweep("--delete")
    assert (answer.returncode, answer.stdout.decode()) == (0, f"Nothing stray of director {DIRECTOR_UUID}\n")


def test_refused(yard: Yard, sweep: Sweep, fake_aws: FakeAws, world: World) -> None:
    """What AWS refuses to delete is told with its words, and the others go."""
    refused, other = yard.volume(**GONE), yard.volume(**GONE)
    fake_aws.rule(action="DeleteVolume", where={"VolumeId": refused}, error=REFUSED)
    answer = sweep("--delete", "--json", *ANY_AGE)
    told = {stray["id"]: (stray["outcome"], stray["error"]) for stray in answer.document["strays"]}
    said = told[refused][1]
    assert (answer.returncode, told) == (1, {refused: ("failed", said), other: ("removed", None)})
    assert "DeleteVolume failed with UnauthorizedOperation: You may not." in said
    assert REQUEST_ID in said
    assert world.state()["volumes"] == [refused]


def test_attached_meanwhile(yard: Yard, sweep: Sweep, fake_aws: FakeAws) -> None:
    """Everything is looked at again right before it is removed."""
    volume_id = yard.volume(**GONE)
    fake_aws.rule(action="DescribeVolumes", nth=2, replace=[("<status>available<", "<status>in-use<")])
    assert sweep.outcomes("--delete", *ANY_AGE, status=0) == {volume_id: "spared"}
    assert "DeleteVolume" not in fake_aws.actions()


def test_snapshots_that_may_not_be_listed(yard: Yard, sweep: Sweep, fake_aws: FakeAws) -> None:
    """A policy without stemcells of one's own lacks DescribeSnapshots: all else is swept."""
    yard.snapshot(bosh_stemcell="call-1")
    volume_id = yard.volume(**GONE)
    fake_aws.rule(action="DescribeSnapshots", error=REFUSED)
    answer = sweep("--json")
    assert [stray["id"] for stray in answer.document["strays"]] == [volume_id]
    assert answer.document["not_listed"] == ["snapshot"]
    assert "Snapshots are left out" in answer.stderr


def test_not_carried_out(cpi: Cpi, sweep: Sweep, fake_aws: FakeAws) -> None:
    """Without permission, a director or a configuration it is said why, and the exit status is 2."""
    fake_aws.rule(action="DescribeVolumes", error=REFUSED)
    refused = sweep()
    assert (refused.returncode, refused.stdout) == (2, b"")
    assert "DescribeVolumes failed with UnauthorizedOperation" in refused.stderr
    wrong = cpi.run("sweep")
    assert (wrong.returncode, wrong.stdout) == (2, b"")
    assert "the following arguments are required: --director" in wrong.stderr
    cpi.config_path.unlink()
    missing = sweep()
    assert (missing.returncode, missing.stdout) == (2, b"")
    assert str(cpi.config_path) in missing.stderr
