"""create_stemcell for a light stemcell whose AMI has to be copied: encrypted, or from another region.

A copy belongs to one stemcell, because delete_stemcell deletes it. Two stemcells may have the same source
AMI (a repacked one and its original), and a light stemcell's properties rarely identify it. So a copy is
reused only by a retry of the request that started it, and by a stemcell with the same name and version.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from bosh_aws_cpi.aws import image_deletion, images, tags
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.identity import call_id
from bosh_aws_cpi.cpi.undo import Undo, undoing
from bosh_aws_cpi.encryption import Encryption
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.plan import tags as tag_plan
from bosh_aws_cpi.properties.stemcell import StemcellProperties


@dataclass(frozen=True)
class Source:
    """The AMI to copy, and the encryption of the copy."""

    ami_id: str
    region: str
    encryption: Encryption


def copy(cloud: Cloud, source: Source, properties: StemcellProperties, wanted_tags: Mapping[str, str]) -> str:
    """Copy an AMI into the configured region, or find the stemcell's copy.

    Args:
        cloud: The call's cloud.
        source: The AMI.
        properties: The stemcell's cloud properties.
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
    if (found := _earlier(cloud, marks, call, stemcell)) is not None:
        logger.info("AMI '%s' is already this stemcell's copy of '%s'", found, source.ami_id)
        return _reuse(cloud, found, {**wanted_tags, **stemcell, **own})
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
    return undoing(cloud.undo, lambda undo: _create(cloud, arguments, own, undo))


def _time_limit(cloud: Cloud) -> Json:
    minutes = cloud.config.aws.copy_completion_minutes
    return {"SnapshotCopyCompletionDurationMinutes": minutes} if minutes else {}


def _earlier(cloud: Cloud, marks: Mapping[str, str], call: str, stemcell: Mapping[str, str]) -> str | None:
    """An earlier call's copy, perhaps pending, that certainly belongs to this stemcell; None without one."""
    if not (stemcell or cloud.config.request_id):
        return None
    found = images.marked(cloud.ec2, marks)
    if cloud.config.request_id:
        for each in found:
            if each.is_recent and each.tags.get(tag_plan.CALL_TAG) == call:
                return each.ami_id
    if not stemcell:
        return None
    for each in found:
        if stemcell.items() <= each.tags.items():
            return each.ami_id
    if len(found) == 1 and not {tag_plan.CALL_TAG, tag_plan.STEMCELL_NAME_TAG} & found[0].tags.keys():
        return found[0].ami_id  # created by a version of this program that did not mark copies
    return None


def _reuse(cloud: Cloud, ami_id: str, wanted_tags: Mapping[str, str]) -> str:
    """Wait for an existing copy, and tag it like a new one.

    This call's id, which is one of the tags, keeps the call that created the copy from discarding it: that
    one may still run, and fail. It may also have discarded the copy just before, so this call looks again.

    Raises:
        CloudError: The copy is gone, or EC2 could not create it.
    """
    image = images.wait_until_available(cloud.ec2, ami_id)
    tags.create(cloud.ec2, [ami_id, *image.snapshot_ids], wanted_tags)
    if images.find(cloud.ec2, ami_id) is None:
        message = f"The call that created AMI '{ami_id}' has deleted it: upload the stemcell again"
        raise CloudError(message)
    images.note_snapshots(cloud.ec2, image)  # last: the sweep lists an AMI whose snapshots lack this tag
    return ami_id


def _create(cloud: Cloud, arguments: Json, own: Mapping[str, str], undo: Undo) -> str:
    ami_id = undo.create(
        lambda: images.copy(cloud.ec2, arguments, own),
        lambda created: image_deletion.discard_copy(cloud.ec2, created, own),
    )
    return images.finish(cloud.ec2, ami_id)
