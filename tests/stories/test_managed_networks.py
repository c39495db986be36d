"""Managed networks, from their creation to their deletion."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import DIRECTOR_UUID, Cpi, finish
from testbed.killing import kill_at
from testbed.world import World
from tests.conftest import SPEED
from tests.stories.story import Story

REQUEST = {"request_id": "cpi-424242"}
DENIED = {"code": "UnauthorizedOperation", "message": "No.", "status": 403}
CONFLICT = {"code": "InvalidSubnet.Conflict", "message": "The CIDR conflicts with another subnet"}
UNSHOWN: dict[str, Any] = {
    "action": "DescribeSubnets",
    "where": {"Filter.1.Name": "tag:bosh_call"},
    "replace": [["<subnetSet>.*</subnetSet>", "<subnetSet/>"]],
}


@pytest.fixture
def wish(world: World) -> Callable[..., dict[str, Any]]:
    """Return a function that writes create_network's argument; its keywords are cloud properties."""

    def write(given: dict[str, Any] | None = None, **properties: Any) -> dict[str, Any]:
        whole = {"vpc_id": world.vpc_id, "availability_zone": world.zone, **properties}
        return {"type": "manual", "cloud_properties": whole, **(given or {})}

    return write


def described(world: World, subnet_id: str) -> dict[str, Any]:
    """Describe a subnet."""
    (subnet,) = world.ec2.describe_subnets(SubnetIds=[subnet_id])["Subnets"]
    found: dict[str, Any] = subnet
    return found


def test_life(story: Story, cpi: Cpi, world: World, wish: Any) -> None:
    """A subnet is created, a VM runs in it, and it is deleted after the VM."""
    given = {"range": "10.0.9.0/24", "gateway": "10.0.9.1"}
    subnet_id, addresses, properties = cpi.call("create_network", wish(given, security_groups=["web"])).ok()
    assert addresses == {
        "range": "10.0.9.0/24",
        "gateway": "10.0.9.1",
        "reserved": ["10.0.9.0-10.0.9.3", "10.0.9.255"],
    }
    assert properties == {"subnet": subnet_id, "security_groups": ["web"]}
    vm_cid = story.create_vm(networks={"apps": {"ip": "10.0.9.4", "cloud_properties": properties}}).ok()[0]
    (interface,) = world.instance(vm_cid)["NetworkInterfaces"]
    assert interface["SubnetId"] == subnet_id
    assert [group["GroupName"] for group in interface["Groups"]] == ["web"]
    cpi.call("delete_vm", vm_cid).ok()
    assert cpi.call("delete_network", subnet_id).ok() is None
    assert world.state() == world.empty
    error = cpi.call("delete_network", subnet_id).error
    assert error == story.failure("NetworkNotFound", f"Network '{subnet_id}' not found")
    malformed = cpi.call("delete_network", "net").error
    assert malformed == story.failure("NetworkNotFound", "Network 'net' not found")


@pytest.mark.parametrize(
    ("action", "text", "words"),
    [
        ("DescribeVpcs", "2600::/56", ", without CidrBlock). AWS failed, or a proxy before it: retry"),
        ("DescribeSubnets", "10.0.1.1/24", ", without CidrBlock)"),
        ("CreateSubnet", "", "EC2 says of the new subnet that its IPv4 range is '', which is none"),
        ("CreateSubnet", "10.0.0.0/32", "that its IPv4 range is '10.0.0.0/32', which is none"),
    ],
)
def test_no_range(
    cpi: Cpi, world: World, wish: Any, fake_aws: FakeAws, action: str, text: str, words: str
) -> None:
    """A range that is none is an answer that can't be read; a subnet without a range is deleted."""
    fake_aws.rule(action=action, replace=[["<cidrBlock>.*?</cidrBlock>", f"<cidrBlock>{text}</cidrBlock>"]])
    error = cpi.call("create_network", wish()).error
    assert error["type"] == "Bosh::Clouds::CloudError"
    assert words in error["message"]
    fake_aws.clear_rules()
    assert world.state() == world.empty


