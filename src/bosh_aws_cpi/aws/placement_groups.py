"""Placement groups: find, create, delete."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from bosh_aws_cpi.aws.listings import entries
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.errors import GROUP_EXISTS, GROUP_IN_USE, GROUP_MISSING, try_delete
from bosh_aws_cpi.aws.sdk.filters import equals
from bosh_aws_cpi.aws.sdk.idempotency import create_once, tags_of
from bosh_aws_cpi.log import logger, pluralize
from bosh_aws_cpi.records import Record

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

    from bosh_aws_cpi.properties.vm import VmProperties

_ENDING: Final = frozenset({"deleting", "deleted"})


class PlacementGroup(Record):
    """A placement group as EC2 shows it.

    Attributes:
        strategy: EC2's strategy, such as "partition" or "spread".
        partitions: The number of partitions; 0 if the group has none, or EC2 does not report them.
    """

    state: str
    strategy: str
    partitions: int
    tags: Mapping[str, str]

    def misfit(self, vm: "VmProperties") -> str:
        """Why a VM can't be launched in the group; empty if it can (API model: Placement)."""
        wanted = vm.placement_partition
        if self.state != "available":
            return f"is {self.state}"
        if wanted is not None and self.strategy not in {"", "partition"}:
            return f"has no partitions: its strategy is {self.strategy}, not partition"
        if wanted is not None and self.partitions and wanted > self.partitions:
            return f"has {pluralize(self.partitions, 'partition')}, but placement_partition is {wanted}"
        return ""


def find(client: "EC2Client", name: str) -> PlacementGroup | None:
    """DescribePlacementGroups for one group; None if the group does not exist, or EC2 is deleting it."""
    groups = client.describe_placement_groups(Filters=[equals("group-name", name)])["PlacementGroups"]
    named = (each for each in groups if each["GroupName"] == name)
    return next((read(each) for each in named if each.get("State") not in _ENDING), None)


def find_all_by_name(client: "EC2Client") -> dict[str, PlacementGroup]:
    """DescribePlacementGroups: all placement groups, by name."""
    groups = entries(client, "describe_placement_groups", "PlacementGroups", page=None)
    return {each["GroupName"]: read(each) for each in groups}


def ensure_spread(client: "EC2Client", name: str, tags: Mapping[str, Any]) -> PlacementGroup | None:
    """Create a spread placement group, unless there is a group of that name.

    CreatePlacementGroup takes no client token, but names are unique in the account and region (API model,
    CreatePlacementGroupRequest): a second attempt can't create a second group. The answer is ignored, because
    the sample in the API reference contains neither the group nor its tags.

    Args:
        tags: The ``TagSpecifications`` argument; an existing group keeps its own tags.

    Returns:
        None if this call created the group; otherwise the existing group.

    Raises:
        NotYet: EC2 answers that the group exists, but does not show it.
    """

    def create() -> PlacementGroup | None:
        client.create_placement_group(GroupName=name, Strategy="spread", **tags)
        logger.info("Placement group '%s' was created", name)
        return None

    try:
        return create_once(f"placement group '{name}'", create, lambda: find(client, name))
    except client.exceptions.ClientError as error:
        if not GROUP_EXISTS(error):
            raise
    if (group := find(client, name)) is None:
        raise timing.NotYet("exists, but EC2 does not show it, or is deleting it")
    return group


def delete_unused(client: "EC2Client", name: str) -> bool:
    """Call DeletePlacementGroup once; False when an instance has been launched into the group.

    It is no error if the group is already gone.
    """
    return try_delete(GROUP_IN_USE, GROUP_MISSING, lambda: client.delete_placement_group(GroupName=name))


def read(entry: Any) -> PlacementGroup:  # noqa: ANN401 - the SDK's typed dict
    """Convert EC2's description of a placement group."""
    state, strategy = entry.get("State", "available"), entry.get("Strategy", "")
    return PlacementGroup(state, strategy, entry.get("PartitionCount", 0), tags_of(entry))
