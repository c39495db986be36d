"""What a disk's snapshot is called."""

from __future__ import annotations

from typing import Any

import pytest

from bosh_aws_cpi.plan import snapshots

METADATA = {
    "deployment": "d",
    "job": "j",
    "index": 0,
    "instance_id": "id",
    "director_name": "my",
    "director_uuid": "uuid",
    "agent_id": "a",
}


@pytest.mark.parametrize(
    ("metadata", "device", "expected"),
    [
        (METADATA, "/dev/sdf", "d/j/0/sdf"),
        (METADATA, None, "d/j/0"),
        ({"deployment": "d", "index": "1"}, "/dev/xvdba", "d/1/xvdba"),
        ({"deployment": "", "job": None, "index": 0}, "/dev/sdf", "0/sdf"),
        ({}, "/dev/sdf", "sdf"),
        ({}, None, ""),
    ],
)
def test_description(metadata: dict[str, Any], device: str | None, expected: str) -> None:
    """Deployment, job and index, and the device's last part; what is not there is left out."""
    assert snapshots.description(metadata, device) == expected


@pytest.mark.parametrize("device", ["/dev/sdf", None])
def test_long_description(device: str | None) -> None:
    """EC2 takes 255 characters: a longer description is cut, and the name with it."""
    metadata = {"deployment": "d" * 200, "job": "j" * 200, "index": 0}
    cut = f"{'d' * 200}/{'j' * 54}"
    assert snapshots.description(metadata, device) == cut
    assert snapshots.tags(metadata, device)["Name"] == cut
