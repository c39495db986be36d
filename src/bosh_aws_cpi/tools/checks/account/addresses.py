"""Addresses that BOSH may give to a VM, although another network interface already holds them. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from bosh_aws_cpi.aws.network_interfaces import Held
from bosh_aws_cpi.plan.subnets import overlap
from bosh_aws_cpi.plan.tags import DIRECTOR_TAG
from bosh_aws_cpi.tag_names import VM_METADATA
from bosh_aws_cpi.tools.checks.account.subnets import KnownSubnets
from bosh_aws_cpi.tools.checks.aws_addresses import aws_addresses
from bosh_aws_cpi.tools.checks.bosh.ranges import AnyNetwork, range_of, ranges_of
from bosh_aws_cpi.tools.checks.naming import SubnetUse
from bosh_aws_cpi.tools.findings import Finding, Severity

_CREATE_ENV: Final = "bosh-init"
"""The value of the tag `director` of a VM that `bosh create-env` created."""
Address = IPv4Address | IPv6Address
Span = tuple[Address, Address]
"""The first and the last address of a range."""


def manual(known: KnownSubnets) -> list[SubnetUse]:
    """The subnets from which BOSH chooses addresses: those of manual networks, which have a range."""
    return [use for use, _ in known.uses() if _range(use) is not None]


def findings(
    uses: Sequence[SubnetUse], held: Sequence[Held], *, is_for_create_env: bool
) -> Iterator[Finding]:
    """Compare the addresses that BOSH may choose with those that others hold.

    Args:
        uses: The subnets.
        held: What network interfaces hold in them.
        is_for_create_env: Whether the subnets are those of a manifest for create-env, which names all.
    """
    is_own = is_of_create_env if is_for_create_env else is_of_director
    foreign = [each for each in held if not is_own(each)]
    for use in uses:
        whole = _range(use)
        inside = [each for each in foreign if _is_in(use, whole, each)]
        yield from _of_static(use, inside)
        if not is_for_create_env and not use.entry.at("reserved").has_variables:
            yield from _of_range(use, whole, [each for each in inside if not is_of_create_env(each)])
            yield from _of_create_env(use, whole, [each for each in inside if is_of_create_env(each)])


def is_of_create_env(held: Held) -> bool:
    """Whether an interface belongs to the VM of `bosh create-env`: no Director knows its address."""
    return held.of_instance.get("director") == _CREATE_ENV


def is_of_director(held: Held) -> bool:
    """Whether an interface belongs to a VM of a Director, which this CPI or the Ruby release created.

    This CPI tags its interfaces. The Ruby release does not, but its VMs have the tags of set_vm_metadata.
    """
    if is_of_create_env(held):
        return False
    is_of_ruby = "deployment" in held.of_instance and not VM_METADATA.isdisjoint(held.of_instance)
    return DIRECTOR_TAG in held.interface.tags or DIRECTOR_TAG in held.of_instance or is_of_ruby


def _of_static(use: SubnetUse, held: Sequence[Held]) -> Iterator[Finding]:
    """Static addresses that others hold: they can't also be reserved, because the Director refuses that."""
    for static in ranges_of(use.entry.get("static")):
        for each in held:
            if any(overlap(one, each.network) for one in static.networks):
                about = f" ({each.interface.description})" if each.interface.description else ""
                held_one = ", ".join(joined([(each.network[0], each.network[-1])]))
                what = (
                    f"interface '{each.interface.nic_id}'{about}, which the Director does not know, "
                    f"holds {held_one}: no VM can be created with this static address"
                )
                yield Finding(Severity.WARNING, what, "Use another address", static.node.place, "AWS")


def _of_range(use: SubnetUse, whole: AnyNetwork | None, held: Sequence[Held]) -> Iterator[Finding]:
    """Addresses that others hold and that should be reserved."""
    if listed := _to_reserve(use, whole, held):
        what = f"BOSH may choose addresses that interfaces it does not know hold: {', '.join(listed)}"
        yield Finding(Severity.WARNING, what, _reserve(listed), use.entry.at("range").place, "AWS")


def _of_create_env(use: SubnetUse, whole: AnyNetwork | None, held: Sequence[Held]) -> Iterator[Finding]:
    """Addresses of VMs of create-env: a Director keeps its own ones free.

    BOSH: src/bosh-director/lib/bosh/director/deployment_plan/manual_network_subnet.rb, Config.director_ips.
    """
    if listed := _to_reserve(use, whole, held):
        what = (
            f"a VM of bosh create-env holds {', '.join(listed)}; BOSH keeps only its Director's address free"
        )
        remedy = f"Unless that VM is this cloud config's Director: {_reserve(listed).lower()}"
        yield Finding(Severity.NOTE, what, remedy, use.entry.at("range").place, "AWS")


def _to_reserve(use: SubnetUse, whole: AnyNetwork | None, held: Sequence[Held]) -> list[str]:
    """The ranges that are held, and that BOSH may choose."""
    lists = [use.entry.get("reserved"), use.entry.get("static")]
    kept = [network for node in lists for each in ranges_of(node) for network in each.networks]
    kept += aws_addresses(whole) if whole is not None else []
    gateway = use.entry.get("gateway")
    kept += [network for each in ranges_of(gateway) for network in each.networks]
    return joined(part for each in held for part in without(each.network, kept))


def _reserve(listed: Sequence[str]) -> str:
    return f"Add to reserved: [{', '.join(map(_quoted, listed))}]"


def without(network: AnyNetwork, kept: Iterable[AnyNetwork]) -> list[Span]:
    """A range without the addresses in others.

    Args:
        network: The range.
        kept: The others.

    Returns:
        What is left, as first and last addresses.
    """
    left = [(int(network[0]), int(network[-1]))]
    for each in kept:
        if each.version == network.version:
            low, high = int(each[0]), int(each[-1])
            cut = [
                part for one, two in left for part in ((one, min(two, low - 1)), (max(one, high + 1), two))
            ]
            left = [(one, two) for one, two in cut if one <= two]
    address = type(network[0])
    return [(address(one), address(two)) for one, two in left]


def joined(spans: Iterable[Span]) -> list[str]:
    """Ranges in the form of BOSH, "10.0.1.7-10.0.1.9", with neighbours joined; IPv4 comes first."""
    merged: list[Span] = []
    for first, last in sorted(spans, key=lambda span: (span[0].version, int(span[0]))):
        before = merged[-1] if merged else None
        if before and before[1].version == first.version and int(first) <= int(before[1]) + 1:
            end = max(int(before[1]), int(last))
            merged[-1] = (before[0], type(last)(end))
        else:
            merged.append((first, last))
    return [str(first) if first == last else f"{first}-{last}" for first, last in merged]


def _quoted(text: str) -> str:
    """A text in a list of YAML: an IPv6 address might be read as a number."""
    return f'"{text}"' if ":" in text else text


def _range(use: SubnetUse) -> AnyNetwork | None:
    node = use.entry.get("range")
    return range_of(node.value) if node is not None else None


def _is_in(use: SubnetUse, whole: AnyNetwork | None, held: Held) -> bool:
    return held.interface.subnet_id == use.subnet_id and whole is not None and overlap(whole, held.network)
