"""AMIs: find, copy, deregister, with the snapshots behind them."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from bosh_aws_cpi.aws import snapshots, tags, timing
from bosh_aws_cpi.aws.cleanup import in_turn
from bosh_aws_cpi.aws.errors import IMAGE_MISSING, UNAUTHORIZED, code_of, described, has_code
from bosh_aws_cpi.aws.once import WITHOUT_TOKEN, by_tags, make_once
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Image, Json

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ec2.type_defs import FilterTypeDef, ImageTypeDef

_FAILED = frozenset({"failed", "error", "invalid", "deregistered", "disabled"})
_AMI_ID = re.compile(r"ami-[0-9a-f]+")
_SETTLED = frozenset({"success", "skipped"})
"""What EC2 says of a snapshot that it deleted with its AMI, or left because another AMI uses it."""
AMI_TAG = "bosh_ami"
"""On a snapshot: the AMI that it belongs, or belonged, to."""


def find(client: "EC2Client", ami_id: str) -> Image | None:
    """DescribeImages for one AMI, a deprecated one too; None when EC2 does not know it."""
    entry = _describe(client, ami_id)
    return None if entry is None else _image(entry)


def find_first(client: "EC2Client", ami_ids: Sequence[str]) -> str | None:
    """The first of these AMIs that exists in the client's region.

    Asked by a filter: as ImageIds, one id of another region would fail the whole call.
    """
    answer = client.describe_images(
        Filters=[{"Name": "image-id", "Values": list(ami_ids)}], IncludeDeprecated=True
    )
    found = {entry["ImageId"] for entry in answer["Images"]}
    return next((ami_id for ami_id in ami_ids if ami_id in found), None)


def copy(client: "EC2Client", arguments: Json, marks: Mapping[str, str]) -> str:
    """CopyImage.

    Args:
        client: The EC2 client.
        arguments: All of CopyImage's arguments.
        marks: Those of the tags by which the copy is found, should its answer be lost.

    Returns:
        The new AMI's id; it is pending.
    """
    return make_once(
        f"a copy of AMI '{arguments['SourceImageId']}'",
        lambda: client.copy_image(**arguments)["ImageId"],
        lambda: find_copy(client, marks),
    )


def register(client: "EC2Client", arguments: Json) -> str:
    """RegisterImage, which takes no client token: the name in the arguments tells the AMI from all others.

    Returns:
        The new AMI's id; it is pending.
    """
    name = arguments["Name"]

    def find_by_name() -> str | None:
        answer = client.describe_images(Owners=["self"], Filters=[{"Name": "name", "Values": [name]}])
        return next((entry["ImageId"] for entry in answer["Images"]), None)

    return make_once(
        f"AMI '{name}'",
        lambda: client.register_image(**arguments)["ImageId"],
        find_by_name,
        WITHOUT_TOKEN,
    )


def kernels(client: "EC2Client", architecture: str) -> list[tuple[str, str]]:
    """DescribeImages: Amazon's kernel images, as (id, image location)."""
    answer = client.describe_images(
        Owners=["amazon"],
        Filters=[
            {"Name": "architecture", "Values": [architecture]},
            {"Name": "image-type", "Values": ["kernel"]},
        ],
    )
    return [(entry["ImageId"], entry.get("ImageLocation", "")) for entry in answer["Images"]]


def find_copy(client: "EC2Client", tags: Mapping[str, str]) -> str | None:
    """DescribeImages: an AMI of ours with all of these tags, that is there or in the making."""
    states: FilterTypeDef = {"Name": "state", "Values": ["available", "pending"]}
    answer = client.describe_images(Owners=["self"], Filters=[*by_tags(tags), states])
    found = sorted(answer["Images"], key=lambda entry: (entry["State"], entry.get("CreationDate", "")))
    return next((entry["ImageId"] for entry in found), None)


def wait_until_available(client: "EC2Client", ami_id: str) -> Image:
    """Wait for an AMI to be usable.

    Raises:
        CloudError: EC2 reports that making it failed, with its reason, or it takes too long.
    """
    sight = timing.Sight()

    def probe() -> Image:
        entry = _describe(client, ami_id)
        if entry is None and sight.is_lost:
            message = f"AMI '{ami_id}' is gone"
            raise CloudError(message)
        if entry is None:
            raise timing.NotYet("not to be seen yet")
        sight.was_seen = True
        state = entry["State"]
        if state in _FAILED:
            reason = entry.get("StateReason", {}).get("Message", "no reason given")
            message = f"EC2 could not make AMI '{ami_id}', it is {state}: {reason}"
            raise CloudError(message)
        if state != "available":
            raise timing.NotYet(state)
        return _image(entry)

    return timing.until(timing.IMAGE_AVAILABLE, f"AMI '{ami_id}' to be available", probe)


def deregister(client: "EC2Client", ami_id: str) -> None:
    """Remove an AMI that must not be, but not its snapshot, which is removed by itself."""
    logger.info("Removing AMI '%s'", ami_id)
    timing.remove(
        f"AMI '{ami_id}'",
        lambda error: has_code(error, IMAGE_MISSING),
        lambda: client.deregister_image(ImageId=ami_id),
    )
    _wait_until_gone(client, ami_id)


def discard(client: "EC2Client", ami_id: str) -> None:
    """Remove an AMI and the snapshots behind its block devices; what is gone already is fine.

    An AMI that is gone may have left snapshots behind, when an earlier call failed between
    the two: they are looked for.

    Raises:
        CloudError: That is not certain. Every snapshot was tried.
        ClientError: The same.
    """
    image = find(client, ami_id)
    if image is not None:
        _remove(client, ami_id, lambda: image.snapshot_ids, timing.AT_ONCE)
        return
    logger.info("AMI '%s' is gone already", ami_id)
    try:
        left = _left_snapshots(client, ami_id)
    except client.exceptions.ClientError as error:
        if not has_code(error, UNAUTHORIZED):
            raise
        logger.warning("What AMI '%s' may have left can't be asked for: %s", ami_id, described(error))
        return
    _delete_snapshots(client, ami_id, left)


