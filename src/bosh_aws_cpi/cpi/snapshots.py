"""snapshot_disk and delete_snapshot."""

from bosh_aws_cpi.aws import snapshots, volumes
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.errors import SNAPSHOTS_PENDING
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.identity import call_id
from bosh_aws_cpi.cpi.undo import Undo, run_with_undo
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.plan import tag_plan


def snapshot_disk(cloud: Cloud, disk_cid: str, metadata: Json) -> str:
    """Take a snapshot of the disk and wait until it is completed (contract: snapshot_disk).

    A retry with the same request id finds the snapshot that the first attempt took.

    Args:
        disk_cid: The disk, attached or not.
        metadata: For the description and the tags; all its keys are optional.

    Returns:
        The snapshot's id.

    Raises:
        DiskNotFound: EC2 does not know the disk.
        CloudError: EBS could not create the snapshot; nothing is left behind.
    """
    attachments = volumes.find(cloud.ec2, disk_cid).attachments.values()
    device = next((device for _, device in attachments if device), None)
    mark = (tag_plan.CALL_TAG, call_id(cloud, "snapshot_disk", disk_cid, metadata))
    origin = tag_plan.of_origin(cloud.config.director_uuid)
    own = {**tag_plan.of_snapshot(metadata, device), **origin, mark[0]: mark[1]}
    tags = tag_plan.with_common_tags(cloud.config.aws.tags, own)
    arguments = {
        "Description": tag_plan.snapshot_description(metadata, device),
        **tag_plan.specifications(tags, "snapshot"),
    }
    earlier = snapshots.find_marked(cloud.ec2, mark, disk_cid) if cloud.config.request_id else None
    if earlier is not None:  # no undo: the Director may already have its id
        snapshots.wait_until_completed(cloud.ec2, earlier, timing.SNAPSHOT_COMPLETED.of_earlier())
        return earlier

    def create(undo: Undo) -> str:
        def attempt() -> str:
            return undo.create(
                lambda: snapshots.create(cloud.ec2, disk_cid, arguments, mark),
                lambda created: snapshots.discard(cloud.ec2, created),
            )

        what = f"EBS to accept a snapshot of '{disk_cid}'"
        snapshot_cid = timing.retry_on_codes(timing.SNAPSHOT_ACCEPTED, what, SNAPSHOTS_PENDING, attempt)
        snapshots.wait_until_completed(cloud.ec2, snapshot_cid)
        return snapshot_cid

    return run_with_undo(cloud.undo, create)


def delete_snapshot(cloud: Cloud, snapshot_cid: str) -> None:
    """Delete a snapshot; no error if it is already gone (contract: delete_snapshot).

    Raises:
        CloudError: An AMI uses it.
    """
    snapshots.delete(cloud.ec2, snapshot_cid)
