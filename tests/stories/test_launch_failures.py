"""create_vm when EC2 refuses the launch: what the Director may ask for again, and what not."""

import pytest

from testbed.cloud import FakeAws
from testbed.world import World
from tests.protocols import CpiWith, CreateVm, ListResources, RefuseLaunch, WriteError, WriteNetwork

pytestmark = pytest.mark.usefixtures("hasty")


@pytest.mark.parametrize(
    ("code", "ok_to_retry"),
    [
        ("InsufficientInstanceCapacity", True),
        ("VcpuLimitExceeded", False),
    ],
)
def test_no_capacity(
    create_vm: CreateVm,
    short: RefuseLaunch,
    failure: WriteError,
    fake_aws: FakeAws,
    left: ListResources,
    code: str,
    ok_to_retry: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """When AWS is short of something the Director may ask again; a quota does not rise by that."""
    message = short(code)
    assert create_vm().error == failure("VMCreationFailed", message, ok_to_retry=ok_to_retry)
    assert fake_aws.actions().count("RunInstances") == 1
    assert left() == {}


@pytest.fixture
def full_subnet(world: World, fake_aws: FakeAws) -> str:
    """Return a subnet whose every address an interface holds."""
    made = world.ec2.create_subnet(VpcId=world.vpc_id, CidrBlock="10.0.9.0/28", AvailabilityZone=world.zone)
    subnet_id = str(made["Subnet"]["SubnetId"])
    for last in range(4, 15):
        world.ec2.create_network_interface(SubnetId=subnet_id, PrivateIpAddress=f"10.0.9.{last}")
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
def test_full_subnet(
    create_vm: CreateVm,
    network: WriteNetwork,
    full_subnet: str,
    world: World,
    is_several: bool,  # noqa: FBT001 - a column of the table
    said: str,
) -> None:
    """A full subnet is named as what it is, whatever EC2 calls it, and the Director may ask again."""
    before = world.state()
    networks = {"full": {"type": "dynamic", "cloud_properties": {"subnet": full_subnet}}}
    if is_several:
        networks["first"] = network("10.0.1.10")
    error = create_vm(networks=networks).error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::VMCreationFailed", True)
    assert said in error["message"]
    remedy = "Use a larger subnet, delete resources in it, or give a dynamic network subnet_fallbacks"
    assert error["message"].endswith(remedy)
    assert world.state() == before


@pytest.mark.parametrize(
    "fault", [("InternalError", 500, 2), ("RequestLimitExceeded", 503, 0)], ids=["fault", "throttled"]
)
def test_aws_at_fault(
    create_vm: CreateVm,
    cpi_with: CpiWith,
    short: RefuseLaunch,
    failure: WriteError,
    fake_aws: FakeAws,
    left: ListResources,
    fault: tuple[str, int, int],
) -> None:
    """AWS's own trouble is waited out as often as is configured, with one client token; it may pass later."""
    code, status, max_retries = fault
    message = short(code, status=status)
    answer = create_vm(executable=cpi_with(max_retries=max_retries))
    assert answer.error == failure("VMCreationFailed", message, ok_to_retry=True)
    launches = [call["parameters"] for call in fake_aws.calls() if call["action"] == "RunInstances"]
    assert len(launches) == max_retries + 1
    assert len({launch["ClientToken"] for launch in launches}) == 1
    assert left() == {}


@pytest.mark.parametrize("action", ["RunInstances", "CreateNetworkInterface"])
def test_answer_that_never_comes(
    create_vm: CreateVm,
    network: WriteNetwork,
    fake_aws: FakeAws,
    left: ListResources,
    action: str,
) -> None:
    """What was made by a call whose answers are lost for good is found, and is the VM's."""
    fake_aws.rule(action=action, times=None, drop="after")
    networks = {"one": network("10.0.1.10"), "two": network("10.0.2.10", 1)}
    answer = create_vm(networks=networks if action == "CreateNetworkInterface" else None)
    found = left()
    assert answer.error is None
    assert found.get("instances", []) == [answer.result[0]]
    assert len(found["interfaces"]) == len(answer.result[1])
