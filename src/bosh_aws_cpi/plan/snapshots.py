"""The description and the tags of a disk's snapshot."""

from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.plan import tags as tag_plan

MAX_DESCRIPTION = 255
"""EC2's limit, in characters."""
_RENAMED = frozenset({"director_name", "index", "job"})


def description(metadata: Json, device: str | None) -> str:
    """``deployment/job/index`` and the last part of the device's path, without missing parts.

    Args:
        metadata: The Director's metadata; all keys are optional.
        device: The disk's device name; None when it is not attached.
    """
    parts = [metadata.get(key) for key in ("deployment", "job", "index")]
    named = [str(part) for part in parts if part is not None and part != ""]
    whole = "/".join([*named, device.rpartition("/")[2]] if device else named)
    return whole[:MAX_DESCRIPTION]


def tags(metadata: Json, device: str | None) -> dict[str, str]:
    """The snapshot's tags: the metadata under names that operators know.

    Args:
        metadata: The Director's metadata.
        device: The disk's device name; None when it is not attached.
    """
    instance = [metadata.get(key) for key in ("job", "instance_id")]
    index = metadata.get("index")
    renamed = {
        **{key: value for key, value in metadata.items() if key not in _RENAMED},
        "director": metadata.get("director_name"),
        "instance_index": None if index is None else str(index),
        "instance_name": "/".join(str(part) for part in instance if part) or None,
        "device": device,
        "Name": description(metadata, device) or None,
    }
    return tag_plan.of_request(renamed)
