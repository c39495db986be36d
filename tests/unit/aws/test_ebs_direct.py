"""What a lost or refused answer of the EBS direct APIs means for a block, and for the whole snapshot."""

from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, SSLError

from bosh_aws_cpi.aws import ebs_direct
from bosh_aws_cpi.aws.sdk.timing import BLOCK_WRITTEN
from bosh_aws_cpi.errors import CloudError
from tests.unit.aws.timing_script import Script
from tests.unit.conftest import Clock, Stub

SNAPSHOT = "snap-1"
BLOCK = b"x" * ebs_direct.BLOCK_SIZE
PUT: dict[str, Any] = {
    "SnapshotId": SNAPSHOT,
    "BlockIndex": 5,
    "BlockData": BLOCK,
    "DataLength": 524288,
    "Checksum": b64encode(sha256(BLOCK).digest()).decode(),
    "ChecksumAlgorithm": "SHA256",
}


def put(ebs: Stub, is_stopped: Callable[[], bool] = lambda: False) -> bytes:
    """Put the block."""
    return ebs_direct.put(ebs.client, SNAPSHOT, 5, BLOCK, is_stopped)


@pytest.mark.parametrize("attempts", [0, 1, 3])
def test_put_stopped(ebs: Stub, clock: Clock, attempts: int) -> None:
    """After the upload has ended, no further attempt is made."""
    ebs.lay("put_snapshot_block", *["RequestThrottledException"] * attempts, **PUT)
    with pytest.raises(ebs_direct.Stopped):
        put(ebs, lambda: len(clock.pauses) == attempts)


@pytest.mark.parametrize(
    ("error", "expected", "said"),
    [
        (
            SSLError(endpoint_url="https://h/", error=OSError("[SSL: CERTIFICATE_VERIFY_FAILED]")),
            SSLError,
            "https",
        ),
        (EndpointConnectionError(endpoint_url="http://h/"), CloudError, f"block 5 .*{SNAPSHOT}"),
        ({"Checksum": "of other data"}, CloudError, f"block 5 .*{SNAPSHOT}"),
    ],
)
def test_put_in_vain(
    ebs: Stub,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    error: object,
    expected: type[Exception],
    said: str,
) -> None:
    """An untrusted certificate ends the upload at once; else the error names the block."""
    attempt = Script(error)
    monkeypatch.setattr(ebs.client, "put_snapshot_block", lambda **_: attempt())
    with pytest.raises(expected, match=said):
        put(ebs)
    assert (clock.now >= BLOCK_WRITTEN.seconds) is (expected is CloudError)
    assert (attempt.calls == 1) is (expected is SSLError)


DIGESTS = {7: b"c" * 32, 0: b"a" * 32, 3: b"b" * 32}
COMPLETE: dict[str, Any] = {
    "SnapshotId": SNAPSHOT,
    "ChangedBlocksCount": 3,
    "Checksum": b64encode(sha256(b"a" * 32 + b"b" * 32 + b"c" * 32).digest()).decode(),
    "ChecksumAlgorithm": "SHA256",
    "ChecksumAggregationMethod": "LINEAR",
}


@pytest.mark.parametrize("code", ["ValidationException", "ConflictException"])
def test_complete_again(ebs: Stub, code: str) -> None:
    """A refusal is no error if an attempt whose answer was lost may have completed the snapshot."""
    refusals = [code, f"throttled {code}", "again ResourceNotFoundException", "fault InternalServerException"]
    ebs.lay("complete_snapshot", f"again {code}", *refusals, **COMPLETE)
    ebs_direct.complete(ebs.client, SNAPSHOT, DIGESTS)
    for _ in refusals:
        with pytest.raises(ClientError):
            ebs_direct.complete(ebs.client, SNAPSHOT, DIGESTS)
