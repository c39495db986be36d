"""`cpi check` and subnet_fallbacks: what create_vm would refuse is found before a deployment."""

from typing import Any

import pytest
import yaml

from testbed.executable import Answer, Cpi
from testbed.world import World
from tests.stories.checked_config import DYNAMIC, NETWORK, SUBNET, Route, changed, right
from tests.stories.checking import checked, checked_with, errors, of

KEY = ("cloud_properties", "subnet_fallbacks")
AT_DYNAMIC = (*DYNAMIC, "subnets", 0)
PATH = "networks/dynamic/subnets/0/cloud_properties/subnet_fallbacks"
UNKNOWN = "subnet-0123456789abcdef0"


def created_in(cpi: Cpi, world: World, *networks: dict[str, Any]) -> Answer:
    """Create a VM in networks."""
    properties = {"instance_type": "t3.micro", "availability_zone": world.zone}
    given = {f"network{number}": network for number, network in enumerate(networks)}
    return cpi.call(
        "create_vm", "agent-1", f"{world.image_id} light", properties, given, [], None, stemcell=2
    )


def dynamic(config: dict[str, Any]) -> dict[str, Any]:
    """Return the dynamic network as the Director gives it."""
    (subnet,) = config["networks"][1]["subnets"]
    return {"type": "dynamic", "cloud_properties": subnet["cloud_properties"]}


def unlike(world: World, how: str) -> str:
    """Create a subnet that can't be a fallback, in one respect; returns its id."""
    ec2, vpc_id, zone = world.ec2, world.vpc_id, world.zone
    if how == "unknown":
        return UNKNOWN
    if how == "zone":
        zone = world.other_zone
    if how == "VPC":
        vpc_id = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    made = ec2.create_subnet(VpcId=vpc_id, CidrBlock="10.0.9.0/24", AvailabilityZone=zone)
    subnet_id = str(made["Subnet"]["SubnetId"])
    if how == "families":
        ec2.associate_subnet_cidr_block(SubnetId=subnet_id, Ipv6CidrBlock="2001:db8::/64")
        ec2.modify_subnet_attribute(SubnetId=subnet_id, AssignIpv6AddressOnCreation={"Value": True})
    return subnet_id


def test_right(cpi: Cpi, world: World) -> None:
    """A subnet like the first one is right."""
    config = changed(right(world), (*AT_DYNAMIC, *KEY), [world.subnet_ids[0]])
    assert checked(cpi, config) == []
    created_in(cpi, world, dynamic(config)).ok()


def test_list_as_subnet(cpi: Cpi, world: World) -> None:
    """A list in place of the first subnet is an error of its own."""
    config = changed(right(world), (*AT_DYNAMIC, *KEY), [world.subnet_ids[0]])
    (found,) = errors(
        checked(cpi, changed(config, (*AT_DYNAMIC, *KEY[:-1], "subnet"), ["subnet-1"]), "--offline")
    )
    assert found["what"] == "must be a string, got Array"


@pytest.mark.parametrize("how", ["unknown", "zone", "VPC", "families"])
def test_unlike(cpi: Cpi, world: World, how: str) -> None:
    """One that does not exist, or differs from the first, is an error, and no VM can be created with it."""
    config = changed(right(world), (*AT_DYNAMIC, *KEY), [world.subnet_ids[0], unlike(world, how)])
    (found,) = errors(checked(cpi, config))
    assert found["path"] == f"{PATH}/1"
    text = yaml.safe_dump(config, sort_keys=False).splitlines()
    assert text[found["line"] - 1].strip().startswith("- subnet-")
    error = created_in(cpi, world, dynamic(config)).error
    assert ("Subnet not found: " if how == "unknown" else found["what"]) in error["message"]
    assert world.state()["instances"] == []


@pytest.mark.parametrize(
    ("route", "path"),
    [
        (SUBNET, "networks/default/subnets/0"),
        (("networks", 2), "networks/vip"),
    ],
    ids=["manual", "vip"],
)
def test_other_networks(cpi: Cpi, world: World, route: Route, path: str) -> None:
    """Only dynamic networks can have fallback subnets."""
    config = changed(right(world), (*route, *KEY), [world.subnet_ids[1]])
    (found,) = errors(checked(cpi, config, "--offline"))
    assert found["path"] == f"{path}/cloud_properties/subnet_fallbacks"
    entry: Any = config
    for key in route:
        entry = entry[key]
    kind = config["networks"][int(route[1])]["type"]
    network = {"type": kind, "ip": "10.0.1.50", "cloud_properties": entry["cloud_properties"]}
    message = created_in(cpi, world, network).error["message"]
    assert message.partition(".cloud_properties.")[2] == found["what"]
    assert f"is for dynamic networks only: remove it from this {kind} network" in message


