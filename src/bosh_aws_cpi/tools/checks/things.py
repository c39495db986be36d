"""What create_vm does not look up, because RunInstances says it: does it exist, and does it fit the VM?"""

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any, Final

from bosh_aws_cpi.aws import firewalls, instance_types, instances, kms_keys, placement_groups, subnets
from bosh_aws_cpi.aws.instance_types import ACTIVE, Host, Reservation, TypeDetails
from bosh_aws_cpi.aws.placement_groups import PlacementGroup
from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.cpi.vms.create.parse import WantedVm
from bosh_aws_cpi.log import counted
from bosh_aws_cpi.model import Encryption, Subnet
from bosh_aws_cpi.plan.nics import is_group_id
from bosh_aws_cpi.properties.types import Problem
from bosh_aws_cpi.properties.vm import VmProperties
from bosh_aws_cpi.tools.checks.account import Account
from bosh_aws_cpi.tools.checks.cloud_config import Files
from bosh_aws_cpi.tools.checks.property_values import is_no_zone, name_in_arn, near_existing, near_type
from bosh_aws_cpi.tools.findings import Severity

Found = Iterator[tuple[Severity, Problem]]
_TO_COME: Final = frozenset({"assessing", "delayed", "payment-pending", "pending", "scheduled"})
"""States of a reservation that may become active (EC2's API model, CapacityReservation, State)."""
_ZONE: Final = "availability_zone"


def of_vm(wanted: WantedVm, vpc_id: str, aws: AwsConfig, account: Account, types: Collection[str]) -> Found:
    """What is wrong with the things that a VM names.

    Args:
        wanted: The VM.
        vpc_id: Its VPC; empty if that is not known.
        aws: The configuration.
        account: The account.
        types: All instance types of the files, which are looked up together.
    """
    vm, ec2 = wanted.properties, account.clients.ec2
    yield from _offers(vm, account, types, aws.region)
    yield from _named(vm, aws, account)
    if name := vm.placement_group:
        groups = account.listing("placement_group", partial(placement_groups.by_name, ec2))
        yield from _judged("placement_group", "placement group", name, groups, vm, _has_partition)
    if vm.capacity_reservation and (name := vm.capacity_reservation.id):
        key = "capacity_reservation.id"
        reservations = account.listing(key, partial(instance_types.reservations, ec2))
        yield from _judged(key, "capacity reservation", name, reservations, vm, _reserves)
        if reservations and name in reservations and (doubt := _has_no_room(reservations[name])):
            yield Severity.WARNING, Problem(key, f"capacity reservation '{name}' {doubt}")
    if vm.dedicated_host and (name := vm.dedicated_host.id):
        hosts = account.listing("dedicated_host.id", partial(instance_types.hosts, ec2))
        yield from _judged("dedicated_host.id", "Dedicated Host", name, hosts, vm, _hosts)
    if vpc_id:
        yield from _groups(wanted.groups, vpc_id, account)
    for _, encryption in wanted.disk_defaults.encryptions(vm.root_disk, vm.ephemeral_disk).values():
        yield from of_key(encryption, account)


def subnets_of(account: Account, files: Files) -> Mapping[str, Subnet] | None:
    """The subnets of the files that exist, by id; None if AWS does not say it."""
    nodes = [
        each.get("cloud_properties", key)
        for _, each in files.subnets
        for key in ("subnet", "subnet_fallbacks")
    ]
    ids = {str(text.value) for each in nodes if each is not None for text in each.texts()}
    return account.listing("subnets", partial(subnets.by_id, account.clients.ec2, ids)) if ids else {}


def types_of(account: Account, names: Collection[str]) -> Mapping[str, TypeDetails]:
    """The instance types that exist, by name; none if AWS does not say it."""
    return account.listing("instance types", partial(instance_types.types, account.clients.ec2, names)) or {}


