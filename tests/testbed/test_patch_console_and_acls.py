"""The console and network ACLs answer as EC2 does."""

from typing import Any

import pytest


def test_latest_console(world: Any, run: Any, refused: Any) -> None:
    """Only types on Nitro show their latest output; all show the older one."""
    ec2 = world.ec2
    nitro = run()["InstanceId"]
    answer = ec2.run_instances(
        ImageId=world.image_id, InstanceType="m4.large", MinCount=1, MaxCount=1, SubnetId=world.subnet_id
    )
    other = answer["Instances"][0]["InstanceId"]
    assert "Linux" in ec2.get_console_output(InstanceId=nitro, Latest=True)["Output"]
    with refused("UnsupportedOperation", "latest"):
        ec2.get_console_output(InstanceId=other, Latest=True)
    assert "Linux" in ec2.get_console_output(InstanceId=other)["Output"]


def test_network_acls(world: Any) -> None:
    """A new network ACL denies everything, with a last rule for each direction."""
    acl = world.ec2.create_network_acl(VpcId=world.vpc_id)["NetworkAcl"]
    (shown,) = world.ec2.describe_network_acls(NetworkAclIds=[acl["NetworkAclId"]])["NetworkAcls"]
    rules = {(rule["Egress"], rule["RuleNumber"], rule["RuleAction"]) for rule in shown["Entries"]}
    assert rules == {(True, 32767, "deny"), (False, 32767, "deny")}


@pytest.mark.parametrize("name", ["addresses.private-ip-address", "association.public-ip"])
def test_interfaces_by_address(world: Any, run: Any, name: str) -> None:
    """An interface is found by its private and by its public address."""
    ec2 = world.ec2
    instance = run(PrivateIpAddress="10.0.1.10")
    address = ec2.allocate_address(Domain="vpc")
    ec2.associate_address(AllocationId=address["AllocationId"], InstanceId=instance["InstanceId"])
    value = "10.0.1.10" if "private" in name else address["PublicIp"]
    found = ec2.describe_network_interfaces(Filters=[{"Name": name, "Values": [value]}])["NetworkInterfaces"]
    (nic,) = instance["NetworkInterfaces"]
    assert [each["NetworkInterfaceId"] for each in found] == [nic["NetworkInterfaceId"]]
