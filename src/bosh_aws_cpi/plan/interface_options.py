"""The options of an interface beside subnet, security groups and addresses: EFA, ENA Express, time-outs."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.model import InstanceTypeFacts, NicPlan
from bosh_aws_cpi.plan.block_devices import TYPES
from bosh_aws_cpi.plan.type_options import unsupported
from bosh_aws_cpi.properties.network import (
    INTERFACE_OPTIONS,
    ConnectionTracking,
    EnaExpress,
    NetworkCloudProperties,
)
from bosh_aws_cpi.properties.types import Problem, PropertyError


def merge(group: str, members: Mapping[str, NetworkCloudProperties]) -> Json:
    """The options of the interface that networks share, as RunInstances names them.

    EC2's defaults are left out: some regions refuse to turn ENA Express off for a type without it
    (Azure/telescope pull request 593).

    Args:
        group: The networks' nic group.
        members: Their cloud properties by name.

    Raises:
        CloudError: They contradict each other.
    """
    options: Json = {}
    for name in INTERFACE_OPTIONS:
        values = {network: getattr(each, name) for network, each in members.items()}
        given = {network: value for network, value in values.items() if value is not None}
        if len({repr(value) for value in given.values()}) > 1:
            raise CloudError(
                f"Networks {', '.join(given)} of nic_group '{group}' share an interface, but have different "
                f"values of {name} in their cloud_properties: give the same value in each, or in one only"
            )
        options |= _ec2_option(name, next(iter(given.values()), None))
    return options


def _ec2_option(name: str, value: object) -> Json:
    """An option under EC2's name; empty if it is EC2's default."""
    if isinstance(value, EnaExpress):
        udp = {"EnaSrdUdpSpecification": {"EnaSrdUdpEnabled": True}} if value.udp else {}
        return {"EnaSrdSpecification": {"EnaSrdEnabled": True, **udp}} if value.enabled else {}
    if isinstance(value, ConnectionTracking):
        return {"ConnectionTrackingSpecification": value.ec2_names} if value.ec2_names else {}
    if not value or value == "interface":
        return {}
    return {"InterfaceType" if name == "interface_type" else "NetworkCardIndex": value}


def check(plans: Sequence[NicPlan]) -> None:
    """Check the network cards: the first interface is on card 0, and each card has one EFA at most.

    Sources: EC2's API model, InstanceNetworkInterfaceSpecification, NetworkCardIndex;
    hashicorp/terraform-provider-aws issue 24043.

    Raises:
        CloudError: EC2 would refuse them.
    """
    if card := plans[0].card_index:
        name = plans[0].networks[0]
        text = (
            f"network_card_index {card} of network '{name}': a VM's first interface must be on network card "
            "0. Remove network_card_index, or put another network first"
        )
        raise PropertyError(Problem(f"networks.{name}.cloud_properties.network_card_index", text))
    adapters = [plan for plan in plans if "InterfaceType" in plan.options]
    for one, other in combinations(adapters, 2):
        if one.card_index == other.card_index:
            raise CloudError(
                f"interface_type of networks '{one.networks[0]}' and '{other.networks[0]}': a network card "
                f"can have only one Elastic Fabric Adapter, and both are on card {one.card_index}. Give one "
                "of them another network_card_index, or remove its interface_type"
            )


def problems_of_type(plans: Sequence[NicPlan], of_type: InstanceTypeFacts) -> Iterator[Problem]:
    """Yield why an instance type can't have the interfaces; EC2 checks facts that are not known."""
    for name, key in (
        ("interface_type", "InterfaceType"),
        ("ena_express", "EnaSrdSpecification"),
        ("connection_tracking", "ConnectionTrackingSpecification"),
    ):
        asking = [plan.networks[0] for plan in plans if key in plan.options]
        if name in of_type.lacks and asking:
            text = unsupported(name, of_type, f" of network '{asking[0]}'").text
            yield _problem(text, f"networks.{asking[0]}.cloud_properties.{name}")
    last = max(plans, key=lambda plan: plan.card_index)
    if (card := last.card_index) >= of_type.network_cards > 0:
        text = (
            f"network_card_index {card} of network '{last.networks[0]}' requested, but the highest of "
            f"instance type '{of_type.name}' is {of_type.network_cards - 1}: use another card, or other "
            "types (including fallbacks)"
        )
        yield _problem(text, f"networks.{last.networks[0]}.cloud_properties.network_card_index")
    for plan in plans:
        card, kind = plan.card_index, plan.options.get("InterfaceType", "interface")
        taken = [each.split()[1] for each in of_type.card_interfaces if each.startswith(f"{card} ")]
        if taken and kind not in taken and "interface_type" not in of_type.lacks:
            text = (
                f"network '{plan.networks[0]}' asks for interface_type {kind} on network card {card}, which "
                f"on instance type '{of_type.name}' takes only {' or '.join(sorted(taken))}: use another "
                "network_card_index, or other types (including fallbacks)"
            )
            path = f"networks.{plan.networks[0]}.cloud_properties"
            yield _problem(text, f"{path}.interface_type", f"{path}.network_card_index")


def _problem(text: str, *keys: str) -> Problem:
    """An instance type is to blame, and its fallbacks and these properties have a part."""
    return Problem(*TYPES[:1], text, (*TYPES[1:], *keys))
