"""The description and the tags of a disk's snapshot, where the Director's metadata are incomplete or long."""

from typing import Any

import pytest

from bosh_aws_cpi.plan import tag_plan


@pytest.mark.parametrize(
    ("metadata", "device", "expected"),
    [
        ({"deployment": "d", "index": "1"}, "/dev/xvdba", "d/1/xvdba"),
        ({"deployment": "", "job": None, "index": 0}, "/dev/sdf", "0/sdf"),
        ({}, None, ""),
    ],
)
def test_description(metadata: dict[str, Any], device: str | None, expected: str) -> None:
    """The description has deployment, job, index and the device's last part; missing ones are left out."""
    assert tag_plan.snapshot_description(metadata, device) == expected


@pytest.mark.parametrize("device", ["/dev/sdf", None])
def test_long_description(device: str | None) -> None:
    """The description and the tag Name are cut at 255 characters, EC2's limit."""
    metadata = {"deployment": "d" * 200, "job": "j" * 200, "index": 0}
    cut = f"{'d' * 200}/{'j' * 54}"
    assert tag_plan.snapshot_description(metadata, device) == cut
    assert tag_plan.of_snapshot(metadata, device)["Name"] == cut


@pytest.mark.parametrize(("own", "common"), [(48, ["a", "b"]), (49, ["a"]), (50, []), (51, [])])
def test_room_for_common_tags(own: int, common: list[str]) -> None:
    """Of aws.tags as many are added as EC2 allows beside the others, which all stay."""
    tags = {f"k{number}": "" for number in range(own)}
    assert tag_plan.with_common_tags({"a": "1", "b": "2"}, tags).keys() == {*common, *tags}
