"""Resources that expose VMs: an elastic address, load balancers, and a route table."""

from dataclasses import dataclass, field
from typing import Any, Self

from testbed.cloud import FakeAws
from testbed.world import World

TARGET_GROUPS = ("web-tcp", "web-tls")
LOAD_BALANCER = "classic"


@dataclass
class Traffic:
    """Ids and names of these resources; tests that need them create them in their world."""

    world: World
    elb: Any
    elbv2: Any
    public_ip: str
    allocation_id: str
    target_groups: dict[str, str]
    load_balancer: str = LOAD_BALANCER
    laid_routes: list[str] = field(default_factory=list)

    @classmethod
    def lay(cls, fake_aws: FakeAws, world: World) -> Self:
        """Create everything, and forget the calls."""
        elb, elbv2 = fake_aws.client("elb"), fake_aws.client("elbv2")
        address = world.ec2.allocate_address(Domain="vpc")
        ports = {"Protocol": "TCP", "LoadBalancerPort": 80, "InstanceProtocol": "TCP", "InstancePort": 80}
        elb.create_load_balancer(
            LoadBalancerName=LOAD_BALANCER, Listeners=[ports], Subnets=list(world.subnet_ids)
        )
        traffic = cls(
            world=world,
            elb=elb,
            elbv2=elbv2,
            public_ip=address["PublicIp"],
            allocation_id=address["AllocationId"],
            target_groups={name: _target_group(elbv2, world.vpc_id, name) for name in TARGET_GROUPS},
        )
        traffic.laid_routes = traffic._routes()
        fake_aws.forget_calls()
        return traffic

    @property
    def target_group(self) -> str:
        """The name of the target group that most tests use."""
        return TARGET_GROUPS[0]

    @property
    def target_group_arn(self) -> str:
        """The same target group's ARN."""
        return self.target_groups[self.target_group]

    def add_group(self, name: str, port: int = 80, **more: str) -> str:
        """Create another target group, which the state covers too; returns its ARN."""
        self.target_groups[name] = _target_group(self.elbv2, self.world.vpc_id, name, port, **more)
        return self.target_groups[name]

    @property
    def route_table_id(self) -> str:
        """The world's route table."""
        return self.world.route_table_id

    def state(self) -> dict[str, list[str]]:
        """List the VM's traffic.

        Returns:
            Sorted lists: `associations` has the interfaces that hold the elastic address,
            `targets` the instance ids or addresses (once for each registration), `registered` those of
            the classic load balancer, and `routes` each new destination with its target,
            such as `10.9.0.0/16 eni-…`.
        """
        return {
            "associations": sorted(self._associations()),
            "targets": sorted(self._targets()),
            "registered": sorted(self._registered()),
            "routes": sorted(set(self._routes()) - set(self.laid_routes)),
        }

    @property
    def empty(self) -> dict[str, list[str]]:
        """The state when nothing is exposed."""
        return {"associations": [], "targets": [], "registered": [], "routes": []}

    def _associations(self) -> list[str]:
        addresses = self.world.ec2.describe_addresses(AllocationIds=[self.allocation_id])["Addresses"]
        return [a["NetworkInterfaceId"] for a in addresses if "AssociationId" in a]

    def _targets(self) -> list[str]:
        answers = [self.elbv2.describe_target_health(TargetGroupArn=a) for a in self.target_groups.values()]
        return [each["Target"]["Id"] for answer in answers for each in answer["TargetHealthDescriptions"]]

    def _registered(self) -> list[str]:
        answer = self.elb.describe_load_balancers(LoadBalancerNames=[self.load_balancer])
        return [i["InstanceId"] for i in answer["LoadBalancerDescriptions"][0]["Instances"]]

    def _routes(self) -> list[str]:
        (table,) = self.world.ec2.describe_route_tables(RouteTableIds=[self.route_table_id])["RouteTables"]
        return [f"{_destination(route)} {_target(route)}" for route in table["Routes"]]


def _target_group(elbv2: Any, vpc_id: str, name: str, port: int = 80, **more: str) -> str:
    given = {"Protocol": "TCP", "TargetType": "instance", **more}
    answer = elbv2.create_target_group(Name=name, Port=port, VpcId=vpc_id, **given)
    arn: str = answer["TargetGroups"][0]["TargetGroupArn"]
    return arn


def _destination(route: dict[str, str]) -> str:
    return route.get("DestinationCidrBlock") or route["DestinationIpv6CidrBlock"]


def _target(route: dict[str, str]) -> str:
    return route.get("NetworkInterfaceId") or route.get("InstanceId") or route["GatewayId"]
