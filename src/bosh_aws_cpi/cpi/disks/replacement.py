"""update_disk by a copy: the copy of a volume becomes the disk when EBS can't change the volume in place.

No call ever deletes the old volume, because the answer may be lost: then the Director still knows that one.
`cpi sweep` lists both volumes for a person. A copy belongs to the request that started it, by its client
token: another request makes another copy, because an earlier one may lack data that was written since.
"""

from contextlib import suppress

from botocore.exceptions import ClientError

from bosh_aws_cpi import interrupts
from bosh_aws_cpi.aws import tags, volumes
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.error_codes import TAG_REFUSED, UNAUTHORIZED
from bosh_aws_cpi.aws.sdk.errors import FAILURES, described, has_code, is_transient
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.common_tags import with_common
from bosh_aws_cpi.cpi.encryption_keys import with_keys
from bosh_aws_cpi.cpi.undo import Undo, undoing
from bosh_aws_cpi.errors import NotSupported
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.model import Volume
from bosh_aws_cpi.plan import tags as tag_plan
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
    """The id of the call, which is the client token."""
    key_text: str
    """The KMS key that encrypts the copy, as `Encryption.key_text` shows it."""

    def refusal(self, reason: str) -> NotSupported:
        """The error if a copy is not possible either: the Director then copies the data."""
        return NotSupported(
            f"{self.why}. A copy can't replace it either: {with_keys(reason, [self.key_text])}"
        )


def replace(cloud: Cloud, wish: Wish) -> str:
    """Copy the volume, and return the copy's id when it is available and has the volume's tags.

    Raises:
        NotSupported: The volume is attached, or AWS does not permit or can't make the copy.
        CloudError: Another call to AWS failed.
    """
    if wish.volume.attachments:
        raise wish.refusal("it is attached")
    return undoing(cloud.undo, lambda undo: _replace(cloud, wish, undo))


def _replace(cloud: Cloud, wish: Wish, undo: Undo) -> str:
    old = wish.volume.disk_cid
    try:
        copy_cid = _copy(cloud, wish, undo)
        volumes.wait_until_available(cloud.ec2, copy_cid, is_shared=True)
    except volumes.NotCreated as error:
        raise wish.refusal(error.message) from error
    _link(cloud, wish, copy_cid, undo)
    if volumes.find(cloud.ec2, old).attachments:  # the copy may lack data that is written on it
        raise wish.refusal("it was attached in the meantime")
    return copy_cid


def _copy(cloud: Cloud, wish: Wish, undo: Undo) -> str:
    """CopyVolumes, as soon as EBS accepts one more copy in the Region."""
    old = wish.volume.disk_cid
    copied = tag_plan.of_volume_copy(wish.volume, cloud.config.director_uuid, wish.call)
    specifications = tag_plan.specifications(with_common(cloud, copied), "volume")
    arguments = {**wish.arguments, **specifications, "ClientToken": wish.call}
    mark = (tag_plan.CALL_TAG, wish.call)

    def create() -> str:
        return undo.create(
            lambda: volumes.copy(cloud.ec2, old, arguments, mark),
            lambda created: volumes.discard_shared(cloud.ec2, created),
        )

    try:
        what = f"EBS to accept a copy of volume '{old}'"
        return timing.patiently(timing.COPY_ACCEPTED, what, volumes.TOO_MANY, create)
    except ClientError as error:
        if is_transient(error) and not has_code(error, volumes.TOO_MANY):
            raise
        raise wish.refusal(
            described(error) + _quota(error) + _permission(error, "CopyVolumes, and ec2:CreateTags for it")
        ) from error


def _link(cloud: Cloud, wish: Wish, copy_cid: str, undo: Undo) -> None:
    """Tag the old volume with its copy's id, and with the Director's UUID, so that `cpi sweep` lists it."""
    old = wish.volume.disk_cid
    link = {**tag_plan.of_origin(cloud.config.director_uuid), tag_plan.REPLACED_BY_TAG: copy_cid}

    def unlink() -> None:
        with suppress(*FAILURES):  # when in doubt, the link is emptied
            if volumes.find(cloud.ec2, old).tags.get(tag_plan.REPLACED_BY_TAG) != copy_cid:
                return
        tags.require(cloud.ec2, old, {tag_plan.REPLACED_BY_TAG: ""})

    interrupts.check()
    undo.arm(f"tag {tag_plan.REPLACED_BY_TAG} of volume '{old}'", unlink)
    try:
        tags.require(cloud.ec2, old, link)
    except ClientError as error:
        if not has_code(error, TAG_REFUSED | UNAUTHORIZED):
            raise
        raise wish.refusal(described(error) + _permission(error, "CreateTags")) from error


def _quota(error: ClientError) -> str:
    if not has_code(error, volumes.TOO_MANY):
        return ""
    waited = f"{timing.COPY_ACCEPTED.seconds:.0f} seconds"
    return f", for {waited}. To copy more volumes at once, ask AWS to raise the quota"


def _permission(error: ClientError, action: str) -> str:
    if not has_code(error, UNAUTHORIZED):
        return ""
    return f". Allow ec2:{action}; until then the Director copies the data"
