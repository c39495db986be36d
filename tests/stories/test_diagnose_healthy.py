"""`cpi diagnose` finds no error about a VM that works, in each usual network."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from testbed.executable import MBUS_PASSWORD, Cpi, config
from tests.stories.ward import AGENT, CREATE_ENV, DIRECTOR, Ward

if TYPE_CHECKING:
    from collections.abc import Callable

    from testbed.cloud import FakeAws
    from testbed.world import World

OUTSIDE = "52.1.2.3"


@pytest.fixture
def ward(fake_aws: FakeAws, world: World) -> Ward:
    """Return a VM and its Director, between which all is well."""
    return Ward(fake_aws, world)


def public(ward: Ward) -> str:
    """Have the VM in a public subnet, with a public address, and the Director in the internet."""
    ward.route("0.0.0.0/0", GatewayId=ward.internet_gateway())
    ward.publish(ward.vm_cid)
    return OUTSIDE


def private(ward: Ward) -> str:
    """Have a NAT gateway before the VM, and the Director in the same VPC."""
    ward.route_to_nat()
    return DIRECTOR


def through_nat(ward: Ward) -> str:
    """Have a NAT gateway before the VM, and the Director reached by its public address."""
    private(ward)
    return ward.publish(ward.director)


def by_own_public_address(ward: Ward) -> str:
    """Have both in one VPC, but the Director reached by its public address, which lets the VM's in."""
    public(ward)
    source = ward.world.instance(ward.vm_cid)["PublicIpAddress"]
    for port in (4222, 25250):
        ward.admit(ward.director_group, port, IpRanges=[{"CidrIp": f"{source}/32"}])
    return ward.publish(ward.director)


def same_subnet(ward: Ward) -> str:
    """Have the Director in the VM's subnet, whose network ACL lets nothing pass at its edge."""
    ward.launch(
        SubnetId=ward.world.subnet_id, PrivateIpAddress="10.0.1.6", SecurityGroupIds=[ward.director_group]
    )
    ward.acl(ward.world.subnet_id)
    return "10.0.1.6"


def peered(ward: Ward) -> str:
    """Have the Director in a peered VPC, which has a route back and a rule for the VM's address."""
    subnet_id = ward.peer()
    ward.route_back(subnet_id)
    ward.launch_in(subnet_id, "10.50.1.6", IpRanges=[{"CidrIp": "10.0.0.0/16"}])
    return "10.50.1.6"


def peered_by_group(ward: Ward) -> str:
    """Have the Director in a peered VPC, whose rule names the VM's group."""
    subnet_id = ward.peer()
    ward.route_back(subnet_id)
    ward.launch_in(subnet_id, "10.50.1.6", UserIdGroupPairs=[{"GroupId": ward.vm_group}])
    return "10.50.1.6"


def transit(ward: Ward) -> str:
    """Have the Director in another account, behind a transit gateway."""
    ward.route("10.60.0.0/16", TransitGatewayId=ward.transit_gateway())
    return "10.60.1.6"


def vpn(ward: Ward) -> str:
    """Have the Director on premises, behind a virtual private gateway."""
    gateway = ward.ec2.create_vpn_gateway(Type="ipsec.1")["VpnGateway"]["VpnGatewayId"]
    ward.ec2.attach_vpn_gateway(VpnGatewayId=gateway, VpcId=ward.world.vpc_id)
    ward.route("192.168.0.0/16", GatewayId=gateway)
    return "192.168.7.6"


def namesake(ward: Ward) -> str:
    """Have the Director behind a transit gateway, and its address also in a VPC that is not connected."""
    subnet_id = ward.other_vpc()
    ward.route("10.50.0.0/16", TransitGatewayId=ward.transit_gateway())
    ward.launch_in(subnet_id, "10.50.1.6")
    return "10.50.1.6"


def strict_acls(ward: Ward) -> str:
    """Have network ACLs that let just the needed packets pass."""
    ward.acl(
        ward.world.subnet_id, rules=[("out", (4222, 4222)), ("out", (25250, 25250)), ("in", (1024, 65535))]
    )
    ward.acl(ward.world.subnet_ids[1], rules=[("in", (4222, 25250)), ("out", (1024, 65535))])
    return DIRECTOR


