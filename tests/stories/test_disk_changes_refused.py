"""resize_disk and update_disk: why a volume is not changed, or not now."""

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi
from testbed.rules import REQUEST_ID
from testbed.world import World
from tests.stories.story import Story
from tests.stories.volumes import METHODS, TWO_GIB, Volumes, asked


def test_smaller(story: Story, cpi: Cpi, volumes: Volumes, fake_aws: FakeAws) -> None:
    """EBS can make no disk smaller, in place or by a copy: the Director copies; in the log it is no error."""
    answer = cpi.call("update_disk", volumes.make(Size=3), TWO_GIB, {})
    message = "Cannot resize volume to a smaller size from 3 GiB to 2 GiB"
    assert answer.error == story.failure("NotSupported", message)
    assert f" INFO: Bosh::Clouds::NotSupported: {message}" in answer.stderr
    assert "ERROR" not in answer.stderr
    assert fake_aws.actions() == ["DescribeVolumes"]


def test_resize_of_the_old_type(story: Story, cpi: Cpi, volumes: Volumes, fake_aws: FakeAws) -> None:
    """EBS resizes no volume of the old type either: the Director copies."""
    disk_cid = volumes.make(VolumeType="standard")
    message = f"Volume '{disk_cid}' can't be changed in place: EBS can't change volumes of type standard"
    assert cpi.call("resize_disk", disk_cid, TWO_GIB).error == story.failure("NotSupported", message)
    assert fake_aws.actions() == ["DescribeVolumes"]


def test_rules_of_the_type(story: Story, cpi: Cpi, volumes: Volumes, fake_aws: FakeAws) -> None:
    """Figures that the type does not take, whatever the disk has now, are an error and no reason to copy."""
    answer = cpi.call("update_disk", volumes.make(Throughput=250), TWO_GIB, {"throughput": 1000})
    message = "cloud_properties.throughput of 1000 MiB/s needs 4000 iops, but there are only 3000"
    assert answer.error == story.failure("CloudError", f"EBS would refuse the disk: {message}")
    assert "ModifyVolume" not in fake_aws.actions()


def test_failed(story: Story, cpi: Cpi, volumes: Volumes, fake_aws: FakeAws) -> None:
    """A change that EBS could not make is an error with its reason."""
    disk_cid = volumes.make()
    fake_aws.rule(action="ModifyVolume", states=["modifying", "failed: there is no room"])
    message = f"EBS could not change volume '{disk_cid}': there is no room"
    assert cpi.call("update_disk", disk_cid, TWO_GIB, {}).error == story.failure("CloudError", message)


@pytest.mark.parametrize("code", ["IncorrectModificationState", "VolumeModificationSizeLimitExceeded"])
def test_not_again_yet(story: Story, cpi: Cpi, volumes: Volumes, fake_aws: FakeAws, code: str) -> None:
    """A volume that may not be resized again yet is NotSupported, with EC2's words: the Director copies."""
    disk_cid = volumes.make()
    fake_aws.refuse("ModifyVolume", code, "Wait a while.")
    why = f"ModifyVolume failed with {code}: Wait a while. (request id {REQUEST_ID})"
    expected = story.failure("NotSupported", f"Volume '{disk_cid}' can't be changed now: {why}")
    assert cpi.call("resize_disk", disk_cid, TWO_GIB).error == expected


@pytest.mark.parametrize("method", METHODS)
def test_unknown_disk(story: Story, cpi: Cpi, world: World, method: str) -> None:
    """A disk whose id EC2 calls malformed is DiskNotFound."""
    assert cpi.call(*asked(method, "vol-x")).error == story.failure("DiskNotFound", "Disk 'vol-x' not found")
    assert world.state() == world.empty
