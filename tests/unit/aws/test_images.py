"""AMIs and the snapshots behind them, through the orders of states that EC2 shows."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import images
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import Image

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.unit.conftest import Clock, Ec2, ProgramLog

AMI = "ami-0123456789abcdef0"
IDS = {"ImageIds": [AMI], "IncludeDeprecated": True, "IncludeDisabled": True}
OWN = {"bosh_call": "c-1"}
GONE = "InvalidAMIID.NotFound"
IN_USE = "InvalidSnapshot.InUse"
DEREGISTER = {"ImageId": AMI, "DeleteAssociatedSnapshots": True}


def entry(state: str = "available", *snapshot_ids: str, **more: Any) -> dict[str, Any]:
    """Describe the AMI."""
    devices = [
        {"DeviceName": f"/dev/sd{letter}", "Ebs": {"SnapshotId": snapshot_id}}
        for letter, snapshot_id in zip("abc", snapshot_ids, strict=False)
    ]
    return {"ImageId": AMI, "State": state, "BlockDeviceMappings": devices, **more}


def lay(ec2: Ec2, *looks: dict[str, Any] | str) -> None:
    """Lay out the answers of DescribeImages; a string is the code of a refusal."""
    for look in looks:
        if isinstance(look, str):
            ec2.refuses("describe_images", look, **IDS)
        else:
            ec2.answers("describe_images", {"Images": [look] if look else []}, **IDS)


def test_find(ec2: Ec2) -> None:
    """An AMI has the names of all its devices, their snapshots and encryption, and its root disk's size."""
    look = entry(RootDeviceName="/dev/sda1", VirtualizationType="paravirtual", Architecture="arm64")
    look["BlockDeviceMappings"] = [
        {"DeviceName": "/dev/sda1", "Ebs": {"SnapshotId": "snap-1", "VolumeSize": 5}},
        {"DeviceName": "/dev/sdb", "VirtualName": "ephemeral0"},
        {"DeviceName": "/dev/sdc", "Ebs": {"VolumeSize": 7}},
        {"DeviceName": "/dev/sdd", "Ebs": {"SnapshotId": "snap-2"}},
    ]
    lay(ec2, look, entry())
    names = ["/dev/sda1", "/dev/sdb", "/dev/sdc", "/dev/sdd"]
    snapshots = ["snap-1", "snap-2"]
    whole = Image(
        AMI, "/dev/sda1", "paravirtual", "arm64", names, snapshots, root_gib=5, has_plain_disks=True
    )
    assert images.find(ec2.client, AMI) == whole
    assert images.find(ec2.client, AMI) == Image(AMI, "", "hvm", "", [], [])


@pytest.mark.parametrize("look", [{}, GONE, "InvalidAMIID.Malformed", "InvalidAMIID.Unavailable"])
def test_find_none(ec2: Ec2, look: dict[str, Any] | str) -> None:
    """Each of EC2's answers for an unknown AMI results in None."""
    lay(ec2, look)
    assert images.find(ec2.client, AMI) is None


@pytest.mark.parametrize(
    ("found", "expected"), [(["ami-3", "ami-2"], "ami-2"), (["ami-3"], "ami-3"), ([], None)]
)
def test_find_first(ec2: Ec2, found: list[str], expected: str | None) -> None:
    """One call has a filter with all ids; the result is the first existing one in the given order."""
    filters = [{"Name": "image-id", "Values": ["ami-1", "ami-2", "ami-3"]}]
    answer = {"Images": [{"ImageId": ami_id} for ami_id in found]}
    ec2.answers("describe_images", answer, Filters=filters, IncludeDeprecated=True)
    assert images.find_first(ec2.client, ["ami-1", "ami-2", "ami-3"]) == expected


@pytest.mark.parametrize(
    "looks",
    [[entry()], [entry("pending"), entry("transient"), entry()], [{}, GONE, entry("pending"), entry()]],
)
def test_wait_until_available(ec2: Ec2, clock: Clock, looks: list[dict[str, Any] | str]) -> None:
    """A new AMI is waited for, also while EC2 does not know it yet."""
    lay(ec2, *looks)
    assert images.wait_until_available(ec2.client, AMI).ami_id == AMI
    assert len(clock.pauses) == len(looks) - 1


