"""EBS volumes: create, find, copy, modify, delete."""

import uuid
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.errors import (
    MODIFICATION_MISSING,
    NOT_MODIFIABLE,
    TOKEN_SPENT,
    VOLUME_IN_USE,
    VOLUME_MISSING,
    ask_or_warn,
    call_unless,
    describe_error,
    may_have_taken_effect,
    naming_disk,
    try_delete,
)
from bosh_aws_cpi.aws.sdk.filters import by_tags, equals
from bosh_aws_cpi.aws.sdk.idempotency import create_once, has_tags, is_recent, tags_of
from bosh_aws_cpi.errors import CloudError, DiskNotFound, NotSupported
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Volume
from bosh_aws_cpi.tag_names import DISK_METADATA

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ec2.type_defs import VolumeTypeDef

Result = TypeVar("Result")

DELETED_STATES = frozenset({"deleting", "deleted"})
_FAILED_VOLUME_STATES = DELETED_STATES | {"error"}
_READY_STATES = frozenset({"available", "in-use"})
_MODIFIED: Final = frozenset({"optimizing", "completed"})
_MODIFYING: Final = frozenset({"modifying", "optimizing"})


class VolumeNotCreated(CloudError):
    """EBS created no volume for this call, or the client token belongs to another call."""


def create(client: "EC2Client", arguments: Json, mark: tuple[str, str]) -> str:
    """Call CreateVolume.

    Args:
        arguments: All of CreateVolume's arguments; the SDK adds a client token if there is none.
        mark: The key and value of one of the tags, by which to find the volume if the answer is lost.

    Returns:
        The id of the volume, which is not available yet.

    Raises:
        VolumeNotCreated: The client token belongs to another call with other arguments.
    """

    def attempt(**token: str) -> str:
        return create_once(
            "the volume",
            lambda: client.create_volume(**{**arguments, **token})["VolumeId"],
            lambda: find_marked(client, mark),
        )

    try:
        return attempt()
    except client.exceptions.ClientError as error:
        if not TOKEN_SPENT(error):
            raise
        if not may_have_taken_effect(error):
            raise VolumeNotCreated(describe_error(error)) from error
        if earlier := find_marked(client, mark):  # only an answer of AWS proves that there is none
            return earlier
        logger.warning("EBS has deleted what an attempt without an answer created: %s", describe_error(error))
    return attempt(ClientToken=str(uuid.uuid4()))


def find_marked(client: "EC2Client", mark: tuple[str, str]) -> str | None:
    """DescribeVolumes: a recent volume with this tag that is not being deleted; None when EC2 shows none."""
    tags = dict([mark])
    entries = client.describe_volumes(Filters=by_tags(tags))["Volumes"]
    staying = (
        entry for entry in entries if has_tags(entry, tags) and entry.get("State") not in DELETED_STATES
    )
    return next((entry["VolumeId"] for entry in staying if is_recent(entry.get("CreateTime"))), None)


def find(client: "EC2Client", disk_cid: str) -> Volume:
    """DescribeVolumes for one volume.

    Raises:
        DiskNotFound: EC2 does not know the volume.
    """
    return find_all(client, [disk_cid])[0]


def find_all(client: "EC2Client", disk_cids: list[str]) -> list[Volume]:
    """DescribeVolumes, in the given order; if EC2 does not know a volume, asks again.

    Raises:
        DiskNotFound: EC2 does not know a volume; the error names the first such volume.
    """
    wanted = sorted(set(disk_cids))

    def look() -> dict[str, Volume] | None:
        found = _describe(client, VolumeIds=wanted)
        return found if len(found) == len(wanted) else None

    def again() -> dict[str, Volume]:
        return _describe(client, Filters=[equals("volume-id", *wanted)])

    volumes = timing.look_twice(look, again) or {}
    for disk_cid in disk_cids:
        if disk_cid not in volumes:
            raise DiskNotFound(disk_cid)
    return [volumes[disk_cid] for disk_cid in disk_cids]


def find_new(client: "EC2Client", disk_cid: str) -> Volume | None:
    """DescribeVolumes for one volume; None if EC2 does not know it, or not yet."""
    return _describe(client, VolumeIds=[disk_cid]).get(disk_cid)


def _describe(client: "EC2Client", **which: Any) -> dict[str, Volume]:  # noqa: ANN401 - one parameter
    entries = call_unless(VOLUME_MISSING, lambda: client.describe_volumes(**which)["Volumes"])
    return {entry["VolumeId"]: _volume(entry) for entry in entries or ()}


def find_staying(client: "EC2Client", disk_cid: str) -> Volume:
    """DescribeVolumes for one volume that is not being deleted.

    Raises:
        DiskNotFound: EC2 does not know the volume, or is deleting it.
    """
    volume = find(client, disk_cid)
    if volume.state in DELETED_STATES:
        raise DiskNotFound(disk_cid)
    return volume


