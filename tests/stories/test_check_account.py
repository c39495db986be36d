"""`cpi check` and the account: what the cloud config names in AWS exists, and fits."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import DIRECTOR_UUID, Cpi, config
from testbed.reservations import MARKETS, reserved
from testbed.world import PUBLIC_KEY, World
from tests.stories.checked_config import LARGE, SUBNET, Z1, changed, env, right, subnet
from tests.stories.checking import checked, checked_with, errors, of
from tests.stories.story import Story

PROPERTIES = (*LARGE, "cloud_properties")
LARGE_PATH = "vm_types/large/cloud_properties"
SUBNET_PATH = "networks/default/subnets/0"
TARGET_GROUP = "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/none/0123456789abcdef"
NOWHERE = "http://127.0.0.1:1"
ELSEWHERE = "p3dn.24xlarge"
"""A type that no zone of the world offers."""
ONE_ZONE = "g7e.2xlarge"
"""A type that only the world's first zone offers."""
ALL_CALLS = 18
SEVERAL = {"ec2:RunInstances", "ec2:DescribeSecurityGroups"}
"""The actions that are called several times, for different VMs."""
NEEDS_ENCRYPTION = (
    "kms_key_arn has no effect without encryption: set encrypted to true, or remove kms_key_arn"
)
TYPES = ("large", "small")
"""The VM types: that of the compilation, and the other one."""
OF_ROLE = " in the policy of the CPI's user or role"


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
    elbv2.create_target_group(Name="code", TargetType="lambda")
    elbv2.create_target_group(Name="quic", VpcId=world.vpc_id, Protocol="QUIC", Port=443)
    elbv2.create_target_group(Name="ips", VpcId=world.vpc_id, TargetType="ip", **port)
    elbv2.create_target_group(Name="six", VpcId=world.vpc_id, TargetType="ip", IpAddressType="ipv6", **port)
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


def misfits(world: World, far: Far) -> dict[str, tuple[dict[str, Any], str, str]]:
    """Write properties of which one names what does not exist or fit, with its place, and what helps."""
    ec2, zone = world.ec2, world.zone
    reservation, host_id = "capacity_reservation/id", "dedicated_host/id"
    of_other_type = reserved(ec2, "m5.xlarge", zone)
    elsewhere = reserved(ec2, "m5.large", "us-east-1c")
    plain = {"id": reserved(ec2, "m5.large", zone)}
    route = {"table_id": far.table_id, "destination": "10.9.0.0/16"}
    elsewhere_in = f"in VPC '{far.vpc_id}', but the VM is in '{world.vpc_id}'"
    root = {"encrypted": True, "size": 5120}
    ec2.create_placement_group(GroupName="spread", Strategy="spread")
    ec2.create_placement_group(GroupName="parts", Strategy="partition", PartitionCount=3)
    arn = "arn:aws:iam::123456789012:instance-profile/bosh"
    return {
        "type": ({"instance_type": "t3.samll"}, "instance_type", "Did you mean t3.small?"),
        "type-elsewhere": ({"instance_type": ELSEWHERE}, "instance_type", ""),
        "type-nowhere": ({"instance_type": "dl2q.24xlarge"}, "instance_type", "no zone of us-east-1 offers"),
        "key": ({"key_name": "bosch"}, "key_name", "Did you mean bosh?"),
        "group": ({"security_groups": ["bosch"]}, "security_groups/0", "create the group in that VPC"),
        "placement": ({"placement_group": "spraed"}, "placement_group", "Did you mean spread?"),
        "no-parts": ({"placement_group": "spread", "placement_partition": 1}, "placement_group", ""),
        "too-many": ({"placement_group": "parts", "placement_partition": 4}, "placement_group", ""),
        "memory": ({"hibernation": True, "root_disk": root}, "hibernation", ""),
        "profile": ({"iam_instance_profile": "bosh-wm"}, "iam_instance_profile", "Did you mean bosh-vm?"),
        "profile-by-arn": ({"iam_instance_profile": arn}, "iam_instance_profile", "Give the name of an"),
        "no-balancer": ({"elbs": ["farr"]}, "elbs/0", "correct elbs"),
        "balancer": ({"elbs": ["far"]}, "elbs/0", f"Load balancer 'far' is {elsewhere_in}"),
        "no-targets": ({"lb_target_groups": ["proxys"]}, "lb_target_groups/0", "correct lb_target_groups"),
        "targets": (
            {"lb_target_groups": [{"name": "far", "port": 80}]},
            "lb_target_groups/far/name",
            f"Target group 'far' is {elsewhere_in}",
        ),
        "balancers": ({"lb_target_groups": ["ips", "proxies"]}, "lb_target_groups/1", "has target type alb"),
        "code": ({"lb_target_groups": ["code"]}, "lb_target_groups/0", "of type instance or ip"),
        "quic": ({"lb_target_groups": ["quic"]}, "lb_target_groups/0", "of another protocol: each target"),
        "family": ({"lb_target_groups": ["ips", "six"]}, "lb_target_groups/1", "give it one"),
        "arn": ({"lb_target_groups": ["ips", {"arn": TARGET_GROUP}]}, "lb_target_groups/1/arn", ""),
        "table": (
            {"advertised_routes": [{**route, "table_id": world.route_table_id}, route]},
            "advertised_routes/1/table_id",
            f"route table '{far.table_id}' is {elsewhere_in}",
        ),
        "cancelled": ({"capacity_reservation": {"id": cancelled(world)}}, reservation, ""),
        "reservation-for-other-type": ({"capacity_reservation": {"id": of_other_type}}, reservation, ""),
        "reservation-elsewhere": ({"capacity_reservation": {"id": elsewhere}}, reservation, ""),
        "no-market": ({"capacity_reservation": in_market(world, "capacity-block", "")}, reservation, ""),
        "other-market": ({"capacity_reservation": in_market(world, "", "capacity-block")}, reservation, ""),
        "tenancy": ({"capacity_reservation": plain, "tenancy": "dedicated"}, reservation, ""),
        "host-for-other-type": ({"dedicated_host": {"id": host(world, "m5.xlarge", zone)}}, host_id, ""),
        "host-elsewhere": ({"dedicated_host": {"id": host(world, "m5.large", "us-east-1c")}}, host_id, ""),
    }


