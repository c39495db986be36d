"""What is there before the program's first call: networks, groups, an image."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

Existing = dict[str, list[str]]
"""Ids, or names, of resources by their kind."""

ZONE = "us-east-1a"
OTHER_ZONE = "us-east-1b"
KEY_NAME = "bosh"
PUBLIC_KEY = b"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICY3c/kA/E7M21rNXqGz+JFzwJZFZvdqjmf4EkAd1wHX testbed"
"""Given to EC2, so that it need not create a pair each time; nobody has the private half."""
INSTANCE_PROFILE = "bosh-vm"
ROOT_SIZE = 5
"""GiB of the image's snapshot: no default of moto's or of the program's."""

QUOTAS = {
    "Running On-Demand DL instances": 0,
    "Running On-Demand F instances": 0,
    "Running On-Demand G and VT instances": 0,
    "Running On-Demand High Memory instances": 0,
    "Running On-Demand HPC instances": 0,
    "Running On-Demand Inf instances": 0,
    "Running On-Demand P instances": 0,
    "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances": 5,
    "Running On-Demand Trn instances": 0,
    "Running On-Demand X instances": 0,
    "All DL Spot Instance Requests": 0,
    "All F Spot Instance Requests": 0,
    "All G and VT Spot Instance Requests": 0,
    "All Inf Spot Instance Requests": 0,
    "All P4, P3 and P2 Spot Instance Requests": 0,
    "All P5 Spot Instance Requests": 0,
    "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests": 5,
    "All Trn Spot Instance Requests": 0,
    "All X Spot Instance Requests": 0,
    "EC2-VPC Elastic IPs": 5,
}
"""A new account's, from the EC2 user guide, "On-Demand Instance quotas" and "Spot Instance quotas"."""


@dataclass
class World:
    """Ids and names of the world's resources.

    Attributes:
        ec2: A client for looking at it and changing it.
        existing: Lists all that exists, of the kinds that a CPI creates.
        subnet_ids: Of 10.0.1.0/24 and 10.0.2.0/24, in `ZONE`, and of 10.0.3.0/24,
            in `OTHER_ZONE`.
        groups: Security group ids by name.
        image_id: An AMI that serves as a light stemcell.
    """

    ec2: Any
    existing: Callable[[], Existing]
    vpc_id: str
    subnet_ids: tuple[str, str, str]
    route_table_id: str
    groups: dict[str, str]
    image_id: str
    root_device: str
    key_name: str = KEY_NAME
    instance_profile: str = INSTANCE_PROFILE
    zone: str = ZONE
    other_zone: str = OTHER_ZONE
    laid: Existing = field(default_factory=dict)

    @classmethod
    def lay(cls, ec2: Any, iam: Any, existing: Callable[[], Existing]) -> Self:
        """Make everything, in an empty region."""
        vpc_id = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        table = ec2.create_route_table(VpcId=vpc_id)["RouteTable"]
        subnets = [(1, ZONE), (2, ZONE), (3, OTHER_ZONE)]
        first, second, third = (_subnet(ec2, vpc_id, *subnet) for subnet in subnets)
        ec2.import_key_pair(KeyName=KEY_NAME, PublicKeyMaterial=PUBLIC_KEY)
        iam.create_instance_profile(InstanceProfileName=INSTANCE_PROFILE)
        world = cls(
            ec2=ec2,
            existing=existing,
            vpc_id=vpc_id,
            subnet_ids=(first, second, third),
            route_table_id=table["RouteTableId"],
            groups={name: _group(ec2, vpc_id, name) for name in ("bosh", "web")},
            image_id=_image(ec2),
            root_device="/dev/xvda",
        )
        world.laid = existing()
        return world

    @property
    def subnet_id(self) -> str:
        """The subnet that most tests use."""
        return self.subnet_ids[0]

    def state(self) -> Existing:
        """List what was created since the world was laid; kinds are those of `Resources.existing`."""
        return {kind: sorted(set(ids) - set(self.laid[kind])) for kind, ids in self.existing().items()}

    @property
    def empty(self) -> Existing:
        """The state of a world in which nothing is left."""
        return {kind: [] for kind in self.laid}

    def instance(self, instance_id: str) -> dict[str, Any]:
        """Describe one instance."""
        answer = self.ec2.describe_instances(InstanceIds=[instance_id])
        instance: dict[str, Any] = answer["Reservations"][0]["Instances"][0]
        return instance


def _subnet(ec2: Any, vpc_id: str, number: int, zone: str) -> str:
    answer = ec2.create_subnet(VpcId=vpc_id, CidrBlock=f"10.0.{number}.0/24", AvailabilityZone=zone)
    subnet_id: str = answer["Subnet"]["SubnetId"]
    return subnet_id


def _group(ec2: Any, vpc_id: str, name: str) -> str:
    answer = ec2.create_security_group(GroupName=name, Description=name, VpcId=vpc_id)
    group_id: str = answer["GroupId"]
    return group_id


def _image(ec2: Any) -> str:
    """Register an image as a stemcell is: a root volume, and an instance store."""
    volume = ec2.create_volume(AvailabilityZone=ZONE, Size=ROOT_SIZE, VolumeType="gp2")
    snapshot = ec2.create_snapshot(VolumeId=volume["VolumeId"])
    ec2.delete_volume(VolumeId=volume["VolumeId"])
    answer = ec2.register_image(
        Name="BOSH-light-stemcell",
        Architecture="x86_64",
        VirtualizationType="hvm",
        RootDeviceName="/dev/xvda",
        EnaSupport=True,
        SriovNetSupport="simple",
        BlockDeviceMappings=[
            {"DeviceName": "/dev/xvda", "Ebs": {"SnapshotId": snapshot["SnapshotId"]}},
            {"DeviceName": "/dev/sdb", "VirtualName": "ephemeral0"},
        ],
    )
    image_id: str = answer["ImageId"]
    return image_id
