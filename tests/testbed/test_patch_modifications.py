"""ModifyVolume: figures, states and refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from testbed.cloud import FakeAws


def make(ec2: Any, world: Any, **parameters: Any) -> str:
    """Create a volume of 10 GiB."""
    volume_id: str = ec2.create_volume(AvailabilityZone=world.zone, Size=10, **parameters)["VolumeId"]
    return volume_id


@pytest.fixture
def volume(ec2: Any, world: Any) -> str:
    """Create a volume."""
    return make(ec2, world, VolumeType="gp3")


def modification(ec2: Any, volume: str) -> dict[str, Any]:
    """Describe the last modification."""
    filters = [{"Name": "volume-id", "Values": [volume]}]
    (last,) = ec2.describe_volumes_modifications(Filters=filters)["VolumesModifications"]
    described: dict[str, Any] = last
    return described


def figures(ec2: Any, volume: str) -> tuple[Any, ...]:
    """Return type, size, iops and throughput of a volume."""
    shown = ec2.describe_volumes(VolumeIds=[volume])["Volumes"][0]
    return shown["VolumeType"], shown["Size"], shown.get("Iops"), shown.get("Throughput")


def test_last_modification(ec2: Any, volume: str, refused: Any) -> None:
    """Only the last modification is shown, with old and new figures; a volume never shrinks."""
    with refused("InvalidVolumeModification.NotFound"):
        ec2.describe_volumes_modifications(VolumeIds=[volume])
    ec2.modify_volume(VolumeId=volume, Size=20)
    ec2.modify_volume(VolumeId=volume, Iops=4000)
    last = modification(ec2, volume)
    assert (last["OriginalSize"], last["TargetSize"]) == (20, 20)
    assert (last["OriginalIops"], last["TargetIops"]) == (3000, 4000)
    assert (last["ModificationState"], last["Progress"]) == ("completed", 100)
    assert last["StartTime"] <= last["EndTime"]
    with refused("InvalidParameterValue", "smaller"):
        ec2.modify_volume(VolumeId=volume, Size=10)


@pytest.mark.parametrize(
    ("before", "changes", "after"),
    [
        ({"VolumeType": "gp2"}, {"VolumeType": "gp3"}, ("gp3", 10, 3000, 125)),
        ({"VolumeType": "gp2"}, {"VolumeType": "gp3", "Iops": 4000}, ("gp3", 10, 4000, 125)),
        ({"VolumeType": "gp2"}, {"VolumeType": "io2"}, ("io2", 10, 3000, None)),
        ({"VolumeType": "gp2"}, {"Size": 100}, ("gp2", 100, 300, None)),
        ({"VolumeType": "io1", "Iops": 500}, {"VolumeType": "gp3"}, ("gp3", 10, 3000, 125)),
        ({"VolumeType": "gp3", "Iops": 4000}, {"VolumeType": "gp2"}, ("gp2", 10, 100, None)),
        (
            {"VolumeType": "gp3", "Iops": 4000, "Throughput": 200},
            {"Size": 20, "VolumeType": "gp3"},
            ("gp3", 20, 4000, 200),
        ),
        ({"VolumeType": "gp3", "Iops": 4000}, {"Throughput": 250}, ("gp3", 10, 4000, 250)),
    ],
)
def test_figures(
    ec2: Any, world: Any, before: dict[str, Any], changes: dict[str, Any], after: tuple[Any, ...]
) -> None:
    """Without a new type the figures stay; a new type has its own."""
    volume = make(ec2, world, **before)
    ec2.modify_volume(VolumeId=volume, **changes)
    assert figures(ec2, volume) == after


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"VolumeType": "gp2", "Iops": 4000}, "The parameter iops is not supported for gp2 volumes."),
        (
            {"VolumeType": "io2", "Throughput": 200},
            "The parameter throughput is not supported for io2 volumes.",
        ),
    ],
)
def test_figures_of_another_type(
    ec2: Any, volume: str, refused: Any, changes: dict[str, Any], message: str
) -> None:
    """Figures that the new type does not support are refused."""
    with refused("InvalidParameterCombination", message):
        ec2.modify_volume(VolumeId=volume, **changes)
    assert figures(ec2, volume) == ("gp3", 10, 3000, 125)


def test_states(fake_aws: FakeAws, ec2: Any, volume: str, refused: Any) -> None:
    """A volume has its new size in the state "optimizing", and can be modified again once completed."""
    fake_aws.rule(
        action="ModifyVolume", times=1, states=["modifying", "modifying", "optimizing", "completed"]
    )
    assert ec2.modify_volume(VolumeId=volume, Size=20)["VolumeModification"]["TargetSize"] == 20
    seen = []
    for _ in range(4):
        with refused("IncorrectModificationState", volume):
            ec2.modify_volume(VolumeId=volume, Size=30)
        last = modification(ec2, volume)
        assert ec2.describe_volumes_modifications()["VolumesModifications"] == [last]
        seen.append((last["ModificationState"], last["Progress"], "EndTime" in last, figures(ec2, volume)[1]))
    assert seen == [
        ("modifying", 0, False, 10),
        ("modifying", 0, False, 10),
        ("optimizing", 50, False, 20),
        ("completed", 100, True, 20),
    ]
    ec2.modify_volume(VolumeId=volume, Size=30)
    assert figures(ec2, volume)[1] == 30


def test_failure(fake_aws: FakeAws, ec2: Any, volume: str) -> None:
    """A failed modification gives the reason, and leaves the volume unchanged."""
    fake_aws.rule(action="ModifyVolume", times=1, states=["modifying", "failed: no such key"])
    ec2.modify_volume(VolumeId=volume, Size=20)
    states = [modification(ec2, volume) for _ in range(3)]
    assert [state["ModificationState"] for state in states] == ["modifying", "failed", "failed"]
    assert [state.get("StatusMessage") for state in states] == [None, "no such key", "no such key"]
    assert figures(ec2, volume)[1] == 10
    ec2.modify_volume(VolumeId=volume, Size=20)
    assert figures(ec2, volume)[1] == 20
