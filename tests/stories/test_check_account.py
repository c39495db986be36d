"""`cpi check` and the account: what the cloud config names in AWS exists, and fits."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi, config
from testbed.reservations import reserved
from testbed.world import PUBLIC_KEY, World
from tests.protocols import CpiWith
from tests.stories.checked_config import LARGE, SUBNET, TARGET_GROUP, Z1, changed, env, right, subnet
from tests.stories.checking import checked, checked_with, created, errors, of

PROPERTIES = (*LARGE, "cloud_properties")
LARGE_PATH = "vm_types/large/cloud_properties"
SUBNET_PATH = "networks/default/subnets/0"
NOWHERE = "http://127.0.0.1:1"
ELSEWHERE = "p3dn.24xlarge"
"""A type that no zone of the world offers."""
ONE_ZONE = "g7e.2xlarge"
"""A type that only the world's first zone offers."""
MOST_CALLS = 20
ALL_CALLS = 18


@dataclass
class Far:
    """Another VPC, with things of every kind."""

    vpc_id: str
    subnet_id: str
    group_id: str
    table_id: str


@pytest.fixture
def far(world: World, fake_aws: FakeAws) -> Far:
    """Create another VPC with a group, a route table, a load balancer and a target group, all named far."""
    ec2 = world.ec2
    vpc_id = ec2.create_vpc(CidrBlock="10.1.0.0/16")["Vpc"]["VpcId"]
    subnet_id = ec2.create_subnet(VpcId=vpc_id, CidrBlock="10.1.1.0/24", AvailabilityZone=world.zone)[
        "Subnet"
    ]["SubnetId"]
    group_id = ec2.create_security_group(GroupName="far", Description="far", VpcId=vpc_id)["GroupId"]
    table_id = ec2.create_route_table(VpcId=vpc_id)["RouteTable"]["RouteTableId"]
    port = {"Protocol": "TCP", "Port": 80}
    elbv2 = fake_aws.client("elbv2")
    elbv2.create_target_group(Name="far", VpcId=vpc_id, TargetType="instance", **port)
    elbv2.create_target_group(Name="proxies", VpcId=world.vpc_id, TargetType="alb", **port)
    elbv2.create_target_group(Name="quic", VpcId=world.vpc_id, Protocol="QUIC", Port=443)
    elbv2.create_target_group(Name="ips", VpcId=world.vpc_id, TargetType="ip", **port)
    listener = {"Protocol": "TCP", "LoadBalancerPort": 80, "InstancePort": 80}
    elb = fake_aws.client("elb")
    elb.create_load_balancer(LoadBalancerName="far", Listeners=[listener], Subnets=[subnet_id])
    world.laid["subnets"].append(subnet_id)
    return Far(vpc_id, subnet_id, group_id, table_id)


def cancelled(world: World) -> str:
    """Create a capacity reservation, and cancel it; returns its id."""
    reservation_id = reserved(world.ec2, "m5.large", world.zone)
    world.ec2.cancel_capacity_reservation(CapacityReservationId=reservation_id)
    return reservation_id


def in_market(world: World, kind: str, given: str) -> dict[str, str | None]:
    """Write a reservation of a kind, with a market that may be another one."""
    return {"id": reserved(world.ec2, "m5.large", world.zone, market=kind), "market": given or None}


def host(world: World, instance_type: str, zone: str) -> str:
    """Allocate a Dedicated Host; returns its id."""
    (host_id,) = world.ec2.allocate_hosts(InstanceType=instance_type, AvailabilityZone=zone, Quantity=1)[
        "HostIds"
    ]
    return str(host_id)


GROUPS = (*SUBNET, "cloud_properties", "security_groups")


def misfits(world: World, far: Far) -> dict[str, tuple[dict[str, Any], str]]:
    """Write properties of which one names what does not exist or fit; with where in them that is."""
    ec2, zone = world.ec2, world.zone
    reservation = "capacity_reservation/id"
    of_other_type = reserved(ec2, "m5.xlarge", zone)
    elsewhere = reserved(ec2, "m5.large", "us-east-1c")
    route = {"table_id": far.table_id, "destination": "10.9.0.0/16"}
    return {
        "profile": ({"iam_instance_profile": "nobody"}, "iam_instance_profile"),
        "group-by-id": ({"security_groups": [far.group_id]}, "security_groups/0"),
        "group-by-name": ({"security_groups": ["far"]}, "security_groups/0"),
        "no-such-group": ({"security_groups": ["sg-0123456789abcdef0"]}, "security_groups/0"),
        "balancer": ({"elbs": ["far"]}, "elbs/0"),
        "target-group": ({"lb_target_groups": ["far"]}, "lb_target_groups/0"),
        "targets-that-are-balancers": ({"lb_target_groups": ["ips", "proxies"]}, "lb_target_groups/1"),
        "targets-with-server-ids": ({"lb_target_groups": ["quic"]}, "lb_target_groups/0"),
        "target-group-in-a-hash": (
            {"lb_target_groups": [{"name": "far", "port": 80}]},
            "lb_target_groups/far/name",
        ),
        "unknown-arn": ({"lb_target_groups": ["ips", {"arn": TARGET_GROUP}]}, "lb_target_groups/1/arn"),
        "table": ({"advertised_routes": [route]}, "advertised_routes/0/table_id"),
        "type-elsewhere": ({"instance_type": ELSEWHERE}, "instance_type"),
        "architectures": ({"instance_type_fallbacks": ["m6g.large"]}, "instance_type_fallbacks/0"),
        "no-reservation": ({"capacity_reservation": {"id": "cr-0123456789abcdef0"}}, reservation),
        "cancelled": ({"capacity_reservation": {"id": cancelled(world)}}, reservation),
        "reservation-for-other-type": ({"capacity_reservation": {"id": of_other_type}}, reservation),
        "reservation-elsewhere": ({"capacity_reservation": {"id": elsewhere}}, reservation),
        "no-market": ({"capacity_reservation": in_market(world, "capacity-block", "")}, reservation),
        "other-market": ({"capacity_reservation": in_market(world, "", "capacity-block")}, reservation),
        "reservation-of-other-tenancy": (
            {"capacity_reservation": {"id": reserved(ec2, "m5.large", zone)}, "tenancy": "dedicated"},
            reservation,
        ),
        "no-host": ({"dedicated_host": {"id": "h-0123456789abcdef0"}}, "dedicated_host/id"),
        "host-for-other-type": (
            {"dedicated_host": {"id": host(world, "m5.xlarge", zone)}},
            "dedicated_host/id",
        ),
        "host-elsewhere": (
            {"dedicated_host": {"id": host(world, "m5.large", "us-east-1c")}},
            "dedicated_host/id",
        ),
    }


