"""Private addresses are unique in a subnet, and free again in time."""

from typing import Any

import pytest


def interface(ec2: Any, world: Any, address: str, **more: Any) -> str:
    """Make an interface with an address."""
    answer = ec2.create_network_interface(SubnetId=world.subnet_id, PrivateIpAddress=address, **more)
    eni_id: str = answer["NetworkInterface"]["NetworkInterfaceId"]
    return eni_id


def test_taken_by_an_interface(ec2: Any, world: Any, refused: Any) -> None:
    """A second interface does not get the address of the first."""
    interface(ec2, world, "10.0.1.5")
    with refused("InvalidIPAddress.InUse", "Address 10.0.1.5 is in use."):
        interface(ec2, world, "10.0.1.5")


def test_free_after_deletion(ec2: Any, world: Any) -> None:
    """The address of a deleted interface can be taken."""
    first = interface(ec2, world, "10.0.1.5")
    ec2.delete_network_interface(NetworkInterfaceId=first)
    assert interface(ec2, world, "10.0.1.5") != first


def test_taken_by_an_instance(ec2: Any, world: Any, run: Any, refused: Any) -> None:
    """A launch does not get an address that an instance holds, and leaves nothing."""
    run(PrivateIpAddress="10.0.1.5")
    before = world.state()
    with refused("InvalidIPAddress.InUse", "10.0.1.5"):
        run(PrivateIpAddress="10.0.1.5")
    with refused("InvalidIPAddress.InUse", "10.0.1.5"):
        run(
            NetworkInterfaces=[
                {"DeviceIndex": 0, "SubnetId": world.subnet_id, "PrivateIpAddress": "10.0.1.5"}
            ]
        )
    with refused("InvalidIPAddress.InUse", "10.0.1.5"):
        interface(ec2, world, "10.0.1.5")
    assert world.state() == before


def test_free_after_termination(ec2: Any, world: Any, run: Any) -> None:
    """The address of a terminated instance can be taken."""
    first = run(PrivateIpAddress="10.0.1.5")
    ec2.terminate_instances(InstanceIds=[first["InstanceId"]])
    assert run(PrivateIpAddress="10.0.1.5")["PrivateIpAddress"] == "10.0.1.5"
    assert "PrivateIpAddress" not in world.instance(first["InstanceId"])


@pytest.mark.parametrize(
    ("address", "message"), [("10.0.9.9", "address range"), ("10.0.1.1", "reserved address range")]
)
def test_unusable(ec2: Any, world: Any, refused: Any, address: str, message: str) -> None:
    """Addresses outside of the subnet, and its first ones, are refused."""
    with refused("InvalidParameterValue", message):
        interface(ec2, world, address)


def test_chosen_by_ec2(ec2: Any, world: Any, run: Any) -> None:
    """Interfaces and instances that name no address get free ones."""
    interface(ec2, world, "10.0.1.4")
    chosen = [
        ec2.create_network_interface(SubnetId=world.subnet_id)["NetworkInterface"]["PrivateIpAddress"]
        for _ in range(2)
    ]
    assert chosen == ["10.0.1.5", "10.0.1.6"]
    assert run()["PrivateIpAddress"] == "10.0.1.7"
