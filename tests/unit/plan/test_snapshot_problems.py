"""Why EBS does not make a disk from a snapshot."""

from typing import Any

import pytest

from bosh_aws_cpi.model import Encryption
from bosh_aws_cpi.plan.ebs import snapshot_problems
from bosh_aws_cpi.properties.disk import DiskProperties

SNAPSHOT = {"State": "completed", "VolumeSize": 2}


def problems(shown: dict[str, Any], given: dict[str, Any]) -> list[tuple[str, str]]:
    """List what is wrong with a snapshot for a disk of 2 GiB: the property to blame, and the reason."""
    disk = DiskProperties.parse({**given, "snapshot_id": "snap-1"})
    found = snapshot_problems(disk, 2, Encryption(), {**SNAPSHOT, **shown})
    return [(each.key, each.text.partition("'snap-1' ")[2].partition(":")[0]) for each in found]


@pytest.mark.parametrize(
    ("shown", "given", "key", "why"),
    [
        ({"State": "pending"}, {}, "snapshot_id", "is pending"),
        ({"State": "odd state"}, {}, "snapshot_id", "is not completed"),
        ({"State": "recoverable"}, {}, "snapshot_id", "is in the Recycle Bin"),
        ({"StorageTier": "archive"}, {}, "snapshot_id", "is archived"),
        ({"VolumeSize": 3}, {}, "snapshot_id", "has 3 GiB, but the disk 2"),
        ({"Encrypted": True}, {"encrypted": False}, "encrypted", "is encrypted, and so is each disk from it"),
    ],
)
def test_refused(shown: dict[str, Any], given: dict[str, Any], key: str, why: str) -> None:
    """The reason names what is wrong with the snapshot, or which property does not fit it."""
    assert problems(shown, given) == [(key, why)]


@pytest.mark.parametrize("shown", [{}, {"StorageTier": "standard"}, {"Encrypted": True}])
def test_taken(shown: dict[str, Any]) -> None:
    """A completed snapshot that fits the disk will do, also an encrypted one if nothing is said of that."""
    assert problems(shown, {}) == []
