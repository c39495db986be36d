"""instance_type_fallbacks: when EC2 has none of a type, the next one is launched."""

from collections.abc import Callable

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi, config
from testbed.registry import PASSWORD, USER, Registry
from testbed.world import World
from tests.protocols import (
    CreateVm,
    ListResources,
    ReadCalls,
    ReadSettings,
    RefuseLaunch,
    VmArguments,
    WriteError,
    WriteNetwork,
)

FIRST, SECOND = "t3.micro", "m5.large"
FALLBACK = {"instance_type": FIRST, "instance_type_fallbacks": [SECOND]}
OF_FIRST, OF_SECOND = {"InstanceType": FIRST}, {"InstanceType": SECOND}


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("InsufficientInstanceCapacity", 500),
        ("Unsupported", 400),
        ("VcpuLimitExceeded", 500),
    ],
)
def test_first_type_short(
    create_vm: CreateVm,
    short: RefuseLaunch,
    sent: ReadCalls,
    world: World,
    code: str,
    status: int,
) -> None:
    """Each type is tried once, also when EC2 says HTTP 500; all the rest of the launch stays the same."""
    message = short(code, OF_FIRST, status)
    answer = create_vm(FALLBACK)
    instance = world.instance(answer.ok()[0])
    assert (instance["InstanceType"], instance["PrivateIpAddress"]) == (SECOND, "10.0.1.10")
    first, second = sent("RunInstances")
    assert (first["InstanceType"], second["InstanceType"]) == (FIRST, SECOND)
    differing = {name for name in first.keys() | second.keys() if first.get(name) != second.get(name)}
    assert differing == {"InstanceType", "ClientToken"}
    assert f"EC2 can't launch {FIRST} (on demand): {message.removesuffix(')')}" in answer.stderr


def test_two_networks(
    create_vm: CreateVm,
    short: RefuseLaunch,
    network: WriteNetwork,
    sent: ReadCalls,
    below: Callable[[dict[str, str], str], dict[str, str]],
    world: World,
) -> None:
    """Interfaces that were made first serve the next type."""
    short("InsufficientInstanceCapacity", OF_FIRST, 500)
    vm_cid = create_vm(FALLBACK, {"one": network("10.0.1.10"), "two": network("10.0.2.10", 1)}).ok()[0]
    first, second = sent("RunInstances")
    assert below(first, "NetworkInterface") == below(second, "NetworkInterface") != {}
    found = [nic["NetworkInterfaceId"] for nic in world.instance(vm_cid)["NetworkInterfaces"]]
    assert sorted(found) == world.state()["interfaces"]
    assert len(sent("CreateNetworkInterface")) == 2


@pytest.mark.parametrize("has_registry", [False, True], ids=["user-data", "registry"])
def test_devices_follow_the_type(
    vm_arguments: VmArguments,
    short: RefuseLaunch,
    sent: ReadCalls,
    settings: ReadSettings,
    fake_aws: FakeAws,
    *,
    has_registry: bool,
) -> None:
    """The instance store is that of the type that was launched: for EC2, and for the agent."""
    short("InsufficientInstanceCapacity", {"InstanceType": "m3.xlarge"}, 500)
    properties = {"instance_type": "m3.xlarge", "instance_type_fallbacks": ["m5d.large"]}
    arguments = vm_arguments({**properties, "raw_instance_storage": True})
    with Registry() as registry:
        section = {"endpoint": registry.endpoint, "user": USER, "password": PASSWORD}
        cpi = Cpi(config(fake_aws.endpoint, registry=section))
        made = cpi.call("create_vm", *arguments, stemcell=1 if has_registry else 2).ok()
        vm_cid = made if isinstance(made, str) else made[0]
        told = registry.settings(vm_cid) if has_registry else settings(vm_cid)
    assert told["disks"]["raw_ephemeral"] == [{"path": "/dev/nvme0n1"}]
    mapped = [
        {value for name, value in call.items() if name.endswith(".DeviceName")}
        for call in sent("RunInstances")
    ]
    assert mapped == [{"/dev/sdb", "/dev/xvda", "/dev/xvdba", "/dev/xvdbb"}, {"/dev/sdb", "/dev/xvda"}]


@pytest.mark.parametrize(
    ("codes", "ok_to_retry"),
    [
        (["InsufficientInstanceCapacity", "InstanceLimitExceeded"], True),
        (["VcpuLimitExceeded", "InstanceLimitExceeded"], False),
    ],
    ids=["capacity", "quotas"],
)
def test_all_exhausted(
    create_vm: CreateVm,
    short: RefuseLaunch,
    failure: WriteError,
    left: ListResources,
    fake_aws: FakeAws,
    codes: list[str],
    ok_to_retry: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """When no type has capacity the error lists what each one answered; quotas alone are not retriable."""
    said = [short(code, where) for code, where in zip(codes, (OF_FIRST, OF_SECOND), strict=True)]
    message = (
        "No capacity for any of the VM's instance types. "
        f"{FIRST} (on demand): {said[0]}; {SECOND} (on demand): {said[1]}"
    )
    assert create_vm(FALLBACK).error == failure("VMCreationFailed", message, ok_to_retry=ok_to_retry)
    assert fake_aws.actions().count("RunInstances") == 2
    assert left() == {}


def test_no_matter_of_the_type(
    create_vm: CreateVm,
    short: RefuseLaunch,
    failure: WriteError,
    fake_aws: FakeAws,
) -> None:
    """A launch that EC2 refuses for another reason is not tried with another type."""
    message = short("InvalidKeyPair.NotFound", OF_FIRST)
    assert create_vm(FALLBACK).error == failure("CloudError", message)
    assert fake_aws.actions().count("RunInstances") == 1