def test_wrong_type(cpi: Cpi, world: World) -> None:
    """A value that is no list of ids is one error; the ids of variables are not checked."""
    config = changed(right(world), (*AT_DYNAMIC, *KEY), world.subnet_ids[0])
    assert [each["path"] for each in errors(checked(cpi, config))] == [PATH]
    assert f"{KEY[1]}: " in created_in(cpi, world, dynamic(config)).error["message"]
    found = checked(cpi, changed(config, (*AT_DYNAMIC, *KEY), ["((other))"]))
    assert [each["severity"] for each in found] == ["not checked"]


def test_several_networks(cpi: Cpi, world: World) -> None:
    """With a manifest, a VM with several networks can't have them."""
    config = changed(right(world), (*AT_DYNAMIC, *KEY), [world.subnet_ids[0]])
    group = {
        "name": "web",
        "instances": 1,
        "vm_type": "small",
        "azs": ["z1"],
        "stemcell": "default",
        "networks": [{"name": "default", "default": ["dns", "gateway"]}, {"name": "dynamic"}],
    }
    (found,) = errors(checked_with(cpi, config, [group], "--offline"))
    assert found["path"] == "instance_groups/web/networks"
    assert "subnet_fallbacks is for VMs with a single network" in found["what"]
    subnet = config["networks"][NETWORK[1]]["subnets"][0]
    fixed = {"type": "manual", "ip": "10.0.1.50", "cloud_properties": subnet["cloud_properties"]}
    message = created_in(cpi, world, fixed, dynamic(config)).error["message"]
    assert "subnet_fallbacks is for VMs with a single network" in message


def group_of(**keys: Any) -> dict[str, Any]:
    """Return an instance group with the dynamic network."""
    group = {"name": "web", "instances": 1, "azs": ["z1"], "stemcell": "default", "vm_type": "small"}
    return {**group, "networks": [{"name": "dynamic"}], **keys}


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({}, ""),
        ({"persistent_disk": 1024}, ""),
        (
            {"networks": [{"name": "default"}]},
            "zone_fallback needs subnet_fallbacks: network 'default' has none",
        ),
    ],
)
def test_zone_fallback(cpi: Cpi, world: World, keys: dict[str, Any], said: str) -> None:
    """With a manifest, VMs that can't leave their zone are found; others may have subnets of other zones."""
    config = changed(right(world), (*AT_DYNAMIC, *KEY), [world.subnet_ids[2]])
    config["vm_extensions"] = [{"name": "anywhere", "cloud_properties": {"zone_fallback": True}}]
    found = errors(checked_with(cpi, config, [{**group_of(**keys), "vm_extensions": ["anywhere"]}]))
    assert [each["path"] for each in found] == (["instance_groups/web/networks"] if said else [])
    assert said in "".join(each["what"] for each in found)


def test_zone_fallback_of_compilation(cpi: Cpi, world: World) -> None:
    """VMs that compile can leave their zone only with fallback subnets."""
    config = right(world)
    config["compilation"] = {
        **config["compilation"],
        "network": "dynamic",
        "cloud_properties": {"instance_type": "t3.micro", "zone_fallback": True},
    }
    config["compilation"].pop("vm_type", None)
    (found,) = errors(checked(cpi, config, "--offline"))
    assert found["path"] == "compilation/network"
    assert "zone_fallback needs subnet_fallbacks: network 'dynamic' has none" in found["what"]
    assert errors(checked(cpi, changed(config, (*AT_DYNAMIC, *KEY), [world.subnet_ids[2]]))) == []


def test_others_of_a_network(cpi: Cpi, world: World) -> None:
    """That some VM may leave its zone says nothing about another VM of the same network."""
    config = changed(right(world), (*AT_DYNAMIC, *KEY), [world.subnet_ids[2]])
    config["vm_extensions"] = [{"name": "anywhere", "cloud_properties": {"zone_fallback": True}}]
    assert errors(checked(cpi, config)) == []
    (found,) = errors(checked(cpi, changed(config, ("compilation", "network"), "dynamic")))
    assert found["path"] == "compilation/network"
    groups = [group_of(name="a", vm_extensions=["anywhere"]), group_of(name="b")]
    (of_group,) = errors(checked_with(cpi, config, groups))
    assert of_group["path"] == "instance_groups/b/networks"
    assert of_group["what"] == found["what"]
    message = created_in(cpi, world, dynamic(config)).error["message"]
    assert message == found["what"].replace("networks.dynamic.", "networks.network0.")
    assert f"set zone_fallback for the VM, or use a subnet in {world.zone}" in message


def test_few_addresses(cpi: Cpi, world: World) -> None:
    """Few free addresses of a fallback subnet are a note, too."""
    made = world.ec2.create_subnet(VpcId=world.vpc_id, CidrBlock="10.0.9.0/28", AvailabilityZone=world.zone)
    subnet_id = made["Subnet"]["SubnetId"]
    world.ec2.create_network_interface(SubnetId=subnet_id, SecondaryPrivateIpAddressCount=4)
    found = of("note", checked(cpi, changed(right(world), (*AT_DYNAMIC, *KEY), [subnet_id])))
    assert [each["path"] for each in found] == [f"{PATH}/0"]
    assert f"'{subnet_id}' has only 6 free IPv4 addresses" in found[0]["what"]
