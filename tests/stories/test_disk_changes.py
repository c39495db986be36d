"""resize_disk and update_disk: volumes changed in place, or a reason why the Director has to copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from testbed.killing import kill_at
from testbed.rules import REQUEST_ID

if TYPE_CHECKING:
    from collections.abc import Callable

    from testbed.cloud import FakeAws
    from testbed.executable import Cpi
    from testbed.world import World

KEY = "arn:aws:kms:us-east-1:123456789012:key/own"
OTHER_KEY = "arn:aws:kms:us-east-1:123456789012:key/other"
LOOK = "DescribeVolumesModifications"
METHODS = ("resize_disk", "update_disk")
TWO_GIB = 2048


def asked(method: str, disk_cid: str, size: object = TWO_GIB) -> tuple[str, Any, Any, *tuple[Any, ...]]:
    """Write a call that changes nothing but the size."""
    return (method, disk_cid, size, *([{}] if method == "update_disk" else []))


@pytest.fixture
def volume(world: World, fake_aws: FakeAws) -> Callable[..., str]:
    """Return a function that has a volume there: gp3 and 1 GiB unless it is said otherwise."""

    def make(**parameters: Any) -> str:
        whole = {"AvailabilityZone": world.zone, "Size": 1, "VolumeType": "gp3", **parameters}
        disk_cid: str = world.ec2.create_volume(**whole)["VolumeId"]
        fake_aws.forget_calls()
        return disk_cid

    return make


@pytest.fixture
def figures(world: World) -> Callable[[str], tuple[Any, ...]]:
    """Return a function that reads type, size, iops and throughput of a volume."""

    def read(disk_cid: str) -> tuple[Any, ...]:
        (found,) = world.ec2.describe_volumes(VolumeIds=[disk_cid])["Volumes"]
        return found["VolumeType"], found["Size"], found.get("Iops"), found.get("Throughput")

    return read


@pytest.fixture
def changes(sent: Callable[[str], list[dict[str, str]]]) -> Callable[[], list[dict[str, str]]]:
    """Return a function that reads what each ModifyVolume said."""

    def read() -> list[dict[str, str]]:
        beside = {"Action", "Version", "VolumeId"}
        return [
            {name: value for name, value in parameters.items() if name not in beside}
            for parameters in sent("ModifyVolume")
        ]

    return read


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [1025, TWO_GIB])
def test_larger(
    cpi: Cpi,
    volume: Callable[..., str],
    figures: Callable[[str], tuple[Any, ...]],
    changes: Callable[[], list[dict[str, str]]],
    fake_aws: FakeAws,
    method: str,
    size: int,
) -> None:
    """A disk grows, to whole GiB, and is waited for until EBS only optimizes it; it keeps its id."""
    disk_cid = volume()
    fake_aws.rule(action="ModifyVolume", states=["modifying", "optimizing"])
    assert cpi.call(*asked(method, disk_cid, size)).ok() is None
    assert fake_aws.actions() == ["DescribeVolumes", LOOK, "ModifyVolume", LOOK, LOOK]
    assert changes() == [{"Size": "2"}]
    assert figures(disk_cid) == ("gp3", 2, 3000, 125)


@pytest.mark.parametrize(
    ("before", "properties", "expected", "after"),
    [
        ({}, {"throughput": 250}, {"Throughput": "250"}, ("gp3", 2, 3000, 250)),
        ({"Iops": 4000, "Throughput": 250}, {}, {"Iops": "3000", "Throughput": "125"}, ("gp3", 2, 3000, 125)),
        (
            {"VolumeType": "gp2"},
            {},
            {"VolumeType": "gp3", "Iops": "3000", "Throughput": "125"},
            ("gp3", 2, 3000, 125),
        ),
        (
            {},
            {"type": "io2", "iops": 500},
            {"VolumeType": "io2", "Iops": "500"},
            ("io2", 2, 500, None),
        ),
        ({"Iops": 4000}, {"type": "gp2"}, {"VolumeType": "gp2"}, ("gp2", 2, 100, None)),
    ],
    ids=["one-figure", "back-to-the-baseline", "from-another-type", "to-another-type", "without-figures"],
)
def test_several_changes_at_once(
    cpi: Cpi,
    volume: Callable[..., str],
    figures: Callable[[str], tuple[Any, ...]],
    changes: Callable[[], list[dict[str, str]]],
    before: dict[str, Any],
    properties: dict[str, Any],
    expected: dict[str, str],
    after: tuple[Any, ...],
) -> None:
    """All that differs goes in one ModifyVolume; the disk is then what create_disk would have made."""
    disk_cid = volume(**before)
    assert cpi.call("update_disk", disk_cid, TWO_GIB, properties).ok() is None
    assert changes() == [{"Size": "2", **expected}]
    assert figures(disk_cid) == after


@pytest.mark.parametrize(
    ("before", "properties", "after"),
    [
        ({"VolumeType": "io1", "Iops": 500}, {"type": "io2", "iops": 500}, ("io2", 2, 500, None)),
        ({"VolumeType": "io2", "Iops": 4000}, {"iops": 4000}, ("gp3", 2, 4000, 125)),
    ],
)
def test_figure_that_stays_with_a_new_type(
    cpi: Cpi,
    volume: Callable[..., str],
    figures: Callable[[str], tuple[Any, ...]],
    before: dict[str, Any],
    properties: dict[str, Any],
    after: tuple[Any, ...],
) -> None:
    """A new type has 3000 iops unless others are asked for, also when the old one had as many as it is to have."""
    disk_cid = volume(**before)
    assert cpi.call("update_disk", disk_cid, TWO_GIB, properties).ok() is None
    assert figures(disk_cid) == after


@pytest.mark.parametrize(
    ("before", "size", "properties"),
    [
        ({}, 1, {"tags": {"a": "b"}}),
        ({"VolumeType": "gp2", "Size": 2}, 1025, {"type": "gp2"}),
        (
            {"VolumeType": "io1", "Iops": 100, "Encrypted": True, "KmsKeyId": KEY},
            1024,
            {"type": "io1", "iops": 100, "encrypted": True, "kms_key_arn": KEY},
        ),
        ({"Encrypted": True, "KmsKeyId": KEY}, 1024, {"encrypted": True}),
    ],
    ids=["gp3", "gp2", "io1-with-key", "any-key"],
)
def test_nothing_differs(
    cpi: Cpi,
    volume: Callable[..., str],
    fake_aws: FakeAws,
    before: dict[str, Any],
    size: int,
    properties: dict[str, Any],
) -> None:
    """A disk that is as it is to be is looked at, and that is all."""
    disk_cid = volume(**before)
    assert cpi.call("update_disk", disk_cid, size, properties).ok() is None
    assert fake_aws.actions() == ["DescribeVolumes"]


def test_attached(
    cpi: Cpi,
    vm: Callable[..., str],
    volume: Callable[..., str],
    figures: Callable[[str], tuple[Any, ...]],
    failure: Callable[..., dict[str, Any]],
    world: World,
) -> None:
    """update_disk changes an attached disk too; resize_disk does not, after the other questions."""
    vm_cid, disk_cid = vm(), volume(Size=2)
    world.ec2.attach_volume(InstanceId=vm_cid, VolumeId=disk_cid, Device="/dev/sdf")
    assert cpi.call("resize_disk", disk_cid, TWO_GIB).ok() is None
    smaller = failure("NotSupported", "Cannot resize volume to a smaller size from 2 GiB to 1 GiB")
    assert cpi.call("resize_disk", disk_cid, 1024).error == smaller
    message = f"Cannot resize volume '{disk_cid}' it still has 1 attachment(s)"
    assert cpi.call("resize_disk", disk_cid, 2049).error == failure("CloudError", message)
    assert figures(disk_cid) == ("gp3", 2, 3000, 125)
    assert cpi.call("update_disk", disk_cid, 2049, {}).ok() is None
    assert figures(disk_cid) == ("gp3", 3, 3000, 125)


@pytest.mark.parametrize(
    ("before", "size", "properties", "message"),
    [
        ({"Size": 3}, TWO_GIB, {}, "Cannot resize volume to a smaller size from 3 GiB to 2 GiB"),
        ({}, TWO_GIB, {"kms_key_arn": KEY}, "Volume '{}' can't be encrypted in place"),
        (
            {"Encrypted": True},
            TWO_GIB,
            {"encrypted": False},
            "Volume '{}' can't lose its encryption in place",
        ),
        (
            {"Encrypted": True, "KmsKeyId": OTHER_KEY},
            1024,
            {"kms_key_arn": KEY},
            "Volume '{}' can't change its KMS key in place",
        ),
    ],
    ids=["smaller", "encrypted", "not-encrypted", "other-key"],
)
def test_not_in_place(
    cpi_with: Callable[..., Cpi],
    volume: Callable[..., str],
    failure: Callable[..., dict[str, Any]],
    fake_aws: FakeAws,
    before: dict[str, Any],
    size: int,
    properties: dict[str, Any],
    message: str,
) -> None:
    """What EBS can't do in place is NotSupported, by the configuration's encryption too: the Director copies."""
    disk_cid = volume(**before)
    answer = cpi_with(encrypted="encrypted" in message or bool(before.get("Encrypted"))).call(
        "update_disk", disk_cid, size, properties
    )
    assert answer.error == failure("NotSupported", message.format(disk_cid))
    assert fake_aws.actions() == ["DescribeVolumes"]


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"type": "io2"}, "iops is needed for type io2"),
        ({"type": "gp2", "iops": 3000}, "iops can't be set for type gp2: remove it, or use gp3, io1 or io2"),
        ({"throughput": 1000}, "throughput of 1000 MiB/s needs 4000 iops, there are 3000"),
    ],
)
def test_rules_of_the_type(
    cpi: Cpi,
    volume: Callable[..., str],
    failure: Callable[..., dict[str, Any]],
    fake_aws: FakeAws,
    properties: dict[str, Any],
    message: str,
) -> None:
    """Figures that the type does not take, whatever the disk has now, are an error and no reason to copy."""
    answer = cpi.call("update_disk", volume(Iops=4000), TWO_GIB, properties)
    assert answer.error == failure("CloudError", f"EBS would refuse the disk: cloud_properties.{message}")
    assert "ModifyVolume" not in fake_aws.actions()


@pytest.mark.parametrize("method", METHODS)
def test_failed(
    cpi: Cpi,
    volume: Callable[..., str],
    failure: Callable[..., dict[str, Any]],
    fake_aws: FakeAws,
    method: str,
) -> None:
    """A change that EBS could not make is an error with its reason."""
    disk_cid = volume()
    fake_aws.rule(action="ModifyVolume", states=["modifying", "failed: there is no room"])
    message = f"EBS could not change volume '{disk_cid}': there is no room"
    assert cpi.call(*asked(method, disk_cid)).error == failure("CloudError", message)


@pytest.mark.parametrize(
    ("method", "code"),
    [
        ("resize_disk", "IncorrectModificationState"),
        ("update_disk", "IncorrectModificationState"),
        ("resize_disk", "VolumeModificationRateExceeded"),
        ("update_disk", "VolumeModificationRateExceeded"),
    ],
)
def test_not_again_yet(
    cpi: Cpi,
    volume: Callable[..., str],
    failure: Callable[..., dict[str, Any]],
    fake_aws: FakeAws,
    method: str,
    code: str,
) -> None:
    """A volume that may not be changed again yet is NotSupported, with EC2's words: the Director copies."""
    disk_cid = volume()
    fake_aws.rule(action="ModifyVolume", error={"code": code, "message": "Wait a while."})
    why = f"ModifyVolume failed with {code}: Wait a while. (request id {REQUEST_ID})"
    expected = failure("NotSupported", f"Volume '{disk_cid}' can't be changed now: {why}")
    assert cpi.call(*asked(method, disk_cid)).error == expected


