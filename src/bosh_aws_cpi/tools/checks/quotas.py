"""The account's quotas of vCPUs against what a deployment needs. Pure.

Service Quotas has a quota for each class of instance families, on demand and on spot, whose name lists the
families (EC2 user guide, "On-Demand Instance quotas" and "Spot Instance quotas"): "Running On-Demand Standard
(A, C, D, H, I, M, R, T, Z) instances", "All P4, P3 and P2 Spot Instance Requests". A quota without an applied
value is not listed (API model, ListServiceQuotas).

The account's own capacity reservations count against its quotas, used or not, and before they are active (EC2
user guide, "Reserve compute capacity with EC2 On-Demand Capacity Reservations", quotas), so instances in them
are counted like all others. Shared ones count against their owner's
("Shared Capacity Reservations", instance limits), capacity blocks against none ("Capacity Blocks for ML").
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from bosh_aws_cpi.aws.instance_types import Reservation
from bosh_aws_cpi.records import EMPTY, Record
from bosh_aws_cpi.tools.findings import Finding, Severity

_NAME: Final = re.compile(
    r"Running On-Demand (?P<demand>.+) instances|All (?P<spot>.+) Spot Instance Requests"
)
_FAMILY: Final = re.compile(r"[A-Za-z]+\d*")
_LETTERS: Final = {"gr": "g", "im": "i", "is": "i"}
"""The class of families whose letters are not the name of a class: gr6, im4gn, is4gen."""
_NO_FAMILIES: Final = frozenset({"standard", "and"})
_HIGH_MEMORY: Final = "High Memory"
_NEARLY: Final = 0.8
"""A need beyond this share of a quota gets a note."""
_RAISE: Final = "Ask AWS to raise the quota (Service Quotas, Amazon EC2)"
_LATER: Final = "The first deployment compiles before it creates instances; a later one may need all at once"


OPEN: Final = "open"
"""In place of a reservation's id: EC2 uses any open one that matches."""
UNKNOWN: Final = "unknown"
"""In place of an id that is a variable: it may be any that matches."""


class InstanceKind(Record):
    """Instances that count alike.

    Attributes:
        name: The type.
        market: "demand" or "spot".
        reservation: The id of their capacity reservation; or `OPEN`, or `UNKNOWN`, or empty for none.
    """

    name: str
    market: str = "demand"
    reservation: str = OPEN

    def fits(self, reservation_id: str, reservation: Reservation) -> bool:
        """Whether some of the instances may run in a reservation; zones and tenancies are not compared."""
        is_open = self.reservation == OPEN and reservation.is_open
        may_use = is_open or self.reservation in {reservation_id, UNKNOWN}
        return may_use and self.market == "demand" and self.name == reservation.instance_type


class Demand(Record):
    """The instances that a deployment needs.

    The Director deletes the VMs that compile before it creates the others (BOSH: jobs/update_deployment.rb,
    PackageCompileStage before UpdateStage).

    Attributes:
        deployed: Those of instance groups.
        compiling: The most that compile packages at once; fewer packages need fewer VMs.
        uncounted: Findings about VMs of which the quota is not known.
    """

    deployed: Mapping[InstanceKind, int] = EMPTY
    compiling: Mapping[InstanceKind, int] = EMPTY
    uncounted: Sequence[Finding] = ()

    @property
    def types(self) -> set[str]:
        """All types."""
        return {kind.name for part in (self.deployed, self.compiling) for kind in part}

    def without(self, reservations: Mapping[str, Reservation]) -> "Demand":
        """The need that is left if these reservations hold as many of the instances as they can.

        All of their capacity counts: instances of an earlier deployment may use a part of it.
        """
        return self.replaced(
            deployed=_left(self.deployed, reservations), compiling=_left(self.compiling, reservations)
        )


def _left(
    instances: Mapping[InstanceKind, int], reservations: Mapping[str, Reservation]
) -> Counter[InstanceKind]:
    left = Counter(instances)
    for reservation_id, each in reservations.items():
        room = each.total
        for kind in sorted(left, key=lambda kind: kind.reservation in {OPEN, UNKNOWN}):
            taken = min(room, left[kind]) if kind.fits(reservation_id, each) else 0
            left[kind] -= taken
            room -= taken
    return +left


def findings(demand: Demand, vcpus: Mapping[str, int], quotas: Mapping[str, float]) -> Iterator[Finding]:
    """Compare a deployment's need of vCPUs with the quotas.

    Args:
        demand: What it needs.
        vcpus: The types' numbers of vCPUs; 0 or absent for one that isn't known.
        quotas: The account's quotas, in vCPUs, by their names.
    """
    deployed: Counter[str] = Counter()
    compiling: Counter[str] = Counter()
    unknown: dict[Finding, None] = {}
    for needs, instances in ((deployed, demand.deployed), (compiling, demand.compiling)):
        for kind, count in instances.items():
            quota = quota_of(kind.name, kind.market, quotas)
            if quota is None or not vcpus.get(kind.name):
                unknown[_unknown(kind.name, "quota" if quota is None else "number of vCPUs")] = None
            else:
                needs[quota] += count * vcpus[kind.name]
    yield from unknown
    yield from demand.uncounted
    for quota in dict.fromkeys([*deployed, *compiling]):
        yield from _judged(quota, deployed[quota], compiling[quota], quotas[quota])


def _judged(quota: str, deployed: int, compiling: int, limit: float) -> Iterator[Finding]:
    too_many = {
        f"the instance groups need {deployed} vCPUs": (deployed, _RAISE),
        f"compilation.workers need {compiling} vCPUs": (compiling, f"Use fewer workers. {_RAISE}"),
    }
    errors = [
        Finding(Severity.ERROR, f"{who}, but the quota '{quota}' is {limit:g}", remedy, source="AWS")
        for who, (need, remedy) in too_many.items()
        if need > limit
    ]
    yield from errors
    total = deployed + compiling
    if total > limit and not errors:
        what = (
            f"instance groups and compilation together need {total} vCPUs; the quota '{quota}' is {limit:g}"
        )
        yield Finding(Severity.NOTE, what, _LATER, source="AWS")
    elif total > limit * _NEARLY and not errors:
        what = f"the deployment needs {total} vCPUs of the quota '{quota}', which is {limit:g}"
        yield Finding(Severity.NOTE, what, "Other instances of the account count too", source="AWS")


def _unknown(name: str, what: str) -> Finding:
    text = f"the vCPUs of type '{name}': its {what} is not known"
    remedy = "Compare them with the quotas in the AWS console (Service Quotas, Amazon EC2)"
    return Finding(Severity.NOT_CHECKED, text, remedy, source="AWS")


def quota_of(name: str, market: str, quotas: Mapping[str, float]) -> str | None:
    """The name of the quota that a type counts against; None if it is not among them.

    Args:
        name: The type: "p5en.48xlarge".
        market: "demand" or "spot".
        quotas: The account's quotas, by their names.
    """
    family = re.match(r"([a-z]+)(\d*)", name)
    if family is None:
        return None
    letters, generation = family.groups()
    classes = {
        each: quota
        for quota in quotas
        if (match := _NAME.fullmatch(quota)) and match[market]
        for each in families(match[market])
    }
    wanted = (f"{letters}{generation}", _LETTERS.get(letters, letters))
    return next((classes[each] for each in wanted if each in classes), None)


def families(text: str) -> set[str]:
    """The families in a quota's name, in lower case: "G and VT" has "g" and "vt"."""
    if text == _HIGH_MEMORY:
        return {"u"}
    return {each.lower() for each in _FAMILY.findall(text)} - _NO_FAMILIES
