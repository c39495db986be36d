"""Interfaces: their kind, their network card, ENA Express, and the time-outs of connection tracking."""

from typing import Any

from moto.ec2.models.elastic_network_interfaces import Attachment
from moto.ec2.models.instance_types import INSTANCE_TYPES
from moto.ec2.models.instances import InstanceBackend
from moto.ec2.responses.elastic_network_interfaces import ElasticNetworkInterfaces

from testbed.moto_patches.patching import Original, Patches, parameter, refuse

PATCHES = Patches()

APART = 1000
"""moto numbers an instance's interfaces by device index only: here by card times this plus device index."""
TIMEOUTS = {
    "TcpEstablishedTimeout": (60, 432_000),
    "UdpStreamTimeout": (60, 180),
    "UdpTimeout": (30, 60),
}
"""Seconds, the least and the most (EC2's API model, ConnectionTrackingSpecificationRequest)."""
COMBINATION = "InvalidParameterCombination"


@PATCHES.around(Attachment, "__init__")
def shown_card(original: Original, attachment: Any, interface: Any) -> None:
    """EC2 shows the card of an attachment, and whether ENA Express is on; moto always showed card 0."""
    original(attachment, interface)
    attachment.network_card_index, attachment.device_index = divmod(interface.device_index, APART)
    attachment.ena_srd_specification = getattr(interface, "testbed_ena_express", None)


@PATCHES.around(ElasticNetworkInterfaces, "create_network_interface")
def created_as_described(original: Original, response: Any) -> Any:
    """EC2 creates an interface of the wanted kind, with the wanted time-outs; moto ignored both."""
    names = ("InterfaceType", "ConnectionTrackingSpecification")
    wanted = {name: parameter(response, name) for name in names}
    check_timeouts(wanted)
    result = original(response)
    describe(result.result["NetworkInterface"], wanted)
    return result


@PATCHES.around(InstanceBackend, "run_instances")
def launched_on_cards(original: Original, backend: Any, *positional: Any, **keywords: Any) -> Any:
    """EC2 attaches an interface to the wanted card, whose device indexes are its own; moto knew no cards."""
    specs = keywords.get("nics") or []
    check_specs(backend, keywords["instance_type"], specs)
    for spec in specs:
        spec["DeviceIndex"] = int(spec["DeviceIndex"]) + APART * card_of(spec)
    reservation = original(backend, *positional, **keywords)
    for instance in reservation.instances:
        for spec in specs:
            interface = instance.nics[spec["DeviceIndex"]]
            interface.testbed_ena_express = spec.get("EnaSrdSpecification")
            if "NetworkInterfaceId" not in spec:
                describe(interface, spec)
    return reservation


def card_of(spec: dict[str, Any]) -> int:
    """Read the network card of an interface of a launch."""
    return int(spec.get("NetworkCardIndex", 0))


def describe(interface: Any, wanted: dict[str, Any]) -> None:
    """Give a new interface what EC2 shows of it."""
    interface.interface_type = wanted.get("InterfaceType") or "interface"
    interface.connection_tracking_configuration = wanted.get("ConnectionTrackingSpecification")


def check_timeouts(spec: dict[str, Any]) -> None:
    """Refuse time-outs out of EC2's range; the code and the words are a guess."""
    for name, value in (spec.get("ConnectionTrackingSpecification") or {}).items():
        least, most = TIMEOUTS[name]
        if not least <= int(value) <= most:
            refuse("InvalidParameterValue", f"{name} must be between {least} and {most}")


def check_specs(backend: Any, type_name: str, specs: list[dict[str, Any]]) -> None:
    """Refuse interfaces that the instance type can't have.

    The limit of a card, and the words: eksctl-io/eksctl issue 7520, which shows no code. That the type does
    not support EFA: devopsacademyau/academy pull request 277, of an attachment. The time-outs on Xen:
    aws/karpenter-provider-aws pull request 9152. The other codes, and the words about ENA Express, are a
    guess.
    """
    described: dict[str, Any] = INSTANCE_TYPES.get(type_name, {})
    network: dict[str, Any] = described.get("NetworkInfo", {})
    cards = {each["NetworkCardIndex"]: each for each in network.get("NetworkCards", [])}
    for spec in specs:
        check_timeouts(spec)
        if spec.get("ConnectionTrackingSpecification") and described.get("Hypervisor") == "xen":
            refuse(
                "InvalidParameterValue",
                f"The instance type {type_name} does not support configurable connection tracking",
            )
        card, device = card_of(spec), int(spec["DeviceIndex"])
        most = cards.get(card, {}).get("MaximumNetworkInterfaces", 0)
        if card and device >= most:
            refuse(
                "InvalidParameterValue",
                f"The specified number '{device}' for the device index exceeds the maximum number of network "
                f"interfaces supported by the network card at network card index {card}. The maximum devices "
                f"for this network card is {most}. Specify a number from 0 to {most - 1}, and try again.",
            )
        if kind_of(backend, spec) == "efa" and network.get("EfaSupported") is False:
            refuse(COMBINATION, f"{type_name} instances do not support Elastic Fabric Adapters.")
        if spec.get("EnaSrdSpecification") and network.get("EnaSrdSupported") is False:
            refuse(COMBINATION, f"{type_name} instances do not support ENA Express.")


def kind_of(backend: Any, spec: dict[str, Any]) -> str:
    """Read the kind of an interface of a launch, new or existing."""
    if "NetworkInterfaceId" in spec:
        spec = {"InterfaceType": backend.get_network_interface(spec["NetworkInterfaceId"]).interface_type}
    return str(spec.get("InterfaceType", "interface"))
