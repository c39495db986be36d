"""create_vm when EC2 refuses the launch: the next type is tried, and the Director may ask again, or not."""

import pytest

from testbed.cloud import FakeAws
from testbed.world import World
from tests.stories.story import Story, below

pytestmark = pytest.mark.usefixtures("fast_clock")


def test_quota(story: Story, fake_aws: FakeAws) -> None:
    """A quota does not rise when the Director asks again."""
    message = story.refuse_launch("VcpuLimitExceeded")
    assert story.create_vm().error == story.failure("VMCreationFailed", message)
    assert fake_aws.actions().count("RunInstances") == 1
    assert story.leftovers() == {}


@pytest.fixture
def full_subnet(world: World, fake_aws: FakeAws) -> str:
    """Return a subnet whose every address an interface holds."""
    made = world.ec2.create_subnet(VpcId=world.vpc_id, CidrBlock="10.0.9.0/28", AvailabilityZone=world.zone)
    subnet_id = str(made["Subnet"]["SubnetId"])
    world.ec2.create_network_interface(SubnetId=subnet_id, SecondaryPrivateIpAddressCount=10)
    fake_aws.forget_calls()
    return subnet_id


@pytest.mark.parametrize(
    ("is_several", "said"),
    [
        (False, "RunInstances failed with InsufficientFreeAddressesInSubnet: "),
        (
            True,
            "CreateNetworkInterface failed with InvalidParameterValue: There aren't sufficient free Ipv4 ",
        ),
    ],
    ids=["one-network", "two-networks"],
)
def test_full_subnet(story: Story, full_subnet: str, world: World, is_several: bool, said: str) -> None:  # noqa: FBT001 - a column of the table
    """A full subnet is named as what it is, whatever EC2 calls it, and the Director may ask again."""
    before = world.state()
    networks = {"full": {"type": "dynamic", "cloud_properties": {"subnet": full_subnet}}}
    if is_several:
        networks["first"] = story.network("10.0.1.10")
    error = story.create_vm(networks=networks).error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::VMCreationFailed", True)
    assert said in error["message"]
    remedy = "Use a larger subnet, delete resources in it, or give a dynamic network subnet_fallbacks"
    assert error["message"].endswith(remedy)
    assert world.state() == before


@pytest.mark.parametrize(
    "fault", [("InternalError", 500, 2), ("RequestLimitExceeded", 503, 0)], ids=["fault", "throttled"]
)
def test_aws_at_fault(story: Story, fake_aws: FakeAws, fault: tuple[str, int, int]) -> None:
    """AWS's own trouble is waited out as often as is configured, with one client token; it may pass later."""
    code, status, max_retries = fault
    message = story.refuse_launch(code, status=status)
    answer = story.create_vm(executable=story.cpi_with(max_retries=max_retries))
    assert answer.error == story.failure("VMCreationFailed", message, ok_to_retry=True)
    launches = [call["parameters"] for call in fake_aws.calls() if call["action"] == "RunInstances"]
    assert len(launches) == max_retries + 1
    assert "DescribeSpotInstanceRequests" not in fake_aws.actions()
    assert len({launch["ClientToken"] for launch in launches}) == 1
    assert story.leftovers() == {}


@pytest.mark.parametrize("action", ["RunInstances", "CreateNetworkInterface"])
def test_answer_that_never_comes(story: Story, fake_aws: FakeAws, action: str) -> None:
    """What was made by a call whose answers are lost for good is found, and is the VM's."""
    fake_aws.rule(action=action, times=None, drop="after")
    networks = {"one": story.network("10.0.1.10"), "two": story.network("10.0.2.10", 1)}
    answer = story.create_vm(networks=networks if action == "CreateNetworkInterface" else None)
    found = story.leftovers()
    assert answer.error is None
    assert found.get("instances", []) == [answer.result[0]]
    assert len(found["interfaces"]) == len(answer.result[1])


FIRST, SECOND = "t3.micro", "m5.large"
FALLBACK = {"instance_type": FIRST, "instance_type_fallbacks": [SECOND]}
OF_FIRST, OF_SECOND = {"InstanceType": FIRST}, {"InstanceType": SECOND}


def test_first_type_short(story: Story, world: World) -> None:
    """Each type is tried once, also when EC2 says HTTP 500; all the rest of the launch stays the same."""
    message = story.refuse_launch("InsufficientInstanceCapacity", OF_FIRST, 500)
    answer = story.create_vm(FALLBACK)
    instance = world.instance(answer.ok()[0])
    assert (instance["InstanceType"], instance["PrivateIpAddress"]) == (SECOND, "10.0.1.10")
    first, second = story.parameters_of("RunInstances")
    assert (first["InstanceType"], second["InstanceType"]) == (FIRST, SECOND)
    differing = {name for name in first.keys() | second.keys() if first.get(name) != second.get(name)}
    assert differing == {"InstanceType", "ClientToken"}
    assert f"EC2 can't launch {FIRST} (on demand): {message.removesuffix(')')}" in answer.stderr


def test_two_networks(story: Story, world: World) -> None:
    """Interfaces that were made first serve the next type."""
    story.refuse_launch("InsufficientInstanceCapacity", OF_FIRST, 500)
    vm_cid = story.create_vm(
        FALLBACK, {"one": story.network("10.0.1.10"), "two": story.network("10.0.2.10", 1)}
    ).ok()[0]
    first, second = story.parameters_of("RunInstances")
    assert below(first, "NetworkInterface") == below(second, "NetworkInterface") != {}
    found = [nic["NetworkInterfaceId"] for nic in world.instance(vm_cid)["NetworkInterfaces"]]
    assert sorted(found) == world.state()["interfaces"]
    assert len(story.parameters_of("CreateNetworkInterface")) == 2


def test_devices_follow_the_type(story: Story) -> None:
    """The instance store is that of the type that was launched: for EC2, and for the agent."""
    story.refuse_launch("InsufficientInstanceCapacity", {"InstanceType": "m3.xlarge"}, 500)
    properties = {"instance_type": "m3.xlarge", "instance_type_fallbacks": ["m5d.large"]}
    vm_cid = story.create_vm({**properties, "raw_instance_storage": True}).ok()[0]
    assert story.settings(vm_cid)["disks"]["raw_ephemeral"] == [{"path": "/dev/nvme0n1"}]
    mapped = [
        {value for name, value in call.items() if name.endswith(".DeviceName")}
        for call in story.parameters_of("RunInstances")
    ]
    assert mapped == [{"/dev/sdb", "/dev/xvda", "/dev/xvdba", "/dev/xvdbb"}, {"/dev/sdb", "/dev/xvda"}]


def test_all_exhausted(story: Story, fake_aws: FakeAws) -> None:
    """When no type has capacity the error lists what each one answered, and what helps."""
    first, second = (
        story.refuse_launch("InsufficientInstanceCapacity", OF_FIRST),
        story.refuse_launch("InstanceLimitExceeded", OF_SECOND),
    )
    message = (
        "EC2 could launch none of the VM's options. "
        f"{FIRST} (on demand): {first}; {SECOND} (on demand): {second}. "
        "Add instance_type_fallbacks, or use another type or zone. "
        "If VMs were just deleted, retry in some minutes: they may still count. Otherwise delete unused VMs, "
        "or ask AWS to raise the quota"
    )
    assert story.create_vm(FALLBACK).error == story.failure("VMCreationFailed", message, ok_to_retry=True)
    assert fake_aws.actions().count("RunInstances") == 2
    assert story.leftovers() == {}
