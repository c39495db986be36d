"""Decides which of a Director's resources are strays, and what a sweep does with each. Pure.

Certainty comes before completeness: a resource that BOSH may still know, or that is in use, is not a stray.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum
from functools import cached_property
from itertools import chain
from typing import Final

from bosh_aws_cpi.aws.images import AMI_TAG
from bosh_aws_cpi.aws.inventory import Kind, Resource
from bosh_aws_cpi.aws.sdk.idempotency import RECENT, parsed_time, written_time
from bosh_aws_cpi.aws.subnets import DELETE_FAILED_TAG
from bosh_aws_cpi.plan import nics, spread
from bosh_aws_cpi.plan.tags import (
    AGENT_TAG,
    CALL_TAG,
    DIRECTOR_TAG,
    NETWORK_TAG,
    REPLACED_BY_TAG,
    REPLACES_TAG,
    SOURCE_TAG,
    SPREAD_TAG,
    STEMCELL_TAG,
)
from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tag_names import DISK_METADATA, VM_METADATA

SEEN_TAG: Final = "bosh_sweep_seen"
"""The time, and the resource's id, "2026-05-01T00:00:00Z eni-1".

Manifests are written before EC2 chooses the id, so no tag in them can be a mark.
"""


def mark(resource: Resource, now: datetime) -> dict[str, str]:
    """The tag for a resource that is first seen now."""
    return {SEEN_TAG: f"{written_time(now)} {resource.resource_id}"}


def first_seen(resource: Resource) -> datetime | None:
    """When a sweep first saw a resource; None without a mark for this resource."""
    text, _, resource_id = resource.tags.get(SEEN_TAG, "").partition(" ")
    return parsed_time(text) if resource_id == resource.resource_id else None


def twins(snapshots: Iterable[Resource]) -> Iterator[tuple[Resource, str]]:
    """Each disk snapshot that has a twin, with the reason for the report.

    The Director's request ids repeat, so snapshots with the same id of the call are twins only if they were
    taken within the time in which a call takes an earlier snapshot for its own.
    """
    taken = defaultdict(list)
    for snapshot in snapshots:
        if CALL_TAG in snapshot.tags and not {STEMCELL_TAG, SOURCE_TAG} & snapshot.tags.keys():
            taken[snapshot.tags[CALL_TAG]].append(snapshot)
    for equal in taken.values():
        for snapshot in equal:
            others = (each.resource_id for each in equal if _is_twin(snapshot, each))
            if twin := next(others, None):
                yield snapshot, f"perhaps taken twice: {twin} is of an equal snapshot_disk"


def _is_twin(one: Resource, other: Resource) -> bool:
    if one is other or one.created is None or other.created is None:
        return False
    return abs(one.created - other.created) < RECENT


_ENDING: Final = frozenset({"shutting-down", "terminated"})
_UNUSABLE: Final = frozenset({"error", "failed", "invalid"})
_HOUR: Final = 3600
_DISK_ONLY: Final = DISK_METADATA - {"director"}  # which set_vm_metadata sets on all volumes of a VM


class Removal(Enum):
    """What it takes to delete a stray: options, or a person. The values appear in the report's JSON."""

    DELETE = "--delete"
    DISK = "--delete --disk"
    """Only if the operator names it: it may hold data, and the Director may know it."""
    INSTANCE = "--delete --instance"
    """Only if the operator names it: the Director may know it."""
    HAND = "a person"
    """Only by a person, because it may not be a stray."""


class Stray(Record):
    """A resource that nothing uses any more."""

    resource: Resource
    why: str
    removal: Removal
    since: datetime | None
    """When it was created, or first seen as a stray; None when that is not known."""
    is_marked: bool = False
    """Whether `since` is the time of the mark that a sweep writes, as for its whole kind."""
    images: tuple[str, ...] = ()
    """For a snapshot: the AMIs that use it, which are strays themselves."""

    def age(self, now: datetime) -> float | None:
        """The age in hours; None when that is not known."""
        return None if self.since is None else max(0.0, (now - self.since).total_seconds() / _HOUR)


