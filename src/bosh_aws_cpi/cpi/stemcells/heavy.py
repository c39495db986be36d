"""create_stemcell for a heavy stemcell, which contains its image: image → snapshot → AMI."""

import uuid
from collections.abc import Mapping
from functools import partial
from typing import Final

from botocore.exceptions import ConnectionError as NotConnected
from botocore.exceptions import SSLError

from bosh_aws_cpi.aws import ebs_direct, images, kms_keys, snapshots
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.errors import FAILURES, UNAUTHORIZED, describe_error, run_all
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.current_vm import current_vm_id
from bosh_aws_cpi.cpi.identity import call_id
from bosh_aws_cpi.cpi.stemcells import image_file, settings, snapshot_upload, volume_upload
from bosh_aws_cpi.cpi.stemcells.image_file import ImageSource
from bosh_aws_cpi.cpi.undo import Undo, run_with_undo
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Encryption, gib
from bosh_aws_cpi.plan import register_image, tag_plan
from bosh_aws_cpi.properties.stemcell import HeavyStemcellProperties

_DIRECT: Final = frozenset({"StartSnapshot", "PutSnapshotBlock", "CompleteSnapshot"})


def create(
    cloud: Cloud, image_path: str, properties: HeavyStemcellProperties, wanted_tags: Mapping[str, str]
) -> str:
    """Create an AMI from a stemcell's image.

    Args:
        image_path: A gzipped tar that contains root.img.
        wanted_tags: For the snapshot and the AMI.

    Returns:
        The AMI's id.

    Raises:
        CloudError: The image is bad, and nothing was created; or AWS could not create the AMI, and
            nothing is left behind.
    """
    call = call_id(cloud, "create_stemcell", properties.model_dump(mode="json"), dict(wanted_tags))
    origin = tag_plan.of_origin(cloud.config.director_uuid)
    tags_of_all = {**cloud.config.aws.tags, **wanted_tags, **origin, tag_plan.STEMCELL_TAG: call}
    # Including the tags that are added later.
    tag_plan.check_for_ec2({**tags_of_all, "Name": "", images.AMI_TAG: ""})
    encryption = _encryption(cloud, properties)
    full_blocks = image_file.check_image(image_path, ebs_direct.BLOCK_SIZE, properties.disk)
    kernel_id = _kernel(cloud, properties)
    source = ImageSource(
        path=image_path,
        full_blocks=full_blocks,
        size_gib=gib(properties.disk),
        description=register_image.description(properties) or "BOSH stemcell",
        tags=tags_of_all,
        call_id=call,
        encryption=encryption,
    )

    def create_new(undo: Undo) -> str:
        snapshot_id = _snapshot(cloud, source, undo)
        arguments = register_image.arguments(
            properties,
            name=f"BOSH-{uuid.uuid4()}",
            snapshot_id=snapshot_id,
            kernel_id=kernel_id,
            tags=tags_of_all,
        )
        ami_id = undo.create(
            lambda: images.register(cloud.ec2, arguments),
            lambda created: images.deregister(cloud.ec2, created),
        )
        return settings.apply(cloud, properties, images.finish(cloud.ec2, ami_id))

    if cloud.config.request_id and (earlier := _find_earlier(cloud, source)):
        return settings.apply(cloud, properties, earlier)
    return run_with_undo(cloud.undo, create_new)


def _find_earlier(cloud: Cloud, source: ImageSource) -> str | None:
    """The AMI of an earlier, killed attempt at this request; without an AMI, its leftovers are discarded.

    The AMI must have the attempt's snapshot; EC2 may not show those of a pending AMI. An AMI that EC2 could
    not create is discarded, because no caller can have its id. There is no undo for a complete one: the
    Director may already have its id.
    """
    mark = (tag_plan.STEMCELL_TAG, source.call_id)
    if (snapshot_id := snapshots.find_marked(cloud.ec2, mark)) is None:
        volume_upload.discard_earlier(cloud, mark)
        return None
    for each in images.find_marked(cloud.ec2, dict([mark])):
        if snapshot_id in (each.snapshot_ids or [snapshot_id]):
            logger.info("AMI '%s' was created by an earlier attempt at this request", each.ami_id)
            try:
                return images.finish(cloud.ec2, each.ami_id, timing.IMAGE_AVAILABLE.of_earlier())
            except images.AmiNotCreated:
                run_all(
                    partial(images.deregister, cloud.ec2, each.ami_id),
                    partial(snapshots.discard, cloud.ec2, snapshot_id),
                )
                raise
    volume_upload.discard_earlier(cloud, mark)
    snapshots.discard(cloud.ec2, snapshot_id)
    return None


def _encryption(cloud: Cloud, properties: HeavyStemcellProperties) -> Encryption:
    """The snapshot's encryption; the EBS direct APIs need the key as an ARN.

    Raises:
        CloudError: They don't accept the key.
    """
    encryption = properties.encryption(cloud.config.aws.encryption)
    aws = cloud.config.aws
    if not (encryption.encrypted and encryption.kms_key_arn) or aws.stemcell_upload == "volume":
        return encryption
    return encryption.replace(kms_key_arn=kms_keys.arn(encryption.kms_key_arn, aws.region, cloud.clients))


def _kernel(cloud: Cloud, properties: HeavyStemcellProperties) -> str | None:
    if not properties.is_paravirtual:
        return None
    if properties.kernel_id:
        return properties.kernel_id
    kernels = images.kernels(cloud.ec2, properties.architecture)
    return register_image.newest_kernel(kernels, properties.root_device_name)


def _snapshot(cloud: Cloud, source: ImageSource, undo: Undo) -> str:
    """Write the image into a snapshot: directly, or through a volume if the account lacks the permission."""
    if cloud.config.aws.stemcell_upload == "volume":
        return volume_upload.upload(cloud, source, current_vm_id(cloud), undo)
    try:
        return snapshot_upload.upload(cloud, source, undo)
    except SSLError:  # a server answered, but its certificate is not trusted
        raise
    except NotConnected as error:
        raise CloudError(
            f"The EBS direct APIs can't be reached: {error}. Correct aws.ebs_endpoint, give the VPC an "
            "endpoint for them, or set aws.stemcell_upload to volume"
        ) from error
    except cloud.ec2.exceptions.ClientError as error:
        if error.operation_name not in _DIRECT or not UNAUTHORIZED(error):
            raise
        return _by_volume_instead(cloud, source, undo, error)


def _by_volume_instead(cloud: Cloud, source: ImageSource, undo: Undo, refused: Exception) -> str:
    """Write the image through a volume, if this process runs on EC2.

    Raises:
        CloudError: This also failed; the message contains both reasons.
    """
    try:
        vm_cid = current_vm_id(cloud)
        logger.warning(
            "No permission for the EBS direct APIs, using a volume instead: %s", describe_error(refused)
        )
        undo.run("a snapshot without blocks")  # StartSnapshot alone may be permitted
        return volume_upload.upload(cloud, source, vm_cid, undo)
    except (CloudError, *FAILURES) as error:
        raise CloudError(
            f"{describe_error(refused)}. A heavy stemcell needs ebs:StartSnapshot, ebs:PutSnapshotBlock and "
            "ebs:CompleteSnapshot: allow them, or use the light stemcell of the same version. "
            f"The upload through a volume also failed: {error}"
        ) from error
