"""The Allowed AMIs setting of an account. An AMI that it hides is to callers one that does not exist."""

from __future__ import annotations

from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.responses.amis import AmisResponse

from testbed.moto_patches.patching import Patches, parameter

PATCHES = Patches()


def state_of(backend: Any) -> str:
    """Tell the state of the setting."""
    state: str = getattr(backend, "testbed_allowed_images", "disabled")
    return state


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
