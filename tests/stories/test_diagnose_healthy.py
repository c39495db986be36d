"""`cpi diagnose` finds no error about a VM that works, in each usual network."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from testbed.executable import Cpi, config
from tests.stories.vm_and_director import AGENT, CREATE_ENV, DIRECTOR, VmAndDirector

OUTSIDE = "52.1.2.3"


def public(pair: VmAndDirector) -> str:
    """Put the VM into a public subnet, with a public address, and the Director into the internet."""
    pair.route("0.0.0.0/0", GatewayId=pair.internet_gateway())
    pair.publish(pair.vm_cid)
    return OUTSIDE


def through_nat(pair: VmAndDirector) -> str:
    """Route the VM's traffic through a NAT gateway to the Director's public address."""
    pair.route_to_nat()
    return pair.publish(pair.director)


def by_own_public_address(pair: VmAndDirector) -> str:
    """Put both into one VPC; the VM uses the Director's public address, whose rules let the VM's in."""
    public(pair)
    source = pair.world.instance(pair.vm_cid)["PublicIpAddress"]
    for port in (4222, 25250):
        pair.admit(pair.director_group, port, IpRanges=[{"CidrIp": f"{source}/32"}])
    return pair.publish(pair.director)


def same_subnet(pair: VmAndDirector) -> str:
    """Put the Director into the VM's subnet, whose network ACL lets nothing pass."""
    pair.launch(
        SubnetId=pair.world.subnet_id, PrivateIpAddress="10.0.1.6", SecurityGroupIds=[pair.director_group]
    )
    pair.acl(pair.world.subnet_id)
    return "10.0.1.6"


def peered(pair: VmAndDirector) -> str:
    """Put the Director into a peered VPC with a route back and a rule for the VM's address."""
    subnet_id = pair.peer()
    pair.route_back(subnet_id)
    pair.launch_in(subnet_id, "10.50.1.6", IpRanges=[{"CidrIp": "10.0.0.0/16"}])
    return "10.50.1.6"


def namesake(pair: VmAndDirector) -> str:
    """Put the Director behind a transit gateway, and its address also into a VPC that is not connected."""
    subnet_id = pair.other_vpc()
    pair.route("10.50.0.0/16", TransitGatewayId=pair.transit_gateway())
    pair.launch_in(subnet_id, "10.50.1.6")
    return "10.50.1.6"


def strict_acls(pair: VmAndDirector) -> str:
    """Create network ACLs that let only the needed packets pass."""
    pair.acl(
        pair.world.subnet_id, rules=[("out", (4222, 4222)), ("out", (25250, 25250)), ("in", (1024, 65535))]
    )
    pair.acl(pair.world.subnet_ids[1], rules=[("in", (4222, 25250)), ("out", (1024, 65535))])
    return DIRECTOR


HEALTHY: list[Callable[[VmAndDirector], str]] = [
    public,
    through_nat,
    by_own_public_address,
    same_subnet,
    peered,
    namesake,
    strict_acls,
]


@pytest.mark.parametrize("lay", HEALTHY)
def test_no_false_alarm(pair: VmAndDirector, lay: Callable[[VmAndDirector], str]) -> None:
    """A VM that can reach its Director has no error."""
    director = lay(pair)
    agent = json.loads(json.dumps(AGENT).replace(DIRECTOR, director))
    pair.has_settings(agent)
    answer = pair.diagnose("--json")
    found = [each["what"] for each in answer.document["findings"] if each["severity"] == "error"]
    assert (answer.returncode, found) == (0, [])
    assert answer.document["director_address"] == director


@pytest.mark.parametrize(
    "document",
    [
        {"vm": {"name": "vm-1"}, "agent_id": "a", "disks": {}, "env": None, "dns": None},
        {"agent_id": "a", "networks": {"a": {"type": "vip"}, "b": {"type": "dynamic", "default": None}}},
        {
            "agent_id": "a",
            "env": {"bosh": {"mbus": {"urls": []}, "blobstores": [None]}},
            "ntp": "time.example",
        },
    ],
)
def test_settings_of_other_shapes(pair: VmAndDirector, document: dict[str, Any]) -> None:
    """Settings that the Ruby release or another Director wrote can be read."""
    pair.has_user_data(json.dumps({"networks": {"a": {}}, **AGENT, **document}).encode())
    assert [each for each in pair.findings() if each["severity"] == "error"] == []


def test_several_interfaces(pair: VmAndDirector) -> None:
    """Of several interfaces, only the one that leads to the Director counts."""
    lonely = pair.ec2.create_security_group(
        GroupName="lonely", Description="lonely", VpcId=pair.world.vpc_id
    )["GroupId"]
    pair.shut_in(lonely)
    nic = pair.ec2.create_network_interface(SubnetId=pair.world.subnet_ids[1], Groups=[pair.vm_group])
    nic_id = nic["NetworkInterface"]["NetworkInterfaceId"]
    pair.ec2.attach_network_interface(NetworkInterfaceId=nic_id, InstanceId=pair.vm_cid, DeviceIndex=1)
    (first, *_) = pair.world.instance(pair.vm_cid)["NetworkInterfaces"]
    pair.ec2.modify_network_interface_attribute(
        NetworkInterfaceId=first["NetworkInterfaceId"], Groups=[lonely]
    )
    assert pair.findings() == []


def test_create_env(pair: VmAndDirector) -> None:
    """A VM of `bosh create-env` needs to let only the operator's machine in: no NATS, no SSH."""
    pair.route("0.0.0.0/0", GatewayId=pair.internet_gateway())
    pair.admit(pair.vm_group, 6868, IpRanges=[{"CidrIp": f"{OUTSIDE}/32"}])
    cpi = Cpi(config(pair.fake_aws.endpoint, agent=CREATE_ENV))
    vm_cid = pair.create_vm(cpi, ip="10.0.1.11")
    pair.publish(vm_cid)
    assert pair.findings("--director-address", OUTSIDE, cpi=cpi, vm_cid=vm_cid) == []
    assert pair.findings(cpi=cpi, vm_cid=vm_cid) == []
