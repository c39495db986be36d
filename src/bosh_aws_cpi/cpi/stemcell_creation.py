"""create_stemcell, for light stemcells: an AMI that is there already, or an encrypted copy of it."""

from bosh_aws_cpi.aws import images, tags
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.stemcells import LIGHT_SUFFIX
from bosh_aws_cpi.cpi.undo import Undo, undoing
from bosh_aws_cpi.errors import CloudError, NotSupported
from bosh_aws_cpi.model import Encryption, Json
from bosh_aws_cpi.plan import tags as tag_plan
from bosh_aws_cpi.properties import StemcellProperties

STEMCELL_TAGS_SINCE = 3
"""The contract version from which the Director gives tags in ``env``."""


def create_stemcell(cloud: Cloud, image_path: str, cloud_properties: Json, env: Json | None = None) -> str:  # noqa: ARG001 - heavy stemcells need the path
    """Make a stemcell's AMI usable in the configured region (contract: create_stemcell).

    Args:
        cloud: The call's cloud.
        image_path: Not used for a light stemcell.
        cloud_properties: See `StemcellProperties`; ``aws.stemcell`` is merged over them.
        env: ``tags``, from contract V3 on.

    Returns:
        "AMI light", or the id of the encrypted copy, which is ours.

    Raises:
        CloudError: No AMI of the stemcell is in the region, or EC2 could not copy it.
        NotSupported: It is a heavy stemcell.
    """
    properties = StemcellProperties.parse({**cloud_properties, **cloud.config.aws.stemcell})
    tag_plan.checked(properties.tags)
    wanted_tags = tag_plan.formatted(tag_plan.checked((env or {}).get("tags")))
    if not properties.ami:
        message = (
            "Not supported yet by this CPI: heavy stemcells, whose cloud_properties name no ami. "
            "Use the light stemcell of the same version. Nothing was created"
        )
        raise NotSupported(message)
    region = cloud.config.aws.region
    encryption = properties.encryption(cloud.config.aws.encryption)
    if encryption.encrypted:
        return _encrypted_copy(cloud, properties.ami.get(region), encryption, wanted_tags)
    ami_id = images.find_first(cloud.ec2, list(properties.ami.values()))
    if ami_id is None:
        raise _not_in_region(region)
    tags.create(cloud.ec2, [ami_id], wanted_tags)
    return f"{ami_id}{LIGHT_SUFFIX}"


def _encrypted_copy(
    cloud: Cloud, source: str | None, encryption: Encryption, wanted_tags: dict[str, str]
) -> str:
    region = cloud.config.aws.region
    if source is None or images.find(cloud.ec2, source) is None:
        raise _not_in_region(region)
    ec2 = cloud.ec2
    arguments = {
        "Name": f"Copied from SourceAMI {source}",
        "SourceImageId": source,
        "SourceRegion": region,
        **encryption.arguments(),
        **tag_plan.specifications(wanted_tags, "image", "snapshot"),
    }

    def make(undo: Undo) -> str:
        copy = undo.make(lambda: images.copy(ec2, arguments), lambda made: images.discard_copy(ec2, made))
        images.wait_until_available(ec2, copy)
        return copy

    return undoing(make)


def _not_in_region(region: str) -> CloudError:
    return CloudError(f"Stemcell does not contain an AMI in region {region}")
