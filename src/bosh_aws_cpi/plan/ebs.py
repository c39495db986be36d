"""The iops, throughput and smallest size that each type of EBS volume accepts; disks from snapshots.

From the EBS user guide, "Amazon EBS volume types", and for sizes also the API model, CreateVolumeRequest. The
methods don't refuse more than the maximum iops and sizes, because these grow from year to year, and EBS names
them in its errors; only the iops that ``iops_per_gib`` gives are cut to the maximum. They refuse too much
throughput, for which they would otherwise ask for more iops. The ratios have never changed.
"""

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.model import MIB_PER_GIB, Encryption, gib
from bosh_aws_cpi.properties.disk import DiskProperties
from bosh_aws_cpi.properties.types import Problem
from bosh_aws_cpi.properties.vm_disks import EphemeralDisk, RootDisk
from bosh_aws_cpi.records import Record


class VolumeType(Record):
    """The limits of a type of EBS volume; without values, a type that this version does not know."""

    most_gib: int = 65_536
    """The maximum size, over which `cpi check` finds an error."""
    least_gib: int = 0
    least_iops: int | None = None
    """None if it takes no iops."""
    iops_per_gib: int = 0
    """The maximum above ``least_iops``. EBS says: "Iops to volume size ratio of … is too high"."""
    most_iops: int = 0
    """The most iops that the property ``iops_per_gib`` gives, and over which `cpi check` finds an error."""
    needs_iops: bool = False
    takes_throughput: bool = False
    hibernates: bool = False
    """Whether a hibernated VM can have it (EC2 user guide, "Prerequisites for EC2 instance hibernation")."""
    boots: bool = True
    """Whether a VM can start from it (EBS user guide, "Amazon EBS volume types")."""

    @property
    def takes_iops(self) -> bool:
        """Whether it takes iops."""
        return self.least_iops is not None


AS_OF: Final = "2026-11"
"""The month of these limits, and of the API model whose words the properties have (`Field.examples`)."""
_GP3_BASELINE_IOPS: Final = 3000
_GP3_BASELINE_THROUGHPUT: Final = 125
_GP3_MOST_THROUGHPUT: Final = 2000
_GP3_IOPS_PER_MIBPS: Final = 4
VOLUME_TYPES: Final = {
    "gp3": VolumeType(
        65_536,
        least_iops=_GP3_BASELINE_IOPS,
        iops_per_gib=500,
        most_iops=80_000,
        takes_throughput=True,
        hibernates=True,
    ),
    "gp2": VolumeType(16_384, hibernates=True),
    "io1": VolumeType(
        16_384, 4, least_iops=100, iops_per_gib=50, most_iops=64_000, needs_iops=True, hibernates=True
    ),
    "io2": VolumeType(
        65_536, 4, least_iops=100, iops_per_gib=1000, most_iops=256_000, needs_iops=True, hibernates=True
    ),
    "st1": VolumeType(16_384, 125, boots=False),
    "sc1": VolumeType(16_384, 125, boots=False),
    "standard": VolumeType(1024),
}
"""The types by name: VolumeType of EC2's API model."""
_UNKNOWN_TYPE: Final = VolumeType()
_OTHER_STATES: Final = frozenset({"pending", "error", "recoverable", "recovering"})
"""The states of a snapshot that no disk can be made from: SnapshotState of EC2's API model."""


def limits_of(volume_type: str) -> VolumeType:
    """Return the limits of a type of EBS volume."""
    return VOLUME_TYPES.get(volume_type, _UNKNOWN_TYPE)


class EbsVolume(Record):
    """A volume that EBS is to create or change."""

    type: str
    """EBS's name: "gp3"."""
    iops: int | None = None
    throughput: int | None = None
    """MiB/s."""
    size_gib: int | None = None
    """None when it is not known."""
    iops_per_gib: int | None = None
    """The property that the iops come from, if it is given."""
    is_persistent: bool = False
    """Whether its disk has the property ``iops_per_gib`` at all."""
    is_root: bool = False
    """Whether a VM starts from it."""

    @property
    def limits(self) -> VolumeType:
        """The limits of the volume's type."""
        return limits_of(self.type)

    def figures(self) -> Json:
        """The Iops and Throughput that the volume has; for gp3, EBS's baseline if they are not given."""
        if self.type != "gp3":
            return {} if self.iops is None else {"Iops": self.iops}
        needed = (self.throughput or 0) * _GP3_IOPS_PER_MIBPS
        return {
            "Iops": max(_GP3_BASELINE_IOPS, needed) if self.iops is None else self.iops,
            "Throughput": self.throughput or _GP3_BASELINE_THROUGHPUT,
        }