def repeat_while_shown(client: "EC2Client", disk_cid: str, call: Callable[[], Result]) -> Result:
    """Make a call about a volume, which EC2 may fail for a moment to find.

    Raises:
        DiskNotFound: EC2 does not know the volume, or is deleting it.
    """
    what, look = f"volume '{disk_cid}'", partial(find_staying, client, disk_cid)
    return timing.repeat_while_shown(what, DiskNotFound, look, naming_disk(disk_cid)(call))


def is_used(volume: Volume) -> bool:
    """Whether a volume is attached, or has the tags of set_disk_metadata."""
    return bool(volume.attachments or DISK_METADATA & volume.tags.keys())


def _is_of_another_call(volume: Volume) -> bool:
    """Whether another call with the same client token created a volume, or already uses the volume."""
    return is_used(volume) or not is_recent(volume.created)


def wait_until_available(
    client: "EC2Client", disk_cid: str, seen: set[str] | None = None, *, is_shared: bool = False
) -> None:
    """Wait until a new volume is usable.

    Args:
        seen: A set to which the volume's id is added as soon as EC2 shows the volume.
        is_shared: Whether another call may have the same client token.

    Raises:
        VolumeNotCreated: EBS reports an error (usually for the KMS key), or another call uses the volume.
        CloudError: The wait timed out.
    """
    window = timing.VisibilityWindow()

    def probe() -> None:
        # EBS deletes a volume whose key it can't use
        volume = window.check(find_new(client, disk_cid), _not_created(disk_cid, "gone"))
        if seen is not None:
            seen.add(disk_cid)
        if volume.state in _FAILED_VOLUME_STATES:
            raise _not_created(disk_cid, f"in state {volume.state}")
        if is_shared and _is_of_another_call(volume):
            raise VolumeNotCreated(f"Volume '{disk_cid}' belongs to another call with the same request id")
        if volume.state not in _READY_STATES:
            raise timing.NotYet(volume.state)

    timing.poll(timing.VOLUME_AVAILABLE, f"volume '{disk_cid}' to be available", probe)


def _not_created(disk_cid: str, how: str) -> VolumeNotCreated:
    return VolumeNotCreated(
        f"EBS could not create volume '{disk_cid}': it is {how}. "
        "For an encrypted disk, check that its KMS key exists, is enabled and may be used"
    )


def delete(client: "EC2Client", disk_cid: str, patience: timing.Policy = timing.VOLUME_RELEASED) -> None:
    """Call DeleteVolume; ``patience`` says how long to retry while EBS holds the volume for a deleted VM.

    Raises:
        DiskNotFound: EC2 does not know the volume.
    """

    def call() -> None:
        try:
            client.delete_volume(VolumeId=disk_cid)
        except client.exceptions.ClientError as error:
            if not (VOLUME_MISSING(error) and may_have_taken_effect(error)):
                raise
            logger.info("Volume '%s' was deleted by the call whose answer was lost", disk_cid)

    with naming_disk(disk_cid):
        timing.retry_on_codes(patience, f"volume '{disk_cid}' to be released", VOLUME_IN_USE, call)


def delete_idle(client: "EC2Client", disk_cid: str) -> bool:
    """Call DeleteVolume once, without a wait; False when the volume is in use.

    It is no error if the volume is already gone.
    """
    return try_delete(VOLUME_IN_USE, VOLUME_MISSING, lambda: client.delete_volume(VolumeId=disk_cid))


def wait_until_deleted(client: "EC2Client", disk_cid: str) -> None:
    """Wait until a volume is gone.

    Raises:
        CloudError: The wait timed out: the deletion is not certain.
    """

    def probe() -> None:
        volume = find_new(client, disk_cid)  # EBS has accepted the deletion
        if volume is not None and volume.state != "deleted":
            raise timing.NotYet(volume.state)

    timing.poll(timing.VOLUME_DELETED, f"volume '{disk_cid}' to be deleted", probe)


def discard(
    client: "EC2Client",
    disk_cid: str,
    patience: timing.Policy = timing.VOLUME_RELEASED,
    *,
    was_seen: bool = False,
) -> None:
    """Discard a volume that was just created; ``patience`` says how long to retry while it is in use.

    Args:
        was_seen: Whether EC2 has shown the volume; if so, a volume that EC2 does not know is gone.

    Raises:
        CloudError: The deletion is not certain.
    """
    logger.info("Deleting volume '%s'", disk_cid)
    timing.discard(
        f"volume '{disk_cid}'",
        lambda error: isinstance(error, DiskNotFound),
        lambda: delete(client, disk_cid, patience),
        timing.AT_ONCE if was_seen else timing.VISIBLE,
    )
    wait_until_deleted(client, disk_cid)


def discard_shared(client: "EC2Client", disk_cid: str, *, was_seen: bool = False) -> None:
    """Discard a volume that was just created, unless it belongs to another call with the same client token.

    ``was_seen`` is as in `discard`.

    Raises:
        CloudError: The deletion is not certain.
    """
    volume = ask_or_warn(f"volume '{disk_cid}'", lambda: find(client, disk_cid))
    try:
        if volume is None or not _is_of_another_call(volume):
            # No retry while the volume is in use: another call would be the user.
            discard(client, disk_cid, timing.AT_ONCE, was_seen=was_seen)
            return
    except client.exceptions.ClientError as error:
        if not VOLUME_IN_USE(error):
            raise
    logger.warning("Volume '%s' is not deleted: another call uses it, or may use it", disk_cid)


