"""Room for a deployment: the account's quotas of vCPUs, placement groups, ranges of subnets."""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from bosh_aws_cpi.aws import capacity
from bosh_aws_cpi.model import Subnet
from bosh_aws_cpi.plan import placement
from bosh_aws_cpi.plan.spread import MAX_RUNNING
from bosh_aws_cpi.tools.checks import cases, things
from bosh_aws_cpi.tools.checks.account import Account
from bosh_aws_cpi.tools.checks.addresses import range_of, within
from bosh_aws_cpi.tools.checks.bosh.rules import hashes, text_of
from bosh_aws_cpi.tools.checks.cloud_config import Files
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.findings import Finding, Severity

_FEW: Final = 10
"""With fewer free addresses, a subnet gets a note."""
_RAISE: Final = "Ask AWS to raise the quota (Service Quotas, Amazon EC2)"
_SWAP: Final = "create-swap-delete"
_DIVIDE: Final = (
    "Give the instance group more azs, divide it into several, use spread: prefer, or remove spread"
)


def crowded(files: Files) -> Iterator[Finding]:
    """Find groups with `spread` that have more VMs than EC2 runs in a spread placement group.

    Some zone has too many if all of them together do, however the Director distributes the instances.
    """
    zones: dict[Node, set[str]] = {}
    for case in cases.of_deployment(files):
        if case.cloud_properties.get("spread") is True:
            zone = case.properties.get(cases.ZONE)
            zones.setdefault(case.user, set()).add(text_of(zone) or str(id(zone)))
    for user, there in zones.items():
        count, room = user.get("instances"), MAX_RUNNING * len(there)
        swapped, doubled = (2, f", which {_SWAP} doubles for an update") if _is_swapped(user) else (1, "")
        if count is not None and isinstance(count.value, int) and count.value * swapped > room:
            what = (
                f"spread: instance group '{text_of(user.get('name'))}' has {count.value} instances{doubled}, "
                f"but EC2 runs at most {MAX_RUNNING} in each zone, {room} in all"
            )
            yield Finding(Severity.ERROR, what, _DIVIDE, count.place, "AWS")


def _is_swapped(group: Node) -> bool:
    """Whether all new VMs are created before old ones are deleted (BOSH: should_create_swap_delete?)."""
    strategies = [each.get("update", "vm_strategy") for each in (group, group.document.root)]
    is_static = any(each.get("static_ips") for each in hashes(group.get("networks")))
    return not is_static and text_of(next(filter(None, strategies), None)) == _SWAP


def findings(files: Files, account: Account) -> Iterator[Finding]:
    """Compare the subnets and the quotas with what the files need."""
    there = things.subnets_of(account, files) or {}
    for entry, node in files.subnet_ids:
        if node.value in there:
            yield from _of_subnet(entry, node, there[node.value])
    if files.manifest is not None:
        types = things.types_of(account, cases.instance_types(files))
        quotas = account.listing("quotas", partial(capacity.quotas, account.clients.service_quotas)) or {}
        for who, needed in demand(files):
            yield from over_quota(who, needed, {name: each.vcpus for name, each in types.items()}, quotas)


def _of_subnet(entry: Node, node: Node, facts: Subnet) -> Iterator[Finding]:
    """A subnet should have the range of the file, IPv4, and free addresses."""
    if what := placement.without_ipv4(facts):
        remedy = "If VMs don't answer, use a dual-stack subnet"
        yield Finding(Severity.WARNING, what, remedy, node.place, "AWS")
    if facts.free < _FEW and facts.range:
        what = f"subnet '{facts.subnet_id}' has only {facts.free} free IPv4 addresses"
        yield Finding(Severity.NOTE, what, "Use a larger subnet", node.place, "AWS")
    wanted = range_of(entry.value.get("range"))
    there = [each for text in facts.ranges if (each := range_of(text)) is not None]
    if wanted is not None and there and wanted not in there:
        is_part, ranges = any(within(wanted, whole) for whole in there), ", ".join(facts.ranges)
        relation = "only a part of" if is_part else "not within"
        what = f"{wanted} is {relation} subnet '{facts.subnet_id}', which has {ranges}"
        remedy, place = f"Use {ranges}, and reserve what VMs must not get", entry.at("range").place
        yield Finding(Severity.WARNING if is_part else Severity.ERROR, what, remedy, place, "AWS")


def demand(files: Files) -> Iterator[tuple[str, Counter[tuple[str, str]]]]:
    """Who needs how many instances of each type and market, "demand" or "spot".

    The Director deletes the VMs that compile before it creates the others (BOSH: jobs/update_deployment.rb,
    PackageCompileStage before UpdateStage). A number or a type that is a variable is left out. Fallback types
    are not counted, nor are errands, VMs on Dedicated Hosts, which have quotas of their own, and those that
    name a capacity reservation, which may be another account's.
    """
    needs: dict[str, Counter[tuple[str, str]]] = {}
    for case in {each.user: each for each in cases.of_deployment(files)}.values():
        count = case.user.get("workers") or case.user.get("instances")
        given = case.cloud_properties
        is_apart = case.properties.keys() & {"dedicated_host", "capacity_reservation"}
        if is_apart or text_of(case.user.get("lifecycle")) == "errand":
            continue
        if count is not None and isinstance(count.value, int):
            who = "compilation.workers" if case.user is files.compilation else "the instance groups"
            market = "spot" if given.get("spot") or given.get("spot_bid_price") else "demand"
            needs.setdefault(f"{who} need", Counter())[str(given.get("instance_type")), market] += count.value
    yield from needs.items()


def over_quota(
    who: str, needed: Mapping[tuple[str, str], int], vcpus: Mapping[str, int], quotas: Mapping[str, float]
) -> Iterator[Finding]:
    """Compare a need of vCPUs with the quotas; a type whose quota or size is not known is left out.

    Args:
        who: Who needs them, for the message.
        needed: The number of instances of each type and market.
        vcpus: The types' numbers of vCPUs.
        quotas: The account's quotas, in vCPUs, by their names.
    """
    needs: Counter[str] = Counter()
    for (name, market), count in needed.items():
        if quota := capacity.quota_of(name, market, quotas):
            needs[quota] += count * vcpus.get(name, 0)
    for quota, need in needs.items():
        if need > quotas[quota]:
            what = f"{who} {need} vCPUs, but the quota '{quota}' is {quotas[quota]:g}"
            yield Finding(Severity.ERROR, what, _RAISE, source="AWS")
