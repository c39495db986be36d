"""The EBS direct APIs."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from bosh_aws_cpi.aws import ebs_direct
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import Encryption

if TYPE_CHECKING:
    from tests.unit.conftest import Clock, Stub

SNAPSHOT = "snap-1"
BLOCK = b"x" * ebs_direct.BLOCK_SIZE
DIGEST = sha256(BLOCK).digest()
PUT: dict[str, Any] = {
    "SnapshotId": SNAPSHOT,
    "BlockIndex": 5,
    "BlockData": BLOCK,
    "DataLength": 524288,
    "Checksum": b64encode(DIGEST).decode(),
    "ChecksumAlgorithm": "SHA256",
}


@pytest.mark.parametrize(
    ("encryption", "expected"),
    [
        (Encryption(), {}),
        (Encryption(encrypted=False, kms_key_arn="arn:k"), {}),
        (Encryption(encrypted=True), {"Encrypted": True}),
        (Encryption(encrypted=True, kms_key_arn="arn:k"), {"Encrypted": True, "KmsKeyArn": "arn:k"}),
    ],
)
def test_start(ebs: Stub, encryption: Encryption, expected: dict[str, Any]) -> None:
    """A snapshot is begun under a client token, tagged, and encrypted when that is asked for."""
    ebs.answers(
        "start_snapshot",
        {"SnapshotId": SNAPSHOT},
        VolumeSize=2,
        Description="d",
        Tags=[{"Key": "a", "Value": "1"}],
        ClientToken="token",
        Timeout=60,
        **expected,
    )
    made = ebs_direct.start(
        ebs.client,
        size_gib=2,
        description="d",
        tags={"a": "1"},
        encryption=encryption,
        client_token="token",
    )
    assert made == SNAPSHOT


def test_put(ebs: Stub) -> None:
    """A block is put with its checksum, by which EBS knows that it arrived as it was sent."""
    ebs.answers("put_snapshot_block", **PUT)
    assert ebs_direct.put(ebs.client, SNAPSHOT, 5, BLOCK) == DIGEST


@pytest.mark.parametrize("how", ["throttled", "fault", "lost", "not there yet"])
def test_put_again(ebs: Stub, clock: Clock, how: str) -> None:
    """The same block twice is one block: it is put again until EBS takes or refuses it."""
    for _ in range(3):
        if how == "throttled":
            ebs.refuses("put_snapshot_block", "RequestThrottledException", **PUT)
        elif how == "not there yet":
            ebs.refuses("put_snapshot_block", "ResourceNotFoundException", **PUT)
        elif how == "fault":
            ebs.fails("put_snapshot_block", "InternalServerException", **PUT)
        else:
            ebs.loses("put_snapshot_block", **PUT)
    ebs.answers("put_snapshot_block", **PUT)
    assert ebs_direct.put(ebs.client, SNAPSHOT, 5, BLOCK) == DIGEST
    assert len(clock.pauses) == 3


@pytest.mark.parametrize("code", ["ValidationException", "AccessDeniedException"])
def test_put_refused(ebs: Stub, clock: Clock, code: str) -> None:
    """A refusal goes on at once."""
    ebs.refuses("put_snapshot_block", code, **PUT)
    with pytest.raises(ClientError, match=code):
        ebs_direct.put(ebs.client, SNAPSHOT, 5, BLOCK)
    assert clock.pauses == []


def test_put_in_vain(ebs: Stub, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """After five minutes without an answer the block is named."""

    def fail(**_: Any) -> None:
        raise EndpointConnectionError(endpoint_url="http://h/")

    monkeypatch.setattr(ebs.client, "put_snapshot_block", fail)
    with pytest.raises(CloudError, match=f"block 5 of snapshot '{SNAPSHOT}' to be written; last seen: "):
        ebs_direct.put(ebs.client, SNAPSHOT, 5, BLOCK)
    assert 300 <= clock.now <= 306


DIGESTS = {7: b"c" * 32, 0: b"a" * 32, 3: b"b" * 32}
COMPLETE: dict[str, Any] = {
    "SnapshotId": SNAPSHOT,
    "ChangedBlocksCount": 3,
    "Checksum": b64encode(sha256(b"a" * 32 + b"b" * 32 + b"c" * 32).digest()).decode(),
    "ChecksumAlgorithm": "SHA256",
    "ChecksumAggregationMethod": "LINEAR",
}


def test_complete(ebs: Stub) -> None:
    """The end says how many blocks there are, and the checksum of their checksums in the order of blocks."""
    ebs.answers("complete_snapshot", {"Status": "pending"}, **COMPLETE)
    ebs_direct.complete(ebs.client, SNAPSHOT, DIGESTS)


def test_complete_whose_answer_was_lost(ebs: Stub, program_log: pytest.LogCaptureFixture) -> None:
    """A snapshot that the SDK's first attempt has completed takes no second one."""
    ebs.refuses_repetition("complete_snapshot", "ValidationException", **COMPLETE)
    ebs_direct.complete(ebs.client, SNAPSHOT, DIGESTS)
    said = f"Snapshot '{SNAPSHOT}' was completed by the call whose answer was lost"
    assert [record.getMessage() for record in program_log.records] == [said]


@pytest.mark.parametrize("how", ["refused", "fault", "fault again"])
def test_complete_refused(ebs: Stub, how: str) -> None:
    """A refusal of the first attempt, or a fault to the last, goes on as it is."""
    if how == "refused":
        ebs.refuses("complete_snapshot", "ValidationException", **COMPLETE)
    elif how == "fault again":
        ebs.fails_again("complete_snapshot", "InternalServerException", **COMPLETE)
    else:
        ebs.fails("complete_snapshot", "InternalServerException", **COMPLETE)
    with pytest.raises(ClientError, match="Exception"):
        ebs_direct.complete(ebs.client, SNAPSHOT, DIGESTS)
