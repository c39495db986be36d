"""Instance groups with `spread` that have more VMs than EC2 runs in a spread placement group. Pure."""

from collections.abc import Iterable, Iterator

from bosh_aws_cpi.plan.spread import MAX_RUNNING
from bosh_aws_cpi.tools.checks.bosh.rules import text_of
from bosh_aws_cpi.tools.checks.combinations import Use
from bosh_aws_cpi.tools.checks.reading import properties_of
from bosh_aws_cpi.tools.findings import Finding, Severity

_ZONE = "availability_zone"
_REMEDY = "Give the instance group more azs, divide it into several, use spread: prefer, or remove spread"


def findings(uses: Iterable[Use]) -> Iterator[Finding]:
    """Compare the instances of each group with EC2's limit for the zones that it has.

    Some zone has too many if all of them together do, however the Director distributes the instances.

    Args:
        uses: What a manifest asks for.
    """
    for use in uses:
        asked, count = use.properties.get("spread"), use.node.get("instances")
        if asked is None or asked.value is not True or count is None or not isinstance(count.value, int):
            continue
        room = MAX_RUNNING * _zones(use)
        if count.value > room:
            what = (
                f"spread: {use.shown} has {count.value} instances, but EC2 runs at most {MAX_RUNNING} in "
                f"each zone, {room} in all"
            )
            yield Finding(Severity.ERROR, what, _REMEDY, count.place, "EC2")


def _zones(use: Use) -> int:
    """The number of zones in AWS; several azs may be in one."""
    if _ZONE in use.properties:
        return 1
    own = [properties_of(zone).get(_ZONE) for zone in use.zones if zone is not None]
    return len({text_of(node) or str(index) for index, node in enumerate(own)}) or 1