@pytest.mark.parametrize(
    ("patience", "is_patient"),
    [(timing.IMAGE_AVAILABLE, False), (timing.IMAGE_COPIED, True)],
    ids=["available", "copied"],
)
def test_copies_in_turn(
    ec2: Ec2,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    patience: timing.Policy,
    *,
    is_patient: bool,
) -> None:
    """The wait is long enough for the fifth of five time-based copies of an AMI."""

    def describe(*_: object) -> dict[str, Any]:
        return entry("available" if clock.now >= 5 * 45 * 60 else "pending")

    monkeypatch.setattr(images, "describe", describe)
    with nullcontext() if is_patient else pytest.raises(CloudError, match="after 3600 seconds"):
        assert images.wait_until_available(ec2.client, AMI, patience).ami_id == AMI


@pytest.mark.parametrize("state", ["failed", "error", "invalid", "deregistered", "disabled"])
@pytest.mark.parametrize(
    ("more", "said"),
    [({"StateReason": {"Code": "c", "Message": "no key"}}, "no key"), ({}, "no reason given")],
)
def test_image_that_fails(ec2: Ec2, clock: Clock, state: str, more: dict[str, Any], said: str) -> None:
    """An AMI that EC2 could not create ends the wait at once, with EC2's reason."""
    lay(ec2, entry("pending"), entry(state, **more))
    with pytest.raises(CloudError) as caught:
        images.wait_until_available(ec2.client, AMI)
    assert caught.value.message == f"EC2 could not create AMI '{AMI}', its state is {state}: {said}"
    assert len(clock.pauses) == 1


@pytest.mark.parametrize("last", [GONE, {}, entry("deregistered"), "InvalidAMIID.Unavailable"])
def test_discard(ec2: Ec2, clock: Clock, last: dict[str, Any] | str) -> None:
    """An AMI is deregistered, waited for until it is gone, and then each of its snapshots is deleted."""
    lay(ec2, entry("available", "snap-1", "snap-2"))
    ec2.answers("deregister_image", **DEREGISTER)
    lay(ec2, entry(), last)
    ec2.answers("delete_snapshot", SnapshotId="snap-1")
    ec2.answers("delete_snapshot", SnapshotId="snap-2")
    images.delete(ec2.client, AMI)
    assert len(clock.pauses) == 1


def test_discard_with_snapshots_in_use(ec2: Ec2, clock: Clock) -> None:
    """The deletion of a snapshot that is still in use is retried; a missing snapshot is no error."""
    lay(ec2, entry("available", "snap-1", "snap-2"))
    ec2.answers("deregister_image", **DEREGISTER)
    lay(ec2, GONE)
    ec2.refuses("delete_snapshot", IN_USE, SnapshotId="snap-1")
    ec2.refuses("delete_snapshot", IN_USE, SnapshotId="snap-1")
    ec2.answers("delete_snapshot", SnapshotId="snap-1")
    ec2.refuses("delete_snapshot", "InvalidSnapshot.NotFound", SnapshotId="snap-2")
    images.delete(ec2.client, AMI)
    assert len(clock.pauses) == 2


def test_discard_what_goes_meanwhile(ec2: Ec2) -> None:
    """If the AMI is deregistered meanwhile, its snapshots are deleted all the same."""
    lay(ec2, entry("available", "snap-1"))
    ec2.refuses("deregister_image", "InvalidAMIID.Unavailable", **DEREGISTER)
    lay(ec2, GONE)
    ec2.answers("delete_snapshot", SnapshotId="snap-1")
    images.delete(ec2.client, AMI)


def snapshots_left(
    ec2: Ec2, *by_description: str, by_tag: tuple[str, ...] = (), own: Sequence[str] | None = None
) -> None:
    """Answer the searches for an AMI's snapshots: by description, by tag, and for a copy by its own tags."""
    searches = [
        ("description", f"Copied for DestinationAmi {AMI} *", by_description),
        ("tag:bosh_ami", AMI, by_tag),
        *([] if own is None else [("tag:bosh_call", "c-1", own)]),
    ]
    for name, value, found in searches:
        made = {
            "VolumeId": "vol-ffffffff",
            "Description": f"Copied for DestinationAmi {AMI} from SourceAmi ami-1",
        }
        answer = {"Snapshots": [{**made, "SnapshotId": snapshot_id} for snapshot_id in found]}
        filters = [{"Name": name, "Values": [value]}]
        ec2.answers("describe_snapshots", answer, OwnerIds=["self"], Filters=filters)


def test_discard_what_is_gone(ec2: Ec2, program_log: ProgramLog) -> None:
    """An AMI that is already gone is logged, and is no error."""
    lay(ec2, GONE)
    snapshots_left(ec2)
    images.delete(ec2.client, AMI)
    assert [record.text for record in program_log.records] == [f"AMI '{AMI}' is already gone"]


