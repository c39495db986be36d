"""Decides which of a Director's resources are strays, and what a sweep does with each. Pure.

Certainty comes before completeness: a resource that BOSH may still know, or that is in use, is not a stray.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import Enum
from functools import cached_property
from itertools import chain
from typing import Final

from bosh_aws_cpi.aws.images import AMI_TAG
from bosh_aws_cpi.aws.inventory import Kind, Resource
from bosh_aws_cpi.aws.sdk.idempotency import format_time, parse_time
from bosh_aws_cpi.aws.subnets import DELETE_FAILED_TAG
from bosh_aws_cpi.plan import nics, spread, tag_plan
from bosh_aws_cpi.records import EMPTY, Record
from bosh_aws_cpi.tag_names import DISK_METADATA, VM_METADATA

SEEN_TAG: Final = "bosh_sweep_seen"
"""The time, and the resource's id, "2026-05-01T00:00:00Z eni-1".

A tag of a manifest can't be mistaken for a mark: its author can't know the id.
"""
_KINDS_AGED_BY_MARK: Final[frozenset[Kind]] = frozenset({"interface", "placement group"})
"""The kinds whose age only the mark of an earlier sweep shows."""
_ENDING_STATES: Final = frozenset({"shutting-down", "terminated"})
_TRANSIENT_STATES: Final = _ENDING_STATES | {"deleting", "pending"}
"""The states of resources that are being created or deleted. EBS ends snapshots that nobody writes."""
_UNUSABLE: Final = frozenset({"error", "failed", "invalid"})
_DISK_ONLY: Final = DISK_METADATA - {"director"}  # set_vm_metadata sets director on all volumes


def seen_tags(resource: Resource, now: datetime) -> dict[str, str]:
    """The tag for a resource that is first seen now."""
    return {SEEN_TAG: f"{format_time(now)} {resource.resource_id}"}


def _first_seen(resource: Resource) -> datetime | None:
    """When a sweep first saw a resource; None without a mark for this resource."""
    text, _, resource_id = resource.tags.get(SEEN_TAG, "").partition(" ")
    return parse_time(text) if resource_id == resource.resource_id else None


class Removal(Enum):
    """How a stray may be deleted: with which options, or by a person. The values are in the report's JSON."""

    DELETE = "--delete"
    DISK = "--delete --disk"
    """Only if the operator names it: it may hold data, and the Director may know it."""
    INSTANCE = "--delete --instance"
    """Only if the operator names it: the Director may know it."""
    BY_HAND = "a person"
    """Only by a person, because it is perhaps not a stray."""


class StrayOutcome(Enum):
    """What became of a stray, in the words of the report."""

    STRAY = "stray"
    UNKNOWN = "age unknown"
    YOUNG = "too young"
    LEFT = "left to you"
    LEFT_DISK = "left to you: name it with --disk"
    LEFT_INSTANCE = "left to you: name it with --instance"
    MARKED = "marked"
    REMOVED = "removed"
    GONE = "gone"
    SPARED = "spared"
    FAILED = "failed"
    NOT_CERTAIN = "not certain"
    """The run was interrupted during the deletion."""


class Stray(Record):
    """A resource that nothing uses any more, and what the run did with it."""

    resource: Resource
    why: str
    removal: Removal
    since: datetime | None
    """When it was created, or first seen as a stray; None when that is not known."""
    outcome: StrayOutcome = StrayOutcome.NOT_CERTAIN
    error: str | None = None

    @property
    def is_aged_by_mark(self) -> bool:
        """Whether `since` is the time of a sweep's mark, because EC2 reports no time for this kind."""
        return self.resource.kind in _KINDS_AGED_BY_MARK

    def age(self, now: datetime) -> float | None:
        """The age in hours; None when that is not known."""
        return None if self.since is None else max(0.0, (now - self.since) / timedelta(hours=1))


_Verdict = tuple[str, Removal] | None
"""Why a resource is a stray, and how it may be deleted; None if it is not certainly a stray."""


class _Unlisted(Exception):
    """A verdict needs the list of a kind that could not be listed."""


