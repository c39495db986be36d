"""Chooses an instance type by size, for calculate_vm_cloud_properties."""

from collections.abc import Collection, Sequence

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json, type_name
from bosh_aws_cpi.plan import type_table
from bosh_aws_cpi.plan.instance_types import XEN_FAMILIES
from bosh_aws_cpi.records import Record


class VmSize(Record):
    """An instance type with its vCPUs and its memory in MiB."""

    name: str
    cpu: int
    ram: int


VM_SIZES = (
    VmSize("t2.nano", 1, 512),
    VmSize("t2.micro", 1, 1024),
    VmSize("t2.small", 1, 2048),
    VmSize("c5.large", 2, 4096),
    VmSize("m5.large", 2, 8192),
    VmSize("r5.large", 2, 16384),
    VmSize("c5.xlarge", 4, 8192),
    VmSize("m5.xlarge", 4, 16384),
    VmSize("r5.xlarge", 4, 32768),
    VmSize("c5.2xlarge", 8, 16384),
    VmSize("m5.2xlarge", 8, 32768),
    VmSize("r5.2xlarge", 8, 65536),
    VmSize("c5.4xlarge", 16, 32768),
    VmSize("m5.4xlarge", 16, 65536),
    VmSize("r5.4xlarge", 16, 131072),
    VmSize("c5.9xlarge", 36, 73728),
    VmSize("m5.8xlarge", 32, 131072),
    VmSize("r5.8xlarge", 32, 262144),
    VmSize("c5.12xlarge", 48, 98304),
    VmSize("m5.12xlarge", 48, 196608),
    VmSize("r5.12xlarge", 48, 393216),
    VmSize("m5.16xlarge", 64, 262144),
    VmSize("r5.16xlarge", 64, 524288),
)
"""The types of the Ruby CPI in order of preference. A manifest with sizes must keep its instance types, so
the order is that of the Ruby CPI, without newer families."""

_SIZE_KEYS = ("cpu", "ram", "ephemeral_disk_size")
_MIB_PER_VCPU = 10 * 1024
"""The memory that costs as much as one vCPU: an estimate from the on-demand prices of C, M and R types.

For example c7i.large $0.08925, m7i.large $0.1008 and r7i.large $0.1323 an hour in us-east-1: 2 vCPUs with 4,
8 and 16 GiB. Source: aws/karpenter-provider-aws, pkg/providers/pricing/zz_generated.pricing_aws.go, of
2026-01-19, generated from AWS's price list.
"""


def cloud_properties(wanted: Json, sizes: Sequence[VmSize] = VM_SIZES) -> Json:
    """The cloud properties of the first instance type that is large enough.

    Args:
        wanted: ``cpu``, ``ram`` (MiB) and ``ephemeral_disk_size`` (MB).
        sizes: The types to choose from, in order of preference.

    Raises:
        CloudError: A key is missing or not a number, or no known type is large enough.
    """
    if missing := [f"'{key}'" for key in _SIZE_KEYS if wanted.get(key) is None]:
        raise CloudError(f"Missing VM cloud properties: {', '.join(missing)}")
    for key in _SIZE_KEYS:
        value = wanted[key]
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise CloudError(f"VM cloud property '{key}' must be a number, 0 or more, got {type_name(value)}")
    cpu, ram = wanted["cpu"], wanted["ram"]
    size = next((size for size in sizes if size.cpu >= cpu and size.ram >= ram), None)
    if size is None:
        largest = max(sizes, key=lambda size: (size.ram, size.cpu))
        raise CloudError(
            f"Unable to meet requested VM requirements: {cpu} CPU, {ram} RAM. "
            f"Largest known VM type is '{largest.name}': {largest.cpu} CPU, {largest.ram} RAM."
        )
    return {"instance_type": size.name, "ephemeral_disk": {"size": wanted["ephemeral_disk_size"]}}


def of_families(families: Sequence[str]) -> Sequence[VmSize]:
    """The types of these families, in the order of preference.

    That is: lowest estimated price, least memory, then the order of ``families``.

    Args:
        families: Names such as "m7i", from ``aws.vm_resources_families``; none for `VM_SIZES`.

    Raises:
        CloudError: The built-in table has no type of a family, which may be of a previous generation, or the
            families are of several architectures.
    """
    if not families:
        return VM_SIZES
    chosen: list[VmSize] = []
    architectures: dict[str, str] = {}
    for family in dict.fromkeys(families):
        if not (rows := type_table.sizes(family)):
            why = (
                f"'{family}' is no family of the built-in table of types: "
                "a family is the part of a type's name before the dot, such as m7i"
            )
            if family in XEN_FAMILIES:
                why = (
                    f"'{family}' is a family of a previous generation, on Xen: name a newer one, such as m7i"
                )
            raise CloudError(f"aws.vm_resources_families: {why}")
        chosen += [VmSize(name, cpu, ram) for name, cpu, ram, _ in rows]
        architectures[family] = rows[0][3]
    if len({*architectures.values()}) > 1:
        shown = ", ".join(f"{family} runs {architectures[family]}" for family in architectures)
        raise CloudError(
            f"aws.vm_resources_families: {shown}: name families of one architecture, that of the stemcells"
        )
    return sorted(chosen, key=lambda size: (size.cpu * _MIB_PER_VCPU + size.ram, size.ram))


def keep_offered(sizes: Sequence[VmSize], offered: Collection[str], region: str) -> Sequence[VmSize]:
    """The types that a region offers, in their order.

    Raises:
        CloudError: It offers none of them.
    """
    if not (kept := [size for size in sizes if size.name in offered]):
        families = ", ".join(dict.fromkeys(size.name.partition(".")[0] for size in sizes))
        raise CloudError(
            f"aws.vm_resources_by_region: {region} offers no type of {families}: name families in "
            "aws.vm_resources_families that it offers"
        )
    return kept
