"""Instance groups with `spread` that have more VMs than EC2 runs in a spread placement group. Pure."""

from collections.abc import Iterable, Iterator

from bosh_aws_cpi.plan.spread import MAX_RUNNING
from bosh_aws_cpi.tools.checks.bosh.rules import text_of
from bosh_aws_cpi.tools.checks.combinations import Use
from bosh_aws_cpi.tools.checks.deployment import properties_by_key
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.reading import properties_of
from bosh_aws_cpi.tools.findings import Finding, Severity

_ZONE = "availability_zone"
_SWAP = "create-swap-delete"
_SOURCE = "EC2"
_REMEDY = "Give the instance group more azs, divide it into several, use spread: prefer, or remove spread"


def findings(uses: Iterable[Use]) -> Iterator[Finding]:
    """Compare the instances of each group with EC2's limit for the zones that it has.

    Some zone has too many if all of them together do, however the Director distributes the instances.

    Args:
        uses: What a manifest asks for.
    """
    for use in uses:
        properties, count = properties_by_key(use), use.node.get("instances")
        asked = properties.get("spread")
        if asked is None or asked.value is not True or count is None or not isinstance(count.value, int):
            continue
        room = MAX_RUNNING * _zones(use, properties.get(_ZONE))
        limit = f"EC2 runs at most {MAX_RUNNING} in each zone, {room} in all"
        if count.value > room:
            what = f"spread: {use.shown} has {count.value} instances, but {limit}"
            yield Finding(Severity.ERROR, what, _REMEDY, count.place, _SOURCE)
        elif 2 * count.value > room and _strategy(use.node) == _SWAP:
            what = (
                f"spread: {use.shown} has {count.value} instances, and with vm_strategy {_SWAP} up to "
                f"{2 * count.value} VMs run at once, but {limit}"
            )
            remedy = f"{_REMEDY}, or use the vm_strategy delete-create"
            yield Finding(Severity.WARNING, what, remedy, count.place, _SOURCE)


def _zones(use: Use, of_vm: Node | None) -> int:
    """The number of zones in AWS; several azs may be in one."""
    if of_vm is not None:
        return 1
    own = [properties_of(zone).get(_ZONE) for zone in use.zones if zone is not None]
    names = {text_of(node) or str(index) for index, node in enumerate(own)}
    return max(1, len(names))


def _strategy(group: Node) -> str:
    """The group's ``update.vm_strategy``, or the manifest's."""
    updates = (group.get("update"), group.document.root.get("update"))
    found = (text_of(each.get("vm_strategy")) for each in updates if each is not None)
    return next(filter(None, found), "")
