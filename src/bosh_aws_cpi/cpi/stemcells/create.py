"""create_stemcell: an existing AMI, a copy of one, or a new one from the stemcell's own image."""

from collections.abc import Iterable, Mapping

from bosh_aws_cpi.aws import images, tags
from bosh_aws_cpi.aws.images import LIGHT_SUFFIX
from bosh_aws_cpi.aws.sdk.errors import UNAUTHORIZED
from bosh_aws_cpi.aws.sdk.translation import explain
from bosh_aws_cpi.config.values import partition
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.encryption_keys import USABLE, check_key, naming_keys
from bosh_aws_cpi.cpi.stemcells import copies, settings
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Encryption
from bosh_aws_cpi.plan import tag_plan
from bosh_aws_cpi.properties.stemcell import (
    REGISTRATION_SETTINGS,
    TAGS_IGNORED,
    HeavyStemcellProperties,
    StemcellProperties,
    path_of,
)

STEMCELL_TAGS_SINCE = 3
"""The first contract version in which the Director passes tags in ``env``."""


def create_stemcell(cloud: Cloud, image_path: str, cloud_properties: Json, env: Json | None = None) -> str:
    """Make a stemcell's AMI usable in the configured region (contract: create_stemcell).

    Args:
        image_path: A heavy stemcell's image: a gzipped tar that contains root.img. Not used for a light one.
        cloud_properties: See `StemcellProperties`; ``aws.stemcell`` overrides them.
        env: ``tags``, since contract V3.

    Returns:
        "AMI light", or the id of our own AMI, which is a copy or was created from the image.

    Raises:
        CloudError: No AMI of the stemcell is in the region, the image is bad, or EC2 could not
            create the AMI.
    """
    properties = StemcellProperties.parse(cloud_properties, cloud.config.aws.stemcell.overrides)
    own_tags = tag_plan.check_hash(properties.tags)
    given_tags = tag_plan.check_hash((env or {}).get("tags"))
    path = path_of("kms_key_arn", cloud.config.aws.stemcell.overrides)
    encryption = properties.encryption(cloud.config.aws.encryption, path)
    check_key(properties, encryption, path)
    is_tagged_by_call = cloud.api_version >= STEMCELL_TAGS_SINCE
    if own_tags and (is_tagged_by_call or not isinstance(properties, HeavyStemcellProperties)):
        logger.warning("%s.tags %s", path_of("tags", cloud.config.aws.stemcell.overrides), TAGS_IGNORED)
    with naming_keys(encryption.key_text):
        if properties.settings:
            settings.check(cloud, properties, encryption)
        if isinstance(properties, HeavyStemcellProperties):
            wanted = given_tags if is_tagged_by_call else own_tags
            from bosh_aws_cpi.cpi.stemcells import heavy  # noqa: PLC0415 - loads requests

            return heavy.create(cloud, image_path, properties, tag_plan.of_request(wanted))
        return _light(cloud, properties, encryption, tag_plan.of_request(given_tags))


def _light(
    cloud: Cloud, properties: StemcellProperties, encryption: Encryption, wanted_tags: Mapping[str, str]
) -> str:
    region = cloud.config.aws.region
    source_region = region
    if region not in properties.ami and cloud.config.aws.stemcell.copy_from_region:
        source_region = nearest_region(properties.ami, region) or region
    is_copied = encryption.encrypted or source_region != region
    if wrong := [name for name in properties.settings if not is_copied or name in REGISTRATION_SETTINGS]:
        path = path_of(wrong[0], cloud.config.aws.stemcell.overrides)
        raise CloudError(
            f"{path}.{wrong[0]} can't be set for this light stemcell, whose AMI exists already. Remove it, "
            "or use the heavy stemcell. A copy of the AMI, for which encrypted is true, can have share_with "
            "and deprecate_at"
        )
    if is_copied:
        source = properties.ami.get(source_region)
        is_there = source_region != region or (source and images.find(cloud.ec2, source) is not None)
        if source is None or not is_there:
            raise _not_in_region(cloud, properties)
        copied = copies.Source(source, source_region, encryption)
        try:
            return copies.copy(cloud, copied, properties, wanted_tags)
        except images.AmiNotCreated as error:  # EC2's reason is often only "an internal error"
            error.message += (
                ". A usual cause is a KMS key that EC2 can't use: check that the key of the copy, and of the "
                f"AMI's snapshots, {USABLE}"
            )
            raise
    ami_id = images.find_first(cloud.ec2, list(properties.ami.values()))
    if ami_id is None:
        raise _not_in_region(cloud, properties)
    try:
        tags.create(cloud.ec2, [ami_id], wanted_tags)
    except cloud.ec2.exceptions.ClientError as error:
        if not UNAUTHORIZED(error):
            raise
        logger.warning("AMI '%s' stays without the stemcell's tags: %s", ami_id, explain(error))
    return f"{ami_id}{LIGHT_SUFFIX}"


def _not_in_region(cloud: Cloud, properties: StemcellProperties) -> CloudError:
    """Return the error for a light stemcell without an AMI in the region, where EC2 may hide the AMI."""
    region = cloud.config.aws.region
    message = f"Stemcell does not contain an AMI in region {region}"
    if region not in properties.ami:
        is_set = cloud.config.aws.stemcell.copy_from_region
        remedy = "" if is_set else ", set aws.stemcell.copy_from_region"
        message += (
            f". It has AMIs in {', '.join(properties.ami)}{', in other partitions' if is_set else ''}: "
            f"use a light stemcell for this region{remedy}, or correct aws.region"
        )
    else:
        message += (
            f". Its AMI '{properties.ami[region]}' does not exist there, or its owner does not share it with "
            "this account: use another version of the stemcell"
        )
        message = ". ".join(filter(None, [message, images.allowed_images_hint(cloud.ec2)]))
    return CloudError(message)


def nearest_region(regions: Iterable[str], region: str) -> str | None:
    """The region to copy from: in the same partition, since AMIs can't be copied to others.

    It is on the same continent if there is one.

    Args:
        regions: The regions to choose from.
        region: The target region.
    """
    candidates = [name for name in regions if partition(name) == partition(region)]
    continent = region.partition("-")[0]
    return min(candidates, key=lambda name: (name.partition("-")[0] != continent, name), default=None)
