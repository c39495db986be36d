"""BATS, ipv6_network_configuration_spec.rb: IPv6 beside IPv4, and a delegated prefix."""

import json
from collections.abc import Callable
from typing import Any

from testbed.world import World
from tests.e2e.bats.director import Director, Instance


def test_dual_stack_and_prefix(
    director: Director, world: World, network: Callable[..., dict[str, Any]]
) -> None:
    """One interface has the group's IPv4 and IPv6 addresses and its prefix, which spec.json names."""
    world.ec2.associate_subnet_cidr_block(SubnetId=world.subnet_id, Ipv6CidrBlock="2001:db8::/64")
    ipv6 = {"gateway": "2001:db8::1", "netmask": "ffff:ffff:ffff:ffff::", "default": [], "nic_group": "1"}
    primary = network("10.0.1.28", nic_group="1")
    batlight = Instance(
        {
            "default": primary,
            "ipv6": {**primary, **ipv6, "ip": "2001:db8::28", "prefix": "128"},
            "prefix": {**primary, **ipv6, "ip": "2001:db8:0:0:2::", "prefix": "80"},
        }
    )
    director.deploy(batlight, size=0)
    (nic,) = world.instance(batlight.vm.cid)["NetworkInterfaces"]
    assert [each["Ipv6Address"] for each in nic["Ipv6Addresses"]] == ["2001:db8::28"]
    described = world.ec2.describe_network_interfaces(NetworkInterfaceIds=[nic["NetworkInterfaceId"]])
    assert described["NetworkInterfaces"][0]["Ipv6Prefixes"] == [{"Ipv6Prefix": "2001:db8:0:0:2::/80"}]
    machine = director.machine(batlight)
    assert {each["mac"] for each in machine.settings["networks"].values()} == {nic["MacAddress"]}
    told = {name: (each["ip"], each["prefix"]) for name, each in machine.settings["networks"].items()}
    assert told == {
        "default": ("10.0.1.28", "32"),
        "ipv6": ("2001:db8::28", "128"),
        "prefix": ("2001:db8:0:0:2::", "80"),
    }
    spec = json.loads((machine.folder / "bosh" / "spec.json").read_text())["networks"]["prefix"]
    assert (spec["ip"], spec["prefix"]) == told["prefix"]
