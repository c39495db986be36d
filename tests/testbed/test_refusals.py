"""What the simulated AWS refuses, with the code and words of AWS.

The trials of `make aws-check`, which tests/acceptance runs against the simulated AWS, state more refusals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.traffic import Traffic
from testbed.world import World

UNKNOWN = "0123456789abcdef0"
ZONE = "us-east-1a"
VOLUME, INSTANCE, SNAPSHOT = f"vol-{UNKNOWN}", f"i-{UNKNOWN}", f"snap-{UNKNOWN}"
TAGS = [{"Key": "a", "Value": "b"}]
NO_VOLUME, NO_SUBNET = "InvalidVolume.NotFound", "InvalidSubnetID.Malformed"
MALFORMED = "InvalidInstanceID.Malformed"
KEY = "arn:aws:kms:us-east-1:123456789012:key/k"
ROOT = {"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 1}}
ODD_WORD = "A value of 'on' is not valid for HttpEndpoint. Specify either 'enabled' or 'disabled'"


VALUE = "InvalidParameterValue"
PLAIN: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "describe_volumes",
        {"VolumeIds": ["vol-x"]},
        VALUE,
        "(vol-x) for parameter volumes is invalid. Expected: 'vol-...'.",
    ),
    ("delete_volume", {"VolumeId": "vol-x"}, VALUE, "volumeId"),
    ("attach_volume", {"VolumeId": "vol-x", "InstanceId": INSTANCE, "Device": "/dev/sdf"}, VALUE, "volumeId"),
    ("describe_volumes", {"VolumeIds": [VOLUME]}, NO_VOLUME, f"The volume '{VOLUME}' does not exist."),
    ("attach_volume", {"VolumeId": VOLUME, "InstanceId": INSTANCE, "Device": "/dev/sdf"}, NO_VOLUME, ""),
    ("detach_volume", {"VolumeId": VOLUME}, NO_VOLUME, VOLUME),
    ("copy_volumes", {"SourceVolumeId": VOLUME}, NO_VOLUME, ""),
    ("describe_volume_status", {"VolumeIds": [VOLUME]}, NO_VOLUME, ""),
    ("create_volume", {"AvailabilityZone": ZONE, "VolumeType": "gp2", "Size": 16_385}, VALUE, ""),
    ("create_volume", {"AvailabilityZone": ZONE, "VolumeType": "standard", "Size": 1025}, VALUE, ""),
    ("create_volume", {"AvailabilityZone": "us-east-1z", "Size": 1}, "InvalidZone.NotFound", ""),
    (
        "modify_instance_attribute",
        {"InstanceId": "i-x", "SourceDestCheck": {"Value": False}},
        MALFORMED,
        "i-x",
    ),
    ("terminate_instances", {"InstanceIds": ["i-x"]}, MALFORMED, "i-x"),
    (
        "describe_snapshots",
        {"SnapshotIds": [SNAPSHOT]},
        "InvalidSnapshot.NotFound",
        f"The snapshot '{SNAPSHOT}' does not exist.",
    ),
    ("describe_snapshots", {"SnapshotIds": ["snap-x"]}, VALUE, "Expected: 'snap-...'."),
    ("delete_subnet", {"SubnetId": "subnet-x"}, NO_SUBNET, ""),
    ("describe_subnets", {"SubnetIds": ["net"]}, NO_SUBNET, ""),
    ("modify_subnet_attribute", {"SubnetId": "x", "MapPublicIpOnLaunch": {"Value": True}}, NO_SUBNET, ""),
    (
        "create_tags",
        {"Resources": [f"eni-{UNKNOWN}"], "Tags": TAGS},
        "InvalidNetworkInterfaceID.NotFound",
        "",
    ),
    ("create_tags", {"Resources": [f"ami-{UNKNOWN}"], "Tags": TAGS}, "InvalidAMIID.NotFound", ""),
]
"""Calls that need nothing: operation, arguments, code, and a part of the message."""


@dataclass
class Bed:
    """What the calls use.

    Attributes:
        world: The simulated account.
        run: Launches an instance.
    """

    world: World
    run: Callable[..., dict[str, Any]]

    @property
    def ec2(self) -> Any:
        """A client."""
        return self.world.ec2

    def volume(self, **arguments: Any) -> str:
        """Create a volume."""
        whole = {"AvailabilityZone": self.world.zone, "Size": 10, "VolumeType": "gp3", **arguments}
        volume_id: str = self.ec2.create_volume(**whole)["VolumeId"]
        return volume_id

    def attach(self, volume_id: str, instance_id: str, device: str = "/dev/sdf") -> None:
        """Attach a volume."""
        self.ec2.attach_volume(VolumeId=volume_id, InstanceId=instance_id, Device=device)

    def interface(self, **arguments: Any) -> str:
        """Create an interface."""
        answer = self.ec2.create_network_interface(**{"SubnetId": self.world.subnet_id, **arguments})
        interface_id: str = answer["NetworkInterface"]["NetworkInterfaceId"]
        return interface_id

    def route(self, cidr: str) -> None:
        """Create a route to a new interface."""
        table, nic = self.world.route_table_id, self.interface()
        self.ec2.create_route(RouteTableId=table, DestinationCidrBlock=cidr, NetworkInterfaceId=nic)

    def copy_image(self, **arguments: Any) -> Any:
        """Copy the image of the account."""
        source = {"SourceImageId": self.world.image_id, "SourceRegion": "us-east-1"}
        return self.ec2.copy_image(**{"Name": "copy", **source, **arguments})

    def tag(self, key: str, value: str) -> None:
        """Tag the VPC."""
        self.ec2.create_tags(Resources=[self.world.vpc_id], Tags=[{"Key": key, "Value": value}])

    def launch(self, given: dict[str, Any]) -> None:
        """Launch an instance with these arguments."""
        self.run(**given)

    def launch_interface(self, given: dict[str, Any]) -> None:
        """Launch an instance with two interfaces, of which the second is as given."""
        second = self.new_interface(**{"DeviceIndex": 1, **given})
        self.run(NetworkInterfaces=[self.new_interface(), second])

    def without_image(self) -> Bed:
        """Deregister the image of the account."""
        self.ec2.deregister_image(ImageId=self.world.image_id)
        return self

    def encrypted_image(self) -> Bed:
        """Take an encrypted copy of the account's image in its place."""
        image_id = self.copy_image(Encrypted=True)["ImageId"]
        return replace(self, world=replace(self.world, image_id=image_id))

    def far_vpc(self) -> str:
        """Create another VPC."""
        vpc_id: str = self.ec2.create_vpc(CidrBlock="10.1.0.0/16")["Vpc"]["VpcId"]
        return vpc_id

    def far_table(self) -> str:
        """Create a route table in another VPC."""
        table_id: str = self.ec2.create_route_table(VpcId=self.far_vpc())["RouteTable"]["RouteTableId"]
        return table_id

    def far_group(self) -> str:
        """Create a security group in another VPC."""
        arguments = {"GroupName": "far", "Description": "far", "VpcId": self.far_vpc()}
        group_id: str = self.ec2.create_security_group(**arguments)["GroupId"]
        return group_id

    def terminated(self) -> str:
        """Launch and terminate an instance."""
        instance_id: str = self.run()["InstanceId"]
        self.ec2.terminate_instances(InstanceIds=[instance_id])
        return instance_id

    def template(self, **data: Any) -> dict[str, str]:
        """Create a launch template; return what a launch says of it."""
        self.ec2.create_launch_template(LaunchTemplateName="one", LaunchTemplateData=data)
        return {"LaunchTemplateName": "one"}

    def new_interface(self, **keys: Any) -> dict[str, Any]:
        """Describe an interface that a launch is to create."""
        return {"DeviceIndex": 0, "SubnetId": self.world.subnet_id, **keys}


