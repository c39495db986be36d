"""The EBS direct APIs: snapshots that are written block by block."""

import base64
import binascii
import json
import re
from functools import partial
from hashlib import sha256
from typing import Any, NoReturn

from moto.core.exceptions import ServiceException
from moto.ebs.models import EBSSnapshot
from moto.ebs.responses import EBSResponse

from testbed.moto_patches.patching import Original, Patches, parameter
from testbed.moto_patches.snapshots import NO_VOLUME, begin_snapshot

PATCHES = Patches()

BLOCK_SIZE = 524_288
BLOCKS_PER_GIB = 2048
KEY_ARN = re.compile(r"arn:aws[a-z\-]*:kms:.*:[0-9]{12}:key/.*")
"""From the API model, StartSnapshotRequest, KmsKeyArn; an alias, its ARN and a bare id don't match."""


class DirectError(ServiceException):
    """An error of the EBS direct APIs; moto reads its attributes."""

    def __init__(self, code: str, message: str, reason: str | None = None) -> None:
        super().__init__(code, message)
        self.Reason = reason


def invalid(reason: str, message: str) -> NoReturn:
    """Refuse a request."""
    raise DirectError("ValidationException", message, reason)


def known(backend: Any, snapshot_id: str) -> Any:
    """Find a snapshot's blocks; a snapshot of a volume has none in moto."""
    snapshot = backend.ec2_backend.snapshots.get(snapshot_id)
    if snapshot is None:
        message = f"The snapshot '{snapshot_id}' does not exist."
        raise DirectError("ResourceNotFoundException", message, "SNAPSHOT_NOT_FOUND")
    if snapshot_id not in backend.snapshots:
        made = EBSSnapshot(backend.account_id, snapshot)
        made.status = "completed"
        backend.snapshots[snapshot_id] = made
    return backend.snapshots[snapshot_id]


def unfinished(response: Any) -> Any:
    """Find the snapshot of a call that needs a pending one."""
    snapshot_id = parameter(response, "SnapshotId")
    snapshot = known(response.ebs_backend, snapshot_id)
    if snapshot.status != "pending":
        invalid("INVALID_SNAPSHOT_ID", f"The snapshot '{snapshot_id}' is not in the pending state.")
    return snapshot


def check_digest(response: Any, data: bytes) -> None:
    """Refuse a checksum that does not match the data."""
    get = partial(parameter, response)
    if get("ChecksumAlgorithm") != "SHA256":
        invalid("INVALID_PARAMETER_VALUE", "The checksum's algorithm must be SHA256.")
    try:
        digest = base64.b64decode(get("Checksum", ""), validate=True)
    except binascii.Error:
        digest = b""
    if digest != sha256(data).digest():
        invalid("INVALID_PARAMETER_VALUE", "The checksum is not that of the data.")


@PATCHES.around(EBSResponse, "start_snapshot")
def started_snapshot(original: Original, response: Any) -> Any:
    """EBS creates a pending snapshot without a volume, encrypted on request.

    moto left a volume behind, knew no encryption, gave the size of a block as 512, and
    in DescribeSnapshots the snapshot was completed.
    """
    get, ec2 = partial(parameter, response), response.ebs_backend.ec2_backend
    if get("KmsKeyArn") and not KEY_ARN.fullmatch(get("KmsKeyArn")):
        invalid("INVALID_CUSTOMER_KEY", "KmsKeyArn must be the ARN of a key.")
    if get("KmsKeyArn") and not get("Encrypted"):
        invalid("INVALID_PARAMETER_VALUE", "KmsKeyArn needs Encrypted to be true.")
    result = original(response)
    snapshot = ec2.snapshots[result.result["SnapshotId"]]
    ec2.volumes.pop(snapshot.volume.id)
    snapshot.volume.id = NO_VOLUME
    if get("Encrypted"):
        snapshot.encrypted = True
        snapshot.kms_key_id = get("KmsKeyArn") or ec2._create_default_encryption_key()  # noqa: SLF001
    begin_snapshot(snapshot, "pending")
    result.result.update(BlockSize=BLOCK_SIZE, Tags=get("Tags"), KmsKeyArn=snapshot.kms_key_id)
    return result


