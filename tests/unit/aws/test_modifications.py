"""Changes of EBS volumes in place, through the orders of states that EC2 shows."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from bosh_aws_cpi.aws import volumes
from bosh_aws_cpi.errors import CloudError, DiskNotFound, NotSupported

if TYPE_CHECKING:
    from tests.unit.conftest import Clock, Ec2, ProgramLog

DISK = "vol-1"
CHANGES = {"Size": 20, "VolumeType": "gp3"}
TARGETS = {"TargetSize": 20, "TargetVolumeType": "gp3", "TargetIops": 3000}
FILTERS = [{"Name": "volume-id", "Values": [DISK]}]
EARLIER, BEGAN = (datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2))
NOT_NOW = [
    *("IncorrectModificationState", "UnsupportedOperation"),
    *("VolumeModificationRateExceeded", "VolumeModificationSizeLimitExceeded"),
]
RUNNING = pytest.mark.parametrize("state", ["modifying", "optimizing"])


def lay(ec2: Ec2, *looks: dict[str, Any] | str | None) -> None:
    """Lay out one look at the modifications after the other; a word: just ours, in that state."""
    for look in looks:
        entry = {"ModificationState": look, **TARGETS} if isinstance(look, str) else look
        answer = {"VolumesModifications": [entry] if entry else []}
        ec2.answers("describe_volumes_modifications", answer, Filters=FILTERS)


def lay_modify(ec2: Ec2, code: str | None = None) -> None:
    """Lay out a ModifyVolume."""
    if code:
        ec2.refuses("modify_volume", code, "said", VolumeId=DISK, **CHANGES)
    else:
        ec2.answers("modify_volume", VolumeId=DISK, **CHANGES)


def modify(ec2: Ec2) -> None:
    """Change the volume."""
    volumes.modify(ec2.client, DISK, CHANGES)


@pytest.mark.parametrize(
    "looks",
    [
        ["optimizing"],
        ["completed"],
        ["modifying", "modifying", "optimizing"],
        [None, "modifying", "completed"],
    ],
)
@pytest.mark.parametrize(
    "before", [None, {"ModificationState": "completed"}, {"ModificationState": "failed"}]
)
def test_modify(ec2: Ec2, clock: Clock, before: dict[str, Any] | None, looks: list[str | None]) -> None:
    """A volume is changed, and waited for until it can be used; it may be optimised for hours after that."""
    lay(ec2, before)
    lay_modify(ec2)
    lay(ec2, *looks)
    modify(ec2)
    assert len(clock.pauses) == len(looks) - 1


@RUNNING
def test_under_way(ec2: Ec2, program_log: ProgramLog, state: str) -> None:
    """A change to just this that is under way is waited for: an earlier call's, whose answer was lost."""
    lay(ec2, state, "modifying", "optimizing")
    modify(ec2)
    infos = [record.text for record in program_log.records if record.level == "INFO"]
    assert infos == [f"The same change of volume '{DISK}' is already under way: waiting for it"]


@RUNNING
@pytest.mark.parametrize("change", [{"TargetSize": 30}, {"TargetVolumeType": "io2"}])
def test_another_under_way(ec2: Ec2, state: str, change: dict[str, Any]) -> None:
    """Another change must end first, which may take hours: the Director copies."""
    lay(ec2, {"ModificationState": state, **TARGETS, **change})
    with pytest.raises(NotSupported) as caught:
        modify(ec2)
    assert caught.value.message == (
        f"Volume '{DISK}' can't be changed now: an earlier change is still {state}"
    )


def test_latest(ec2: Ec2) -> None:
    """Of several changes that EC2 shows the latest counts."""
    entries = [
        {"ModificationState": "optimizing", "StartTime": "2026-01-02T00:00:00Z", **TARGETS},
        {"ModificationState": "modifying", "StartTime": "2026-01-01T00:00:00Z", "TargetSize": 30},
    ]
    for _ in range(2):
        ec2.answers("describe_volumes_modifications", {"VolumesModifications": entries}, Filters=FILTERS)
    modify(ec2)


@pytest.mark.parametrize("code", NOT_NOW)
def test_not_now(ec2: Ec2, code: str) -> None:
    """A volume that can't be changed, or not again for hours, is copied by the Director."""
    lay(ec2, None)
    lay_modify(ec2, code)
    lay(ec2, {"ModificationState": "completed", **TARGETS})
    with pytest.raises(NotSupported) as caught:
        modify(ec2)
    assert caught.value.message == (
        f"Volume '{DISK}' can't be changed now: ModifyVolume failed with {code}: said (request id none)"
    )


@pytest.mark.parametrize("code", NOT_NOW)
@RUNNING
def test_answer_that_was_lost(ec2: Ec2, code: str, state: str) -> None:
    """A refusal after which just this change is under way is that of the SDK's repetition."""
    lay(ec2, None)
    lay_modify(ec2, code)
    lay(ec2, state, "optimizing")
    modify(ec2)


@pytest.mark.parametrize("how", ["answered", "refused", "under way"])
@pytest.mark.parametrize("state", ["completed", "failed"])
def test_earlier_change(ec2: Ec2, clock: Clock, how: str, state: str) -> None:
    """For a while EC2 may show the change before ours: its end is not the end of ours, nor its failure."""
    ours = {"ModificationState": "modifying", "StartTime": BEGAN, **TARGETS}
    earlier = {"ModificationState": state, "StartTime": EARLIER, "StatusMessage": "no room"}
    if how == "answered":
        lay(ec2, earlier)
        ec2.answers("modify_volume", {"VolumeModification": {"StartTime": BEGAN}}, VolumeId=DISK, **CHANGES)
    elif how == "refused":
        lay(ec2, earlier)
        lay_modify(ec2, "IncorrectModificationState")
    if how != "answered":
        lay(ec2, ours)
    lay(ec2, earlier, ours, earlier, {**ours, "ModificationState": "optimizing"})
    modify(ec2)
    assert len(clock.pauses) == 3


@pytest.mark.parametrize("code", ["InvalidVolume.NotFound", "InvalidVolumeID.Malformed"])
def test_unknown_volume(ec2: Ec2, code: str) -> None:
    """A volume that EC2 does not know is not found; of one that was never changed it knows no change."""
    ec2.refuses("describe_volumes_modifications", "InvalidVolumeModification.NotFound", Filters=FILTERS)
    lay_modify(ec2, code)
    with pytest.raises(DiskNotFound, match=DISK):
        modify(ec2)


@pytest.mark.parametrize(
    ("more", "said"), [({"StatusMessage": "no room"}, "no room"), ({}, "no reason given")]
)
def test_change_that_fails(ec2: Ec2, more: dict[str, str], said: str) -> None:
    """A change that EBS could not make is an error with EBS's reason."""
    lay(ec2, None)
    lay_modify(ec2)
    lay(ec2, "modifying", {"ModificationState": "failed", **more})
    with pytest.raises(CloudError) as caught:
        modify(ec2)
    assert caught.value.message == f"EBS could not change volume '{DISK}': {said}"
    assert not isinstance(caught.value, NotSupported)


def test_never_usable(ec2: Ec2, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """After ten minutes it is given up, with how far it was."""
    answer = {"VolumesModifications": [{"ModificationState": "modifying", "Progress": 40, **TARGETS}]}
    monkeypatch.setattr(ec2.client, "describe_volumes_modifications", lambda **_: answer)
    with pytest.raises(CloudError, match=f"volume '{DISK}' to be changed; last seen: modifying 40%"):
        modify(ec2)
    assert 1600 <= clock.now <= 1606