def with_types(world: World, types: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Write a cloud config with further VM types of these properties."""
    whole = right(world)
    for name, properties in types.items():
        whole["vm_types"].append(
            {"name": name, "cloud_properties": {"instance_type": "m5.large", **properties}}
        )
    return whole


def test_wrong(cpi: Cpi, world: World, far: Far) -> None:
    """What does not exist or fit is an error with its path and line."""
    wrong = misfits(world, far)
    whole = with_types(world, {name: properties for name, (properties, _) in wrong.items()})
    found = errors(checked(cpi, whole))
    assert sorted(each["path"] for each in found) == sorted(
        f"vm_types/{name}/cloud_properties/{path}" for name, (_, path) in wrong.items()
    )
    assert all(isinstance(each["line"], int) for each in found)


def test_wrong_zones(cpi: Cpi, world: World) -> None:
    """A zone that does not exist, and a subnet of another zone, are errors."""
    whole = changed(right(world), (*Z1, "cloud_properties", "availability_zone"), "us-east-1z")
    (error,) = errors(checked(cpi, whole))
    assert error["path"] == "azs/z1/cloud_properties/availability_zone"
    whole = changed(right(world), (*SUBNET, "cloud_properties", "subnet"), world.subnet_ids[2])
    found = {each["path"] for each in errors(checked(cpi, whole))}
    assert found == {f"{SUBNET_PATH}/cloud_properties/subnet", f"{SUBNET_PATH}/range"}


NEAREST = [
    ("instance_type", "t3.samll", "Did you mean t3.small?"),
    ("instance_type", "R5.XLarge", "Did you mean r5.xlarge?"),
    ("availability_zone", "us-east-1A", "such as us-east-1a"),
    ("security_groups", ["bosch"], "Did you mean bosh?"),
    ("key_name", "bosch", "Did you mean bosh?"),
    ("placement_group", "spraed", "Did you mean spread?"),
    ("iam_instance_profile", "bosh-wm", "Did you mean bosh-vm?"),
    ("iam_instance_profile", "arn:aws:iam::123456789012:instance-profile/bosh", "Give the name of an"),
    ("elbs", ["farr"], "Did you mean far?"),
    ("lb_target_groups", ["proxys"], "Did you mean proxies?"),
]


@pytest.mark.usefixtures("far")
def test_nearest(cpi: Cpi, world: World) -> None:
    """What does not exist is an error with the nearest name that does."""
    world.ec2.create_placement_group(GroupName="spread", Strategy="spread")
    types = {f"type-{number}": {key: value} for number, (key, value, _) in enumerate(NEAREST)}
    found = errors(checked(cpi, with_types(world, types)))
    for number, (key, _, said) in enumerate(NEAREST):
        texts = [
            f"{each['what']}. {each['remedy']}"
            for each in found
            if each["path"].startswith(f"vm_types/type-{number}/cloud_properties/{key}")
        ]
        assert any(said in text for text in texts), (said, texts)


@pytest.mark.parametrize(
    ("aws", "path"),
    [
        ({"default_key_name": "nobody"}, "aws.default_key_name"),
        ({"default_iam_instance_profile": "nobody"}, "aws.default_iam_instance_profile"),
        ({"default_security_groups": ["bosh", "nobody"]}, "aws.default_security_groups"),
    ],
)
def test_defaults(cpi_with: CpiWith, world: World, aws: dict[str, Any], path: str) -> None:
    """A default that does not exist is an error if a VM would use it, and else a warning."""
    cpi, whole = cpi_with(**aws), right(world)
    assert {each["path"] for each in errors(checked(cpi, whole))} == {path}
    assert created(cpi, world, whole, "vm_types").error is not None
    own = {"key_name": "bosh", "iam_instance_profile": "bosh-vm", "security_groups": ["bosh"]}
    for vm_type in whole["vm_types"]:
        vm_type["cloud_properties"] |= own
    found = checked(cpi, whole)
    assert [(each["severity"], each["path"]) for each in found] == [("warning", path)]
    assert created(cpi, world, whole, "vm_types").error is None


def associated(world: World, far: Far, state: str = "associated") -> None:
    """Associate the far group with the world's VPC, and wait until the association has a state."""
    now = world.ec2.associate_security_group_vpc(GroupId=far.group_id, VpcId=world.vpc_id)["State"]
    of_group = [{"Name": "group-id", "Values": [far.group_id]}]
    while now != state:
        found = world.ec2.describe_security_group_vpc_associations(Filters=of_group)
        now = found["SecurityGroupVpcAssociations"][0]["State"]


@pytest.mark.parametrize("where", ["vm", "default"])
def test_associated_group(cpi_with: CpiWith, world: World, far: Far, fake_aws: FakeAws, where: str) -> None:
    """A group of another VPC is right where it is associated; only such a group costs more calls."""
    whole = right(world)
    cpi = cpi_with(default_security_groups=[far.group_id] if where == "default" else ["bosh"])
    if where == "vm":
        whole = changed(whole, (*PROPERTIES, "security_groups"), [far.group_id])
    (error,) = errors(checked(cpi, whole))
    assert error["what"] == (
        f"security group '{far.group_id}' is of VPC '{far.vpc_id}', and not associated with '{world.vpc_id}'"
    )
    assert created(cpi, world, whole, "vm_types", 1).error is not None
    associated(world, far)
    fake_aws.forget_calls()
    assert checked(cpi, whole) == []
    calls = Counter(fake_aws.actions())
    assert (calls["DescribeSecurityGroups"], calls["DescribeSecurityGroupVpcAssociations"]) == (2, 1)
    vm_cid = created(cpi, world, whole, "vm_types", 1).ok()[0]
    assert [each["GroupId"] for each in world.instance(vm_cid)["SecurityGroups"]] == [far.group_id]


def test_association_with_another_vpc(cpi: Cpi, world: World, far: Far) -> None:
    """A network's group that will soon be associated with another VPC stays an error for this one."""
    third = world.ec2.create_vpc(CidrBlock="10.2.0.0/16")["Vpc"]["VpcId"]
    world.ec2.associate_security_group_vpc(GroupId=far.group_id, VpcId=third)
    (found,) = checked(cpi, changed(right(world), GROUPS, [far.group_id]))
    assert (found["severity"], "not associated with" in found["what"]) == ("error", True)


def test_refused_associations(cpi: Cpi, world: World, far: Far, fake_aws: FakeAws) -> None:
    """Without the permission, a group of another VPC is not checked; one that does not exist is an error."""
    fake_aws.rule(
        action="DescribeSecurityGroupVpcAssociations",
        error={"code": "UnauthorizedOperation", "message": "no", "status": 403},
    )
    unknown = "sg-0123456789abcdef0"
    whole = changed(right(world), (*PROPERTIES, "security_groups"), [far.group_id, unknown])
    error, refused = checked(cpi, whole)
    assert (error["severity"], error["what"]) == ("error", f"there is no security group '{unknown}'")
    assert refused["remedy"] == "Allow ec2:DescribeSecurityGroupVpcAssociations"


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"instance_type_fallbacks": [ELSEWHERE]}, f"does not offer type '{ELSEWHERE}'"),
        ({"instance_type_fallbacks": ["m5.giant"]}, "there is no instance type 'm5.giant'"),
        ({"instance_type": "vt1.3xlarge", "instance_type_fallbacks": ["m5.large"]}, "does not offer"),
        ({"instance_type": ONE_ZONE}, f"zone us-east-1b does not offer type '{ONE_ZONE}'"),
    ],
)
def test_some_types(cpi: Cpi, world: World, properties: dict[str, Any], words: str) -> None:
    """A type that can't be launched is a warning if the VM can be created with another one, or elsewhere."""
    whole = right(world)
    whole["vm_types"][1]["cloud_properties"] |= properties
    found = checked(cpi, whole)
    assert {each["severity"] for each in found} == {"warning"}, found
    assert any(words in each["what"] for each in found), found
    assert created(cpi, world, whole, "vm_types", 1).error is None


