"""update_disk by a copy: the copy of a volume becomes the disk when EBS can't change the volume in place.

The old volume is kept until the Director certainly knows the copy: see `predecessor`. So however this call
ends, the disk that the Director knows exists, with its data.
"""

import uuid

from botocore.exceptions import ClientError

from bosh_aws_cpi import interrupts
from bosh_aws_cpi.aws import tags, volumes
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.error_codes import TAG_REFUSED, UNAUTHORIZED
from bosh_aws_cpi.aws.sdk.errors import FAILURES, described, has_code, is_transient, is_volume_missing
from bosh_aws_cpi.aws.sdk.idempotency import is_recent
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.common_tags import with_common
from bosh_aws_cpi.cpi.disks import predecessor
from bosh_aws_cpi.cpi.encryption_keys import with_keys
from bosh_aws_cpi.cpi.undo import Undo, undoing
from bosh_aws_cpi.errors import DiskNotFound, NotSupported
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Volume
from bosh_aws_cpi.plan import replacements
from bosh_aws_cpi.plan import tags as tag_plan
from bosh_aws_cpi.plan.replacements import REPLACED_BY_TAG
from bosh_aws_cpi.records import Record


class Wish(Record):
    """The wanted copy."""

    volume: Volume
    """The volume to copy."""
    arguments: Json
    """CopyVolumes' figures and encryption."""
    why: str
    """Why the volume can't be changed in place, as a sentence."""
    call: str
    """The id of the call."""
    key_text: str
    """The KMS key that encrypts the copy, as `Encryption.key_text` shows it."""

    def refusal(self, reason: str) -> NotSupported:
        """The error if a copy is not possible either: the Director then copies the data."""
        return NotSupported(
            f"{self.why}. A copy can't replace it either: {with_keys(reason, [self.key_text])}"
        )


def replace(cloud: Cloud, wish: Wish) -> str:
    """Copy the volume, and return the copy's id when it is available and has the volume's tags.

    An earlier copy of the volume may lack data that was written since, so it is discarded, with two
    exceptions. If it is attached, and the volume names it, its id is the result. If this request created it,
    in a killed or a concurrent attempt, it is used.

    Raises:
        NotSupported: The volume is attached, or AWS does not permit or can't make the copy.
        CloudError: Another call to AWS failed.
    """
    volume = wish.volume
    if volume.attachments:
        raise wish.refusal("it is attached")
    predecessor.settle(cloud, volume)
    earlier = predecessor.copies(cloud, volume.disk_cid)
    if used := next((copy for copy in earlier if replacements.is_the_disk(copy, volume)), None):
        return _in_use(volume, used)
    unknown = [copy for copy in earlier if replacements.is_unknown_copy(copy, volume)]
    return undoing(cloud.undo, lambda undo: _replace(cloud, wish, unknown, undo))


def _replace(cloud: Cloud, wish: Wish, unknown: list[Volume], undo: Undo) -> str:
    """Discard the copies that the Director does not know, except that of this request, and copy the volume.

    Another call may answer with such a copy, and the Director may attach it, at any time until it is deleted.
    So a call whose caller is gone discards nothing, and a deletion that EC2 refuses is not retried.
    """
    own = next((copy.disk_cid for copy in unknown if _is_of_this_request(cloud, copy, wish)), None)
    for copy in unknown:
        if copy.disk_cid == own:
            continue
        interrupts.check()
        logger.info("Deleting volume '%s', an earlier copy", copy.disk_cid)
        if not volumes.delete_idle(cloud.ec2, copy.disk_cid):
            return _in_use(wish.volume, copy)
        _arm_unlinking(cloud, wish.volume.disk_cid, copy.disk_cid, undo)
        volumes.wait_until_deleted(cloud.ec2, copy.disk_cid)
    return _copy(cloud, wish, own, undo)


def _in_use(volume: Volume, copy: Volume) -> str:
    logger.warning(
        "Volume '%s' already replaces '%s': it is a copy, and attached", copy.disk_cid, volume.disk_cid
    )
    return copy.disk_cid


