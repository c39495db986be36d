"""AMIs and their snapshots: find, copy, register, share, deregister."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from bosh_aws_cpi.aws import snapshots, tags
from bosh_aws_cpi.aws.sdk import errors, timing
from bosh_aws_cpi.aws.sdk.filters import by_tags, equals, starts_with
from bosh_aws_cpi.aws.sdk.idempotency import WITHOUT_TOKEN, create_once, has_tags, parse_time, tags_of
from bosh_aws_cpi.aws.sdk.translation import explain
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import ID_DIGITS, Image

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ec2.type_defs import ImageTypeDef


_FAILED_AMI_STATES = frozenset({"failed", "error", "invalid", "deregistered", "disabled"})
AMI_TAG = "bosh_ami"
"""A snapshot's tag: the id of the AMI that the snapshot belongs or belonged to."""

LIGHT_SUFFIX = " light"
"""The end of the id of a light stemcell: its AMI belongs to someone else and must not be deleted."""
_STATE_KNOWN = frozenset({"success", "skipped"})
"""EC2's return codes for a snapshot that was deleted with its AMI, or kept because another AMI uses it."""


class AmiNotCreated(CloudError):
    """EC2 reports that it could not create an AMI."""


def ami_id_of(stemcell_cid: str) -> str:
    """The id of a stemcell's AMI."""
    return stemcell_cid.removesuffix(LIGHT_SUFFIX)


def find(client: "EC2Client", ami_id: str) -> Image | None:
    """DescribeImages for one AMI, even a deprecated or disabled one; None when EC2 does not know it."""
    entry = describe(client, ami_id)
    return None if entry is None else _image(entry)


def find_first(client: "EC2Client", ami_ids: Sequence[str]) -> str | None:
    """Return the first of these AMIs that exists in the client's region.

    The ids are in a filter, because a single id of another region in ImageIds would fail the whole call.
    """
    answer = client.describe_images(Filters=[equals("image-id", *ami_ids)], IncludeDeprecated=True)
    known_ids = {entry["ImageId"] for entry in answer["Images"]}
    return next((ami_id for ami_id in ami_ids if ami_id in known_ids), None)


def copy(client: "EC2Client", arguments: Json, marks: Mapping[str, str]) -> str:
    """Call CopyImage.

    Args:
        marks: The tags by which to find the copy if the answer is lost.

    Returns:
        The id of the new AMI, which is pending.
    """
    return create_once(
        f"a copy of AMI '{arguments['SourceImageId']}'",
        lambda: client.copy_image(**arguments)["ImageId"],
        lambda: next((image.ami_id for image in find_marked(client, marks)), None),
    )


def register(client: "EC2Client", arguments: Json) -> str:
    """Call RegisterImage, which takes no client token; after a lost answer, find the AMI by its name.

    Returns:
        The id of the new AMI, which is pending.
    """
    name = arguments["Name"]

    def find_by_name() -> str | None:
        answer = client.describe_images(Owners=["self"], Filters=[equals("name", name)])
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
        Filters=[equals("architecture", architecture), equals("image-type", "kernel")],
    )
    return [(entry["ImageId"], entry.get("ImageLocation", "")) for entry in answer["Images"]]


def find_marked(client: "EC2Client", marks: Mapping[str, str]) -> list[Image]:
    """DescribeImages: the account's AMIs with all of these tags, available AMIs before pending AMIs."""
    states = equals("state", "available", "pending")
    answer = client.describe_images(Owners=["self"], Filters=[*by_tags(marks), states])
    by_state = sorted(answer["Images"], key=lambda entry: (entry["State"], entry.get("CreationDate", "")))
    return [_image(entry) for entry in by_state if has_tags(entry, marks)]


def wait_until_available(
    client: "EC2Client", ami_id: str, patience: timing.Policy = timing.IMAGE_AVAILABLE, notice: str = ""
) -> Image:
    """Wait until an AMI is available; ``patience`` says how long.

    ``notice`` is logged if the AMI is not available at once.

    Raises:
        AmiNotCreated: EC2 reports that it could not create the AMI, with its reason.
        CloudError: The wait timed out.
    """
    window = timing.VisibilityWindow()

    def probe() -> Image:
        entry = window.check(describe(client, ami_id), AmiNotCreated(f"AMI '{ami_id}' is gone"))
        state = entry["State"]
        if state in _FAILED_AMI_STATES:
            reason = entry.get("StateReason", {}).get("Message", "no reason given")
            raise AmiNotCreated(f"EC2 could not create AMI '{ami_id}', its state is {state}: {reason}")
        if state != "available":
            nonlocal notice
            if notice:
                logger.info("%s", notice)
                notice = ""
            raise timing.NotYet(state)
        return _image(entry)

    return timing.poll(patience, f"AMI '{ami_id}' to be available", probe)