class Inventory(Record):
    """The resources to search for strays.

    Args:
        director: The Director's UUID.
        resources: Those that EC2's filter found for the Director's tag, and all AMIs of the account: any of
            them may use a snapshot.
    """

    director: str
    resources: Sequence[Resource]

    @cached_property
    def own(self) -> Mapping[Kind, Sequence[Resource]]:
        """The Director's own resources, by kind; AMIs come before their snapshots."""
        own = [each for each in self.resources if each.tags.get(DIRECTOR_TAG) == self.director]
        return {kind: [each for each in own if each.kind == kind] for kind in _JUDGES}

    @cached_property
    def agents(self) -> frozenset[str]:
        """The agents whose instance exists."""
        alive = (each for each in self.own["instance"] if each.state not in _ENDING)
        return frozenset(each.tags.get(AGENT_TAG, "") for each in alive)

    @property
    def looked_at(self) -> dict[Kind, int]:
        """The number of resources, by kind."""
        return {kind: len(resources) for kind, resources in self.own.items()}

    def strays(self) -> list[Stray]:
        """List the strays, in the order in which they can be deleted."""
        judged = map(self.judge, chain.from_iterable(self.own.values()))
        perhaps = (Stray(each, why, Removal.HAND, each.created) for each, why in twins(self.own["snapshot"]))
        return [*(stray for stray in judged if stray is not None), *perhaps]

    def judge(self, resource: Resource) -> Stray | None:
        """Judge a resource: return it as a stray, or None unless it certainly is one."""
        if resource.tags.get(DIRECTOR_TAG) != self.director:
            return None
        return _JUDGES[resource.kind](resource, self)

    @cached_property
    def users(self) -> Mapping[str, Sequence[Resource]]:
        """The AMIs that use a snapshot, by its id."""
        users = defaultdict(list)
        for image in self.resources:
            for snapshot_id in dict.fromkeys(image.snapshot_ids):
                users[snapshot_id].append(image)
        return users

    @cached_property
    def snapshots_without_ami(self) -> frozenset[str]:
        """The snapshots that no AMI is recorded for."""
        return frozenset(each.resource_id for each in self.own["snapshot"] if AMI_TAG not in each.tags)

    @cached_property
    def sources_being_copied(self) -> frozenset[str | None]:
        """The AMIs of which a copy is pending: EC2 does not list a pending copy's snapshots."""
        pending = (each.tags.get(SOURCE_TAG) for each in self.own["AMI"] if each.state == "pending")
        return frozenset(pending) - {None}

    @cached_property
    def groups_in_use(self) -> frozenset[str]:
        """The placement groups that have an instance."""
        there = (each for each in self.own["instance"] if each.state != "terminated")
        return frozenset(each.group for each in there)


def _image(image: Resource, there: Inventory) -> Stray | None:
    if not {STEMCELL_TAG, SOURCE_TAG} & image.tags.keys():
        return None
    if image.state in _UNUSABLE:
        return Stray(
            image, f"a stemcell that EC2 could not create: {image.state}", Removal.DELETE, image.created
        )
    unsaid = not there.snapshots_without_ami.isdisjoint(image.snapshot_ids)
    if image.state == "available" and unsaid:
        why = "perhaps of an interrupted create_stemcell"
        return Stray(image, why, Removal.HAND, image.created)
    return None


def _snapshot(snapshot: Resource, there: Inventory) -> Stray | None:
    tags = snapshot.tags
    is_stemcells = SOURCE_TAG in tags or (STEMCELL_TAG in tags and CALL_TAG not in tags)
    is_finished = AMI_TAG in tags and snapshot.is_for_image
    if not is_stemcells or is_finished or DISK_METADATA & tags.keys():
        return None
    if tags.get(SOURCE_TAG) in there.sources_being_copied:
        return None
    users = there.users.get(snapshot.resource_id, [])
    judged = [there.judge(user) for user in users]
    if any(user is None or user.removal is not Removal.DELETE for user in judged):
        return None
    times = [each.created for each in (snapshot, *users) if each.created is not None]
    why, removal = "of a stemcell that has no AMI", Removal.DELETE
    if not snapshot.is_for_image:  # of an upload through a volume, or a disk's
        why, removal = "perhaps of a stemcell that has no AMI", Removal.HAND
    return Stray(snapshot, why, removal, max(times, default=None), images=tuple(u.resource_id for u in users))


def _volume(volume: Resource, there: Inventory) -> Stray | None:
    if volume.state != "available":
        return None
    why = _purpose(volume, there)
    return None if why is None else Stray(volume, why, Removal.DISK, volume.created)


_LOOK_FIRST: Final = "by update_disk: first look in bosh disks --orphaned and bosh instances --details"
"""EC2 does not show whether the Director got update_disk's answer, and so which of the two it knows."""


def _purpose(volume: Resource, there: Inventory) -> str | None:
    """What a volume may be for, which only its tags say; None if the Director may know it."""
    tags = volume.tags
    if copy_id := tags.get(REPLACED_BY_TAG):
        return f"replaced by {copy_id}, {_LOOK_FIRST}"
    if (DISK_METADATA if CALL_TAG in tags else _DISK_ONLY) & tags.keys():
        return None
    if source_id := tags.get(REPLACES_TAG):
        return f"a copy of {source_id} without the Director's tags, {_LOOK_FIRST}"
    if CALL_TAG in tags:
        return "a disk without the Director's tags"
    if STEMCELL_TAG in tags:
        return "perhaps of a stemcell's upload"
    return None if _lost_agent(volume, there) is None else "perhaps of a VM that is gone"


