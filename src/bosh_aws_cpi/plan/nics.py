"""Plans a VM's network interfaces for its networks."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_network
from itertools import combinations

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.model import ID_DIGITS, NicPlan, Vip
from bosh_aws_cpi.plan import interface_options
from bosh_aws_cpi.properties.network import Network
from bosh_aws_cpi.properties.types import Problem, PropertyError
from bosh_aws_cpi.properties.vm import HELP

_OF_ATTACHMENTS = ("NetworkCardIndex", "EnaSrdSpecification")
"""The options that CreateNetworkInterface does not know, only RunInstances (EC2's API model)."""


def nic_plans(networks: Mapping[str, Network]) -> list[NicPlan]:
    """The interfaces for the networks, in the order in which RunInstances gets them.

    Manual networks with the same ``nic_group`` share an interface, in the order in which the groups
    appear. After these comes an interface for the first dynamic network. Other dynamic networks and vip
    networks get none.

    Raises:
        CloudError: No network needs an interface, or a group's networks name no subnet or several, or
            a manual group has no single address, or a network beside others has fallback subnets, or the
            options of the interfaces contradict each other.
    """
    groups: dict[str, list[str]] = {}
    for name, network in networks.items():
        if network.kind == "manual":
            group = name if network.nic_group is None else network.nic_group
            groups.setdefault(group, []).append(name)
    plans = [_manual(group, names, networks) for group, names in groups.items()]
    dynamic = next((name for name, network in networks.items() if network.kind == "dynamic"), None)
    if dynamic is not None:
        plans.append(_dynamic(dynamic, networks[dynamic]))
    if not plans:
        raise CloudError("No network needs a network interface: a VM needs a manual or a dynamic network")
    _check_addresses(plans)
    _check_fallbacks(networks)
    interface_options.check(plans)
    return plans


def vip_plan(networks: Mapping[str, Network], plans: Sequence[NicPlan]) -> Vip | None:
    """The elastic IP of the vip network; None without a vip network.

    Args:
        networks: All networks.
        plans: The interfaces. The vip's ``nic_group`` names the one that gets the address; the first
            one gets it if the group is unknown or not given.

    Raises:
        CloudError: There are several vip networks, or one has no address.
    """
    vips = [name for name, network in networks.items() if network.kind == "vip"]
    if len(vips) > 1:
        raise CloudError(
            f"More than one vip network for '{vips[1]}'. A VM can have one elastic IP, and has that of vip "
            f"network '{vips[0]}' already: remove the others"
        )
    if not vips:
        return None
    network = networks[vips[0]]
    if not network.ip:
        raise CloudError(
            f"No IP provided for vip network '{vips[0]}'. Set the elastic IP in static_ips of the instance "
            "group's vip network"
        )
    for plan, position in zip(plans, _positions(plans), strict=True):
        if network.nic_group in _names(plan, networks):
            return Vip(network.ip, *position)
    return Vip(network.ip, 0)


def _names(plan: NicPlan, networks: Mapping[str, Network]) -> set[str]:
    """Return the names by which a vip network can refer to an interface."""
    return {plan.group, *(networks[name].nic_group or plan.group for name in plan.networks)}


def ignored_problems(networks: Mapping[str, Network], plans: Sequence[NicPlan]) -> Iterator[Problem]:
    """What create_vm ignores of networks, as the Ruby release does, so that manifests keep working.

    Not the address of a dynamic network: the Director sends the one that the last VM had.
    """
    for text in _ignored_texts(networks, plans):
        yield Problem("networks", text)
    for name, network in networks.items():
        given = network.cloud_properties
        for index, subnet in enumerate(given.subnet_fallbacks):
            if subnet in {given.subnet, *given.subnet_fallbacks[:index]}:
                key = f"networks.{name}.cloud_properties.subnet_fallbacks"
                text = f"Ignored: '{subnet}' in {key}, because the network has that subnet already: remove it"
                yield Problem(f"{key}.{index}", text)


def _ignored_texts(networks: Mapping[str, Network], plans: Sequence[NicPlan]) -> Iterator[str]:
    dynamic = [name for name, network in networks.items() if network.kind == "dynamic"]
    for name in dynamic[1:]:
        yield (
            f"network '{name}' is ignored, because a VM has an interface in one dynamic network only, here "
            f"'{dynamic[0]}': remove it, or make it a manual network"
        )
    for plan in plans:
        first: dict[str, str] = {}
        for name in plan.networks:
            what = _missing_kind(networks[name])
            if what and first.setdefault(what, name) != name:
                yield (
                    f"the {what} of network '{name}' is ignored, because nic_group '{plan.group}' already "
                    f"has that of network '{first[what]}': give each a nic_group of its own"
                )
    shared = {plan.group for plan in plans if plan.kind == "manual"}
    for name, network in networks.items():
        group = network.nic_group
        if network.kind == "dynamic" and group in shared and name == dynamic[0]:
            yield (
                f"nic_group '{group}' of network '{name}' is ignored, because a dynamic network shares its "
                "interface with no other: remove it"
            )
        if network.kind == "vip" and group and not any(group in _names(plan, networks) for plan in plans):
            yield (
                f"nic_group '{group}' of vip network '{name}' is ignored, because no other network of the VM "
                "has it: the first interface gets the elastic IP. Use another network's nic_group, or remove "
                "it"
            )


def _missing_kind(network: Network) -> str:
    """Return the kind of address that a network needs from its interface, "IPv4 address", or ""."""
    asked = network.delegated_prefix or str(network.address or "")
    kind = "prefix" if network.delegated_prefix else "address"
    return f"{'IPv6' if ':' in asked else 'IPv4'} {kind}" if asked else ""


def _positions(plans: Sequence[NicPlan]) -> list[tuple[int, int]]:
    """The position of each interface among those of its network card, and the card."""
    cards = [plan.card_index for plan in plans]
    return [(cards[:index].count(card), card) for index, card in enumerate(cards)]


def are_created_first(networks: Mapping[str, Network]) -> bool:
    """Whether the interfaces are created before the instance.

    With more than one network that is not a vip, the agent needs MAC addresses to tell the networks
    apart, even if they share an interface. A single network needs none.
    """
    return sum(network.kind != "vip" for network in networks.values()) > 1


def _check_addresses(plans: Sequence[NicPlan]) -> None:
    """Check that a VM's addresses and prefixes in a subnet do not overlap: EC2 would refuse the second."""
    asked = [
        (plan.subnet_id, plan.group, text)
        for plan in plans
        for text in (*plan.addresses, *filter(None, (plan.ipv4_prefix, plan.ipv6_prefix)))
    ]
    for (subnet, group, first), (other_subnet, other_group, second) in combinations(asked, 2):
        if subnet == other_subnet and ip_network(first).overlaps(ip_network(second)):
            groups = f"'{group}'" if group == other_group else f"'{group}' and '{other_group}'"
            raise CloudError(f"Addresses of nic group {groups} overlap: {first} and {second}")


def _check_fallbacks(networks: Mapping[str, Network]) -> None:
    """Check that only a VM with a single network has fallback subnets.

    The interfaces of several networks are created one by one before the launch, each in its own subnet.
    """
    for name, network in networks.items():
        if network.cloud_properties.subnet_fallbacks and are_created_first(networks):
            key = f"networks.{name}.cloud_properties.subnet_fallbacks"
            text = (
                f"{key} is for VMs with a single network besides a vip network: remove it, or use a network "
                "without it for VMs with several networks"
            )
            raise PropertyError(Problem(key, text))


def _dynamic(name: str, network: Network) -> NicPlan:
    subnet = _subnet(name, [name], [network])
    others = dict.fromkeys(network.cloud_properties.subnet_fallbacks)
    fallbacks = tuple(each for each in others if each != subnet)
    options = interface_options.merge(name, {name: network.cloud_properties})
    return NicPlan(name, [name], subnet, "dynamic", fallback_subnets=fallbacks, options=options)


def _manual(group: str, names: list[str], networks: Mapping[str, Network]) -> NicPlan:
    members = [networks[name] for name in names]
    addresses = [member.address for member in members if member.address]
    ipv4 = next((str(address) for address in addresses if isinstance(address, IPv4Address)), None)
    ipv6 = next((str(address) for address in addresses if isinstance(address, IPv6Address)), None)
    if not (ipv4 or ipv6):
        raise CloudError(
            f"Could not find a single ip address for nic group '{group}' "
            "and a prefix network can only be a secondary network. "
            f"Add a network with a single address to its networks: {', '.join(names)}"
        )
    prefixes = [member.delegated_prefix for member in members if member.delegated_prefix]
    return NicPlan(
        group,
        names,
        _subnet(group, names, members),
        "manual",
        ipv4_address=ipv4,
        ipv6_address=ipv6,
        ipv4_prefix=next((prefix for prefix in prefixes if ":" not in prefix), None),
        ipv6_prefix=next((prefix for prefix in prefixes if ":" in prefix), None),
        options=interface_options.merge(group, {name: networks[name].cloud_properties for name in names}),
    )


def _subnet(group: str, names: Sequence[str], members: Sequence[Network]) -> str:
    given = [member.cloud_properties.subnet for member in members]
    subnets = list(dict.fromkeys(subnet for subnet in given if subnet))
    if len(subnets) == 1:
        return subnets[0]
    shown = [f"'{name}' has {one or 'no subnet'}" for name, one in zip(names, given, strict=True)]
    key = f"networks.{names[0]}.cloud_properties.subnet" if len(names) == 1 else "networks"
    text = (
        f"Networks in nic_group '{group}' have different subnet ids: {', '.join(subnets)} or probably "
        "none of them have any subnet id defined. All networks in a nic_group must have the same subnet_id. "
        f"Network {', '.join(shown)}: set subnet in the networks' cloud_properties"
    )
    raise PropertyError(Problem(key, text))


def security_groups(
    of_vm: Sequence[str], networks: Mapping[str, Network], defaults: Sequence[str]
) -> dict[str, str]:
    """The names and ids of the security groups that every interface gets, each with the property to blame.

    The VM's own groups take precedence over those of the networks, which take precedence over the defaults.

    Raises:
        CloudError: There are none.
    """
    of_networks = {
        group: f"networks.{name}.cloud_properties.security_groups"
        for name, network in networks.items()
        for group in network.cloud_properties.security_groups
    }
    chosen = (
        dict.fromkeys(of_vm, "security_groups")
        or dict(sorted(of_networks.items()))
        or dict.fromkeys(defaults, "aws.default_security_groups")
    )
    if not chosen:
        raise CloudError(
            f"Missing security groups. {HELP} Set security_groups in the cloud_properties of the VM or a "
            "network, or aws.default_security_groups"
        )
    return chosen


def is_group_id(entry: str) -> bool:
    """Whether an entry is a security group's id; a group may be named "sg-frontend"."""
    return re.fullmatch(f"sg-{ID_DIGITS}", entry) is not None


def with_primary_ipv6(plans: Sequence[NicPlan]) -> list[NicPlan]:
    """The interfaces, each with its IPv6 address as the primary one.

    Raises:
        CloudError: None has an IPv6 address.
    """
    if not any(plan.ipv6_address for plan in plans):
        message = "primary_ipv6 needs a manual network with an IPv6 address: add one, or remove the property"
        raise CloudError(message)
    return [plan.replace(is_ipv6_primary=plan.ipv6_address is not None) for plan in plans]


def description(director_uuid: str | None, agent_id: str) -> str:
    """An interface's description; unlike the tags, it contains nothing from a manifest."""
    return f"BOSH agent {agent_id} of director {director_uuid}"[:255]  # EC2's limit


def create_arguments(plan: NicPlan, group_ids: Sequence[str]) -> Json:
    """CreateNetworkInterface's arguments, without the description and the tags."""
    primary = {"EnablePrimaryIpv6": True} if plan.is_ipv6_primary else {}
    options = {name: value for name, value in plan.options.items() if name not in _OF_ATTACHMENTS}
    return {"SubnetId": plan.subnet_id, "Groups": list(group_ids), **_addresses(plan), **primary, **options}


def inline_specification(plan: NicPlan, group_ids: Sequence[str], *, is_public: bool) -> Json:
    """RunInstances' specification of an interface that it creates itself.

    AssociatePublicIpAddress is always sent: otherwise a subnet that assigns public addresses by default
    would give one to the VM.

    Args:
        plan: The interface.
        group_ids: Its security groups.
        is_public: Whether EC2 gives it a public address.
    """
    return {
        "DeviceIndex": 0,
        "SubnetId": plan.subnet_id,
        "Groups": list(group_ids),
        "AssociatePublicIpAddress": is_public,
        "DeleteOnTermination": True,
        **_addresses(plan),
        **({"PrimaryIpv6": True} if plan.is_ipv6_primary else {}),
        **plan.options,
    }


def attached_specifications(
    plans: Sequence[NicPlan], nic_ids: Sequence[str], single_cards: Collection[str]
) -> list[Json]:
    """RunInstances' specifications of existing interfaces, one for each plan.

    Each network card has device indexes of its own. On other cards than the first, an interface with an
    address has device index 1 (user guide, "Maximize network bandwidth on Amazon EC2 instances with multiple
    network cards"; eksctl-io/eksctl issue 7520), but 0 on a card that takes only one (aws/aws-parallelcluster
    pull requests 6089 and 6930). If several cards are used, card 0 is named, too: EC2 has counted the device
    indexes of all cards together when it was left out (cilium/cilium pull request 42512).

    Args:
        single_cards: See `InstanceTypeFacts`.
    """
    uses_several = any(plan.card_index for plan in plans)
    return [
        {
            "DeviceIndex": position + int(card > 0 and str(card) not in single_cards),
            "NetworkInterfaceId": nic_id,
            **({"NetworkCardIndex": card} if uses_several else {}),
            **{name: value for name, value in plan.options.items() if name in _OF_ATTACHMENTS},
        }
        for plan, nic_id, (position, card) in zip(plans, nic_ids, _positions(plans), strict=True)
    ]


def mac_addresses(plans: Sequence[NicPlan], macs: Sequence[str]) -> dict[str, str]:
    """MAC address by manual network, for interfaces that are created before the launch.

    Args:
        plans: All interfaces of the VM.
        macs: Their addresses, in the same order; empty if RunInstances creates the only interface.
    """
    return {
        name: mac
        for plan, mac in zip(plans, macs, strict=False)
        if plan.kind == "manual"
        for name in plan.networks
    }


def _addresses(plan: NicPlan) -> Json:
    ipv4 = {"PrivateIpAddress": plan.ipv4_address} if plan.ipv4_address else {}
    ipv6 = {"Ipv6Addresses": [{"Ipv6Address": plan.ipv6_address}]} if plan.ipv6_address else {}
    return {**ipv4, **ipv6}
