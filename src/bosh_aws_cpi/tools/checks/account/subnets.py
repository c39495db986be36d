"""Subnets: they exist, have the zone and range of the cloud config, and free addresses. Pure.

BOSH may give a VM an address that another network interface already holds: these are found too.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from ipaddress import IPv4Network, IPv6Network, collapse_addresses
from typing import Final

from bosh_aws_cpi.aws.network_interfaces import Held
from bosh_aws_cpi.model import Subnet
from bosh_aws_cpi.plan import placement
from bosh_aws_cpi.plan.tags import DIRECTOR_TAG
from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tag_names import VM_METADATA
from bosh_aws_cpi.tools.checks.addresses import AnyNetwork, kept_by_aws, range_of, ranges_of, within
from bosh_aws_cpi.tools.checks.bosh.rules import name_of
from bosh_aws_cpi.tools.checks.combinations import Merged
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.reading import said
from bosh_aws_cpi.tools.checks.references import References, SubnetUse, grouped, judged
from bosh_aws_cpi.tools.findings import Finding, Severity

_FEW: Final = 10
"""With fewer free addresses, a subnet gets a note."""
_CREATE_ENV: Final = "bosh-init"
"""The value of the tag `director` of a VM that `bosh create-env` created."""


class KnownSubnets(Record):
    """The subnets of the cloud config, as AWS knows them.

    Attributes:
        references: What the cloud config names.
        found: The subnets that exist, by id; empty if they could not be looked up.
    """

    references: References
    found: Mapping[str, Subnet]

    def uses(self) -> Iterator[tuple[SubnetUse, Subnet]]:
        """The subnets of the cloud config that exist."""
        for use in self.references.subnets:
            if (facts := self.found.get(use.subnet_id)) is not None:
                yield use, facts

    def vpcs(self, merged: Merged | None = None) -> list[str]:
        """The VPCs of the subnets in which a combination can be deployed; of all, without one."""
        zone = merged.zone if merged is not None else ""
        return sorted({facts.vpc_id for _, facts in self.uses() if zone in {"", facts.availability_zone}})


def findings(known: KnownSubnets, region: str) -> Iterator[Finding]:
    """Compare the cloud config's subnets with those in AWS, apart from their zones.

    Each fallback subnet must be like the first one, by create_vm's own rule. Its zone may be another one if
    any VM may have ``zone_fallback``: not all VMs of a network are known.
    """
    is_any_zone = any(merged.has("zone_fallback") for merged in known.references.combinations)
    for use in known.references.subnets:
        first = known.found.get(use.subnet_id)
        for node in (use.node, *use.fallbacks):
            facts = known.found.get(str(node.value))
            if facts is None:
                what = f"subnet '{node.value}' does not exist in {region}"
                yield Finding(Severity.ERROR, what, "Use the id of one of your subnets", node.place, "AWS")
                continue
            if facts.state != "available":
                what = f"subnet '{facts.subnet_id}' is {facts.state}"
                yield Finding(Severity.WARNING, what, "Wait until it is available", node.place, "AWS")
            if what := placement.without_ipv4(facts):
                remedy = "If VMs don't answer, use a dual-stack subnet"
                yield Finding(Severity.WARNING, what, remedy, node.place, "AWS")
            if facts.free < _FEW and facts.range:
                what = f"subnet '{facts.subnet_id}' has only {facts.free} free IPv4 addresses"
                yield Finding(Severity.NOTE, what, "Use a larger subnet", node.place, "AWS")
            if first is not None and (what := placement.difference(first, facts, is_any_zone=is_any_zone)):
                yield Finding(Severity.ERROR, what, "Use another subnet, or remove it", node.place)
        if first is not None:
            yield from _of_range(use, first)
    yield from _of_vms(known, is_any_zone=is_any_zone)


def _of_vms(known: KnownSubnets, *, is_any_zone: bool) -> Iterator[Finding]:
    """What create_vm refuses of the fallback subnets of known VMs, unless the subnets' findings say it."""
    for vm in known.references.vms:
        plan, leaves = next(iter(vm.plans), None), vm.says("zone_fallback")
        if plan is None or not known.found.keys() >= {plan.subnet_id, *plan.fallback_subnets}:
            continue
        check = partial(placement.check_fallbacks, plan, known.found)
        strict, loose = said(check), said(partial(check, is_any_zone=is_any_zone))
        if leaves is False and strict and not loose:
            yield Finding(Severity.ERROR, strict, "", vm.group.at(vm.key).place)


