"""Snapshots that are written by the EBS direct APIs."""

from base64 import b64encode
from typing import Any

from acceptance.lab import BLOCK, Lab, said_to
from acceptance.patience import NotYet, until
from acceptance.trials.trial import UNKNOWN_KEY, Seen, Trials
from bosh_aws_cpi.aws.sdk.timing import NEW_SEEN

TRIALS = Trials()
COMPLETED = {"ValidationException", "ConflictException"}


@TRIALS.of("blocks-key")
def blocks_key(lab: Lab) -> Seen:
    """Start a snapshot with the id of a key in place of its ARN."""
    said = said_to(lab.start_snapshot, Encrypted=True, KmsKeyArn=UNKNOWN_KEY)
    return Seen(said.code == "ValidationException", said.text)


@TRIALS.of("blocks-written-twice")
def blocks_written_twice(lab: Lab) -> Seen:
    """Write a block twice, count it once, complete the snapshot twice."""
    snapshot_id = lab.start_snapshot()["SnapshotId"]
    first, second = lab.put_block(snapshot_id), lab.put_block(snapshot_id)
    completed, again = (
        said_to(lab.ebs.complete_snapshot, SnapshotId=snapshot_id, ChangedBlocksCount=1) for _ in range(2)
    )
    agrees = not (first.code or second.code or completed.code) and (not again.code or again.code in COMPLETED)
    return Seen(agrees, f"written again: {second.text}; completed again: {again.text}")


@TRIALS.of("blocks-checked")
def blocks_checked(lab: Lab) -> Seen:
    """Write a block with the checksum of another, a short one, and complete with a wrong count."""
    snapshot_id = lab.start_snapshot()["SnapshotId"]
    wrong = lab.put_block(snapshot_id, Checksum=b64encode(bytes(32)).decode())
    short = lab.put_block(snapshot_id, BlockData=BLOCK[:512], DataLength=512)
    lab.put_block(snapshot_id)
    count = said_to(lab.ebs.complete_snapshot, SnapshotId=snapshot_id, ChangedBlocksCount=2)
    agrees = all(each.code == "ValidationException" for each in (wrong, short, count))
    return Seen(agrees, f"checksum: {wrong.text}; short: {short.text}; count: {count.text}")


@TRIALS.of("blocks-pending-deleted")
def blocks_pending_deleted(lab: Lab) -> Seen:
    """Delete a snapshot that is not completed."""
    snapshot_id = lab.start_snapshot()["SnapshotId"]
    lab.put_block(snapshot_id)
    deleted = said_to(lab.ec2.delete_snapshot, SnapshotId=snapshot_id)
    return Seen(not deleted.code, f"deleted: {deleted.text}")


@TRIALS.of("blocks-tagged")
def blocks_tagged(lab: Lab) -> Seen:
    """Search for a new snapshot by its tag."""
    own = {"Key": "bosh_call", "Value": lab.token()}
    tags = [{"Key": name, "Value": value} for name, value in lab.tags.items()]
    snapshot_id = lab.start_snapshot(Tags=[*tags, own])["SnapshotId"]

    def seen() -> dict[str, Any]:
        filters = [{"Name": f"tag:{own['Key']}", "Values": [own["Value"]]}]
        found = lab.ec2.describe_snapshots(OwnerIds=["self"], Filters=filters)["Snapshots"]
        if not found:
            raise NotYet("not found yet")
        (snapshot,) = found
        return dict(snapshot)

    try:
        found = until(seen, NEW_SEEN.seconds)
    except NotYet as missing:
        return Seen(agrees=False, text=f"{missing} after {NEW_SEEN.seconds:.0f} s")
    agrees = (found["SnapshotId"], found["State"]) == (snapshot_id, "pending")
    return Seen(agrees, f"found, in state {found['State']}")
