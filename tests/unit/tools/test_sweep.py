"""What the sweep asks of EC2, and what it leaves when something changes meanwhile."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from bosh_aws_cpi.tools import sweep
from tests.unit.tools.sweep_things import DIRECTOR, hours_ago

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.conftest import Ec2

BY_TAG = [{"Name": "tag:bosh_director_uuid", "Values": [DIRECTOR]}]
OWN = {"OwnerIds": ["self"]}
OWN_IMAGES = {"Owners": ["self"], "IncludeDeprecated": True, "IncludeDisabled": True}


def tags(director: str = DIRECTOR, **more: str) -> list[dict[str, str]]:
    """Write tags as EC2 shows them."""
    whole = {"bosh_director_uuid": director, **more}
    return [{"Key": key, "Value": value} for key, value in whole.items()]


SNAPSHOT = {
    "SnapshotId": "snap-1",
    "State": "completed",
    "StartTime": hours_ago(100),
    "VolumeSize": 8,
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
def run(
    ec2: Ec2, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[], list[tuple[str, str]]]:
    """Return a function that sweeps a snapshot, and the AMI that is made of it if there is one."""
    monkeypatch.setattr(sweep, "load", lambda _path, _context: SimpleNamespace(aws=None))
    monkeypatch.setattr(sweep, "Clients", lambda _aws, _tally: SimpleNamespace(ec2=ec2.client))
    monkeypatch.setattr(sweep, "carried_out", lambda body: body())

    def carry_out() -> list[tuple[str, str]]:
        sweep.main(["cpi.json", "--director", DIRECTOR, "--delete"])
        rows = capsys.readouterr().out.partition("\n\n")[0].splitlines()[1:]
        return [(row.split()[0], row.split("  ")[-1].strip()) for row in rows]

    return carry_out


@pytest.fixture
def there(ec2: Ec2) -> Callable[..., None]:
    """Return a function that lays out the questions for all there is: a snapshot, and these AMIs."""

    def show(*images: dict[str, Any]) -> None:
        ec2.answers("describe_snapshots", {"Snapshots": [SNAPSHOT]}, **OWN, Filters=BY_TAG)
        ec2.answers("describe_images", {"Images": list(images)}, **OWN_IMAGES)
        ec2.answers("describe_volumes", {"Volumes": []}, Filters=BY_TAG)
        ec2.answers("describe_network_interfaces", {"NetworkInterfaces": []}, Filters=BY_TAG)
        ec2.answers("describe_instances", {"Reservations": []}, Filters=BY_TAG)

    return show


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
    run: Callable[[], list[tuple[str, str]]],
    there: Callable[..., None],
    again: Callable[..., None],
    shown: list[dict[str, Any]],
    outcome: str,
) -> None:
    """What is gone, another's or no stray any more at the second look is not deleted."""
    there()
    again(*shown)
    assert run() == [("snapshot", outcome)]


def test_used_meanwhile(
    run: Callable[[], list[tuple[str, str]]], there: Callable[..., None], again: Callable[..., None], ec2: Ec2
) -> None:
    """A snapshot of which somebody has made an AMI since then stays, as EC2 refuses to delete it."""
    there()
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
    run: Callable[[], list[tuple[str, str]]],
    there: Callable[..., None],
    image_again: Callable[..., None],
    again: Callable[..., None],
    ec2: Ec2,
    other: str | None,
) -> None:
    """An AMI goes before its snapshot, which EC2 counts as used for a moment more, or as another AMI's."""
    there(IMAGE)
    image_again("failed")
    ec2.answers("deregister_image", ImageId="ami-1")
    ec2.answers("describe_images", {"Images": []}, ImageIds=["ami-1"], IncludeDeprecated=True)
    again(SNAPSHOT)
    used_by = IN_USE.replace("ami-2", other or "ami-1")
    ec2.refuses("delete_snapshot", "InvalidSnapshot.InUse", used_by, SnapshotId="snap-1")
    if other is None:
        ec2.answers("delete_snapshot", SnapshotId="snap-1")
    outcome = "failed: Another AMI uses it" if other else "removed"
    assert run() == [("AMI", "removed"), ("snapshot", outcome)]


def test_image_that_is_whole_after_all(
    run: Callable[[], list[tuple[str, str]]], there: Callable[..., None], image_again: Callable[..., None]
) -> None:
    """An AMI that can be used at the second look stays, though it may be lost, and its snapshot with it."""
    there(IMAGE)
    image_again("available")
    assert run() == [("AMI", "spared"), ("snapshot", "spared")]


def test_image_that_stays(
    run: Callable[[], list[tuple[str, str]]],
    there: Callable[..., None],
    image_again: Callable[..., None],
    ec2: Ec2,
) -> None:
    """The snapshot of an AMI that AWS refuses to deregister is not tried."""
    there(IMAGE)
    image_again("failed")
    ec2.refuses("deregister_image", "UnauthorizedOperation", "You may not.", ImageId="ami-1")
    image, snapshot = run()
    assert image[1].startswith("failed: DeregisterImage failed with UnauthorizedOperation: You may not.")
    assert snapshot == ("snapshot", "spared")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--director", " "], "the director's UUID must not be empty"),
        (["--director", "d", "--older-than", "-1"], "not a number of hours, 0 or more: '-1'"),
        (["--director", "d", "--older-than", "nan"], "not a number of hours, 0 or more: 'nan'"),
        (["--director", "d", "--older-than", "inf"], "not a number of hours, 0 or more: 'inf'"),
        (["--director", "d", "--older-than", "a day"], "not a number of hours, 0 or more: 'a day'"),
        (["--director", "d", "--disks"], "--disks says what --delete may remove: give both"),
        (["--director", "d", "--del"], "unrecognized arguments: --del"),
    ],
)
def test_arguments(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Wrong arguments are named; one that removes is never guessed from its beginning."""
    with pytest.raises(SystemExit) as ended:
        sweep.main(["cpi.json", *arguments])
    printed = capsys.readouterr()
    assert (ended.value.code, printed.out) == (2, "")
    assert said in printed.err