def test_type_that_is_a_variable(cpi: Cpi, world: World) -> None:
    """A type that no zone offers is a warning as long as a variable may name another one."""
    properties = {"instance_type": "((type))", "instance_type_fallbacks": [ELSEWHERE]}
    found = checked(cpi, changed(right(world), PROPERTIES, properties))
    assert [each["severity"] for each in found if ELSEWHERE in each["what"]] == ["warning"]


def test_options_of_types(cpi: Cpi, world: World) -> None:
    """An option that a type lacks is an error, and so is a root disk that is not larger than its memory."""
    whole = right(world)
    small, large = (each["cloud_properties"] for each in whole["vm_types"])
    small |= {"instance_type": "t3.micro", "enclave": True}
    large |= {"hibernation": True, "root_disk": {"encrypted": True, "size": 5120}}
    assert not errors(checked(cpi, whole, "--offline"))
    messages = {
        "vm_types/small/cloud_properties/enclave": "enclave requested for instance type 't3.micro'",
        f"{LARGE_PATH}/hibernation": "larger than the 8192 MiB of memory of 'm5.large'",
    }
    found = {each["path"]: each["what"] for each in errors(checked(cpi, whole))}
    assert found.keys() == messages.keys()
    for number, path in enumerate(messages):
        assert messages[path] in found[path]
        assert messages[path] in created(cpi, world, whole, "vm_types", number).error["message"]


def test_reservation(cpi: Cpi, world: World) -> None:
    """A reservation in one of the zones is a warning for the others, and so is a full one."""
    reservation = {"id": reserved(world.ec2, "m5.large", world.zone)}
    whole = changed(right(world), (*PROPERTIES, "capacity_reservation"), reservation)
    (found,) = checked(cpi, whole)
    assert (found["severity"], f"but the VM in {world.other_zone}" in found["what"]) == ("warning", True)
    world.ec2.run_instances(
        ImageId=world.image_id,
        InstanceType="m5.large",
        SubnetId=world.subnet_id,
        Placement={"AvailabilityZone": world.zone},
        CapacityReservationSpecification={
            "CapacityReservationTarget": {"CapacityReservationId": reservation["id"]}
        },
        MinCount=1,
        MaxCount=1,
    )
    said = [each["what"] for each in checked(cpi, whole) if "capacity_reservation" in each["path"]]
    assert ["has no room left" in what for what in said] == [False, True]
    assert created(cpi, world, whole, "vm_types", 1).error is not None


def only_here(world: World, **properties: Any) -> dict[str, Any]:
    """Write a cloud config with one zone, and properties of the large VM type."""
    whole = right(world)
    whole["azs"], whole["networks"][0]["subnets"] = whole["azs"][:1], whole["networks"][0]["subnets"][:1]
    whole["vm_types"][1]["cloud_properties"] |= properties
    return whole


