"""Finds disk snapshots that equal calls of snapshot_disk took at the same time. Pure.

CreateSnapshot takes no client token, so each call creates a snapshot, with the same id of the call. The
Director knows one of them at most, and nothing shows which.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from bosh_aws_cpi.aws.inventory import Resource
from bosh_aws_cpi.aws.sdk.idempotency import RECENT
from bosh_aws_cpi.plan.tags import CALL_TAG, SOURCE_TAG, STEMCELL_TAG


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
