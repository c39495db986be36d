"""create_stemcell for a light stemcell whose AMI has to be copied: encrypted, or from another region.

A copy belongs to one stemcell, because delete_stemcell deletes it. Two stemcells may have the same source
AMI (a repacked one and its original), and a light stemcell's properties rarely identify it. So a copy is
reused only by a retry of the request that started it, and by a stemcell with the same name and version.
"""

from collections.abc import Mapping

from bosh_aws_cpi import interrupts
from bosh_aws_cpi.aws import images, snapshots, tags
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.idempotency import is_recent
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.identity import call_id
from bosh_aws_cpi.cpi.stemcells import settings
from bosh_aws_cpi.cpi.undo import Undo, undoing
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Encryption, Image
from bosh_aws_cpi.plan import tags as tag_plan
from bosh_aws_cpi.properties.stemcell import StemcellProperties
from bosh_aws_cpi.records import Record


class Source(Record):
    """The AMI to copy, and the encryption of the copy."""

    ami_id: str
    region: str
    encryption: Encryption


def copy(cloud: Cloud, source: Source, properties: StemcellProperties, wanted_tags: Mapping[str, str]) -> str:
    """Copy an AMI into the configured region, or find the stemcell's copy.

    Args:
        wanted_tags: For the copy and its snapshots.

    Returns:
        The copy's id.

    Raises:
        CloudError: EC2 could not create it; nothing is left behind.
    """
    marks = tag_plan.of_copy(cloud.config.director_uuid, source.ami_id, source.encryption)
    call = call_id(cloud, "create_stemcell", properties.model_dump(mode="json"), dict(wanted_tags))
    stemcell = tag_plan.stemcell_name(properties.name, properties.version)
    own = {tag_plan.CALL_TAG: call}
    patience, notice = _patience(cloud)
    interrupts.end_without_caller()  # the wait for an earlier copy may take hours
    for found, marked in _earlier(cloud, marks, call, stemcell).items():
        try:
            image = images.wait_until_available(cloud.ec2, found, patience, notice)
        except images.NotCreated as error:
            if marked.tags.get(tag_plan.CALL_TAG) == call:
                raise
            logger.warning("AMI '%s' is not used: %s", found, error.message)
            continue
        if _is_copy(cloud, image, source):
            logger.info("AMI '%s' is already this stemcell's copy of '%s'", found, source.ami_id)
            return settings.applied(
                cloud, properties, _reuse(cloud, image, {**wanted_tags, **stemcell, **own})
            )
        logger.warning(
            "AMI '%s' is not used: it has the tags of this stemcell's copy of '%s', but EC2 shows another "
            "source or encryption",
            found,
            source.ami_id,
        )
    all_tags = {**cloud.config.aws.tags, **wanted_tags, **marks, **stemcell, **own}
    tag_plan.check_for_ec2({**all_tags, images.AMI_TAG: ""})  # including the tag that is added later
    arguments = {
        "Name": f"Copied from SourceAMI {source.ami_id}",
        "SourceImageId": source.ami_id,
        "SourceRegion": source.region,
        **source.encryption.arguments(),
        **_time_limit(cloud),
        **tag_plan.specifications(all_tags, "image", "snapshot"),
    }

    def create(undo: Undo) -> str:
        ami_id = undo.create(
            lambda: images.copy(cloud.ec2, arguments, own),
            lambda created: images.discard_copy(cloud.ec2, created, own),
        )
        return settings.applied(cloud, properties, images.finish(cloud.ec2, ami_id, patience, notice))

    return undoing(cloud.undo, create)


def _time_limit(cloud: Cloud) -> Json:
    minutes = cloud.config.aws.stemcell.copy_completion_minutes
    return {"SnapshotCopyCompletionDurationMinutes": minutes} if minutes else {}


def _patience(cloud: Cloud) -> tuple[timing.Policy, str]:
    """How long to wait for a copy, and what to log; with a time limit, others of the AMI come first."""
    minutes = cloud.config.aws.stemcell.copy_completion_minutes
    if not minutes:
        return timing.IMAGE_AVAILABLE, ""
    notice = (
        f"Waiting for the copy for up to {timing.IMAGE_COPIED.seconds // 60:.0f} minutes: its {minutes} "
        "minutes begin when earlier time-based copies of the same AMI have ended"
    )
    return timing.IMAGE_COPIED, notice


def _earlier(
    cloud: Cloud, marks: Mapping[str, str], call: str, stemcell: Mapping[str, str]
) -> Mapping[str, Image]:
    """Earlier calls' copies, perhaps pending, that are this stemcell's by their tags; the best one first."""
    if not (stemcell or cloud.config.request_id):
        return {}
    found = images.marked(cloud.ec2, marks)
    of_call = [each for each in found if is_recent(each.created) and each.tags.get(tag_plan.CALL_TAG) == call]
    of_name = [each for each in found if stemcell and stemcell.items() <= each.tags.items()]
    return {each.ami_id: each for each in (*of_call, *of_name)}


def _is_copy(cloud: Cloud, image: Image, source: Source) -> bool:
    """Whether EC2 shows that an AMI was copied from the source, with the encryption that is wanted.

    Not compared: a key that is given by an alias, and the account's default key.
    """
    wanted = source.encryption
    if image.copied_from != (source.ami_id, source.region) or (wanted.encrypted and image.has_plain_disks):
        return False
    if not (wanted.encrypted and wanted.kms_key_arn) or "alias/" in wanted.kms_key_arn:
        return True
    key_id = wanted.kms_key_arn.rpartition("/")[2]
    keys = snapshots.keys(cloud.ec2, image.snapshot_ids)
    return {key.rpartition("/")[2] for key in keys} == {key_id}


def _reuse(cloud: Cloud, image: Image, wanted_tags: Mapping[str, str]) -> str:
    """Tag an existing copy like a new one.

    This call's id, which is one of the tags, keeps the call that created the copy from discarding it: that
    one may still run, and fail. It may also have discarded the copy just before, so this call looks again.

    Raises:
        CloudError: The copy is gone.
    """
    ami_id = image.ami_id
    tags.create(cloud.ec2, [ami_id, *image.snapshot_ids], wanted_tags)
    if images.find(cloud.ec2, ami_id) is None:
        message = f"The call that created AMI '{ami_id}' has deleted it: upload the stemcell again"
        raise CloudError(message)
    images.note_snapshots(cloud.ec2, image)  # last: the sweep lists an AMI whose snapshots lack this tag
    return ami_id
