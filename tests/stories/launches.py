"""Fixtures about launches: short ways to ask for a VM, and to read what EC2 was told of it."""

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Answer, Cpi, Process
from testbed.rules import REQUEST_ID
from testbed.traffic import Traffic
from testbed.world import World
from tests.protocols import (
    CreateVm,
    ReadCalls,
    ReadSettings,
    RefuseLaunch,
    StartVm,
    VmArguments,
    WriteNetwork,
)


def below(parameters: dict[str, str], name: str) -> dict[str, str]:
    """Return the parameters below a name of RunInstances, without that name."""
    prefix = f"{name}."
    return {key.removeprefix(prefix): value for key, value in parameters.items() if key.startswith(prefix)}


@pytest.fixture
def network(world: World) -> WriteNetwork:
    """Return a function that writes a network: manual with an address, else dynamic."""

    def write(
        ip: str | None = None, subnet: int = 0, groups: str | list[Any] | None = None, **keys: Any
    ) -> Any:
        properties: dict[str, Any] = {"subnet": world.subnet_ids[subnet]}
        if groups is not None:
            properties["security_groups"] = groups
        kind: dict[str, Any] = {"type": "manual", "ip": ip} if ip else {"type": "dynamic"}
        return {**kind, "cloud_properties": properties, **keys}

    return write


@pytest.fixture
def vm_arguments(world: World, network: WriteNetwork) -> VmArguments:
    """Return a function that writes create_vm's arguments; what is not said is ordinary."""

    def write(
        properties: dict[str, Any] | None = None,
        networks: dict[str, Any] | None = None,
        disks: list[str] | None = None,
        env: dict[str, Any] | None = None,
        **more: Any,
    ) -> list[Any]:
        whole = {"instance_type": "t3.micro", "availability_zone": world.zone, **(properties or {})}
        return [
            more.get("agent_id", "agent-1"),
            more.get("stemcell_cid", f"{world.image_id} light"),
            whole,
            {"private": network("10.0.1.10")} if networks is None else networks,
            disks or [],
            env,
        ]

    return write


@pytest.fixture
def create_vm(cpi: Cpi, vm_arguments: VmArguments) -> CreateVm:
    """Return a function that asks for a VM without registry; what is not said is ordinary."""

    def create(*given: Any, executable: Cpi | None = None, **more: Any) -> Answer:
        return (executable or cpi).call("create_vm", *vm_arguments(*given, **more), stemcell=2)

    return create


@pytest.fixture
def start_vm(cpi: Cpi, vm_arguments: VmArguments) -> StartVm:
    """Return a function that does the same and does not wait for it; the caller ends it."""

    def start(*given: Any, **more: Any) -> Process:
        return cpi.start("create_vm", *vm_arguments(*given, **more), stemcell=2)

    return start


@pytest.fixture
def traffic(fake_aws: FakeAws, world: World) -> Traffic:
    """Return what exposes VMs, beside a route that leads out of the VPC."""
    gateway = world.ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    world.ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=world.vpc_id)
    world.ec2.create_route(
        RouteTableId=world.route_table_id, DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway
    )
    return Traffic.lay(fake_aws, world)


@pytest.fixture
def exposed(traffic: Traffic, network: WriteNetwork) -> dict[str, Any]:
    """Return the arguments of a VM that has all that is made for one: the calls are the most there are.

    One of its two interfaces has a delegated prefix and all that leads to the VM; of its two
    routes one is new, and one leads elsewhere so far.
    """
    destinations = ("10.9.0.0/16", "0.0.0.0/0")
    properties = {
        "source_dest_check": False,
        "auto_assign_public_ip": True,
        "lb_target_groups": [traffic.target_group],
        "elbs": [traffic.load_balancer],
        "advertised_routes": [
            {"table_id": traffic.route_table_id, "destination": destination} for destination in destinations
        ],
    }
    networks = {
        "first": network("10.0.1.10", nic_group="front"),
        "containers": network("10.0.1.32", nic_group="front", prefix="28"),
        "second": network("10.0.2.10", 1),
        "public": {"type": "vip", "ip": traffic.public_ip, "nic_group": "front"},
    }
    return {"properties": properties, "networks": networks}


@pytest.fixture
def refuse_launch(fake_aws: FakeAws) -> RefuseLaunch:
    """Return a function that has launches refused, or only those with some parameters; it returns why."""

    def refuse(code: str, where: dict[str, str] | None = None, status: int = 400) -> str:
        error = {"code": code, "message": "Not now.", "status": status}
        fake_aws.rule(action="RunInstances", where=where or {}, error=error)
        return f"RunInstances failed with {code}: Not now. (request id {REQUEST_ID})"

    return refuse


@pytest.fixture
def ipv6(world: World, fake_aws: FakeAws) -> None:
    """Give the first subnet a range of IPv6 addresses, 2001:db8::/64."""
    world.ec2.associate_subnet_cidr_block(SubnetId=world.subnet_id, Ipv6CidrBlock="2001:db8::/64")
    fake_aws.forget_calls()


@pytest.fixture
def inline(sent: ReadCalls) -> Callable[[], dict[str, str]]:
    """Return a function that reads the one interface that the launch made; others there must not be."""

    def read() -> dict[str, str]:
        assert sent("CreateNetworkInterface") == []
        (parameters,) = sent("RunInstances")
        assert below(parameters, "NetworkInterface.2") == {}
        return below(parameters, "NetworkInterface.1")

    return read


@pytest.fixture
def devices(sent: ReadCalls) -> Callable[[], dict[str, dict[str, str]]]:
    """Return a function that reads the block devices of the one launch, by device name."""

    def read() -> dict[str, dict[str, str]]:
        (parameters,) = sent("RunInstances")
        numbers = {name.split(".")[1] for name in parameters if name.startswith("BlockDeviceMapping.")}
        found = [below(parameters, f"BlockDeviceMapping.{number}") for number in sorted(numbers)]
        return {device.pop("DeviceName"): below(device, "Ebs") or device for device in found}

    return read


@pytest.fixture
def settings(world: World) -> ReadSettings:
    """Return a function that reads what a VM boots from."""

    def read(vm_cid: str) -> Any:
        answer = world.ec2.describe_instance_attribute(InstanceId=vm_cid, Attribute="userData")
        return json.loads(base64.b64decode(answer["UserData"]["Value"]))

    return read
