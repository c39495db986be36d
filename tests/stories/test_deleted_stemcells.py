"""delete_stemcell: the AMI and all of its snapshots, in as few calls as EC2 lets it be."""

from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi
from testbed.world import World
from tests.stories.story import Story

UNKNOWN = {"code": "UnknownParameter", "message": "The parameter DeleteAssociatedSnapshots is not recognized"}
DENIED = {"code": "UnauthorizedOperation", "message": "You are not authorized to do this.", "status": 403}


class Stemcells:
    """AMIs with snapshots of their own, as heavy stemcells are."""

    def __init__(self, world: World, fake_aws: FakeAws) -> None:
        """Begin with nothing."""
        self._ec2 = world.ec2
        self._ebs: Any = fake_aws.client("ebs")
        self._fake_aws = fake_aws
        self._empty = world.state()
        self._world = world

    def snapshots(self, count: int = 2) -> list[str]:
        """Make some snapshots without a volume."""
        made = [self._ebs.start_snapshot(VolumeSize=1)["SnapshotId"] for _ in range(count)]
        for snapshot_id in made:
            self._ebs.complete_snapshot(SnapshotId=snapshot_id, ChangedBlocksCount=0)
        return made

    def register(self, snapshot_ids: list[str], name: str = "BOSH-heavy") -> str:
        """Make an AMI of snapshots, and have them marked; the list of calls begins anew."""
        devices = [
            {"DeviceName": f"/dev/xvd{letter}", "Ebs": {"SnapshotId": snapshot_id}}
            for letter, snapshot_id in zip("ab", snapshot_ids, strict=False)
        ]
        ami_id: str = self._ec2.register_image(
            Name=name, RootDeviceName="/dev/xvda", BlockDeviceMappings=devices
        )["ImageId"]
        self._ec2.create_tags(Resources=snapshot_ids, Tags=[{"Key": "bosh_ami", "Value": ami_id}])
        self._fake_aws.forget_calls()
        return ami_id

    def left(self) -> tuple[list[str], list[str]]:
        """List the AMIs and the snapshots that are there; nothing else may be."""
        self._fake_aws.clear_rules()
        now = self._world.state()
        assert {**now, "images": [], "snapshots": []} == self._empty
        return now["images"], now["snapshots"]


@pytest.fixture
def stemcells(world: World, fake_aws: FakeAws) -> Stemcells:
    """Return the stemcells of this story."""
    return Stemcells(world, fake_aws)


def test_snapshots_that_ec2_did_not_delete(
    story: Story, cpi: Cpi, stemcells: Stemcells, fake_aws: FakeAws
) -> None:
    """A snapshot that EC2 did not delete with the AMI is deleted by another call."""
    first, second = stemcells.snapshots()
    ami_id = stemcells.register([first, second])
    fake_aws.rule(action="DeregisterImage", states=["success", "missing-permissions"])
    assert cpi.call("delete_stemcell", ami_id).ok() is None
    assert [call["SnapshotId"] for call in story.parameters_of("DeleteSnapshot")] == [second]
    assert stemcells.left() == ([], [])


@pytest.mark.parametrize("knows", [True, False], ids=["at-once", "the-long-way"])
def test_snapshot_of_another_ami(
    story: Story, cpi: Cpi, stemcells: Stemcells, fake_aws: FakeAws, *, knows: bool
) -> None:
    """A snapshot that another AMI uses stays; that is no error."""
    own, shared = stemcells.snapshots()
    ami_id = stemcells.register([own, shared])
    other = stemcells.register([shared], "BOSH-other")
    if not knows:
        fake_aws.rule(action="DeregisterImage", nth=1, error=UNKNOWN)
    answer = cpi.call("delete_stemcell", ami_id)
    assert answer.ok() is None
    assert stemcells.left() == ([other], [shared])
    stays = [] if knows else [f"Snapshot '{shared}' of AMI '{ami_id}' is kept: another AMI uses it"]
    assert story.warnings(answer) == stays


def test_ami_that_is_gone(cpi: Cpi, stemcells: Stemcells, world: World) -> None:
    """The snapshots of an AMI that is gone are found by their tag; those of others stay."""
    snapshot_ids, others = stemcells.snapshots(), stemcells.snapshots()
    ami_id, other = stemcells.register(snapshot_ids), stemcells.register(others, "BOSH-other")
    world.ec2.deregister_image(ImageId=ami_id)
    assert stemcells.left() == ([other], sorted([*snapshot_ids, *others]))
    assert cpi.call("delete_stemcell", ami_id).ok() is None
    assert stemcells.left() == ([other], sorted(others))


def test_question_that_is_not_permitted(
    story: Story, cpi: Cpi, stemcells: Stemcells, world: World, fake_aws: FakeAws
) -> None:
    """If the snapshots of an AMI that is gone can't be listed, that is a warning."""
    snapshot_ids = stemcells.snapshots()
    ami_id = stemcells.register(snapshot_ids)
    world.ec2.deregister_image(ImageId=ami_id)
    fake_aws.rule(action="DescribeSnapshots", error=DENIED)
    answer = cpi.call("delete_stemcell", ami_id)
    assert answer.ok() is None
    (warning,) = story.warnings(answer)
    assert warning.startswith(f"Could not look for snapshots of AMI '{ami_id}': DescribeSnapshots")
    assert stemcells.left() == ([], sorted(snapshot_ids))


def test_disabled(story: Story, cpi: Cpi, stemcells: Stemcells, world: World, fake_aws: FakeAws) -> None:
    """A disabled AMI, which EC2 shows only on request, is deleted with its snapshots, which EC2 deletes."""
    ami_id = stemcells.register(stemcells.snapshots())
    world.ec2.disable_image(ImageId=ami_id)
    assert world.ec2.describe_images(ImageIds=[ami_id])["Images"] == []
    fake_aws.forget_calls()
    assert cpi.call("delete_stemcell", ami_id).ok() is None
    assert fake_aws.actions() == ["DescribeImages", "DeregisterImage", "DescribeImages"]
    assert story.parameters_of("DeregisterImage")[0]["DeleteAssociatedSnapshots"] == "true"
    assert stemcells.left() == ([], [])