def with_types(world: World, types: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Write a cloud config with further VM types of these properties."""
    whole = right(world)
    for name, properties in types.items():
        whole["vm_types"].append(
            {"name": name, "cloud_properties": {"instance_type": "m5.large", **properties}}
        )
    return whole


OF_CREATE_VM = "group memory no-balancer balancer no-targets targets balancers code quic family arn table"
"""Of them, those that create_vm itself refuses; the others RunInstances."""


def test_wrong(story: Story, cpi: Cpi, world: World, far: Far) -> None:
    """What does not exist or fit is an error with its path, its line, and the nearest name that exists.

    create_vm says the same of what it refuses, before anything is created.
    """
    wrong = misfits(world, far)
    types = {name: properties for name, (properties, *_) in wrong.items()}
    types["fits"] = {"placement_group": "parts", "placement_partition": 3}
    types |= {f"fits-{kind}": {"capacity_reservation": in_market(world, kind, kind)} for kind in MARKETS}
    whole = with_types(world, types)
    found = {each["path"]: each for each in errors(checked(cpi, whole))}
    expected = {f"vm_types/{name}/cloud_properties/{path}": said for name, (_, path, said) in wrong.items()}
    assert found.keys() == expected.keys()
    shown = {path: f"{each['what']}. {each['remedy']}" for path, each in found.items()}
    assert [path for path, said in expected.items() if said not in shown[path]] == []
    assert all(isinstance(each["line"], int) for each in found.values())
    before = world.state()
    for name in OF_CREATE_VM.split():
        said = story.create_vm({"instance_type": "m5.large", **types[name]}).error["message"]
        assert found[f"vm_types/{name}/cloud_properties/{wrong[name][1]}"]["what"] in said
    assert world.state() == before


def test_wrong_zones(cpi: Cpi, world: World) -> None:
    """A zone that does not exist, and a subnet of another zone, are errors."""
    whole = changed(right(world), (*Z1, "cloud_properties", "availability_zone"), "us-east-1z")
    (error,) = errors(checked(cpi, whole))
    assert error["path"] == "azs/z1/cloud_properties/availability_zone"
    whole = changed(right(world), (*SUBNET, "cloud_properties", "subnet"), world.subnet_ids[2])
    found = {each["path"] for each in errors(checked(cpi, whole))}
    assert found == {f"{SUBNET_PATH}/cloud_properties/subnet", f"{SUBNET_PATH}/range"}


def test_defaults(story: Story, world: World) -> None:
    """A default that does not exist is an error if a VM would use it."""
    names = {"default_key_name": "nobody", "default_iam_instance_profile": "nobody"}
    cpi, whole = story.cpi_with(**names, default_security_groups=["bosh", "nobody"]), right(world)
    paths = {f"aws.{key}" for key in (*names, "default_security_groups")}
    assert {(each["severity"], each["path"]) for each in checked(cpi, whole)} == {
        ("error", path) for path in paths
    }
    there = {"default_key_name": "bosh", "default_iam_instance_profile": "bosh-vm"}
    assert checked(story.cpi_with(**there, default_security_groups=["bosh"]), whole) == []
    own = {"key_name": "bosh", "iam_instance_profile": "bosh-vm", "security_groups": ["bosh"]}
    for vm_type in whole["vm_types"]:
        vm_type["cloud_properties"] |= own
    assert checked(cpi, whole) == []


def associated(world: World, far: Far) -> None:
    """Associate the far group with the world's VPC, and wait until it is."""
    now = world.ec2.associate_security_group_vpc(GroupId=far.group_id, VpcId=world.vpc_id)["State"]
    of_group = [{"Name": "group-id", "Values": [far.group_id]}]
    while now != "associated":
        found = world.ec2.describe_security_group_vpc_associations(Filters=of_group)
        now = found["SecurityGroupVpcAssociations"][0]["State"]


def test_associated_group(story: Story, world: World, far: Far, fake_aws: FakeAws) -> None:
    """A group of another VPC is right where it is associated; only such a group costs more calls."""
    cpi = story.cpi_with(default_security_groups=[far.group_id])
    whole = changed(right(world), (*PROPERTIES, "security_groups"), [far.group_id])
    found = errors(checked(cpi, whole))
    what = f"security group '{far.group_id}' belongs to VPC '{far.vpc_id}', and is not associated with "
    assert all(each["what"].startswith(what) for each in found)
    assert {each["path"] for each in found} == {
        f"{LARGE_PATH}/security_groups/0",
        "aws.default_security_groups",
    }
    associated(world, far)
    fake_aws.forget_calls()
    assert checked(cpi, whole) == []
    calls = Counter(fake_aws.actions())
    assert (calls["DescribeSecurityGroups"], calls["DescribeSecurityGroupVpcAssociations"]) == (1, 1)


def test_group_of_one_vpc(cpi: Cpi, world: World, far: Far) -> None:
    """A VM type may have a group that only one of several VPCs has: it is for the networks there."""
    own = {"here": {"security_groups": ["bosh"]}, "there": {"security_groups": [far.group_id]}}
    whole = with_types(world, own)
    subnets = []
    for number, az in enumerate(whole["azs"], 2):
        place = {
            "CidrBlock": f"10.1.{number}.0/24",
            "AvailabilityZone": az["cloud_properties"]["availability_zone"],
        }
        subnet_id = world.ec2.create_subnet(VpcId=far.vpc_id, **place)["Subnet"]["SubnetId"]
        properties = {"subnet": subnet_id, "security_groups": ["far"]}
        subnets.append({"az": az["name"], "cloud_properties": properties})
    whole["networks"].append({"name": "far", "type": "dynamic", "subnets": subnets})
    assert checked(cpi, whole) == []


def test_association_with_another_vpc(cpi: Cpi, world: World, far: Far) -> None:
    """A network's group that will soon be associated with another VPC stays an error for this one."""
    third = world.ec2.create_vpc(CidrBlock="10.2.0.0/16")["Vpc"]["VpcId"]
    world.ec2.associate_security_group_vpc(GroupId=far.group_id, VpcId=third)
    (found,) = checked(cpi, changed(right(world), GROUPS, [far.group_id]))
    assert (found["severity"], "not associated with" in found["what"]) == ("error", True)


def test_refused_associations(cpi: Cpi, world: World, far: Far, fake_aws: FakeAws) -> None:
    """Without the permission, a group of another VPC is not checked; one that does not exist is an error."""
    fake_aws.refuse("DescribeSecurityGroupVpcAssociations", "UnauthorizedOperation", "no", 403)
    unknown = "sg-0123456789abcdef0"
    whole = changed(right(world), (*PROPERTIES, "security_groups"), [far.group_id, unknown])
    error, refused = checked(cpi, whole)
    what = f"there is no security group '{unknown}'. Correct its id"
    assert (error["severity"], error["what"]) == ("error", what)
    assert refused["remedy"] == f"Allow ec2:DescribeSecurityGroupVpcAssociations{OF_ROLE}"


def test_some_types(cpi: Cpi, world: World) -> None:
    """A type that can't be launched is a warning if the VM can be created with another one, or elsewhere."""
    other = {"instance_type": "vt1.3xlarge", "instance_type_fallbacks": ["m5.large"]}
    types: dict[str, tuple[dict[str, Any], str]] = {
        "other": (other, "does not offer type 'vt1.3xlarge'"),
        "fallback": ({"instance_type_fallbacks": [ELSEWHERE]}, f"does not offer type '{ELSEWHERE}'"),
        "absent": ({"instance_type_fallbacks": ["m5.giant"]}, "there is no instance type 'm5.giant'"),
        "one-zone": ({"instance_type": ONE_ZONE}, f"us-east-1b does not offer type '{ONE_ZONE}'"),
    }
    whole = with_types(world, {name: properties for name, (properties, _) in types.items()})
    found = checked(cpi, whole)
    assert {each["severity"] for each in found} == {"warning"}, found
    for name, (_, words) in types.items():
        assert any(f"/{name}/" in each["path"] and words in each["what"] for each in found), words


def test_type_that_is_a_variable(cpi: Cpi, world: World) -> None:
    """A type that no zone offers is a warning as long as a variable may name another one."""
    properties = {"instance_type": "((type))", "instance_type_fallbacks": [ELSEWHERE]}
    found = checked(cpi, changed(right(world), PROPERTIES, properties))
    assert {each["severity"] for each in found if ELSEWHERE in each["what"]} == {"warning"}


def test_interfaces(cpi: Cpi, world: World) -> None:
    """An option of a network's interface is an error if a VM's own type lacks it."""
    route = (*SUBNET, "cloud_properties", "interface_type")
    whole = changed(right(world), route, "efa")
    whole["compilation"] |= {"network": "dynamic", "vm_type": "small"}
    assert checked(cpi, whole) == []
    group = {"name": "web", "instances": 1, "vm_type": "large", "azs": ["z1"]}
    groups = [{**group, "networks": [{"name": "default"}]}]
    found = [each for each in errors(checked_with(cpi, whole, groups)) if each["source"] == "CPI"]
    assert [each["path"] for each in found] == [f"{LARGE_PATH}/instance_type"]
    words = "interface_type of network 'default' requested for instance type 'm5.large'"
    assert words in found[0]["what"]


def test_nic_group(cpi: Cpi, world: World) -> None:
    """A network without a subnet has that of its nic_group, whatever the group's name."""
    beside = {"range": "10.0.4.0/24", "gateway": "10.0.4.1", "prefix": "28", "azs": ["z1"]}
    config = changed(right(world), ("networks", 3), {"name": "prefixes", "subnets": [beside]})
    for name in ("front", ""):
        networks = [{"name": each, "nic_group": name} for each in ("default", "prefixes")]
        group = {"name": "web", "instances": 1, "azs": ["z1"], "stemcell": "default", "vm_type": "small"}
        assert errors(checked_with(cpi, config, [{**group, "networks": networks}])) == []


def test_reservation(cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """A reservation in one of the zones is a warning for the others; its room and begin are not judged."""
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
    fake_aws.rule(action="DescribeCapacityReservations", replace=[["<state>active<", "<state>scheduled<"]])
    assert checked(cpi, whole) == [found]


def test_range(cpi: Cpi, world: World) -> None:
    """A range outside the subnet is an error; a part of the subnet is a warning."""
    whole = right(world)
    for other in ("10.0.0.0/23", "10.9.9.0/24"):  # nothing is said of addresses in a wrong range
        found = checked(cpi, changed(whole, (*SUBNET, "range"), other))
        assert [(each["severity"], each["path"]) for each in found] == [("error", f"{SUBNET_PATH}/range")]
    part = changed(whole, (*SUBNET, "range"), "10.0.1.0/25")
    found = [each for each in checked(cpi, part) if each["source"] == "AWS"]
    assert [(each["severity"], each["path"]) for each in found] == [("warning", f"{SUBNET_PATH}/range")]


NAMED = {"arm": "instance_type", "tiny": "root_disk/size"}


def test_stemcell(cpi: Cpi, world: World) -> None:
    """Types and root disks must fit one of the stemcells that are named; these must exist and be enabled."""
    arm = world.ec2.register_image(Name="arm", Architecture="arm64", RootDeviceName="/dev/xvda")["ImageId"]
    (image,) = world.ec2.describe_images(ImageIds=[world.image_id])["Images"]
    least = image["BlockDeviceMappings"][0]["Ebs"]["VolumeSize"] * 1024
    types: dict[str, dict[str, Any]] = {
        "arm": {"instance_type": "m6g.large"},
        "fallback": {"instance_type_fallbacks": ["m6g.xlarge", "m5.xlarge", "m6g.2xlarge"]},
        "tiny": {"root_disk": {"size": least - 1024}},
    }
    whole = with_types(world, {**types, "enough": {"root_disk": {"size": least}}})
    fallbacks = "vm_types/fallback/cloud_properties/instance_type_fallbacks"
    assert [each["path"] for each in errors(checked(cpi, whole))] == [fallbacks]
    root = {"SnapshotId": image["BlockDeviceMappings"][0]["Ebs"]["SnapshotId"], "VolumeSize": 99}
    larger = world.ec2.register_image(
        Name="larger",
        Architecture="x86_64",
        RootDeviceName="/dev/xvda",
        BlockDeviceMappings=[{"DeviceName": "/dev/xvda", "Ebs": root}],
    )["ImageId"]
    stemcell = ("--stemcell", f"{world.image_id} light", "--stemcell", larger)
    found = {each["path"]: each for each in errors(checked(cpi, whole, *stemcell))}
    other_type, tiny = (found.pop(f"vm_types/{name}/cloud_properties/{key}") for name, key in NAMED.items())
    for index, name in ((0, "m6g.xlarge"), (2, "m6g.2xlarge")):
        assert f"is for x86_64, but instance type '{name}'" in found.pop(f"{fallbacks}/{index}")["what"]
    assert found == {}
    assert f"AMI '{world.image_id}' is for x86_64" in other_type["what"]
    assert f"give at least {least} MiB, or remove size" in tiny["what"]
    world.ec2.disable_image(ImageId=arm)
    unknown = ("--stemcell", "ami-0123456789abcdef0")
    said = {each["what"] for each in errors(checked(cpi, whole, *stemcell, "--stemcell", arm, *unknown))}
    assert any(f"AMI '{arm}' is disabled" in each for each in said)
    assert any("could not find AMI 'ami-0123456789abcdef0'" in each for each in said)
    assert not any(other_type["what"] in each for each in said)


def test_configuration_of_create_env(story: Story, world: World) -> None:
    """The defaults of create-env are those of its manifest; cpi.json gives credentials and endpoints."""
    cpi = story.cpi_with(default_security_groups=["nobody"], default_key_name="nobody", region="eu-west-1")
    assert errors(checked(cpi, env(world))) == []
    (found,) = errors(checked(cpi, env(world, default_security_groups=["bosch"])))
    assert found["path"].startswith("cloud_provider/properties/aws/default_security_groups")
    assert found["line"] is not None
    assert "'bosch'" in found["what"]


def everything(world: World, far: Far, fake_aws: FakeAws) -> dict[str, Any]:
    """Write a cloud config that names things of all kinds, several of some."""
    del far  # its target groups and load balancers are listed too
    ec2, whole = world.ec2, right(world)
    zones = [f"us-east-1{letter}" for letter in "abe"]
    key = fake_aws.client("kms").create_key()["KeyMetadata"]["Arn"]
    whole["azs"] = [{"name": zone, "cloud_properties": {"availability_zone": zone}} for zone in zones]
    ec2.create_placement_group(GroupName="near", Strategy="spread")
    ec2.create_launch_template(LaunchTemplateName="bosh", LaunchTemplateData={"EbsOptimized": True})
    whole["vm_types"] = []
    for number, kind in enumerate(("c5.large", "c5.xlarge", "m5.large", "m5.xlarge") * 2):
        ec2.import_key_pair(KeyName=f"key-{number}", PublicKeyMaterial=PUBLIC_KEY)
        properties = {
            "instance_type": kind,
            "key_name": f"key-{number}",
            "security_groups": ["bosh", world.groups["web"]],
            "iam_instance_profile": world.instance_profile,
            "ephemeral_disk": {"encrypted": True, "kms_key_arn": key, "size": 10_240},
            "advertised_routes": [{"table_id": world.route_table_id, "destination": "10.9.0.0/16"}],
        }
        whole["vm_types"].append({"name": f"type-{number}", "cloud_properties": properties})
    own = [each["cloud_properties"] for each in whole["vm_types"]]
    own[0] |= {
        "placement_group": "near",
        "capacity_reservation": {"id": reserved(ec2, "c5.large", world.zone)},
    }
    own[4]["dedicated_host"] = {"id": host(world, "c5.large", world.zone)}
    own[5] |= {"elbs": ["far"], "lb_target_groups": ["far"]}
    for each in own[6:]:
        each["launch_template"] = {"name": "bosh"}
    whole["networks"] = []
    for number, zone in enumerate(zones, 100):
        made = ec2.create_subnet(VpcId=world.vpc_id, CidrBlock=f"10.0.{number}.0/24", AvailabilityZone=zone)
        entry = subnet(f"10.0.{number}", zone, made["Subnet"]["SubnetId"])
        whole["networks"].append({"name": f"net-{number}", "type": "manual", "subnets": [entry]})
    ec2.run_instances(
        ImageId=world.image_id,
        InstanceType="m5.large",
        SubnetId=made["Subnet"]["SubnetId"],
        MinCount=1,
        MaxCount=1,
    )
    whole["compilation"] = {"workers": 2, "network": "net-100", "az": zones[0], "vm_type": "type-0"}
    return whole


def test_calls(cpi: Cpi, world: World, far: Far, fake_aws: FakeAws) -> None:
    """No call is made twice, and what create_vm does not look up costs one listing for each kind of thing."""
    whole = everything(world, far, fake_aws)
    fake_aws.forget_calls()
    found = checked(cpi, whole, "--stemcell", world.image_id)
    assert {each["path"] for each in errors(found)} == {
        f"vm_types/type-5/cloud_properties/{key}/0" for key in ("elbs", "lb_target_groups")
    }
    made = [(call["service"], call["action"], str(call["parameters"])) for call in fake_aws.calls()]
    assert [each for each, count in Counter(made).items() if count > 1] == []
    calls = Counter(f"{service}:{action}" for service, action, _ in made)
    assert len(calls) == ALL_CALLS, sorted(calls)
    assert {action for action, count in calls.items() if count > 1} == SEVERAL
    assert of("not checked", found) == []


def test_type_beside_an_own_zone(cpi: Cpi, world: World) -> None:
    """A type that no zone offers is the mistake, also where the zone stands beside it."""
    whole = env(world)
    whole["resource_pools"][0]["cloud_properties"]["instance_type"] = "m5.lagre"
    (found,) = errors(checked(cpi, whole))
    assert found["path"] == "resource_pools/vms/cloud_properties/instance_type"


def test_sizes_by_region(story: Story, world: World, fake_aws: FakeAws) -> None:
    """With `aws.vm_resources_by_region`, the check chooses as the CPI does; offline it asks nobody."""
    cpi, whole = story.cpi_with(vm_resources_by_region=True), right(world)
    del whole["compilation"]["vm_type"]
    whole["compilation"]["vm_resources"] = size = {"cpu": 64, "ram": 512, "ephemeral_disk_size": 10_240}
    fake_aws.rule(action=OFFERS, where={"LocationType": "region"}, replace=[["5[.]16xlarge", "9.metal"]])
    (found,) = errors(checked(cpi, whole))
    assert found["path"] == "compilation/vm_resources"
    assert found["what"] == cpi.call("calculate_vm_cloud_properties", size).error["message"]
    assert "Largest known VM type is 'r5.12xlarge'" in found["what"]
    fake_aws.forget_calls()
    assert errors(checked(story.cpi_with(vm_resources_by_region=True), whole, "--offline")) == []
    assert fake_aws.actions() == []


OFFERS = "DescribeInstanceTypeOfferings"
LOOKUPS = {
    "DescribeSubnets": "subnets",
    "DescribeSecurityGroups": "security_groups",
    OFFERS: "instance_type",
    "DescribeInstanceTypes": "instance types",
    "DescribeKeyPairs": "key_name",
    "DescribePlacementGroups": "placement_group",
    "DescribeRouteTables": "advertised_routes",
    "DescribeTargetGroups": "lb_target_groups.0",
    "DescribeLoadBalancers": "elbs.0",
    "DescribeCapacityReservations": "capacity_reservation.id",
    "DescribeHosts": "dedicated_host.id",
    "DescribeLaunchTemplateVersions": "launch_template",
    "ListInstanceProfiles": "iam_instance_profile",
    "DescribeKey": "kms_key_arn",
}
"""What each call looks up."""
IN_SUBNETS = {
    "DescribeLoadBalancers",
    "DescribeRouteTables",
    "DescribeSecurityGroups",
    "DescribeTargetGroups",
}
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
    whole["compilation"]["vm_type"] = "small"
    (found,) = [each for each in checked(cpi, whole) if each["path"] == f"{LARGE_PATH}/availability_zone"]
    assert found["severity"] == "warning"
    assert f"subnet in {world.zone}, VM in {world.other_zone}" in found["what"]
    del whole["azs"][1], whole["networks"][0]["subnets"][1]
    assert f"{LARGE_PATH}/availability_zone" in {each["path"] for each in errors(checked(cpi, whole))}
    whole["networks"][1]["subnets"][0]["cloud_properties"]["subnet"] = "((subnet))"
    assert errors(checked(cpi, whole)) == []


def test_managed_networks(cpi: Cpi, world: World, far: Far) -> None:
    """What a managed network names must exist, and be in its VPC."""
    acls = world.ec2.describe_network_acls(Filters=[{"Name": "vpc-id", "Values": [world.vpc_id, far.vpc_id]}])
    acl = {each["VpcId"]: each["NetworkAclId"] for each in acls["NetworkAcls"]}
    fit = {
        "vpc_id": world.vpc_id,
        "route_table": world.route_table_id,
        "network_acl": acl[world.vpc_id],
    }
    wrong = [
        {"vpc_id": "vpc-0123456789abcdef0"},
        *({"route_table": table_id} for table_id in ("rtb-0123456789abcdef0", far.table_id)),
        *({"network_acl": acl_id} for acl_id in ("acl-0123456789abcdef0", acl[far.vpc_id])),
    ]
    subnets = [
        {
            "name": str(number),
            "azs": ["z1"],
            "netmask_bits": 24,
            "prefix": 32,
            "cloud_properties": {**fit, **each},
        }
        for number, each in enumerate(({}, *wrong))
    ]
    whole = right(world)
    whole["networks"].append({"name": "managed", "type": "manual", "managed": True, "subnets": subnets})
    at_vpc = {f"1/cloud_properties/{key}" for key in ("vpc_id", "route_table", "network_acl")}
    others = {f"{number}/cloud_properties/{key}" for number, each in enumerate(wrong[1:], 2) for key in each}
    assert {each["path"] for each in errors(checked(cpi, whole))} == {
        f"networks/managed/subnets/{path}" for path in at_vpc | others
    }


def test_refused(cpi: Cpi, world: World, far: Far, fake_aws: FakeAws) -> None:
    """Each refused lookup is reported with the action to allow, and is no failure; the others go on."""
    whole = everything(world, far, fake_aws)
    for action in LOOKUPS:
        code = "UnauthorizedOperation" if action.startswith("Describe") else "AccessDenied"
        fake_aws.refuse(action, code, "no", 403)
    found = checked(cpi, whole)
    assert {each["severity"] for each in found} == {"not checked"}
    refused = LOOKUPS.keys() - IN_SUBNETS
    wanted = {LOOKUPS[action] for action in refused}
    assert {each["what"].partition(":")[0] for each in found} == wanted
    assert {each["remedy"].removesuffix(OF_ROLE).rpartition(":")[2] for each in found} == refused


@pytest.mark.parametrize("action", sorted(IN_SUBNETS))
def test_refused_in_vpc(cpi: Cpi, world: World, far: Far, fake_aws: FakeAws, action: str) -> None:
    """A refused lookup in the subnets, or in their VPC, is reported in the same way."""
    code = (
        "AccessDenied"
        if action in {"DescribeLoadBalancers", "DescribeTargetGroups"}
        else "UnauthorizedOperation"
    )
    fake_aws.refuse(action, code, "no", 403)
    found = of("not checked", checked(cpi, everything(world, far, fake_aws)))
    assert {each["remedy"].removesuffix(OF_ROLE).rpartition(":")[2] for each in found} == {action}
    assert {each["what"].partition(":")[0] for each in found} == {LOOKUPS[action]}


@pytest.mark.parametrize(
    ("action", "element", "text"),
    [
        ("DescribeSubnets", "AvailabilityZone", ""),
        ("DescribeSubnets", "VpcId", "<vpcId/>"),
        ("DescribeSubnets", "CidrBlock", "<cidrBlock>10.0.1.1/24</cidrBlock>"),
        (OFFERS, "Location", ""),
        ("DescribeKeyPairs", "KeyPairs", ""),
        ("DescribeRouteTables", "VpcId", ""),
        ("DescribeSecurityGroups", "VpcId", ""),
        ("DescribeCapacityReservations", "State", ""),
        ("DescribeHosts", "State", ""),
    ],
)
def test_answer_without_an_element(
    cpi: Cpi, world: World, far: Far, fake_aws: FakeAws, action: str, element: str, text: str
) -> None:
    """An answer without an element leaves out only its own lookup; action and element are named."""
    sent = "keySet" if element == "KeyPairs" else element[0].lower() + element[1:]
    fake_aws.rule(action=action, replace=[[f"(?s)<{sent}>.*?</{sent}>", text]])
    whole = everything(world, far, fake_aws)
    (found,) = of("not checked", checked(cpi, whole))
    assert found["what"].startswith(f"{LOOKUPS[action]}: AWS could not be called: its answer can't be read")
    assert f"(ec2:{action}" in found["what"]
    assert found["what"].endswith(f", without {element})")


EMPTY_LISTS: dict[str, dict[str, Any]] = {
    OFFERS: {"replace": [[r"(?s)<(instanceTypeOfferingSet)>.*</\1>", r"<\1/>"]]},
    "ListServiceQuotas": {"replace": [[r'"Quotas": \[.*\]', '"Quotas": []']]},
}
"""By action, the rule by which AWS lists nothing, though there must be some."""


@pytest.mark.parametrize("action", EMPTY_LISTS)
def test_empty_list(cpi: Cpi, world: World, fake_aws: FakeAws, action: str) -> None:
    """A list that can't be empty says nothing: neither that a type does not exist, nor that all is well."""
    fake_aws.rule(action=action, **EMPTY_LISTS[action])
    group = {"name": "web", "instances": 1, "azs": ["z1"], "vm_type": "large"}
    found = checked_with(cpi, right(world), [{**group, "networks": [{"name": "default"}]}])
    what = {OFFERS: "instance_type", "ListServiceQuotas": "quotas"}[action]
    assert [(each["severity"], each["what"]) for each in found if each["severity"] != "note"] == [
        ("not checked", f"{what}: AWS lists none, though there must be some")
    ]


def test_type_that_no_table_has(cpi: Cpi, world: World) -> None:
    """If EC2 lists no offer of a type, and the built-in table lacks it, too, it does not exist."""
    whole = right(world)
    for each in whole["vm_types"]:
        each["cloud_properties"]["instance_type"] = "t3.samll"
    found = errors(checked(cpi, whole))
    what = "there is no instance type 't3.samll' in us-east-1. Did you mean t3.small?"
    assert {each["what"].partition(": ")[2] or each["what"] for each in found} == {what}


def test_silent_service(fake_aws: FakeAws, world: World) -> None:
    """A service that does not answer, as in a VPC without its endpoint, is reported, and not called again."""
    cpi = Cpi(config(fake_aws.endpoint, iam_endpoint=NOWHERE, kms_endpoint=NOWHERE))
    whole = changed(right(world), (*PROPERTIES, "iam_instance_profile"), "nobody")
    for number in (0, 1):
        disk = {"encrypted": True, "kms_key_arn": f"alias/{number}"}
        whole["vm_types"][number]["cloud_properties"]["ephemeral_disk"] = disk
    found = checked(cpi, whole)
    assert sorted((each["severity"], each["what"].partition(": ")[0]) for each in found) == [
        ("not checked", "iam_instance_profile"),
        ("not checked", "kms_key_arn"),
    ]
    assert all("the connection is refused" in each["what"] for each in found)
    assert cpi.run("check", str(cpi.folder / "cloud-config.yml"), "--strict").returncode == 1


@pytest.mark.parametrize("others", [False, True])
def test_unreachable(world: World, fake_aws: FakeAws, *, others: bool) -> None:
    """If AWS can't be asked at all, or EC2 can't be, the check fails, and says why."""
    of_others: dict[str, Any] = {"iam_endpoint": fake_aws.endpoint} if others else {}
    cpi = Cpi(config(NOWHERE, **of_others))
    path = cpi.folder / "cloud-config.yml"
    path.write_text(json.dumps(changed(right(world), (*PROPERTIES, "iam_instance_profile"), "bosh-vm")))
    answer = cpi.run("check", str(path))
    assert (answer.returncode, answer.stdout) == (2, b"")
    assert f"{'EC2' if others else 'AWS'} has answered no call. " in answer.stderr
    assert "the connection is refused" in answer.stderr


DENIED = (
    "You are not authorized to perform this operation. User: arn:aws:iam::123456789012:user/bosh is not "
    "authorized to perform: ec2:RunInstances with an explicit deny in a service control policy. Encoded "
    "authorization failure message: abc"
)


def test_denied_launch(cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """A dry run that a policy refuses is one error with the policy's words; nothing is launched.

    Each kind of VM is tried in one subnet, and each subnet with one kind.
    """
    whole = right(world)
    arguments = ("check", str(cpi.folder / "cloud-config.yml"), "--stemcell", f"{world.image_id} light")
    assert checked(cpi, whole, *arguments[2:]) == []
    tried = [call["parameters"] for call in fake_aws.calls() if call["action"] == "RunInstances"]
    assert {each["DryRun"] for each in tried} == {"true"}
    assert "NetworkInterface.1.PrivateIpAddress" not in tried[0]
    assert len(tried) <= len(whole["vm_types"]) + len(whole["vm_extensions"]) + len(world.subnet_ids)
    fake_aws.refuse("RunInstances", "UnauthorizedOperation", DENIED, 403)
    found = checked(cpi, whole, *arguments[2:])
    assert {(each["severity"], each["source"]) for each in found} == {("error", "AWS")}
    assert [each["path"] for each in found] == [
        f"vm_types/{name}/cloud_properties/instance_type" for name in TYPES
    ]
    assert all("with an explicit deny in a service control policy" in each["what"] for each in found)
    assert (
        cpi.run(*arguments[:2]).stdout.count(b"note: EC2 was not asked whether it would launch the VMs") == 1
    )
    assert world.state() == world.empty


@pytest.mark.usefixtures("fast_clock")
@pytest.mark.parametrize(
    "rule",
    [
        {"error": {"code": "RequestLimitExceeded", "message": "too many", "status": 503}},
        {
            "error": {"code": "x", "message": "", "status": 403},
            "replace": [[r"(?s)\A.*\Z", "<html><body>Blocked</body></html>"]],
        },
        {"replace": [[r"(?s)\A.*\Z", "<html><body>Blocked</body></html>"]]},
    ],
    ids=["throttled", "refused by a proxy", "answered by a proxy"],
)
def test_dry_run_without_an_answer(
    cpi: Cpi, world: World, far: Far, fake_aws: FakeAws, rule: dict[str, Any]
) -> None:
    """A dry run that AWS does not judge is not checked, and says nothing about other look-ups."""
    whole = everything(world, far, fake_aws)
    for action in ("RunInstances", "CreateVolume"):
        fake_aws.rule(action=action, where={"DryRun": "true"}, **rule)
    fake_aws.forget_calls()
    found = of("not checked", checked(cpi, whole, "--stemcell", world.image_id))
    assert {each["what"].partition(":")[0] for each in found} == {"dry run"}
    calls = Counter(f"{call['service']}:{call['action']}" for call in fake_aws.calls())
    assert len(calls) == ALL_CALLS - 1  # all but the second dry run, CreateVolume's


@pytest.mark.parametrize("director", [(), ("--director", DIRECTOR_UUID)])
def test_denied_by_tags(cpi: Cpi, world: World, fake_aws: FakeAws, director: tuple[str, ...]) -> None:
    """A policy that allows only resources with the Director's tag can be tried only for a known Director."""
    message = "You are not authorized to perform this operation. No identity-based policy allows the action"
    fake_aws.refuse("RunInstances", "UnauthorizedOperation", message, 403)
    found = checked(cpi, right(world), "--stemcell", world.image_id, *director)
    assert [each["severity"] for each in found] == ["error" if director else "not checked"] * len(TYPES)
    (tried, *_) = [call["parameters"] for call in fake_aws.calls() if call["action"] == "RunInstances"]
    tags = {value for name, value in tried.items() if name.startswith("TagSpecification.1.Tag")}
    assert ("bosh_director_uuid" in tags, DIRECTOR_UUID in tags) == (True, bool(director))


def test_denied_disk(cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """A disk type for which a policy lets the CPI create no volume is an error."""
    fake_aws.refuse("CreateVolume", "UnauthorizedOperation", DENIED, 403)
    (found,) = checked(cpi, right(world))
    assert found["path"] == "disk_types/default/cloud_properties"
    assert "service control policy" in found["what"]


def test_bad_keys(cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """Keys that AWS does not accept end the command: nothing can be checked."""
    fake_aws.refuse("*", "AuthFailure", "no", 401)
    path = cpi.folder / "cloud-config.yml"
    path.write_text(json.dumps(right(world)))
    answer = cpi.run("check", str(path))
    assert (answer.returncode, answer.stdout) == (2, b"")
    assert "AWS does not accept the keys of aws.access_key_id" in answer.stderr


def test_kms_keys(story: Story, world: World, fake_aws: FakeAws) -> None:
    """Keys that encrypt disks exist, are enabled and symmetric; a key without encryption is not looked up."""
    kms = fake_aws.client("kms")
    good, disabled, lost = (kms.create_key()["KeyMetadata"]["KeyId"] for _ in range(3))
    signing = kms.create_key(KeySpec="RSA_2048", KeyUsage="SIGN_VERIFY")["KeyMetadata"]["Arn"]
    kms.create_alias(AliasName="alias/bosh", TargetKeyId=good)
    kms.disable_key(KeyId=disabled)
    kms.schedule_key_deletion(KeyId=lost)
    cpi = story.cpi_with(encrypted=True, kms_key_arn=lost)
    whole = right(world)
    small, large = (each["cloud_properties"] for each in whole["vm_types"])
    small |= {"ephemeral_disk": {"kms_key_arn": "alias/bosh"}, "root_disk": {"kms_key_arn": "alias/unused"}}
    large |= {
        "ephemeral_disk": {"encrypted": True, "kms_key_arn": signing},
        "root_disk": {"encrypted": True, "kms_key_arn": disabled},
    }
    missing = "arn:aws:kms:us-east-1:123456789012:key/00000000-0000-4000-8000-000000000000"
    whole["disk_types"].append(
        {"name": "other", "disk_size": 1000, "cloud_properties": {"kms_key_arn": missing}}
    )
    found = checked(cpi, whole)
    unusable = "KMS key '{}' is {}: EBS can't encrypt with it. Enable it, or use another one"
    unused = "vm_types/small/cloud_properties/root_disk/kms_key_arn"
    assert {each["path"]: each["what"] for each in errors(found)} == {
        f"{LARGE_PATH}/ephemeral_disk/kms_key_arn": unusable.format(signing, "RSA_2048"),
        f"{LARGE_PATH}/root_disk/kms_key_arn": unusable.format(disabled, "Disabled"),
        "disk_types/other/cloud_properties/kms_key_arn": (
            f"there is no KMS key '{missing}'. Create it, or correct its name"
        ),
        "aws.kms_key_arn": unusable.format(lost, "PendingDeletion"),
        unused: f"cloud_properties.root_disk.{NEEDS_ENCRYPTION}",
    }
    assert errors(found) == found


def test_without_types(story: Story, world: World, fake_aws: FakeAws) -> None:
    """Without aws.enable_describe_instance_types, the built-in table says what types can do."""
    whole = changed(right(world), (*PROPERTIES, "instance_type_fallbacks"), ["m6g.large"])
    (found,) = errors(checked(story.cpi_with(enable_describe_instance_types=False), whole))
    assert found["what"] == (
        "no stemcell fits all of the VM's types: 'm5.large' runs x86_64, 'm6g.large' runs arm64"
    )
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

    def run(count: int) -> list[dict[str, Any]]:
        whole = right(world)
        whole["compilation"] |= {"workers": 1, "vm_type": "small"}
        group = {"name": "web", "instances": count, "azs": ["z1"], "vm_type": "large"}
        group["networks"] = [{"name": "default"}]
        found = checked_with(cpi, whole, [group])
        return [each for each in found if "quota" in str(each).lower()]

    return run


def test_quota(deployed: Callable[..., list[dict[str, Any]]], fake_aws: FakeAws) -> None:
    """The vCPUs that a manifest needs must be within the account's quota."""
    fake_aws.rule(action="ListServiceQuotas", replace=[[r'"Value": 5\.0', '"Value": 4.5']])
    (found,) = deployed(3)
    quota = "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances"
    assert (found["severity"], f"need 6 vCPUs, but the quota '{quota}'" in found["what"]) == ("error", True)
    assert deployed(2) == []


def test_no_quotas(deployed: Callable[..., list[dict[str, Any]]], fake_aws: FakeAws) -> None:
    """Quotas that may not be read are not checked."""
    fake_aws.refuse("ListServiceQuotas", "AccessDeniedException", "no")
    (found,) = deployed(1)
    assert (found["severity"], found["remedy"]) == (
        "not checked",
        f"Allow servicequotas:ListServiceQuotas{OF_ROLE}",
    )
