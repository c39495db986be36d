"""The spread placement group that the VMs of one instance group share."""

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Final

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.plan import tag_plan
from bosh_aws_cpi.records import Record

MAX_RUNNING: Final = 7
"""EC2's limit of running instances per zone in such a group (EC2 user guide, "Placement groups")."""
_MAX_NAME: Final = 255
"""ASCII characters (API model, CreatePlacementGroupRequest, GroupName)."""
_DIGEST: Final = 32
_COMPILATION: Final = re.compile(r"-compilation-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
"""The end of ``env.bosh.group`` of a VM that compiles packages: BOSH puts each into a group of its own."""
STRATEGY: Final = "spread"


class SpreadGroup(Record):
    """A spread placement group that belongs to an instance group of one Director.

    Attributes:
        name: The same for all VMs of the instance group. Two instance groups share it if the Director sends
            the same group for both, such as "a-b-c" for c of deployment a-b and for b-c of deployment a.
        tags: Those that it gets when it is created.
        exists: Whether EC2 has shown it to this call.
        is_avoided: Whether the VM only prefers it, and is launched outside, because EC2 does not answer.
    """

    name: str
    tags: Mapping[str, str]
    exists: bool = False
    is_avoided: bool = False


def group_of(environment: Json | None) -> str:
    """The instance group in create_vm's environment, "director-deployment-group"; empty without one."""
    bosh = (environment or {}).get("bosh")
    group = bosh.get("group") if isinstance(bosh, dict) else None
    return group if isinstance(group, str) else ""


def is_compilation(group: str) -> bool:
    """Whether a VM of this group compiles packages, and so is alone in its group."""
    return _COMPILATION.search(group) is not None


def spread_group(director_uuid: str, group: str, config_tags: Mapping[str, str]) -> SpreadGroup:
    """The placement group of an instance group.

    Args:
        director_uuid: The UUID of the request's Director: the names of Directors need not be unique.
        group: The instance group, as `group_of` returns it.
        config_tags: ``aws.tags``.
    """
    name = f"bosh-{director_uuid}-{group}"
    if len(name) > _MAX_NAME or not name.isascii():
        name = f"bosh-{director_uuid}-{sha256(group.encode()).hexdigest()[:_DIGEST]}"
    return SpreadGroup(name, {**config_tags, **tag_plan.of_spread_group(director_uuid, group)})


def may_lack_tags_yet(strategy: str, tags: Mapping[str, str]) -> bool:
    """Whether an existing placement group may be a new one whose tags EC2 does not show yet.

    Args:
        strategy: The existing group's strategy.
        tags: The existing group's tags.
    """
    return strategy == STRATEGY and not tags.keys() & {tag_plan.DIRECTOR_TAG, tag_plan.SPREAD_TAG}


def refusal(group: SpreadGroup, strategy: str, tags: Mapping[str, str]) -> CloudError | None:
    """The error if an existing placement group of this name was not created for this instance group.

    Args:
        group: The wanted group.
        strategy: The existing group's strategy.
        tags: The existing group's tags.

    Returns:
        The error; None if the group was created for this instance group.
    """
    if strategy != STRATEGY:
        problem = f"has the strategy '{strategy}'"
    elif any(tags.get(key) != group.tags[key] for key in (tag_plan.DIRECTOR_TAG, tag_plan.SPREAD_TAG)):
        problem = f"lacks the tags {tag_plan.DIRECTOR_TAG} and {tag_plan.SPREAD_TAG} of this instance group"
    else:
        return None
    message = (
        f"spread: placement group '{group.name}' exists, but {problem}: the CPI did not create it. Delete "
        "it, or use placement_group instead of spread"
    )
    return CloudError(message)
