"""The iops and throughput that each type of EBS volume accepts.

From the EBS user guide, "Amazon EBS volume types". The maximum iops and sizes are not checked here: they
grow from year to year, and EBS names them in its errors. The ratios have never changed.
"""

from typing import Final

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json

TAKES_IOPS: Final = frozenset({"io1", "io2", "gp3"})
TAKES_THROUGHPUT: Final = frozenset({"gp3"})
NEEDS_IOPS: Final = frozenset({"io1", "io2"})

_GP3_BASELINE_IOPS: Final = 3000
_GP3_BASELINE_THROUGHPUT: Final = 125
_GP3_IOPS_PER_MIBPS: Final = 4
_MOST_IOPS_PER_GIB: Final = {"io1": 50, "io2": 1000, "gp3": 500}
"""Above the baseline that gp3 has at any size. EBS says: "Iops to volume size ratio of … is too high"."""
_LEAST_IOPS: Final = {"io1": 100, "io2": 100, "gp3": _GP3_BASELINE_IOPS}


def refusal(volume_type: str, iops: int | None, throughput: int | None, size_gib: int | None) -> str | None:
    """Why EBS would refuse a volume; None when EBS accepts it.

    The reason begins with the name of the property; the arguments are those of `check`.
    """
    if throughput is not None and volume_type not in TAKES_THROUGHPUT:
        return f"throughput can't be set for type {volume_type}: remove it, or use gp3"
    if iops is not None and volume_type not in TAKES_IOPS:
        return f"iops can't be set for type {volume_type}: remove it, or use gp3, io1 or io2"
    if iops is None and volume_type in NEEDS_IOPS:
        return f"iops is needed for type {volume_type}"
    of_iops = _iops_refusal(volume_type, iops, size_gib) if iops is not None else None
    of_throughput = _throughput_refusal(iops, throughput) if throughput is not None else None
    return of_iops or of_throughput


def check(
    what: str, path: str, volume_type: str, iops: int | None, throughput: int | None, size_gib: int | None
) -> None:
    """Check that EBS accepts a volume.

    Args:
        what: The volume, for the message: "disk", "root disk".
        path: The path of its properties: "cloud_properties".
        volume_type: EBS's name: "gp3".
        iops: The configured iops, if any.
        throughput: The configured throughput in MiB/s, if any.
        size_gib: The size in GiB; None when it is not known.

    Raises:
        CloudError: EBS would refuse it; the message names the property and the remedy.
    """
    if reason := refusal(volume_type, iops, throughput, size_gib):
        message = f"EBS would refuse the {what}: {path}.{reason}"
        raise CloudError(message)


def figures(volume_type: str, iops: int | None, throughput: int | None) -> Json:
    """The Iops and Throughput of a volume; for gp3, EBS's baseline if they are not given."""
    if volume_type == "gp3":
        baseline = max(_GP3_BASELINE_IOPS, (throughput or 0) * _GP3_IOPS_PER_MIBPS) if iops is None else iops
        return {"Iops": baseline, "Throughput": throughput or _GP3_BASELINE_THROUGHPUT}
    return {} if iops is None else {"Iops": iops}


def _iops_refusal(volume_type: str, iops: int, size_gib: int | None) -> str | None:
    least, ratio = _LEAST_IOPS[volume_type], _MOST_IOPS_PER_GIB[volume_type]
    if iops < least:
        return f"iops is {iops}, but type {volume_type} needs at least {least}"
    if size_gib is not None and iops > (most := max(size_gib * ratio, least)):
        return f"iops is {iops}, but a {size_gib} GiB volume of type {volume_type} allows at most {most}"
    return None


def _throughput_refusal(given_iops: int | None, throughput: int) -> str | None:
    iops = given_iops or _GP3_BASELINE_IOPS
    if throughput < _GP3_BASELINE_THROUGHPUT:
        return f"throughput is {throughput} MiB/s, but type gp3 needs at least {_GP3_BASELINE_THROUGHPUT}"
    if throughput * _GP3_IOPS_PER_MIBPS > iops:
        needed = throughput * _GP3_IOPS_PER_MIBPS
        return f"throughput of {throughput} MiB/s needs {needed} iops, but there are only {iops}"
    return None
