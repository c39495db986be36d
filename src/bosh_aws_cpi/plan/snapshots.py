"""The description and the tags of a disk's snapshot; what disks can be restored from one."""

from typing import TYPE_CHECKING

from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.plan import tags as tag_plan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bosh_aws_cpi.encryption import Encryption
    from bosh_aws_cpi.properties.disk import DiskProperties
    from bosh_aws_cpi.properties.types import Problem

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


def problems(
    disk: "DiskProperties", size_gib: int | None, encryption: "Encryption", snapshot: Json | None
) -> "Iterator[Problem]":
    """Why EBS does not make the disk from its snapshot.

    Args:
        disk: Its properties, with `snapshot_id`.
        size_gib: Its size; None when it is not known.
        encryption: What applies: the properties' own, with the defaults.
        snapshot: DescribeSnapshots' entry; None without one.
    """
    from bosh_aws_cpi.properties.types import Problem  # noqa: PLC0415 - snapshot_disk does not need it

    key, why = "snapshot_id", ""
    if snapshot is None:
        why = (
            "does not exist in the region, or this account may not use it: correct the id, or have it shared"
        )
    elif snapshot["State"] != "completed":
        why = f"is {snapshot['State']}: wait until it is completed, or use another one"
    elif snapshot.get("StorageTier") == "archive":
        why = "is archived: restore it first (aws ec2 restore-snapshot-tier)"
    elif size_gib is not None and size_gib < (least := snapshot["VolumeSize"]):
        why = f"has {least} GiB, but the disk {size_gib}: give the disk at least {least * 1024} MiB"
    elif snapshot.get("Encrypted") and "encrypted" in disk.model_fields_set and not encryption.encrypted:
        key, why = "encrypted", "is encrypted, and so is each disk from it: remove cloud_properties.encrypted"
    if why:
        yield Problem(key, f"cloud_properties.snapshot_id: snapshot '{disk.snapshot_id}' {why}")
