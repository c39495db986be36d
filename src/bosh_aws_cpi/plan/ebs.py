"""Which figures a type of EBS volume takes.

Only rules that last are here (EBS user guide, "volume types"): the highest figures, also those
per GiB, grow from year to year, and EBS says them itself.
"""

from typing import Final

from bosh_aws_cpi.jsontext import Json

TAKES_IOPS: Final = frozenset({"io1", "io2", "gp3"})
TAKES_THROUGHPUT: Final = frozenset({"gp3"})
NEEDS_IOPS: Final = frozenset({"io1", "io2"})

_GP3_BASELINE_IOPS: Final = 3000
_GP3_BASELINE_THROUGHPUT: Final = 125
_GP3_IOPS_PER_MIBPS: Final = 4
_LEAST_IOPS: Final = {"io1": 100, "io2": 100, "gp3": _GP3_BASELINE_IOPS}


def refusal(volume_type: str, iops: int | None, throughput: int | None) -> str | None:
    """Why EBS would refuse a volume.

    Args:
        volume_type: "gp3" and its like.
        iops: As given; None when it is not.
        throughput: MiB/s, as given; None when it is not.

    Returns:
        The reason, with the property's name and the remedy; None when EBS takes it.
    """
    if throughput is not None and volume_type not in TAKES_THROUGHPUT:
        return f"throughput can't be set for type {volume_type}: remove it, or use gp3"
    if iops is not None and volume_type not in TAKES_IOPS:
        return f"iops can't be set for type {volume_type}: remove it, or use gp3, io1 or io2"
    if iops is None and volume_type in NEEDS_IOPS:
        return f"iops is needed for type {volume_type}"
    if iops is not None and iops < _LEAST_IOPS[volume_type]:
        return f"iops is {iops}, type {volume_type} takes {_LEAST_IOPS[volume_type]} and more"
    if throughput is not None:
        return _throughput_refusal(iops or _GP3_BASELINE_IOPS, throughput)
    return None


def figures(volume_type: str, iops: int | None, throughput: int | None) -> Json:
    """The Iops and Throughput of a volume: what is not given is the baseline that EBS gives gp3."""
    if volume_type == "gp3":
        baseline = max(_GP3_BASELINE_IOPS, (throughput or 0) * _GP3_IOPS_PER_MIBPS) if iops is None else iops
        return {"Iops": baseline, "Throughput": throughput or _GP3_BASELINE_THROUGHPUT}
    return {} if iops is None else {"Iops": iops}


def _throughput_refusal(iops: int, throughput: int) -> str | None:
    if throughput < _GP3_BASELINE_THROUGHPUT:
        return f"throughput is {throughput} MiB/s, type gp3 takes {_GP3_BASELINE_THROUGHPUT} and more"
    if throughput * _GP3_IOPS_PER_MIBPS > iops:
        needed = throughput * _GP3_IOPS_PER_MIBPS
        return f"throughput of {throughput} MiB/s needs {needed} iops, there are {iops}"
    return None
