"""A process that was killed has left something behind: the same call again finds it and goes on with it."""

from collections.abc import Callable
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Answer
from testbed.killing import kill_at
from testbed.traffic import Traffic
from testbed.world import World
from tests.protocols import CreateVm, ReadCalls, Refuse, StartVm

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


@pytest.fixture
def whole(only: Callable[[str], dict[str, Any]], world: World, traffic: Traffic) -> Callable[[Answer], None]:
    """Return a function that checks that a VM is all there is, and has everything that it is to have."""

    def check(answer: Answer) -> None:
        vm_cid = answer.ok()[0]
        nics = sorted(
            only(vm_cid)["NetworkInterfaces"], key=lambda nic: int(nic["Attachment"]["DeviceIndex"])
        )
        assert [nic["PrivateIpAddress"] for nic in nics] == [ADDRESS, "10.0.2.10"]
        assert [nic["SourceDestCheck"] for nic in nics] == [False, False]
        first = nics[0]["NetworkInterfaceId"]
        (described,) = world.ec2.describe_network_interfaces(NetworkInterfaceIds=[first])["NetworkInterfaces"]
        assert described["Ipv4Prefixes"] == [{"Ipv4Prefix": "10.0.1.32/28"}]
        assert traffic.state() == {
            "associations": [first],
            "targets": [vm_cid],
            "registered": [vm_cid],
            "routes": [f"0.0.0.0/0 {first}", f"10.9.0.0/16 {first}"],
        }
        world.ec2.terminate_instances(InstanceIds=[vm_cid])
        assert world.state() == world.empty  # the interfaces, too, end with it

    return check


def test_after_a_fallback(
    create_vm: CreateVm,
    start_vm: StartVm,
    fake_aws: FakeAws,
    sent: ReadCalls,
    only: Callable[[str], dict[str, Any]],
) -> None:
    """The instance of a fallback is the VM, though the first type has capacity again by then."""
    properties = {"instance_type": "m5.large", "instance_type_fallbacks": ["t3.micro"]}
    short = {"code": "InsufficientInstanceCapacity", "message": "Not now.", "status": 500}
    fake_aws.rule(action="RunInstances", where={"InstanceType": "m5.large"}, error=short)
    kill_at(fake_aws, lambda: start_vm(properties), 2, when="after", action="RunInstances")
    fake_aws.clear_rules()
    fake_aws.forget_calls()
    assert only(create_vm(properties).ok()[0])["InstanceType"] == "t3.micro"
    assert [call["InstanceType"] for call in sent("RunInstances")] == ["t3.micro"]


def test_after_a_relaunch(
    create_vm: CreateVm,
    start_vm: StartVm,
    fake_aws: FakeAws,
    world: World,
    only: Callable[[str], dict[str, Any]],
) -> None:
    """The instance of a second launch is the VM, though the first one's client token comes first."""
    reason = "Server.InternalError: Internal error on launch"
    fake_aws.rule(action="RunInstances", times=1, ends=reason)
    kill_at(fake_aws, start_vm, 2, when="after", action="RunInstances")
    (second,) = world.state()["instances"]
    assert only(create_vm().ok()[0])["InstanceId"] == second


def test_other_arguments(
    create_vm: CreateVm,
    start_vm: StartVm,
    exposed: dict[str, Any],
    fake_aws: FakeAws,
    world: World,
    whole: Callable[[Answer], None],
) -> None:
    """An interface that was made with other arguments is replaced: it holds the VM's address."""
    with_group = {**exposed["properties"], "security_groups": ["web"]}
    kill_at(fake_aws, lambda: start_vm(**exposed), action="RunInstances")
    left = world.state()["interfaces"]
    answer = create_vm(with_group, exposed["networks"])
    instance = world.instance(answer.ok()[0])
    assert [group["GroupName"] for group in instance["SecurityGroups"]] == ["web"]
    assert len(left) == 2
    assert not {nic["NetworkInterfaceId"] for nic in instance["NetworkInterfaces"]} & set(left)
    whole(answer)


def test_killed_while_removing(
    create_vm: CreateVm,
    start_vm: StartVm,
    deny: Refuse,
    fake_aws: FakeAws,
    only: Callable[[str], dict[str, Any]],
) -> None:
    """Killed while it takes a VM back: the same call again makes another one."""
    deny("DescribeInstances")
    kill_at(fake_aws, start_vm, action="TerminateInstances", when="after")
    fake_aws.clear_rules()
    only(create_vm().ok()[0])
