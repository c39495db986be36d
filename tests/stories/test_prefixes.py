"""create_vm: prefixes that are delegated to an interface, and addresses that are asked for twice."""

from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.world import World
from tests.protocols import CheckRefused, CreateVm, ReadSettings, WriteNetwork

NO_ADDRESS = (
    "Could not find a single ip address for nic group '{}' "
    "and a prefix network can only be a secondary network"
)
WRONG = (
    "networks.odd.prefix: EC2 delegates /28 of IPv4 and /80 of IPv6 addresses, not '{}'. "
    "For a single address leave the prefix out, or give /{}"
)
OVERLAP = "Addresses of nic group {} overlap: {} and {}"


@pytest.mark.usefixtures("ipv6")
def test_prefixes(
    create_vm: CreateVm,
    network: WriteNetwork,
    settings: ReadSettings,
    world: World,
) -> None:
    """A group's first prefix of each kind is delegated to its interface; the agent finds it by its MAC."""
    networks = {
        "range": network("10.0.1.16", nic_group="g", prefix="28"),
        "one": network("10.0.1.10", nic_group="g", prefix=32),
        "more": network("10.0.1.32", nic_group="g", prefix=28),
        "range6": network("2001:db8:0:0:2::", nic_group="g", prefix=80),
        "one6": network("2001:db8::10", nic_group="g", prefix="128"),
        "other": network("10.0.2.10", 1),
    }
    vm_cid, answered = create_vm(networks=networks).ok()
    assert answered == networks
    first, second = sorted(
        world.instance(vm_cid)["NetworkInterfaces"], key=lambda nic: nic["Attachment"]["DeviceIndex"]
    )
    ids = [nic["NetworkInterfaceId"] for nic in (first, second)]
    described = world.ec2.describe_network_interfaces(NetworkInterfaceIds=ids)["NetworkInterfaces"]
    by_id = {nic["NetworkInterfaceId"]: nic for nic in described}
    assert by_id[ids[0]]["Ipv4Prefixes"] == [{"Ipv4Prefix": "10.0.1.16/28"}]
    assert by_id[ids[0]]["Ipv6Prefixes"] == [{"Ipv6Prefix": "2001:db8:0:0:2::/80"}]
    assert by_id[ids[0]]["PrivateIpAddress"] == "10.0.1.10"
    assert by_id[ids[0]]["Ipv6Addresses"] == [{"Ipv6Address": "2001:db8::10"}]
    assert [by_id[ids[1]].get(name, []) for name in ("Ipv4Prefixes", "Ipv6Prefixes")] == [[], []]
    macs = {name: given["mac"] for name, given in settings(vm_cid)["networks"].items()}
    of_group = dict.fromkeys(("range", "one", "more", "range6", "one6"), first["MacAddress"])
    assert macs == {**of_group, "other": second["MacAddress"]}


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        ({"ip": "10.0.1.16", "prefix": 29}, WRONG.format("10.0.1.16/29", 32)),
        ({"ip": "2001:db8::", "prefix": "64"}, WRONG.format("2001:db8::/64", 128)),
        (
            {"ip": "10.0.1.17", "prefix": "28"},
            "networks.odd: ip and prefix are not a valid range: 10.0.1.17/28 has host bits set",
        ),
        ({"ip": "10.0.1.16", "prefix": "28"}, NO_ADDRESS.format("odd")),
        ({"ip": "10.0.1.10"}, OVERLAP.format("'one' and 'odd'", "10.0.1.10", "10.0.1.10")),
        ({"ip": "2001:db8:0::10"}, OVERLAP.format("'one' and 'odd'", "2001:db8::10", "2001:db8::10")),
        (
            {"ip": "10.0.1.0", "prefix": 28, "nic_group": "one"},
            OVERLAP.format("'one'", "10.0.1.10", "10.0.1.0/28"),
        ),
    ],
    ids=["ipv4", "ipv6", "within", "alone", "twice", "twice-ipv6", "overlap"],
)
def test_addresses_that_make_no_vm(
    create_vm: CreateVm,
    network: WriteNetwork,
    refused: CheckRefused,
    odd: dict[str, Any],
    message: str,
) -> None:
    """A prefix that EC2 does not delegate, one alone, and an address in two groups need no call to refuse."""
    networks = {
        "one": network("10.0.1.10"),
        "one6": network("2001:db8::10", nic_group="one"),
        "odd": {**network(None), "type": "manual", **odd},
    }
    assert refused(create_vm(networks=networks), message) == []


@pytest.mark.usefixtures("hasty")
def test_prefix_that_is_taken(
    create_vm: CreateVm,
    network: WriteNetwork,
    fake_aws: FakeAws,
    world: World,
) -> None:
    """A prefix with an address of another interface in it ends the call, which leaves nothing."""
    made = world.ec2.create_network_interface(SubnetId=world.subnet_id, PrivateIpAddress="10.0.1.20")
    holder = made["NetworkInterface"]["NetworkInterfaceId"]
    networks = {
        "one": network("10.0.1.10", nic_group="g"),
        "range": network("10.0.1.16", nic_group="g", prefix=28),
    }
    error = create_vm(networks=networks).error
    assert error["message"].startswith("Failed to create network interface for nic_group 'g': ")
    assert "10.0.1.16/28 is held by" in error["message"]
    assert holder in error["message"]
    assert "RunInstances" not in fake_aws.actions()
    assert world.state() == {**world.empty, "interfaces": [holder]}
