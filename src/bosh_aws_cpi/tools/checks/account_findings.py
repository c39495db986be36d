"""What the account has: things that properties name, and room for a deployment: quotas, ranges of subnets."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from functools import partial, reduce
from typing import Any, Final, cast

from bosh_aws_cpi.aws import (
    capacity,
    firewalls,
    instance_types,
    instances,
    kms_keys,
    placement_groups,
    subnets,
)
from bosh_aws_cpi.aws.instance_types import TypeDetails
from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.cpi.vms.create.gather import VmFacts
from bosh_aws_cpi.cpi.vms.create.parse import WantedVm
from bosh_aws_cpi.model import Encryption, Subnet
from bosh_aws_cpi.plan import placement, type_table
from bosh_aws_cpi.plan.nics import is_group_id
from bosh_aws_cpi.plan.spread import MAX_RUNNING
from bosh_aws_cpi.properties.types import Problem
from bosh_aws_cpi.properties.vm import VmProperties
from bosh_aws_cpi.tools.checks import requests
from bosh_aws_cpi.tools.checks.addresses import is_within, range_of
from bosh_aws_cpi.tools.checks.bosh_rules import hashes, text_of
from bosh_aws_cpi.tools.checks.cloud_config import Files
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.lookups import Account
from bosh_aws_cpi.tools.checks.property_values import name_in_arn, near_existing, near_type
from bosh_aws_cpi.tools.checks.references import names_in
from bosh_aws_cpi.tools.checks.requests import AWS, ZONE, Refusal
from bosh_aws_cpi.tools.findings import Finding, Severity

_THINGS: Final[tuple[tuple[str, str, str, Any], ...]] = (
    ("key_name", "key pair", "ec2", instances.key_pairs),
    ("iam_instance_profile", "instance profile", "iam", instances.instance_profiles),
    ("placement_group", "placement group", "ec2", placement_groups.find_all_by_name),
    ("capacity_reservation.id", "capacity reservation", "ec2", capacity.reservations),
    ("dedicated_host.id", "Dedicated Host", "ec2", capacity.hosts),
)
"""The property, what it names, and the service and the listing that know all of these."""


def of_vm(
    wanted: WantedVm, facts: VmFacts, aws: AwsConfig, account: Account, types: Collection[str]
) -> Iterator[Refusal]:
    """What is wrong with the things that a VM names, or else the configuration.

    Args:
        wanted: The VM.
        facts: What create_vm looks up.
        aws: The configuration.
        account: The account.
        types: All instance types of the files, which are looked up together.
    """
    vm = wanted.properties
    if account.is_offline:
        return
    yield from _offers(vm, account, types, aws)
    for key, kind, service, list_all in _THINGS:
        own: Any = reduce(lambda each, name: getattr(each, name, None), key.split("."), cast("Any", vm))
        name, default = own or getattr(aws, f"default_{key}", None), "" if own else "aws.default_"
        if not name or (own and name_in_arn(own)):
            continue
        there = account.listing(key, partial(list_all, getattr(account.clients, service)))
        shown = f"{kind} '{name}'"
        if there is not None and name not in there:
            remedy = f"Use its name, {inner}" if (inner := name_in_arn(name)) in there else ""
            text = f"there is no {shown}. {remedy or near_existing(name, there)}"
            yield Refusal(Problem(f"{default}{key}", text), source=AWS)
        elif isinstance(there, Mapping) and (why := there[name].misfit(vm)):
            text = f"{shown} {why}. Use another one, or correct what names it"
            yield Refusal(Problem(key, text, (ZONE, "instance_type", "tenancy")), source=AWS)
    for subnet in [*(facts.subnets or {}).values()][:1]:
        yield from _groups(wanted.groups, subnet.vpc_id, account)
    for _, encryption in wanted.disk_defaults.encryptions(vm.root_disk, vm.ephemeral_disk).values():
        yield from of_key(encryption, account)


def subnets_of(account: Account, files: Files) -> Mapping[str, Subnet] | None:
    """The subnets of the files that exist, by id; None if AWS does not say it."""
    ids = {str(node.value) for _, node in files.subnet_ids}
    return account.listing("subnets", lambda: subnets.find_by_id(account.clients.ec2, ids)) if ids else {}


def types_of(account: Account, names: Collection[str]) -> Mapping[str, TypeDetails]:
    """The instance types that exist, by name; none if AWS does not say it."""
    return account.listing("instance types", lambda: instance_types.types(account.clients.ec2, names)) or {}


def of_key(encryption: Encryption, account: Account) -> Iterator[Refusal]:
    """What is wrong with the KMS key that encrypts a disk."""
    name, key = encryption.kms_key_arn, encryption.key_source.removeprefix("cloud_properties.")
    if not encryption.encrypted or not name:
        return
    state = account.ask("kms_key_arn", lambda: [kms_keys.state(account.clients.kms, name)])
    if state == [None]:
        yield Refusal(
            Problem(key, f"there is no KMS key '{name}'. Create it, or correct its name"), source=AWS
        )
    elif state and state != [kms_keys.ENABLED]:
        text = f"KMS key '{name}' is {state[0]}: EBS can't encrypt with it. Enable it, or use another one"
        yield Refusal(Problem(key, text), source=AWS)


def _groups(groups: Mapping[str, str], vpc_id: str, account: Account) -> Iterator[Refusal]:
    """Security groups that are named by id: one of another VPC must be associated with the VM's."""
    ids, ec2 = [each for each in groups if is_group_id(each)], account.clients.ec2
    found = account.ask("security_groups", lambda: firewalls.groups_by_id(ec2, ids)) if ids else None
    others = [each.group_id for each in (found or {}).values() if each.vpc_id != vpc_id]
    states: Mapping[tuple[str, str], str] | None = {}
    if others:
        states = account.ask("security_groups", lambda: firewalls.group_associations(ec2, others))
    for group_id in ids if found is not None else ():
        state = "associated" if states is None else states.get((group_id, vpc_id), "not associated")
        if group_id not in (found or {}):
            text = f"there is no security group '{group_id}'. Correct its id"
            yield Refusal(Problem(groups[group_id], text), source=AWS)
        elif found is not None and group_id in others and state != "associated":
            text = (
                f"security group '{group_id}' belongs to VPC '{found[group_id].vpc_id}', and is {state} "
                f"with '{vpc_id}'. Use a group of '{vpc_id}', or associate this one: aws ec2 "
                "associate-security-group-vpc. EC2 associates neither default groups nor default VPCs"
            )
            yield Refusal(Problem(groups[group_id], text), source=AWS)