REFUSALS: dict[str, tuple[Callable[[Bed], object], str, str]] = {
    "route table of a malformed subnet": (
        lambda bed: bed.ec2.associate_route_table(SubnetId="x", RouteTableId=bed.world.route_table_id),
        NO_SUBNET,
        "",
    ),
    "route table of another VPC": (
        lambda bed: bed.ec2.associate_route_table(
            SubnetId=bed.world.subnet_ids[2], RouteTableId=bed.far_table()
        ),
        VALUE,
        "different networks",
    ),
    "group of another VPC": (
        lambda bed: bed.interface(Groups=[bed.far_group()]),
        "InvalidParameter",
        "belong to different networks",
    ),
    "volume of another zone": (
        lambda bed: bed.attach(bed.volume(AvailabilityZone=bed.world.other_zone), bed.run()["InstanceId"]),
        "InvalidVolume.ZoneMismatch",
        "",
    ),
    "odd device name": (
        lambda bed: bed.attach(bed.volume(), bed.run()["InstanceId"], "/dev/xvdea"),
        VALUE,
        "/dev/xvdea is not a valid EBS device name.",
    ),
    "decrypted copy": (
        lambda bed: bed.ec2.copy_volumes(SourceVolumeId=bed.volume(Encrypted=True), Encrypted=False),
        "UnsupportedOperation",
        "",
    ),
    "copy with too many iops": (
        lambda bed: bed.ec2.copy_volumes(SourceVolumeId=bed.volume(), VolumeType="gp3", Iops=16_000),
        VALUE,
        "ratio",
    ),
    # Images
    "copy of a deregistered image": (
        lambda bed: bed.without_image().copy_image(),
        "InvalidAMIID.Unavailable",
        "ami-",
    ),
    "unencrypted copy of an encrypted image": (
        lambda bed: bed.encrypted_image().copy_image(Encrypted=False),
        "InvalidRequest",
        "is encrypted. Creating unencrypted copy from an encrypted snapshot is not supported.",
    ),
    "key without encryption": (
        lambda bed: bed.copy_image(KmsKeyId=KEY),
        "InvalidParameterDependency",
        "KmsKeyId",
    ),
    # Interfaces, addresses, subnets, tags
    "unknown security group": (
        lambda bed: bed.interface(Groups=[f"sg-{UNKNOWN}"]),
        "InvalidGroup.NotFound",
        "",
    ),
    "address outside of the subnet": (
        lambda bed: bed.interface(PrivateIpAddress="10.0.9.9"),
        VALUE,
        "address range",
    ),
    "address that AWS reserves": (
        lambda bed: bed.interface(PrivateIpAddress="10.0.1.1"),
        VALUE,
        "reserved address range",
    ),
    "range that is too large": (
        lambda bed: bed.ec2.create_subnet(VpcId=bed.world.vpc_id, CidrBlock="10.0.0.0/15"),
        "InvalidSubnet.Range",
        "10.0.0.0/15",
    ),
    **{
        what: (
            partial(Bed.tag, key=key, value=value),
            VALUE,
            "",
        )
        for what, key, value in (
            ("long key", "k" * 128, "v"),
            ("long value", "k", "v" * 256),
            ("key of AWS", "aws:k", "v"),
        )
    },
    **{
        f"route to {cidr}": (
            partial(Bed.route, cidr=cidr),
            VALUE,
            f"Value ({cidr}) for parameter destinationCidrBlock",
        )
        for cidr in ("10.9.0.0", "2600::/64")
    },
    # Launches
    **{
        f"launch with {what}": (partial(Bed.launch, given=given), code, message)
        for what, given, code, message in (
            ("an unknown image", {"ImageId": f"ami-{UNKNOWN}"}, "InvalidAMIID.NotFound", ""),
            ("an unknown profile", {"IamInstanceProfile": {"Name": "unknown"}}, VALUE, ""),
            ("an unknown group", {"SecurityGroupIds": [f"sg-{UNKNOWN}"]}, "InvalidGroup.NotFound", ""),
            ("an unknown word", {"MetadataOptions": {"HttpEndpoint": "on"}}, VALUE, ODD_WORD),
            (
                "too many hops",
                {"MetadataOptions": {"HttpPutResponseHopLimit": 65}},
                VALUE,
                "HttpPutResponseHopLimit",
            ),
            (
                "tags that metadata can't show",
                {
                    "MetadataOptions": {"InstanceMetadataTags": "enabled"},
                    "TagSpecifications": [
                        {"ResourceType": "instance", "Tags": [{"Key": "cost center", "Value": "x"}]}
                    ],
                },
                VALUE,
                "'cost center' is not a valid tag key. Tag keys must match pattern",
            ),
            ("unknown credits", {"CreditSpecification": {"CpuCredits": "none"}}, VALUE, "CpuCredits"),
            ("an unknown tenancy", {"Placement": {"Tenancy": "shared"}}, VALUE, "Tenancy"),
            ("a long token", {"ClientToken": "t" * 65}, VALUE, "clientToken"),
            ("a token that is not ASCII", {"ClientToken": "é"}, VALUE, "clientToken"),
            (
                "a disk without a size",
                {"BlockDeviceMappings": [{"DeviceName": "/dev/sdb", "Ebs": {"VolumeType": "gp3"}}]},
                "MissingParameter",
                "",
            ),
            (
                "a root disk smaller than its snapshot",
                {"BlockDeviceMappings": [ROOT]},
                "InvalidBlockDeviceMapping",
                "expect size >= 5GB",
            ),
        )
    },
    "launch with a deregistered image": (
        lambda bed: bed.without_image().run(),
        "InvalidAMIID.NotFound",
        "ami-",
    ),
    "launch with groups beside those of an interface": (
        lambda bed: bed.run(
            NetworkInterfaces=[bed.new_interface()], SecurityGroupIds=[bed.world.groups["bosh"]]
        ),
        "InvalidParameterCombination",
        "security groups",
    ),
    **{
        f"launch with {what}": (partial(Bed.launch_interface, given=given), code, message)
        for what, given, code, message in (
            ("a card that the type lacks", {"DeviceIndex": 1, "NetworkCardIndex": 1}, VALUE, "card index 1"),
            ("EFA", {"InterfaceType": "efa"}, "InvalidParameterCombination", "Elastic Fabric Adapters"),
            (
                "ENA Express",
                {"EnaSrdSpecification": {"EnaSrdEnabled": True}},
                "InvalidParameterCombination",
                "ENA Express",
            ),
        )
    },
    "interface with several attributes at once": (
        lambda bed: bed.ec2.modify_network_interface_attribute(
            NetworkInterfaceId=bed.interface(), SourceDestCheck={"Value": False}, Description={"Value": "x"}
        ),
        "InvalidParameterCombination",
        "Description, SourceDestCheck",
    ),
    "route to an instance with several interfaces": (
        lambda bed: bed.ec2.create_route(
            RouteTableId=bed.world.route_table_id,
            DestinationCidrBlock="10.9.0.0/16",
            InstanceId=bed.run(
                NetworkInterfaces=[bed.new_interface(), bed.new_interface(DeviceIndex=1)],
            )["InstanceId"],
        ),
        "InvalidInstanceID",
        "multiple interfaces",
    ),
    "volume for a terminated instance": (
        lambda bed: bed.attach(bed.volume(), bed.terminated()),
        "IncorrectState",
        "",
    ),
    "interfaces beside the groups of a template": (
        lambda bed: bed.run(
            NetworkInterfaces=[bed.new_interface()], LaunchTemplate=bed.template(SecurityGroupIds=["sg-1"])
        ),
        "InvalidParameterCombination",
        "instance-level security groups",
    ),
    "version that a template lacks": (
        lambda bed: bed.run(LaunchTemplate={**bed.template(EbsOptimized=True), "Version": "2"}),
        "InvalidLaunchTemplateId.VersionNotFound",
        "2",
    ),
    "range of IPv6 that the VPC lacks": (
        lambda bed: bed.ec2.create_subnet(
            VpcId=bed.world.vpc_id, CidrBlock="10.0.9.0/24", Ipv6CidrBlock="2001:db8::/64"
        ),
        "InvalidSubnet.Range",
        "2001:db8::/64",
    ),
    "launch with a public address for several interfaces": (
        lambda bed: bed.run(
            NetworkInterfaces=[
                bed.new_interface(AssociatePublicIpAddress=True),
                bed.new_interface(DeviceIndex=1),
            ]
        ),
        "InvalidParameterCombination",
        "associatePublicIPAddress",
    ),
}


