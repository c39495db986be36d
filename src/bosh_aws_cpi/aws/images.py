"""AMIs: find, copy, register; `image_deletion` deletes them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bosh_aws_cpi.aws import tags
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.error_codes import IMAGE_MISSING
from bosh_aws_cpi.aws.sdk.errors import has_code
from bosh_aws_cpi.aws.sdk.filters import by_tags, exactly
from bosh_aws_cpi.aws.sdk.idempotency import (
    WITHOUT_TOKEN,
    create_once,
    has_tags,
    is_recent,
    parsed_time,
    tags_of,
)
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Image
from bosh_aws_cpi.records import Record

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ec2.type_defs import ImageTypeDef

_FAILED = frozenset({"failed", "error", "invalid", "deregistered", "disabled"})
AMI_TAG = "bosh_ami"
"""A snapshot's tag: the id of the AMI that the snapshot belongs or belonged to."""

LIGHT_SUFFIX = " light"
"""Marks the id of a stemcell whose AMI belongs to someone else and must not be deleted."""


class NotCreated(CloudError):
    """EC2 reports that it could not create an AMI."""


def of_stemcell(stemcell_cid: str) -> str:
    """The id of a stemcell's AMI."""
    return stemcell_cid.removesuffix(LIGHT_SUFFIX)


def find(client: "EC2Client", ami_id: str) -> Image | None:
    """DescribeImages for one AMI, even a deprecated or disabled one; None when EC2 does not know it."""
    entry = describe(client, ami_id)
    return None if entry is None else _image(entry)


def find_first(client: "EC2Client", ami_ids: Sequence[str]) -> str | None:
    """The first of these AMIs that exists in the client's region.

    The ids are given as a filter: in ImageIds, a single id of another region would fail the whole call.
    """
    answer = client.describe_images(Filters=[exactly("image-id", *ami_ids)], IncludeDeprecated=True)
    found = {entry["ImageId"] for entry in answer["Images"]}
    return next((ami_id for ami_id in ami_ids if ami_id in found), None)


def copy(client: "EC2Client", arguments: Json, marks: Mapping[str, str]) -> str:
    """CopyImage.

    Args:
        marks: The tags by which the copy is found if the answer is lost.

    Returns:
        The new AMI's id; it is pending.
    """
    return create_once(
        f"a copy of AMI '{arguments['SourceImageId']}'",
        lambda: client.copy_image(**arguments)["ImageId"],
        lambda: find_marked(client, marks),
    )


def register(client: "EC2Client", arguments: Json) -> str:
    """RegisterImage, which takes no client token: the AMI's name identifies it.

    Returns:
        The new AMI's id; it is pending.
    """
    name = arguments["Name"]

    def find_by_name() -> str | None:
        answer = client.describe_images(Owners=["self"], Filters=[exactly("name", name)])
        return next((entry["ImageId"] for entry in answer["Images"] if entry.get("Name") == name), None)

    return create_once(
        f"AMI '{name}'",
        lambda: client.register_image(**arguments)["ImageId"],
        find_by_name,
        WITHOUT_TOKEN,
    )


def kernels(client: "EC2Client", architecture: str) -> list[tuple[str, str]]:
    """DescribeImages: Amazon's kernel images, as (id, image location)."""
    answer = client.describe_images(
        Owners=["amazon"],
        Filters=[exactly("architecture", architecture), exactly("image-type", "kernel")],
    )
    return [(entry["ImageId"], entry.get("ImageLocation", "")) for entry in answer["Images"]]


class Marked(Record):
    """An AMI of this account that was found by its tags."""

    ami_id: str
    tags: Mapping[str, str]
    snapshot_ids: Sequence[str]
    """Those of its block devices; none while a copy is pending."""
    is_recent: bool
    """Whether an earlier, killed attempt at the current request may have created it."""


def marked(client: "EC2Client", marks: Mapping[str, str]) -> list[Marked]:
    """DescribeImages: the account's AMIs with all of these tags, available ones before pending ones."""
    states = exactly("state", "available", "pending")
    answer = client.describe_images(Owners=["self"], Filters=[*by_tags(marks), states])
    found = sorted(answer["Images"], key=lambda entry: (entry["State"], entry.get("CreationDate", "")))
    return [
        Marked(
            entry["ImageId"],
            tags_of(entry),
            _snapshots(entry),
            is_recent(parsed_time(entry.get("CreationDate", ""))),
        )
        for entry in found
        if has_tags(entry, marks)
    ]


