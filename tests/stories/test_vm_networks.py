"""create_vm: from networks to network interfaces, with addresses, prefixes and security groups."""

from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.world import World
from tests.stories.story import Story


@pytest.mark.usefixtures("ipv6")
@pytest.mark.parametrize(
    ("ip", "prefix", "address"),
    [
        ("10.0.1.10", "32", {"PrivateIpAddress": "10.0.1.10"}),
        ("2001:db8::10", 128, {"Ipv6Addresses.1.Ipv6Address": "2001:db8::10"}),
        (None, None, {}),
    ],
    ids=["ipv4", "ipv6", "dynamic"],
)
def test_single_network(
    story: Story, world: World, ip: str | None, prefix: object, address: dict[str, str]
) -> None:
    """The launch makes the one interface, never public; the agent needs no MAC address."""
    given = story.network(ip, prefix=prefix)
    vm_cid, networks = story.create_vm(networks={"one": given}).ok()
    assert networks == {"one": given}
    assert story.inline() == {
        "DeviceIndex": "0",
        "SubnetId": world.subnet_id,
        "SecurityGroupId.1": world.groups["bosh"],
        "AssociatePublicIpAddress": "false",
        "DeleteOnTermination": "true",
        **address,
    }
    (interface,) = world.instance(vm_cid)["NetworkInterfaces"]
    assert interface["PrivateIpAddress"] == address.get("PrivateIpAddress", interface["PrivateIpAddress"])
    assert [held["Ipv6Address"] for held in interface["Ipv6Addresses"]] == ([ip] if prefix == 128 else [])


def test_ipv6_only(story: Story, world: World, fake_aws: FakeAws) -> None:
    """A first interface without IPv4 is a warning: the agent may not reach its settings."""
    native = ["<ipv6Native>false", "<ipv6Native>true"]
    fake_aws.rule(action="DescribeSubnets", times=None, replace=[native])
    answer = story.create_vm(networks={"one": story.network()})
    answer.ok()
    (said,) = story.warnings(answer)
    assert f"subnet '{world.subnet_id}' is IPv6-only: " in said


@pytest.mark.usefixtures("ipv6")
def test_primary_ipv6(story: Story) -> None:
    """With `primary_ipv6`, the IPv6 address of each interface is its primary one."""
    story.create_vm({"primary_ipv6": True}, {"one": story.network("2001:db8::10")}).ok()
    assert story.inline()["PrimaryIpv6"] == "true"
    networks = {"one": story.network("10.0.2.10", 1), "six": story.network("2001:db8::11")}
    story.create_vm({"primary_ipv6": True}, networks, agent_id="agent-2").ok()
    calls = story.parameters_of("CreateNetworkInterface")
    assert [call.get("EnablePrimaryIpv6") for call in calls] == [None, "true"]


@pytest.mark.usefixtures("ipv6")
def test_several_interfaces(story: Story, origin: dict[str, str], world: World) -> None:
    """Groups in order, then the first dynamic network; made first, tagged, ended with the VM.

    A network that is ignored still brings its security groups.
    """
    networks = {
        "late": story.network(None, 1),
        "a": story.network("10.0.1.10", nic_group=1),
        "ignored": story.network(None, 0, ["web"]),
        "b": story.network("10.0.2.10", 1),
        "a6": story.network("2001:db8::10", nic_group="1"),
    }
    vm_cid = story.create_vm({"instance_type": "m5.large", "tags": {"owner": "me"}}, networks).ok()[0]
    made = [
        {
            key: value
            for key, value in call.items()
            if key in {"SubnetId", "SecurityGroupId.1"} or "ress" in key
        }
        for call in story.parameters_of("CreateNetworkInterface")
    ]
    common = {"SecurityGroupId.1": world.groups["web"]}
    first, second, _ = world.subnet_ids
    assert made == [
        {
            **common,
            "SubnetId": first,
            "PrivateIpAddress": "10.0.1.10",
            "Ipv6Addresses.1.Ipv6Address": "2001:db8::10",
        },
        {**common, "SubnetId": second, "PrivateIpAddress": "10.0.2.10"},
        {**common, "SubnetId": second},
    ]
    found = sorted(
        world.instance(vm_cid)["NetworkInterfaces"], key=lambda nic: nic["Attachment"]["DeviceIndex"]
    )
    assert [nic["SubnetId"] for nic in found] == [first, second, second]
    assert [nic["Attachment"]["DeleteOnTermination"] for nic in found] == [True, True, True]
    tagged = [story.tags_of(nic["NetworkInterfaceId"]) for nic in found]
    assert tagged == [{"owner": "me", **origin}] * 3
    macs = [nic["MacAddress"] for nic in found]
    kept = {name: given.get("mac") for name, given in story.settings(vm_cid)["networks"].items()}
    assert kept == {"late": None, "a": macs[0], "ignored": None, "b": macs[1], "a6": macs[0]}