@pytest.mark.parametrize(
    ("state", "market", "severity"),
    [
        ("payment-pending", "capacity-block", "warning"),
        ("expired", "capacity-block", "error"),
        ("pending", "", "warning"),
    ],
)
def test_reservation_in_state(
    cpi: Cpi, world: World, fake_aws: FakeAws, state: str, market: str, severity: str
) -> None:
    """A reservation that may become active is a warning, another one an error."""
    reservation = in_market(world, market, market)
    shown = ["<state>active</state>", f"<state>{state}</state>"]
    fake_aws.rule(action="DescribeCapacityReservations", replace=[shown])
    whole = only_here(world, capacity_reservation=reservation)
    (found,) = checked(cpi, whole)
    assert (found["severity"], f"is in state {state}, not active" in found["what"]) == (severity, True)


@pytest.mark.parametrize(
    ("group", "partition", "what"),
    [
        ({"Strategy": "spread"}, 1, "'apart' has no partitions: its strategy is spread, not partition"),
        (
            {"Strategy": "partition", "PartitionCount": 3},
            4,
            "'apart' has 3 partitions, but placement_partition is 4",
        ),
        ({"Strategy": "partition", "PartitionCount": 3}, 3, ""),
    ],
)
def test_partitions(cpi: Cpi, world: World, group: dict[str, Any], partition: int, what: str) -> None:
    """A partition must be one of its placement group's, which only groups of one strategy have."""
    world.ec2.create_placement_group(GroupName="apart", **group)
    whole = right(world)
    large = whole["vm_types"][1]["cloud_properties"]
    large |= {"placement_group": "apart", "placement_partition": partition}
    found = {each["path"]: each["what"] for each in errors(checked(cpi, whole))}
    expected = {f"{LARGE_PATH}/placement_group": f"placement group {what}"}
    assert found == (expected if what else {})
    before = world.state()
    assert (created(cpi, world, whole, "vm_types", 1).error is None) == (not what)
    assert (world.state() == before) == bool(what)


def test_range(cpi: Cpi, world: World) -> None:
    """A range outside the subnet is an error; a part of the subnet is a warning."""
    whole = right(world)
    outside = changed(whole, (*SUBNET, "range"), "10.0.0.0/23")
    assert f"{SUBNET_PATH}/range" in {each["path"] for each in errors(checked(cpi, outside))}
    part = changed(whole, (*SUBNET, "range"), "10.0.1.0/25")
    found = [each for each in checked(cpi, part) if each["source"] == "AWS"]
    assert [(each["severity"], each["path"]) for each in found] == [("warning", f"{SUBNET_PATH}/range")]


def test_stemcell(cpi: Cpi, world: World) -> None:
    """Types must fit one of the stemcells that are named; these must exist and be enabled."""
    arm = world.ec2.register_image(Name="arm", Architecture="arm64", RootDeviceName="/dev/xvda")["ImageId"]
    whole = changed(right(world), (*PROPERTIES, "instance_type"), "m6g.large")
    assert errors(checked(cpi, whole)) == []
    stemcell = ("--stemcell", f"{world.image_id} light")
    (found,) = errors(checked(cpi, whole, *stemcell))
    assert (found["path"], found["source"]) == (f"{LARGE_PATH}/instance_type", "CPI")
    assert f"AMI '{world.image_id}' is for x86_64" in found["what"]
    answer = created(cpi, world, whole, "vm_types", 1)
    assert found["what"] in answer.error["message"]
    assert errors(checked(cpi, whole, *stemcell, "--stemcell", arm)) == []
    world.ec2.disable_image(ImageId=arm)
    (disabled,) = errors(checked(cpi, whole, *stemcell, "--stemcell", arm))
    assert f"AMI '{arm}' is disabled" in disabled["what"]
    (missing,) = errors(checked(cpi, right(world), "--stemcell", "ami-0123456789abcdef0"))
    assert "there is no AMI 'ami-0123456789abcdef0'" in missing["what"]


def test_small_root_disk(cpi: Cpi, world: World) -> None:
    """A root disk that is smaller than a stemcell's is refused by EC2: an error if no stemcell fits."""
    (image,) = world.ec2.describe_images(ImageIds=[world.image_id])["Images"]
    least = image["BlockDeviceMappings"][0]["Ebs"]["VolumeSize"] * 1024
    path = f"{LARGE_PATH}/root_disk/size"
    small = changed(right(world), (*PROPERTIES, "root_disk"), {"size": least - 1024})
    root = {"SnapshotId": image["BlockDeviceMappings"][0]["Ebs"]["SnapshotId"], "VolumeSize": 99}
    larger = world.ec2.register_image(
        Name="larger",
        Architecture="x86_64",
        RootDeviceName="/dev/xvda",
        BlockDeviceMappings=[{"DeviceName": "/dev/xvda", "Ebs": root}],
    )
    stemcell = ("--stemcell", larger["ImageId"], "--stemcell", world.image_id)
    assert errors(checked(cpi, small)) == []
    (found,) = errors(checked(cpi, small, *stemcell))
    assert (found["path"], found["source"]) == (path, "AWS")
    assert found["remedy"] == f"Give at least {least} MiB, or remove size"
    assert "InvalidBlockDeviceMapping" in created(cpi, world, small, "vm_types", 1).error["message"]
    enough = changed(small, (*PROPERTIES, "root_disk", "size"), least)
    assert errors(checked(cpi, enough, *stemcell)) == []


def in_subnet(world: World, address: str, **more: Any) -> str:
    """Create an interface in the first subnet; returns its id."""
    answer = world.ec2.create_network_interface(
        SubnetId=world.subnet_id, PrivateIpAddress=address, Groups=[world.groups["bosh"]], **more
    )
    return str(answer["NetworkInterface"]["NetworkInterfaceId"])


