"""The EBS direct APIs."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError, SSLError

from bosh_aws_cpi.aws import ebs_direct
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import Encryption

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.conftest import Clock, ProgramLog, Stub

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
START: dict[str, Any] = {
    "VolumeSize": 2,
    "Description": "d",
    "Tags": [{"Key": "a", "Value": "1"}],
    "ClientToken": "token",
    "Timeout": 60,
}


def start(ebs: Stub, find: Callable[[], str | None], encryption: Encryption) -> str:
    """Begin a snapshot."""
    return ebs_direct.start(
        ebs.client,
        size_gib=2,
        description="d",
        tags={"a": "1"},
        encryption=encryption,
        client_token="token",
        find=find,
    )


def never() -> None:
    """Fail: the snapshot is known, and must not be searched."""
    pytest.fail("it was looked for")


def put(ebs: Stub, is_stopped: Callable[[], bool] = lambda: False) -> bytes:
    """Put the block."""
    return ebs_direct.put(ebs.client, SNAPSHOT, 5, BLOCK, is_stopped)


@pytest.mark.parametrize("how", ["lost", "fault"])
@pytest.mark.parametrize("unseen", [0, 2])
def test_start_without_an_answer(ebs: Stub, clock: Clock, how: str, unseen: int) -> None:
    """After a lost answer of StartSnapshot the snapshot is searched until it is found."""
    looks = [None] * unseen + [SNAPSHOT]
    lay_uncertain(ebs, how)
    assert start(ebs, lambda: looks.pop(0), Encryption()) == SNAPSHOT
    assert (looks, len(clock.pauses)) == ([], unseen)


@pytest.mark.parametrize(("how", "error"), [("lost", ReadTimeoutError), ("fault", ClientError)])
def test_start_in_vain(ebs: Stub, clock: Clock, how: str, error: type[Exception]) -> None:
    """If the snapshot is not found for a minute, StartSnapshot's error is raised."""
    lay_uncertain(ebs, how)
    with pytest.raises(error):
        start(ebs, lambda: None, Encryption())
    assert 60 <= clock.now <= 66


def lay_uncertain(ebs: Stub, how: str) -> None:
    """Lay out a call with an unknown result."""
    if how == "lost":
        ebs.loses("start_snapshot", **START)
    else:
        ebs.fails("start_snapshot", "InternalServerException", **START)


@pytest.mark.parametrize("how", ["throttled", "fault", "lost", "not there yet"])
def test_put_again(ebs: Stub, clock: Clock, how: str) -> None:
    """A block is sent again until EBS accepts or refuses it."""
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
    assert put(ebs) == DIGEST
    assert len(clock.pauses) == 3


@pytest.mark.parametrize("attempts", [0, 1, 3])
def test_put_stopped(ebs: Stub, clock: Clock, attempts: int) -> None:
    """After the upload has ended, no further attempt is made."""
    for _ in range(attempts):
        ebs.refuses("put_snapshot_block", "RequestThrottledException", **PUT)
    with pytest.raises(ebs_direct.Stopped):
        put(ebs, lambda: len(clock.pauses) == attempts)
    assert len(clock.pauses) == attempts


def test_put_pauses(ebs: Stub, clock: Clock) -> None:
    """The pauses are short, so that all threads end soon after the upload was stopped."""
    for _ in range(40):
        ebs.refuses("put_snapshot_block", "RequestThrottledException", **PUT)
    ebs.answers("put_snapshot_block", **PUT)
    put(ebs)
    assert 2 <= max(clock.pauses) <= 2.25


def test_put_untrusted(ebs: Stub, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A certificate that is not trusted ends the upload at once."""

    def fail(**_: Any) -> None:
        raise SSLError(
            endpoint_url="https://h/",
            error=OSError("[SSL: CERTIFICATE_VERIFY_FAILED]"),
        )

    monkeypatch.setattr(ebs.client, "put_snapshot_block", fail)
    with pytest.raises(SSLError):
        put(ebs)
    assert clock.pauses == []


def test_put_in_vain(ebs: Stub, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """After five minutes without an answer the error names the block."""

    def fail(**_: Any) -> None:
        raise EndpointConnectionError(endpoint_url="http://h/")

    monkeypatch.setattr(ebs.client, "put_snapshot_block", fail)
    with pytest.raises(CloudError, match=f"block 5 of snapshot '{SNAPSHOT}' to be written; last seen: "):
        put(ebs)
    assert 300 <= clock.now <= 303


DIGESTS = {7: b"c" * 32, 0: b"a" * 32, 3: b"b" * 32}
COMPLETE: dict[str, Any] = {
    "SnapshotId": SNAPSHOT,
    "ChangedBlocksCount": 3,
    "Checksum": b64encode(sha256(b"a" * 32 + b"b" * 32 + b"c" * 32).digest()).decode(),
    "ChecksumAlgorithm": "SHA256",
    "ChecksumAggregationMethod": "LINEAR",
}


@pytest.mark.parametrize("code", ["ValidationException", "ConflictException"])
def test_complete_whose_answer_was_lost(ebs: Stub, program_log: ProgramLog, code: str) -> None:
    """If the SDK's first attempt has completed the snapshot, the refusal of its second one is no error."""
    ebs.refuses_repetition("complete_snapshot", code, **COMPLETE)
    ebs_direct.complete(ebs.client, SNAPSHOT, DIGESTS)
    said = f"Snapshot '{SNAPSHOT}' was completed by the call whose answer was lost"
    assert [record.text for record in program_log.records] == [said]


@pytest.mark.parametrize(
    "code", ["AccessDeniedException", "ResourceNotFoundException", "RequestThrottledException"]
)
def test_complete_refused_again(ebs: Stub, code: str) -> None:
    """Other refusals of a repetition are errors."""
    ebs.refuses_repetition("complete_snapshot", code, **COMPLETE)
    with pytest.raises(ClientError, match=code):
        ebs_direct.complete(ebs.client, SNAPSHOT, DIGESTS)


@pytest.mark.parametrize("how", ["refused", "in conflict", "throttled before", "fault"])
def test_complete_refused(ebs: Stub, how: str) -> None:
    """A refusal of the first attempt that was not throttled, or a lasting fault, is raised unchanged."""
    if how == "refused":
        ebs.refuses("complete_snapshot", "ValidationException", **COMPLETE)
    elif how == "in conflict":
        ebs.refuses("complete_snapshot", "ConflictException", **COMPLETE)
    elif how == "throttled before":
        ebs.refuses_after_throttling("complete_snapshot", "ValidationException", **COMPLETE)
    else:
        ebs.fails("complete_snapshot", "InternalServerException", **COMPLETE)
    with pytest.raises(ClientError, match="Exception"):
        ebs_direct.complete(ebs.client, SNAPSHOT, DIGESTS)
