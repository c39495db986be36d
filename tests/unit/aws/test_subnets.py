"""What is read of a subnet, lost answers to its settings, and interfaces that keep it."""

from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.stub import ANY

from bosh_aws_cpi.aws import subnets
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.errors import CloudError
from tests.unit.aws.looks import instances
from tests.unit.conftest import Clock, Stub

SUBNET, TABLE, ACL = "subnet-1", "rtb-1", "acl-1"
NOT_FOUND = "InvalidSubnetID.NotFound"
SHOWN: dict[str, Any] = {"SubnetId": SUBNET, "VpcId": "vpc-1", "AvailabilityZone": "z"}
OF_ASSOCIATION = {"Filters": [{"Name": "association.subnet-id", "Values": [SUBNET]}]}
PAIR = {"SubnetId": SUBNET, "RouteTableId": TABLE}


@pytest.mark.parametrize(
    ("more", "families"),
    [
        ({"AssignIpv6AddressOnCreation": False, "Ipv6Native": False}, {"IPv4"}),
        ({"AssignIpv6AddressOnCreation": True, "Ipv6Native": False}, {"IPv4", "IPv6"}),
        ({"AssignIpv6AddressOnCreation": True, "Ipv6Native": True}, {"IPv6"}),
    ],
    ids=["IPv4", "dual-stack", "IPv6-only"],
)
def test_by_id(ec2: Stub, more: dict[str, bool], families: set[str]) -> None:
    """Subnets are asked for together, each once, and have the families and ranges of their addresses."""
    states = {"2600::/64": "associated", "2601::/64": "disassociated", "2602::/64": "associating"}
    more["Ipv6CidrBlockAssociationSet"] = [  # type: ignore[assignment]
        {"Ipv6CidrBlock": block, "Ipv6CidrBlockState": {"State": state}} for block, state in states.items()
    ]
    answer = {"Subnets": [{**SHOWN, "CidrBlock": "10.0.1.0/24", **more}, {**SHOWN, "SubnetId": "subnet-2"}]}
    ec2.lay("describe_subnets", answer, Filters=[{"Name": "subnet-id", "Values": [SUBNET, "subnet-2"]}])
    found = subnets.find_by_id(ec2.client, ["subnet-2", SUBNET, "subnet-2"])
    assert found.keys() == {SUBNET, "subnet-2"}
    assert found[SUBNET].families == families
    assert found[SUBNET].ranges == ["10.0.1.0/24", "2600::/64", "2602::/64"]


def test_by_vpc(ec2: Stub) -> None:
    """The subnets of a VPC are listed page by page: a retry must find what an earlier attempt created."""
    filters = [{"Name": "vpc-id", "Values": ["vpc-1"]}]
    ec2.lay("describe_subnets", {"Subnets": [SHOWN], "NextToken": "n"}, Filters=filters)
    ec2.lay(
        "describe_subnets", {"Subnets": [{**SHOWN, "SubnetId": "subnet-2"}]}, Filters=filters, NextToken="n"
    )
    assert [each.subnet_id for each in subnets.find_by_vpc(ec2.client, "vpc-1")] == [SUBNET, "subnet-2"]


@pytest.mark.parametrize("tables", [[{"RouteTableId": TABLE}], [{"RouteTableId": "rtb-2"}]])
def test_associated_already(ec2: Stub, tables: list[dict[str, str]]) -> None:
    """A second association of a subnet that EC2 may not know yet is no error if it has that route table."""
    ec2.lay("associate_route_table", NOT_FOUND, "Resource.AlreadyAssociated", **PAIR)
    ec2.lay("describe_route_tables", {"RouteTables": tables}, **OF_ASSOCIATION)
    if {"RouteTableId": TABLE} in tables:
        subnets.use_route_table(ec2.client, SUBNET, TABLE)
    else:
        with pytest.raises(ClientError, match="AlreadyAssociated"):
            subnets.use_route_table(ec2.client, SUBNET, TABLE)


def acls(*acl_ids: str) -> list[dict[str, Any]]:
    """Answer with the subnet's network ACL, which another subnet has, too; empty: no association is shown."""

    def association(number: int, subnet_id: str, acl_id: str) -> dict[str, str]:
        ids = {"SubnetId": subnet_id, "NetworkAclId": acl_id}
        return {"NetworkAclAssociationId": f"aclassoc-{number}", **ids}

    found = [[association(0, "subnet-0", each), association(1, SUBNET, each)] for each in acl_ids if each]
    shown: list[dict[str, Any]] = [{"NetworkAcls": [{"Associations": each}]} for each in found]
    return shown if all(acl_ids) else [{"NetworkAcls": []}, *shown]


@pytest.mark.parametrize("now", [ACL, "acl-2"])
def test_replaced_already(ec2: Stub, now: str) -> None:
    """A refused replacement is no error if the subnet has that network ACL: its answer was lost."""
    ec2.lay("describe_network_acls", *acls("", "acl-2"), **OF_ASSOCIATION)  # it may not be visible yet
    replacement = {"AssociationId": "aclassoc-1", "NetworkAclId": ACL}
    ec2.lay("replace_network_acl_association", "InvalidAssociationID.NotFound", **replacement)
    ec2.lay("describe_network_acls", *acls(now), **OF_ASSOCIATION)
    if now == ACL:
        subnets.use_acl(ec2.client, SUBNET, ACL)
    else:
        with pytest.raises(ClientError, match="InvalidAssociationID"):
            subnets.use_acl(ec2.client, SUBNET, ACL)


IN_SUBNET = {"Filters": [{"Name": "subnet-id", "Values": [SUBNET]}]}
LEAKED = {"NetworkInterfaceId": "eni-1", "Status": "available", "Description": "of a function"}


@pytest.mark.parametrize(
    ("nic", "is_waited_for"),
    [({}, True), ({"RequesterManaged": True}, False), ({"Attachment": {"InstanceId": "i-1"}}, False)],
    ids=["leaked", "managed", "of an instance"],
)
def test_interfaces_that_stay(
    ec2: Stub, clock: Clock, monkeypatch: pytest.MonkeyPatch, nic: dict[str, Any], *, is_waited_for: bool
) -> None:
    """Interfaces that AWS or an instance keeps are an error at once, others after a wait; ten are named."""
    monkeypatch.setattr(
        timing, "SUBNET_RELEASED", timing.AT_ONCE if is_waited_for else timing.SUBNET_RELEASED
    )
    many = [{**LEAKED, "NetworkInterfaceId": f"eni-{n}", **nic} for n in range(11)]
    looks = [{"NetworkInterfaces": many}] * (2 if is_waited_for else 1)
    ec2.lay("delete_subnet", "DependencyViolation", SubnetId=SUBNET)
    ec2.lay("describe_network_interfaces", *looks, **IN_SUBNET)
    if "Attachment" in nic:
        alive = {"Name": "instance-state-name", "Values": ["pending", "running", "stopping", "stopped"]}
        asked = [{"Name": "instance-id", "Values": ["i-1"]}, alive]
        ec2.lay("describe_instances", *instances("stopped"), Filters=asked)
    ec2.lay("create_tags", {}, Resources=[SUBNET], Tags=[{"Key": "bosh_delete_failed", "Value": ANY}])
    with pytest.raises(CloudError, match=r"eni-9 \(available, [^)]*\), ….*DependencyViolation") as caught:
        subnets.delete(ec2.client, SUBNET)
    assert "eni-10" not in caught.value.message
    assert clock.pauses == []