def find_marked(client: "EC2Client", marks: Mapping[str, str]) -> str | None:
    """The account's first AMI with all of these tags; None when there is none."""
    return next((each.ami_id for each in marked(client, marks)), None)


def wait_until_available(
    client: "EC2Client", ami_id: str, patience: timing.Policy = timing.IMAGE_AVAILABLE, notice: str = ""
) -> Image:
    """Wait for an AMI to be usable; ``patience`` says how long.

    ``notice`` is logged if the AMI is not available at once.

    Raises:
        NotCreated: EC2 reports that it could not create the AMI, with its reason.
        CloudError: The wait timed out.
    """
    window = timing.VisibilityWindow()

    def probe() -> Image:
        entry = describe(client, ami_id)
        if entry is None and window.is_lost:
            message = f"AMI '{ami_id}' is gone"
            raise NotCreated(message)
        if entry is None:
            raise timing.NotYet("not visible yet")
        window.was_seen = True
        state = entry["State"]
        if state in _FAILED:
            reason = entry.get("StateReason", {}).get("Message", "no reason given")
            message = f"EC2 could not create AMI '{ami_id}', its state is {state}: {reason}"
            raise NotCreated(message)
        if state != "available":
            nonlocal notice
            if notice:
                logger.info("%s", notice)
                notice = ""
            raise timing.NotYet(state)
        return _image(entry)

    return timing.until(patience, f"AMI '{ami_id}' to be available", probe)


def finish(
    client: "EC2Client", ami_id: str, patience: timing.Policy = timing.IMAGE_AVAILABLE, notice: str = ""
) -> str:
    """Wait for an AMI that we created to be available, and tag its snapshots with its id.

    See `wait_until_available` for ``patience`` and ``notice``.

    Returns:
        The AMI's id.

    Raises:
        NotCreated: EC2 reports that it could not create the AMI, with its reason.
        CloudError: The wait timed out.
    """
    note_snapshots(client, wait_until_available(client, ami_id, patience, notice))
    return ami_id


def note_snapshots(client: "EC2Client", image: Image) -> None:
    """Tag an AMI's snapshots with its id, so that delete_stemcell finds them after the AMI is gone.

    An error is only logged.
    """
    for snapshot_id in image.snapshot_ids:
        tags.try_to_create(client, snapshot_id, {AMI_TAG: image.ami_id}, timing.VISIBLE)


def describe(client: "EC2Client", ami_id: str) -> "ImageTypeDef | None":
    """DescribeImages' entry for an AMI, even a deprecated or disabled one; None when EC2 does not know it."""
    try:
        found = client.describe_images(ImageIds=[ami_id], IncludeDeprecated=True, IncludeDisabled=True)[
            "Images"
        ]
    except client.exceptions.ClientError as error:
        if has_code(error, IMAGE_MISSING):
            return None
        raise
    return found[0] if found else None


def _image(entry: "ImageTypeDef") -> Image:
    devices = entry.get("BlockDeviceMappings", [])
    roots = [device for device in devices if device.get("DeviceName") == entry.get("RootDeviceName")]
    return Image(
        ami_id=entry["ImageId"],
        state=entry["State"],
        root_device_name=entry.get("RootDeviceName", ""),
        virtualization_type=entry.get("VirtualizationType", "hvm"),
        architecture=entry.get("Architecture", ""),
        block_device_names=[device["DeviceName"] for device in devices],
        snapshot_ids=_snapshots(entry),
        is_encrypted=any(device.get("Ebs", {}).get("Encrypted", False) for device in roots),
        root_gib=max((device.get("Ebs", {}).get("VolumeSize", 0) for device in roots), default=0),
        tags=tags_of(entry),
        copied_from=_origin(entry),
    )


def _snapshots(entry: "ImageTypeDef") -> list[str]:
    disks = (device.get("Ebs", {}) for device in entry.get("BlockDeviceMappings", []))
    return [disk["SnapshotId"] for disk in disks if disk.get("SnapshotId")]


def _origin(entry: "ImageTypeDef") -> tuple[str, str] | None:
    """The id and the region of the AMI that an AMI was copied from: EC2 shows both for CreateImage, too."""
    if entry.get("SourceInstanceId"):
        return None
    source, region = entry.get("SourceImageId"), entry.get("SourceImageRegion")
    return (source, region) if source and region else None
