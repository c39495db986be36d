"""What `cpi sweep --delete` does if a resource has changed since the listing, or AWS refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.tools.sweep_things import DIRECTOR, OWN, OWN_IMAGES, PAGE, hours_ago, tags

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.conftest import Ec2
    from tests.unit.tools.sweep_things import Run

SNAPSHOT = {
    "SnapshotId": "snap-1",
    "State": "completed",
    "StartTime": hours_ago(100),
    "VolumeSize": 8,
    "VolumeId": "vol-ffffffff",
    "Tags": tags(bosh_stemcell="call-1"),
}
IMAGE = {
    "ImageId": "ami-1",
    "State": "failed",
    "CreationDate": "2026-01-01T00:00:00.000Z",
    "Tags": tags(bosh_stemcell="call-1"),
    "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": {"SnapshotId": "snap-1"}}],
}
NIC = {
    "NetworkInterfaceId": "eni-1",
    "Status": "available",
    "Description": f"BOSH agent agent-1 of director {DIRECTOR}",
    "TagSet": tags(bosh_agent_id="agent-1", bosh_sweep_seen="2020-05-01T00:00:00Z eni-1"),
}
VOLUME = {
    "VolumeId": "vol-1",
    "State": "available",
    "CreateTime": hours_ago(100),
    "Size": 1,
    "VolumeType": "gp3",
    "Tags": tags(bosh_agent_id="agent-1"),
}
IN_USE = "The snapshot snap-1 is currently in use by ami-2"


@pytest.fixture
def again(ec2: Ec2) -> Callable[..., None]:
    """Return a function that answers when the snapshot is looked up again."""

    def show(*snapshots: dict[str, Any]) -> None:
        by_id = [{"Name": "snapshot-id", "Values": ["snap-1"]}]
        ec2.answers("describe_snapshots", {"Snapshots": list(snapshots)}, **OWN, Filters=by_id)

    return show


@pytest.mark.parametrize(
    ("shown", "outcome"),
    [
        ([], "gone"),
        ([{**SNAPSHOT, "Tags": tags("director-2", bosh_stemcell="call-1")}], "spared"),
        ([{**SNAPSHOT, "Tags": []}], "spared"),
        ([{**SNAPSHOT, "Tags": tags(bosh_stemcell="call-1", bosh_ami="ami-9")}], "spared"),
    ],
)
def test_changed_meanwhile(
    run: Run,
    there: Callable[..., None],
    again: Callable[..., None],
    shown: list[dict[str, Any]],
    outcome: str,
) -> None:
    """A snapshot that is gone, has another Director's tag or is no longer a stray is not deleted."""
    there(snapshot=SNAPSHOT)
    again(*shown)
    assert run() == [("snapshot", outcome)]


def test_volume_deleted_meanwhile(run: Run, there: Callable[..., None], ec2: Ec2) -> None:
    """A volume that somebody else deletes in the same moment is removed, too."""
    there(volume=VOLUME)
    by_id = [{"Name": "volume-id", "Values": ["vol-1"]}]
    ec2.answers("describe_volumes", {"Volumes": [VOLUME]}, MaxResults=500, Filters=by_id)
    ec2.refuses("delete_volume", "InvalidVolume.NotFound", VolumeId="vol-1")
    ec2.refuses("describe_volumes", "InvalidVolume.NotFound", VolumeIds=["vol-1"])
    assert run("--disk", "vol-1") == [("volume", "removed")]


@pytest.fixture
def image_again(ec2: Ec2) -> Callable[..., None]:
    """Return a function that answers when the AMI is looked up again."""

    def show(state: str) -> None:
        by_id = [{"Name": "image-id", "Values": ["ami-1"]}]
        ec2.answers("describe_images", {"Images": [{**IMAGE, "State": state}]}, **OWN_IMAGES, Filters=by_id)

    return show


@pytest.mark.parametrize("other", [None, "ami-2"])
def test_image_and_snapshot(
    run: Run,
    there: Callable[..., None],
    image_again: Callable[..., None],
    again: Callable[..., None],
    ec2: Ec2,
    other: str | None,
) -> None:
    """An AMI goes before its snapshot, whose deletion EC2 refuses for a moment, or for another AMI."""
    there(snapshot=SNAPSHOT, image=IMAGE)
    image_again("failed")
    ec2.answers("deregister_image", ImageId="ami-1")
    ec2.answers(
        "describe_images", {"Images": []}, ImageIds=["ami-1"], IncludeDeprecated=True, IncludeDisabled=True
    )
    again(SNAPSHOT)
    used_by = IN_USE.replace("ami-2", other or "ami-1")
    ec2.refuses("delete_snapshot", "InvalidSnapshot.InUse", used_by, SnapshotId="snap-1")
    if other is None:
        ec2.answers("delete_snapshot", SnapshotId="snap-1")
    outcome = "spared" if other else "removed"
    assert run() == [("AMI", "removed"), ("snapshot", outcome)]


def test_image_available_meanwhile(
    run: Run, there: Callable[..., None], image_again: Callable[..., None]
) -> None:
    """An AMI that has become available is kept, and so is its snapshot."""
    there(snapshot=SNAPSHOT, image=IMAGE)
    image_again("available")
    assert run() == [("AMI", "spared"), ("snapshot", "spared")]


def test_image_refused(
    run: Run,
    there: Callable[..., None],
    image_again: Callable[..., None],
    ec2: Ec2,
) -> None:
    """If AWS refuses to deregister an AMI, its snapshot is not deleted."""
    there(snapshot=SNAPSHOT, image=IMAGE)
    image_again("failed")
    ec2.refuses("deregister_image", "UnauthorizedOperation", "You may not.", ImageId="ami-1")
    image, snapshot = run()
    assert image[1].startswith("failed: DeregisterImage failed with UnauthorizedOperation: You may not.")
    assert snapshot == ("snapshot", "spared")


@pytest.mark.parametrize("seen", [{}, {"bosh_sweep_seen": "2999-01-01T00:00:00Z eni-1"}])
def test_mark_changed_meanwhile(run: Run, there: Callable[..., None], ec2: Ec2, seen: dict[str, str]) -> None:
    """An interface whose mark is gone or new is not old enough any more."""
    there(nic=NIC)
    by_id = [{"Name": "network-interface-id", "Values": ["eni-1"]}]
    found = {**NIC, "TagSet": tags(bosh_agent_id="agent-1", **seen)}
    ec2.answers("describe_network_interfaces", {"NetworkInterfaces": [found]}, **PAGE, Filters=by_id)
    assert run() == [("interface", "spared")]


def test_named_disk_that_is_no_stray(run: Run, there: Callable[..., None]) -> None:
    """A named disk that is no stray, or that does not exist, is kept and reported as failed."""
    volume = {"VolumeId": "vol-1", "State": "available", "CreateTime": hours_ago(100), "Size": 1}
    known = tags(bosh_call="call-1", attached_at="2026-05-01")
    there(volume={**volume, "VolumeType": "gp3", "Tags": known})
    ((_, first), (_, second)) = run("--disk", "vol-1", "--disk", "vol-9")
    assert first == second
    assert first.startswith("failed: not a stray of this Director: ")
