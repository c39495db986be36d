"""Subnets: they exist, have the zone and range of the cloud config, and free addresses. Pure."""

from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import Final

from bosh_aws_cpi.aws.subnets import SubnetFacts
from bosh_aws_cpi.model import Subnet
from bosh_aws_cpi.plan import subnet_fallbacks
from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tools.checks.bosh.ranges import range_of, within
from bosh_aws_cpi.tools.checks.bosh.rules import name_of
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.naming import Launch, SubnetUse
from bosh_aws_cpi.tools.checks.reading import said
from bosh_aws_cpi.tools.checks.references import References, named
from bosh_aws_cpi.tools.findings import Finding, Severity

_FEW: Final = 10
"""With fewer free addresses, a subnet gets a note."""


class KnownSubnets(Record):
    """The subnets of the cloud config, as AWS knows them.

    Attributes:
        references: What the cloud config names.
        found: The subnets that exist, by id; empty if they could not be looked up.
    """

    references: References
    found: Mapping[str, SubnetFacts]

    def uses(self) -> Iterator[tuple[SubnetUse, SubnetFacts]]:
        """The subnets of the cloud config that exist."""
        for use in self.references.subnets:
            if (facts := self.found.get(use.subnet_id)) is not None:
                yield use, facts

    def vpcs(self, launch: Launch | None = None) -> list[str]:
        """The VPCs of the subnets in which a combination can be deployed; of all, without one."""
        zone = launch.zone if launch is not None else ""
        return sorted({facts.vpc_id for _, facts in self.uses() if zone in {"", facts.zone}})


def findings(known: KnownSubnets, region: str) -> Iterator[Finding]:
    """Compare the cloud config's subnets with those in AWS, apart from their zones."""
    for use in known.references.subnets:
        for node in (use.node, *use.fallbacks):
            facts = known.found.get(str(node.value))
            if facts is None:
                what = f"subnet '{node.value}' does not exist in {region}"
                yield Finding(Severity.ERROR, what, "Use the id of one of your subnets", node.place, "AWS")
            else:
                yield from _of_state(facts, node)
    is_any_zone = any(launch.has("zone_fallback") for launch in known.references.launches)
    for use, facts in known.uses():
        yield from _of_range(use, facts)
        yield from _of_fallbacks(use, facts, known, is_any_zone=is_any_zone)
    yield from _of_vms(known, is_any_zone=is_any_zone)


def _of_state(facts: SubnetFacts, node: Node) -> Iterator[Finding]:
    if facts.state != "available":
        what = f"subnet '{facts.subnet_id}' is {facts.state}"
        yield Finding(Severity.WARNING, what, "Wait until it is available", node.place, "AWS")
    if facts.free < _FEW and any(":" not in each for each in facts.ranges):
        what = f"subnet '{facts.subnet_id}' has only {facts.free} free IPv4 addresses"
        yield Finding(Severity.NOTE, what, "Use a larger subnet", node.place, "AWS")


def _of_fallbacks(
    use: SubnetUse, facts: SubnetFacts, known: KnownSubnets, *, is_any_zone: bool
) -> Iterator[Finding]:
    """Each fallback subnet must be like the first one, by create_vm's own rule.

    The zone may be another one if any VM may have ``zone_fallback``: not all VMs of a network are known.
    """
    for node in use.fallbacks:
        other = known.found.get(str(node.value))
        if other is not None and (
            what := subnet_fallbacks.difference(_subnet(facts), _subnet(other), is_any_zone=is_any_zone)
        ):
            remedy = "" if "zone_fallback" in what else "Use another subnet, or remove it"
            yield Finding(Severity.ERROR, what, remedy, node.place)


def _of_vms(known: KnownSubnets, *, is_any_zone: bool) -> Iterator[Finding]:
    """What create_vm refuses of the fallback subnets of known VMs, unless the subnets' findings say it."""
    found = {subnet_id: _subnet(facts) for subnet_id, facts in known.found.items()}
    for vm in known.references.vms:
        plan, leaves = next(iter(vm.plans), None), vm.says("zone_fallback")
        if plan is None or not found.keys() >= {plan.subnet_id, *plan.fallback_subnets}:
            continue
        check = partial(subnet_fallbacks.check, plan, found)
        strict, loose = said(check), said(partial(check, is_any_zone=is_any_zone))
        if leaves is False and strict and not loose:
            yield Finding(Severity.ERROR, strict, "", vm.group.at(vm.key).place)


def _subnet(facts: SubnetFacts) -> Subnet:
    return Subnet(facts.subnet_id, facts.vpc_id, facts.zone, facts.families)


def zones(known: KnownSubnets, missing: Collection[str]) -> Iterator[Finding]:
    """Compare the zones of the azs, and those of VM types, with the subnets' zones.

    Args:
        known: The subnets.
        missing: The zones that don't exist, which are reported as such.
    """
    for use, facts in known.uses():
        yield from _of_zone(use, facts, missing)
    yield from _misplaced(known, missing)


def _of_zone(use: SubnetUse, facts: SubnetFacts, missing: Collection[str]) -> Iterator[Finding]:
    for zone, node in use.zones:
        if zone not in {facts.zone, *missing}:
            what = f"subnet '{facts.subnet_id}' is in zone {facts.zone}, but the az's zone is {zone}"
            remedy = f"Use a subnet in {zone}, or correct {node.path}"
            yield Finding(Severity.ERROR, what, remedy, use.node.place, "AWS")


def _misplaced(known: KnownSubnets, missing: Collection[str]) -> Iterator[Finding]:
    """Zones of VM types and extensions, which replace that of the az, without a subnet of the az.

    A VM has one zone, and create_vm refuses subnets in another one.
    """
    if not known.references.knows_all_subnets:
        return
    for each in named(known.references.launches, _own_zone):
        if each.node.value in missing:
            continue
        yield from each.findings_if_wrong(
            lambda launch: _without_subnet(launch, known), "Remove it, or use a subnet in this zone"
        )


def _own_zone(launch: Launch) -> list[Node]:
    return [node for node in launch.named("availability_zone") if node.route[0] != "azs"]


def _without_subnet(launch: Launch, known: KnownSubnets) -> str:
    """Why a VM can be in none of the subnets of its az; empty if it can, or if that is not known."""
    az = launch.merged.zone
    uses = [use for use in known.references.subnets if use.serves(az)]
    zones = {known.found[use.subnet_id].zone for use in uses if use.subnet_id in known.found}
    if not zones or launch.zone in zones or any(use.subnet_id not in known.found for use in uses):
        return ""
    of_az = f" of az '{name_of(az)}'" if az is not None else ""
    return f"no subnet{of_az} is in zone {launch.zone}; they are in {', '.join(sorted(zones))}"


def _of_range(use: SubnetUse, facts: SubnetFacts) -> Iterator[Finding]:
    """The range in the file must be that in AWS."""
    node = use.entry.get("range")
    wanted = range_of(node.value) if node is not None else None
    if node is None or wanted is None or not facts.ranges:
        return
    there = [each for text in facts.ranges if (each := range_of(text)) is not None]
    if wanted in there:
        return
    said = ", ".join(facts.ranges)
    if any(within(wanted, whole) for whole in there):
        what = f"{wanted} is only a part of subnet '{facts.subnet_id}', which has {said}: the netmasks differ"
        remedy = f"Use {said}, and reserve what VMs must not get"
        yield Finding(Severity.WARNING, what, remedy, node.place, "AWS")
    else:
        what = f"{wanted} is not within subnet '{facts.subnet_id}', which has {said}"
        yield Finding(Severity.ERROR, what, f"Use {said}", node.place, "AWS")
