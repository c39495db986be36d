"""The EBS direct APIs: snapshots that are written block by block."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from testbed.cloud import FakeAws

BLOCK = 524_288
KEY = "arn:aws:kms:us-east-1:123456789012:key/k"
UNKNOWN = "snap-0123456789abcdef0"


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


def test_written_and_read(ebs: Any, ec2: Any, world: Any, snapshot: str) -> None:
    """Written blocks are read back; EC2 shows the snapshot pending, then completed, without a volume."""
    assert found(ec2, snapshot)["State"] == "pending"
    blocks = {2047: filled(1), 0: filled(255)}
    for index, data in blocks.items():
        put(ebs, snapshot, index, filled(7))
        put(ebs, snapshot, index, data)
    whole = sha256(sha256(blocks[0]).digest() + sha256(blocks[2047]).digest()).digest()
    ebs.complete_snapshot(
        SnapshotId=snapshot,
        ChangedBlocksCount=2,
        Checksum=b64encode(whole).decode(),
        ChecksumAlgorithm="SHA256",
        ChecksumAggregationMethod="LINEAR",
    )
    shown = found(ec2, snapshot)
    assert (shown["State"], shown["VolumeSize"], shown["VolumeId"]) == ("completed", 1, "vol-ffffffff")
    assert world.state()["volumes"] == []
    listed = ebs.list_snapshot_blocks(SnapshotId=snapshot)
    assert (listed["BlockSize"], listed["VolumeSize"]) == (BLOCK, 1)
    assert [block["BlockIndex"] for block in listed["Blocks"]] == [0, 2047]
    read = [ebs.get_snapshot_block(SnapshotId=snapshot, **block) for block in listed["Blocks"]]
    assert [answer["BlockData"].read() for answer in read] == [blocks[0], blocks[2047]]


@pytest.mark.parametrize(
    ("given", "encrypted", "key"),
    [
        ({}, False, None),
        ({"Encrypted": True}, True, "arn:aws:kms:"),
        ({"Encrypted": True, "KmsKeyArn": KEY}, True, KEY),
    ],
)
def test_started(ebs: Any, ec2: Any, given: dict[str, Any], encrypted: bool, key: str | None) -> None:  # noqa: FBT001
    """A snapshot has its description and tags, and is encrypted on request."""
    tags = [{"Key": "a", "Value": "b"}]
    answer = ebs.start_snapshot(VolumeSize=3, Description="d", Tags=tags, **given)
    assert (answer["Status"], answer["BlockSize"], answer["Tags"]) == ("pending", BLOCK, tags)
    shown = found(ec2, answer["SnapshotId"])
    assert (shown["Description"], shown["VolumeSize"], shown["Tags"]) == ("d", 3, tags)
    assert shown["Encrypted"] is encrypted
    assert str(shown.get("KmsKeyId")).startswith(str(key))


def test_key_without_encryption(ebs: Any, world: Any) -> None:
    """A key without Encrypted is refused."""
    with pytest.raises(ClientError) as caught:
        ebs.start_snapshot(VolumeSize=1, KmsKeyArn=KEY)
    assert reason_of(caught) == ("ValidationException", "INVALID_PARAMETER_VALUE")
    assert world.state() == world.empty


def test_snapshot_of_a_volume(ebs: Any, ec2: Any, world: Any) -> None:
    """A snapshot that EC2 created from a volume accepts no blocks."""
    volume = ec2.create_volume(AvailabilityZone=world.zone, Size=1)
    snapshot = ec2.create_snapshot(VolumeId=volume["VolumeId"])["SnapshotId"]
    with pytest.raises(ClientError) as caught:
        put(ebs, snapshot, 0, filled(1))
    assert reason_of(caught) == ("ValidationException", "INVALID_SNAPSHOT_ID")


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


def test_completed(ebs: Any, snapshot: str) -> None:
    """A completed snapshot accepts no more blocks."""
    ebs.complete_snapshot(SnapshotId=snapshot, ChangedBlocksCount=0)
    with pytest.raises(ClientError) as caught:
        put(ebs, snapshot, 0, filled(1))
    assert reason_of(caught) == ("ValidationException", "INVALID_SNAPSHOT_ID")


def test_completion_that_fails(ebs: Any, ec2: Any, fake_aws: FakeAws, snapshot: str) -> None:
    """A rule can keep a completed snapshot pending for a while, and let it fail."""
    fake_aws.rule(action="CompleteSnapshot", states=["pending", "error: no key"])
    ebs.complete_snapshot(SnapshotId=snapshot, ChangedBlocksCount=0)
    assert found(ec2, snapshot)["State"] == "pending"
    shown = found(ec2, snapshot)
    assert (shown["State"], shown["StateMessage"]) == ("error", "no key")


def test_deleted_while_pending(ebs: Any, ec2: Any, world: Any, snapshot: str) -> None:
    """A pending snapshot can be deleted, and then accepts no more blocks."""
    ec2.delete_snapshot(SnapshotId=snapshot)
    assert world.state() == world.empty
    for gone in (snapshot, UNKNOWN):
        with pytest.raises(ClientError) as caught:
            put(ebs, gone, 0, filled(1))
        assert reason_of(caught) == ("ResourceNotFoundException", "SNAPSHOT_NOT_FOUND")


def test_token_of_no_block(ebs: Any, snapshot: str) -> None:
    """A block can be read only with its token from the list of blocks."""
    put(ebs, snapshot, 0, filled(1))
    with pytest.raises(ClientError) as caught:
        ebs.get_snapshot_block(SnapshotId=snapshot, BlockIndex=0, BlockToken="x")
    assert reason_of(caught) == ("ValidationException", "INVALID_BLOCK_TOKEN")