def launched(world: World, address: str, **tags: str) -> None:
    """Launch an instance with an address, and tag it."""
    answer = world.ec2.run_instances(
        ImageId=world.image_id,
        InstanceType="m5.large",
        NetworkInterfaces=[{"DeviceIndex": 0, "SubnetId": world.subnet_id, "PrivateIpAddress": address}],
        MinCount=1,
        MaxCount=1,
    )
    listed = [{"Key": key, "Value": value} for key, value in tags.items()]
    if listed:
        world.ec2.create_tags(Resources=[answer["Instances"][0]["InstanceId"]], Tags=listed)


def test_addresses(cpi: Cpi, world: World) -> None:
    """Addresses that others hold are printed as the entries that `reserved` lacks, but no Director's."""
    for address in ("10.0.1.5", "10.0.1.20", "10.0.1.21", "10.0.1.22", "10.0.1.30"):
        in_subnet(world, address)
    world.ec2.assign_private_ip_addresses(
        NetworkInterfaceId=in_subnet(world, "10.0.1.40"), PrivateIpAddresses=["10.0.1.42"]
    )
    launched(world, "10.0.1.60", Name="jumpbox")
    whole = right(world)
    assert created(cpi, world, whole, "vm_types").error is None  # 10.0.1.50
    launched(world, "10.0.1.70", deployment="cf", job="router", index="0", id="1", director="prod")
    launched(world, "10.0.1.80", deployment="bosh", job="bosh", index="0", director="bosh-init")
    (found,) = checked(cpi, whole)
    entries = "10.0.1.20/31, 10.0.1.22, 10.0.1.30, 10.0.1.40, 10.0.1.42, 10.0.1.60"
    assert (found["severity"], found["path"]) == ("warning", f"{SUBNET_PATH}/range")
    assert found["remedy"] == f"Add to reserved: [{entries}]"
    whole["networks"][0]["subnets"][0]["reserved"] += entries.split(", ")
    assert checked(cpi, whole) == []


def test_static_address(cpi: Cpi, world: World) -> None:
    """A static address that somebody else holds can't be reserved: it has a finding of its own."""
    nic_id = in_subnet(world, "10.0.1.110", Description="database")
    whole = right(world)
    (found,) = checked(cpi, whole)
    assert (found["severity"], found["path"]) == ("warning", f"{SUBNET_PATH}/static/0")
    assert (
        f"interface '{nic_id}' (database), which the Director does not know, holds 10.0.1.110"
        in found["what"]
    )


def test_create_env_address(cpi: Cpi, world: World) -> None:
    """For create-env only static addresses count, and those of its own VM are its own."""
    whole = env(world)
    in_subnet(world, "10.0.1.20")
    tags = {"deployment": "bosh", "job": "bosh", "index": "0"}
    launched(world, "10.0.1.6", **tags, director="bosh-init")
    assert of("warning", checked(cpi, whole)) == []
    (mine,) = world.state()["instances"]
    world.ec2.create_tags(Resources=[mine], Tags=[{"Key": "director", "Value": "other"}])
    (found,) = of("warning", checked(cpi, whole))
    assert found["path"] == "networks/private/subnets/0/static/0"


def test_configuration_of_create_env(cpi_with: CpiWith, world: World) -> None:
    """The defaults of create-env are those of its manifest; cpi.json gives credentials and endpoints."""
    cpi = cpi_with(default_security_groups=["nobody"], default_key_name="nobody", region="eu-west-1")
    assert errors(checked(cpi, env(world))) == []
    (found,) = errors(checked(cpi, env(world, default_security_groups=["bosch"])))
    assert found["path"] == "cloud_provider/properties/aws/default_security_groups"
    assert found["line"] is not None
    assert "'bosch'" in found["what"]


@pytest.mark.usefixtures("ipv6")
def test_ipv6_addresses(cpi: Cpi, world: World) -> None:
    """IPv6 addresses and delegated prefixes are reserved like others, in quotation marks."""
    nic_id = in_subnet(world, "10.0.1.5", Ipv6Addresses=[{"Ipv6Address": "2001:db8::20"}])
    world.ec2.assign_ipv6_addresses(NetworkInterfaceId=nic_id, Ipv6Prefixes=["2001:db8:0:0:5::/80"])
    world.ec2.assign_private_ip_addresses(NetworkInterfaceId=nic_id, Ipv4Prefixes=["10.0.1.64/28"])
    whole = right(world)
    second = {
        **whole["networks"][0]["subnets"][0],
        "range": "2001:db8::/64",
        "gateway": "2001:db8::1",
        "reserved": ["2001:db8::2-2001:db8::f"],
        "static": [],
    }
    whole["networks"].append({"name": "six", "type": "manual", "subnets": [second]})
    four, six = [each["remedy"] for each in checked(cpi, whole) if each["source"] == "AWS"]
    assert four == "Add to reserved: [10.0.1.64/28]"
    prefix = '"2001:db8:0:0:5::/80"'
    assert six == f'Add to reserved: ["2001:db8::20", {prefix}]'


