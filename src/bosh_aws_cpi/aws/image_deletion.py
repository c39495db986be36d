"""Deregisters AMIs, and deletes their snapshots."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from bosh_aws_cpi.aws import snapshots, tags
from bosh_aws_cpi.aws.images import AMI_TAG, describe, find
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.cleanup import in_turn
from bosh_aws_cpi.aws.sdk.error_codes import IMAGE_MISSING, UNAUTHORIZED
from bosh_aws_cpi.aws.sdk.errors import FAILURES, code_of, described, has_code
from bosh_aws_cpi.aws.sdk.filters import beginning, by_tags
from bosh_aws_cpi.aws.sdk.idempotency import tags_of
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Image

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client


_AMI_ID = re.compile(r"ami-[0-9a-f]+")
_SETTLED = frozenset({"success", "skipped"})
"""EC2's return codes for a snapshot that it deleted with its AMI, or kept because another AMI uses it."""


def deregister(client: "EC2Client", ami_id: str) -> None:
    """Deregister an AMI without its snapshot: the caller deletes the snapshot in a separate step."""
    logger.info("Deregistering AMI '%s'", ami_id)
    timing.discard(
        f"AMI '{ami_id}'",
        lambda error: has_code(error, IMAGE_MISSING),
        lambda: client.deregister_image(ImageId=ami_id),
    )
    _wait_until_gone(client, ami_id)


def delete(client: "EC2Client", ami_id: str) -> None:
    """Delete an AMI and the snapshots of its block devices; no error if they are already deleted.

    When an earlier call deregistered the AMI and then failed, its snapshots may still exist: they are
    looked up and deleted.

    Raises:
        CloudError: The deletion is not certain. The deletion of every snapshot was tried.
        ClientError: The same.
    """
    image = find(client, ami_id)
    if image is not None:
        _delete(client, ami_id, timing.AT_ONCE, lambda: image.snapshot_ids)
        return
    logger.info("AMI '%s' is already gone", ami_id)
    try:
        left = _left_snapshots(client, ami_id)
    except client.exceptions.ClientError as error:
        if not has_code(error, UNAUTHORIZED):
            raise
        logger.warning("Could not look for snapshots of AMI '%s': %s", ami_id, described(error))
        return
    _delete_snapshots(client, ami_id, left)


def discard_copy(client: "EC2Client", ami_id: str, own_tags: Mapping[str, str]) -> None:
    """Discard an unfinished copy of an AMI, with its snapshots, unless another call has adopted it.

    While the copy is pending, EC2 does not list its snapshots with the AMI, and may not show the AMI
    itself yet.

    Args:
        ami_id: The copy.
        own_tags: The tags that only the copy and its snapshots have; a call that adopts it overwrites them.

    Raises:
        CloudError: The deletion is not certain. The deletion of every snapshot that was found was tried.
        ClientError: The same.
    """
    image = _shown(client, ami_id)
    if image and any(image.tags.get(key, value) != value for key, value in own_tags.items()):
        logger.warning("AMI '%s' is not deleted: another call has adopted it", ami_id)
        return
    logger.info("Deleting AMI '%s'", ami_id)
    shown = image.snapshot_ids if image else []
    _delete(client, ami_id, timing.VISIBLE, lambda: shown, lambda: _left_by_copy(client, ami_id, own_tags))


def _left_by_copy(client: "EC2Client", ami_id: str, own_tags: Mapping[str, str]) -> list[str]:
    try:
        return _left_snapshots(client, ami_id, own_tags)
    except client.exceptions.ClientError as error:
        if not has_code(error, UNAUTHORIZED):
            raise
        from bosh_aws_cpi.aws.sdk.translation import explained  # noqa: PLC0415 - the table is large

        marks = ", ".join(f"{key}={value}" for key, value in own_tags.items())
        message = f"Snapshots of AMI '{ami_id}' with the tag {marks} may be left behind: {explained(error)}"
        raise CloudError(message) from error