@pytest.mark.parametrize(
    ("method", "state"),
    [("resize_disk", "modifying"), ("update_disk", "modifying"), ("update_disk", "optimizing")],
)
def test_earlier_change(
    cpi: Cpi,
    volume: Callable[..., str],
    failure: Callable[..., dict[str, Any]],
    world: World,
    fake_aws: FakeAws,
    method: str,
    state: str,
) -> None:
    """While EBS changes a volume to something else, it takes no other change: the Director copies."""
    disk_cid = volume()
    fake_aws.rule(action="ModifyVolume", states=[state])
    world.ec2.modify_volume(VolumeId=disk_cid, Size=3)
    fake_aws.forget_calls()
    answer = cpi.call(*asked(method, disk_cid, 4096))
    message = f"Volume '{disk_cid}' can't be changed now: an earlier change of it is {state}"
    assert answer.error == failure("NotSupported", message)
    assert fake_aws.actions() == ["DescribeVolumes", LOOK]


@pytest.mark.parametrize("method", METHODS)
def test_lost_answer(
    cpi: Cpi,
    volume: Callable[..., str],
    figures: Callable[[str], tuple[Any, ...]],
    fake_aws: FakeAws,
    method: str,
) -> None:
    """The repetition of a call whose answer was lost is refused, and the change is waited for."""
    disk_cid = volume()
    fake_aws.rule(action="ModifyVolume", nth=1, drop="after", states=["modifying", "modifying", "optimizing"])
    assert cpi.call(*asked(method, disk_cid)).ok() is None
    refused = [call["status"] for call in fake_aws.calls() if call["action"] == "ModifyVolume"]
    assert refused == [200, 400]
    assert figures(disk_cid) == ("gp3", 2, 3000, 125)


