"""Copies of EBS volumes: CopyVolumes, and how far copies are initialized."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from bosh_aws_cpi.aws import volumes
from bosh_aws_cpi.aws.sdk.errors import is_volume_missing, naming_disk
from bosh_aws_cpi.jsontext import Json

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

INITIALIZED: Final = 100
_COPY: Final = "volume-copy"


def create(client: "EC2Client", source_cid: str, arguments: Json, mark: tuple[str, str]) -> str:
    """CopyVolumes, within the volume's zone.

    Args:
        client: The EC2 client.
        source_cid: The volume to copy.
        arguments: CopyVolumes' other arguments, with a client token.
        mark: The key and value of one of the tags, by which the copy is found if the answer is lost.

    Returns:
        The copy's id; it is not available yet.

    Raises:
        DiskNotFound: EC2 does not know the volume.
        NotCreated: The client token belongs to another call.
    """
    with naming_disk(source_cid):
        return volumes.create_marked(
            client, mark, lambda: client.copy_volumes(SourceVolumeId=source_cid, **arguments)["Volumes"][0]
        )


def progress(client: "EC2Client", disk_cids: Sequence[str]) -> dict[str, int]:
    """DescribeVolumeStatus: how far copies are initialized, in percent, by id.

    EBS copies a volume's data in the background, after the copy is available, so the copy may need its
    source until it is initialized (EBS user guide, "Copy an Amazon EBS volume"). EC2 shows the progress up to
    five minutes late (API model, VolumeStatusItem). The result lacks a volume if EC2 does not show its
    progress as a copy, or does not know the volume.
    """
    if not disk_cids:  # EC2 would describe all volumes
        return {}
    try:
        answer = client.describe_volume_status(VolumeIds=disk_cids)
    except client.exceptions.ClientError as error:
        known = [each for each in disk_cids if not re.search(rf"{re.escape(each)}\b", str(error))]
        if not is_volume_missing(error) or len(known) == len(disk_cids):
            raise
        return progress(client, known)
    details = {
        each["VolumeId"]: each.get("InitializationStatusDetails", {}) for each in answer["VolumeStatuses"]
    }
    return {
        disk_cid: shown["Progress"]
        for disk_cid, shown in details.items()
        if shown.get("InitializationType") == _COPY and "Progress" in shown
    }