class Inventory(Record):
    """The resources to search for strays.

    Attributes:
        director: The Director's UUID.
        resources: Those that EC2's filter found for the Director's tag, and all AMIs of the account: any of
            them may use a snapshot.
        not_listed: The kinds that could not be listed, each with "not permitted" or "not listed".
    """

    director: str
    resources: Sequence[Resource]
    not_listed: Mapping[Kind, str] = EMPTY

    @cached_property
    def own(self) -> Mapping[Kind, Sequence[Resource]]:
        """The Director's own resources, by kind; AMIs come before their snapshots."""
        own = [each for each in self.resources if each.tags.get(tag_plan.DIRECTOR_TAG) == self.director]
        return {kind: [each for each in own if each.kind == kind] for kind in _JUDGES}

    def strays(self) -> list[Stray]:
        """List the strays, in the order in which they can be deleted."""
        judged = map(self.judge, chain.from_iterable(self.own.values()))
        return [stray for stray in judged if stray is not None]

    def judge(self, resource: Resource) -> Stray | None:
        """Return a resource as a stray; None if it is not certainly one."""
        verdict = self._verdict(resource)
        since = _first_seen(resource) if resource.kind in _KINDS_AGED_BY_MARK else resource.created
        return None if verdict is None or isinstance(verdict, _Unlisted) else Stray(resource, *verdict, since)

    def _verdict(self, resource: Resource) -> "_Verdict | _Unlisted":
        if resource.tags.get(tag_plan.DIRECTOR_TAG) != self.director or resource.state in _TRANSIENT_STATES:
            return None
        try:
            return _JUDGES[resource.kind](resource, self)
        except _Unlisted as unlisted:
            return unlisted

    def listed(self, kind: Kind) -> Sequence[Resource]:
        """The Director's own resources of a kind, of which a verdict needs all.

        Raises:
            _Unlisted: They could not be listed, so the resource is not judged.
        """
        if kind in self.not_listed:
            raise _Unlisted(kind)
        return self.own[kind]

    @cached_property
    def not_judged(self) -> Mapping[Kind, int]:
        """The numbers of own resources, by kind, whose verdict needs a list that is missing."""
        verdicts = ((each.kind, self._verdict(each)) for each in chain.from_iterable(self.own.values()))
        return Counter(kind for kind, verdict in verdicts if isinstance(verdict, _Unlisted))

    def why_no_stray(self, named: Resource | None) -> str:
        """Why a named volume or instance is no stray; None is for one that does not exist."""
        if named is None:
            return "it does not exist in this account and region"
        is_disk = named.kind == "volume"
        if named.state in _TRANSIENT_STATES or (is_disk and named.state != "available"):
            return f"its state is {named.state}"
        if named.tags.get(tag_plan.DIRECTOR_TAG) != self.director:
            return f"its tag {tag_plan.DIRECTOR_TAG} is missing, or is not this Director's UUID"
        if known := _known_disk_tags(named) if is_disk else VM_METADATA & named.tags.keys():
            return f"it has the tag {min(known)}, so the Director may know it"
        if named.kind in self.not_listed or isinstance(self._verdict(named), _Unlisted):
            return f"it was not judged, because these could not be listed: {', '.join(self.not_listed)}"
        its_vm = "its VM exists, or no tag says what the CPI created it for"
        return its_vm if is_disk else f"it lacks the tag {tag_plan.AGENT_TAG}"

    @cached_property
    def agents(self) -> frozenset[str]:
        """The agents whose instance exists."""
        alive = (each for each in self.listed("instance") if each.state not in _ENDING_STATES)
        return frozenset(each.tags.get(tag_plan.AGENT_TAG, "") for each in alive)

    @cached_property
    def users(self) -> Mapping[str, Sequence[Resource]]:
        """The AMIs that use a snapshot, by its id."""
        users = defaultdict(list)
        for image in self.resources:
            for snapshot_id in dict.fromkeys(image.snapshot_ids):
                users[snapshot_id].append(image)
        return users

    @cached_property
    def sources_being_copied(self) -> frozenset[str | None]:
        """The AMIs of which a copy is pending: EC2 does not list a pending copy's snapshots."""
        pending = (
            each.tags.get(tag_plan.SOURCE_TAG) for each in self.listed("AMI") if each.state == "pending"
        )
        return frozenset(pending) - {None}

    @cached_property
    def groups_in_use(self) -> frozenset[str]:
        """The placement groups that have an instance."""
        return frozenset(each.group for each in self.listed("instance") if each.state != "terminated")


def _image(image: Resource, there: Inventory) -> _Verdict:
    if not {tag_plan.STEMCELL_TAG, tag_plan.SOURCE_TAG} & image.tags.keys():
        return None
    if image.state in _UNUSABLE:
        return f"a stemcell that EC2 could not create: {image.state}", Removal.DELETE
    without_ami = {each.resource_id for each in there.listed("snapshot") if AMI_TAG not in each.tags}
    if image.state != "available" or without_ami.isdisjoint(image.snapshot_ids):
        return None
    return "perhaps of an interrupted create_stemcell", Removal.BY_HAND


def _snapshot(snapshot: Resource, there: Inventory) -> _Verdict:
    """Judge a snapshot of a stemcell; a disk's snapshot has neither tag, or also the Director's.

    A stemcell that was finished may be known to the Director, which can no longer use it without its AMI.
    """
    tags = snapshot.tags
    if tag_plan.SOURCE_TAG not in tags and (tag_plan.STEMCELL_TAG not in tags or tag_plan.CALL_TAG in tags):
        return None
    if DISK_METADATA & tags.keys() or tags.get(tag_plan.SOURCE_TAG) in there.sources_being_copied:
        return None
    users = map(there.judge, there.users.get(snapshot.resource_id, ()))
    if any(user is None or user.removal is not Removal.DELETE for user in users):
        return None
    if snapshot.is_for_image and AMI_TAG not in tags:
        return "of a stemcell that has no AMI", Removal.DELETE
    return "perhaps of a stemcell that has no AMI", Removal.BY_HAND


_LOOK_FIRST: Final = "first look in bosh disks --orphaned and bosh instances --details"
"""EC2 does not show whether the Director got the answer, and so which disks it knows."""


