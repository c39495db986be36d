"""Requests of `bosh create-env`, replayed: responses, and the state afterwards.

It asks for info before every call, which is replayed where a flow has it first; the others are only counted.
"""

from collections.abc import Callable, Container
from itertools import pairwise

import pytest

from testbed.executable import Cpi
from testbed.replay import Replay, Step
from testbed.world import World
from tests.contract.recorded import attached, check, is_info, persistent, read, shortened, tags

pytestmark = pytest.mark.usefixtures("warm")

AMI, OLDER_AMI = "ami-0123456789abcdef3", "ami-0123456789abcdef2"
UUID_LENGTH = 36
FIRST_VM, FIRST_DISK = "i-48fcd10e95a2419ba", "vol-351c9a9f155c458fb"
SECOND_DISK = "vol-440210d6b8984d4ab"


@pytest.fixture
def replay(cpi: Cpi, world: World) -> Replay:
    """Return a replay in which the recording's image, subnet and addresses are the world's."""
    older = world.ec2.copy_image(Name="older", SourceImageId=world.image_id, SourceRegion="us-east-1")
    names = {
        AMI: world.image_id,
        OLDER_AMI: older["ImageId"],
        "subnet-0123456789abcdef0": world.subnet_id,
        "127.0.0.1": "10.0.1.10",
        "127.0.0.254": "10.0.1.1",
        "255.0.0.0": "255.255.255.0",
    }
    return Replay(cpi, names)


@pytest.fixture
def play(replay: Replay) -> Callable[..., list[Step]]:
    """Return a function that plays a recorded flow, with each answer of info once."""

    def play_shortened(name: str, methods: Container[str] | None = None) -> list[Step]:
        flow = read(name)
        infos = [is_info(line) for line in flow]
        assert infos[0]
        assert all(before or now for before, now in pairwise(infos)), "a call without info before it"
        assert infos.count(True) >= infos.count(False)
        return replay.play(shortened(flow), methods)

    return play_shortened


def check_vm(replay: Replay, world: World, vm_cid: str, disks: dict[str, str]) -> None:
    """Check that one VM is all there is, with these persistent disks, tagged as the caller asked."""
    devices = attached(world, replay.names[vm_cid])
    assert persistent(devices) == {name: replay.names[disk_cid] for name, disk_cid in disks.items()}
    state = world.state()
    assert state["instances"] == [replay.names[vm_cid]]
    assert state["volumes"] == sorted(devices.values())
    assert len(state["interfaces"]) == 1
    instance = world.instance(replay.names[vm_cid])
    assert instance["PrivateIpAddress"] == "10.0.1.10"
    labels = tags(instance)
    labels.pop("created_at")
    assert len(labels.pop("bosh_agent_id")) == len(labels.pop("bosh_director_uuid")) == UUID_LENGTH
    assert labels == {
        "Name": "bosh/0",
        "deployment": "toy-env",
        "director": "bosh-init",
        "index": "0",
        "instance_group": "bosh",
        "job": "bosh",
        "owner": "test",
    }
    for disk_cid in disks.values():
        (volume,) = world.ec2.describe_volumes(VolumeIds=[replay.names[disk_cid]])["Volumes"]
        labels = tags(volume)
        labels.pop("attached_at")
        labels.pop("created_at", None)
        assert labels.items() >= {"owner": "test", "instance_index": "0", "instance_group": "bosh"}.items()


def test_create_env(replay: Replay, play: Callable[..., list[Step]], world: World) -> None:
    """create-env makes a VM with a disk, grows the disk, and makes the VM anew around it."""
    check(play("01-create-env-fresh.jsonl"))
    check_vm(replay, world, FIRST_VM, {"/dev/sdf": FIRST_DISK})
    check(play("03-create-env-disk-grow.jsonl"))
    check_vm(replay, world, "i-421c740743ca42cfb", {"/dev/sdg": SECOND_DISK})
    (grown,) = world.ec2.describe_volumes(VolumeIds=[replay.names[SECOND_DISK]])["Volumes"]
    assert (grown["Size"], grown["VolumeType"], grown["Encrypted"]) == (6, "gp3", False)
    check(play("04-create-env-property-change.jsonl"))
    check_vm(replay, world, "i-c6adf6ad9cf24334a", {"/dev/sdf": SECOND_DISK})


def test_stemcell_change_and_delete_env(
    replay: Replay, play: Callable[..., list[Step]], world: World
) -> None:
    """create-env takes another stemcell for the VM of an earlier one, and delete-env leaves nothing."""
    before = world.state()
    making = {"create_vm", "create_disk", "attach_disk"}
    check(play("01-create-env-fresh.jsonl", making))
    replay.same("i-e4c31bf4f649430aa", FIRST_VM)
    replay.same("vol-7850a3dcccf04f6da", FIRST_DISK)
    check(play("09-create-env-stemcell-change.jsonl"))
    check_vm(replay, world, "i-38593c4e83f24268a", {"/dev/sdf": FIRST_DISK})
    instance = world.instance(replay.names["i-38593c4e83f24268a"])
    assert instance["ImageId"] == replay.names[OLDER_AMI]
    replay.same("i-30879d2443fb4e059", "i-38593c4e83f24268a")
    check(play("11-delete-env.jsonl"))
    assert world.state() == before
    images = world.ec2.describe_images(ImageIds=[world.image_id, replay.names[OLDER_AMI]])["Images"]
    assert len(images) == 2
