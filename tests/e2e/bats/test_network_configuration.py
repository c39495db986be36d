"""BATS, network_configuration_spec.rb: what the agent is told of its networks, and what EC2 gives the VM."""

from collections.abc import Callable
from typing import Any

from testbed.world import World
from tests.e2e.bats.director import Director, Instance


def interfaces(world: World, vm_cid: str) -> dict[str, str]:
    """Return the MAC address of the interface that has each private address."""
    found = world.instance(vm_cid)["NetworkInterfaces"]
    return {
        address["PrivateIpAddress"]: nic["MacAddress"]
        for nic in found
        for address in nic["PrivateIpAddresses"]
    }


def public_address(world: World) -> str:
    """Allocate an elastic IP address."""
    address: str = world.ec2.allocate_address(Domain="vpc")["PublicIp"]
    return address


def owner(world: World, public_ip: str) -> str | None:
    """Return the VM that an elastic IP address leads to."""
    (address,) = world.ec2.describe_addresses(PublicIps=[public_ip])["Addresses"]
    found: str | None = address.get("InstanceId")
    return found


def test_changes_static_ip_address(
    director: Director, world: World, network: Callable[..., dict[str, Any]]
) -> None:
    """A job with another static address has a VM with it; the elastic IP follows to the new VM."""
    vip = public_address(world)
    static = {"type": "vip", "ip": vip, "cloud_properties": {}}
    batlight = Instance({"default": network("10.0.1.28"), "static": static})
    director.deploy(batlight, size=0)
    first = batlight.vm
    assert owner(world, vip) == first.cid
    batlight.networks = {"default": network("10.0.1.30"), "static": static}
    director.recreate(batlight)
    second = batlight.vm
    assert first.cid != second.cid
    assert owner(world, vip) == second.cid
    assert interfaces(world, second.cid).keys() == {"10.0.1.30"}
    told = director.machine(batlight).settings["networks"]
    assert (told["default"]["ip"], told["static"]["ip"]) == ("10.0.1.30", vip)
    assert second.ask("get_state")["networks"]["default"]["ip"] == "10.0.1.30"


def test_deploys_multiple_manual_networks(
    director: Director, world: World, network: Callable[..., dict[str, Any]]
) -> None:
    """Each network has an interface, which the agent finds by its MAC address, and which goes with the VM."""
    batlight = Instance({"default": network("10.0.1.28"), "second": network("10.0.2.28", 1, default=[])})
    director.deploy(batlight, size=0)
    told = director.machine(batlight).settings["networks"]
    macs = interfaces(world, batlight.vm.cid)
    assert {each["ip"]: each["mac"] for each in told.values()} == macs
    assert len(set(macs.values())) == 2
    director.delete_vm(batlight)
    assert world.state() == world.empty


def test_dynamic_network(director: Director, world: World) -> None:
    """EC2 chooses the address, the agent reports it, and the elastic IP leads to it."""
    vip = public_address(world)
    properties = {"subnet": world.subnet_id, "security_groups": ["bosh"]}
    batlight = Instance(
        {
            "default": {"type": "dynamic", "cloud_properties": properties, "default": ["dns", "gateway"]},
            "static": {"type": "vip", "ip": vip, "cloud_properties": {}},
        }
    )
    director.deploy(batlight, size=0)
    found = world.instance(batlight.vm.cid)
    assert batlight.vm.ask("get_state")["networks"]["default"]["ip"] == found["PrivateIpAddress"]
    assert owner(world, vip) == batlight.vm.cid