@pytest.mark.parametrize("method", METHODS)
def test_killed(
    cpi: Cpi,
    volume: Callable[..., str],
    changes: Callable[[], list[dict[str, str]]],
    figures: Callable[[str], tuple[Any, ...]],
    fake_aws: FakeAws,
    method: str,
) -> None:
    """The same call again, after one that was killed, waits for the change that is under way."""
    disk_cid = volume()
    fake_aws.rule(action="ModifyVolume", states=["modifying", "modifying", "optimizing"])
    kill_at(fake_aws, lambda: cpi.start(*asked(method, disk_cid)), action="ModifyVolume", when="after")
    assert cpi.call(*asked(method, disk_cid)).ok() is None
    assert changes() == [{"Size": "2"}]
    assert fake_aws.actions()[-3:] == [LOOK, LOOK, LOOK]
    assert figures(disk_cid) == ("gp3", 2, 3000, 125)


@pytest.mark.parametrize(
    ("action", "number", "size"),
    [("DescribeVolumes", 1, 1), (LOOK, 1, 1), ("ModifyVolume", 1, 1), (LOOK, 2, 2)],
)
def test_refused_calls(
    cpi: Cpi,
    volume: Callable[..., str],
    failure: Callable[..., dict[str, Any]],
    figures: Callable[[str], tuple[Any, ...]],
    deny: Callable[..., str],
    fake_aws: FakeAws,
    action: str,
    number: int,
    size: int,
) -> None:
    """Each call that AWS refuses ends it with AWS's words; nothing was changed before ModifyVolume."""
    disk_cid = volume()
    message = deny(action, number)
    assert cpi.call("update_disk", disk_cid, TWO_GIB, {}).error == failure("CloudError", message)
    fake_aws.clear_rules()
    assert figures(disk_cid) == ("gp3", size, 3000, 125)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("disk_cid", ["vol-0123456789abcdef0", "vol-x"])
def test_unknown_disk(
    cpi: Cpi, world: World, failure: Callable[..., dict[str, Any]], method: str, disk_cid: str
) -> None:
    """A disk that EC2 does not know, or calls malformed, is DiskNotFound."""
    expected = failure("DiskNotFound", f"Disk '{disk_cid}' not found")
    assert cpi.call(*asked(method, disk_cid)).error == expected
    assert world.state() == world.empty


@pytest.mark.parametrize("method", METHODS)
def test_no_size(
    cpi: Cpi, volume: Callable[..., str], failure: Callable[..., dict[str, Any]], method: str
) -> None:
    """A size of nothing is told as create_disk tells it."""
    expected = failure("CloudError", "disk size must be more than 0 MiB, got 0")
    assert cpi.call(*asked(method, volume(), 0)).error == expected