def requested_gib(mib: int) -> int:
    """The size in GiB of a disk that a request asks for in MiB.

    Raises:
        CloudError: It is not more than 0.
    """
    if mib <= 0:
        raise CloudError(f"disk size must be more than 0 MiB, got {mib}")
    return gib(mib)


def of_disk(properties: DiskProperties, size_gib: int | None) -> EbsVolume:
    """The volume of a persistent disk; with ``iops_per_gib`` and no size, its iops are not known."""
    iops, ratio = properties.iops, properties.iops_per_gib
    if ratio is not None and size_gib is not None:
        limits = limits_of(properties.type)
        iops = max(min(ratio * size_gib, limits.most_iops), limits.least_iops or 0)
    return EbsVolume(properties.type, iops, properties.throughput, size_gib, ratio, is_persistent=True)


def of_vm(disk: RootDisk | EphemeralDisk, size_gib: int | None) -> EbsVolume:
    """The volume of a VM's disk."""
    is_root = isinstance(disk, RootDisk)
    return EbsVolume(disk.type, disk.iops, disk.throughput, size_gib, is_root=is_root)


class Refusal(Record):
    """Why EBS would refuse a volume."""

    key: str
    """The name of the wrong property."""
    why: str
    """What is wrong with it, for a sentence that begins with the name."""
    beside: Sequence[str] = ("type",)
    """The names of the properties with which it is wrong."""


class Origin(Record):
    """Where the properties of a volume stand, for messages."""

    path: str
    """The path of its own properties: "cloud_properties"."""
    default_path: str = ""
    """The path of their defaults."""
    inherited: AbstractSet[str] = frozenset()
    """The names of the properties that come from the defaults."""

    def sources(self, names: Iterable[str]) -> str:
        """Where inherited properties come from: " (type comes from …)", or ""."""
        origins = [
            f"{name} comes from {self.default_path}.{name}" for name in names if name in self.inherited
        ]
        return f" ({', '.join(origins)})" if origins else ""


def problems(volume: EbsVolume, what: str, origin: Origin, also: tuple[str, ...] = ()) -> Iterator[Problem]:
    """Why EBS would refuse a volume: the first reason for each of its properties.

    Args:
        volume: The volume.
        what: What it is, for the message: "disk", "root disk".
        origin: Where its properties stand.
        also: Other properties that have a part in its size.
    """
    path = f"{origin.path}.".removeprefix("cloud_properties.")
    first: dict[str, Refusal] = {}
    for refusal in _refusals(volume):
        first.setdefault(refusal.key, refusal)
    for refusal in first.values():
        where, remedy = origin.path, origin.sources(refusal.beside)
        if refusal.key in origin.inherited:
            missing = [refusal.key, *({"size"} & origin.inherited & {*refusal.beside})]
            own = " or ".join(f"{origin.path.rpartition('.')[2]}.{name}" for name in missing)
            owner = "disk" if origin.path == "cloud_properties" else "VM"
            where, remedy = origin.default_path, f"; give the {owner} its own {own}"
        text = f"EBS would refuse the {what}: {where}.{refusal.key} {refusal.why}{remedy}"
        names = [refusal.key, *refusal.beside]
        names.sort(key=lambda name: name in origin.inherited)
        to_blame, *beside = (f"{path}{name}" for name in names)
        yield Problem(to_blame, text, (*beside, *(also if "size" in refusal.beside else ())))


