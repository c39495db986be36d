"""AMIs: find, copy, deregister, with the snapshots behind them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bosh_aws_cpi.aws import timing
from bosh_aws_cpi.aws.errors import IMAGE_MISSING, SNAPSHOT_MISSING, has_code
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Image, Json

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ec2.type_defs import ImageTypeDef

_FAILED = frozenset({"failed", "error", "invalid"})
_SNAPSHOT_IN_USE = frozenset({"InvalidSnapshot.InUse"})


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


def copy(client: "EC2Client", arguments: Json) -> str:
    """CopyImage.

    Returns:
        The new AMI's id; it is pending.
    """
    return client.copy_image(**arguments)["ImageId"]


def wait_until_available(client: "EC2Client", ami_id: str) -> Image:
    """Wait for an AMI to be usable.

    Raises:
        CloudError: EC2 reports that making it failed, with its reason, or it takes too long.
    """

    def probe() -> Image:
        entry = _describe(client, ami_id)
        if entry is None:  # eventual consistency: EC2 has answered with this id
            raise timing.NotYet("not to be seen yet")
        state = entry["State"]
        if state in _FAILED:
            reason = entry.get("StateReason", {}).get("Message", "no reason given")
            message = f"EC2 could not make AMI '{ami_id}', it is {state}: {reason}"
            raise CloudError(message)
        if state != "available":
            raise timing.NotYet(state)
        return _image(entry)

    return timing.until(timing.IMAGE_AVAILABLE, f"AMI '{ami_id}' to be available", probe)


def discard(client: "EC2Client", ami_id: str) -> None:
    """Remove an AMI and the snapshots behind its block devices; what is gone already is fine.

    Raises:
        CloudError: That is not certain.
    """
    image = find(client, ami_id)
    if image is None:
        logger.info("AMI '%s' is gone already", ami_id)
        return
    try:
        client.deregister_image(ImageId=ami_id)
    except client.exceptions.ClientError as error:
        if not has_code(error, IMAGE_MISSING):
            raise
    _wait_until_gone(client, ami_id)
    for snapshot_id in image.snapshot_ids:
        _delete_snapshot(client, snapshot_id)


def discard_copy(client: "EC2Client", ami_id: str) -> None:
    """Remove a copy of an AMI that was not finished, with its snapshots.

    While the copy is pending, EC2 does not show its snapshots with the AMI; their
    description names it.

    Raises:
        CloudError: That is not certain.
    """
    pages = client.get_paginator("describe_snapshots").paginate(
        OwnerIds=["self"],
        Filters=[{"Name": "description", "Values": [f"Copied for DestinationAmi {ami_id} *"]}],
    )
    unfinished = [snapshot["SnapshotId"] for page in pages for snapshot in page["Snapshots"]]
    discard(client, ami_id)
    for snapshot_id in unfinished:
        _delete_snapshot(client, snapshot_id)


def _wait_until_gone(client: "EC2Client", ami_id: str) -> None:
    def probe() -> None:
        entry = _describe(client, ami_id)
        if entry is not None and entry["State"] != "deregistered":
            raise timing.NotYet(entry["State"])

    timing.until(timing.IMAGE_GONE, f"AMI '{ami_id}' to be gone", probe)


def _delete_snapshot(client: "EC2Client", snapshot_id: str) -> None:
    """DeleteSnapshot, repeated while EC2 still counts it as the deregistered AMI's."""
    try:
        timing.patiently(
            timing.SNAPSHOT_RELEASED,
            f"snapshot '{snapshot_id}' to be released",
            _SNAPSHOT_IN_USE,
            lambda: client.delete_snapshot(SnapshotId=snapshot_id),
        )
    except client.exceptions.ClientError as error:
        if not has_code(error, SNAPSHOT_MISSING):
            raise
        logger.info("Snapshot '%s' is gone already", snapshot_id)


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
        block_device_names=[device["DeviceName"] for device in devices],
        snapshot_ids=[
            device["Ebs"]["SnapshotId"] for device in devices if device.get("Ebs", {}).get("SnapshotId")
        ],
    )
