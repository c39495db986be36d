"""The iops, throughput and smallest size that each type of EBS volume accepts.

From the EBS user guide, "Amazon EBS volume types", and for sizes also the API model, CreateVolumeRequest. The
maximum iops and sizes are not checked here: they grow from year to year, and EBS names them in its errors.
The ratios have never changed.
"""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.records import Record

TAKES_IOPS: Final = frozenset({"io1", "io2", "gp3"})
TAKES_THROUGHPUT: Final = frozenset({"gp3"})
NEEDS_IOPS: Final = frozenset({"io1", "io2"})

_GP3_BASELINE_IOPS: Final = 3000
_GP3_BASELINE_THROUGHPUT: Final = 125
_GP3_IOPS_PER_MIBPS: Final = 4
_MOST_IOPS_PER_GIB: Final = {"io1": 50, "io2": 1000, "gp3": 500}
"""Above the baseline that gp3 has at any size. EBS says: "Iops to volume size ratio of … is too high"."""
_LEAST_IOPS: Final = {"io1": 100, "io2": 100, "gp3": _GP3_BASELINE_IOPS}
LEAST_GIB: Final = {"io1": 4, "io2": 4, "st1": 125, "sc1": 125}


class EbsVolume(Record):
    """A volume that EBS is to create or change."""

    type: str
    """EBS's name: "gp3"."""
    iops: int | None = None
    throughput: int | None = None
    """MiB/s."""
    size_gib: int | None = None
    """None when it is not known."""

    def figures(self) -> Json:
        """The Iops and Throughput that the volume has; for gp3, EBS's baseline if they are not given."""
        if self.type != "gp3":
            return {} if self.iops is None else {"Iops": self.iops}
        needed = (self.throughput or 0) * _GP3_IOPS_PER_MIBPS
        return {
            "Iops": max(_GP3_BASELINE_IOPS, needed) if self.iops is None else self.iops,
            "Throughput": self.throughput or _GP3_BASELINE_THROUGHPUT,
        }


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
        """Where those of the properties come from that are inherited: " (type comes from …)", or ""."""
        said = [f"{name} comes from {self.default_path}.{name}" for name in names if name in self.inherited]
        return f" ({', '.join(said)})" if said else ""


def check(volume: EbsVolume, what: str, origin: Origin) -> None:
    """Check that EBS accepts a volume.

    Args:
        volume: The volume.
        what: What it is, for the message: "disk", "root disk".
        origin: Where its properties stand.

    Raises:
        CloudError: EBS would refuse it; the message names the property and the remedy.
    """
    refusal = _refusal(volume)
    if refusal is None:
        return
    where, remedy = origin.path, origin.sources(refusal.beside)
    if refusal.key in origin.inherited:
        names = [refusal.key, *({"size"} & origin.inherited & {*refusal.beside})]
        own = " or ".join(f"{origin.path.rpartition('.')[2]}.{name}" for name in names)
        where, remedy = origin.default_path, f"; give the VM its own {own}"
    message = f"EBS would refuse the {what}: {where}.{refusal.key} {refusal.why}{remedy}"
    raise CloudError(message)


def _refusal(volume: EbsVolume) -> Refusal | None:
    """Why EBS would refuse a volume; None when EBS accepts it."""
    name = volume.type
    if volume.throughput is not None and name not in TAKES_THROUGHPUT:
        return Refusal("throughput", f"can't be set for type {name}: remove it, or use gp3")
    if volume.iops is not None and name not in TAKES_IOPS:
        return Refusal("iops", f"can't be set for type {name}: remove it, or use gp3, io1 or io2")
    if volume.iops is None and name in NEEDS_IOPS:
        return Refusal("iops", f"is needed for type {name}")
    return _size_refusal(volume) or _iops_refusal(volume) or _throughput_refusal(volume)


def _size_refusal(volume: EbsVolume) -> Refusal | None:
    """Why the type can't be that small; the type is named, because a disk's size may be no property."""
    least = LEAST_GIB.get(volume.type, 0)
    if volume.size_gib is None or volume.size_gib >= least:
        return None
    needed = f"{volume.type} needs a size of at least {least} GiB"
    return Refusal("type", f"{needed}, not {volume.size_gib}: use gp3, or a larger disk", ("size",))


def _iops_refusal(volume: EbsVolume) -> Refusal | None:
    iops, size_gib = volume.iops, volume.size_gib
    if iops is None:
        return None
    least, ratio = _LEAST_IOPS[volume.type], _MOST_IOPS_PER_GIB[volume.type]
    if iops < least:
        return Refusal("iops", f"is {iops}, but type {volume.type} needs at least {least}")
    if size_gib is not None and iops > (most := max(size_gib * ratio, least)):
        why = f"is {iops}, but a {size_gib} GiB volume of type {volume.type} allows at most {most}"
        return Refusal("iops", why, ("type", "size"))
    return None


def _throughput_refusal(volume: EbsVolume) -> Refusal | None:
    iops, throughput = volume.iops or _GP3_BASELINE_IOPS, volume.throughput
    if throughput is None:
        return None
    if throughput < _GP3_BASELINE_THROUGHPUT:
        why = f"is {throughput} MiB/s, but type gp3 needs at least {_GP3_BASELINE_THROUGHPUT}"
        return Refusal("throughput", why)
    if (needed := throughput * _GP3_IOPS_PER_MIBPS) > iops:
        why = f"of {throughput} MiB/s needs {needed} iops, but there are only {iops}"
        return Refusal("throughput", why, ("iops",))
    return None
