"""create_stemcell with an image, called again after it was killed."""

from __future__ import annotations

import signal
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from botocore.stub import ANY

from bosh_aws_cpi.cpi.identity import call_id
from bosh_aws_cpi.cpi.stemcells import heavy, snapshot_upload
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.interrupts import Interrupted
from bosh_aws_cpi.model import Image
from bosh_aws_cpi.properties.stemcell import HeavyStemcellProperties
from tests.unit.aws.timing_script import ago, fault
from tests.unit.cpi.volume_uploads import DISK, image_source, lay_deleted, lay_removed, lay_volume

if TYPE_CHECKING:
    from pathlib import Path

    from bosh_aws_cpi.cpi.cloud import Cloud
    from bosh_aws_cpi.cpi.stemcells.image_file import ImageSource
    from bosh_aws_cpi.cpi.undo import Undo
    from tests.unit.conftest import Ec2

pytestmark = pytest.mark.usefixtures("undone")
OLD_AMI, NEW_AMI = "ami-0", "ami-1"
OLD_SNAPSHOT, NEW_SNAPSHOT = "snap-0", "snap-1"
TAGS = {"a": "1"}
PROPERTIES = HeavyStemcellProperties()
NOW = timedelta(0)
UNAVAILABLE = fault("Unavailable")


class Uploads:
    """Uploads of the image that take no time.

    Attributes:
        sources: What was uploaded.
    """

    def __init__(self) -> None:
        """Have uploaded nothing."""
        self.sources: list[ImageSource] = []

    def upload(self, cloud: Cloud, source: ImageSource, undo: Undo) -> str:
        """Create the snapshot."""
        self.sources.append(source)
        return undo.create(lambda: NEW_SNAPSHOT, lambda made: cloud.ec2.delete_snapshot(SnapshotId=made))


@pytest.fixture
def uploads(monkeypatch: pytest.MonkeyPatch) -> Uploads:
    """Return the uploads."""
    fake = Uploads()
    monkeypatch.setattr(snapshot_upload, "upload", fake.upload)
    return fake


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Return an image."""
    return image_source(tmp_path, b"1").path


@pytest.fixture
def call(cloud: Cloud) -> str:
    """Give the request an id; return the call's id, with which its resources are tagged."""
    cloud.config = cloud.config.replaced(request_id="cpi-1")
    return call_id(cloud, "create_stemcell", PROPERTIES.model_dump(mode="json"), TAGS)


def create(cloud: Cloud, path: str) -> str:
    """Create an AMI of the image."""
    return heavy.create(cloud, path, PROPERTIES, TAGS)


def marked(call: str) -> dict[str, Any]:
    """Return the filter that finds the request's resources."""
    return {"Name": "tag:bosh_stemcell", "Values": [call]}


def tagged(call: str) -> dict[str, Any]:
    """Return the tags of the request's resources, as EC2 shows them."""
    return {"Tags": [{"Key": "bosh_stemcell", "Value": call}]}


def lay_snapshot(ec2: Ec2, call: str, *found: str) -> None:
    """Lay out the search for the request's snapshot."""
    entries = [{"SnapshotId": each, "StartTime": ago(NOW), **tagged(call)} for each in found]
    ec2.answers("describe_snapshots", {"Snapshots": entries}, OwnerIds=["self"], Filters=[marked(call)])


def lay_volumes(ec2: Ec2, call: str, *found: str) -> None:
    """Lay out the search for the request's volume."""
    entries = [{"VolumeId": each, "CreateTime": ago(NOW), **tagged(call)} for each in found]
    ec2.answers("describe_volumes", {"Volumes": entries}, Filters=[marked(call)])


def lay_ami(ec2: Ec2, call: str, *found: str) -> None:
    """Lay out the search for the request's AMI."""
    states = {"Name": "state", "Values": ["available", "pending"]}
    entries = [{"ImageId": each, "State": "pending", **tagged(call)} for each in found]
    ec2.answers("describe_images", {"Images": entries}, Owners=["self"], Filters=[marked(call), states])