def finish(
    client: "EC2Client", ami_id: str, patience: timing.Policy = timing.IMAGE_AVAILABLE, notice: str = ""
) -> str:
    """Wait until an AMI that the CPI created is available, and tag its snapshots with the AMI's id.

    See `wait_until_available` for ``patience`` and ``notice``.

    Returns:
        The AMI's id.

    Raises:
        AmiNotCreated: EC2 reports that it could not create the AMI, with its reason.
        CloudError: The wait timed out.
    """
    tag_snapshots(client, wait_until_available(client, ami_id, patience, notice))
    return ami_id


def tag_snapshots(client: "EC2Client", image: Image) -> None:
    """Tag the snapshots of an AMI with its id, so that delete_stemcell finds them after the AMI is gone.

    An error is only logged.
    """
    for snapshot_id in image.snapshot_ids:
        tags.try_to_create(client, snapshot_id, {AMI_TAG: image.ami_id}, timing.VISIBLE)


def describe(client: "EC2Client", ami_id: str) -> "ImageTypeDef | None":
    """DescribeImages' entry for an AMI, even a deprecated or disabled one; None when EC2 does not know it."""
    which: Any = {"ImageIds": [ami_id], "IncludeDeprecated": True, "IncludeDisabled": True}
    amis = errors.call_unless(errors.IMAGE_MISSING, lambda: client.describe_images(**which)["Images"])
    return amis[0] if amis else None


def _image(entry: "ImageTypeDef") -> Image:
    devices = entry.get("BlockDeviceMappings", [])
    disks = [device["Ebs"] for device in devices if "Ebs" in device]
    root_name = entry.get("RootDeviceName", "")
    root: Any = next((each.get("Ebs", {}) for each in devices if each.get("DeviceName") == root_name), {})
    source, region = entry.get("SourceImageId"), entry.get("SourceImageRegion")
    was_instance = bool(entry.get("SourceInstanceId"))  # EC2 shows a source for CreateImage, too
    return Image(
        ami_id=entry["ImageId"],
        state=entry["State"],
        root_device_name=root_name,
        virtualization_type=entry.get("VirtualizationType", "hvm"),
        architecture=entry.get("Architecture", ""),
        boot_mode=entry.get("BootMode", ""),
        has_tpm="TpmSupport" in entry,
        block_device_names=[device["DeviceName"] for device in devices],
        snapshot_ids=[disk["SnapshotId"] for disk in disks if disk.get("SnapshotId")],
        is_encrypted=root.get("Encrypted", False),
        has_plain_disks=not all(disk.get("Encrypted") for disk in disks),
        root_gib=root.get("VolumeSize", 0),
        tags=tags_of(entry),
        copied_from=(source, region) if source and region and not was_instance else None,
        created=parse_time(entry.get("CreationDate", "")),
    )


def deprecate(client: "EC2Client", ami_id: str, at: str) -> None:
    """Call EnableImageDeprecation: EC2 marks the AMI as deprecated from this time (ISO 8601) on."""
    timing.retry_until_visible(
        f"AMI '{ami_id}'", lambda: client.enable_image_deprecation(ImageId=ami_id, DeprecateAt=at)
    )


def share(client: "EC2Client", ami_id: str, others: Sequence[str]) -> None:
    """Let others launch an AMI (ModifyImageAttribute); no error if they already may."""
    permission: Any = {"Add": [{_permission_key(each): each} for each in dict.fromkeys(others)]}
    timing.retry_until_visible(
        f"AMI '{ami_id}'",
        lambda: client.modify_image_attribute(ImageId=ami_id, LaunchPermission=permission),
    )


def _permission_key(other: str) -> str:
    """The key in a launch permission for an account's id, or for an ARN."""
    if ":organization/" in other:
        return "OrganizationArn"
    return "OrganizationalUnitArn" if ":ou/" in other else "UserId"