def test_discard_what_was_half_deleted(ec2: Ec2) -> None:
    """The snapshots of an AMI that is gone are found by description and tag, and deleted."""
    lay(ec2, GONE)
    snapshots_left(ec2, "snap-1", "snap-2", by_tag=("snap-2", "snap-3"))
    for number in (1, 2, 3):
        ec2.answers("delete_snapshot", SnapshotId=f"snap-{number}")
    images.delete(ec2.client, AMI)


def test_discard_with_a_snapshot_that_stays(ec2: Ec2) -> None:
    """A snapshot that can't be deleted is an error, and is tagged for a repeated call; the others go."""
    lay(ec2, entry("available", "snap-1", "snap-2"))
    ec2.answers("deregister_image", **DEREGISTER)
    lay(ec2, GONE)
    ec2.refuses("delete_snapshot", "UnauthorizedOperation", SnapshotId="snap-1")
    ec2.answers("create_tags", Resources=["snap-1"], Tags=[{"Key": "bosh_ami", "Value": AMI}])
    ec2.answers("delete_snapshot", SnapshotId="snap-2")
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        images.delete(ec2.client, AMI)


def test_discard_copy(ec2: Ec2, clock: Clock) -> None:
    """The deregistration of a copy that EC2 does not know yet is retried; its snapshots are deleted."""
    lay(ec2, GONE)
    ec2.refuses("deregister_image", "InvalidAMIID.NotFound", **DEREGISTER)
    ec2.answers("deregister_image", **DEREGISTER)
    lay(ec2, GONE)
    snapshots_left(ec2, "snap-1", own=["snap-1"])
    ec2.answers("delete_snapshot", SnapshotId="snap-1")
    images.discard_copy(ec2.client, AMI, OWN)
    assert len(clock.pauses) == 1


def test_discard_copy_that_is_shown(ec2: Ec2) -> None:
    """Each snapshot of a copy is deleted once."""
    lay(ec2, entry("failed", "snap-1"))
    ec2.answers("deregister_image", **DEREGISTER)
    lay(ec2, GONE)
    ec2.answers("delete_snapshot", SnapshotId="snap-1")
    snapshots_left(ec2, own=["snap-1", "snap-2"])
    ec2.answers("delete_snapshot", SnapshotId="snap-2")
    images.discard_copy(ec2.client, AMI, OWN)


def test_discard_copy_that_may_not_be_described(ec2: Ec2) -> None:
    """If the copy can't be described, it is deregistered all the same."""
    ec2.refuses("describe_images", "UnauthorizedOperation", **IDS)
    ec2.answers("deregister_image", **DEREGISTER)
    lay(ec2, GONE)
    snapshots_left(ec2, own=[])
    images.discard_copy(ec2.client, AMI, OWN)


def test_discard_copy_whose_snapshots_may_not_be_listed(ec2: Ec2) -> None:
    """If the snapshots can't be searched, the shown ones are deleted, and the error names the others' tag."""
    lay(ec2, entry("pending", "snap-1"))
    ec2.answers("deregister_image", **DEREGISTER)
    lay(ec2, GONE)
    ec2.answers("delete_snapshot", SnapshotId="snap-1")
    filters = [{"Name": "description", "Values": [f"Copied for DestinationAmi {AMI} *"]}]
    ec2.refuses("describe_snapshots", "UnauthorizedOperation", OwnerIds=["self"], Filters=filters)
    with pytest.raises(CloudError, match=f"Snapshots of AMI '{AMI}' with the tag bosh_call=c-1 may be left"):
        images.discard_copy(ec2.client, AMI, OWN)


@pytest.mark.parametrize("is_copy", [True, False], ids=["copy", "stemcell"])
def test_discard_what_may_not_be_waited_for(ec2: Ec2, *, is_copy: bool) -> None:
    """If DescribeImages is refused during the wait, the snapshots are deleted, and the refusal is raised."""
    lay(ec2, entry("available", "snap-1", "snap-2"))
    ec2.answers("deregister_image", **DEREGISTER)
    lay(ec2, "UnauthorizedOperation")
    ec2.answers("delete_snapshot", SnapshotId="snap-1")
    ec2.answers("delete_snapshot", SnapshotId="snap-2")
    if is_copy:
        snapshots_left(ec2, own=[])
    remove = partial(images.discard_copy, own_tags=OWN) if is_copy else images.delete
    with pytest.raises(ClientError, match="DescribeImages") as caught:
        remove(ec2.client, AMI)
    assert "UnauthorizedOperation" in str(caught.value)
