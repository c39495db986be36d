"""Heavy stemcells by way of a volume that is attached to the VM on which the executable runs."""

from pathlib import Path

import pytest

from testbed.cloud import FakeAws
from testbed.executable import DIRECTOR_UUID
from testbed.killing import kill_at
from testbed.rules import REQUEST_ID
from testbed.world import World
from tests.protocols import ListResources
from tests.stories.own_vm import DISK_SIZE, OwnVm, loop_device, makes_loop_devices
from tests.stories.stemcell_images import PROPERTIES, SMALL
from tests.stories.story import Story

pytestmark = pytest.mark.usefixtures("fast_clock")

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


def test_by_volume(story: Story, own_vm: OwnVm, fake_aws: FakeAws, made: ListResources) -> None:
    """A volume is created, attached, written and deleted; its snapshot becomes the AMI."""
    ami_id = own_vm.create().ok()
    assert fake_aws.actions() == [*BY_VOLUME, *REGISTERED]
    assert (own_vm.called_with, own_vm.image) == ([own_vm.disk], SMALL)
    (snapshot_id,) = made()["snapshots"]
    assert made() == {"images": [ami_id], "snapshots": [snapshot_id]}
    (creating,), (attaching,), (detaching,) = map(
        story.parameters_of, ("CreateVolume", "AttachVolume", "DetachVolume")
    )
    assert beside(creating, "TagSpecification") == {
        "Size": "3",
        "VolumeType": "gp3",
        "AvailabilityZone": "us-east-1a",
        "Encrypted": "false",
    }
    volume_id = attaching["VolumeId"]
    assert beside(attaching) == {"VolumeId": volume_id, "InstanceId": own_vm.vm_cid, "Device": "/dev/sdf"}
    assert beside(detaching) == {"VolumeId": volume_id, "InstanceId": own_vm.vm_cid, "Force": "true"}
    assert story.parameters_of("CreateSnapshot")[0]["Description"] == TITLE
    (registering,) = story.parameters_of("RegisterImage")
    assert registering["BlockDeviceMapping.1.Ebs.SnapshotId"] == snapshot_id
    tags = {"distro": "noble", "n": "1", "bosh_director_uuid": DIRECTOR_UUID}
    tags["bosh_stemcell"] = story.tags_of(ami_id)["bosh_stemcell"]
    assert registering["Name"].startswith("BOSH-")
    assert story.tags_of(snapshot_id) == {**tags, "bosh_ami": ami_id}
    assert story.tags_of(ami_id) == {**tags, "Name": TITLE}
    assert {creating[f"TagSpecification.1.Tag.{n}.Key"] for n in range(1, 5)} == set(tags)


@pytest.mark.skipif(not makes_loop_devices(), reason="this user can make no loop devices")
def test_in_earnest(own_vm: OwnVm, tmp_path: Path, made: ListResources) -> None:
    """The program writes the image to the device, as a block device of this computer shows."""
    with loop_device(tmp_path) as device:
        own_vm.has(device)
        own_vm.writes_in_earnest()
        ami_id = own_vm.create().ok()
    assert made()["images"] == [ami_id]
    content = (tmp_path / "disk").read_bytes()
    assert content[: len(SMALL)] == SMALL
    assert content[len(SMALL) :] == b"\xff" * (DISK_SIZE - len(SMALL))


def test_by_itself(story: Story, own_vm: OwnVm, fake_aws: FakeAws, made: ListResources) -> None:
    """Without permission for the EBS direct APIs a volume is used, with a warning."""
    fake_aws.rule(action="PutSnapshotBlock", error=DENIED)
    answer = own_vm.create("ebs_direct")
    ami_id = answer.ok()
    assert (own_vm.called_with, own_vm.image) == ([own_vm.disk], SMALL)
    (snapshot_id,) = made()["snapshots"]
    assert made() == {"images": [ami_id], "snapshots": [snapshot_id]}
    effects = [each for each in fake_aws.actions() if each in {"DeleteSnapshot", "CreateVolume"}]
    assert effects == ["DeleteSnapshot", "CreateVolume"]
    why = f"PutSnapshotBlock failed with AccessDeniedException: You may not. (request id {REQUEST_ID}"
    (told,) = [line for line in story.warnings(answer) if line.startswith("No permission")]
    assert told.startswith(f"No permission for the EBS direct APIs, using a volume instead: {why}")