def test_interfaces_shown_late(story: Story, world: World, fake_aws: FakeAws) -> None:
    """EC2 may show that a VM runs before it shows the interfaces, which end with it all the same."""
    hidden = ["<networkInterfaceSet>.*?</networkInterfaceSet>", ""]
    fake_aws.rule(action="DescribeInstances", nth=1, times=2, replace=[hidden])
    networks = {"a": story.network("10.0.1.10"), "b": story.network("10.0.2.10", 1)}
    vm_cid = story.create_vm(networks=networks).ok()[0]
    interfaces = world.instance(vm_cid)["NetworkInterfaces"]
    assert [nic["Attachment"]["DeleteOnTermination"] for nic in interfaces] == [True, True]


@pytest.mark.usefixtures("ipv6")
def test_networks_that_share_an_interface(story: Story, world: World) -> None:
    """More than one network needs a MAC address each, also when they share the only interface."""
    networks = {
        "a": story.network("10.0.1.10", nic_group="g"),
        "a6": story.network("2001:db8::10", nic_group="g"),
    }
    vm_cid = story.create_vm(networks=networks).ok()[0]
    (interface,) = world.instance(vm_cid)["NetworkInterfaces"]
    assert interface["PrivateIpAddress"] == "10.0.1.10"
    assert [held["Ipv6Address"] for held in interface["Ipv6Addresses"]] == ["2001:db8::10"]
    assert interface["Attachment"]["DeleteOnTermination"] is True
    macs = [given.get("mac") for given in story.settings(vm_cid)["networks"].values()]
    assert macs == [interface["MacAddress"]] * 2


def test_networks_in_two_zones(story: Story, world: World) -> None:
    """Networks in two zones are named before anything is made."""
    answer = story.create_vm(networks={"a": story.network("10.0.1.10"), "b": story.network("10.0.3.10", 2)})
    said = "All nic groups must be in the same availability zone. Found subnets in zones: "
    story.check_refusal(answer, f"{said}us-east-1a, us-east-1b")
    assert f"'{world.subnet_ids[2]}' is in us-east-1b" in answer.error["message"]


def test_unknown_subnet_and_another_vpc(story: Story, world: World) -> None:
    """A subnet that does not exist is the first error; no VPC's groups are looked up for it."""
    vpc_id = world.ec2.create_vpc(CidrBlock="10.77.0.0/16")["Vpc"]["VpcId"]
    far = world.ec2.create_subnet(VpcId=vpc_id, CidrBlock="10.77.1.0/24", AvailabilityZone=world.zone)
    subnets = ("subnet-00000000000000001", far["Subnet"]["SubnetId"])
    networks = {
        each: story.network(ip, cloud_properties={"subnet": each})
        for each, ip in zip(subnets, ("10.0.1.10", "10.77.1.10"), strict=True)
    }
    message = story.create_vm(networks=networks).error["message"]
    assert message.startswith(f"Subnet not found: {subnets[0]}")


def test_subnet_without_a_vpc(story: Story, exposed: dict[str, Any], fake_aws: FakeAws) -> None:
    """A VPC that EC2 does not show is no reason to leave out groups, load balancers and routes."""
    exposed["properties"]["security_groups"] = ["web"]
    fake_aws.rule(action="DescribeSubnets", replace=[["<vpcId>.*?</vpcId>", "<vpcId/>"]])
    answer = story.create_vm(**exposed)
    assert answer.error["message"].startswith("AWS could not be called: its answer can't be read")
    assert ", without VpcId)" in answer.error["message"]
    assert "RunInstances" not in fake_aws.actions()


def test_no_network(story: Story, fake_aws: FakeAws) -> None:
    """A VM without a network is refused without asking AWS."""
    none = story.create_vm(networks={}).error
    assert (none["type"], none["ok_to_retry"]) == ("Bosh::Clouds::CloudError", False)
    assert "network" in none["message"]
    assert fake_aws.actions() == []


