"""EBS snapshots: create, wait for, delete."""

import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from bosh_aws_cpi.aws import volumes
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.errors import SNAPSHOT_IN_USE, SNAPSHOT_MISSING, call_unless
from bosh_aws_cpi.aws.sdk.filters import by_tags, equals
from bosh_aws_cpi.aws.sdk.idempotency import WITHOUT_TOKEN, create_once, has_tags, is_recent, tags_of
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import ID_DIGITS
from bosh_aws_cpi.tag_names import DISK_METADATA

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

_FAILED_STATE: Final = "error"
_AMI: Final = re.compile(rf"\bami-{ID_DIGITS}\b")
_NO_VOLUME: Final = "vol-ffffffff"
"""The volume id that EC2 shows for a snapshot without a source volume."""
_COPIED: Final = re.compile(f"Copied for DestinationAmi (ami-{ID_DIGITS}) from SourceAmi ami-")
"""The beginning of the description that CopyImage gives a snapshot."""


def is_for_image(entry: Any, ami_id: str | None = None) -> bool:  # noqa: ANN401 - the SDK's typed dict
    """Whether EC2 shows that a snapshot was made for an AMI and not of a disk; tags are no proof of that.

    CopyImage and StartSnapshot create snapshots without a source volume. So does a backup tool that copies
    a disk's snapshot with the Director's tags.

    Args:
        entry: DescribeSnapshots' entry.
        ami_id: The AMI; None for any AMI. EC2 names the AMI only for a copy.
    """
    if entry.get("VolumeId") != _NO_VOLUME:
        return False
    if copied := _COPIED.match(entry.get("Description", "")):
        return ami_id in {None, copied[1]}
    return not DISK_METADATA & tags_of(entry).keys()


def find_marked(client: "EC2Client", mark: tuple[str, str], disk_cid: str | None = None) -> str | None:
    """DescribeSnapshots: a recent snapshot with this tag that did not fail; None when EC2 shows none.

    Args:
        mark: The tag's key and value.
        disk_cid: The source volume of the snapshot; None for any volume.
    """
    tags = dict([mark])
    filters = by_tags(tags)
    if disk_cid is not None:
        filters.append(equals("volume-id", disk_cid))
    entries = client.describe_snapshots(OwnerIds=["self"], Filters=filters)["Snapshots"]
    intact = (entry for entry in entries if has_tags(entry, tags) and entry.get("State") != _FAILED_STATE)
    return next((entry["SnapshotId"] for entry in intact if is_recent(entry.get("StartTime"))), None)


def find(client: "EC2Client", snapshot_id: str) -> Json | None:
    """DescribeSnapshots' entry of a snapshot; None if EC2 does not know or does not show the snapshot."""
    shown: Any = call_unless(
        SNAPSHOT_MISSING, lambda: client.describe_snapshots(SnapshotIds=[snapshot_id])["Snapshots"]
    )
    return next((each for each in shown or () if each.get("SnapshotId") == snapshot_id), None)


def keys(client: "EC2Client", snapshot_ids: Sequence[str]) -> list[str]:
    """DescribeSnapshots: the ARN of each snapshot's KMS key; "" for a snapshot without a key."""
    answer = client.describe_snapshots(SnapshotIds=snapshot_ids)
    return [entry.get("KmsKeyId", "") for entry in answer["Snapshots"]]


def create(client: "EC2Client", disk_cid: str, arguments: Json, mark: tuple[str, str]) -> str:
    """Call CreateSnapshot, which takes no client token; the snapshot is pending.

    Args:
        arguments: CreateSnapshot's description and tags.
        mark: The key and value of one of the tags, by which to find the snapshot if the answer is
            lost.

    Returns:
        The snapshot's id.

    Raises:
        DiskNotFound: EC2 does not know the volume.
    """
    create = partial(
        create_once,
        f"a snapshot of '{disk_cid}'",
        lambda: client.create_snapshot(VolumeId=disk_cid, **arguments)["SnapshotId"],
        lambda: find_marked(client, mark, disk_cid),
        WITHOUT_TOKEN,
    )
    return volumes.repeat_while_shown(client, disk_cid, create)


def wait_until_completed(
    client: "EC2Client", snapshot_id: str, patience: timing.Policy = timing.SNAPSHOT_COMPLETED
) -> None:
    """Wait until a new snapshot is completed.

    Raises:
        CloudError: EBS could not create the snapshot, or the wait timed out.
    """
    window = timing.VisibilityWindow()

    def probe() -> None:
        entry = window.check(find(client, snapshot_id), CloudError(f"Snapshot '{snapshot_id}' is gone"))
        if entry["State"] == _FAILED_STATE:
            reason = entry.get("StateMessage") or "no reason given"
            raise CloudError(f"EBS could not create snapshot '{snapshot_id}': {reason}")
        if entry["State"] != "completed":
            raise timing.NotYet(f"{entry['State']} {entry.get('Progress', '')}".strip())

    timing.poll(patience, f"snapshot '{snapshot_id}' to be completed", probe)


def delete(client: "EC2Client", snapshot_id: str, of_ami: str | None = None) -> bool:
    """Call DeleteSnapshot; retry while EC2 believes that a deregistered AMI still uses the snapshot.

    It is no error if the snapshot is already gone.

    Args:
        of_ami: The AMI that was just deregistered.

    Returns:
        False when the snapshot was not deleted, because another AMI uses it.
    """

    def is_shown_again() -> bool:
        return timing.look_twice(lambda: None, lambda: find(client, snapshot_id)) is not None

    def attempt() -> bool:
        try:
            client.delete_snapshot(SnapshotId=snapshot_id)
        except client.exceptions.ClientError as error:
            if SNAPSHOT_MISSING(error):
                if of_ami is None and is_shown_again():
                    raise timing.NotYet(str(error)) from error
                logger.info("Snapshot '%s' is already gone", snapshot_id)
            elif of_ami is None or not SNAPSHOT_IN_USE(error):
                raise
            elif _is_used_by_another(error, of_ami):
                return False
            else:
                raise timing.NotYet(str(error)) from error
        return True

    what = f"snapshot '{snapshot_id}' to be released"
    return timing.poll(timing.SNAPSHOT_RELEASED, what, attempt, needs_answer=True)


def discard(client: "EC2Client", snapshot_id: str) -> None:
    """Discard a snapshot that was just created, and that EC2 may not know yet."""
    logger.info("Deleting snapshot '%s'", snapshot_id)
    timing.discard(
        f"snapshot '{snapshot_id}'",
        SNAPSHOT_MISSING,
        lambda: timing.retry_on_codes(  # EC2 may believe that the deregistered AMI still uses the snapshot
            timing.SNAPSHOT_RELEASED,
            f"snapshot '{snapshot_id}' to be released",
            SNAPSHOT_IN_USE,
            lambda: client.delete_snapshot(SnapshotId=snapshot_id),
        ),
    )


def _is_used_by_another(error: BaseException, ami_id: str) -> bool:
    """Whether EC2's message names only other AMIs that use the snapshot."""
    named = _AMI.findall(str(error))
    return bool(named) and ami_id not in named
