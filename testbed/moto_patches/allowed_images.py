"""The Allowed AMIs setting of an account, which hides the AMIs of all other accounts here."""

from __future__ import annotations

from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.models.amis import AmiBackend
from moto.ec2.responses.amis import AmisResponse

from testbed.moto_patches.patching import Original, Patches, parameter, refuse

PATCHES = Patches()


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