def everything(world: World, far: Far, fake_aws: FakeAws) -> dict[str, Any]:
    """Write a large cloud config that names things of all kinds: 40 VM types, 6 zones, 12 networks."""
    del far  # its target groups and load balancers are listed too
    ec2, whole = world.ec2, right(world)
    zones = [f"us-east-1{letter}" for letter in "abcdef"]
    key = fake_aws.client("kms").create_key()["KeyMetadata"]["Arn"]
    whole["azs"] = [{"name": zone, "cloud_properties": {"availability_zone": zone}} for zone in zones]
    kinds = [
        "c5.large",
        "c5.xlarge",
        "r5.large",
        "r5.xlarge",
        "m5.large",
        "m5.xlarge",
        "t3.small",
        "t3.micro",
    ]
    ec2.create_placement_group(GroupName="near", Strategy="spread")
    reservation_id = reserved(world.ec2, "c5.large", world.zone)
    host_id = host(world, "c5.large", world.zone)
    whole["vm_types"] = []
    for number in range(40):
        ec2.import_key_pair(KeyName=f"key-{number}", PublicKeyMaterial=PUBLIC_KEY)
        properties = {
            "instance_type": kinds[number % len(kinds)],
            "key_name": f"key-{number}",
            "security_groups": ["bosh", world.groups["web"]],
            "iam_instance_profile": world.instance_profile,
            "ephemeral_disk": {"encrypted": True, "kms_key_arn": key, "size": 10_240},
            "advertised_routes": [{"table_id": world.route_table_id, "destination": "10.9.0.0/16"}],
        }
        whole["vm_types"].append({"name": f"type-{number}", "cloud_properties": properties})
    own = [each["cloud_properties"] for each in whole["vm_types"]]
    own[0]["placement_group"] = "near"
    own[0]["capacity_reservation"] = {"id": reservation_id}
    ec2.create_launch_template(LaunchTemplateName="bosh", LaunchTemplateData={"EbsOptimized": True})
    for each in own[32:]:
        each["launch_template"] = {"name": "bosh"}
    own[8]["dedicated_host"] = {"id": host_id}
    own[16] |= {"elbs": ["far"], "lb_target_groups": ["far"]}
    whole["networks"] = []
    for number in range(12):
        subnet_id = ec2.create_subnet(
            VpcId=world.vpc_id,
            CidrBlock=f"10.0.{100 + number}.0/24",
            AvailabilityZone=zones[number % len(zones)],
        )["Subnet"]["SubnetId"]
        entry = subnet(f"10.0.{100 + number}", zones[number % len(zones)], subnet_id)
        whole["networks"].append({"name": f"net-{number}", "type": "manual", "subnets": [entry]})
    world.ec2.create_network_interface(SubnetId=subnet_id, PrivateIpAddress=f"10.0.{100 + number}.77")
    world.ec2.run_instances(
        ImageId=world.image_id, InstanceType="m5.large", SubnetId=subnet_id, MinCount=1, MaxCount=1
    )
    whole["compilation"] = {"workers": 2, "network": "net-0", "az": zones[0], "vm_type": "type-0"}
    return whole


def test_calls(cpi: Cpi, world: World, far: Far, fake_aws: FakeAws) -> None:
    """A large cloud config costs one listing for each kind of thing, however many things it names."""
    whole = everything(world, far, fake_aws)
    fake_aws.forget_calls()
    found = checked(cpi, whole, "--stemcell", world.image_id)
    assert {each["path"] for each in errors(found)} == {
        f"vm_types/type-16/cloud_properties/{key}/0" for key in ("elbs", "lb_target_groups")
    }
    calls = Counter(f"{call['service']}:{call['action']}" for call in fake_aws.calls())
    assert set(calls.values()) == {1}
    assert len(calls) == ALL_CALLS <= MOST_CALLS
    assert "kms:DescribeKey" in calls
    assert of("not checked", found) == []


def test_sizes_by_region(cpi_with: CpiWith, world: World, fake_aws: FakeAws) -> None:
    """With `aws.vm_resources_by_region`, the check chooses as the CPI does; offline it asks nobody."""
    cpi, whole = cpi_with(vm_resources_by_region=True), right(world)
    del whole["compilation"]["vm_type"]
    whole["compilation"]["vm_resources"] = size = {"cpu": 64, "ram": 512, "ephemeral_disk_size": 10_240}
    fake_aws.rule(action=OFFERS, where={"LocationType": "region"}, replace=[["5[.]16xlarge", "9.metal"]])
    (found,) = errors(checked(cpi, whole))
    assert found["path"] == "compilation/vm_resources"
    assert found["what"] == cpi.call("calculate_vm_cloud_properties", size).error["message"]
    assert "Largest known VM type is 'r5.12xlarge'" in found["what"]
    fake_aws.forget_calls()
    assert errors(checked(cpi_with(vm_resources_by_region=True), whole, "--offline")) == []
    assert fake_aws.actions() == []


OFFERS = "DescribeInstanceTypeOfferings"
LOOKUPS = {
    "DescribeSubnets": "subnets",
    "DescribeNetworkInterfaces": "addresses",
    "DescribeSecurityGroups": "security groups",
    OFFERS: "offers of instance types",
    "DescribeInstanceTypes": "instance types",
    "DescribeKeyPairs": "key pairs",
    "DescribePlacementGroups": "placement groups",
    "DescribeRouteTables": "route tables",
    "DescribeTargetGroups": "target groups",
    "DescribeLoadBalancers": "classic load balancers",
    "DescribeCapacityReservations": "capacity reservations",
    "DescribeHosts": "Dedicated Hosts",
    "DescribeLaunchTemplateVersions": "launch template",
    "ListInstanceProfiles": "instance profiles",
    "DescribeKey": "KMS key",
}
"""What each call looks up."""
IN_SUBNETS = {"DescribeNetworkInterfaces", "DescribeSecurityGroups"}
"""The calls that need the answer about subnets."""


