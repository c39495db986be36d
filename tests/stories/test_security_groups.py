"""create_vm: the security groups of its interfaces."""

from collections.abc import Callable

import pytest

from testbed.cloud import FakeAws
from testbed.world import World
from tests.protocols import CheckRefused, CpiWith, CreateVm, WriteNetwork


@pytest.mark.parametrize(
    ("of_vm", "of_network", "expected"),
    [
        (["web"], ["bosh"], ["web"]),
        ([], ["web", "sg-frontend"], ["sg-frontend", "web"]),
        (["ID web", "bosh", "web"], [], ["web", "bosh"]),
        ([], [], ["bosh"]),
    ],
    ids=["of-the-vm", "of-the-networks", "by-id", "defaults"],
)
def test_security_groups(
    create_vm: CreateVm,
    network: WriteNetwork,
    inline: Callable[[], dict[str, str]],
    world: World,
    of_vm: list[str],
    of_network: list[str],
    expected: list[str],
) -> None:
    """The VM's groups win over the networks', which win over the defaults; ids and names mix."""
    frontend = world.ec2.create_security_group(GroupName="sg-frontend", Description="x", VpcId=world.vpc_id)
    ids = {**world.groups, "sg-frontend": frontend["GroupId"]}
    entries = [ids[entry.removeprefix("ID ")] if entry.startswith("ID ") else entry for entry in of_vm]
    given = network("10.0.1.10", groups=of_network)
    create_vm({"security_groups": entries}, {"a": given}).ok()
    groups = [value for name, value in inline().items() if name.startswith("SecurityGroupId.")]
    assert groups == [ids[name] for name in expected]


def test_security_groups_that_are_not_clear(
    create_vm: CreateVm,
    cpi_with: CpiWith,
    refused: CheckRefused,
    fake_aws: FakeAws,
    world: World,
) -> None:
    """A group that is unknown, or not the only one of its name, is named; so is there being none."""
    unknown = create_vm({"security_groups": ["bosh", "nosuch"]})
    asked = refused(unknown, "Security group not found with name 'nosuch'")
    assert asked.count("DescribeSecurityGroups") == 1
    assert f". The subnet's VPC {world.vpc_id} has none of that name: correct" in unknown.error["message"]
    rename = ["<groupName>web</groupName>", "<groupName>bosh</groupName>"]
    fake_aws.rule(action="DescribeSecurityGroups", replace=[rename])
    ambiguous = create_vm({"security_groups": ["bosh", "web"]}).error
    said, _, remedy = ambiguous["message"].partition(". ")
    assert remedy == "Give the id of one of them instead of the name"
    found = said.removeprefix("Found multiple matching security groups with name 'bosh': ")
    assert sorted(found.split(", ")) == sorted(world.groups.values())
    missing = create_vm(executable=cpi_with(default_security_groups=[]))
    refused(
        missing,
        "Missing security groups. See http://bosh.io/docs/aws-cpi.html for the list of supported properties. "
        "Set security_groups in the cloud_properties of the VM or a network, or aws.default_security_groups",
    )
