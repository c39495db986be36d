"""Interfaces and tags."""

from typing import Any


def test_source_dest_check(ec2: Any, world: Any, run: Any, refused: Any) -> None:
    """An instance's source/destination check is that of its only interface; with several it is refused."""
    one = run()["InstanceId"]
    ec2.modify_instance_attribute(InstanceId=one, SourceDestCheck={"Value": False})
    assert world.instance(one)["NetworkInterfaces"][0]["SourceDestCheck"] is False
    specs = [{"DeviceIndex": i, "SubnetId": world.subnet_id} for i in (0, 1)]
    several = run(NetworkInterfaces=specs)["InstanceId"]
    with refused("InvalidInstanceID", "multiple interfaces"):
        ec2.modify_instance_attribute(InstanceId=several, SourceDestCheck={"Value": False})


def test_source_dest_check_of_interfaces(ec2: Any, world: Any, run: Any) -> None:
    """Each interface has its own source/destination check; the first one's is the instance's."""
    made = [ec2.create_network_interface(SubnetId=world.subnet_id) for _ in (0, 1)]
    nics = [answer["NetworkInterface"]["NetworkInterfaceId"] for answer in made]
    specs = [{"DeviceIndex": index, "NetworkInterfaceId": nic} for index, nic in enumerate(nics)]
    ec2.modify_network_interface_attribute(NetworkInterfaceId=nics[0], SourceDestCheck={"Value": False})
    instance = run(NetworkInterfaces=specs)
    assert instance["SourceDestCheck"] is False
    assert {
        n["SourceDestCheck"] for n in instance["NetworkInterfaces"] if n["NetworkInterfaceId"] == nics[1]
    } == {True}
    ec2.modify_network_interface_attribute(NetworkInterfaceId=nics[0], SourceDestCheck={"Value": True})
    ec2.modify_network_interface_attribute(NetworkInterfaceId=nics[1], SourceDestCheck={"Value": False})
    assert world.instance(instance["InstanceId"])["SourceDestCheck"] is True
    found = ec2.describe_network_interfaces(NetworkInterfaceIds=nics)["NetworkInterfaces"]
    assert {n["NetworkInterfaceId"]: n["SourceDestCheck"] for n in found} == {nics[0]: True, nics[1]: False}


def test_one_attribute_at_a_time(ec2: Any, world: Any, refused: Any) -> None:
    """A call that modifies several attributes of an interface is refused."""
    nic = ec2.create_network_interface(SubnetId=world.subnet_id)["NetworkInterface"]["NetworkInterfaceId"]
    with refused("InvalidParameterCombination", "Description, SourceDestCheck"):
        ec2.modify_network_interface_attribute(
            NetworkInterfaceId=nic, SourceDestCheck={"Value": False}, Description={"Value": "x"}
        )


def test_public_addresses(ec2: Any, world: Any, run: Any) -> None:
    """Of two interfaces with AssociatePublicIpAddress only the first has one, until the instance ends."""
    made = [ec2.create_network_interface(SubnetId=world.subnet_id) for _ in (0, 1)]
    nics = [answer["NetworkInterface"]["NetworkInterfaceId"] for answer in made]
    for nic in nics:
        ec2.modify_network_interface_attribute(NetworkInterfaceId=nic, AssociatePublicIpAddress=True)
    instance = run(
        NetworkInterfaces=[{"DeviceIndex": i, "NetworkInterfaceId": nic} for i, nic in enumerate(nics)]
    )
    public = {n["NetworkInterfaceId"]: n.get("Association") for n in instance["NetworkInterfaces"]}
    assert public[nics[0]]["PublicIp"] == instance["PublicIpAddress"]
    assert public[nics[1]] is None
    ec2.terminate_instances(InstanceIds=[instance["InstanceId"]])
    found = ec2.describe_network_interfaces(NetworkInterfaceIds=nics)["NetworkInterfaces"]
    assert [n["Association"] for n in found if "Association" in n] == []


def test_public_address_of_a_running_instance(ec2: Any, run: Any, world: Any) -> None:
    """The first interface of a running instance gets a public address at once, and can lose it."""
    instance = run()
    nic, vm = instance["NetworkInterfaces"][0]["NetworkInterfaceId"], instance["InstanceId"]
    ec2.modify_network_interface_attribute(NetworkInterfaceId=nic, AssociatePublicIpAddress=True)
    assert world.instance(vm)["PublicIpAddress"]
    ec2.modify_network_interface_attribute(NetworkInterfaceId=nic, AssociatePublicIpAddress=False)
    assert "PublicIpAddress" not in world.instance(vm)
