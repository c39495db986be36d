"""delete_vm: VMs whose disks all go with them may end without their operating system's shutdown."""

from functools import partial
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.killing import act_at
from testbed.world import World
from tests.stories.story import Story

END, LOOK = "TerminateInstances", "DescribeInstances"
OPTION = "SkipOsShutdown"
OWN_TAG = "bosh_skip_os_shutdown"


def skipped_shutdowns(story: Story) -> list[bool]:
    """List of each termination whether it skipped the shutdown."""
    return [call.get(OPTION) == "true" for call in story.parameters_of(END)]


def test_skipped(story: Story, world: World, fake_aws: FakeAws) -> None:
    """One look before the termination says that no disk outlives the VM."""
    vm_cid = story.lay_vm()
    assert story.cpi_with(skip_os_shutdown=True).call("delete_vm", vm_cid, stemcell=2).ok() is None
    assert fake_aws.actions() == [LOOK, END, LOOK]
    assert skipped_shutdowns(story) == [True]
    assert world.state() == world.empty


def test_disk_that_stays(story: Story, world: World) -> None:
    """A VM with a disk that outlives it shuts down, so that the disk gets all that was written."""
    vm_cid, disk_cid = story.lay_vm(), story.lay_disk()
    world.ec2.attach_volume(InstanceId=vm_cid, VolumeId=disk_cid, Device="/dev/sdf")
    answer = story.cpi_with(skip_os_shutdown=True).call("delete_vm", vm_cid, stemcell=2)
    assert answer.ok() is None
    assert skipped_shutdowns(story) == [False]
    assert f"The shutdown of '{vm_cid}' is not skipped, because disks outlive it: {disk_cid}" in answer.stderr


def test_disks_that_are_not_shown(story: Story, fake_aws: FakeAws, world: World) -> None:
    """A VM that EC2 shows without disks, not even its root disk, may have one that outlives it."""
    vm_cid = story.lay_vm()
    world.ec2.attach_volume(InstanceId=vm_cid, VolumeId=story.lay_disk(), Device="/dev/sdf")
    fake_aws.rule(action=LOOK, nth=1, replace=[["<blockDeviceMapping>.*?</blockDeviceMapping>", ""]])
    assert story.cpi_with(skip_os_shutdown=True).call("delete_vm", vm_cid, stemcell=2).ok() is None
    assert skipped_shutdowns(story) == [False]


@pytest.mark.usefixtures("traffic")
def test_disk_that_is_attached_during_the_drain(story: Story, fake_aws: FakeAws, world: World) -> None:
    """The disks are looked at once more after the VM has left its target groups."""
    vm_cid = story.create_vm({"lb_target_groups": ["web-tls"]}).ok()[0]
    cpi = story.cpi_with(skip_os_shutdown=True, deregister_on_delete=True)
    start = partial(cpi.start, "delete_vm", vm_cid, stemcell=2)
    attach = partial(world.ec2.attach_volume, InstanceId=vm_cid, VolumeId=story.lay_disk(), Device="/dev/sdf")
    assert act_at(fake_aws, start, attach, action="DeregisterTargets", when="after").ok() is None
    assert skipped_shutdowns(story) == [False]


@pytest.mark.parametrize(
    ("key", "own", "is_skipped"),
    [(True, False, False), (False, True, True), (None, True, False)],
)
def test_own_property(story: Story, *, key: bool | None, own: bool | None, is_skipped: bool) -> None:
    """If the configuration has the key, the VM's own property, kept in its tag, takes precedence over it."""
    executable = story.cpi_with(skip_os_shutdown=key)
    vm_cid = story.create_vm({"skip_os_shutdown": own}, executable=executable).ok()[0]
    assert story.tags_of(vm_cid).get(OWN_TAG) == (None if own is None else str(own).lower())
    assert executable.call("delete_vm", vm_cid, stemcell=2).ok() is None
    assert skipped_shutdowns(story) == [is_skipped]


@pytest.mark.usefixtures("fast_clock")
@pytest.mark.parametrize("times", [1, None])
@pytest.mark.parametrize("own", [True, False])
def test_tags_that_are_not_shown(story: Story, fake_aws: FakeAws, *, times: int | None, own: bool) -> None:
    """A VM whose tags EC2 does not show, also when it is asked again, may be one that must shut down."""
    executable = story.cpi_with(skip_os_shutdown=True)
    vm_cid = story.create_vm({"skip_os_shutdown": own}, executable=executable).ok()[0]
    fake_aws.rule(action=LOOK, times=times, replace=[["<tagSet>.*?</tagSet>", ""]])
    executable.call("delete_vm", vm_cid, stemcell=2).ok()
    assert skipped_shutdowns(story) == [own and times == 1]


def test_property_without_effect(story: Story) -> None:
    """A VM that asks for it is told that the configuration does not."""
    said = "Ignored: skip_os_shutdown, because aws.skip_os_shutdown is not set (to true or false)"
    assert said in story.warnings(story.create_vm({"skip_os_shutdown": True}))
    assert said not in story.warnings(story.create_vm({"skip_os_shutdown": False}, agent_id="agent-2"))


@pytest.mark.parametrize("code", ["UnknownParameter", "UnsupportedOperation", "InvalidParameterValue"])
def test_refused(story: Story, world: World, fake_aws: FakeAws, code: str) -> None:
    """Where EC2 does not take the option, the VM shuts down; the log says so once."""
    vm_cid = story.lay_vm()
    fake_aws.refuse(END, code, "Not here.", where={OPTION: "true"}, times=None)
    answer = story.cpi_with(skip_os_shutdown=True).call("delete_vm", vm_cid, stemcell=2)
    assert answer.ok() is None
    assert skipped_shutdowns(story) == [True, False]
    (said,) = story.warnings(answer)
    why = f"EC2 refused to skip the shutdown of instance '{vm_cid}'; its termination takes longer: "
    assert said.startswith(f"{why}TerminateInstances failed with {code}: Not here.")
    assert world.state() == world.empty


def test_denied(story: Story) -> None:
    """Any other refusal is the call's error, as without the option."""
    vm_cid, message = story.lay_vm(), story.deny(END)
    answer = story.cpi_with(skip_os_shutdown=True).call("delete_vm", vm_cid, stemcell=2)
    assert answer.error == story.failure("CloudError", message)
    assert skipped_shutdowns(story) == [True]


@pytest.mark.parametrize(
    ("settings", "calls"),
    [
        ({"fast_path_delete": True}, [LOOK, END, "CreateTags"]),
        (
            {"deregister_on_delete": True},
            [LOOK, "DescribeLoadBalancers", "DescribeTargetGroups", END, LOOK],
        ),
    ],
)
def test_one_look(story: Story, fake_aws: FakeAws, settings: dict[str, Any], calls: list[str]) -> None:
    """The look serves all that delete_vm needs to know of the VM."""
    vm_cid = story.lay_vm()
    cpi = story.cpi_with(skip_os_shutdown=True, **settings)
    assert cpi.call("delete_vm", vm_cid, stemcell=2).ok() is None
    assert fake_aws.actions() == calls
    assert skipped_shutdowns(story) == [True]
