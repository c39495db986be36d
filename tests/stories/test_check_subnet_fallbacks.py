"""`cpi check` and subnet_fallbacks: what create_vm would refuse is found before a deployment."""

from typing import Any

from testbed.cloud import FakeAws
from testbed.executable import Answer, Cpi
from testbed.world import World
from tests.stories.checked_config import DYNAMIC, changed, right
from tests.stories.checking import checked, checked_with, errors, network_of

FALLBACKS = (*DYNAMIC, "subnets", 0, "cloud_properties", "subnet_fallbacks")
PATH = "networks/dynamic/subnets/0/cloud_properties/subnet_fallbacks"
UNKNOWN = "subnet-0123456789abcdef0"


def created_in(cpi: Cpi, world: World, *networks: dict[str, Any]) -> Answer:
    """Create a VM in networks."""
    properties = {"instance_type": "t3.micro", "availability_zone": world.zone}
    given = {f"network{number}": network for number, network in enumerate(networks)}
    stemcell = f"{world.image_id} light"
    return cpi.call("create_vm", "agent-1", stemcell, properties, given, [], None, stemcell=2)


def dynamic(config: dict[str, Any]) -> dict[str, Any]:
    """Return the dynamic network as the Director gives it."""
    (subnet,) = config["networks"][1]["subnets"]
    return {"type": "dynamic", "cloud_properties": subnet["cloud_properties"]}


def group_of(name: str, *networks: str, **keys: Any) -> dict[str, Any]:
    """Return an instance group with networks."""
    group = {"name": name, "instances": 1, "azs": ["z1"], "stemcell": "default", "vm_type": "small"}
    return {**group, "networks": [{"name": each} for each in networks], **keys}


def test_unlike(cpi: Cpi, world: World) -> None:
    """A fallback that is missing, or unlike the first, is an error; one with few addresses is a note."""
    ec2, zone = world.ec2, world.zone
    other_vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    few, far, six = (
        str(ec2.create_subnet(VpcId=vpc_id, CidrBlock=block, AvailabilityZone=zone)["Subnet"]["SubnetId"])
        for vpc_id, block in (
            (world.vpc_id, "10.0.9.0/28"),
            (other_vpc, "10.0.9.0/24"),
            (world.vpc_id, "10.0.10.0/24"),
        )
    )
    ec2.create_network_interface(SubnetId=few, SecondaryPrivateIpAddressCount=4)
    ec2.associate_subnet_cidr_block(SubnetId=six, Ipv6CidrBlock="2001:db8::/64")
    ec2.modify_subnet_attribute(SubnetId=six, AssignIpv6AddressOnCreation={"Value": True})
    given = [world.subnet_ids[0], few, UNKNOWN, world.subnet_ids[2], far, six]
    found = checked(cpi, changed(right(world), FALLBACKS, given))
    said = {each["path"]: (each["severity"], each["what"]) for each in found}
    expected = {
        1: ("note", f"'{few}' has only 6 free IPv4 addresses"),
        2: ("error", f"Subnet not found: {UNKNOWN}"),
        3: ("error", f"is in zone {world.other_zone}"),
        4: ("error", f"is in VPC '{other_vpc}'"),
        5: ("error", "gives interfaces IPv4 and IPv6 addresses"),
    }
    assert said.keys() == {f"{PATH}/{index}" for index in expected}
    for index, (severity, words) in expected.items():
        assert said[f"{PATH}/{index}"][0] == severity
        assert words in said[f"{PATH}/{index}"][1]


def test_ipv6_only(cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """A subnet in which an agent may not reach its settings is a warning."""
    native = ["<ipv6Native>false", "<ipv6Native>true"]
    fake_aws.rule(action="DescribeSubnets", replace=[native])
    found = {each["what"]: each for each in checked(cpi, right(world))}
    (what,) = [each for each in found if f"subnet '{world.subnet_id}' is IPv6-only" in each]
    assert (found[what]["severity"], "dual-stack" in found[what]["remedy"]) == ("warning", True)


def test_several_networks(cpi: Cpi, world: World) -> None:
    """With a manifest, a VM with several networks can't have fallbacks."""
    config = changed(right(world), FALLBACKS, [world.subnet_ids[0]])
    (found,) = errors(checked_with(cpi, config, [group_of("web", "default", "dynamic")], "--offline"))
    assert found["path"] == PATH
    fixed = network_of(config)["default"]
    message = created_in(cpi, world, fixed, dynamic(config)).error["message"]
    for text in (found["what"], message):
        assert "subnet_fallbacks is for VMs with a single network" in text


def test_others_of_a_network(cpi: Cpi, world: World) -> None:
    """That some VM may leave its zone says nothing about another VM of the same network."""
    config = changed(right(world), FALLBACKS, [world.subnet_ids[2]])
    config["vm_extensions"] = [{"name": "anywhere", "cloud_properties": {"zone_fallback": True}}]
    assert errors(checked(cpi, config)) == []
    (found,) = errors(checked(cpi, changed(config, ("compilation", "network"), "dynamic")))
    of_compilation, what = found["what"].split(": ", 1)
    assert (found["path"], of_compilation) == (f"{PATH}/0", "for compilation")
    groups = [group_of("a", "dynamic", vm_extensions=["anywhere"]), group_of("b", "dynamic")]
    (of_group,) = errors(checked_with(cpi, config, groups))
    assert (of_group["path"], of_group["what"]) == (f"{PATH}/0", f"for instance group 'b': {what}")
    message = created_in(cpi, world, dynamic(config)).error["message"]
    assert message == what.replace("networks.dynamic.", "networks.network0.")
    assert f"set zone_fallback for the VM, or use a subnet in {world.zone}" in message
