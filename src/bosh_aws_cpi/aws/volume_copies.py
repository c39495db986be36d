"""Copies of EBS volumes."""

from typing import TYPE_CHECKING, Final

from bosh_aws_cpi.aws import volumes
from bosh_aws_cpi.aws.sdk.errors import naming_disk
from bosh_aws_cpi.jsontext import Json

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

TOO_MANY: Final = frozenset({"CopyVolumesLimitExceeded"})
"""CopyVolumes answers it while as many copies are in progress in the Region as the quota allows: 5 by default
(EBS user guide, "Copy an Amazon EBS volume")."""


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