def _delete(
    client: "EC2Client", ami_id: str, patience: timing.Policy, *lists: Callable[[], Sequence[str]]
) -> None:
    """Deregister the AMI, then delete its snapshots; a step that fails does not prevent the others.

    DeregisterImage is asked to delete the snapshots as well; those that it does not report as deleted
    are deleted here.

    Args:
        patience: How long to retry while EC2 does not know the AMI yet.
        lists: Each lists snapshots of the AMI.
    """
    settled: set[str] = set()

    def deregister() -> None:
        results = _deregister(client, ami_id).get("DeleteSnapshotResults", [])
        settled.update(each["SnapshotId"] for each in results if each.get("ReturnCode") in _SETTLED)

    what = f"AMI '{ami_id}'"
    timing.discard(what, lambda error: has_code(error, IMAGE_MISSING), deregister, patience)

    def delete(found: Callable[[], Sequence[str]]) -> None:
        unsettled = [each for each in dict.fromkeys(found()) if each not in settled]
        settled.update(unsettled)
        _delete_snapshots(client, ami_id, unsettled)

    in_turn(lambda: _wait_until_gone(client, ami_id), *(partial(delete, each) for each in lists))


def _deregister(client: "EC2Client", ami_id: str) -> Any:  # noqa: ANN401 - the SDK's typed dict
    """DeregisterImage, including the snapshots where EC2 supports that: not every partition does yet."""
    try:
        return client.deregister_image(ImageId=ami_id, DeleteAssociatedSnapshots=True)
    except client.exceptions.ClientError as error:
        if code_of(error) != "UnknownParameter":
            raise
        return client.deregister_image(ImageId=ami_id)


def _shown(client: "EC2Client", ami_id: str) -> Image | None:
    """An AMI; None when EC2 does not show it, or the lookup fails: the AMI is deleted anyway."""
    try:
        return find(client, ami_id)
    except FAILURES as error:
        logger.warning("Could not look up the snapshots of AMI '%s': %s", ami_id, described(error))
        return None


def _left_snapshots(client: "EC2Client", ami_id: str, own_tags: Mapping[str, str] | None = None) -> list[str]:
    """Snapshots of a deregistered AMI: found by our tags, and by EC2's description of a copy's snapshot.

    A snapshot is listed only if EC2 shows that it was made for this AMI, or for an AMI without naming it:
    EC2 names the AMI only for a snapshot that CopyImage made.

    Nothing is looked up unless the id has the form of an AMI's id.
    """
    if not _AMI_ID.fullmatch(ami_id):
        return []
    named, marks = f"Copied for DestinationAmi {ami_id} ", {AMI_TAG: ami_id, **(own_tags or {})}
    paginator = client.get_paginator("describe_snapshots")
    found = {
        snapshot["SnapshotId"]: snapshots.is_for_image(snapshot, ami_id)
        for each in [beginning("description", named), *by_tags(marks)]
        for page in paginator.paginate(OwnerIds=["self"], Filters=[each])
        for snapshot in page["Snapshots"]
        if snapshot.get("Description", "").startswith(named) or marks.items() & tags_of(snapshot).items()
    }
    if kept := [snapshot_id for snapshot_id, is_certain in found.items() if not is_certain]:
        logger.error(
            "Perhaps left behind: %s. A tag or description names AMI '%s', which is gone, but EC2 does not "
            "show that the snapshot was made for it: it may be a disk's",
            ", ".join(kept),
            ami_id,
        )
    return [snapshot_id for snapshot_id, is_certain in found.items() if is_certain]


def _delete_snapshots(client: "EC2Client", ami_id: str, snapshot_ids: Sequence[str]) -> None:
    in_turn(*(partial(_delete_or_tag, client, ami_id, snapshot_id) for snapshot_id in snapshot_ids))


def _delete_or_tag(client: "EC2Client", ami_id: str, snapshot_id: str) -> None:
    """Delete a snapshot; one that can't be deleted is tagged, so that a retry finds it."""
    try:
        if not snapshots.delete(client, snapshot_id, ami_id):
            logger.warning("Snapshot '%s' of AMI '%s' is kept: another AMI uses it", snapshot_id, ami_id)
    except (*FAILURES, CloudError) as error:
        said = described(error)
        logger.warning("Could not delete snapshot '%s' of AMI '%s': %s", snapshot_id, ami_id, said)
        tags.try_to_create(client, snapshot_id, {AMI_TAG: ami_id})
        raise


def _wait_until_gone(client: "EC2Client", ami_id: str) -> None:
    def probe() -> None:
        entry = describe(client, ami_id)
        if entry is not None and entry["State"] != "deregistered":
            raise timing.NotYet(entry["State"])

    timing.until(timing.IMAGE_GONE, f"AMI '{ami_id}' to be gone", probe)
