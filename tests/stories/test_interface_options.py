"""create_vm: EFA, network cards, ENA Express and connection tracking of a network's interface."""

from collections.abc import Callable
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.traffic import Traffic
from testbed.world import World
from tests.stories.story import Story

LAUNCHED_LONG_AGO = ["<launchTime>.*?</launchTime>", "<launchTime>2026-01-01T00:00:00.000Z</launchTime>"]
TWO_CARDS = {"instance_type": "c6in.32xlarge"}
EXPRESS = {"ena_express": {"enabled": True, "udp": True}}
TRACKING = {
    "connection_tracking": {
        "tcp_established_timeout": "3600",
        "udp_stream_timeout": 120,
        "udp_timeout": 60,
    }
}
SECONDS = {"TcpEstablishedTimeout": 3600, "UdpStreamTimeout": 120, "UdpTimeout": 60}
SENT_SECONDS = {f"ConnectionTrackingSpecification.{name}": str(value) for name, value in SECONDS.items()}
SENT_EXPRESS = {
    "EnaSrdSpecification.EnaSrdEnabled": "true",
    "EnaSrdSpecification.EnaSrdUdpSpecification.EnaSrdUdpEnabled": "true",
}
ORDINARY = {"DeviceIndex", "SubnetId", "SecurityGroupId.1", "AssociatePublicIpAddress", "PrivateIpAddress"}


@pytest.fixture
def with_options(story: Story) -> Callable[..., Any]:
    """Return a function that writes a network with cloud properties; without an address a dynamic one."""

    def write(ip: str | None = None, subnet: int = 0, **properties: Any) -> Any:
        plain = story.network(ip, subnet)
        return {**plain, "cloud_properties": {**plain["cloud_properties"], **properties}}

    return write


@pytest.fixture
def on_two_cards(with_options: Callable[..., Any]) -> dict[str, Any]:
    """Return three networks, of which the second is on the second card; two are for EFA."""
    return {
        "first": with_options("10.0.1.10", interface_type="efa", **TRACKING),
        "second": with_options("10.0.2.10", 1, interface_type="efa", network_card_index="1", **EXPRESS),
        "third": with_options("10.0.2.11", 1),
    }


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"interface_type": "efa"}, {"InterfaceType": "efa"}),
        (EXPRESS, SENT_EXPRESS),
        (TRACKING, SENT_SECONDS),
        (
            {"interface_type": "interface", "ena_express": {"enabled": False}, "connection_tracking": {}},
            {},
        ),
    ],
)
def test_single_network(
    story: Story, with_options: Callable[..., Any], options: dict[str, Any], expected: dict[str, str]
) -> None:
    """The launch makes the interface with the options; EC2's defaults are not sent."""
    story.create_vm(TWO_CARDS, {"one": with_options("10.0.1.10", **options)}).ok()
    sent = {
        name: value
        for name, value in story.inline().items()
        if name not in {*ORDINARY, "DeleteOnTermination"}
    }
    assert sent == expected


def test_several_networks(story: Story, on_two_cards: dict[str, Any], world: World) -> None:
    """The creation gets kind and time-outs, the launch card, the card's device index and ENA Express."""
    vm_cid = story.create_vm(TWO_CARDS, on_two_cards).ok()[0]
    first, second, third = story.parameters_of("CreateNetworkInterface")
    assert [call.get("InterfaceType") for call in (first, second, third)] == ["efa", "efa", None]
    assert SENT_SECONDS.items() <= first.items()
    (launch,) = story.parameters_of("RunInstances")
    prefix = "NetworkInterface.2."
    given = {name.removeprefix(prefix): value for name, value in launch.items() if name.startswith(prefix)}
    assert given.pop("NetworkInterfaceId").startswith("eni-")
    assert given == {"DeviceIndex": "1", "NetworkCardIndex": "1", **SENT_EXPRESS}
    assert [launch[f"NetworkInterface.{number}.NetworkCardIndex"] for number in (1, 3)] == ["0", "0"]
    nics = world.instance(vm_cid)["NetworkInterfaces"]
    shown = {
        nic["PrivateIpAddress"]: (
            nic["Attachment"]["NetworkCardIndex"],
            nic["Attachment"]["DeviceIndex"],
            nic["InterfaceType"],
            nic["Attachment"].get("EnaSrdSpecification", {}).get("EnaSrdEnabled", False),
        )
        for nic in nics
    }
    assert shown == {
        "10.0.1.10": (0, 0, "efa", False),
        "10.0.2.10": (1, 1, "efa", True),
        "10.0.2.11": (0, 1, "interface", False),
    }
    (found,) = (
        nic
        for nic in world.ec2.describe_network_interfaces()["NetworkInterfaces"]
        if nic["PrivateIpAddress"] == "10.0.1.10"
    )
    assert found["ConnectionTrackingConfiguration"] == SECONDS


