"""A process that was killed has left something behind: the same call again finds it and goes on with it."""

from collections.abc import Callable
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.killing import kill_at
from testbed.traffic import Traffic
from testbed.world import World
from tests.stories.story import Story

ADDRESS = "10.0.1.10"


@pytest.fixture
def only(world: World) -> Callable[[str], dict[str, Any]]:
    """Return a function that checks that one VM is all there is, and returns what EC2 shows of it."""

    def check(vm_cid: str) -> dict[str, Any]:
        instance = world.instance(vm_cid)
        assert instance["State"]["Name"] == "running"
        volumes = [device["Ebs"]["VolumeId"] for device in instance["BlockDeviceMappings"]]
        interfaces = [nic["NetworkInterfaceId"] for nic in instance["NetworkInterfaces"]]
        assert world.state() == {
            **world.empty,
            "instances": [vm_cid],
            "volumes": sorted(volumes),
            "interfaces": sorted(interfaces),
        }
        return instance

    return check


def test_other_arguments(
    story: Story,
    exposed: dict[str, Any],
    traffic: Traffic,
    fake_aws: FakeAws,
    world: World,
    only: Callable[[str], dict[str, Any]],
) -> None:
    """An interface that was made with other arguments is replaced: it holds the VM's address."""
    with_group = {**exposed["properties"], "security_groups": ["web"]}
    kill_at(fake_aws, lambda: story.start_vm(**exposed), action="RunInstances")
    left = world.state()["interfaces"]
    vm_cid = story.create_vm(with_group, exposed["networks"]).ok()[0]
    instance = only(vm_cid)
    assert [group["GroupName"] for group in instance["SecurityGroups"]] == ["web"]
    nics = sorted(instance["NetworkInterfaces"], key=lambda nic: nic["Attachment"]["DeviceIndex"])
    assert [nic["PrivateIpAddress"] for nic in nics] == [ADDRESS, "10.0.2.10"]
    assert [nic["SourceDestCheck"] for nic in nics] == [False, False]
    assert len(left) == 2
    assert not {nic["NetworkInterfaceId"] for nic in nics} & set(left)
    first = nics[0]["NetworkInterfaceId"]
    assert traffic.state() == {
        "associations": [first],
        "targets": [vm_cid],
        "registered": [vm_cid],
        "routes": [f"0.0.0.0/0 {first}", f"10.9.0.0/16 {first}"],
    }


def test_killed_while_removing(
    story: Story, fake_aws: FakeAws, only: Callable[[str], dict[str, Any]]
) -> None:
    """Killed while it takes a VM back: the same call again makes another one."""
    story.deny("DescribeInstances")
    kill_at(fake_aws, story.start_vm, action="TerminateInstances", when="after")
    fake_aws.clear_rules()
    only(story.create_vm().ok()[0])
