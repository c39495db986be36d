"""Names with characters that are wildcards in EC2's filters: they stand for themselves."""

from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi
from testbed.world import World
from tests.stories.story import Story

SPENT = {"code": "IdempotentParameterMismatch", "message": "Other arguments."}
NOBLE = {"name": "bosh-noble", "version": "1.2", "encrypted": True}


@pytest.mark.parametrize("name", ["agent-?", "a\\?[*]"])
def test_interfaces(story: Story, cpi: Cpi, world: World, fake_aws: FakeAws, name: str) -> None:
    """create_vm finds its own interface whose creation was not answered, and deletes no others."""
    tags = [{"Key": "bosh_director_uuid", "Value": "uuid-1"}, {"Key": "bosh_agent_id", "Value": "agent-1"}]
    specifications: Any = [{"ResourceType": "network-interface", "Tags": tags}]
    created = world.ec2.create_network_interface(
        SubnetId=world.subnet_id, TagSpecifications=specifications, PrivateIpAddress="10.0.1.99"
    )["NetworkInterface"]["NetworkInterfaceId"]
    fake_aws.rule(action="CreateNetworkInterface", nth=1, error=SPENT)
    fake_aws.rule(action="CreateNetworkInterface", nth=2, drop="after")
    fake_aws.rule(action="CreateNetworkInterface", nth=3, error=SPENT)
    networks = {"first": story.network("10.0.1.10"), "second": story.network("10.0.2.10", 1)}
    context = {"director_uuid": name.replace("agent", "uuid")}
    given = story.vm_arguments(networks=networks, agent_id=name)
    vm_cid = cpi.call("create_vm", *given, stemcell=2, context=context).ok()[0]
    own = [nic["NetworkInterfaceId"] for nic in world.instance(vm_cid)["NetworkInterfaces"]]
    assert world.state()["interfaces"] == sorted([created, *own])
    assert len(own) == 2


def test_stemcells(cpi: Cpi, world: World) -> None:
    """create_stemcell uses no copy of another Director."""
    properties = {"ami": {"us-east-1": world.image_id}, **NOBLE}
    context = [{"director_uuid": director} for director in ("uuid-1", "uuid-?", "uuid-\\?", "uuid-?")]
    first, *others = (
        cpi.call("create_stemcell", "/x/image", properties, {}, api_version=3, context=each).ok()
        for each in context
    )
    assert len({first, *others}) == 3
    assert others[0] == others[2]


@pytest.mark.usefixtures("world")
def test_networks(story: Story, cpi: Cpi, fake_aws: FakeAws) -> None:
    """delete_network does not wait for a subnet that has another id."""
    fake_aws.refuse("DeleteSubnet", "InvalidSubnetID.NotFound", "None.")
    expected = story.failure("NetworkNotFound", "Network 'subnet-*' not found")
    assert cpi.call("delete_network", "subnet-*").error == expected
    assert fake_aws.actions().count("DeleteSubnet") == 1
