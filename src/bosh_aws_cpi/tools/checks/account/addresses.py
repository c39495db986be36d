"""Addresses that BOSH may give to a VM, although another network interface already holds them. Pure."""

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Network, IPv6Network, collapse_addresses
from typing import Final

from bosh_aws_cpi.aws.network_interfaces import Held
from bosh_aws_cpi.plan.tags import DIRECTOR_TAG
from bosh_aws_cpi.tag_names import VM_METADATA
from bosh_aws_cpi.tools.checks.account.subnets import KnownSubnets
from bosh_aws_cpi.tools.checks.aws_addresses import aws_addresses
from bosh_aws_cpi.tools.checks.bosh.ranges import AnyNetwork, range_of, ranges_of, within
from bosh_aws_cpi.tools.checks.naming import SubnetUse
from bosh_aws_cpi.tools.findings import Finding, Severity

_CREATE_ENV: Final = "bosh-init"
"""The value of the tag `director` of a VM that `bosh create-env` created."""


def manual(known: KnownSubnets) -> list[tuple[SubnetUse, AnyNetwork]]:
    """The subnets from which BOSH chooses addresses, those of manual networks, with their ranges."""
    ranges = [(use, range_of(node.value)) for use, _ in known.uses() if (node := use.entry.get("range"))]
    return [(use, whole) for use, whole in ranges if whole is not None]


def findings(
    uses: Sequence[tuple[SubnetUse, AnyNetwork]], held: Sequence[Held], *, is_for_create_env: bool
) -> Iterator[Finding]:
    """Compare the addresses that BOSH may choose with those that others hold.

    Args:
        uses: The subnets.
        held: What network interfaces hold in them.
        is_for_create_env: Whether the subnets are those of a manifest for create-env, which names all.
    """
    for use, whole in uses:
        others = [
            each
            for each in held
            if not is_known(each, is_for_create_env=is_for_create_env)
            and each.interface.subnet_id == use.subnet_id
            and whole.overlaps(each.network)
        ]
        yield from _of_static(use, others)
        if not is_for_create_env and not use.entry.at("reserved").has_variables:
            yield from _of_range(use, whole, others)


def is_known(held: Held, *, is_for_create_env: bool) -> bool:
    """Whether an interface belongs to a VM of BOSH: for create-env its own one, else any Director's.

    This CPI tags its interfaces. The Ruby release does not, but its VMs have the tags of set_vm_metadata. A
    Director keeps its own address free.
    """
    if is_for_create_env:
        return held.of_instance.get("director") == _CREATE_ENV
    is_of_ruby = "deployment" in held.of_instance and not VM_METADATA.isdisjoint(held.of_instance)
    return DIRECTOR_TAG in held.interface.tags or DIRECTOR_TAG in held.of_instance or is_of_ruby


def _of_static(use: SubnetUse, held: Sequence[Held]) -> Iterator[Finding]:
    """Static addresses that others hold: they can't also be reserved, because the Director refuses that."""
    for static in ranges_of(use.entry.get("static")):
        for each in held:
            if any(map(each.network.overlaps, static.networks)):
                about = f" ({each.interface.description})" if each.interface.description else ""
                what = (
                    f"interface '{each.interface.nic_id}'{about}, which the Director does not know, "
                    f"holds {_shown(each.network)}: no VM can be created with this static address"
                )
                yield Finding(Severity.WARNING, what, "Use another address", static.node.place, "AWS")


def _of_range(use: SubnetUse, whole: AnyNetwork, held: Sequence[Held]) -> Iterator[Finding]:
    """Addresses that others hold and that should be reserved."""
    nodes = [use.entry.get(key) for key in ("reserved", "static", "gateway")]
    kept = [network for node in nodes for each in ranges_of(node) for network in each.networks]
    kept += aws_addresses(whole)
    free = {each.network for each in held if not any(within(each.network, one) for one in kept)}
    four: list[AnyNetwork] = [*collapse_addresses(each for each in free if isinstance(each, IPv4Network))]
    six = collapse_addresses(each for each in free if isinstance(each, IPv6Network))
    if listed := [_shown(each) for each in (*four, *six)]:
        what = f"BOSH may choose addresses that interfaces it does not know hold: {', '.join(listed)}"
        quoted = [f'"{each}"' if ":" in each else each for each in listed]  # YAML might read a number
        remedy = f"Add to reserved: [{', '.join(quoted)}]"
        yield Finding(Severity.WARNING, what, remedy, use.entry.at("range").place, "AWS")


def _shown(network: AnyNetwork) -> str:
    return str(network[0] if network.num_addresses == 1 else network)
