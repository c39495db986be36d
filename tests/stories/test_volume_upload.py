"""Heavy stemcells by way of a volume that the VM on which the executable runs has attached."""

from pathlib import Path

import pytest

from testbed.cloud import FakeAws
from testbed.executable import DIRECTOR_UUID, finish
from testbed.rules import REQUEST_ID
from testbed.world import World
from tests.protocols import ListResources, ReadCalls, ReadTags, ReadWarnings
from tests.stories.own_vm import DISK_SIZE, OwnVm, loop_device, makes_loop_devices
from tests.stories.stemcell_images import PROPERTIES, SMALL

KEY = "arn:aws:kms:us-east-1:123456789012:key/own"
TITLE = f"{PROPERTIES['name']} {PROPERTIES['version']}"
DENIED = {"code": "AccessDeniedException", "message": "You may not.", "status": 403}
BY_VOLUME = [
    "DescribeInstances",
    "CreateVolume",
    "DescribeVolumes",
    "AttachVolume",
    "DescribeVolumes",
    "CreateSnapshot",
    "DescribeSnapshots",
    "DetachVolume",
    "DescribeVolumes",
    "DeleteVolume",
    "DescribeVolumes",
]
REGISTERED = ["RegisterImage", "DescribeImages", "CreateTags"]


def beside(parameters: dict[str, str], *prefixes: str) -> dict[str, str]:
    """Return the parameters of a call but for some, and for those that say nothing of it."""
    left_out = ("Action", "Version", "ClientToken", *prefixes)
    return {name: value for name, value in parameters.items() if not name.startswith(left_out)}


def test_by_volume(
    own_vm: OwnVm, fake_aws: FakeAws, sent: ReadCalls, tags_of: ReadTags, made: ListResources
) -> None:
    """A volume is created, attached, written and deleted; its snapshot becomes the AMI."""
    own_vm.shows_disk_as("xvdf")
    ami_id = own_vm.create().ok()
    assert fake_aws.actions() == [*BY_VOLUME, *REGISTERED]
    assert (own_vm.called_with, own_vm.image) == ([own_vm.disk], SMALL)
    (snapshot_id,) = made()["snapshots"]
    assert made() == {"images": [ami_id], "snapshots": [snapshot_id]}
    (creating,), (attaching,), (detaching,) = map(sent, ("CreateVolume", "AttachVolume", "DetachVolume"))
    assert beside(creating, "TagSpecification") == {
        "Size": "3",
        "VolumeType": "gp3",
        "AvailabilityZone": "us-east-1a",
        "Encrypted": "false",
    }
    volume_id = attaching["VolumeId"]
    assert beside(attaching) == {"VolumeId": volume_id, "InstanceId": own_vm.vm_cid, "Device": "/dev/sdf"}
    assert beside(detaching) == {"VolumeId": volume_id, "InstanceId": own_vm.vm_cid, "Force": "true"}
    assert sent("CreateSnapshot")[0]["Description"] == TITLE
    (registering,) = sent("RegisterImage")
    assert registering["BlockDeviceMapping.1.Ebs.SnapshotId"] == snapshot_id
    tags = {"distro": "noble", "n": "1", "bosh_director_uuid": DIRECTOR_UUID}
    tags["bosh_stemcell"] = tags_of(ami_id)["bosh_stemcell"]
    assert registering["Name"].startswith("BOSH-")
    assert tags_of(snapshot_id) == {**tags, "bosh_ami": ami_id}
    assert tags_of(ami_id) == {**tags, "Name": TITLE}
    assert {creating[f"TagSpecification.1.Tag.{n}.Key"] for n in range(1, 5)} == set(tags)


def test_by_id(own_vm: OwnVm, fake_aws: FakeAws, made: ListResources) -> None:
    """On Nitro types the device is found by its id."""
    fake_aws.rule(action="AttachVolume", hold=True)
    process = own_vm.start()
    try:
        assert fake_aws.wait_until_held() == ["AttachVolume"]
        (volume_id,) = made()["volumes"]
        plain = volume_id.replace("-", "")
        own_vm.shows_disk_as(f"disk/by-id/nvme-Amazon_Elastic_Block_Store_{plain}")
    finally:
        fake_aws.release()
        answer = finish(process)
    assert answer.ok() in made()["images"]
    assert (own_vm.called_with, own_vm.image) == ([own_vm.disk], SMALL)


@pytest.mark.skipif(not makes_loop_devices(), reason="this user can make no loop devices")
def test_in_earnest(own_vm: OwnVm, tmp_path: Path, made: ListResources) -> None:
    """The program writes the image to the device, as a block device of this computer shows."""
    with loop_device(tmp_path) as device:
        own_vm.has(device)
        own_vm.writes_in_earnest()
        own_vm.shows_disk_as("xvdf")
        ami_id = own_vm.create().ok()
    assert made()["images"] == [ami_id]
    content = (tmp_path / "disk").read_bytes()
    assert content[: len(SMALL)] == SMALL
    assert content[len(SMALL) :] == b"\xff" * (DISK_SIZE - len(SMALL))


def test_by_itself(own_vm: OwnVm, fake_aws: FakeAws, warnings: ReadWarnings, made: ListResources) -> None:
    """Without permission for the EBS direct APIs a volume is used, with a warning."""
    own_vm.shows_disk_as("xvdf")
    fake_aws.rule(action="PutSnapshotBlock", error=DENIED)
    answer = own_vm.create("ebs_direct")
    ami_id = answer.ok()
    assert (own_vm.called_with, own_vm.image) == ([own_vm.disk], SMALL)
    (snapshot_id,) = made()["snapshots"]
    assert made() == {"images": [ami_id], "snapshots": [snapshot_id]}
    effects = [each for each in fake_aws.actions() if each in {"DeleteSnapshot", "CreateVolume"}]
    assert effects == ["DeleteSnapshot", "CreateVolume"]
    why = f"PutSnapshotBlock failed with AccessDeniedException: You may not. (request id {REQUEST_ID}"
    (told,) = [line for line in warnings(answer) if line.startswith("No permission")]
    assert told.startswith(f"No permission for the EBS direct APIs, using a volume instead: {why}")


def test_refused_for_another_reason(own_vm: OwnVm, fake_aws: FakeAws) -> None:
    """After other refusals no volume is used."""
    error = {"code": "ConflictException", "message": "No.", "status": 400}
    fake_aws.rule(action="StartSnapshot", times=None, error=error)
    message = own_vm.create("ebs_direct").error["message"]
    assert "StartSnapshot failed with ConflictException: No." in message
    assert "CreateVolume" not in fake_aws.actions()


def test_encrypted(own_vm: OwnVm, sent: ReadCalls, world: World) -> None:
    """The volume is encrypted, and so the snapshot; RegisterImage has no encryption."""
    own_vm.shows_disk_as("xvdf")
    ami_id = own_vm.create(encrypted=True, kms_key_arn=KEY).ok()
    (creating,), (registering,) = sent("CreateVolume"), sent("RegisterImage")
    assert (creating["Encrypted"], creating["KmsKeyId"]) == ("true", KEY)
    assert [name for name in registering if "Encrypted" in name] == []
    (image,) = world.ec2.describe_images(ImageIds=[ami_id])["Images"]
    assert image["BlockDeviceMappings"][0]["Ebs"]["Encrypted"] is True