def _named(vm: VmProperties, aws: AwsConfig, account: Account) -> Found:
    """Key pair and instance profile: the VM's own, or else the configuration's."""
    for key, kind, listing in (
        ("key_name", "key pair", lambda: instances.key_pairs(account.clients.ec2)),
        (
            "iam_instance_profile",
            "instance profile",
            lambda: instances.instance_profiles(account.clients.iam),
        ),
    ):
        own, default = getattr(vm, key), getattr(aws, f"default_{key}")
        if (name := own or default) and not (own and name_in_arn(own)):
            there = account.listing(key, listing)
            yield from _judged(key if own else f"aws.default_{key}", kind, name, there, vm)


def _groups(groups: Mapping[str, str], vpc_id: str, account: Account) -> Found:
    """Security groups that are named by id: one of another VPC must be associated with the VM's."""
    ids, ec2 = [each for each in groups if is_group_id(each)], account.clients.ec2
    if (
        not ids
        or (found := account.ask("security_groups", lambda: firewalls.groups_by_id(ec2, ids))[0]) is None
    ):
        return
    others = [each.group_id for each in found.values() if each.vpc_id != vpc_id]
    states: Mapping[tuple[str, str], str] | None = {}
    if others:
        states, _ = account.ask("security_groups", lambda: firewalls.group_associations(ec2, others))
    for group_id in ids:
        state = "associated" if states is None else states.get((group_id, vpc_id), "not associated")
        if group_id not in found:
            text = f"there is no security group '{group_id}'. Correct its id"
        elif group_id in others and state != "associated":
            text = (
                f"security group '{group_id}' is of VPC '{found[group_id].vpc_id}', and {state} with "
                f"'{vpc_id}'. Use a group of that VPC, or associate it (aws ec2 "
                "associate-security-group-vpc; neither default groups nor default VPCs)"
            )
        else:
            continue
        yield Severity.ERROR, Problem(groups[group_id], text)


def of_key(encryption: Encryption, account: Account) -> Found:
    """What is wrong with the KMS key that encrypts a disk."""
    name, key = encryption.kms_key_arn, encryption.key_source.removeprefix("cloud_properties.")
    if not encryption.encrypted or not name:
        return
    state, _ = account.ask("kms_key_arn", lambda: [kms_keys.state(account.clients.kms, name)])
    if state == [None]:
        yield Severity.ERROR, Problem(key, f"there is no KMS key '{name}'. Create it, or correct its name")
    elif state and state != [kms_keys.ENABLED]:
        text = f"KMS key '{name}' is {state[0]}: EBS can't encrypt with it. Enable it, or use another one"
        yield Severity.ERROR, Problem(key, text)


def _offers(vm: VmProperties, account: Account, types: Collection[str], region: str) -> Found:
    """A zone that does not exist; types that it does not offer: an error if no VM can be created.

    create_vm tries the next type if a zone does not offer one, but not if a type does not exist.
    """
    zone, names, ec2 = (
        vm.availability_zone,
        [each for each in vm.instance_types if each in types],
        account.clients.ec2,
    )
    offered = account.listing("instance_type", partial(instance_types.offers, ec2, types)) if names else None
    if offered is None or not zone:
        return
    if zone not in {place for _, place in offered}:
        zones = account.listing(_ZONE, partial(subnets.zones, ec2)) or {zone}
        if zone not in zones and not is_no_zone(zone):  # the check without AWS reports those
            text = f"zone '{zone}' does not exist in {region}, or the account can't use it"
            yield Severity.ERROR, Problem(_ZONE, f"{text}. Use {', '.join(sorted(zones))}")
        if zone not in zones:
            return
    offering = {name: sorted(each for kind, each in offered if kind == name) for name in names}
    ends = next((not offering[name] for name in names if not offering[name] or zone in offering[name]), None)
    is_error = ends is True or (ends is None and len(names) == len(vm.instance_types))
    for name in (each for each in names if zone not in offering[each]):
        text = f"zone {zone} does not offer type '{name}'; these do: {', '.join(offering[name])}"
        if not offering[name]:
            near = near_type(name)
            text = f"there is no instance type '{name}' in {region}{f'. {near}' if near else ''}"
        key = "instance_type" if name == vm.instance_type else "instance_type_fallbacks"
        yield Severity.ERROR if is_error else Severity.WARNING, Problem(key, text, (_ZONE,))


