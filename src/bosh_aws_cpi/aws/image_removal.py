"""The end of AMIs: deregistration, with the snapshots that are theirs."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from bosh_aws_cpi.aws import snapshots, tags
from bosh_aws_cpi.aws.images import AMI_TAG, describe, find
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.cleanup import in_turn
from bosh_aws_cpi.aws.sdk.errors import IMAGE_MISSING, UNAUTHORIZED, code_of, described, has_code
from bosh_aws_cpi.aws.sdk.idempotency import by_tags
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.log import logger

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ec2.type_defs import FilterTypeDef


_AMI_ID = re.compile(r"ami-[0-9a-f]+")
_SETTLED = frozenset({"success", "skipped"})
"""What EC2 says of a snapshot that it deleted with its AMI, or left because another AMI uses it."""


def deregister(client: "EC2Client", ami_id: str) -> None:
    """Remove an AMI that must not be, but not its snapshot, which is removed by itself."""
    logger.info("Removing AMI '%s'", ami_id)
    timing.remove(
        f"AMI '{ami_id}'",
        lambda error: has_code(error, IMAGE_MISSING),
        lambda: client.deregister_image(ImageId=ami_id),
    )
    _wait_until_gone(client, ami_id)


def discard(client: "EC2Client", ami_id: str) -> None:
    """Remove an AMI and the snapshots behind its block devices; what is gone already is fine.

    An AMI that is gone may have left snapshots behind, when an earlier call failed between
    the two: they are looked for.

    Raises:
        CloudError: That is not certain. Every snapshot was tried.
        ClientError: The same.
    """
    image = find(client, ami_id)
    if image is not None:
        _remove(client, ami_id, timing.AT_ONCE, lambda: image.snapshot_ids)
        return
    logger.info("AMI '%s' is gone already", ami_id)
    try:
        left = _left_snapshots(client, ami_id)
    except client.exceptions.ClientError as error:
        if not has_code(error, UNAUTHORIZED):
            raise
        logger.warning("What AMI '%s' may have left can't be asked for: %s", ami_id, described(error))
        return
    _delete_snapshots(client, ami_id, left)


def discard_copy(client: "EC2Client", ami_id: str, own_tags: Mapping[str, str]) -> None:
    """Remove a copy of an AMI that was not finished, with its snapshots.

    While the copy is pending, EC2 does not show its snapshots with the AMI, nor perhaps the
    AMI itself yet.

    Args:
        client: The EC2 client.
        ami_id: The copy.
        own_tags: The tags that only the copy and its snapshots have.

    Raises:
        CloudError: That is not certain. Every snapshot that was found was tried.
        ClientError: The same.
    """
    logger.info("Removing AMI '%s'", ami_id)
    shown = _shown_snapshots(client, ami_id)
    _remove(client, ami_id, timing.VISIBLE, lambda: shown, lambda: _left_by_copy(client, ami_id, own_tags))


def _left_by_copy(client: "EC2Client", ami_id: str, own_tags: Mapping[str, str]) -> list[str]:
    try:
        return _left_snapshots(client, ami_id, own_tags)
    except client.exceptions.ClientError as error:
        if not has_code(error, UNAUTHORIZED):
            raise
        from bosh_aws_cpi.aws.sdk.translation import explained  # noqa: PLC0415 - the table is large

        marks = ", ".join(f"{key}={value}" for key, value in own_tags.items())
        message = f"Snapshots of AMI '{ami_id}' with the tag {marks} may be left: {explained(error)}"
        raise CloudError(message) from error


def _remove(
    client: "EC2Client", ami_id: str, patience: timing.Policy, *lists: Callable[[], Sequence[str]]
) -> None:
    """Deregister the AMI; from then on each step is taken, whatever fails.

    EC2 is asked to delete the snapshots with it; what it does not say it did is done here.

    Args:
        client: The EC2 client.
        ami_id: The AMI.
        patience: How long EC2 may not know the AMI yet.
        lists: Each lists snapshots of the AMI; one that fails does not keep the others from their end.
    """
    settled: set[str] = set()

    def deregister() -> None:
        results = _deregister(client, ami_id).get("DeleteSnapshotResults", [])
        settled.update(each["SnapshotId"] for each in results if each.get("ReturnCode") in _SETTLED)

    what = f"AMI '{ami_id}'"
    timing.remove(what, lambda error: has_code(error, IMAGE_MISSING), deregister, patience)

    def delete(found: Callable[[], Sequence[str]]) -> None:
        unsettled = [each for each in dict.fromkeys(found()) if each not in settled]
        settled.update(unsettled)
        _delete_snapshots(client, ami_id, unsettled)

    in_turn(lambda: _wait_until_gone(client, ami_id), *(partial(delete, each) for each in lists))


def _deregister(client: "EC2Client", ami_id: str) -> Any:  # noqa: ANN401 - the SDK's typed dict
    """DeregisterImage, with its snapshots where EC2 can do that: not every partition has it yet."""
    try:
        return client.deregister_image(ImageId=ami_id, DeleteAssociatedSnapshots=True)
    except client.exceptions.ClientError as error:
        if code_of(error) != "UnknownParameter":
            raise
        return client.deregister_image(ImageId=ami_id)


def _shown_snapshots(client: "EC2Client", ami_id: str) -> Sequence[str]:
    """The snapshots that EC2 shows with an AMI; a question that fails must not keep it from removal."""
    try:
        image = find(client, ami_id)
    except client.exceptions.ClientError as error:
        logger.warning("The snapshots of AMI '%s' can't be asked for: %s", ami_id, described(error))
        return []
    return image.snapshot_ids if image else []


def _left_snapshots(client: "EC2Client", ami_id: str, own_tags: Mapping[str, str] | None = None) -> list[str]:
    """Snapshots of an AMI that is gone: by our tags, and by EC2's description of a copy's.

    In EC2's filters ``*`` and ``?`` stand for other characters, so only what is an AMI's
    id beyond doubt is looked for.
    """
    if not _AMI_ID.fullmatch(ami_id):
        return []
    filters: list[FilterTypeDef] = [
        {"Name": "description", "Values": [f"Copied for DestinationAmi {ami_id} *"]},
        {"Name": f"tag:{AMI_TAG}", "Values": [ami_id]},
        *by_tags(own_tags or {}),
    ]
    paginator = client.get_paginator("describe_snapshots")
    found = [
        snapshot["SnapshotId"]
        for each in filters
        for page in paginator.paginate(OwnerIds=["self"], Filters=[each])
        for snapshot in page["Snapshots"]
    ]
    return list(dict.fromkeys(found))


def _delete_snapshots(client: "EC2Client", ami_id: str, snapshot_ids: Sequence[str]) -> None:
    in_turn(*(partial(_delete_or_tag, client, ami_id, snapshot_id) for snapshot_id in snapshot_ids))


def _delete_or_tag(client: "EC2Client", ami_id: str, snapshot_id: str) -> None:
    """Delete a snapshot; one that stays is tagged, so that a repeated call finds it."""
    try:
        if not snapshots.delete(client, snapshot_id, ami_id):
            logger.warning("Snapshot '%s' of AMI '%s' stays: another AMI uses it", snapshot_id, ami_id)
    except (client.exceptions.ClientError, CloudError) as error:
        logger.warning("Snapshot '%s' of AMI '%s' stays: %s", snapshot_id, ami_id, described(error))
        tags.try_to_create(client, snapshot_id, {AMI_TAG: ami_id})
        raise


def _wait_until_gone(client: "EC2Client", ami_id: str) -> None:
    def probe() -> None:
        entry = describe(client, ami_id)
        if entry is not None and entry["State"] != "deregistered":
            raise timing.NotYet(entry["State"])

    timing.until(timing.IMAGE_GONE, f"AMI '{ami_id}' to be gone", probe)
