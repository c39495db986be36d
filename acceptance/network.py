"""The run's own VPC, which is deleted at the end."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from botocore.exceptions import ClientError

from acceptance.account import Account, Unusable
from acceptance.patience import NotYet, until

INSTANCE_TYPE = "t3.micro"
"""One of the cheapest types, which every region has unless it is very new."""
VPC = "10.99.0.0/16"
SUBNETS = ("10.99.1.0/24", "10.99.2.0/24", "10.99.3.0/28")
"""Two subnets for VMs, and one that is small enough to be filled."""
AMAZON_LINUX = "al2023-ami-minimal-2023.*-kernel-*-x86_64"


def tagged(tags: Mapping[str, str], *kinds: str) -> list[dict[str, Any]]:
    """Write the `TagSpecifications` of a creating call."""
    written = [{"Key": key, "Value": value} for key, value in tags.items()]
    return [{"ResourceType": kind, "Tags": written} for kind in kinds]


@dataclass(frozen=True)
class Network:
    """Ids of the resources that were created or found.

    Attributes:
        vpc_id: The VPC.
        zone: The availability zone of all subnets.
        subnet_ids: Of `SUBNETS`.
        group_id: A security group that lets nothing in.
        table_id: A route table that no subnet uses.
        image_id: The AMI to launch.
    """

    vpc_id: str
    zone: str
    subnet_ids: tuple[str, str, str]
    group_id: str
    table_id: str
    image_id: str


def create(account: Account, tags: Mapping[str, str]) -> Network:
    """Create the network, each part with these tags.

    Raises:
        Unusable: There is no suitable zone or AMI.
        ClientError: AWS refuses a part.
    """
    ec2 = account.ec2
    zone, image_id = _zone(ec2), account.image_id or _newest_image(ec2)
    vpc_id = ec2.create_vpc(CidrBlock=VPC, TagSpecifications=tagged(tags, "vpc"))["Vpc"]["VpcId"]
    _when_known(lambda: _available(ec2.describe_vpcs, "VpcIds", vpc_id, "Vpcs"))
    gateway = ec2.create_internet_gateway(TagSpecifications=tagged(tags, "internet-gateway"))
    gateway_id = gateway["InternetGateway"]["InternetGatewayId"]
    _when_known(partial(ec2.attach_internet_gateway, InternetGatewayId=gateway_id, VpcId=vpc_id))
    first, second, small = (_subnet(ec2, vpc_id, zone, cidr, tags) for cidr in SUBNETS)
    group = ec2.create_security_group(
        GroupName=f"cpi-{vpc_id}",
        Description="bosh-aws-cpi acceptance",
        VpcId=vpc_id,
        TagSpecifications=tagged(tags, "security-group"),
    )
    table = ec2.create_route_table(VpcId=vpc_id, TagSpecifications=tagged(tags, "route-table"))
    table_id = table["RouteTable"]["RouteTableId"]
    return Network(vpc_id, zone, (first, second, small), group["GroupId"], table_id, image_id)


def _subnet(ec2: Any, vpc_id: str, zone: str, cidr: str, tags: Mapping[str, str]) -> str:
    answer = ec2.create_subnet(
        VpcId=vpc_id, CidrBlock=cidr, AvailabilityZone=zone, TagSpecifications=tagged(tags, "subnet")
    )
    subnet_id: str = answer["Subnet"]["SubnetId"]
    _when_known(lambda: _available(ec2.describe_subnets, "SubnetIds", subnet_id, "Subnets"))
    return subnet_id


def _when_known(call: Callable[[], object]) -> None:
    """Make a call about a new resource, retried while EC2 does not know it yet."""

    def attempt() -> None:
        try:
            call()
        except ClientError as error:
            if not error.response["Error"]["Code"].endswith("NotFound"):
                raise
            raise NotYet(str(error)) from error

    until(attempt)


def _available(describe: Any, parameter: str, identifier: str, key: str) -> None:
    (found,) = describe(**{parameter: [identifier]})[key]
    if found["State"] != "available":
        raise NotYet(found["State"])


def _zone(ec2: Any) -> str:
    """Find an availability zone that has the instance type; some of the old ones don't."""
    answer = ec2.describe_instance_type_offerings(
        LocationType="availability-zone", Filters=[{"Name": "instance-type", "Values": [INSTANCE_TYPE]}]
    )
    offering = {each["Location"] for each in answer["InstanceTypeOfferings"]}
    filters = [{"Name": "zone-type", "Values": ["availability-zone"]}]
    zones = ec2.describe_availability_zones(Filters=filters)["AvailabilityZones"]
    usable = sorted(
        zone["ZoneName"] for zone in zones if zone["State"] == "available" and zone["ZoneName"] in offering
    )
    if not usable:
        raise Unusable(f"No availability zone of this region has {INSTANCE_TYPE}")
    first: str = usable[0]
    return first


def _newest_image(ec2: Any) -> str:
    """Find the newest Amazon Linux."""
    filters = [{"Name": "name", "Values": [AMAZON_LINUX]}, {"Name": "state", "Values": ["available"]}]
    images = ec2.describe_images(Owners=["amazon"], Filters=filters)["Images"]
    if not images:
        raise Unusable(f"Amazon offers no AMI {AMAZON_LINUX} here: give one with --image")
    newest: str = max(images, key=lambda image: image["CreationDate"])["ImageId"]
    return newest