def test_shared_interface(story: Story, with_options: Callable[..., Any]) -> None:
    """Networks that share an interface may give an option once or several times, but not differently."""
    names = ("a", "b")
    same = {
        "a": {**with_options("10.0.1.10", **TRACKING), "nic_group": "g"},
        "b": {
            **with_options("10.0.1.32", interface_type="efa", **TRACKING),
            "nic_group": "g",
            "prefix": "28",
        },
        "c": story.network("10.0.2.10", 1),
    }
    story.create_vm(TWO_CARDS, same).ok()
    first, second = story.parameters_of("CreateNetworkInterface")
    assert ({"InterfaceType": "efa"} | SENT_SECONDS).items() <= first.items()
    assert "InterfaceType" not in second
    same["a"]["cloud_properties"]["interface_type"] = "interface"
    assert story.create_vm(TWO_CARDS, same, agent_id="agent-2").error["message"] == (
        f"Networks {', '.join(names)} of nic_group 'g' share an interface, but have different values of "
        "interface_type in their cloud_properties: give the same value in each, or in one only"
    )


def test_same_again(story: Story, on_two_cards: dict[str, Any], world: World, fake_aws: FakeAws) -> None:
    """The same call again finds the interfaces on two cards, and the VM, which EC2 launched long ago."""
    vm_cid = story.create_vm(TWO_CARDS, on_two_cards).ok()[0]
    state = world.state()
    fake_aws.rule(action="RunInstances", times=None, states=["replayed"], replace=[LAUNCHED_LONG_AGO])
    assert story.create_vm(TWO_CARDS, on_two_cards).ok()[0] == vm_cid
    assert world.state() == state


def test_elastic_ip_behind_another_card(
    story: Story, on_two_cards: dict[str, Any], traffic: Traffic, world: World
) -> None:
    """A vip network finds the interface of its nic group, whichever card that is on."""
    vip = {"type": "vip", "ip": traffic.public_ip, "nic_group": "third"}
    vm_cid = story.create_vm(TWO_CARDS, {**on_two_cards, "vip": vip}).ok()[0]
    nics = world.instance(vm_cid)["NetworkInterfaces"]
    held = [nic["PrivateIpAddress"] for nic in nics if "Association" in nic]
    assert held == [on_two_cards["third"]["ip"]]


def test_card_of_one_interface(
    story: Story, with_options: Callable[..., Any], traffic: Traffic, world: World
) -> None:
    """On a card that takes one interface, that has device index 0; an elastic IP finds it."""
    networks = {
        "first": with_options("10.0.1.10"),
        "second": with_options("10.0.2.10", 1, network_card_index=1),
        "vip": {"type": "vip", "ip": traffic.public_ip, "nic_group": "second"},
    }
    vm_cid = story.create_vm({"instance_type": "hpc6id.32xlarge"}, networks).ok()[0]
    nics = world.instance(vm_cid)["NetworkInterfaces"]
    positions = {
        nic["PrivateIpAddress"]: (nic["Attachment"]["NetworkCardIndex"], nic["Attachment"]["DeviceIndex"])
        for nic in nics
    }
    assert positions == {"10.0.1.10": (0, 0), "10.0.2.10": (1, 0)}
    assert [nic["PrivateIpAddress"] for nic in nics if "Association" in nic] == ["10.0.2.10"]


def test_card_without_efa(story: Story, with_options: Callable[..., Any]) -> None:
    """An EFA is refused on a network card that takes none."""
    answer = story.create_vm(
        {"instance_type": "p6-b300.48xlarge"}, {"one": with_options("10.0.1.10", interface_type="efa")}
    )
    story.check_refusal(
        answer, "interface_type efa on network card 0", "'p6-b300.48xlarge'", "network_card_index"
    )


def test_option_of_a_vip_network(story: Story) -> None:
    """A vip network has no interface that could have options."""
    vip = {"type": "vip", "ip": "52.1.2.3", "cloud_properties": TRACKING}
    message = (
        "networks.vip.cloud_properties.connection_tracking is for networks with an interface: remove it from "
        "this vip network"
    )
    assert (
        story.check_refusal(
            story.create_vm(TWO_CARDS, {"one": story.network("10.0.1.10"), "vip": vip}), message
        )
        == []
    )


def test_option_among_those_of_the_vm(story: Story) -> None:
    """An option of a network is no property of a VM: it is ignored there, whatever the type supports."""
    answer = story.create_vm({"instance_type": "t2.medium", **TRACKING})
    answer.ok()
    unknown = "Unknown properties are ignored: cloud_properties.connection_tracking"
    assert story.warnings(answer) == [unknown]


def test_types_of_the_built_in_table(story: Story, with_options: Callable[..., Any], world: World) -> None:
    """The built-in table does not know what types can have: then EC2 refuses, and nothing is left."""
    cpi = story.cpi_with(enable_describe_instance_types=False)
    one = {"one": with_options("10.0.1.10", **TRACKING)}
    error = story.create_vm({"instance_type": "t2.medium"}, one, executable=cpi).error
    assert "t2.medium does not support configurable connection tracking" in error["message"]
    assert world.state() == world.empty