def test_everything(story: Story, cpi: Cpi, world: World, wish: Any, fake_aws: FakeAws) -> None:
    """A subnet gets its zone, route table, network ACL, IPv6 range, public addresses and tags."""
    world.ec2.associate_vpc_cidr_block(VpcId=world.vpc_id, AmazonProvidedIpv6CidrBlock=True)
    acl_id = world.ec2.create_network_acl(VpcId=world.vpc_id)["NetworkAcl"]["NetworkAclId"]
    fake_aws.rule(action="CreateSubnet", unseen=3, states=["pending", "available"])
    more = {
        "route_table": world.route_table_id,
        "network_acl": acl_id,
        "ipv6": True,
        "auto_assign_public_ip": True,
        "tags": {"team": "apps", "cost": 7},
        "availability_zone": world.other_zone,
    }
    subnet_id, _, _ = cpi.call("create_network", wish(**more)).ok()
    subnet = described(world, subnet_id)
    assert (subnet["AvailabilityZone"], subnet["MapPublicIpOnLaunch"]) == (world.other_zone, True)
    (ipv6,) = subnet["Ipv6CidrBlockAssociationSet"]
    (vpc,) = world.ec2.describe_vpcs(VpcIds=[world.vpc_id])["Vpcs"]
    whole = ip_network(vpc["Ipv6CidrBlockAssociationSet"][0]["Ipv6CidrBlock"])
    assert ip_network(ipv6["Ipv6CidrBlock"]) in whole.subnets(new_prefix=64)
    linked = [{"Name": "association.subnet-id", "Values": [subnet_id]}]
    (table,) = world.ec2.describe_route_tables(Filters=linked)["RouteTables"]
    (acl,) = world.ec2.describe_network_acls(Filters=linked)["NetworkAcls"]
    assert (table["RouteTableId"], acl["NetworkAclId"]) == (world.route_table_id, acl_id)
    tags = story.tags_of(subnet_id)
    assert len(tags.pop("bosh_call")) == 36
    created = datetime.fromisoformat(tags.pop("bosh_created"))
    assert abs(datetime.now(UTC) - created) < timedelta(minutes=1)
    marks = {"bosh_director_uuid": DIRECTOR_UUID, "bosh_network": "managed"}
    assert tags == {"team": "apps", "cost": "7", **marks}


def test_chosen_range(cpi: Cpi, world: World, wish: Any) -> None:
    """Without a range, a free one of the wanted size is chosen in any of the VPC's ranges."""
    world.ec2.associate_vpc_cidr_block(VpcId=world.vpc_id, CidrBlock="10.1.0.0/16")
    subnet_id, addresses, _ = cpi.call("create_network", wish({"netmask_bits": 16})).ok()
    assert (addresses["range"], addresses["gateway"]) == ("10.1.0.0/16", "10.1.0.1")
    assert described(world, subnet_id)["CidrBlock"] == "10.1.0.0/16"


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ({"netmask_bits": 18}, "CidrBlock"),
        ({"range": "10.0.9.0/24"}, "CidrBlock"),
        ({"range": "10.0.9.0/24"}, "Ipv6CidrBlock"),
    ],
    ids=["chosen", "wanted", "IPv6"],
)
def test_taken_range(
    story: Story, cpi: Cpi, world: World, wish: Any, fake_aws: FakeAws, given: dict[str, Any], taken: str
) -> None:
    """When somebody takes a range at that moment, another one is chosen, unless it was wanted."""
    world.ec2.associate_vpc_cidr_block(VpcId=world.vpc_id, AmazonProvidedIpv6CidrBlock=True)
    fake_aws.rule(action="CreateSubnet", hold_before=True)
    process = cpi.start("create_network", wish(given, ipv6=True))
    try:
        fake_aws.wait_until_held()
        (first,) = story.parameters_of("CreateSubnet")
        theirs = {"CidrBlock": "10.0.10.0/24", taken: first[taken]}
        other = world.ec2.create_subnet(VpcId=world.vpc_id, **theirs)["Subnet"]["SubnetId"]
    finally:
        fake_aws.release()
        answer = finish(process)
    if "range" in given and taken == "CidrBlock":
        assert "InvalidSubnet.Conflict: The CIDR '10.0.9.0/24' conflicts with" in answer.error["message"]
        assert world.state()["subnets"] == [other]
        return
    subnet = described(world, answer.ok()[0])
    subnet |= subnet["Ipv6CidrBlockAssociationSet"][0]
    assert subnet[taken] != first[taken]