def _offers(vm: VmProperties, account: Account, types: Collection[str], aws: AwsConfig) -> Iterator[Refusal]:
    """A zone that does not exist; types that it does not offer: an error if no VM can be created.

    create_vm tries the next type if a zone does not offer one, but not if a type does not exist.
    """
    zone, ec2 = vm.availability_zone, account.clients.ec2
    names = [each for each in vm.instance_types if each in types]
    described = types_of(account, types) if aws.enable_describe_instance_types else {}
    existing = [each for each in types if each in described or type_table.row(each)]
    look_up = partial(instance_types.offers, ec2, types)
    offered = account.listing("instance_type", look_up, may_be_empty=not existing) if types else None
    if offered is None or not zone:
        return
    if zone not in {place for _, place in offered}:
        zones = account.listing(ZONE, partial(subnets.zones, ec2), may_be_empty=False) or {zone}
        if zone not in zones:
            text = f"zone '{zone}' does not exist in {aws.region}, or the account can't use it"
            yield Refusal(Problem(ZONE, f"{text}. Use {', '.join(sorted(zones))}"), source=AWS)
            return
    offering = {name: sorted(each for kind, each in offered if kind == name) for name in names}
    ends = next((not offering[name] for name in names if not offering[name] or zone in offering[name]), None)
    is_error = ends is True or (ends is None and len(names) == len(vm.instance_types))
    for name in (each for each in names if zone not in offering[each]):
        text = f"zone {zone} does not offer type '{name}'; these do: {', '.join(offering[name])}"
        if not offering[name]:
            text = f"there is no instance type '{name}' in {aws.region}. {near_type(name)}".removesuffix(". ")
            text = f"no zone of {aws.region} offers type '{name}'" if name in existing else text
        key = "instance_type" if name == vm.instance_type else "instance_type_fallbacks"
        severity = Severity.ERROR if is_error else Severity.WARNING
        yield Refusal(Problem(key, text, (ZONE,)), severity, AWS)


_FEW_ADDRESSES: Final = 10
"""With fewer free addresses, a subnet gets a note."""
_RAISE: Final = "Ask AWS to raise the quota (Service Quotas, Amazon EC2)"
_SWAP: Final = "create-swap-delete"
_DIVIDE: Final = (
    "Give the instance group more azs, divide it into several, use spread: prefer, or remove spread"
)


def crowded_groups(files: Files) -> Iterator[Finding]:
    """Find groups with `spread` that have more VMs than EC2 runs in a spread placement group.

    Some zone has too many if all of them together do, however the Director distributes the instances.
    """
    zones: dict[Node, set[str]] = {}
    for case in requests.of_deployment(files):
        if case.cloud_properties.get("spread") is True:
            zone = case.properties.get(requests.ZONE)
            zones.setdefault(case.user, set()).add(text_of(zone) or str(id(zone)))
    for user, there in zones.items():
        if any(files.find("azs", name) not in files.own_azs for name in names_in(user.get("azs"))):
            continue  # others of its VMs are elsewhere
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
    there = subnets_of(account, files) or {}
    for entry, node in files.subnet_ids:
        if node.value in there:
            yield from _of_subnet(entry, node, there[node.value])
    if files.manifest is not None:
        types = types_of(account, requests.instance_types(files))
        look_up = partial(capacity.quotas, account.clients.service_quotas)
        quotas = account.listing("quotas", look_up, may_be_empty=False) or {}
        for who, needed in demand(files):
            yield from over_quota(who, needed, {name: each.vcpus for name, each in types.items()}, quotas)


def _of_subnet(entry: Node, node: Node, facts: Subnet) -> Iterator[Finding]:
    """A subnet should have the range of the file, IPv4, and free addresses."""
    if what := placement.ipv6_only_problem(facts):
        remedy = "If VMs don't answer, use a dual-stack subnet"
        yield Finding(Severity.WARNING, what, remedy, node.place, "AWS")
    if facts.free < _FEW_ADDRESSES and facts.range:
        what = f"subnet '{facts.subnet_id}' has only {facts.free} free IPv4 addresses"
        yield Finding(Severity.NOTE, what, "Use a larger subnet", node.place, "AWS")
    wanted = range_of(entry.value.get("range"))
    there = [each for text in facts.ranges if (each := range_of(text)) is not None]
    if wanted is not None and there and wanted not in there:
        is_part, ranges = any(is_within(wanted, whole) for whole in there), ", ".join(facts.ranges)
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
    for case in {each.user: each for each in requests.of_deployment(files)}.values():
        count = case.user.get("workers") or case.user.get("instances")
        given = case.cloud_properties
        is_apart = case.properties.keys() & {"dedicated_host", "capacity_reservation"}
        if is_apart or "instance_type" in case.unknown or text_of(case.user.get("lifecycle")) == "errand":
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
