"""The EBS direct APIs: snapshots that are written block by block."""

from base64 import b64encode
from hashlib import sha256
from typing import Any

import pytest
from botocore.exceptions import ClientError

from testbed.cloud import FakeAws

BLOCK = 524_288


def digest(data: bytes) -> str:
    """Return a checksum as the APIs take it."""
    return b64encode(sha256(data).digest()).decode()


def filled(byte: int) -> bytes:
    """Return a block."""
    return bytes([byte]) * BLOCK


@pytest.fixture
def ebs(fake_aws: FakeAws, world: Any) -> Any:
    """Return a client for the laid world."""
    del world
    return fake_aws.client("ebs")


@pytest.fixture
def snapshot(ebs: Any) -> str:
    """Start a snapshot of 1 GiB: 2048 blocks."""
    snapshot_id: str = ebs.start_snapshot(VolumeSize=1)["SnapshotId"]
    return snapshot_id


def put(ebs: Any, snapshot: str, index: int, data: bytes, **more: Any) -> None:
    """Write a block."""
    ebs.put_snapshot_block(
        SnapshotId=snapshot,
        BlockIndex=index,
        BlockData=data,
        **{
            "DataLength": len(data),
            "Checksum": digest(data),
            "ChecksumAlgorithm": "SHA256",
            **more,
        },
    )


def found(ec2: Any, snapshot: str) -> dict[str, Any]:
    """Describe a snapshot."""
    described: dict[str, Any] = ec2.describe_snapshots(SnapshotIds=[snapshot])["Snapshots"][0]
    return described


def reason_of(caught: pytest.ExceptionInfo[ClientError]) -> tuple[str, str]:
    """Return code and reason of an error."""
    response: Any = caught.value.response
    return response["Error"]["Code"], response.get("Reason", "")


@pytest.mark.parametrize(
    ("index", "data", "more", "reason"),
    [
        (0, b"short", {}, "INVALID_BLOCK"),
        (0, filled(1), {"DataLength": BLOCK - 1}, "INVALID_BLOCK"),
        (2048, filled(1), {}, "INVALID_BLOCK"),
        (0, filled(1), {"Checksum": digest(b"x")}, "INVALID_PARAMETER_VALUE"),
        (0, filled(1), {"Checksum": "no Base64"}, "INVALID_PARAMETER_VALUE"),
        (0, filled(1), {"ChecksumAlgorithm": "MD5"}, "INVALID_PARAMETER_VALUE"),
    ],
    ids=["short", "length", "beyond", "checksum", "no-checksum", "algorithm"],
)
def test_block_that_is_none(
    ebs: Any, snapshot: str, index: int, data: bytes, more: dict[str, Any], reason: str
) -> None:
    """A block that is incomplete, beyond the volume or different from its checksum is refused."""
    with pytest.raises(ClientError) as caught:
        put(ebs, snapshot, index, data, **more)
    assert reason_of(caught) == ("ValidationException", reason)
    assert ebs.list_snapshot_blocks(SnapshotId=snapshot)["Blocks"] == []


@pytest.mark.parametrize(
    "more",
    [
        {"ChangedBlocksCount": 2},
        {"Checksum": digest(b"x"), "ChecksumAlgorithm": "SHA256", "ChecksumAggregationMethod": "LINEAR"},
        {"Checksum": digest(sha256(filled(1)).digest()), "ChecksumAlgorithm": "SHA256"},
    ],
    ids=["count", "checksum", "method"],
)
def test_not_what_was_sent(ebs: Any, ec2: Any, snapshot: str, more: dict[str, Any]) -> None:
    """A snapshot is completed only with the count and the checksum of the blocks that were written."""
    put(ebs, snapshot, 0, filled(1))
    with pytest.raises(ClientError) as caught:
        ebs.complete_snapshot(SnapshotId=snapshot, **{"ChangedBlocksCount": 1, **more})
    assert reason_of(caught) == ("ValidationException", "INVALID_PARAMETER_VALUE")
    assert found(ec2, snapshot)["State"] == "pending"


def test_completion_that_fails(ebs: Any, ec2: Any, fake_aws: FakeAws, snapshot: str) -> None:
    """A rule can keep a completed snapshot pending for a while, and let it fail."""
    fake_aws.rule(action="CompleteSnapshot", states=["pending", "error: no key"])
    ebs.complete_snapshot(SnapshotId=snapshot, ChangedBlocksCount=0)
    assert found(ec2, snapshot)["State"] == "pending"
    shown = found(ec2, snapshot)
    assert (shown["State"], shown["StateMessage"]) == ("error", "no key")
