"""The EBS direct APIs: a snapshot that is written block by block, without a volume or a VM."""

from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.errors import detail_of, has_code, may_be_done
from bosh_aws_cpi.aws.sdk.idempotency import make_once
from bosh_aws_cpi.encryption import Encryption
from bosh_aws_cpi.log import logger

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mypy_boto3_ebs import EBSClient

BLOCK_SIZE: Final = 524_288
"""Bytes; EBS takes no other."""
_NOT_THERE_YET: Final = frozenset({"ResourceNotFoundException"})
"""For a while EBS may not know the snapshot that it has just started."""
_INVALID: Final = frozenset({"ValidationException"})
_PASSING_REASONS: Final = frozenset({"CONFLICTING_BLOCK_UPDATE", "WRITE_REQUEST_TIMEOUT"})
"""Reasons of a ValidationException (the EBS direct APIs' model) that are not about the request itself."""
_UNREAD: Final = "Failed to read block data"
"""The message of a ValidationException that can be retried (EBS user guide, "Error retries")."""
_NOT_PENDING: Final = _INVALID | {"ConflictException"}
"""What EBS answers to a completion of what is completed."""
_MINUTES_WITHOUT_A_BLOCK: Final = 60
"""After these EBS gives an unfinished snapshot up by itself."""


def start(
    client: "EBSClient",
    *,
    size_gib: int,
    description: str,
    tags: "Mapping[str, str]",
    encryption: Encryption,
    client_token: str,
    find: "Callable[[], str | None]",
) -> str:
    """StartSnapshot.

    Args:
        client: The EBS client.
        size_gib: GiB of the volumes that are made from it.
        description: For operators.
        tags: The snapshot's tags.
        encryption: Whether it is encrypted, and with which key.
        client_token: By which EBS recognises the same call.
        find: Looks for the snapshot, when it is not certain whether there is one.

    Returns:
        The snapshot's id; it is pending, and takes blocks.
    """
    key = {"KmsKeyArn": encryption.kms_key_arn} if encryption.encrypted and encryption.kms_key_arn else {}
    encrypted: Any = {"Encrypted": True, **key} if encryption.encrypted else {}
    return make_once(
        "the snapshot",
        lambda: client.start_snapshot(
            VolumeSize=size_gib,
            Description=description,
            Tags=[{"Key": name, "Value": value} for name, value in tags.items()],
            ClientToken=client_token,
            Timeout=_MINUTES_WITHOUT_A_BLOCK,
            **encrypted,
        )["SnapshotId"],
        find,
    )


class Stopped(Exception):
    """The upload ends: no block is written any more."""


def put(
    client: "EBSClient", snapshot_id: str, index: int, block: bytes, is_stopped: "Callable[[], bool]"
) -> bytes:
    """PutSnapshotBlock, repeated while EBS throttles or is at fault: the same block twice is one block.

    Args:
        client: The EBS client.
        snapshot_id: The snapshot.
        index: Which block it is, from 0 on.
        block: Exactly `BLOCK_SIZE` bytes.
        is_stopped: Whether another block failed for good, so that this one is in vain.

    Returns:
        The SHA-256 of the block.

    Raises:
        Stopped: The upload ends.
        CloudError: It takes too long.
        ClientError: EBS refuses the block.
    """
    digest = sha256(block).digest()

    def attempt() -> None:
        if is_stopped():
            raise Stopped
        try:
            client.put_snapshot_block(
                SnapshotId=snapshot_id,
                BlockIndex=index,
                BlockData=block,
                DataLength=len(block),
                Checksum=b64encode(digest).decode(),
                ChecksumAlgorithm="SHA256",
            )
        except ClientError as error:
            if has_code(error, _NOT_THERE_YET) or _passes(error):
                raise timing.NotYet(str(error)) from error
            raise

    timing.until(timing.BLOCK_WRITTEN, f"block {index} of snapshot '{snapshot_id}' to be written", attempt)
    return digest


def _passes(error: ClientError) -> bool:
    """Whether EBS refuses a block for a transient reason."""
    if not has_code(error, _INVALID):
        return False
    said = str(detail_of(error).get("Message", ""))
    return error.response.get("Reason") in _PASSING_REASONS or _UNREAD in said


def complete(client: "EBSClient", snapshot_id: str, digests: "Mapping[int, bytes]") -> None:
    """CompleteSnapshot: EBS compares what it has with what was sent.

    A repetition by the SDK may be refused, because the first attempt did the work.

    Args:
        client: The EBS client.
        snapshot_id: The snapshot.
        digests: The SHA-256 of each block that was put, by its index.
    """
    whole = sha256(b"".join(digests[index] for index in sorted(digests))).digest()
    try:
        client.complete_snapshot(
            SnapshotId=snapshot_id,
            ChangedBlocksCount=len(digests),
            Checksum=b64encode(whole).decode(),
            ChecksumAlgorithm="SHA256",
            ChecksumAggregationMethod="LINEAR",
        )
    except ClientError as error:
        if not (may_be_done(error) and has_code(error, _NOT_PENDING)):
            raise
        logger.info("Snapshot '%s' was completed by the call whose answer was lost", snapshot_id)
