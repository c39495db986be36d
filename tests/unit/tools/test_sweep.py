"""What the sweep does about AMIs and snapshots, and what it leaves when they change meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.tools.sweep_things import OWN, OWN_IMAGES, hours_ago, tags

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
IN_USE = "The snapshot snap-1 is currently in use by ami-2"


@pytest.fixture
def again(ec2: Ec2) -> Callable[..., None]:
    """Return a function that lays out the second look at the snapshot."""

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
    """What is gone, another's or no stray any more at the second look is not deleted."""
    there(snapshot=SNAPSHOT)
    again(*shown)
    assert run() == [("snapshot", outcome)]


def test_used_meanwhile(
    run: Run,
    there: Callable[..., None],
    again: Callable[..., None],
    ec2: Ec2,
) -> None:
    """A snapshot of which somebody has made an AMI since then stays, as EC2 refuses to delete it."""
    there(snapshot=SNAPSHOT)
    again(SNAPSHOT)
    ec2.refuses("delete_snapshot", "InvalidSnapshot.InUse", IN_USE, SnapshotId="snap-1")
    ((kind, outcome),) = run()
    assert kind == "snapshot"
    assert outcome.startswith("failed: DeleteSnapshot failed with InvalidSnapshot.InUse: " + IN_USE)


@pytest.fixture
def image_again(ec2: Ec2) -> Callable[..., None]:
    """Return a function that lays out the second look at the AMI."""

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
    """An AMI goes before its snapshot, which EC2 counts as used for a moment more, or as another AMI's."""
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
    outcome = "failed: Another AMI uses it" if other else "removed"
    assert run() == [("AMI", "removed"), ("snapshot", outcome)]


def test_image_that_is_whole_after_all(
    run: Run, there: Callable[..., None], image_again: Callable[..., None]
) -> None:
    """An AMI that can be used at the second look stays, though it may be lost, and its snapshot with it."""
    there(snapshot=SNAPSHOT, image=IMAGE)
    image_again("available")
    assert run() == [("AMI", "spared"), ("snapshot", "spared")]


def test_image_that_stays(
    run: Run,
    there: Callable[..., None],
    image_again: Callable[..., None],
    ec2: Ec2,
) -> None:
    """The snapshot of an AMI that AWS refuses to deregister is not tried."""
    there(snapshot=SNAPSHOT, image=IMAGE)
    image_again("failed")
    ec2.refuses("deregister_image", "UnauthorizedOperation", "You may not.", ImageId="ami-1")
    image, snapshot = run()
    assert image[1].startswith("failed: DeregisterImage failed with UnauthorizedOperation: You may not.")
    assert snapshot == ("snapshot", "spared")