def test_every_range_taken(story: Story, cpi: Cpi, wish: Any, fake_aws: FakeAws) -> None:
    """If other calls take each range first, others are tried, up to a limit."""
    fake_aws.rule(action="CreateSubnet", error=CONFLICT)
    error = cpi.call("create_network", wish()).error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", False)
    assert "CreateSubnet failed with InvalidSubnet.Conflict" in error["message"]
    tried = [call["CidrBlock"] for call in story.parameters_of("CreateSubnet")]
    assert len(tried) == len(set(tried)) == 21


def test_undo(story: Story, cpi: Cpi, world: World, wish: Any, fake_aws: FakeAws) -> None:
    """If the last step fails, the subnet is deleted, and the first error is returned."""
    fake_aws.rule(action="ModifySubnetAttribute", times=None, error=DENIED)
    given = wish(route_table=world.route_table_id, auto_assign_public_ip=True)
    error = cpi.call("create_network", given).error
    assert "ModifySubnetAttribute failed with UnauthorizedOperation" in error["message"]
    assert story.leftovers() == {}


@pytest.mark.usefixtures("fast_clock")
def test_undo_with_faults(story: Story, cpi: Cpi, wish: Any, fake_aws: FakeAws) -> None:
    """Faults of EC2 while the undo deletes the subnet are waited out, also more than the SDK retries."""
    fake_aws.rule(action="ModifySubnetAttribute", times=None, error=DENIED)
    fake_aws.refuse("DeleteSubnet", "InternalError", "An internal error.", 500, times=12)
    error = cpi.call("create_network", wish(auto_assign_public_ip=True)).error
    assert "ModifySubnetAttribute failed with UnauthorizedOperation" in error["message"]
    assert story.leftovers() == {}


def test_failed(story: Story, cpi: Cpi, wish: Any, fake_aws: FakeAws) -> None:
    """A subnet that EC2 could not create is deleted, and the error names its state."""
    fake_aws.rule(action="CreateSubnet", states=["pending", "failed-insufficient-capacity"])
    error = cpi.call("create_network", wish()).error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", False)
    assert error["message"].endswith("it is in state failed-insufficient-capacity")
    assert story.leftovers() == {}


def test_same_request(cpi: Cpi, world: World, wish: Any, fake_aws: FakeAws) -> None:
    """A call that was killed is completed by the same request, and not by another one."""
    given = wish(route_table=world.route_table_id)
    kill_at(
        fake_aws,
        lambda: cpi.start("create_network", given, context=REQUEST),
        when="after",
        action="CreateSubnet",
    )
    (subnet_id,) = world.state()["subnets"]
    answer = cpi.call("create_network", given, context=REQUEST).ok()
    assert answer[0] == subnet_id
    assert answer[1]["range"] == described(world, subnet_id)["CidrBlock"]
    assert answer[1]["range"].endswith("/24")
    other, _, _ = cpi.call("create_network", given, context={"request_id": "cpi-5"}).ok()
    assert world.state()["subnets"] == sorted([subnet_id, other])


def test_mark_on_another_subnet(cpi: Cpi, world: World, wish: Any) -> None:
    """A subnet with another range is never the answer, whatever its tags say."""
    given = wish({"range": "10.0.9.0/24"})
    first = cpi.call("create_network", given, context=REQUEST).ok()[0]
    tags = [{"ResourceType": "subnet", "Tags": described(world, first)["Tags"]}]
    world.ec2.delete_subnet(SubnetId=first)
    copied = world.ec2.create_subnet(VpcId=world.vpc_id, CidrBlock="10.0.10.0/24", TagSpecifications=tags)
    answer = cpi.call("create_network", given, context=REQUEST).ok()
    assert answer[0] != copied["Subnet"]["SubnetId"]
    assert answer[1]["range"] == "10.0.9.0/24"