def _judged(
    key: str,
    kind: str,
    name: str,
    there: Collection[str] | None,
    vm: VmProperties,
    judge: Callable[[str, Any, VmProperties], str] = lambda *_: "",
) -> Found:
    """What is wrong with something: it does not exist, or does not fit the VM."""
    shown = f"{kind} '{name}'"
    if there is not None and name not in there:
        own = name_in_arn(name) if name_in_arn(name) in there else ""
        remedy = f"Use its name, {own}" if own else near_existing(name, there)
        yield Severity.ERROR, Problem(key, f"there is no {shown}. {remedy}")
    elif isinstance(there, Mapping) and (text := judge(shown, there[name], vm)):
        text = f"{text}. Use another one, or correct what names it"
        yield Severity.ERROR, Problem(key, text, (_ZONE, "instance_type", "tenancy"))


def _has_partition(name: str, group: PlacementGroup, vm: VmProperties) -> str:
    """Why a group can't be used, or lacks a partition (EC2's API model, Placement, PartitionNumber)."""
    wanted = vm.placement_partition
    if group.state != "available":
        return f"{name} is {group.state}"
    if wanted is None:
        return ""
    if group.strategy and group.strategy != "partition":
        return f"{name} has no partitions: its strategy is {group.strategy}, not partition"
    if group.partitions and wanted > group.partitions:
        return f"{name} has {counted(group.partitions, 'partition')}, but placement_partition is {wanted}"
    return ""


def _reserves(name: str, entry: Reservation, vm: VmProperties) -> str:
    """Why a reservation never takes a VM; only the first type is launched in it."""
    market = (vm.capacity_reservation and vm.capacity_reservation.market) or ""
    if entry.state not in {ACTIVE, *_TO_COME}:
        return f"{name} is in state {entry.state}, not {ACTIVE}"
    if entry.instance_type not in {vm.instance_type, ""}:
        return f"{name} is for {entry.instance_type}, but the VM's type is {vm.instance_type}"
    if vm.tenancy == "dedicated" != entry.tenancy:
        return f"{name} is for VMs with tenancy {entry.tenancy}, but the VM's is dedicated"
    if market != entry.market:
        kind = f"the market type {entry.market}" if entry.market else "no market type"
        return f"{name} has {kind}, but capacity_reservation.market is {market or 'not set'}"
    return _elsewhere(name, entry.zone, vm)


def _has_no_room(entry: Reservation) -> str:
    """Why a reservation may take no VM yet; one that shows pending may take launches already.

    EC2 user guide, "View the state of a Capacity Reservation".
    """
    if entry.state in _TO_COME:
        return f"is in state {entry.state}, not {ACTIVE}: EC2 may refuse the VM until it is"
    return "has no room left for new VMs" if entry.state == ACTIVE and not entry.free else ""


def _hosts(name: str, entry: Host, vm: VmProperties) -> str:
    if entry.state != "available":
        return f"{name} is in state {entry.state}, not available"
    if not entry.runs(str(vm.instance_type)):
        return f"{name} runs {entry.instance_type or entry.family}, but the VM's type is {vm.instance_type}"
    return _elsewhere(name, entry.zone, vm)


def _elsewhere(name: str, zone: str, vm: VmProperties) -> str:
    is_elsewhere = zone and vm.availability_zone != zone
    return f"{name} is in zone {zone}, but the VM in {vm.availability_zone}" if is_elsewhere else ""