def test_encrypted(story: Story, own_vm: OwnVm, world: World) -> None:
    """The volume is encrypted, and so the snapshot; RegisterImage has no encryption."""
    ami_id = own_vm.create(encrypted=True, kms_key_arn=KEY).ok()
    (creating,), (registering,) = story.parameters_of("CreateVolume"), story.parameters_of("RegisterImage")
    assert (creating["Encrypted"], creating["KmsKeyId"]) == ("true", KEY)
    assert [name for name in registering if "Encrypted" in name] == []
    (image,) = world.ec2.describe_images(ImageIds=[ami_id])["Images"]
    assert image["BlockDeviceMappings"][0]["Ebs"]["Encrypted"] is True


def test_volume_that_stays(own_vm: OwnVm, fake_aws: FakeAws, made: ListResources) -> None:
    """A volume that can't be deleted is logged, and the stemcell is created all the same."""
    fake_aws.refuse("DeleteVolume", "InvalidRequest")
    answer = own_vm.create()
    assert answer.ok() in made()["images"]
    (volume_id,) = made()["volumes"]
    (line,) = [line for line in answer.stderr.splitlines() if "Perhaps left behind" in line]
    assert volume_id in line


def test_no_program(story: Story, own_vm: OwnVm, fake_aws: FakeAws, made: ListResources) -> None:
    """Without the release's program nothing is created, and the error has the alternatives."""
    own_vm.has_no_program()
    message = (
        "The program stemcell-copy, which is part of the release, is not installed here: use "
        "the EBS direct APIs (aws.stemcell_upload: ebs_direct), or the light stemcell of the same version"
    )
    assert own_vm.create().error == story.failure("CloudError", message)
    assert fake_aws.actions() == []
    assert made() == {}


def test_program_that_can_not_be_started(own_vm: OwnVm, made: ListResources) -> None:
    """The error for a program that can't be started has the system's words."""
    own_vm.is_written_for("/no/such/shell")
    error = own_vm.create().error
    assert error["type"] == "Bosh::Clouds::CloudError"
    assert error["message"].startswith("Unable to copy stemcell root image: ")
    assert error["message"].endswith(": No such file or directory")
    assert made() == {}


def test_interrupted_while_writing(own_vm: OwnVm, made: ListResources) -> None:
    """A signal while the program runs ends the program, too."""
    own_vm.writes_by("kill -TERM $PPID; exec cat > /dev/null")
    assert own_vm.create().error["message"].startswith("The call was interrupted by SIGTERM")
    assert own_vm.called_with == [own_vm.disk]
    assert made() == {}


def test_killed_after_the_snapshot(own_vm: OwnVm, fake_aws: FakeAws, made: ListResources) -> None:
    """The same request deletes the volume of a killed upload, and the snapshot that has no AMI yet."""
    cpi, context = own_vm.cpi(), {"request_id": "cpi-1"}
    given = ("create_stemcell", *own_vm.heavy.arguments)
    kill_at(fake_aws, lambda: cpi.start(*given, context=context), action="CreateSnapshot", when="after")
    ami_id = cpi.call(*given, context=context).ok()
    (snapshot_id,) = made()["snapshots"]
    assert made() == {"images": [ami_id], "snapshots": [snapshot_id]}


def test_gone_vm(story: Story, own_vm: OwnVm, world: World, made: ListResources) -> None:
    """If EC2 does not know the instance of the metadata, the error is VMNotFound."""
    world.ec2.terminate_instances(InstanceIds=[own_vm.vm_cid])
    expected = story.failure("VMNotFound", f"VM `{own_vm.vm_cid}' not found")
    assert own_vm.create().error == expected
    assert made() == {}
