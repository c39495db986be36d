"""Private addresses are unique in a subnet, and free again after their interface is deleted."""

from typing import Any

import pytest


def interface(ec2: Any, world: Any, address: str, **more: Any) -> str:
    """Create an interface with an address."""
    answer = ec2.create_network_interface(SubnetId=world.subnet_id, PrivateIpAddress=address, **more)
    eni_id: str = answer["NetworkInterface"]["NetworkInterfaceId"]
    return eni_id


def test_chosen_by_ec2(ec2: Any, world: Any, run: Any) -> None:
    """Interfaces and instances whose requests name no address get free ones."""
    interface(ec2, world, "10.0.1.4")
    chosen = [
        ec2.create_network_interface(SubnetId=world.subnet_id)["NetworkInterface"]["PrivateIpAddress"]
        for _ in range(2)
    ]
    assert chosen == ["10.0.1.5", "10.0.1.6"]
    assert run()["PrivateIpAddress"] == "10.0.1.7"


def test_free_addresses(ec2: Any, world: Any, run: Any) -> None:
    """DescribeSubnets counts the addresses that neither AWS nor an instance or interface has."""
    made = ec2.create_subnet(VpcId=world.vpc_id, CidrBlock="10.0.9.0/28", AvailabilityZone=world.zone)
    subnet_id = made["Subnet"]["SubnetId"]

    def free() -> int:
        answer = ec2.describe_subnets(SubnetIds=[subnet_id])
        return int(answer["Subnets"][0]["AvailableIpAddressCount"])

    assert free() == 11
    run(SubnetId=subnet_id)
    eni = ec2.create_network_interface(SubnetId=subnet_id)["NetworkInterface"]["NetworkInterfaceId"]
    assert free() == 9
    ec2.assign_private_ip_addresses(NetworkInterfaceId=eni, SecondaryPrivateIpAddressCount=9)
    assert free() == 0


def delegate(ec2: Any, eni_id: str, version: int, prefix: str) -> None:
    """Delegate a prefix to an interface."""
    if version == 4:
        ec2.assign_private_ip_addresses(NetworkInterfaceId=eni_id, Ipv4Prefixes=[prefix])
    else:
        ec2.assign_ipv6_addresses(NetworkInterfaceId=eni_id, Ipv6Prefixes=[prefix])


def test_prefixes(ec2: Any, world: Any) -> None:
    """Delegated prefixes are shown on the interface, once each; no address in them is given out."""
    eni = interface(ec2, world, "10.0.1.15")
    for _ in range(2):
        delegate(ec2, eni, 4, "10.0.1.16/28")
        delegate(ec2, eni, 6, "2600::/80")
    found = ec2.describe_network_interfaces(NetworkInterfaceIds=[eni])["NetworkInterfaces"][0]
    assert found["Ipv4Prefixes"] == [{"Ipv4Prefix": "10.0.1.16/28"}]
    assert found["Ipv6Prefixes"] == [{"Ipv6Prefix": "2600::/80"}]
    for last in range(4, 15):
        interface(ec2, world, f"10.0.1.{last}")
    chosen = ec2.create_network_interface(SubnetId=world.subnet_id)["NetworkInterface"]["PrivateIpAddress"]
    assert chosen == "10.0.1.32"


@pytest.mark.parametrize(
    ("version", "prefix", "code"),
    [
        (4, "10.0.1.16/28", "InvalidIPAddress.InUse"),
        (4, "10.0.1.0/28", "InvalidIPAddress.InUse"),
        (6, "2600::/80", "InvalidIPAddress.InUse"),
        (6, "2600:0:0:0:1::/80", "InvalidIPAddress.InUse"),
        (4, "10.0.1.64/27", "InvalidParameterValue"),
        (4, "10.0.9.0/28", "InvalidParameterValue"),
        (6, "2600::/64", "InvalidParameterValue"),
    ],
)
def test_taken_prefix(
    ec2: Any, world: Any, run: Any, refused: Any, version: int, prefix: str, code: str
) -> None:
    """Every call refuses a prefix that is delegated, contains a taken address, or can't be delegated."""
    first = interface(ec2, world, "10.0.1.5", Ipv6Addresses=[{"Ipv6Address": "2600:0:0:0:1::5"}])
    delegate(ec2, first, 4, "10.0.1.16/28")
    delegate(ec2, first, 6, "2600::/80")
    second = interface(ec2, world, "10.0.1.50")
    with refused(code):
        delegate(ec2, second, version, prefix)
    entry = {f"Ipv{version}Prefixes": [{f"Ipv{version}Prefix": prefix}]}
    with refused(code):
        run(NetworkInterfaces=[{"DeviceIndex": 0, "SubnetId": world.subnet_id, **entry}])


def test_taken_addresses_are_not_assigned(ec2: Any, world: Any, refused: Any) -> None:
    """An address of one interface is not assigned to another; to the same one it can be assigned again."""
    first, second = interface(ec2, world, "10.0.1.5"), interface(ec2, world, "10.0.1.6")
    for _ in range(2):
        ec2.assign_ipv6_addresses(NetworkInterfaceId=first, Ipv6Addresses=["2600::5"])
        ec2.assign_private_ip_addresses(NetworkInterfaceId=first, PrivateIpAddresses=["10.0.1.7"])
    with refused("InvalidIPAddress.InUse", "2600::5"):
        ec2.assign_ipv6_addresses(NetworkInterfaceId=second, Ipv6Addresses=["2600::5"])
    with refused("InvalidIPAddress.InUse", "10.0.1.7"):
        ec2.assign_private_ip_addresses(NetworkInterfaceId=second, PrivateIpAddresses=["10.0.1.7"])


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("addresses.private-ip-address", ["10.0.1.5"]),
        ("addresses.private-ip-address", ["10.0.1.7", "10.0.1.99"]),
        ("ipv6-addresses.ipv6-address", ["2600::5", "2600::99"]),
        ("tag:held", ["yes"]),
    ],
)
def test_found_by(ec2: Any, world: Any, name: str, values: list[str]) -> None:
    """An interface is found by any of its addresses, and by its tags, in its subnet."""
    tags = [{"ResourceType": "network-interface", "Tags": [{"Key": "held", "Value": "yes"}]}]
    eni = interface(ec2, world, "10.0.1.5", TagSpecifications=tags)
    interface(ec2, world, "10.0.1.6")
    ec2.assign_private_ip_addresses(NetworkInterfaceId=eni, PrivateIpAddresses=["10.0.1.7"])
    ec2.assign_ipv6_addresses(NetworkInterfaceId=eni, Ipv6Addresses=["2600::5", "2600::6"])
    for subnet, expected in ((world.subnet_ids[0], [eni]), (world.subnet_ids[1], [])):
        filters = [{"Name": name, "Values": values}, {"Name": "subnet-id", "Values": [subnet]}]
        found = ec2.describe_network_interfaces(Filters=filters)["NetworkInterfaces"]
        assert [nic["NetworkInterfaceId"] for nic in found] == expected