def _volume(volume: Resource, there: Inventory) -> _Verdict:
    """Judge a volume by its tags: nothing else says what it is for."""
    tags = volume.tags
    if volume.state != "available":
        return None
    if copy_id := tags.get(tag_plan.REPLACED_BY_TAG):
        why = f"replaced by {copy_id}, by update_disk: {_LOOK_FIRST}"
    elif _known_disk_tags(volume):
        return None
    elif source_id := tags.get(tag_plan.REPLACES_TAG):
        why = f"a copy of {source_id} without the Director's tags, by update_disk: {_LOOK_FIRST}"
    elif tag_plan.CALL_TAG in tags:
        why = f"a disk without the Director's tags: {_LOOK_FIRST}"
    elif tag_plan.STEMCELL_TAG in tags:
        why = "perhaps of a stemcell's upload"
    elif _lost_agent(volume, there) is not None:
        why = "perhaps of a VM that is gone"
    else:
        return None
    return why, Removal.DISK


def _known_disk_tags(volume: Resource) -> frozenset[str]:
    """The tags which show that the Director may know a disk."""
    return (DISK_METADATA if tag_plan.CALL_TAG in volume.tags else _DISK_ONLY) & volume.tags.keys()


def _interface(interface: Resource, there: Inventory) -> _Verdict:
    """Judge an interface; its description shows whether this program created it for the agent."""
    agent = _lost_agent(interface, there) if interface.state == "available" else None
    if agent is None:
        return None
    if interface.description == nics.description(there.director, agent):
        return "of a VM that is gone", Removal.DELETE
    return "perhaps of a VM that is gone", Removal.BY_HAND


def _lost_agent(resource: Resource, there: Inventory) -> str | None:
    """The agent that a resource is for; None without one, or if its instance exists."""
    agent = resource.tags.get(tag_plan.AGENT_TAG)
    return None if agent is None or agent in there.agents else agent


def _subnet(subnet: Resource, _there: Inventory) -> _Verdict:
    if tag_plan.NETWORK_TAG not in subnet.tags:
        return None
    if DELETE_FAILED_TAG in subnet.tags:
        return "delete_network failed: the Director has forgotten it", Removal.BY_HAND
    if subnet.is_used:
        return None
    return "perhaps of a managed network that the Director has forgotten", Removal.BY_HAND


def _placement_group(group: Resource, there: Inventory) -> _Verdict:
    """Judge a spread placement group, whose creation time does not show how long it has been unused.

    Its name and strategy show whether create_vm made it. EC2 deletes no group that has an instance, whoever
    owns that. A create_vm that has seen the group and not launched yet creates it again.
    """
    named = spread.spread_group(there.director, group.tags.get(tag_plan.SPREAD_TAG, ""), {})
    is_ours = (group.group, group.type) == (named.name, spread.STRATEGY)
    if not is_ours or group.group in there.groups_in_use:
        return None
    return f"of instance group {group.tags[tag_plan.SPREAD_TAG]}, which has no VMs", Removal.DELETE


def _instance(instance: Resource, _there: Inventory) -> _Verdict:
    if tag_plan.AGENT_TAG not in instance.tags or VM_METADATA & instance.tags.keys():
        return None
    return "perhaps of an interrupted create_vm", Removal.INSTANCE


_JUDGES: Final[Mapping[Kind, Callable[[Resource, Inventory], _Verdict]]] = {
    "AMI": _image,
    "snapshot": _snapshot,
    "volume": _volume,
    "interface": _interface,
    "subnet": _subnet,
    "placement group": _placement_group,
    "instance": _instance,
}


class SweepOptions(Record):
    """The operator's options."""

    older_than: float = 24.0
    """Hours."""
    delete: bool = False
    disks: frozenset[str] = frozenset()
    """The ids of the disks that may be deleted too."""
    instances: frozenset[str] = frozenset()
    """The ids of the instances that may be deleted too, whatever their age."""


_LEFT_TO_YOU: Final = {
    Removal.BY_HAND: StrayOutcome.LEFT,
    Removal.DISK: StrayOutcome.LEFT_DISK,
    Removal.INSTANCE: StrayOutcome.LEFT_INSTANCE,
}


def decide_outcome(stray: Stray, options: SweepOptions, now: datetime) -> StrayOutcome:
    """Decide what happens to a stray."""
    age, resource_id = stray.age(now), stray.resource.resource_id
    if stray.removal is Removal.INSTANCE and resource_id in options.instances:
        return StrayOutcome.REMOVED
    if age is None:
        return StrayOutcome.MARKED if stray.is_aged_by_mark and options.delete else StrayOutcome.UNKNOWN
    if age < options.older_than:  # it may belong to a call that is still running
        return StrayOutcome.YOUNG
    if stray.removal is Removal.DELETE:
        return StrayOutcome.REMOVED if options.delete else StrayOutcome.STRAY
    is_named = stray.removal is Removal.DISK and resource_id in options.disks
    return StrayOutcome.REMOVED if is_named else _LEFT_TO_YOU[stray.removal]