def discard_copy(client: "EC2Client", ami_id: str) -> None:
    """Remove a copy of an AMI that was not finished, with its snapshots.

    While the copy is pending, EC2 does not show its snapshots with the AMI, nor perhaps the
    AMI itself yet.

    Raises:
        CloudError: That is not certain. Every snapshot that was found was tried.
        ClientError: The same.
    """
    logger.info("Removing AMI '%s'", ami_id)
    shown = _shown_snapshots(client, ami_id)
    _remove(
        client,
        ami_id,
        lambda: list(dict.fromkeys([*shown, *_left_snapshots(client, ami_id)])),
        timing.VISIBLE,
    )


def _remove(
    client: "EC2Client", ami_id: str, found: Callable[[], Sequence[str]], patience: timing.Policy
) -> None:
    """Deregister the AMI; from then on each step is taken, whatever fails.

    EC2 is asked to delete the snapshots with it; what it does not say it did is done here.
    """
    settled: set[str] = set()

    def deregister() -> None:
        results = _deregister(client, ami_id).get("DeleteSnapshotResults", [])
        settled.update(each["SnapshotId"] for each in results if each.get("ReturnCode") in _SETTLED)

    what = f"AMI '{ami_id}'"
    timing.remove(what, lambda error: has_code(error, IMAGE_MISSING), deregister, patience)
    in_turn(
        lambda: _wait_until_gone(client, ami_id),
        lambda: _delete_snapshots(client, ami_id, [each for each in found() if each not in settled]),
    )


def _deregister(client: "EC2Client", ami_id: str) -> Any:  # noqa: ANN401 - the SDK's typed dict
    """DeregisterImage, with its snapshots where EC2 can do that: not every partition has it yet."""
    try:
        return client.deregister_image(ImageId=ami_id, DeleteAssociatedSnapshots=True)
    except client.exceptions.ClientError as error:
        if code_of(error) != "UnknownParameter":
            raise
        return client.deregister_image(ImageId=ami_id)


def _shown_snapshots(client: "EC2Client", ami_id: str) -> Sequence[str]:
    """The snapshots that EC2 shows with an AMI; a question that fails must not keep it from removal."""
    try:
        image = find(client, ami_id)
    except client.exceptions.ClientError as error:
        logger.warning("The snapshots of AMI '%s' can't be asked for: %s", ami_id, described(error))
        return []
    return image.snapshot_ids if image else []


def _left_snapshots(client: "EC2Client", ami_id: str) -> list[str]:
    """Snapshots of an AMI that is gone: by EC2's description of a copy's, and by our tag.

    In EC2's filters ``*`` and ``?`` stand for other characters, so only what is an AMI's
    id beyond doubt is looked for.
    """
    if not _AMI_ID.fullmatch(ami_id):
        return []
    filters: list[FilterTypeDef] = [
        {"Name": "description", "Values": [f"Copied for DestinationAmi {ami_id} *"]},
        {"Name": f"tag:{AMI_TAG}", "Values": [ami_id]},
    ]
    paginator = client.get_paginator("describe_snapshots")
    found = [
        snapshot["SnapshotId"]
        for each in filters
        for page in paginator.paginate(OwnerIds=["self"], Filters=[each])
        for snapshot in page["Snapshots"]
    ]
    return list(dict.fromkeys(found))


def _delete_snapshots(client: "EC2Client", ami_id: str, snapshot_ids: Sequence[str]) -> None:
    in_turn(*(partial(_delete_or_tag, client, ami_id, snapshot_id) for snapshot_id in snapshot_ids))


def _delete_or_tag(client: "EC2Client", ami_id: str, snapshot_id: str) -> None:
    """Delete a snapshot; one that stays is tagged, so that a repeated call finds it."""
    try:
        if not snapshots.delete(client, snapshot_id, ami_id):
            logger.warning("Snapshot '%s' of AMI '%s' stays: another AMI uses it", snapshot_id, ami_id)
    except (client.exceptions.ClientError, CloudError) as error:
        logger.warning("Snapshot '%s' of AMI '%s' stays: %s", snapshot_id, ami_id, described(error))
        tags.try_to_create(client, snapshot_id, {AMI_TAG: ami_id})
        raise


def _wait_until_gone(client: "EC2Client", ami_id: str) -> None:
    def probe() -> None:
        entry = _describe(client, ami_id)
        if entry is not None and entry["State"] != "deregistered":
            raise timing.NotYet(entry["State"])

    timing.until(timing.IMAGE_GONE, f"AMI '{ami_id}' to be gone", probe)


def _describe(client: "EC2Client", ami_id: str) -> "ImageTypeDef | None":
    try:
        found = client.describe_images(ImageIds=[ami_id], IncludeDeprecated=True)["Images"]
    except client.exceptions.ClientError as error:
        if has_code(error, IMAGE_MISSING):
            return None
        raise
    return found[0] if found else None


def _image(entry: "ImageTypeDef") -> Image:
    devices = entry.get("BlockDeviceMappings", [])
    return Image(
        ami_id=entry["ImageId"],
        root_device_name=entry.get("RootDeviceName", ""),
        virtualization_type=entry.get("VirtualizationType", "hvm"),
        architecture=entry.get("Architecture", ""),
        block_device_names=[device["DeviceName"] for device in devices],
        snapshot_ids=[
            device["Ebs"]["SnapshotId"] for device in devices if device.get("Ebs", {}).get("SnapshotId")
        ],
    )
