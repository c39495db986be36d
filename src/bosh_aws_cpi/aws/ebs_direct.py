"""The EBS direct APIs, which write a snapshot block by block, without a volume or a VM."""

from base64 import b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from bosh_aws_cpi.aws.sdk import errors, timing
from bosh_aws_cpi.aws.sdk.idempotency import create_once
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Encryption

if TYPE_CHECKING:
    from mypy_boto3_ebs import EBSClient

BLOCK_SIZE: Final = 524_288
"""The size of a block in bytes; EBS accepts no other size."""
_TRANSIENT_REASONS: Final = frozenset({"CONFLICTING_BLOCK_UPDATE", "WRITE_REQUEST_TIMEOUT"})
"""Transient reasons of a ValidationException, although the request is valid (EBS direct APIs' model)."""
_BLOCK_NOT_READ: Final = "Failed to read block data"
"""The message of a ValidationException that can be retried (EBS user guide, "Error retries")."""
_MINUTES_WITHOUT_A_BLOCK: Final = 60
"""EBS cancels an unfinished snapshot after this time without a new block."""


def start(
    client: "EBSClient",
    *,
    size_gib: int,
    description: str,
    tags: Mapping[str, str],
    encryption: Encryption,
    client_token: str,
    find: Callable[[], str | None],
) -> str:
    """Call StartSnapshot.

    Args:
        size_gib: The size in GiB of volumes that are created from the snapshot.
        description: The snapshot's description, for operators.
        tags: The snapshot's tags.
        encryption: Whether the snapshot is encrypted, and with which key.
        client_token: Lets EBS recognise a retry.
        find: Looks for the snapshot, if AWS did not answer the call.

    Returns:
        The id of the snapshot, which is pending and accepts blocks.
    """
    key = {"KmsKeyArn": encryption.kms_key_arn} if encryption.encrypted and encryption.kms_key_arn else {}
    encrypted: Any = {"Encrypted": True, **key} if encryption.encrypted else {}
    return create_once(
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
    """The upload was stopped: no more blocks are written."""


def put(
    client: "EBSClient", snapshot_id: str, index: int, block: bytes, is_stopped: Callable[[], bool]
) -> bytes:
    """Call PutSnapshotBlock; retry while EBS throttles or is at fault. To write a block twice does no harm.

    Args:
        index: The block's index, starting at 0.
        block: Exactly `BLOCK_SIZE` bytes.
        is_stopped: Whether the upload was stopped, because another block failed.

    Returns:
        The SHA-256 of the block.

    Raises:
        Stopped: The upload was stopped.
        CloudError: The wait timed out.
        ClientError: EBS refuses the block.
    """
    digest = sha256(block).digest()
    checksum = b64encode(digest).decode()

    def attempt() -> None:
        if is_stopped():
            raise Stopped
        try:
            written = client.put_snapshot_block(
                SnapshotId=snapshot_id,
                BlockIndex=index,
                BlockData=block,
                DataLength=len(block),
                Checksum=checksum,
                ChecksumAlgorithm="SHA256",
            )
        except ClientError as error:
            if errors.DIRECT_SNAPSHOT_MISSING(error) or _is_transient(error):
                raise timing.NotYet(str(error)) from error
            raise
        if written["Checksum"] != checksum:  # a proxy's answer lacks this header
            raise timing.NotYet("EBS answered with the checksum of other data")

    timing.poll(timing.BLOCK_WRITTEN, f"block {index} of snapshot '{snapshot_id}' to be written", attempt)
    return digest


def _is_transient(error: ClientError) -> bool:
    """Whether EBS refuses a block for a transient reason."""
    if not errors.BLOCK_INVALID(error):
        return False
    message = str(errors.detail_of(error).get("Message", ""))
    return error.response.get("Reason") in _TRANSIENT_REASONS or _BLOCK_NOT_READ in message


def complete(client: "EBSClient", snapshot_id: str, digests: Mapping[int, bytes]) -> None:
    """Call CompleteSnapshot: EBS checks the snapshot's blocks against the checksum.

    EBS may refuse the SDK's retry, because the first attempt has completed the snapshot.

    Args:
        digests: The SHA-256 of each written block, by index.
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
        if not (errors.may_have_taken_effect(error) and errors.SNAPSHOT_NOT_PENDING(error)):
            raise
        logger.info("Snapshot '%s' was completed by the call whose answer was lost", snapshot_id)