def figures() -> Iterator[tuple[str, dict[str, Any], str, str]]:
    """Figures of volumes that EBS does not have: a name, the figures, code and message."""
    too_high = "Volume iops of {} is too high; maximum is {}."
    yield "gp3", {"VolumeType": "gp3", "Size": 20, "Iops": 99_999}, VALUE, too_high.format(99_999, 80_000)
    yield "io1", {"VolumeType": "io1", "Size": 2000, "Iops": 64_001}, VALUE, too_high.format(64_001, 64_000)
    ratio = "Iops to volume size ratio of 1600.000000 is too high; maximum is 500"
    yield "ratio", {"VolumeType": "gp3", "Size": 10, "Iops": 16_000}, VALUE, ratio
    of_io2 = {"VolumeType": "io2", "Size": 4, "Iops": 4001}
    yield "ratio of io2", of_io2, "InvalidParameterCombination", "1000:1 IOPS:GB ratio"
    for volume_type, least in (("io1", 4), ("io2", 4), ("st1", 125), ("sc1", 125)):
        iops = {"Iops": 100} if volume_type.startswith("io") else {}
        small = {"VolumeType": volume_type, "Size": least - 1, **iops}
        yield f"small {volume_type}", small, VALUE, f"must be at least {least} GiB in size"