def _is_of_this_request(cloud: Cloud, copy: Volume, wish: Wish) -> bool:
    """Whether this request created a copy, and nobody attached the volume since.

    If nobody did, the copy has the volume's tags: attach_disk would empty the link to the copy, and the
    Director would change attached_at.
    """
    wanted = replacements.of_volume_copy(wish.volume, cloud.config.director_uuid, wish.call)
    is_taken_back = wish.volume.tags.get(REPLACED_BY_TAG) == ""
    creator = copy.tags.get(tag_plan.CALL_TAG, "").partition(" ")[0]
    return (
        wanted.items() <= {**copy.tags, tag_plan.CALL_TAG: creator}.items()
        and is_recent(copy.created)
        and not is_taken_back
    )


def successor(cloud: Cloud, disk_cid: str) -> str:
    """Find the copy that has replaced a volume, which is gone.

    A copy that the Director has never used may lack data that was written on the volume later.

    Raises:
        DiskNotFound: No copy that the Director knows has replaced it.
    """
    found = [
        copy for copy in predecessor.copies(cloud, disk_cid) if replacements.is_successor(copy, disk_cid)
    ]
    if not found:
        raise DiskNotFound(disk_cid)
    chosen = max(found, key=lambda copy: bool(copy.attachments))
    logger.warning("Volume '%s' is gone: '%s' has replaced it", disk_cid, chosen.disk_cid)
    return chosen.disk_cid


def _copy(cloud: Cloud, wish: Wish, own: str | None, undo: Undo) -> str:
    """Copy the volume. If the client token belongs to an earlier copy, use a random one.

    Args:
        own: The copy that this request has already created, if any.
    """
    try:
        return _copy_as(cloud, wish, wish.call, undo, own)
    except volumes.NotCreated as error:
        undo.run(error.message)
    try:
        return _copy_as(cloud, wish, str(uuid.uuid4()), undo)
    except volumes.NotCreated as error:
        raise wish.refusal(error.message) from error


def _copy_as(cloud: Cloud, wish: Wish, call: str, undo: Undo, own: str | None = None) -> str:
    """Copy the volume, or take the copy of an equal call, which may still run although its caller is gone.

    A copy's tag bosh_call names its creator and, as a second word, the last call that took it. It keeps the
    other calls from discarding the copy.
    """
    old = wish.volume.disk_cid
    holder = f"{call} {uuid.uuid4()}" if own else call
    copied = replacements.of_volume_copy(wish.volume, cloud.config.director_uuid, call)
    specifications = tag_plan.specifications(with_common(cloud, copied), "volume")
    arguments = {**wish.arguments, **specifications, "ClientToken": call}
    mark = (tag_plan.CALL_TAG, call)

    def take_or_copy() -> str:
        if own is None:
            return volumes.copy(cloud.ec2, old, arguments, mark)
        _take(cloud, own, holder)
        return own

    def is_needed(copy: Volume) -> bool:
        return _is_needed(copy, holder) or _is_linked(cloud, old, copy.disk_cid)

    def create() -> str:
        return undo.create(
            take_or_copy,
            lambda created: volumes.discard_unless(cloud.ec2, created, is_needed, keeps_in_doubt=True),
        )

    try:
        what = f"EBS to accept a copy of volume '{old}'"
        copy_cid = timing.patiently(timing.COPY_ACCEPTED, what, volumes.TOO_MANY, create)
    except ClientError as error:
        if is_transient(error) and not has_code(error, volumes.TOO_MANY):
            raise
        raise wish.refusal(
            described(error) + _quota(error) + _permission(error, "CopyVolumes, and ec2:CreateTags for it")
        ) from error
    volumes.wait_until_available(cloud.ec2, copy_cid, _is_old)
    _link(cloud, wish, copy_cid, undo, holder)
    if _look_again(cloud, old, copy_cid).attachments:  # the copy may lack data that is written on it
        raise wish.refusal("it was attached in the meantime")
    return copy_cid


def _take(cloud: Cloud, copy_cid: str, holder: str) -> None:
    """Tag a copy that an equal call created.

    Raises:
        NotCreated: The copy is gone: that call has discarded it.
        ClientError: EC2 refuses the tag. The copy stays, because that call may still use it.
    """
    try:
        tags.require(cloud.ec2, copy_cid, {tag_plan.CALL_TAG: holder})
    except ClientError as error:
        if is_volume_missing(error):
            raise volumes.NotCreated(described(error)) from error
        logger.error("Perhaps left behind: volume '%s', a copy that could not be tagged", copy_cid)
        raise


