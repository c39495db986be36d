"""create_vm: from networks to network interfaces."""

from collections.abc import Callable

import pytest

from testbed.cloud import FakeAws
from testbed.world import World
from tests.protocols import (
    CheckRefused,
    CreateVm,
    ReadCalls,
    ReadSettings,
    ReadTags,
    WriteError,
    WriteNetwork,
)

SUBNETS_DIFFER = (
    "Networks in nic_group '{}' have different subnet ids: {} or probably none of them have any "
    "subnet id defined. All networks in a nic_group must have the same subnet_id"
)
ZONES_DIFFER = (
    "All nic groups must be in the same availability zone. Found subnets in zones: us-east-1a, us-east-1b"
)


@pytest.mark.usefixtures("ipv6")
@pytest.mark.parametrize(
    ("ip", "prefix", "address"),
    [
        ("10.0.1.10", "32", {"PrivateIpAddress": "10.0.1.10"}),
        ("2001:db8::10", 128, {"Ipv6Addresses.1.Ipv6Address": "2001:db8::10"}),
        (None, None, {}),
    ],
    ids=["ipv4", "ipv6", "dynamic"],
)
def test_single_network(
    create_vm: CreateVm,
    network: WriteNetwork,
    inline: Callable[[], dict[str, str]],
    world: World,
    ip: str | None,
    prefix: object,
    address: dict[str, str],
) -> None:
    """The launch makes the one interface, never public; the agent needs no MAC address."""
    given = network(ip, prefix=prefix)
    vm_cid, networks = create_vm(networks={"one": given}).ok()
    assert networks == {"one": given}
    assert inline() == {
        "DeviceIndex": "0",
        "SubnetId": world.subnet_id,
        "SecurityGroupId.1": world.groups["bosh"],
        "AssociatePublicIpAddress": "false",
        "DeleteOnTermination": "true",
        **address,
    }
    (interface,) = world.instance(vm_cid)["NetworkInterfaces"]
    assert interface["PrivateIpAddress"] == address.get("PrivateIpAddress", interface["PrivateIpAddress"])
    assert [held["Ipv6Address"] for held in interface["Ipv6Addresses"]] == ([ip] if prefix == 128 else [])


@pytest.mark.usefixtures("ipv6")
def test_primary_ipv6(
    create_vm: CreateVm, network: WriteNetwork, inline: Callable[[], dict[str, str]], sent: ReadCalls
) -> None:
    """With `primary_ipv6`, the IPv6 address of each interface is its primary one."""
    create_vm({"primary_ipv6": True}, {"one": network("2001:db8::10")}).ok()
    assert inline()["PrimaryIpv6"] == "true"
    networks = {"one": network("10.0.2.10", 1), "six": network("2001:db8::11")}
    create_vm({"primary_ipv6": True}, networks, agent_id="agent-2").ok()
    calls = sent("CreateNetworkInterface")
    assert [call.get("EnablePrimaryIpv6") for call in calls] == [None, "true"]


@pytest.mark.usefixtures("ipv6")
def test_several_interfaces(
    create_vm: CreateVm,
    network: WriteNetwork,
    sent: ReadCalls,
    settings: ReadSettings,
    tags_of: ReadTags,
    origin: dict[str, str],
    world: World,
) -> None:
    """Groups in order, then the first dynamic network; made first, tagged, ended with the VM.

    A network that is ignored still brings its security groups.
    """
    networks = {
        "late": network(None, 1),
        "a": network("10.0.1.10", nic_group=1),
        "ignored": network(None, 0, ["web"]),
        "b": network("10.0.2.10", 1),
        "a6": network("2001:db8::10", nic_group="1"),
    }
    vm_cid = create_vm({"instance_type": "m5.large", "tags": {"owner": "me"}}, networks).ok()[0]
    made = [
        {
            key: value
            for key, value in call.items()
            if key in {"SubnetId", "SecurityGroupId.1"} or "ress" in key
        }
        for call in sent("CreateNetworkInterface")
    ]
    common = {"SecurityGroupId.1": world.groups["web"]}
    first, second, _ = world.subnet_ids
    assert made == [
        {
            **common,
            "SubnetId": first,
            "PrivateIpAddress": "10.0.1.10",
            "Ipv6Addresses.1.Ipv6Address": "2001:db8::10",
        },
        {**common, "SubnetId": second, "PrivateIpAddress": "10.0.2.10"},
        {**common, "SubnetId": second},
    ]
    found = sorted(
        world.instance(vm_cid)["NetworkInterfaces"], key=lambda nic: nic["Attachment"]["DeviceIndex"]
    )
    assert [nic["SubnetId"] for nic in found] == [first, second, second]
    assert [nic["Attachment"]["DeleteOnTermination"] for nic in found] == [True, True, True]
    tagged = [tags_of(nic["NetworkInterfaceId"]) for nic in found]
    assert tagged == [{"owner": "me", **origin}] * 3
    macs = [nic["MacAddress"] for nic in found]
    kept = {name: given.get("mac") for name, given in settings(vm_cid)["networks"].items()}
    assert kept == {"late": None, "a": macs[0], "ignored": None, "b": macs[1], "a6": macs[0]}


@pytest.mark.usefixtures("ipv6")
def test_networks_that_share_an_interface(
    create_vm: CreateVm, network: WriteNetwork, settings: ReadSettings, world: World
) -> None:
    """More than one network needs a MAC address each, also when they share the only interface."""
    networks = {"a": network("10.0.1.10", nic_group="g"), "a6": network("2001:db8::10", nic_group="g")}
    vm_cid = create_vm(networks=networks).ok()[0]
    (interface,) = world.instance(vm_cid)["NetworkInterfaces"]
    assert interface["PrivateIpAddress"] == "10.0.1.10"
    assert [held["Ipv6Address"] for held in interface["Ipv6Addresses"]] == ["2001:db8::10"]
    assert interface["Attachment"]["DeleteOnTermination"] is True
    macs = [given.get("mac") for given in settings(vm_cid)["networks"].values()]
    assert macs == [interface["MacAddress"]] * 2


def test_networks_that_make_no_vm(
    create_vm: CreateVm, network: WriteNetwork, refused: CheckRefused, world: World
) -> None:
    """A group in two subnets, and a VM in two zones, are named before anything is made."""
    first, second, third = world.subnet_ids
    group = {"a": network("10.0.1.10", nic_group="g"), "b": network("10.0.2.10", 1, nic_group="g")}
    answer = create_vm(networks=group)
    assert "DescribeSubnets" not in refused(answer, SUBNETS_DIFFER.format("g", f"{first}, {second}"))
    assert f"'b' has {second}" in answer.error["message"]
    answer = create_vm(networks={"a": network("10.0.1.10"), "b": network("10.0.3.10", 2)})
    refused(answer, ZONES_DIFFER)
    assert f"'{third}' is in us-east-1b" in answer.error["message"]


def test_networks_that_are_none(
    create_vm: CreateVm, network: WriteNetwork, failure: WriteError, fake_aws: FakeAws
) -> None:
    """No network, and one of an unknown type, are refused without asking AWS."""
    none = create_vm(networks={}).error
    assert (none["type"], none["ok_to_retry"]) == ("Bosh::Clouds::CloudError", False)
    assert "network" in none["message"]
    odd = create_vm(networks={"a": {**network("10.0.1.10"), "type": "static"}})
    assert odd.error == failure(
        "CloudError",
        "Invalid network type 'static' for AWS, can only handle 'dynamic', 'vip', or 'manual' network types",
    )
    assert fake_aws.actions() == []