@pytest.mark.parametrize("lacks", ["", "bosh_director_uuid", "bosh_network"])
def test_leftover_in_the_way(cpi: Cpi, world: World, wish: Any, fake_aws: FakeAws, lacks: str) -> None:
    """A subnet that a killed call left in the wanted range is named, with its time and how to delete it.

    One that another Director may have, or that may be no managed network's, is only named.
    """
    given = wish({"range": "10.0.9.0/24"})
    kill_at(
        fake_aws,
        lambda: cpi.start("create_network", given, context=REQUEST),
        when="after",
        action="CreateSubnet",
    )
    (left,) = world.state()["subnets"]
    if lacks:
        world.ec2.delete_tags(Resources=[left], Tags=[{"Key": lacks}])
    error = cpi.call("create_network", given, context={"request_id": "cpi-5"}).error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", False)
    assert f"overlaps the range of another subnet: 10.0.9.0/24 ({left})" in error["message"]
    assert ("delete-subnet" in error["message"]) is not bool(lacks)
    if lacks:
        return
    since = {each["Key"]: each["Value"] for each in described(world, left)["Tags"]}["bosh_created"]
    assert f"An earlier call may have left {left}, created for this Director at {since}" in error["message"]
    assert f"`aws ec2 delete-subnet --subnet-id {left}`" in error["message"]


@pytest.mark.usefixtures("fast_clock")
def test_lost_and_shown_late(cpi: Cpi, world: World, wish: Any, fake_aws: FakeAws) -> None:
    """A subnet whose creation was not answered is used, even if EC2 shows it only after the next attempt."""
    fake_aws.rule(action="CreateSubnet", nth=1, drop="after")
    fake_aws.rule(**UNSHOWN, seconds=90 / SPEED)
    subnet_id, addresses, _ = cpi.call("create_network", wish({"range": "10.0.9.0/24"})).ok()
    assert world.state()["subnets"] == [subnet_id]
    assert addresses["range"] == "10.0.9.0/24"
    assert fake_aws.actions().count("CreateSubnet") == 2


@pytest.mark.usefixtures("fast_clock")
@pytest.mark.parametrize("is_refused_again", [False, True])
def test_lost_and_undone(
    story: Story, cpi: Cpi, wish: Any, world: World, fake_aws: FakeAws, *, is_refused_again: bool
) -> None:
    """A subnet whose creation was not answered, and that EC2 shows late, is deleted if the call fails.

    So it is if an attempt that is certain to have created nothing comes in between.
    """
    fake_aws.rule(action="CreateSubnet", nth=1, drop="after")
    fake_aws.rule(**UNSHOWN)
    if is_refused_again:
        fake_aws.rule(**{**UNSHOWN, "where": {"Filter.1.Name": "vpc-id"}}, nth=2)
        fake_aws.rule(action="CreateSubnet", nth=3, error=CONFLICT)
    fake_aws.rule(action="AssociateRouteTable", error=DENIED)
    answer = cpi.call("create_network", wish(route_table=world.route_table_id))
    assert "AssociateRouteTable failed with UnauthorizedOperation" in answer.error["message"]
    assert "Perhaps left behind, because an attempt was not answered: the subnet with the tag bosh_call=" in (
        answer.stderr
    )
    assert story.leftovers() == {}


def test_same_request_that_fails(cpi: Cpi, world: World, wish: Any, fake_aws: FakeAws) -> None:
    """A subnet of an earlier attempt stays when its completion fails: the Director may know it."""
    given = wish(route_table=world.route_table_id)
    first, _, _ = cpi.call("create_network", given, context=REQUEST).ok()
    fake_aws.rule(action="AssociateRouteTable", error=DENIED)
    linked = [["<routeTableSet>.*</routeTableSet>", "<routeTableSet/>"]]
    fake_aws.rule(action="DescribeRouteTables", nth=2, replace=linked)
    error = cpi.call("create_network", given, context=REQUEST).error
    assert "AssociateRouteTable failed with UnauthorizedOperation" in error["message"]
    assert world.state()["subnets"] == [first]