def allowed_images_hint(client: "EC2Client") -> str:
    """Whether the Allowed AMIs setting may hide an AMI, and what to do, as text for an error.

    While the setting is enabled, DescribeImages omits the AMIs that the criteria exclude, but never the
    account's own AMIs (API model: DescribeImages, GetAllowedImagesSettings).

    Returns:
        The last sentence of the error; empty when the setting is disabled, or can't be read.
    """
    settings = errors.ask_or_warn("the Allowed AMIs setting", client.get_allowed_images_settings)
    if settings is None or settings.get("State") != "enabled":
        return ""
    owner = "an organisation's policy" if settings.get("ManagedBy") == "declarative-policy" else "the account"
    return (
        f"The Allowed AMIs setting is enabled in this region (by {owner}) and may hide the AMI: "
        "add the AMI's owner to the allowed image providers, or upload the heavy stemcell of this version, "
        "whose AMI belongs to your account"
    )


def deregister(client: "EC2Client", ami_id: str) -> None:
    """Deregister an AMI without its snapshot: the caller deletes the snapshot in a separate step."""
    logger.info("Deregistering AMI '%s'", ami_id)
    timing.discard(f"AMI '{ami_id}'", errors.IMAGE_MISSING, lambda: client.deregister_image(ImageId=ami_id))
    _wait_until_gone(client, ami_id)


def delete(client: "EC2Client", ami_id: str) -> None:
    """Delete an AMI and the snapshots of its block devices; no error if they are already deleted.

    If an earlier call deregistered the AMI and then failed, the snapshots may still exist: this finds and
    deletes them.

    Raises:
        CloudError: A deletion is not certain; all other snapshots were tried.
        ClientError: The same.
    """
    image = find(client, ami_id)
    if image is not None:
        _delete(client, ami_id, timing.AT_ONCE, lambda: image.snapshot_ids)
        return
    logger.info("AMI '%s' is already gone", ami_id)
    try:
        remaining = _remaining_snapshots(client, ami_id)
    except client.exceptions.ClientError as error:
        if not errors.UNAUTHORIZED(error):
            raise
        logger.warning("Could not look for snapshots of AMI '%s': %s", ami_id, errors.describe_error(error))
        return
    _delete_snapshots(client, ami_id, remaining)


def discard_copy(client: "EC2Client", ami_id: str, own_tags: Mapping[str, str]) -> None:
    """Discard an unfinished copy of an AMI, with its snapshots, unless another call has adopted it.

    While the copy is pending, EC2 does not list its snapshots with the AMI, and may not show the AMI
    itself yet.

    Args:
        ami_id: The copy.
        own_tags: The tags that only the copy and its snapshots have; a call that adopts it changes them.

    Raises:
        CloudError: A deletion is not certain; all other snapshots that were found were tried.
        ClientError: The same.
    """
    image = errors.ask_or_warn(f"the snapshots of AMI '{ami_id}'", lambda: find(client, ami_id))
    if image and any(image.tags.get(key, value) != value for key, value in own_tags.items()):
        logger.warning("AMI '%s' is not deleted: another call has adopted it", ami_id)
        return
    logger.info("Deleting AMI '%s'", ami_id)
    shown = image.snapshot_ids if image else []
    _delete(
        client, ami_id, timing.VISIBLE, lambda: shown, lambda: _snapshots_of_copy(client, ami_id, own_tags)
    )


def _snapshots_of_copy(client: "EC2Client", ami_id: str, own_tags: Mapping[str, str]) -> list[str]:
    try:
        return _remaining_snapshots(client, ami_id, own_tags)
    except client.exceptions.ClientError as error:
        if not errors.UNAUTHORIZED(error):
            raise
        marks = ", ".join(f"{key}={value}" for key, value in own_tags.items())
        message = f"Snapshots of AMI '{ami_id}' with the tag {marks} may be left behind: {explain(error)}"
        raise CloudError(message) from error