def test_other_cpis(cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """Azs of other CPIs and their subnets are not looked up."""
    whole = right(world)
    whole["azs"].append({"name": "z3", "cpi": "eu", "cloud_properties": {"availability_zone": "eu-west-1a"}})
    entry = subnet("10.7.0", "z3", "subnet-0123456789abcdef0")
    whole["networks"].append({"name": "eu", "type": "manual", "subnets": [entry]})
    assert of("error", checked(cpi, whole)) == []
    (call,) = [each for each in fake_aws.calls() if each["action"] == "DescribeSubnets"]
    assert entry["cloud_properties"]["subnet"] not in str(call)
    entry["azs"].append("z1")
    assert "subnet-0123456789abcdef0" in str(errors(checked(cpi, whole)))


def test_own_zone(cpi: Cpi, world: World) -> None:
    """A VM type's own zone needs a subnet of each az: an error if none has one, else a warning."""
    whole = changed(right(world), (*PROPERTIES, "availability_zone"), world.other_zone)
    own = [each for each in checked(cpi, whole) if each["path"] == f"{LARGE_PATH}/availability_zone"]
    (found,) = own
    assert found["severity"] == "warning"
    assert f"no subnet of az 'z1' is in zone {world.other_zone}" in found["what"]
    assert (
        "can't use multiple availability zones" in created(cpi, world, whole, "vm_types", 1).error["message"]
    )
    del whole["azs"][1], whole["networks"][0]["subnets"][1]
    assert f"{LARGE_PATH}/availability_zone" in {each["path"] for each in errors(checked(cpi, whole))}
    whole["networks"][1]["subnets"][0]["cloud_properties"]["subnet"] = "((subnet))"
    assert errors(checked(cpi, whole)) == []


def managed(world: World, **properties: Any) -> dict[str, Any]:
    """Write a cloud config with a managed network in z1."""
    whole = right(world)
    section = {"vpc_id": world.vpc_id, **properties}
    entry = {"name": "apps", "azs": ["z1"], "netmask_bits": 24, "cloud_properties": section}
    whole["networks"].append({"name": "managed", "type": "manual", "managed": True, "subnets": [entry]})
    return whole


@pytest.mark.parametrize("key", ["vpc_id", "route_table", "network_acl"])
def test_managed_network(cpi: Cpi, world: World, far: Far, key: str) -> None:
    """What a managed network names must exist, and be in its VPC."""
    acls = world.ec2.describe_network_acls(Filters=[{"Name": "vpc-id", "Values": [world.vpc_id, far.vpc_id]}])
    acl = {each["VpcId"]: each["NetworkAclId"] for each in acls["NetworkAcls"]}
    fit = managed(world, route_table=world.route_table_id, network_acl=acl[world.vpc_id])
    assert checked(cpi, fit) == []
    unknown = {"vpc_id": "vpc-", "route_table": "rtb-", "network_acl": "acl-"}[key] + "0123456789abcdef0"
    other = {"vpc_id": unknown, "route_table": far.table_id, "network_acl": acl[far.vpc_id]}[key]
    for value in {unknown, other}:
        whole = managed(world, **{key: value})
        (found,) = errors(checked(cpi, whole))
        assert found["path"] == f"networks/managed/subnets/apps/cloud_properties/{key}"


def test_refused(cpi: Cpi, world: World, far: Far, fake_aws: FakeAws) -> None:
    """Each refused lookup is reported with the action to allow, and is no failure; the others go on."""
    whole = everything(world, far, fake_aws)
    for action in LOOKUPS:
        code = "UnauthorizedOperation" if action.startswith("Describe") else "AccessDenied"
        fake_aws.rule(action=action, error={"code": code, "message": "no", "status": 403})
    found = checked(cpi, whole)
    assert {each["severity"] for each in found} == {"not checked"}
    refused = LOOKUPS.keys() - IN_SUBNETS
    wanted = {LOOKUPS[action] for action in refused}
    assert {each["what"].partition(":")[0].partition(" '")[0] for each in found} == wanted
    assert {each["remedy"].rpartition(":")[2] for each in found} == refused


@pytest.mark.parametrize("action", sorted(IN_SUBNETS))
def test_refused_in_vpc(cpi: Cpi, world: World, fake_aws: FakeAws, action: str) -> None:
    """A refused lookup in the subnets, or in their VPC, is reported in the same way."""
    error = {"code": "UnauthorizedOperation", "message": "no", "status": 403}
    fake_aws.rule(action=action, error=error)
    (found,) = checked(cpi, right(world))
    assert (found["severity"], found["remedy"]) == ("not checked", f"Allow ec2:{action}")
    assert found["what"].startswith(f"{LOOKUPS[action]}: ")


def test_silent_service(fake_aws: FakeAws, world: World) -> None:
    """A service that does not answer, as in a VPC without its endpoint, is reported, and not called again."""
    cpi = Cpi(config(fake_aws.endpoint, iam_endpoint=NOWHERE, kms_endpoint=NOWHERE))
    whole = changed(right(world), (*PROPERTIES, "iam_instance_profile"), "nobody")
    for number in (0, 1):
        disk = {"encrypted": True, "kms_key_arn": f"alias/{number}"}
        whole["vm_types"][number]["cloud_properties"]["ephemeral_disk"] = disk
    found = checked(cpi, whole)
    assert [(each["severity"], each["what"].partition(": ")[0]) for each in found] == [
        ("not checked", "instance profiles"),
        ("not checked", "KMS key 'alias/0'"),
        ("not checked", "KMS key 'alias/1'"),
    ]
    assert all("the connection is refused" in each["what"] for each in found)
    assert cpi.run("check", str(cpi.folder / "cloud-config.yml"), "--strict").returncode == 1


def test_bad_keys(cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """Keys that AWS does not accept end the command: nothing can be checked."""
    fake_aws.rule(action="*", error={"code": "AuthFailure", "message": "no", "status": 401})
    path = cpi.folder / "cloud-config.yml"
    path.write_text(json.dumps(right(world)))
    answer = cpi.run("check", str(path))
    assert (answer.returncode, answer.stdout) == (2, b"")
    assert "AWS does not accept the keys of aws.access_key_id" in answer.stderr


def test_kms_keys(cpi_with: CpiWith, world: World, fake_aws: FakeAws) -> None:
    """Keys that encrypt disks exist, are enabled and symmetric; a key without encryption is not looked up."""
    kms = fake_aws.client("kms")
    good, disabled, lost = (kms.create_key()["KeyMetadata"]["KeyId"] for _ in range(3))
    signing = kms.create_key(KeySpec="RSA_2048", KeyUsage="SIGN_VERIFY")["KeyMetadata"]["Arn"]
    kms.create_alias(AliasName="alias/bosh", TargetKeyId=good)
    kms.disable_key(KeyId=disabled)
    kms.schedule_key_deletion(KeyId=lost)
    cpi = cpi_with(encrypted=True, kms_key_arn=lost)
    whole = right(world)
    small, large = (each["cloud_properties"] for each in whole["vm_types"])
    small |= {"ephemeral_disk": {"kms_key_arn": "alias/bosh"}, "root_disk": {"kms_key_arn": "unused"}}
    large |= {
        "ephemeral_disk": {"encrypted": True, "kms_key_arn": signing},
        "root_disk": {"encrypted": True, "kms_key_arn": disabled},
    }
    missing = "arn:aws:kms:us-east-1:123456789012:key/00000000-0000-4000-8000-000000000000"
    whole["disk_types"].append(
        {"name": "other", "disk_size": 1000, "cloud_properties": {"kms_key_arn": missing}}
    )
    found = checked(cpi, whole)
    unusable = "KMS key '{}' is {}: EBS can't encrypt with it"
    assert {each["path"]: each["what"] for each in of("error", found)} == {
        f"{LARGE_PATH}/ephemeral_disk/kms_key_arn": unusable.format(signing, "RSA_2048"),
        f"{LARGE_PATH}/root_disk/kms_key_arn": unusable.format(disabled, "Disabled"),
        "disk_types/other/cloud_properties/kms_key_arn": f"there is no KMS key '{missing}'",
        "aws.kms_key_arn": unusable.format(lost, "PendingDeletion"),
    }
    (unused,) = [each for each in found if each["severity"] != "error"]
    assert (unused["severity"], unused["path"]) == (
        "warning",
        "vm_types/small/cloud_properties/root_disk/kms_key_arn",
    )


def test_without_types(cpi_with: CpiWith, world: World, fake_aws: FakeAws) -> None:
    """Without aws.enable_describe_instance_types, the built-in table says what types can do."""
    whole = changed(right(world), (*PROPERTIES, "instance_type_fallbacks"), ["m6g.large"])
    (found,) = errors(checked(cpi_with(enable_describe_instance_types=False), whole))
    assert found["what"] == "type 'm6g.large' runs arm64, but 'm5.large' runs x86_64"
    assert "DescribeInstanceTypes" not in fake_aws.actions()


def test_unused(cpi: Cpi, world: World) -> None:
    """What AWS lacks is only a warning if nothing in the manifest uses what names it."""
    whole = changed(right(world), (*PROPERTIES, "key_name"), "nobody")
    whole["compilation"]["vm_type"] = "small"
    whole["disk_types"][0]["cloud_properties"]["snapshot_id"] = "snap-0123456789abcdef0"
    other, zone_b = world.subnet_ids[1], world.subnet_ids[2]
    whole["networks"][1]["subnets"][0]["cloud_properties"] = {"subnet": other, "subnet_fallbacks": [zone_b]}
    group = {"name": "web", "instances": 1, "azs": ["z1"], "vm_type": "small"}
    group["networks"] = [{"name": "default"}]
    places = ("vm_types/large", "disk_types/default", "networks/dynamic")
    found = [each for each in checked(cpi, whole) if each["path"].startswith(places)]
    assert [each["severity"] for each in found] == ["error"] * len(places), found
    unused = [each for each in checked_with(cpi, whole, [group]) if each["severity"] != "note"]
    assert [(each["severity"], each["path"]) for each in unused] == [
        ("warning", each["path"]) for each in found
    ]
    using = {**group, "vm_type": "large", "persistent_disk_type": "default"}
    assert {each["path"] for each in errors(checked_with(cpi, whole, [using]))} == {
        each["path"] for each in found if not each["path"].startswith("networks/")
    }


@pytest.fixture
def deployed(cpi: Cpi, world: World) -> Callable[..., list[dict[str, Any]]]:
    """Return a function that checks a manifest for so many instances of the large VM type."""

    def run(count: int, **properties: Any) -> list[dict[str, Any]]:
        whole = right(world)
        whole["vm_types"][1]["cloud_properties"] |= properties
        whole["compilation"] |= {"workers": 1, "vm_type": "small"}
        group = {"name": "web", "instances": count, "azs": ["z1"], "vm_type": "large"}
        group["networks"] = [{"name": "default"}]
        found = checked_with(cpi, whole, [group])
        return [each for each in found if "quota" in str(each).lower()]

    return run


STANDARD = "Standard (A, C, D, H, I, M, R, T, Z)"


@pytest.mark.parametrize(
    ("properties", "quota"),
    [
        ({}, f"Running On-Demand {STANDARD} instances"),
        ({"spot_bid_price": 1}, f"All {STANDARD} Spot Instance Requests"),
    ],
    ids=["on-demand", "spot"],
)
def test_quota(
    deployed: Callable[..., list[dict[str, Any]]], fake_aws: FakeAws, properties: dict[str, Any], quota: str
) -> None:
    """The vCPUs that a manifest needs, and those of its compilation, must be within the account's quota."""
    fake_aws.rule(action="ListServiceQuotas", replace=[[r'"Value": 5\.0', '"Value": 4.5']])
    (found,) = deployed(3, **properties)
    assert (found["severity"], f"need 6 vCPUs, but the quota '{quota}" in found["what"]) == ("error", True)
    assert deployed(2, **properties) == []


def test_no_quotas(deployed: Callable[..., list[dict[str, Any]]], fake_aws: FakeAws) -> None:
    """Quotas that may not be read are not checked."""
    error = {"code": "AccessDeniedException", "message": "no", "status": 400}
    fake_aws.rule(action="ListServiceQuotas", error=error)
    (found,) = deployed(1)
    assert (found["severity"], found["remedy"]) == ("not checked", "Allow servicequotas:ListServiceQuotas")