HEALTHY: list[Callable[[Ward], str]] = [
    public,
    private,
    through_nat,
    by_own_public_address,
    same_subnet,
    peered,
    peered_by_group,
    transit,
    vpn,
    namesake,
    strict_acls,
]


@pytest.mark.parametrize("lay", HEALTHY)
def test_no_false_alarm(ward: Ward, lay: Callable[[Ward], str]) -> None:
    """A VM that can reach its Director has no error."""
    director = lay(ward)
    agent = json.loads(json.dumps(AGENT).replace(DIRECTOR, director))
    ward.has_settings(agent)
    answer = ward.diagnose("--json")
    found = [each["what"] for each in answer.document["findings"] if each["severity"] == "error"]
    assert (answer.returncode, found) == (0, [])
    assert answer.document["director_address"] == director


@pytest.mark.parametrize(
    "document",
    [
        {"vm": {"name": "vm-1"}, "agent_id": "a", "disks": {}, "env": None, "dns": None},
        {"agent_id": "a", "networks": {"a": {"type": "vip"}, "b": {"type": "dynamic", "default": None}}},
        {"agent_id": "a", "env": {"bosh": None}, "blobstore": {"provider": "local", "options": {}}},
        {
            "agent_id": "a",
            "env": {"bosh": {"mbus": {"urls": []}, "blobstores": [None]}},
            "ntp": "time.example",
        },
    ],
)
def test_settings_of_other_shapes(ward: Ward, document: dict[str, Any]) -> None:
    """Settings that the Ruby release or another Director wrote can be read."""
    ward.has_user_data(json.dumps({"networks": {"a": {}}, **AGENT, **document}).encode())
    assert [each for each in ward.findings() if each["severity"] == "error"] == []


def test_several_interfaces(ward: Ward) -> None:
    """Of several interfaces the one that leads to the Director counts, not one that is shut in."""
    lonely = ward.ec2.create_security_group(
        GroupName="lonely", Description="lonely", VpcId=ward.world.vpc_id
    )["GroupId"]
    ward.shut_in(lonely)
    nic = ward.ec2.create_network_interface(SubnetId=ward.world.subnet_ids[1], Groups=[ward.vm_group])
    nic_id = nic["NetworkInterface"]["NetworkInterfaceId"]
    ward.ec2.attach_network_interface(NetworkInterfaceId=nic_id, InstanceId=ward.vm_cid, DeviceIndex=1)
    (first, *_) = ward.world.instance(ward.vm_cid)["NetworkInterfaces"]
    ward.ec2.modify_network_interface_attribute(
        NetworkInterfaceId=first["NetworkInterfaceId"], Groups=[lonely]
    )
    assert ward.findings() == []


def test_create_env(ward: Ward) -> None:
    """A VM of `bosh create-env` that lets the operator's machine in is well; it needs no NATS and no SSH."""
    ward.route("0.0.0.0/0", GatewayId=ward.internet_gateway())
    ward.admit(ward.vm_group, 6868, IpRanges=[{"CidrIp": f"{OUTSIDE}/32"}])
    cpi = Cpi(config(ward.fake_aws.endpoint, agent=CREATE_ENV))
    vm_cid = ward.create_vm(cpi, ip="10.0.1.11")
    ward.publish(vm_cid)
    assert ward.findings("--director-address", OUTSIDE, cpi=cpi, vm_cid=vm_cid) == []
    assert ward.findings(cpi=cpi, vm_cid=vm_cid) == []


def test_message_bus_by_name(ward: Ward) -> None:
    """A message bus by name can't be compared with the Director's rules, but the VM's own can."""
    agent = {"mbus": f"nats://nats:{MBUS_PASSWORD}@director.example:4222"}
    ward.has_settings(agent)
    (not_checked,) = ward.findings()
    assert (not_checked["severity"], "--director-address" in not_checked["remedy"]) == ("not checked", True)
    ward.shut_in(ward.vm_group)
    assert "let no tcp 4222 out to any address" in ward.findings()[0]["what"]