@PATCHES.around(EBSResponse, "start_snapshot")
def started_once(original: Original, response: Any) -> Any:
    """EBS answers a repeated client token with the first snapshot; moto created another one.

    The same token with other parameters is a conflict.
    """
    token = parameter(response, "ClientToken")
    request = json.dumps(response.params, sort_keys=True, default=str)
    if not hasattr(response.ebs_backend, "testbed_tokens"):
        response.ebs_backend.testbed_tokens = {}
    tokens = response.ebs_backend.testbed_tokens
    first_request, result = tokens.get(token, (request, None))
    if first_request != request:
        raise DirectError("ConflictException", "The client token belongs to another request.")
    result = result or original(response)
    tokens[token] = (request, result)
    return result


@PATCHES.around(EBSResponse, "put_snapshot_block")
def checked_block(original: Original, response: Any) -> Any:
    """While a snapshot is pending, EBS accepts whole blocks within the volume, with their checksum.

    moto accepted anything at any time.
    """
    get, snapshot = partial(parameter, response), unfinished(response)
    if int(get("BlockIndex")) >= int(snapshot.volume_size) * BLOCKS_PER_GIB:
        invalid("INVALID_BLOCK", f"Block {get('BlockIndex')} is beyond the volume's size.")
    data = get("BlockData")
    if get("DataLength") != BLOCK_SIZE or len(data) != BLOCK_SIZE:
        invalid("INVALID_BLOCK", f"The data must have {BLOCK_SIZE} bytes.")
    check_digest(response, data)
    return original(response)


@PATCHES.around(EBSResponse, "complete_snapshot")
def checked_completion(original: Original, response: Any) -> Any:
    """EBS compares the request with the blocks that it has, and completes the snapshot.

    moto compared nothing, and in DescribeSnapshots the snapshot did not change.

    The checksum is that of all blocks' checksums, in the order of their indexes (LINEAR).
    """
    get, snapshot = partial(parameter, response), unfinished(response)
    if int(get("ChangedBlocksCount")) != len(snapshot.blocks):
        invalid("INVALID_PARAMETER_VALUE", f"The snapshot has {len(snapshot.blocks)} changed blocks.")
    if get("Checksum"):
        if get("ChecksumAggregationMethod") != "LINEAR":
            invalid("INVALID_PARAMETER_VALUE", "The aggregation method must be LINEAR.")
        digests = [sha256(block.block_data).digest() for _, block in sorted(snapshot.blocks.items())]
        check_digest(response, b"".join(digests))
    result = original(response)
    begin_snapshot(response.ebs_backend.ec2_backend.snapshots[snapshot.snapshot_id], "completed")
    return result


@PATCHES.around(EBSResponse, "list_snapshot_blocks")
def listed_blocks(original: Original, response: Any) -> Any:
    """EBS lists the blocks by index; moto listed them as they came, with 512 bytes each."""
    known(response.ebs_backend, parameter(response, "SnapshotId"))
    result = original(response)
    blocks = sorted(result.result["Blocks"], key=lambda block: block["BlockIndex"])
    result.result.update(Blocks=blocks, BlockSize=BLOCK_SIZE)
    return result


@PATCHES.around(EBSResponse, "get_snapshot_block")
def known_block(original: Original, response: Any) -> Any:
    """EBS refuses an unknown snapshot, block or token; moto failed (HTTP 500), and ignored the token."""
    get = partial(parameter, response)
    snapshot = known(response.ebs_backend, get("SnapshotId"))
    block = snapshot.blocks.get(int(get("BlockIndex")))
    if block is None or block.block_token != get("BlockToken"):
        invalid("INVALID_BLOCK_TOKEN", "The token is not that of a block of the snapshot.")
    return original(response)