def create(bed: Bed, given: dict[str, Any]) -> None:
    """Create a volume of these figures."""
    bed.volume(**given)


def modify(bed: Bed, given: dict[str, Any]) -> None:
    """Give a volume these figures."""
    bed.ec2.modify_volume(VolumeId=bed.volume(Size=1), **given)


REFUSALS |= {
    f"{what} by {act.__name__}": (partial(act, given=given), code, message)
    for what, given, code, message in figures()
    for act in (create, modify)
}


@pytest.mark.parametrize(
    ("operation", "arguments", "code", "message"), PLAIN, ids=[f"{row[0]} {row[1]}" for row in PLAIN]
)
def test_refused_alone(
    world: World, refused: Any, operation: str, arguments: dict[str, Any], code: str, message: str
) -> None:
    """The call is refused with AWS's code and message, and creates nothing."""
    with refused(code, message):
        getattr(world.ec2, operation)(**arguments)
    assert world.state() == world.empty


@pytest.mark.parametrize("what", REFUSALS)
def test_refused(world: World, run: Callable[..., dict[str, Any]], refused: Any, what: str) -> None:
    """The call is refused with AWS's code and message; no instance is left of a launch."""
    call, code, message = REFUSALS[what]
    with refused(code, message):
        call(Bed(world, run))
    if "launch" in what:
        state = world.state()
        assert (state["instances"], state["volumes"], state["interfaces"]) == ([], [], [])


def test_targets(fake_aws: FakeAws, world: World, refused: Any) -> None:
    """A group of instances refuses an address, and an unknown group is refused."""
    traffic = Traffic.lay(fake_aws, world)
    with refused("ValidationError", "Instance ID '10.0.1.9' is not valid"):
        traffic.elbv2.register_targets(TargetGroupArn=traffic.target_group_arn, Targets=[{"Id": "10.0.1.9"}])
    with refused("TargetGroupNotFound"):
        traffic.elbv2.register_targets(
            TargetGroupArn=f"{traffic.target_group_arn}0", Targets=[{"Id": "10.0.1.9"}]
        )