def test_same_request_after_a_failure(cpi: Cpi, world: World, wish: Any, fake_aws: FakeAws) -> None:
    """A subnet that EC2 could not create is not used by the same request."""
    fake_aws.rule(action="CreateSubnet", nth=1, states=["failed"])
    fake_aws.rule(action="DeleteSubnet", error=DENIED)
    answer = cpi.call("create_network", wish(), context=REQUEST)
    assert answer.error["message"].endswith("it is in state failed")
    (failed,) = world.state()["subnets"]
    assert f"Perhaps left behind, because its undo failed: {failed}" in answer.stderr
    second, _, _ = cpi.call("create_network", wish(), context=REQUEST).ok()
    assert second != failed


def test_old_request(cpi: Cpi, world: World, wish: Any) -> None:
    """A subnet of half an hour ago belongs to another request with the same id."""
    first, _, _ = cpi.call("create_network", wish(), context=REQUEST).ok()
    old = (datetime.now(UTC) - timedelta(minutes=31)).strftime("%Y-%m-%dT%H:%M:%SZ")
    world.ec2.create_tags(Resources=[first], Tags=[{"Key": "bosh_created", "Value": old}])
    second, _, _ = cpi.call("create_network", wish(), context=REQUEST).ok()
    assert first != second


@pytest.mark.parametrize(
    ("given", "properties", "message"),
    [
        ({"type": "dynamic"}, {}, "network.type: only manual networks can be managed, not 'dynamic'"),
        ({}, {"vpc_id": None}, "Missing properties: network.cloud_properties.vpc_id"),
        ({"range": "10.0.9.0/29"}, {}, "network.range: AWS allows subnets from /16 to /28, not /29"),
        ({"netmask_bits": "/24"}, {}, "network.netmask_bits: must be a whole number"),
        (
            {"range": "10.0.9.0/24", "netmask_bits": 25},
            {},
            "network.range is 10.0.9.0/24, but network.netmask_bits is 25: remove one of them",
        ),
        (
            {"range": "10.0.9.0/24", "gateway": "10.0.9.254"},
            {},
            "network.gateway must be 10.0.9.1, where AWS's router is, not '10.0.9.254'",
        ),
        ({"gateway": "10.0.9.1"}, {}, "network.gateway needs network.range"),
        ({}, {"tags": {"aws:a": "b"}}, "Tags that begin with 'aws:' are reserved for AWS"),
    ],
)
def test_bad_input(
    story: Story, cpi: Cpi, wish: Any, given: dict[str, Any], properties: dict[str, Any], message: str
) -> None:
    """An invalid value is an error that names the key, and AWS is not called."""
    assert story.check_refusal(cpi.call("create_network", wish(given, **properties)), message) == []


@pytest.mark.parametrize(
    ("given", "properties", "message"),
    [
        ({}, {"vpc_id": "vpc-0123456789abcdef0"}, "vpc_id: there is no VPC 'vpc-0123456789abcdef0'"),
        ({}, {"route_table": "rtb-0123456789abcdef0"}, "route_table: 'rtb-0123456789abcdef0' does not exist"),
        (
            {"range": "10.2.0.0/24"},
            {},
            "network.range: 10.2.0.0/24 is not in a range of the VPC, which has 10.0.0.0/16",
        ),
    ],
)
def test_refused(
    story: Story, cpi: Cpi, wish: Any, given: dict[str, Any], properties: dict[str, Any], message: str
) -> None:
    """A value that the VPC does not allow is an error that names the key, before anything is created."""
    assert story.check_refusal(cpi.call("create_network", wish(given, **properties)), message)


def test_another_vpc(cpi: Cpi, world: World, wish: Any) -> None:
    """A network ACL of another VPC is refused, as is a route table."""
    other = world.ec2.create_vpc(CidrBlock="10.7.0.0/16")["Vpc"]["VpcId"]
    created = world.ec2.create_network_acl(VpcId=other)["NetworkAcl"]["NetworkAclId"]
    error = cpi.call("create_network", wish(network_acl=created)).error
    expected = f"network_acl: '{created}' is in VPC '{other}', but the network is in '{world.vpc_id}'"
    assert expected in error["message"]


