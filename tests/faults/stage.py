"""Where a scenario is played: a laid world, the executable, and what it is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bosh_aws_cpi.plan.spread import MAX_RUNNING
from testbed.executable import DIRECTOR_UUID, Cpi, config
from testbed.registry import PASSWORD, USER
from testbed.traffic import Traffic
from tests.faults.picture import Painter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from testbed.cloud import FakeAws
    from testbed.executable import Answer, Process
    from testbed.registry import Registry
    from testbed.world import World
    from tests.faults.scenario import Scenario

CONTEXT = {"request_id": "cpi-424242"}
"""Of each request: a call that is made again after the process was killed is the same request."""
MAX_RETRIES = 8
"""What the release has when nothing is configured."""
_BEFORE: dict[str, list[str]] = {}
"""The picture before the request, by scenario: it is the same each time."""


@dataclass
class Stage:
    """A world for one case.

    Attributes:
        fake_aws: The stand-in for AWS.
        world: What is laid.
        registry: For requests of old stemcells.
        folder: For files that a request names.
        executable: Makes the executable from the document of its cpi.json.
        painter: Takes pictures of it all.
    """

    fake_aws: FakeAws
    world: World
    registry: Registry
    folder: Path
    executable: Callable[..., Cpi] = Cpi
    painter: Painter = field(init=False)
    _cpi: Cpi = field(init=False)
    _request: dict[str, Any] = field(init=False)
    _words: list[Any] = field(init=False)

    def __post_init__(self) -> None:
        """Take the empty world."""
        self.registry.documents.clear()
        self.painter = Painter(self.world, self.registry)

    def prepare(self, scenario: Scenario, env: Mapping[str, str] | None = None) -> list[str]:
        """Lay what a scenario needs, and get the executable ready for its request, with these variables.

        Returns:
            The picture before the request.
        """
        arguments = scenario.lay(self)
        section = {"endpoint": self.registry.endpoint, "user": USER, "password": PASSWORD}
        registry = section if scenario.version == 1 else None
        self._cpi = self.executable(
            config(self.fake_aws.endpoint, registry=registry, **{"max_retries": MAX_RETRIES, **scenario.aws}),
            **({"env": env} if env else {}),  # in a container, the executable has the container's
        )
        self._words = [scenario.method, *arguments]
        stemcell = 1 if scenario.version == 1 else 2
        self._request = {"api_version": scenario.version, "stemcell": stemcell, "context": CONTEXT}
        for action, states in scenario.states.items():
            self.fake_aws.rule(action=action, states=list(states))
        if scenario.name not in _BEFORE:
            _BEFORE[scenario.name] = self.painter.picture()
        self.fake_aws.forget_calls()
        return _BEFORE[scenario.name]

    def reset(self) -> None:
        """Lay the world anew, as if nothing had been tried."""
        self.fake_aws.reset()
        self.world = self.fake_aws.lay()
        self.__post_init__()

    def strays(self) -> set[str]:
        """List what `cpi sweep` finds once nothing is pending: EBS has ended snapshots that nobody writes."""
        images = self.ec2.describe_images(Owners=["self"])["Images"]
        subnets = self.ec2.describe_subnets()["Subnets"]
        for _ in range(2):  # the first look may see the first state
            self.ec2.describe_images(ImageIds=[each["ImageId"] for each in images])
            self.ec2.describe_subnets(SubnetIds=[each["SubnetId"] for each in subnets])
        self.fake_aws.rule(action="DescribeSnapshots", replace=[["<status>pending<", "<status>error<"]])
        answer = self._cpi.run("sweep", "--director", DIRECTOR_UUID, "--older-than", "0", "--json")
        return {stray["id"] for stray in answer.document["strays"]}

    def call(self) -> Answer:
        """Make the request."""
        return self._cpi.call(*self._words, **self._request)

    def start(self) -> Process:
        """Make it without waiting for it; the caller ends it."""
        return self._cpi.start(*self._words, **self._request)

    @property
    def ec2(self) -> Any:
        """A client of EC2 that is no part of the program."""
        return self.world.ec2

    def vm(self) -> str:
        """Have an instance run."""
        answer = self.ec2.run_instances(
            ImageId=self.world.image_id,
            InstanceType="t3.micro",
            MinCount=1,
            MaxCount=1,
            NetworkInterfaces=[
                {"DeviceIndex": 0, "SubnetId": self.world.subnet_id, "PrivateIpAddress": "10.0.1.4"}
            ],
            TagSpecifications=[
                {"ResourceType": "instance", "Tags": [{"Key": "bosh_agent_id", "Value": "agent-0"}]}
            ],
        )
        return self.painter.name(answer["Instances"][0]["InstanceId"], "vm")

    def disk(self) -> str:
        """Have a volume there."""
        answer = self.ec2.create_volume(AvailabilityZone=self.world.zone, Size=1, VolumeType="gp3")
        return self.painter.name(answer["VolumeId"], "disk")

    def vm_with_disk(self) -> list[str]:
        """Have an instance with a volume attached."""
        vm_cid, disk_cid = self.vm(), self.disk()
        self.ec2.attach_volume(InstanceId=vm_cid, VolumeId=disk_cid, Device="/dev/sdf")
        return [vm_cid, disk_cid]

    def snapshot(self) -> str:
        """Have a snapshot there, and the volume that it is of."""
        answer = self.ec2.create_snapshot(VolumeId=self.disk())
        return self.painter.name(answer["SnapshotId"], "snapshot")

    def network(self) -> dict[str, Any]:
        """Have what a managed network can be given; returns such cloud properties."""
        vpc_id = self.world.vpc_id
        self.ec2.associate_vpc_cidr_block(VpcId=vpc_id, AmazonProvidedIpv6CidrBlock=True)
        acl = self.ec2.create_network_acl(VpcId=vpc_id)["NetworkAcl"]["NetworkAclId"]
        return {
            "vpc_id": vpc_id,
            "availability_zone": self.world.zone,
            "route_table": self.painter.name(self.world.route_table_id, "table"),
            "network_acl": self.painter.name(acl, "ACL"),
            "ipv6": True,
            "auto_assign_public_ip": True,
            "tags": {"a": "b"},
            "security_groups": ["bosh"],
        }

    def subnet(self) -> str:
        """Have a subnet there, with a route table and a network ACL of its own."""
        properties = self.network()
        answer = self.ec2.create_subnet(
            VpcId=self.world.vpc_id, CidrBlock="10.0.9.0/24", AvailabilityZone=self.world.zone
        )
        subnet_id: str = self.painter.name(answer["Subnet"]["SubnetId"], "subnet")
        self.ec2.associate_route_table(SubnetId=subnet_id, RouteTableId=properties["route_table"])
        return subnet_id

    def full_subnet(self) -> str:
        """Have a subnet in the VM's zone whose every address an interface holds."""
        answer = self.ec2.create_subnet(
            VpcId=self.world.vpc_id, CidrBlock="10.0.9.0/28", AvailabilityZone=self.world.zone
        )
        subnet_id: str = self.painter.name(answer["Subnet"]["SubnetId"], "full")
        self.ec2.create_network_interface(SubnetId=subnet_id, SecondaryPrivateIpAddressCount=10)
        return subnet_id

    def full_placement_group(self, group: str) -> None:
        """Have the placement group of an instance group, with as many instances as EC2 allows in a zone."""
        name = f"bosh-{DIRECTOR_UUID}-{group}"
        tags = [_director(), {"Key": "bosh_spread_group", "Value": group}]
        specification = {"ResourceType": "placement-group", "Tags": tags}
        self.ec2.create_placement_group(GroupName=name, Strategy="spread", TagSpecifications=[specification])
        self.ec2.run_instances(
            ImageId=self.world.image_id,
            InstanceType="t3.micro",
            MinCount=MAX_RUNNING,
            MaxCount=MAX_RUNNING,
            SubnetId=self.world.subnet_id,
            Placement={"AvailabilityZone": self.world.zone, "GroupName": name},
        )

    def route_traffic(self) -> Traffic:
        """Have load balancers, an elastic address, and a route that leads out of the VPC."""
        gateway = self.ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
        self.ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=self.world.vpc_id)
        self.ec2.create_route(
            RouteTableId=self.world.route_table_id, DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway
        )
        self.painter.name(gateway, "gateway")
        self.painter.traffic = Traffic.lay(self.fake_aws, self.world)
        return self.painter.traffic

    def group_of_addresses(self) -> str:
        """Have a target group of addresses; returns its ARN."""
        arn = self.route_traffic().add_group("ips", 8080, TargetType="ip")
        self.painter.name(arn, "ARN of ips")
        self.painter.name(arn.rpartition("/")[2], "ips")
        self.fake_aws.forget_calls()
        return arn

    def vm_in_group(self) -> str:
        """Have an instance whose address is a target, as it records itself."""
        arn, vm_cid = self.group_of_addresses(), self.vm()
        record = {"Key": f"bosh_target_{arn.rpartition('/')[2]}_8080", "Value": f"{arn} 10.0.1.4"}
        self.ec2.create_tags(Resources=[vm_cid], Tags=[record])
        target = {"Id": "10.0.1.4", "Port": 8080}
        self.fake_aws.client("elbv2").register_targets(TargetGroupArn=arn, Targets=[target])
        return vm_cid


def _director() -> dict[str, str]:
    return {"Key": "bosh_director_uuid", "Value": DIRECTOR_UUID}