def zones(known: KnownSubnets, missing: Collection[str]) -> Iterator[Finding]:
    """Compare the zones of the azs, and those of VM types, with the subnets' zones.

    Args:
        known: The subnets.
        missing: The zones that don't exist, which are reported as such.
    """
    for use, facts in known.uses():
        own = facts.availability_zone
        for zone, node in use.zones:
            if zone not in {own, *missing}:
                what = f"subnet '{facts.subnet_id}' is in zone {own}, but the az's zone is {zone}"
                remedy = f"Use a subnet in {zone}, or correct {node.path}"
                yield Finding(Severity.ERROR, what, remedy, use.node.place, "AWS")
    if known.references.knows_all_subnets:
        for node, users in grouped(known.references.combinations, _own_zone):
            if node.value not in missing:
                remedy = "Remove it, or use a subnet in this zone"
                yield from judged(node, users, partial(_without_subnet, known), remedy)


def _own_zone(merged: Merged) -> list[Node]:
    """The zone of a VM type or extension, which replaces that of the az."""
    return [node for node in merged.named("availability_zone") if node.route[0] != "azs"]


def _without_subnet(known: KnownSubnets, merged: Merged) -> str:
    """Why a VM can be in none of the subnets of its az, since it has one zone; empty if it can."""
    az = merged.az
    ids = [use.subnet_id for use in known.references.subnets if use.serves(az)]
    zones = {known.found[each].availability_zone for each in ids if each in known.found}
    if not zones or merged.zone in zones or not known.found.keys() >= {*ids}:
        return ""
    of_az = f" of az '{name_of(az)}'" if az is not None else ""
    return f"no subnet{of_az} is in zone {merged.zone}; they are in {', '.join(sorted(zones))}"


def _of_range(use: SubnetUse, facts: Subnet) -> Iterator[Finding]:
    """The range in the file must be that in AWS."""
    node = use.entry.get("range")
    wanted = range_of(node.value) if node is not None else None
    if node is None or wanted is None or not facts.ranges:
        return
    there = [each for text in facts.ranges if (each := range_of(text)) is not None]
    if wanted not in there:
        is_part, ranges = any(within(wanted, whole) for whole in there), ", ".join(facts.ranges)
        relation = "only a part of" if is_part else "not within"
        what = f"{wanted} is {relation} subnet '{facts.subnet_id}', which has {ranges}"
        severity = Severity.WARNING if is_part else Severity.ERROR
        remedy = f"Use {ranges}, and reserve what VMs must not get"
        yield Finding(severity, what, remedy, node.place, "AWS")


def manual(known: KnownSubnets) -> list[tuple[SubnetUse, AnyNetwork]]:
    """The subnets from which BOSH chooses addresses, those of manual networks, with their ranges."""
    ranges = [(use, range_of(node.value)) for use, _ in known.uses() if (node := use.entry.get("range"))]
    return [(use, whole) for use, whole in ranges if whole is not None]


def taken(
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
        yield from _static(use, others)
        if not is_for_create_env and not use.entry.at("reserved").has_variables:
            yield from _unreserved(use, whole, others)


def is_known(held: Held, *, is_for_create_env: bool) -> bool:
    """Whether an interface belongs to a VM of BOSH: for create-env its own one, else any Director's.

    This CPI tags its interfaces. The Ruby release does not, but its VMs have the tags of set_vm_metadata. A
    Director keeps its own address free.
    """
    if is_for_create_env:
        return held.of_instance.get("director") == _CREATE_ENV
    is_of_ruby = "deployment" in held.of_instance and not VM_METADATA.isdisjoint(held.of_instance)
    return DIRECTOR_TAG in held.interface.tags or DIRECTOR_TAG in held.of_instance or is_of_ruby


def _static(use: SubnetUse, held: Sequence[Held]) -> Iterator[Finding]:
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


def _unreserved(use: SubnetUse, whole: AnyNetwork, held: Sequence[Held]) -> Iterator[Finding]:
    """Addresses that others hold and that should be reserved."""
    nodes = [use.entry.get(key) for key in ("reserved", "static", "gateway")]
    kept = [network for node in nodes for each in ranges_of(node) for network in each.networks]
    kept += kept_by_aws(whole)
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