def _look_again(cloud: Cloud, old: str, copy_cid: str) -> Volume:
    """Look up the old volume, after the copy is linked with it.

    An equal call may have sent DeleteVolume before this call took the copy. If the deletion comes into
    effect after this last look, the call returns a copy that does not exist; the old volume is kept.

    Raises:
        NotCreated: The copy is gone.
        DiskNotFound: The old volume is gone.
    """
    try:
        volume, copy = volumes.find_all(cloud.ec2, [old, copy_cid])
    except DiskNotFound as error:
        if copy_cid not in str(error):
            raise
        raise volumes.NotCreated(str(error)) from error
    if copy.state in volumes.GOING:
        message = f"Volume '{copy_cid}' is {copy.state}: an equal call has discarded it"
        raise volumes.NotCreated(message)
    return volume


def _is_needed(copy: Volume, holder: str) -> bool:
    """Whether a copy must stay: another call created or took it, or the Director has used it.

    Then the old volume may be gone.
    """
    is_anothers = copy.tags.get(tag_plan.CALL_TAG) != holder or _is_old(copy)
    return is_anothers or bool(copy.attachments) or replacements.is_noted(copy)


def _is_linked(cloud: Cloud, old: str, copy_cid: str) -> bool:
    """Whether the old volume names a copy, or is gone; this call's own link is emptied before."""
    try:
        return volumes.find(cloud.ec2, old).tags.get(REPLACED_BY_TAG) == copy_cid
    except DiskNotFound:
        return True


def _is_old(copy: Volume) -> bool:
    """Whether an earlier call with the same client token has created a copy."""
    return not is_recent(copy.created)


def _link(cloud: Cloud, wish: Wish, copy_cid: str, undo: Undo, holder: str) -> None:
    """Tag the old volume with its copy's id, and with the Director's UUID, so that `cpi sweep` lists it."""
    old = wish.volume.disk_cid
    origin = tag_plan.of_origin(cloud.config.director_uuid)
    interrupts.check()  # before the undo step: an equal call may have linked the two
    _arm_unlinking(cloud, old, copy_cid, undo, holder)
    try:
        tags.require(cloud.ec2, old, {**origin, REPLACED_BY_TAG: copy_cid})
    except ClientError as error:
        if not has_code(error, TAG_REFUSED | UNAUTHORIZED):
            raise
        raise wish.refusal(described(error) + _permission(error, "CreateTags")) from error


def _arm_unlinking(cloud: Cloud, old: str, copy_cid: str, undo: Undo, holder: str | None = None) -> None:
    """Arm the step that empties the old volume's link if it still names a copy that is discarded.

    Args:
        old: The old volume.
        holder: The copy's tag bosh_call unless another call has taken it; None for a copy that is deleted.
    """

    def is_to_empty() -> bool:
        try:
            if volumes.find(cloud.ec2, old).tags.get(REPLACED_BY_TAG) != copy_cid:
                return False
        except FAILURES:  # when in doubt, empty it: then no call deletes the old volume
            return True
        try:
            return holder is None or not _is_needed(volumes.find(cloud.ec2, copy_cid), holder)
        except (*FAILURES, DiskNotFound):  # the same
            return True

    def unlink() -> None:
        if is_to_empty():
            tags.require(cloud.ec2, old, {REPLACED_BY_TAG: ""})

    undo.arm(f"tag {REPLACED_BY_TAG} of volume '{old}'", unlink)


def _quota(error: ClientError) -> str:
    if not has_code(error, volumes.TOO_MANY):
        return ""
    waited = f"{timing.COPY_ACCEPTED.seconds:.0f} seconds"
    return f", for {waited}. To copy more volumes at once, ask AWS to raise the quota"


def _permission(error: ClientError, action: str) -> str:
    if not has_code(error, UNAUTHORIZED):
        return ""
    return f". Allow ec2:{action}; until then the Director copies the data"
