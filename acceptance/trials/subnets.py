"""Subnets of managed networks."""

from ipaddress import ip_network
from typing import Any

from acceptance.lab import Lab, said_to
from acceptance.network import SUBNETS
from acceptance.patience import NotYet, until
from acceptance.trials.trial import Seen, Trials, compared
from bosh_aws_cpi.aws.sdk.errors import RANGE_TAKEN, SUBNET_MISSING, SUBNET_USED

TRIALS = Trials()
RANGE = "10.99.64.0/28"
OTHER_RANGE = "10.99.64.16/28"
FIRST_FREE = 4
"""The first address of a subnet that AWS does not keep."""


def create(lab: Lab, cidr: str = RANGE, **tags: str) -> Any:
    """Create a subnet, and wait until EC2 shows it; returns CreateSubnet's description of it."""
    specification = lab.tagged("subnet")
    specification[0]["Tags"] += [{"Key": key, "Value": value} for key, value in tags.items()]
    answer = lab.ec2.create_subnet(VpcId=lab.network.vpc_id, CidrBlock=cidr, TagSpecifications=specification)

    def is_available() -> None:
        said = said_to(lab.ec2.describe_subnets, SubnetIds=[answer["Subnet"]["SubnetId"]])
        if said.code or said.answer["Subnets"][0]["State"] != "available":
            raise NotYet(said.text)

    until(is_available)
    return answer["Subnet"]


@TRIALS.of("subnet-ranges")
def subnet_ranges(lab: Lab) -> Seen:
    """Create subnets in ranges that can't be used."""
    ranges = {
        "the same range": SUBNETS[0],
        "a part of it": str(next(ip_network(SUBNETS[0]).subnets(new_prefix=28))),
        "another VPC's": "10.98.0.0/24",
        "too small": "10.99.64.0/29",
    }
    said = {
        what: said_to(lab.ec2.create_subnet, VpcId=lab.network.vpc_id, CidrBlock=cidr)
        for what, cidr in ranges.items()
    }
    outside = {"InvalidSubnet.Range"}
    return compared(
        said,
        {
            "the same range": RANGE_TAKEN,
            "a part of it": RANGE_TAKEN,
            "another VPC's": outside,
            "too small": outside,
        },
    )


@TRIALS.of("subnet-tags")
def subnet_tags(lab: Lab) -> Seen:
    """Find a new subnet by its tags."""
    mark = lab.token()
    created = create(lab, bosh_call=mark)
    by_tag = [{"Name": "tag:bosh_call", "Values": [mark]}]
    found = [each["SubnetId"] for each in lab.ec2.describe_subnets(Filters=by_tag)["Subnets"]]
    times = sorted(key for key in created if "time" in key.lower() or "date" in key.lower())
    lab.ec2.delete_subnet(SubnetId=created["SubnetId"])
    is_tagged = mark in {tag["Value"] for tag in created.get("Tags", [])}
    return Seen(
        is_tagged and found == [created["SubnetId"]] and not times,
        f"tagged at once: {is_tagged}; found by the tag: {len(found)}; times: {', '.join(times) or 'none'}",
    )


@TRIALS.of("subnet-in-use")
def subnet_in_use(lab: Lab) -> Seen:
    """Delete a subnet with interfaces."""
    said = said_to(lab.ec2.delete_subnet, SubnetId=_of_interface(lab))
    return Seen(said.code in SUBNET_USED, said.text)


def _of_interface(lab: Lab) -> str:
    found = lab.ec2.describe_network_interfaces(NetworkInterfaceIds=[lab.interface_id])
    subnet_id: str = found["NetworkInterfaces"][0]["SubnetId"]
    return subnet_id


@TRIALS.of("subnet-deleted")
def subnet_deleted(lab: Lab) -> Seen:
    """Delete a subnet that has a route table, and then once more."""
    subnet_id = create(lab)["SubnetId"]
    lab.ec2.associate_route_table(SubnetId=subnet_id, RouteTableId=lab.network.table_id)
    first = said_to(lab.ec2.delete_subnet, SubnetId=subnet_id)
    second = said_to(lab.ec2.delete_subnet, SubnetId=subnet_id)
    filters = [{"Name": "association.subnet-id", "Values": [subnet_id]}]
    tables = lab.ec2.describe_route_tables(Filters=filters)["RouteTables"]
    acls = lab.ec2.describe_network_acls(Filters=filters)["NetworkAcls"]
    return Seen(
        not first.code and second.code in SUBNET_MISSING and not (tables or acls),
        f"at first {first.text}, then {second.text}; associations left: {len(tables) + len(acls)}",
    )


@TRIALS.of("subnet-associations")
def subnet_associations(lab: Lab) -> Seen:
    """Give a new subnet a route table twice, then another one, and another network ACL."""
    ec2, vpc_id = lab.ec2, lab.network.vpc_id
    subnet_id = create(lab)["SubnetId"]
    table_id = lab.network.table_id
    said = {"associated": said_to(ec2.associate_route_table, SubnetId=subnet_id, RouteTableId=table_id)}
    said["again"] = said_to(ec2.associate_route_table, SubnetId=subnet_id, RouteTableId=table_id)
    table = ec2.create_route_table(VpcId=vpc_id, TagSpecifications=lab.tagged("route-table"))
    other = table["RouteTable"]["RouteTableId"]
    said["another table"] = said_to(ec2.associate_route_table, SubnetId=subnet_id, RouteTableId=other)
    acl = ec2.create_network_acl(VpcId=vpc_id, TagSpecifications=lab.tagged("network-acl"))["NetworkAcl"]
    filters = [{"Name": "association.subnet-id", "Values": [subnet_id]}]
    (default,) = ec2.describe_network_acls(Filters=filters)["NetworkAcls"]
    (association,) = (each for each in default["Associations"] if each["SubnetId"] == subnet_id)
    said["network ACL"] = said_to(
        ec2.replace_network_acl_association,
        AssociationId=association["NetworkAclAssociationId"],
        NetworkAclId=acl["NetworkAclId"],
    )
    ec2.delete_subnet(SubnetId=subnet_id)
    taken = {"Resource.AlreadyAssociated"}
    seen = compared(
        said,
        {
            "associated": {"success"},
            "again": taken | {"success"},
            "another table": taken,
            "network ACL": {"success"},
        },
    )
    return Seen(seen.agrees and default["IsDefault"], f"{seen.text}; default: {default['IsDefault']}")


@TRIALS.of("subnet-reserved")
def subnet_reserved(lab: Lab) -> Seen:
    """Ask for each address of a small subnet that AWS keeps, and for the first one that it does not."""
    subnet = create(lab, OTHER_RANGE)
    addresses = [str(each) for each in ip_network(OTHER_RANGE)]
    said = {
        address: said_to(
            lab.ec2.create_network_interface,
            **lab.interface_arguments(SubnetId=subnet["SubnetId"], PrivateIpAddress=address),
        )
        for address in (*addresses[: FIRST_FREE + 1], addresses[-1])
    }
    kept = {"InvalidParameterValue"}
    assumed = {each: {"success"} if each == addresses[FIRST_FREE] else kept for each in said}
    seen = compared(said, assumed)
    free = subnet["AvailableIpAddressCount"]
    return Seen(seen.agrees and free == len(addresses) - FIRST_FREE - 1, f"{seen.text}; {free} free")
