"""Room for a deployment: the account's quotas of vCPUs, placement groups, and addresses that others hold."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from ipaddress import IPv4Network, IPv6Network, collapse_addresses
from typing import Final

from bosh_aws_cpi.aws import capacity, network_interfaces
from bosh_aws_cpi.aws.network_interfaces import Held
from bosh_aws_cpi.model import Subnet
from bosh_aws_cpi.plan import placement
from bosh_aws_cpi.plan.spread import MAX_RUNNING
from bosh_aws_cpi.plan.tags import DIRECTOR_TAG
from bosh_aws_cpi.properties.vm import VmProperties
from bosh_aws_cpi.tag_names import VM_METADATA
from bosh_aws_cpi.tools.checks import cases, things
from bosh_aws_cpi.tools.checks.account import Account
from bosh_aws_cpi.tools.checks.addresses import AnyNetwork, kept_by_aws, range_of, ranges_of, within
from bosh_aws_cpi.tools.checks.bosh.rules import hashes, read_known, text_of
from bosh_aws_cpi.tools.checks.cloud_config import Files
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.findings import Finding, Severity

_FEW: Final = 10
"""With fewer free addresses, a subnet gets a note."""
_RAISE: Final = "Ask AWS to raise the quota (Service Quotas, Amazon EC2)"
_CREATE_ENV: Final = "bosh-init"
"""The value of the tag `director` of a VM that `bosh create-env` created."""
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
            yield Finding(Severity.ERROR, what, _DIVIDE, count.place, "EC2")


def _is_swapped(group: Node) -> bool:
    """Whether all new VMs are created before old ones are deleted (BOSH: should_create_swap_delete?)."""
    strategies = [each.get("update", "vm_strategy") for each in (group, group.document.root)]
    is_static = any(each.get("static_ips") for each in hashes(group.get("networks")))
    return not is_static and text_of(next(filter(None, strategies), None)) == _SWAP


def findings(files: Files, account: Account) -> Iterator[Finding]:
    """Compare the subnets and the quotas with what the files need."""
    there, ec2 = things.subnets_of(account, files) or {}, account.clients.ec2
    known = [(entry, node, there[str(node.value)]) for entry, node in files.subnet_ids if node.value in there]
    for entry, node, facts in known:
        yield from _of_subnet(entry, node, facts)
    manual = {
        entry: str(entry.at("cloud_properties", "subnet").value) for entry, _, _ in known if _range(entry)
    }
    ids = {*manual.values()}
    held = account.listing("addresses", partial(network_interfaces.held, ec2, ids)) if ids else None
    for entry, subnet_id in manual.items():
        others = [each for each in held or () if each.interface.subnet_id == subnet_id]
        yield from _taken(entry, others, is_for_create_env=files.is_for_create_env)
    if files.manifest is not None:
        types = things.types_of(account, cases.instance_types(files))
        quotas = account.listing("quotas", partial(capacity.quotas, account.clients.service_quotas))
        for who, needed in demand(files) if quotas is not None else ():
            yield from over_quota(
                who, needed, {name: each.vcpus for name, each in types.items()}, quotas or {}
            )


def _range(entry: Node) -> AnyNetwork | None:
    return range_of(entry.value.get("range"))


def _of_subnet(entry: Node, node: Node, facts: Subnet) -> Iterator[Finding]:
    """A subnet must be available, with the range of the file, and should have free addresses."""
    if facts.state != "available":
        what = f"subnet '{facts.subnet_id}' is {facts.state}"
        yield Finding(Severity.WARNING, what, "Wait until it is available", node.place, "AWS")
    if what := placement.without_ipv4(facts):
        yield Finding(
            Severity.WARNING, what, "If VMs don't answer, use a dual-stack subnet", node.place, "AWS"
        )
    if facts.free < _FEW and facts.range:
        what = f"subnet '{facts.subnet_id}' has only {facts.free} free IPv4 addresses"
        yield Finding(Severity.NOTE, what, "Use a larger subnet", node.place, "AWS")
    wanted, there = _range(entry), [each for text in facts.ranges if (each := range_of(text)) is not None]
    if wanted is not None and there and wanted not in there:
        is_part, ranges = any(within(wanted, whole) for whole in there), ", ".join(facts.ranges)
        relation = "only a part of" if is_part else "not within"
        what = f"{wanted} is {relation} subnet '{facts.subnet_id}', which has {ranges}"
        remedy, place = f"Use {ranges}, and reserve what VMs must not get", entry.at("range").place
        yield Finding(Severity.WARNING if is_part else Severity.ERROR, what, remedy, place, "AWS")


def _taken(entry: Node, held: Sequence[Held], *, is_for_create_env: bool) -> Iterator[Finding]:
    """Addresses that interfaces hold of which BOSH does not know, and that it may give to VMs.

    Static ones can't be reserved, too, because the Director refuses that. create-env gives only those.
    """
    whole = _range(entry)
    others = [each for each in held if not is_known(each, is_for_create_env=is_for_create_env)]
    others = [each for each in others if whole is not None and whole.overlaps(each.network)]
    kept = kept_by_aws(whole) if whole is not None else []
    for key in ("reserved", "static", "gateway"):
        for node, blocks in ranges_of(entry.get(key)):
            kept += blocks
            for each in others if key == "static" else ():
                if any(map(each.network.overlaps, blocks)):
                    about = f" ({each.interface.description})" if each.interface.description else ""
                    what = (
                        f"interface '{each.interface.nic_id}'{about}, which the Director does not know, "
                        f"holds {_shown(each.network)}: no VM can be created with this static address"
                    )
                    yield Finding(Severity.WARNING, what, "Use another address", node.place, "AWS")
    free = {each.network for each in others if not any(within(each.network, one) for one in kept)}
    four: list[AnyNetwork] = [*collapse_addresses(each for each in free if isinstance(each, IPv4Network))]
    six = collapse_addresses(each for each in free if isinstance(each, IPv6Network))
    listed = [_shown(each) for each in (*four, *six)]
    if listed and not is_for_create_env and not entry.at("reserved").has_variables:
        what = f"BOSH may choose addresses that interfaces it does not know hold: {', '.join(listed)}"
        quoted = [f'"{each}"' if ":" in each else each for each in listed]  # YAML might read a number
        remedy = f"Add to reserved: [{', '.join(quoted)}]"
        yield Finding(Severity.WARNING, what, remedy, entry.at("range").place, "AWS")


def is_known(held: Held, *, is_for_create_env: bool) -> bool:
    """Whether an interface belongs to a VM of BOSH: for create-env its own one, else any Director's.

    This CPI tags its interfaces. The Ruby release does not, but its VMs have the tags of set_vm_metadata. A
    Director keeps its own address free.
    """
    if is_for_create_env:
        return held.of_instance.get("director") == _CREATE_ENV
    is_of_ruby = "deployment" in held.of_instance and not VM_METADATA.isdisjoint(held.of_instance)
    return DIRECTOR_TAG in held.interface.tags or DIRECTOR_TAG in held.of_instance or is_of_ruby


def _shown(network: AnyNetwork) -> str:
    return str(network[0] if network.num_addresses == 1 else network)


def demand(files: Files) -> Iterator[tuple[str, Counter[tuple[str, str]]]]:
    """Who needs how many instances of each type and market, "demand" or "spot".

    The Director deletes the VMs that compile before it creates the others (BOSH: jobs/update_deployment.rb,
    PackageCompileStage before UpdateStage). A number or a type that is a variable is left out. Fallback types
    are not counted, nor are errands, VMs on Dedicated Hosts, which have quotas of their own, and those that
    name a capacity reservation, which may be another account's.
    """
    deployed: Counter[tuple[str, str]] = Counter()
    compiling: Counter[tuple[str, str]] = Counter()
    for case in {each.user: each for each in cases.of_deployment(files)}.values():
        count = case.user.get("workers") or case.user.get("instances")
        vm = read_known(VmProperties, case.cloud_properties)
        is_apart = case.properties.keys() & {"dedicated_host", "capacity_reservation"}
        if vm is None or is_apart or text_of(case.user.get("lifecycle")) == "errand":
            continue
        if vm.instance_type and count is not None and isinstance(count.value, int):
            found = compiling if case.user is files.compilation else deployed
            found[vm.instance_type, "spot" if vm.is_spot else "demand"] += count.value
    yield "the instance groups need", deployed
    yield "compilation.workers need", compiling


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
