"""Filters of the Describe calls."""

from typing import Any

import pytest

NAMES = ["a*c", "a?c", "a\\c", "abc", "ac", "abbc", "a[b]c", "a.c"]


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        ("a*c", set(NAMES)),
        ("a?c", {"a*c", "a?c", "a\\c", "abc", "ac", "a.c"}),
        (r"a\*c", {"a*c"}),
        (r"a\?c", {"a?c"}),
        (r"a\\c", {"a\\c"}),
        ("a[b]c", {"a[b]c"}),
        ("a.c", {"a.c"}),
        ("ab", set()),
    ],
)
def test_wildcards(ec2: Any, world: Any, pattern: str, matched: set[str]) -> None:
    """An asterisk, a question mark and a backslash mean what they mean in EC2; nothing else is special."""
    groups = {
        ec2.create_security_group(GroupName=name, Description="x", VpcId=world.vpc_id)["GroupId"]: name
        for name in NAMES
    }
    for group_id, name in groups.items():
        ec2.create_tags(
            Resources=[group_id, *_interface(ec2, world, name)], Tags=[{"Key": "n", "Value": name}]
        )
    by_name = [{"Name": "group-name", "Values": [pattern]}, {"Name": "vpc-id", "Values": [world.vpc_id]}]
    by_tag = [{"Name": "tag:n", "Values": [pattern]}]
    by_description = [{"Name": "description", "Values": [pattern]}]
    for filters in (by_name, by_tag):
        found = ec2.describe_security_groups(Filters=filters)["SecurityGroups"]
        assert {each["GroupName"] for each in found} == matched
    for filters in (by_description, by_tag):
        nics = ec2.describe_network_interfaces(Filters=filters)["NetworkInterfaces"]
        assert {each["Description"] for each in nics} == matched


def _interface(ec2: Any, world: Any, name: str) -> list[str]:
    answer = ec2.create_network_interface(SubnetId=world.subnet_id, Description=name)
    return [answer["NetworkInterface"]["NetworkInterfaceId"]]


def test_instances(ec2: Any, run: Any) -> None:
    """The same for instances, by their own attributes and by tags."""
    vm = run()["InstanceId"]
    ec2.create_tags(Resources=[vm], Tags=[{"Key": "n", "Value": "a*c"}])
    for name, pattern, is_found in (
        ("instance-id", "i-*", True),
        ("instance-id", r"i-\*", False),
        ("tag:n", "a?c", True),
        ("tag:n", r"a\*c", True),
        ("tag:n", r"a\?c", False),
    ):
        found = ec2.describe_instances(Filters=[{"Name": name, "Values": [pattern]}])["Reservations"]
        assert bool(found) == is_found
