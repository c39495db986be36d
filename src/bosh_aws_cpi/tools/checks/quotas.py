"""The account's quotas of vCPUs against what a deployment needs. Pure.

Service Quotas has a quota for each class of instance families, on demand and on spot, whose name lists the
families (EC2 user guide, "On-Demand Instance quotas" and "Spot Instance quotas"): "Running On-Demand Standard
(A, C, D, H, I, M, R, T, Z) instances", "All P4, P3 and P2 Spot Instance Requests". A quota without an applied
value is not listed (API model, ListServiceQuotas).
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from bosh_aws_cpi.records import EMPTY, Record
from bosh_aws_cpi.tools.findings import Finding, Severity

_NAME: Final = re.compile(
    r"Running On-Demand (?P<demand>.+) instances|All (?P<spot>.+) Spot Instance Requests"
)
_FAMILY: Final = re.compile(r"[a-z]+\d*")
_LETTERS: Final = {"gr": "g", "im": "i", "is": "i", "u": "high"}
"""The class of families whose letters are not the name of a class: gr6, im4gn, is4gen, u7i (High Memory)."""
_NO_FAMILIES: Final = frozenset({"standard", "and"})
_COMPARE: Final = "Compare them with the quotas in the AWS console (Service Quotas, Amazon EC2)"
_RAISE: Final = "Ask AWS to raise the quota (Service Quotas, Amazon EC2)"


class Demand(Record):
    """The instances that a deployment needs, by type and market, which is "demand" or "spot".

    The Director deletes the VMs that compile before it creates the others (BOSH: jobs/update_deployment.rb,
    PackageCompileStage before UpdateStage).

    Attributes:
        deployed: Those of instance groups.
        compiling: The most that compile packages at once; fewer packages need fewer VMs.
    """

    deployed: Mapping[tuple[str, str], int] = EMPTY
    compiling: Mapping[tuple[str, str], int] = EMPTY

    @property
    def types(self) -> set[str]:
        """All types."""
        return {name for name, _ in (*self.deployed, *self.compiling)}


def findings(demand: Demand, vcpus: Mapping[str, int], quotas: Mapping[str, float]) -> Iterator[Finding]:
    """Compare a deployment's need of vCPUs with the quotas.

    Args:
        demand: What it needs.
        vcpus: The types' numbers of vCPUs; 0 or absent for one that isn't known.
        quotas: The account's quotas, in vCPUs, by their names.
    """
    for instances, who, remedy in (
        (demand.deployed, "the instance groups need", _RAISE),
        (demand.compiling, "compilation.workers need", f"Use fewer workers. {_RAISE}"),
    ):
        needs: Counter[str] = Counter()
        for (name, market), count in instances.items():
            quota = quota_of(name, market, quotas)
            if quota is None or not vcpus.get(name):
                unknown = "quota" if quota is None else "number of vCPUs"
                what = f"the vCPUs of type '{name}': its {unknown} is not known"
                yield Finding(Severity.NOT_CHECKED, what, _COMPARE, source="AWS")
            else:
                needs[quota] += count * vcpus[name]
        for quota, need in needs.items():
            if need > quotas[quota]:
                what = f"{who} {need} vCPUs, but the quota '{quota}' is {quotas[quota]:g}"
                yield Finding(Severity.ERROR, what, remedy, source="AWS")


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
        for each in {*_FAMILY.findall(match[market].lower())} - _NO_FAMILIES
    }
    wanted = (f"{letters}{generation}", _LETTERS.get(letters, letters))
    return next((classes[each] for each in wanted if each in classes), None)
