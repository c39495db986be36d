"""AMIs that are registered, copied, found again, waited for and deregistered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import images
from bosh_aws_cpi.errors import CloudError
from tests.unit.aws.test_images import AMI, DEREGISTER, GONE, entry, lay, snapshots_left

if TYPE_CHECKING:
    from tests.unit.conftest import Clock, Ec2

SEARCH: dict[str, Any] = {"Owners": ["self"], "Filters": [{"Name": "name", "Values": ["BOSH-1"]}]}


@pytest.mark.parametrize("unseen", [0, 2])
def test_register_without_an_answer(ec2: Ec2, clock: Clock, unseen: int) -> None:
    """After a lost answer of RegisterImage, which takes no client token, the AMI is searched by its name."""
    ec2.loses("register_image", Name="BOSH-1")
    for _ in range(unseen):
        ec2.answers("describe_images", {"Images": []}, **SEARCH)
    ec2.answers("describe_images", {"Images": [{"ImageId": "ami-found", "Name": "BOSH-1"}]}, **SEARCH)
    assert images.register(ec2.client, {"Name": "BOSH-1"}) == "ami-found"
    assert len(clock.pauses) == unseen


def test_register_again(ec2: Ec2, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the AMI is not found, it is registered again."""
    monkeypatch.setattr(ec2.client, "describe_images", lambda **_: {"Images": []})
    ec2.fails("register_image", Name="BOSH-1")
    ec2.answers("register_image", {"ImageId": AMI}, Name="BOSH-1")
    assert images.register(ec2.client, {"Name": "BOSH-1"}) == AMI
    assert 60 <= clock.now <= 66


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([], None),
        ([("ami-1", "pending", "2026-01-01")], "ami-1"),
        ([("ami-1", "pending", "2026-01-01"), ("ami-2", "available", "2026-01-02")], "ami-2"),
        ([("ami-1", "available", "2026-01-02"), ("ami-2", "available", "2026-01-01")], "ami-2"),
        ([("ami-1", "pending", "2026-01-02"), ("ami-2", "pending", "2026-01-01")], "ami-2"),
    ],
)
def test_marked(ec2: Ec2, found: list[tuple[str, str, str]], expected: str | None) -> None:
    """A copy is found by all its tags: available ones before pending ones, then the oldest."""
    filters = [
        {"Name": "tag:a", "Values": ["1"]},
        {"Name": "tag:b", "Values": ["2"]},
        {"Name": "state", "Values": ["available", "pending"]},
    ]
    tags = [{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "2"}]
    entries = [
        {"ImageId": "ami-0", "State": "available", "CreationDate": "2026-01-01", "Tags": tags[:1]},
        *({"ImageId": i, "State": state, "CreationDate": made, "Tags": tags} for i, state, made in found),
    ]
    ec2.answers("describe_images", {"Images": entries}, Owners=["self"], Filters=filters)
    first = next(iter(images.marked(ec2.client, {"b": "2", "a": "1"})), None)
    assert (first and first.ami_id) == expected


COPY = {"Name": "copy", "SourceImageId": "ami-source", "SourceRegion": "us-west-2"}
MARKED: list[dict[str, Any]] = [
    {"Name": "tag:a", "Values": ["1"]},
    {"Name": "state", "Values": ["available", "pending"]},
]


@pytest.mark.parametrize("unseen", [None, 0, 2])
@pytest.mark.parametrize("how", ["lost", "fault"])
def test_copy(ec2: Ec2, clock: Clock, how: str, unseen: int | None) -> None:
    """A copy whose answer is lost is searched by its tags."""
    if unseen is None:
        ec2.answers("copy_image", {"ImageId": AMI}, **COPY)
    elif how == "lost":
        ec2.loses("copy_image", **COPY)
    else:
        ec2.fails("copy_image", **COPY)
    looks = (
        []
        if unseen is None
        else [*[[]] * unseen, [{"ImageId": AMI, "State": "pending", "Tags": [{"Key": "a", "Value": "1"}]}]]
    )
    for look in looks:
        ec2.answers("describe_images", {"Images": look}, Owners=["self"], Filters=MARKED)
    assert images.copy(ec2.client, COPY, {"a": "1"}) == AMI
    assert len(clock.pauses) == (unseen or 0)


def test_copy_that_is_not_seen(ec2: Ec2, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the copy is not found for a minute, the error is raised, and the call is not repeated."""
    monkeypatch.setattr(ec2.client, "describe_images", lambda **_: {"Images": []})
    ec2.fails("copy_image", **COPY)
    with pytest.raises(ClientError, match="InternalError"):
        images.copy(ec2.client, COPY, {"a": "1"})
    assert 60 <= clock.now <= 66


@pytest.mark.parametrize("last", [{}, GONE, "InvalidAMIID.Unavailable"])
def test_image_that_vanishes(ec2: Ec2, clock: Clock, last: dict[str, Any] | str) -> None:
    """The wait ends if the AMI disappears."""
    lay(ec2, GONE, entry("pending"), last)
    with pytest.raises(CloudError) as caught:
        images.wait_until_available(ec2.client, AMI)
    assert caught.value.message == f"AMI '{AMI}' is gone"
    assert len(clock.pauses) == 2


def test_image_that_is_never_seen(ec2: Ec2, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait ends if EC2 does not show the AMI for a minute."""
    monkeypatch.setattr(ec2.client, "describe_images", lambda **_: {"Images": []})
    with pytest.raises(CloudError, match=f"AMI '{AMI}' is gone"):
        images.wait_until_available(ec2.client, AMI)
    assert 60 <= clock.now <= 66


def results(*codes: tuple[str, str]) -> dict[str, Any]:
    """EC2's results for the snapshots."""
    return {
        "DeleteSnapshotResults": [{"SnapshotId": each, "ReturnCode": code} for each, code in codes],
        "Return": True,
    }


def test_copy_whose_snapshots_went(ec2: Ec2) -> None:
    """A snapshot that EC2 deleted with an unfinished copy is not deleted again."""
    lay(ec2, entry("failed", "snap-1"))
    ec2.answers("deregister_image", results(("snap-1", "success")), **DEREGISTER)
    lay(ec2, GONE)
    snapshots_left(ec2, "snap-1", "snap-2", own=[])
    ec2.answers("delete_snapshot", SnapshotId="snap-2")
    images.discard_copy(ec2.client, AMI, {"bosh_call": "c-1"})


def test_deregister(ec2: Ec2, clock: Clock) -> None:
    """An AMI is deregistered even if EC2 does not know it yet; its snapshot stays."""
    ec2.refuses("deregister_image", GONE, ImageId=AMI)
    ec2.answers("deregister_image", ImageId=AMI)
    lay(ec2, entry(), GONE)
    images.deregister(ec2.client, AMI)
    assert len(clock.pauses) == 2