def _delete(
    client: "EC2Client", ami_id: str, patience: timing.Policy, *lists: Callable[[], Sequence[str]]
) -> None:
    """Deregister the AMI, then delete its snapshots; a step that fails does not prevent the others.

    DeregisterImage deletes the snapshots where EC2 supports that; this function deletes the snapshots that
    EC2 does not report as deleted.

    Args:
        patience: How long to retry while EC2 does not know the AMI yet.
        lists: Functions that list snapshots of the AMI.
    """
    handled: set[str] = set()

    def deregister() -> None:
        results = _deregister(client, ami_id).get("DeleteSnapshotResults", [])
        handled.update(each["SnapshotId"] for each in results if each.get("ReturnCode") in _STATE_KNOWN)

    what = f"AMI '{ami_id}'"

    def is_shown(error: BaseException) -> bool:
        if not errors.NOT_FOUND_YET(error):
            return False
        image = errors.ask_or_warn(what, lambda: find(client, ami_id))
        return image is not None and image.state != "deregistered"

    once_found = partial(timing.retry_on_codes, timing.VISIBLE, f"{what} to be found", is_shown, deregister)
    timing.discard(what, errors.IMAGE_MISSING, once_found, patience)

    def delete(find_snapshots: Callable[[], Sequence[str]]) -> None:
        unhandled = [each for each in dict.fromkeys(find_snapshots()) if each not in handled]
        handled.update(unhandled)
        _delete_snapshots(client, ami_id, unhandled)

    errors.run_all(lambda: _wait_until_gone(client, ami_id), *(partial(delete, each) for each in lists))


def _deregister(client: "EC2Client", ami_id: str) -> Any:  # noqa: ANN401 - the SDK's typed dict
    """Call DeregisterImage, with DeleteAssociatedSnapshots where the partition supports it."""
    deregister = partial(client.deregister_image, ImageId=ami_id)
    whole = partial(deregister, DeleteAssociatedSnapshots=True)
    return errors.call_unless(errors.UNKNOWN_PARAMETER, whole) or deregister()


def _remaining_snapshots(
    client: "EC2Client", ami_id: str, own_tags: Mapping[str, str] | None = None
) -> list[str]:
    """Find snapshots of a deregistered AMI, by our tags and by the description that CopyImage writes.

    EC2 must show that a snapshot was made for this AMI, or for an unnamed AMI: EC2 names the AMI only for a
    snapshot that CopyImage made.

    Nothing is looked up unless the id has the form of an AMI's id.
    """
    if not re.fullmatch(f"ami-{ID_DIGITS}", ami_id):
        return []
    named, marks = f"Copied for DestinationAmi {ami_id} ", {AMI_TAG: ami_id, **(own_tags or {})}
    paginator = client.get_paginator("describe_snapshots")
    certainty_by_id = {
        snapshot["SnapshotId"]: snapshots.is_for_image(snapshot, ami_id)
        for each in [starts_with("description", named), *by_tags(marks)]
        for page in paginator.paginate(OwnerIds=["self"], Filters=[each])
        for snapshot in page["Snapshots"]
        if snapshot.get("Description", "").startswith(named) or marks.items() & tags_of(snapshot).items()
    }
    if kept := [snapshot_id for snapshot_id, is_certain in certainty_by_id.items() if not is_certain]:
        logger.error(
            "Perhaps left behind: %s. A tag or description names AMI '%s', which is gone, but EC2 does not "
            "show that the snapshot was made for it: it may be a disk's",
            ", ".join(kept),
            ami_id,
        )
    return [snapshot_id for snapshot_id, is_certain in certainty_by_id.items() if is_certain]


def _delete_snapshots(client: "EC2Client", ami_id: str, snapshot_ids: Sequence[str]) -> None:
    errors.run_all(*(partial(_delete_or_tag, client, ami_id, snapshot_id) for snapshot_id in snapshot_ids))


def _delete_or_tag(client: "EC2Client", ami_id: str, snapshot_id: str) -> None:
    """Delete a snapshot; tag a snapshot that can't be deleted, so that a retry finds it."""
    try:
        if not snapshots.delete(client, snapshot_id, ami_id):
            logger.warning("Snapshot '%s' of AMI '%s' is kept: another AMI uses it", snapshot_id, ami_id)
    except (*errors.FAILURES, CloudError) as error:
        refusal = errors.describe_error(error)
        logger.warning("Could not delete snapshot '%s' of AMI '%s': %s", snapshot_id, ami_id, refusal)
        tags.try_to_create(client, snapshot_id, {AMI_TAG: ami_id})
        raise


def _wait_until_gone(client: "EC2Client", ami_id: str) -> None:
    def probe() -> None:
        entry = describe(client, ami_id)
        if entry is not None and entry["State"] != "deregistered":
            raise timing.NotYet(entry["State"])

    timing.poll(timing.IMAGE_GONE, f"AMI '{ami_id}' to be gone", probe)