def snapshot_problems(
    disk: DiskProperties, size_gib: int | None, encryption: Encryption, snapshot: Json | None
) -> Iterator[Problem]:
    """Why EBS does not make a disk from its snapshot.

    Args:
        disk: Its properties, with `snapshot_id`.
        size_gib: Its size; None when it is not known.
        encryption: What applies: the properties' own, with the defaults.
        snapshot: DescribeSnapshots' entry; None without one.
    """
    key = "snapshot_id"
    if snapshot is None:
        why = "is not in the region, or this account may not use it: correct the id, or have it shared"
    elif (state := snapshot["State"]) == "recoverable":
        why = "is in the Recycle Bin: restore it first (aws ec2 restore-snapshot-from-recycle-bin)"
    elif state != "completed":
        shown = state if state in _OTHER_STATES else "not completed"
        why = f"is {shown}: wait until it is completed, or use another one"
    elif snapshot.get("StorageTier") == "archive":
        why = "is archived: restore it first (aws ec2 restore-snapshot-tier)"
    elif size_gib is not None and size_gib < (least := snapshot["VolumeSize"]):
        why = f"has {least} GiB, but the disk {size_gib}: give the disk at least {least * MIB_PER_GIB} MiB"
    elif snapshot.get("Encrypted") and "encrypted" in disk.model_fields_set and not encryption.encrypted:
        key, why = "encrypted", "is encrypted, and so is each disk from it: remove cloud_properties.encrypted"
    else:
        return
    yield Problem(key, f"cloud_properties.snapshot_id: snapshot '{disk.snapshot_id}' {why}")


def _refusals(volume: EbsVolume) -> Iterator[Refusal]:
    """Why EBS would refuse a volume, beginning with what rules out the most.

    Of those of one property, only the first is sure.
    """
    name, limits = volume.type, volume.limits
    if volume.is_root and not limits.boots:
        yield Refusal("type", f"is {name}, from which no VM can start: use gp3", ())
        return
    has_iops = volume.iops is not None or volume.iops_per_gib is not None
    if volume.throughput is not None and not limits.takes_throughput:
        yield Refusal("throughput", f"can't be set for type {name}: remove it, or use gp3")
    if has_iops and not limits.takes_iops:
        key = "iops" if volume.iops_per_gib is None else "iops_per_gib"
        yield Refusal(key, f"can't be set for type {name}: remove it, or use gp3, io1 or io2")
    if volume.iops_per_gib is not None and volume.iops_per_gib > limits.iops_per_gib:
        why = f"is {volume.iops_per_gib}, but type {name} allows at most {limits.iops_per_gib}"
        yield Refusal("iops_per_gib", why)
    if not has_iops and limits.needs_iops:
        other = "or iops_per_gib " if volume.is_persistent else ""
        yield Refusal("iops", f"{other}is needed for type {name}")
    if volume.size_gib is not None and volume.size_gib < (least := limits.least_gib):
        # The type is named, because a disk's size may be no property.
        needed = f"{name} needs a size of at least {least} GiB"
        yield Refusal("type", f"{needed}, not {volume.size_gib}: use gp3, or a larger disk", ("size",))
    if volume.iops is not None and volume.iops_per_gib is None:  # `of_disk` keeps to the limits
        yield from _refusals_of_iops(volume, volume.iops, limits.least_iops or 0)
    if volume.throughput is not None:
        yield from _refusals_of_throughput(volume, volume.throughput)


def _refusals_of_iops(volume: EbsVolume, iops: int, least: int) -> Iterator[Refusal]:
    size_gib = volume.size_gib
    if iops < least:
        yield Refusal("iops", f"is {iops}, but type {volume.type} needs at least {least}")
    if size_gib is not None and iops > (most := max(size_gib * volume.limits.iops_per_gib, least)):
        why = f"is {iops}, but a {size_gib} GiB volume of type {volume.type} allows at most {most}"
        yield Refusal("iops", why, ("type", "size"))


def _refusals_of_throughput(volume: EbsVolume, throughput: int) -> Iterator[Refusal]:
    least, most, iops = _GP3_BASELINE_THROUGHPUT, _GP3_MOST_THROUGHPUT, volume.iops or _GP3_BASELINE_IOPS
    if throughput < least:
        yield Refusal("throughput", f"is {throughput} MiB/s, but type gp3 needs at least {least}")
    if throughput > most:
        yield Refusal("throughput", f"is {throughput} MiB/s, but type gp3 allows at most {most}")
    if volume.iops is None and volume.iops_per_gib is not None:
        return  # the iops depend on a size that is not known
    if (needed := throughput * _GP3_IOPS_PER_MIBPS) > iops:
        why = f"of {throughput} MiB/s needs {needed} iops, but there are only {iops}"
        yield Refusal("throughput", why, ("iops",))
