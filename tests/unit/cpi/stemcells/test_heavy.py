"""create_stemcell for a stemcell with an image: what is told beforehand, and by which way it goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from botocore.stub import ANY

from bosh_aws_cpi.cpi.stemcells import heavy, snapshot_upload, volume_upload
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.properties.stemcell import HeavyStemcellProperties
from tests.unit.cpi.block_uploads import SNAPSHOT
from tests.unit.cpi.volume_uploads import image_source

if TYPE_CHECKING:
    from pathlib import Path

    from bosh_aws_cpi.cpi.cloud import Cloud
    from bosh_aws_cpi.cpi.undo import Undo
    from tests.unit.conftest import Ec2

pytestmark = pytest.mark.usefixtures("undone")

AMI = "ami-1"
NEEDED = (
    "A heavy stemcell needs ebs:StartSnapshot, ebs:PutSnapshotBlock and ebs:CompleteSnapshot: allow them, "
    "or use the light stemcell of the same version. The upload with a volume failed as well: "
)


def create(cloud: Cloud, path: str, wanted_tags: dict[str, str] | None = None) -> str:
    """Make an AMI of the image."""
    return heavy.create(cloud, path, HeavyStemcellProperties(), wanted_tags or {})


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Return an image."""
    return image_source(tmp_path, b"1").path


def end_with(monkeypatch: pytest.MonkeyPatch, error: Exception | None) -> None:
    """Let the upload begin a snapshot, and end with an error, if there is one."""

    def upload(cloud: Cloud, _: object, undo: Undo) -> str:
        undo.create(lambda: SNAPSHOT, lambda created: cloud.ec2.delete_snapshot(SnapshotId=created))
        if error:
            raise error
        return SNAPSHOT

    monkeypatch.setattr(snapshot_upload, "upload", upload)


def refusal(operation: str, code: str = "AccessDeniedException") -> ClientError:
    """Make an error of AWS."""
    return ClientError({"Error": {"Code": code, "Message": "no"}}, operation)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({f"k{n}": "v" for n in range(47)}, "EC2 allows 50 tags, 51 are given"),
        ({"aws:mine": "v"}, "Tags that begin with 'aws:' are reserved for AWS, remove: aws:mine"),
    ],
    ids=["too many", "reserved"],
)
def test_tags(cloud: Cloud, wanted: dict[str, str], said: str) -> None:
    """Tags that EC2 would refuse after the upload are refused before the image is so much as read."""
    with pytest.raises(CloudError, match=said):
        create(cloud, "/nowhere", wanted)
    del wanted[next(iter(wanted))]
    with pytest.raises(CloudError, match="'/nowhere' can't be read: No such file or directory"):
        create(cloud, "/nowhere", wanted)


@pytest.mark.parametrize("is_refused", [False, True])
def test_tag_of_the_snapshot(
    cloud: Cloud, ec2: Ec2, path: str, monkeypatch: pytest.MonkeyPatch, *, is_refused: bool
) -> None:
    """The snapshot is tagged with its AMI; one that takes no tag costs nobody the AMI."""
    end_with(monkeypatch, None)
    more = ("VirtualizationType", "RootDeviceName", "SriovNetSupport", "EnaSupport", "BootMode")
    arguments = ("Name", "Architecture", "BlockDeviceMappings", "TagSpecifications", *more)
    ec2.answers("register_image", {"ImageId": AMI}, **dict.fromkeys(arguments, ANY))
    device = {"DeviceName": "/dev/xvda", "Ebs": {"SnapshotId": SNAPSHOT}}
    found = {"Images": [{"ImageId": AMI, "State": "available", "BlockDeviceMappings": [device]}]}
    ec2.answers("describe_images", found, ImageIds=[AMI], IncludeDeprecated=True, IncludeDisabled=True)
    tags: dict[str, Any] = {"Resources": [SNAPSHOT], "Tags": [{"Key": "bosh_ami", "Value": AMI}]}
    if is_refused:
        ec2.refuses("create_tags", "UnauthorizedOperation", **tags)
    else:
        ec2.answers("create_tags", **tags)
    assert create(cloud, path) == AMI


def test_endpoint_that_is_not_reached(
    cloud: Cloud, ec2: Ec2, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """EBS's endpoint may be out of reach where EC2's is not: the message says what can be done."""
    end_with(monkeypatch, EndpointConnectionError(endpoint_url="https://ebs/"))
    ec2.answers("delete_snapshot", SnapshotId=SNAPSHOT)
    with pytest.raises(CloudError) as caught:
        create(cloud, path)
    assert caught.value.message == (
        'The EBS direct APIs can\'t be reached: Could not connect to the endpoint URL: "https://ebs/". '
        "Correct aws.ebs_endpoint, give the VPC an endpoint for them, or set aws.stemcell_upload to volume"
    )


@pytest.mark.parametrize(
    "error", [refusal("DescribeSnapshots", "UnauthorizedOperation"), refusal("StartSnapshot", "Conflict")]
)
def test_other_refusals(
    cloud: Cloud, ec2: Ec2, path: str, monkeypatch: pytest.MonkeyPatch, error: ClientError
) -> None:
    """A refusal of another call, or for another reason, is no reason to take a volume instead."""
    end_with(monkeypatch, error)
    ec2.answers("delete_snapshot", SnapshotId=SNAPSHOT)
    with pytest.raises(ClientError) as caught:
        create(cloud, path)
    assert caught.value is error


@pytest.mark.parametrize("operation", ["StartSnapshot", "PutSnapshotBlock", "CompleteSnapshot"])
@pytest.mark.parametrize("is_on_ec2", [False, True])
def test_neither_way(
    cloud: Cloud, ec2: Ec2, path: str, monkeypatch: pytest.MonkeyPatch, operation: str, *, is_on_ec2: bool
) -> None:
    """When it does not go by way of a volume either, both reasons are told; nothing is left."""
    end_with(monkeypatch, refusal(operation))
    ec2.answers("delete_snapshot", SnapshotId=SNAPSHOT)
    why = "The VM's own id can't be read: AWS_EC2_METADATA_DISABLED is set"
    if is_on_ec2:
        monkeypatch.setattr(heavy, "current_vm_id", lambda _: "i-1")
        monkeypatch.setenv("PATH", "/nowhere")
        why = "The program stemcell-copy, which is part of the release, is not installed here: "
    with pytest.raises(CloudError) as caught:
        create(cloud, path)
    refused = f"{operation} failed with AccessDeniedException: no (request id none)"
    assert caught.value.message.startswith(f"{refused}. {NEEDED}{why}")


def test_by_volume_instead(cloud: Cloud, ec2: Ec2, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot that takes no blocks, as only its beginning is permitted, goes before a volume is made."""

    def upload(cloud: Cloud, _: object, vm_cid: str, __: Undo) -> str:
        cloud.ec2.delete_volume(VolumeId=vm_cid)  # any call: the first one is to be the snapshot's removal
        raise CloudError("sorry")

    end_with(monkeypatch, refusal("PutSnapshotBlock"))
    monkeypatch.setattr(heavy, "current_vm_id", lambda _: "i-1")
    monkeypatch.setattr(volume_upload, "upload", upload)
    ec2.answers("delete_snapshot", SnapshotId=SNAPSHOT)
    ec2.answers("delete_volume", VolumeId="i-1")
    with pytest.raises(CloudError, match="The upload with a volume failed as well: sorry"):
        create(cloud, path)