def test_delete_in_use(story: Story, cpi: Cpi, world: World, wish: Any, fake_aws: FakeAws) -> None:
    """A subnet in which a VM runs stays; the error names the interface, without waiting."""
    subnet_id, _, properties = cpi.call("create_network", wish()).ok()
    vm_cid = story.create_vm(networks={"apps": {"type": "dynamic", "cloud_properties": properties}}).ok()[0]
    nic_id = world.instance(vm_cid)["NetworkInterfaces"][0]["NetworkInterfaceId"]
    fake_aws.forget_calls()
    error = cpi.call("delete_network", subnet_id).error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", False)
    assert f"can't be deleted while it has interfaces: {nic_id} (in-use, {vm_cid})" in error["message"]
    assert "DeleteSubnet failed with DependencyViolation" in error["message"]
    looks = ["DescribeNetworkInterfaces", "DescribeInstances"]
    assert fake_aws.actions() == ["DeleteSubnet", *looks, "CreateTags"]
    strays = cpi.run("sweep", "--director", DIRECTOR_UUID, "--older-than", "0", "--json").document["strays"]
    (stray,) = [each for each in strays if each["kind"] == "subnet"]
    assert (stray["id"], stray["removal"]) == (subnet_id, "a person")
    assert stray["why"] == "delete_network failed: the Director has forgotten it"
    assert world.state()["subnets"] == [subnet_id]


@pytest.mark.usefixtures("fast_clock")
def test_delete_in_use_by_unknown(cpi: Cpi, world: World, wish: Any, fake_aws: FakeAws) -> None:
    """If the interfaces can't be looked up, the deletion goes on waiting for their release."""
    subnet_id, _, _ = cpi.call("create_network", wish()).ok()
    fake_aws.refuse("DeleteSubnet", "DependencyViolation", "It has dependencies.", times=3)
    fake_aws.rule(action="DescribeNetworkInterfaces", error=DENIED)
    answer = cpi.call("delete_network", subnet_id)
    assert answer.ok() is None
    assert answer.stderr.count("Could not look up the interfaces") == 1
    fake_aws.clear_rules()
    assert world.state() == world.empty


def test_delete_in_use_by_aws(cpi: Cpi, world: World, wish: Any, fake_aws: FakeAws) -> None:
    """The interfaces of a load balancer are deleted with it, by nobody else, and not at once."""
    subnet_id, _, _ = cpi.call("create_network", wish()).ok()
    world.ec2.create_network_interface(SubnetId=subnet_id, Description="ELB app/front/1")
    managed = [["<requesterManaged>false<", "<requesterManaged>true<"]]
    fake_aws.rule(action="DescribeNetworkInterfaces", replace=managed)
    message = cpi.call("delete_network", subnet_id).error["message"]
    assert (
        "(available, ELB app/front/1). Delete what uses them (AWS deletes those of a load balancer" in message
    )
    assert fake_aws.actions().count("DeleteSubnet") == 1


@pytest.mark.usefixtures("fast_clock")
def test_delete_after_vms(cpi: Cpi, world: World, wish: Any, fake_aws: FakeAws) -> None:
    """delete_network waits until EC2 has deleted the VMs' interfaces."""
    subnet_id, _, _ = cpi.call("create_network", wish()).ok()
    fake_aws.refuse("DeleteSubnet", "DependencyViolation", "It has dependencies.", seconds=20 / SPEED)
    assert cpi.call("delete_network", subnet_id).ok() is None
    assert fake_aws.actions().count("DeleteSubnet") > 2
    assert world.state() == world.empty


@pytest.mark.usefixtures("fast_clock")
def test_delete_not_found_yet(cpi: Cpi, world: World, wish: Any, fake_aws: FakeAws) -> None:
    """A new subnet that DeleteSubnet does not find yet, but that EC2 shows, is deleted."""
    subnet_id, _, _ = cpi.call("create_network", wish()).ok()
    fake_aws.refuse("DeleteSubnet", "InvalidSubnetID.NotFound", f"'{subnet_id}' does not exist", nth=1)
    assert cpi.call("delete_network", subnet_id).ok() is None
    assert world.state() == world.empty
