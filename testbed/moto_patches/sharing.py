"""Images that accounts share with others, allow, deprecate, or register with IMDSv2."""

import copy
import re
from datetime import timedelta
from typing import Any

from moto.core.responses import ActionResult
from moto.core.utils import utcnow
from moto.ec2.models import ec2_backends
from moto.ec2.models.amis import AmiBackend
from moto.ec2.models.instances import MetadataOptions
from moto.ec2.responses.amis import AmisResponse
from moto.ec2.responses.instances import InstanceResponse

from testbed.moto_patches.patching import Original, Patches, parameter, refuse

PATCHES = Patches()

ORGANIZATION = r"arn:aws[a-z-]*:organizations::\d{12}:"
ARNS = {
    "OrganizationArn": re.compile(rf"{ORGANIZATION}organization/o-[a-z0-9]{{10,32}}"),
    "OrganizationalUnitArn": re.compile(
        rf"{ORGANIZATION}ou/o-[a-z0-9]{{10,32}}/ou-[0-9a-z]{{4,32}}-[0-9a-z]{{8,32}}"
    ),
}
"""The patterns of the API model of AWS Organizations."""
MOST_YEARS = 10


def state_of(backend: Any) -> str:
    """Tell the state of the setting."""
    state: str = getattr(backend, "testbed_allowed_images", "disabled")
    return state


@PATCHES.around(AmiBackend, "describe_images")
def described_images(
    original: Original, backend: Any, ami_ids: list[str] | None = None, **keywords: Any
) -> Any:
    """EC2 answers as if a hidden AMI did not exist; an account's own are never hidden.

    EC2 user guide, "Control the discovery and use of AMIs in Amazon EC2 with Allowed AMIs". That the code is
    InvalidAMIID.NotFound is a guess.
    """

    def is_hidden(image: Any) -> bool:
        return state_of(backend) == "enabled" and image.owner_id != backend.account_id

    for ami_id in ami_ids or []:
        if ami_id in backend.amis and is_hidden(backend.amis[ami_id]):
            refuse("InvalidAMIID.NotFound", f"The image id '[{ami_id}]' does not exist")
    found = original(backend, ami_ids=ami_ids, **keywords)
    return [image for image in found if not is_hidden(image)]


@PATCHES.adding(AmisResponse, "get_allowed_images_settings")
def setting(response: Any) -> Any:
    """EC2 tells the state and who manages it (API model: GetAllowedImagesSettingsResult); moto lacks it."""
    return ActionResult({"State": state_of(response.ec2_backend), "ManagedBy": "account"})


@PATCHES.adding(AmisResponse, "enable_allowed_images_settings")
def enabled(response: Any) -> Any:
    """EC2 keeps the state (API model: EnableAllowedImagesSettings); moto lacks it."""
    state = parameter(response, "AllowedImagesSettingsState")
    response.ec2_backend.testbed_allowed_images = state
    return ActionResult({"AllowedImagesSettingsState": state})


class Visible:
    """An account's backend, with the images that it may use of other accounts."""

    def __init__(self, backend: Any) -> None:
        """Look at all accounts; an organization's members are not simulated."""
        self._backend = backend
        self.amis = dict(backend.amis)
        permission = {"UserId": backend.account_id}
        for account_id, regions in list(ec2_backends.items()):
            if account_id != backend.account_id and backend.region_name in regions:
                for image in regions[backend.region_name].amis.values():
                    if permission in image.launch_permissions:
                        self.amis[image.id] = copy.copy(image)
                        self.amis[image.id].ec2_backend = backend

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)


@PATCHES.around(AmiBackend, "describe_images")
def shared_images(original: Original, backend: Any, *positional: Any, **keywords: Any) -> Any:
    """EC2 shows an account the images that others share with it, without their tags; moto never did.

    EC2 user guide, "Share an AMI with specific AWS accounts", considerations.
    """
    return original(Visible(backend), *positional, **keywords)


def has_default_key(image: Any) -> bool:
    """Tell whether the account's default key encrypts a snapshot of an image."""
    backend = image.ec2_backend
    ids = [device.get("Ebs", {}).get("SnapshotId") for device in image.block_device_mappings]
    found = [backend.snapshots[each] for each in ids if each in backend.snapshots]
    default = backend._create_default_encryption_key()  # noqa: SLF001 - moto has no other way
    return any(each.encrypted and each.kms_key_id in {None, default} for each in found)


@PATCHES.around(AmisResponse, "modify_image_attribute")
def checked_permissions(original: Original, response: Any) -> Any:
    """EC2 refuses to share what the default key encrypts, and malformed ARNs; moto accepted both.

    The messages are those of hashicorp/packer issue 7410 and hashicorp/packer-plugin-amazon issue 156.
    AuthFailure for another account's image is a guess (user guide: "your AWS account must own the AMI").
    """
    backend = response.ec2_backend
    (image,) = backend.describe_images(ami_ids=[parameter(response, "ImageId")])
    if image.owner_id != backend.account_id:
        refuse("AuthFailure", f"Not authorized for image:{image.id}")
    added = parameter(response, "LaunchPermission", {}).get("Add", [])
    for kind, value in (each for permission in added for each in permission.items()):
        if kind in ARNS and not ARNS[kind].fullmatch(value):
            message = f'Invalid attribute item value "{value}" for {kind} item type.'
            refuse("InvalidAMIAttributeItemValue", message)
    if added and has_default_key(image):
        refuse(
            "InvalidParameter",
            "Snapshots encrypted with the AWS Managed CMK can\u2019t be shared. Specify another snapshot",
        )
    return original(response)


@PATCHES.adding(AmisResponse, "enable_image_deprecation")
def deprecated(response: Any) -> Any:
    """EC2 keeps the time, to the minute, within ten years (API model: EnableImageDeprecation); moto lacks it.

    The code of the refusal is a guess.
    """
    (image,) = response.ec2_backend.describe_images(ami_ids=[parameter(response, "ImageId")])
    at = parameter(response, "DeprecateAt").replace(tzinfo=None)
    now = utcnow().replace(tzinfo=None)
    if not now < at <= now + timedelta(days=366 * MOST_YEARS):
        refuse("InvalidParameterValue", "The deprecation date must be in the future and within 10 years.")
    rounded = (at + timedelta(seconds=30)).replace(second=0, microsecond=0)
    image.deprecation_time = rounded.strftime("%Y-%m-%dT%H:%M:%S.000Z")
    return ActionResult({"Return": True})


@PATCHES.around(InstanceResponse, "run_instances")
def tokens_of_image(original: Original, response: Any) -> Any:
    """Instances of an image with ImdsSupport need IMDSv2, unless the launch says otherwise; moto ignored it.

    API model, RegisterImageRequest, ImdsSupport: HttpTokens is required, and HttpPutResponseHopLimit is 2.
    The same, InstanceMetadataOptionsRequest, HttpTokens: so it is unless the launch or the account, which has
    no preference here, says otherwise.
    """
    result = original(response)
    given = parameter(response, "MetadataOptions", {})
    for instance in result.result.instances:
        (image,) = response.ec2_backend.describe_images(ami_ids=[instance.image_id])
        if getattr(image, "imds_support", None):
            needed = {"HttpTokens": "required", "HttpPutResponseHopLimit": 2}
            instance.metadata_options = MetadataOptions({**needed, **given})
    return result