def _volume(entry: "VolumeTypeDef") -> Volume:
    return Volume(
        disk_cid=entry["VolumeId"],
        state=entry["State"],
        availability_zone=entry["AvailabilityZone"],
        attachments={
            attachment["InstanceId"]: (attachment["State"], attachment.get("Device", ""))
            for attachment in entry.get("Attachments", [])
            if attachment.get("State") != "detached" and "InstanceId" in attachment
        },
        size_gib=entry["Size"],
        type=entry["VolumeType"],
        encrypted=entry["Encrypted"],
        iops=entry.get("Iops"),
        throughput=entry.get("Throughput"),
        kms_key_arn=entry.get("KmsKeyId"),
        tags=tags_of(entry),
        created=entry.get("CreateTime"),
    )


def copy(client: "EC2Client", source_cid: str, arguments: Json, mark: tuple[str, str]) -> str:
    """Call CopyVolumes, which copies a volume within its zone.

    Args:
        source_cid: The volume to copy.
        arguments: CopyVolumes' other arguments, with a client token.
        mark: The key and value of one of the tags, by which to find the copy if the answer is lost.

    Returns:
        The id of the copy, which is not available yet.

    Raises:
        DiskNotFound: EC2 does not know the volume.
    """
    create = partial(
        create_once,
        "the copy",
        lambda: client.copy_volumes(SourceVolumeId=source_cid, **arguments)["Volumes"][0]["VolumeId"],
        lambda: find_marked(client, mark),
    )
    return repeat_while_shown(client, source_cid, create)


def modify(client: "EC2Client", disk_cid: str, changes: Json) -> None:
    """Call ModifyVolume, and wait until the changed volume can be used.

    If the same change is already in progress, because an earlier call's answer was lost, wait for its end.

    Args:
        changes: ModifyVolume's Size (GiB), VolumeType, Iops and Throughput, as far as they change.

    Raises:
        NotSupported: EBS can't change this volume now; the message says why.
        CloudError: The change failed, or the wait timed out.
    """
    latest = _latest(client, disk_cid)
    state = latest.get("ModificationState")
    if _is_same_change_in_progress(latest, changes):
        logger.info("The same change of volume '%s' is already under way: waiting for it", disk_cid)
        began = latest.get("StartTime")
    elif state in _MODIFYING:
        raise NotSupported(f"Volume '{disk_cid}' can't be changed now: an earlier change is still {state}")
    else:
        began = _start(client, disk_cid, changes)
    _wait_until_usable(client, disk_cid, began)


def _start(client: "EC2Client", disk_cid: str, changes: Json) -> Any:  # noqa: ANN401 - EC2's time, if any
    """Call ModifyVolume, and return the time when the change began."""
    modify = partial(client.modify_volume, VolumeId=disk_cid, **changes)
    try:
        answer = repeat_while_shown(client, disk_cid, modify)
    except client.exceptions.ClientError as error:
        if not NOT_MODIFIABLE(error):
            raise
        latest = ask_or_warn(f"the changes of '{disk_cid}'", lambda: _latest(client, disk_cid)) or {}
        if _is_same_change_in_progress(latest, changes):  # started by a lost first attempt
            return latest.get("StartTime")
        raise NotSupported(f"Volume '{disk_cid}' can't be changed now: {describe_error(error)}") from error
    return answer.get("VolumeModification", {}).get("StartTime")


def _wait_until_usable(client: "EC2Client", disk_cid: str, began: Any) -> None:  # noqa: ANN401
    def probe() -> None:
        latest = _latest(client, disk_cid)
        if began is not None and latest.get("StartTime", began) < began:
            raise timing.NotYet("EC2 still shows an earlier change")
        state = latest.get("ModificationState")
        if state == "failed":
            reason = latest.get("StatusMessage") or "no reason given"
            raise CloudError(f"EBS could not change volume '{disk_cid}': {reason}")
        if state not in _MODIFIED:
            raise timing.NotYet(f"{state} {latest.get('Progress', 0)}%")

    timing.poll(timing.VOLUME_MODIFIED, f"volume '{disk_cid}' to be changed", probe)


def _latest(client: "EC2Client", disk_cid: str) -> Any:  # noqa: ANN401 - the SDK's typed dict, or {}
    """The latest modification of a volume; empty if EC2 shows none."""
    filters = [equals("volume-id", disk_cid)]
    answer = call_unless(MODIFICATION_MISSING, lambda: client.describe_volumes_modifications(Filters=filters))
    shown = answer["VolumesModifications"] if answer else []
    oldest_first = sorted(shown, key=lambda each: str(each.get("StartTime", "")))
    return oldest_first[-1] if oldest_first else {}


def _is_same_change_in_progress(modification: Any, changes: Json) -> bool:  # noqa: ANN401
    """Whether a modification is in progress and has these target values."""
    return modification.get("ModificationState") in _MODIFYING and all(
        modification.get(f"Target{name}") == value for name, value in changes.items()
    )
