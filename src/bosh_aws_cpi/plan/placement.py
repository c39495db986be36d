"""The availability zone of a VM, and whether its subnets, their fallbacks and its disks agree on it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from bosh_aws_cpi.model import NicPlan, Subnet, Volume
from bosh_aws_cpi.properties.network import NetworkCloudProperties
from bosh_aws_cpi.properties.types import Problem


def vpc_problems(subnets: Sequence[Subnet]) -> Iterator[Problem]:
    """Why a VM can't be in all of these subnets: they lie in several VPCs."""
    vpc_ids = list(dict.fromkeys(subnet.vpc_id for subnet in subnets))
    if len(vpc_ids) > 1:
        where = ", ".join(f"'{subnet.subnet_id}' is in {subnet.vpc_id}" for subnet in subnets)
        text = (
            f"All nic groups must be in the same VPC. Found subnets in VPCs: {', '.join(vpc_ids)}. "
            f"{where}: give each of the VM's networks a subnet of the same VPC"
        )
        yield Problem("networks", text)


SETTINGS_BY_IPV4: Final = (
    "a stemcell's agent reads its settings only from http://169.254.169.254, for which it needs the "
    "link-local IPv4 address that EC2's DHCP offers"
)
"""Why an agent may get no settings in an IPv6-only subnet (docs/aws-assumptions.md, `ipv6-only-metadata`)."""


def ipv6_only_problem(subnet: Subnet) -> str:
    """Why the agent of a VM in this subnet may get no settings; empty for subnets with IPv4."""
    return (
        "" if "IPv4" in subnet.families else f"subnet '{subnet.subnet_id}' is IPv6-only: {SETTINGS_BY_IPV4}"
    )


def families(plan: NicPlan, subnet: Subnet) -> frozenset[str]:
    """The families of the addresses that an interface will have, "ipv4" and "ipv6"."""
    given = {"ipv6"} if plan.ipv6_address else set()  # an IPv4 address needs a subnet that gives such ones
    return frozenset(map(str.lower, subnet.families)) | given


def zone_problems(
    name: str, subnets: Sequence[Subnet], vm_zone: str | None, disks: Sequence[Volume], *, is_any_zone: bool
) -> Iterator[Problem]:
    """Why the subnets, the VM and its disks, which EC2 can't move, are not in one zone.

    Args:
        name: The name of the first subnet's network.
        subnets: The subnets.
        vm_zone: The cloud properties' ``availability_zone``; None without one.
        disks: The disks, with duplicates.
        is_any_zone: Whether the VM may be in any zone with a subnet; only the remedy depends on it.
    """
    subnet_zone, *others = dict.fromkeys(subnet.availability_zone for subnet in subnets)
    if others:
        text = (
            "All nic groups must be in the same availability zone. Found subnets in zones: "
            f"{', '.join([subnet_zone, *others])}. {_with_zones(subnets)}: "
            "give each of the VM's networks a subnet of the same zone in this az"
        )
        yield Problem("networks", text)
        return
    disk_zones = [disk.availability_zone for disk in disks]
    if not vm_zone or {subnet_zone, vm_zone, *disk_zones} == {vm_zone}:
        return
    volumes = f", and volume in {', '.join(disk_zones)}" if disk_zones else ""
    remedy = "a disk can't leave its zone, so the az of its VM must stay in that zone"
    if subnet_zone != vm_zone:
        remedy = "correct availability_zone, or use a subnet of that zone in this az"
    elif is_any_zone:
        remedy = (
            "a disk can't leave its zone: all of the VM's disks must be in one zone, for which "
            "subnet_fallbacks has a subnet"
        )
    text = (
        f"can't use multiple availability zones: subnet in {subnet_zone}, VM in {vm_zone}{volumes}. "
        f"{_with_zones([*subnets, *disks])}: {remedy}"
    )
    yield Problem(f"networks.{name}.cloud_properties.subnet", text, ("availability_zone",))


def _with_zones(resources: Sequence[Subnet | Volume]) -> str:
    """Each subnet and disk with its zone."""
    ids = (each.subnet_id if isinstance(each, Subnet) else each.disk_cid for each in resources)
    zones = (each.availability_zone for each in resources)
    return ", ".join(dict.fromkeys(f"'{one}' is in {zone}" for one, zone in zip(ids, zones, strict=True)))


def leaving_problems(plan: NicPlan) -> Iterator[Problem]:
    """Why a VM with ``zone_fallback`` and this first interface can't be in another zone."""
    if not plan.fallback_subnets:
        text = (
            f"zone_fallback needs subnet_fallbacks: network '{plan.group}' has none. Give the VM a dynamic "
            "network whose subnet_fallbacks are in other zones, or remove zone_fallback"
        )
        yield Problem("zone_fallback", text)


def subnet_problems(
    name: str, network: NetworkCloudProperties, subnets: Mapping[str, Subnet], *, is_any_zone: bool
) -> Iterator[Problem]:
    """Why a VM can't be in a network's subnets: one does not exist, or a fallback is unlike the first subnet.

    Args:
        name: The network's name.
        network: Its properties.
        subnets: The subnets that exist, by id.
        is_any_zone: Whether the fallbacks may be in any zone.
    """
    path = f"networks.{name}.cloud_properties"
    named = {"subnet": network.subnet} if network.subnet else {}  # without, it has its nic group's
    named |= {f"subnet_fallbacks.{index}": each for index, each in enumerate(network.subnet_fallbacks)}
    first = subnets.get(str(network.subnet))
    for key, subnet_id in named.items():
        if (subnet := subnets.get(subnet_id)) is None:
            text = f"Subnet not found: {subnet_id}. Check subnet and subnet_fallbacks in the networks' "
            yield Problem(f"{path}.{key}", f"{text}cloud_properties")
        elif first is not None and (text := _difference(first, subnet, is_any_zone=is_any_zone)):
            yield Problem(f"{path}.{key}", f"{path}.subnet_fallbacks: {text}", ("zone_fallback",))


def _difference(first: Subnet, subnet: Subnet, *, is_any_zone: bool) -> str:
    """Why a subnet can't be a fallback of another one; empty if it can.

    It is in a wrong zone or another VPC, or gives interfaces addresses of other families.
    """
    if not is_any_zone and subnet.availability_zone != first.availability_zone:
        return (
            f"'{subnet.subnet_id}' is in zone {subnet.availability_zone}, "
            f"but subnet '{first.subnet_id}' is in {first.availability_zone}: set zone_fallback for "
            f"the VM, or use a subnet in {first.availability_zone}"
        )
    if subnet.vpc_id != first.vpc_id:
        return (
            f"'{subnet.subnet_id}' is in VPC '{subnet.vpc_id}', but subnet '{first.subnet_id}' is in "
            f"'{first.vpc_id}'"
        )
    if subnet.families != first.families:
        own, others = (" and ".join(sorted(each.families)) for each in (subnet, first))
        return (
            f"'{subnet.subnet_id}' gives interfaces {own} addresses, but subnet '{first.subnet_id}' gives "
            f"them {others} addresses"
        )
    return ""
