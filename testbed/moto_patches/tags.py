"""Tags that EC2 refuses."""

import re
from collections.abc import Iterable
from typing import Any

from moto.ec2.models.tags import TagBackend
from moto.ec2.responses.instances import InstanceResponse

from testbed.moto_patches.patching import Original, Patches, parameter, refuse, tag_specifications

PATCHES = Patches()

KEY_LIMIT = 127
VALUE_LIMIT = 255
OF_TEMPLATES = "aws:ec2launchtemplate:"
"""AWS itself sets such tags (user guide, "Launch EC2 instances using a launch template"), here by moto."""
PATTERN = r"[0-9a-zA-Z\-_+=,.@:]{1,255}"
RESERVED = (".", "..", "_index")


def check_shown(keys: Iterable[str], state: str | None) -> None:
    """Refuse keys that metadata can't show, if the instance shows its tags there.

    The message is that of seek-oss/aec pull request 411; that CreateTags says the same is a guess (EC2 user
    guide, "View tags for your EC2 instances using instance metadata": "an error for existing instances").
    """
    for key in keys if state == "enabled" else ():
        if key in RESERVED or not re.fullmatch(PATTERN, key):
            names = ", ".join(f"'{name}'" for name in RESERVED)
            refuse(
                "InvalidParameterValue",
                f"'{key}' is not a valid tag key. Tag keys must match pattern ({PATTERN}), and must not be a "
                f"reserved name ({names})",
            )


@PATCHES.around(InstanceResponse, "run_instances")
def shown_tags(original: Original, response: Any) -> Any:
    """EC2 refuses tags that an instance's metadata can't show; moto accepted all."""
    keys = tag_specifications(response).get("instance", {})
    check_shown(keys, parameter(response, "MetadataOptions.InstanceMetadataTags"))
    return original(response)


@PATCHES.around(TagBackend, "create_tags")
def checked_tags(
    original: Original,
    backend: Any,
    resource_ids: list[str],
    tags: dict[str, str | None],
) -> Any:
    """EC2 refuses long or reserved keys, those that metadata can't show, and long values; moto took all."""
    for resource_id in resource_ids:
        if resource_id.startswith("i-") and (instance := backend.get_instance_by_id(resource_id)):
            check_shown(tags, instance.metadata_options.instance_metadata_tags)
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
