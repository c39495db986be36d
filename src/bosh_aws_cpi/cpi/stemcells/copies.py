"""create_stemcell for a light stemcell whose AMI has to be copied: encrypted, or from another region.

A copy belongs to one stemcell, because delete_stemcell deletes it. Two stemcells may have the same source
AMI (a repacked one and its original), and a light stemcell's properties rarely identify it. So only
a retry of the request that started it, or a stemcell with the same name and version, reuses a copy.
"""

from collections.abc import Mapping

from bosh_aws_cpi import interrupts
from bosh_aws_cpi.aws import images, snapshots, tags
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.idempotency import is_recent
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.identity import call_id
from bosh_aws_cpi.cpi.stemcells import settings
from bosh_aws_cpi.cpi.undo import Undo, run_with_undo
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Encryption, Image
from bosh_aws_cpi.plan import tag_plan
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
    origin = tag_plan.of_copy(cloud.config.director_uuid, source.ami_id, source.encryption)
    stemcell = tag_plan.stemcell_name(properties.name, properties.version)
    call = call_id(cloud, "create_stemcell", properties.model_dump(mode="json"), dict(wanted_tags))
    own = {tag_plan.CALL_TAG: call}
    patience, notice = _patience(cloud)
    interrupts.end_without_caller()  # the wait for an earlier copy may take hours
    for earlier in _find_earlier(cloud, origin, own, stemcell):
        try:
            image = images.wait_until_available(cloud.ec2, earlier.ami_id, patience.of_earlier(), notice)
        except images.AmiNotCreated as error:
            if own.items() <= earlier.tags.items():
                raise
            logger.warning("AMI '%s' is not used: %s", earlier.ami_id, error.message)
            continue
        if _is_copy(cloud, image, source):
            logger.info("AMI '%s' is already this stemcell's copy of '%s'", image.ami_id, source.ami_id)
            _reuse(cloud, image, {**wanted_tags, **stemcell, **own})
            return settings.apply(cloud, properties, image.ami_id)
        logger.warning(
            "AMI '%s' is not used: it has the tags of this stemcell's copy of '%s', but EC2 shows another "
            "source or encryption",
            image.ami_id,
            source.ami_id,
        )
    all_tags = {**cloud.config.aws.tags, **wanted_tags, **origin, **stemcell, **own}
    tag_plan.check_for_ec2({**all_tags, images.AMI_TAG: ""})  # including the tag that is added later
    minutes = cloud.config.aws.stemcell.copy_completion_minutes
    arguments = {
        "Name": f"Copied from SourceAMI {source.ami_id}",
        "SourceImageId": source.ami_id,
        "SourceRegion": source.region,
        **source.encryption.arguments(),
        **({"SnapshotCopyCompletionDurationMinutes": minutes} if minutes else {}),
        **tag_plan.specifications(all_tags, "image", "snapshot"),
    }

    def create(undo: Undo) -> str:
        ami_id = undo.create(
            lambda: images.copy(cloud.ec2, arguments, own),
            lambda created: images.discard_copy(cloud.ec2, created, own),
        )
        return settings.apply(cloud, properties, images.finish(cloud.ec2, ami_id, patience, notice))

    return run_with_undo(cloud.undo, create)


def _patience(cloud: Cloud) -> tuple[timing.Policy, str]:
    """Return how long to wait for a copy, and the line to log; a time-based copy waits for earlier copies."""
    minutes = cloud.config.aws.stemcell.copy_completion_minutes
    if not minutes:
        return timing.IMAGE_AVAILABLE, ""
    notice = (
        f"Waiting for the copy for up to {timing.IMAGE_COPIED.seconds // 60:.0f} minutes: its {minutes} "
        "minutes begin when earlier time-based copies of the same AMI have ended"
    )
    return timing.IMAGE_COPIED, notice


def _find_earlier(
    cloud: Cloud, origin: Mapping[str, str], own: Mapping[str, str], stemcell: Mapping[str, str]
) -> list[Image]:
    """Copies, perhaps pending, of an earlier attempt at this request, and then those of the same stemcell."""
    if not (stemcell or cloud.config.request_id):
        return []
    amis = images.find_marked(cloud.ec2, origin)
    of_request = [each for each in amis if is_recent(each.created) and own.items() <= each.tags.items()]
    of_stemcell = [each for each in amis if stemcell and stemcell.items() <= each.tags.items()]
    return [*of_request, *(each for each in of_stemcell if each not in of_request)]


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
    return {key.rpartition("/")[2] for key in snapshots.keys(cloud.ec2, image.snapshot_ids)} == {key_id}


def _reuse(cloud: Cloud, image: Image, wanted_tags: Mapping[str, str]) -> None:
    """Tag an existing copy like a new one.

    This call's id, which is one of the tags, keeps the call that created the copy from discarding it if
    it fails later. That call may have discarded the copy just before, so this call looks again.

    Raises:
        CloudError: The copy is gone.
    """
    tags.create(cloud.ec2, [image.ami_id, *image.snapshot_ids], wanted_tags)
    if images.find(cloud.ec2, image.ami_id) is None:
        message = f"The call that created AMI '{image.ami_id}' has deleted it: upload the stemcell again"
        raise CloudError(message)
    images.tag_snapshots(cloud.ec2, image)  # last: the sweep lists an AMI whose snapshots lack this tag
