"""Key pairs, instance profiles and placement groups: they exist, and a group has the partition. Pure."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial

from bosh_aws_cpi.aws.placement_groups import PlacementGroup
from bosh_aws_cpi.log import counted
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.identifiers import name_in_arn, near
from bosh_aws_cpi.tools.checks.naming import Launch
from bosh_aws_cpi.tools.checks.references import Named, named
from bosh_aws_cpi.tools.findings import Finding, Place, Severity


def absent(what: str, name: str, place: Place, there: Collection[str] = ()) -> Finding:
    """An error about something that does not exist.

    Args:
        what: What it is: "key pair".
        name: Its name or id.
        place: Where it is named.
        there: The names of those that exist, if they are known.
    """
    remedy = near(name, there) or "Create it, or correct its name"
    return Finding(Severity.ERROR, f"there is no {what} '{name}'", remedy, place, "AWS")


def missing(found: Iterable[Named], what: str, there: Collection[str]) -> Iterator[Finding]:
    """An error for each value that does not exist.

    Args:
        found: The values.
        what: What they name: "key pair".
        there: Those that exist.
    """
    for each in found:
        if each.node.value not in there and not name_in_arn(each.node.value):  # an ARN is refused anyway
            yield absent(what, each.node.value, each.node.place, there)


def missing_default(
    path: str, name: str, what: str, there: Collection[str], users: Iterable[Launch]
) -> Iterator[Finding]:
    """A finding if a default of the configuration does not exist: an error if a VM would use it.

    Args:
        path: The default's path in the configuration.
        name: Its value.
        what: What it names.
        there: Those that exist.
        users: The combinations that have no value of their own.
    """
    if name not in there:
        severity = Severity.ERROR if any(users) else Severity.WARNING
        own = f"Use its name, {given}, not the ARN" if (given := name_in_arn(name)) else near(name, there)
        remedy = f"VMs that name no other need it{own and f'. {own}'}"
        yield Finding(severity, f"there is no {what} '{name}'", remedy, Place(path), "AWS")


def placement_groups(found: Iterable[Named], there: Mapping[str, PlacementGroup]) -> Iterator[Finding]:
    """Check placement groups, and the partitions in them.

    Args:
        found: The names.
        there: Those that exist, by name.
    """
    found = list(found)
    yield from missing(found, "placement group", there)
    for each in found:
        group = there.get(each.node.value)
        if group is not None and group.state != "available":
            what = f"placement group '{each.node.value}' is {group.state}"
            yield Finding(Severity.ERROR, what, "Use another one", each.node.place, "AWS")
    launches = dict.fromkeys(launch for each in found for launch in each.launches)
    for each in named(launches, _partition):
        remedy = "Use a partition of the group, another group, or remove placement_partition"
        yield from each.findings_if_wrong(partial(_wrong_partition, each.node, there), remedy)


def _partition(launch: Launch) -> list[Node]:
    node = launch.get("placement_partition")
    return [node] if node is not None and isinstance(node.value, int) else []


def _wrong_partition(node: Node, there: Mapping[str, PlacementGroup], launch: Launch) -> str:
    """Why a group lacks a partition (EC2's API model, Placement, PartitionNumber); empty if it has it."""
    name = next((str(each.value) for each in launch.named("placement_group")), "")
    group = there.get(name)
    if group is None:
        return ""
    if group.strategy and group.strategy != "partition":
        return f"placement group '{name}' has no partitions: its strategy is {group.strategy}, not partition"
    if group.partitions and node.value > group.partitions:
        has = f"placement group '{name}' has {counted(group.partitions, 'partition')}"
        return f"{has}, but placement_partition is {node.value}"
    return ""
