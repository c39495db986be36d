"""Tags that EC2 refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moto.ec2.models.tags import TagBackend

from testbed.moto_patches.patching import Patches, refuse

if TYPE_CHECKING:
    from collections.abc import Callable

PATCHES = Patches()

KEY_LIMIT = 127
VALUE_LIMIT = 255
OF_TEMPLATES = "aws:ec2launchtemplate:"
"""AWS itself sets such tags (user guide, "Launch EC2 instances using a launch template"), here by moto."""


@PATCHES.around(TagBackend, "create_tags")
def checked_tags(
    original: Callable[..., Any],
    backend: Any,
    resource_ids: list[str],
    tags: dict[str, str | None],
) -> Any:
    """EC2 refuses long keys, keys that are reserved for AWS, and long values; moto accepted all."""
    for key, value in tags.items():
        if key.startswith("aws:") and not key.startswith(OF_TEMPLATES):
            refuse(
                "InvalidParameterValue",
                "Tag keys starting with 'aws:' are reserved for internal use",
            )
        if len(key) > KEY_LIMIT:
            refuse(
                "InvalidParameterValue",
                f"Tag key exceeds the maximum length of {KEY_LIMIT} characters",
            )
        if len(value or "") > VALUE_LIMIT:
            refuse(
                "InvalidParameterValue",
                f"Tag value exceeds the maximum length of {VALUE_LIMIT} characters",
            )
    return original(backend, resource_ids, tags)