def lay_state(ec2: Ec2, ami_id: str, *states: str, snapshot_id: str = OLD_SNAPSHOT) -> None:
    """Lay out the answers of DescribeImages."""
    device = {"DeviceName": "/dev/xvda", "Ebs": {"SnapshotId": snapshot_id}}
    for state in states:
        found = {"Images": [{"ImageId": ami_id, "State": state, "BlockDeviceMappings": [device]}]}
        ec2.answers("describe_images", found, ImageIds=[ami_id], IncludeDeprecated=True, IncludeDisabled=True)


def lay_finished(ec2: Ec2, ami_id: str, snapshot_id: str) -> None:
    """Lay out the wait for an AMI, and the tag of its snapshot."""
    lay_state(ec2, ami_id, "pending", "available", snapshot_id=snapshot_id)
    tags: dict[str, Any] = {"Resources": [snapshot_id], "Tags": [{"Key": "bosh_ami", "Value": ami_id}]}
    ec2.answers("create_tags", **tags)


def lay_registered(ec2: Ec2) -> None:
    """Lay out all that follows the upload."""
    more = ("VirtualizationType", "RootDeviceName", "SriovNetSupport", "EnaSupport", "BootMode")
    arguments = ("Name", "Architecture", "BlockDeviceMappings", "TagSpecifications", *more)
    ec2.answers("register_image", {"ImageId": NEW_AMI}, **dict.fromkeys(arguments, ANY))
    lay_finished(ec2, NEW_AMI, NEW_SNAPSHOT)


@pytest.mark.usefixtures("signals")
def test_made_before_and_interrupted(
    cloud: Cloud, ec2: Ec2, path: str, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal deletes neither an earlier call's AMI nor its snapshot."""

    def wait(*_: object) -> None:
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr("bosh_aws_cpi.aws.images.wait_until_available", wait)
    lay_snapshot(ec2, call, OLD_SNAPSHOT)
    lay_ami(ec2, call, OLD_AMI)
    with pytest.raises(Interrupted):
        create(cloud, path)


def test_made_before_and_not_shown(
    cloud: Cloud, ec2: Ec2, path: str, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If EC2 does not answer, an earlier call's AMI stays."""

    def fail(**_: object) -> None:
        raise UNAVAILABLE

    lay_snapshot(ec2, call, OLD_SNAPSHOT)
    earlier = Image(OLD_AMI, "", "hvm", "x86_64", [], [OLD_SNAPSHOT])
    monkeypatch.setattr("bosh_aws_cpi.aws.images.marked", lambda *_: [earlier])
    monkeypatch.setattr(ec2.client, "describe_images", fail)
    with pytest.raises(CloudError, match="Timed out after 3600 seconds"):
        create(cloud, path)


def test_made_before_in_vain(cloud: Cloud, ec2: Ec2, path: str, call: str, uploads: Uploads) -> None:
    """An earlier call's AMI that EC2 could not create is deleted with its snapshot."""
    lay_snapshot(ec2, call, OLD_SNAPSHOT)
    lay_ami(ec2, call, OLD_AMI)
    lay_state(ec2, OLD_AMI, "failed")
    ec2.answers("deregister_image", ImageId=OLD_AMI)
    ec2.answers(
        "describe_images", {"Images": []}, ImageIds=[OLD_AMI], IncludeDeprecated=True, IncludeDisabled=True
    )
    ec2.answers("delete_snapshot", SnapshotId=OLD_SNAPSHOT)
    with pytest.raises(CloudError, match=f"EC2 could not create AMI '{OLD_AMI}'"):
        create(cloud, path)
    assert uploads.sources == []


@pytest.mark.parametrize("attached", [[], ["attached"]], ids=["unattached", "attached"])
def test_volume_before(
    cloud: Cloud, ec2: Ec2, path: str, call: str, uploads: Uploads, attached: list[str]
) -> None:
    """The volume of an earlier call is deleted before the image is uploaded again."""
    lay_snapshot(ec2, call)
    lay_volumes(ec2, call, DISK)
    lay_volume(ec2, "in-use" if attached else "available", *attached)
    if attached:
        lay_removed(ec2)
    else:
        lay_deleted(ec2)
    lay_registered(ec2)
    assert create(cloud, path) == NEW_AMI
    assert len(uploads.sources) == 1