@pytest.mark.usefixtures("ipv6")
@pytest.mark.parametrize("group", ["g", ""])
def test_prefixes(story: Story, world: World, group: str) -> None:
    """A group's first prefix of each kind is delegated to its interface; the agent finds it by its MAC.

    One network of the group names its subnet.
    """
    networks = {
        "range": {"ip": "10.0.1.16", "nic_group": group, "prefix": "28"},
        "one": story.network("10.0.1.10", nic_group=group, prefix=32),
        "more": story.network("10.0.1.32", nic_group=group, prefix=28, cloud_properties=None),
        "range6": story.network("2001:db8:0:0:2::", nic_group=group, prefix=80),
        "one6": story.network(
            "2001:db8::10", nic_group=group, prefix="128", cloud_properties={"subnet": None}
        ),
        "other": story.network("10.0.2.10", 1),
    }
    vm_cid, answered = story.create_vm(networks=networks).ok()
    assert answered == networks
    first, second = sorted(
        world.instance(vm_cid)["NetworkInterfaces"], key=lambda nic: nic["Attachment"]["DeviceIndex"]
    )
    ids = [nic["NetworkInterfaceId"] for nic in (first, second)]
    described = world.ec2.describe_network_interfaces(NetworkInterfaceIds=ids)["NetworkInterfaces"]
    by_id = {nic["NetworkInterfaceId"]: nic for nic in described}
    assert by_id[ids[0]]["Ipv4Prefixes"] == [{"Ipv4Prefix": "10.0.1.16/28"}]
    assert by_id[ids[0]]["Ipv6Prefixes"] == [{"Ipv6Prefix": "2001:db8:0:0:2::/80"}]
    assert by_id[ids[0]]["PrivateIpAddress"] == "10.0.1.10"
    assert by_id[ids[0]]["Ipv6Addresses"] == [{"Ipv6Address": "2001:db8::10"}]
    assert [by_id[ids[1]].get(name, []) for name in ("Ipv4Prefixes", "Ipv6Prefixes")] == [[], []]
    macs = {name: given["mac"] for name, given in story.settings(vm_cid)["networks"].items()}
    of_group = dict.fromkeys(("range", "one", "more", "range6", "one6"), first["MacAddress"])
    assert macs == {**of_group, "other": second["MacAddress"]}


def test_one_address_twice(story: Story) -> None:
    """An address of two groups needs no call to refuse."""
    networks = {"one": story.network("10.0.1.10"), "odd": story.network("10.0.1.10")}
    message = "Addresses of nic group 'one' and 'odd' overlap: 10.0.1.10 and 10.0.1.10"
    assert story.check_refusal(story.create_vm(networks=networks), message) == []


@pytest.mark.parametrize(
    ("of_vm", "of_network", "expected"),
    [
        (["web"], ["bosh"], ["web"]),
        ([], ["web", "sg-frontend"], ["sg-frontend", "web"]),
        ([], "web", ["web"]),
        ([], [["web"], "bosh"], ["bosh", "web"]),
        (["ID web", "bosh", "web"], [], ["web", "bosh"]),
        ([], [], ["bosh"]),
    ],
    ids=["of-the-vm", "of-the-networks", "text", "nested", "by-id", "defaults"],
)
def test_security_groups(
    story: Story, world: World, of_vm: list[str], of_network: str | list[Any], expected: list[str]
) -> None:
    """The VM's groups win over the networks', which win over the defaults; ids and names mix.

    A network's may be a single text, or lists in a list, as for the Ruby release.
    """
    frontend = world.ec2.create_security_group(GroupName="sg-frontend", Description="x", VpcId=world.vpc_id)
    ids = {**world.groups, "sg-frontend": frontend["GroupId"]}
    entries = [ids[entry.removeprefix("ID ")] if entry.startswith("ID ") else entry for entry in of_vm]
    given = story.network("10.0.1.10", groups=of_network)
    story.create_vm({"security_groups": entries}, {"a": given}).ok()
    groups = [value for name, value in story.inline().items() if name.startswith("SecurityGroupId.")]
    assert groups == [ids[name] for name in expected]


def test_security_groups_that_are_not_clear(story: Story, fake_aws: FakeAws, world: World) -> None:
    """A group that is unknown, or not the only one of its name, is named; so is there being none."""
    unknown = story.create_vm({"security_groups": ["bosh", "nosuch"]})
    asked = story.check_refusal(unknown, "Security group not found with name 'nosuch'")
    assert asked.count("DescribeSecurityGroups") == 1
    assert f". The subnet's VPC {world.vpc_id} has none of that name: correct" in unknown.error["message"]
    rename = ["<groupName>web</groupName>", "<groupName>bosh</groupName>"]
    fake_aws.rule(action="DescribeSecurityGroups", replace=[rename])
    ambiguous = story.create_vm({"security_groups": ["bosh", "web"]}).error
    said, _, remedy = ambiguous["message"].partition(". ")
    assert remedy == "Give the id of one of them instead of the name"
    found = said.removeprefix("Found multiple matching security groups with name 'bosh': ")
    assert sorted(found.split(", ")) == sorted(world.groups.values())
    missing = story.create_vm(executable=story.cpi_with(default_security_groups=[]))
    story.check_refusal(
        missing, "Missing security groups", "Set security_groups", "aws.default_security_groups"
    )