def _interface(interface: Resource, there: Inventory) -> Stray | None:
    """Judge an interface; its description shows whether this program created it for the agent."""
    agent = _lost_agent(interface, there)
    if interface.state != "available" or agent is None:
        return None
    why, removal = "perhaps of a VM that is gone", Removal.HAND
    if interface.description == nics.description(there.director, agent):
        why, removal = "of a VM that is gone", Removal.DELETE
    return Stray(interface, why, removal, first_seen(interface), is_marked=True)


def _lost_agent(resource: Resource, there: Inventory) -> str | None:
    """The agent that a resource is for; None without one, or if its instance exists."""
    agent = resource.tags.get(AGENT_TAG)
    return None if agent in there.agents else agent


def _subnet(subnet: Resource, there: Inventory) -> Stray | None:
    del there
    if NETWORK_TAG not in subnet.tags:
        return None
    if DELETE_FAILED_TAG in subnet.tags:
        use = ", and it has interfaces" if subnet.is_used else ""
        why = f"delete_network failed{use}: the Director has forgotten it"
    elif subnet.is_used:
        return None
    else:
        why = "perhaps of a managed network that the Director has forgotten"
    return Stray(subnet, why, Removal.HAND, subnet.created)


def _placement_group(group: Resource, there: Inventory) -> Stray | None:
    """Judge a spread placement group, whose creation time does not show how long it has been unused.

    Its name and strategy show whether create_vm made it. EC2 deletes no group that has an instance, whoever
    owns that. A create_vm that has seen the group and not launched yet creates it again.
    """
    wanted = spread.spread_group(there.director, group.tags.get(SPREAD_TAG, ""), {})
    is_ours = (group.group, group.type) == (wanted.name, spread.STRATEGY)
    if not is_ours or group.group in there.groups_in_use:
        return None
    why = f"of instance group {group.tags[SPREAD_TAG]}, which has no VMs"
    return Stray(group, why, Removal.DELETE, first_seen(group), is_marked=True)


def _instance(instance: Resource, there: Inventory) -> Stray | None:
    del there
    if instance.state in _ENDING or AGENT_TAG not in instance.tags or VM_METADATA & instance.tags.keys():
        return None
    return Stray(instance, "perhaps of an interrupted create_vm", Removal.INSTANCE, instance.created)


_JUDGES: Final[Mapping[Kind, Callable[[Resource, Inventory], Stray | None]]] = {
    "AMI": _image,
    "snapshot": _snapshot,
    "volume": _volume,
    "interface": _interface,
    "subnet": _subnet,
    "placement group": _placement_group,
    "instance": _instance,
}


class Action(Enum):
    """What a run does with a stray, in the words of the report."""

    LIST = "stray"
    UNKNOWN = "age unknown"
    YOUNG = "too young"
    LOOK = "left to you"
    ASK = "left to you: name it with --disk"
    ASK_INSTANCE = "left to you: name it with --instance"
    MARK = "marked"
    REMOVE = "removed"


class Wish(Record):
    """The operator's options."""

    older_than: float = 24.0
    """Hours."""
    delete: bool = False
    disks: frozenset[str] = frozenset()
    """The ids of the disks that may be deleted too."""
    instances: frozenset[str] = frozenset()
    """The ids of the instances that may be deleted too, whatever their age."""


_LEFT_TO_PEOPLE: Final = {Removal.HAND: Action.LOOK, Removal.INSTANCE: Action.ASK_INSTANCE}


def action(stray: Stray, wish: Wish, now: datetime) -> Action:
    """Decide what to do with a stray."""
    age = stray.age(now)
    if age is None and stray.is_marked:
        return Action.MARK if wish.delete else Action.UNKNOWN
    is_due = age is not None and age >= wish.older_than
    if stray.removal is Removal.INSTANCE and stray.resource.resource_id in wish.instances:
        return Action.REMOVE
    if not is_due:  # it may belong to a call that is still running
        return Action.UNKNOWN if age is None else Action.YOUNG
    if stray.removal in _LEFT_TO_PEOPLE:
        return _LEFT_TO_PEOPLE[stray.removal]
    if stray.removal is Removal.DISK and stray.resource.resource_id not in wish.disks:
        return Action.ASK
    return Action.REMOVE if wish.delete else Action.LIST
