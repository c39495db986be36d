"""Results of a request that its fault does not explain, each with the reason why it is right: the whole list.

The tables are by scenario.
"""

from typing import NamedTuple

from tests.faults.scenario import Change
from tests.faults.scenarios_disk import ATTACHED, DETACHED, FREE, NEW, old
from tests.faults.scenarios_stemcell import COPIED_SNAPSHOT, HEAVY_SNAPSHOT, LAID, WITHOUT_AMI
from tests.faults.scenarios_vm import (
    BALANCERS,
    ENI,
    ORIGIN,
    ROOT,
    SIZED,
    SPREAD_GROUP,
    VM_IN_GROUP,
    VMS,
)

BALANCED_VM = "delete_vm that leaves its load balancers"
OLD_ATTACHING, OLD_DETACHING = (f"{method} of an old stemcell" for method in ("attach_disk", "detach_disk"))


class Outlived(NamedTuple):
    """A call that may be refused for good, and the request is a success all the same.

    Attributes:
        calls: Which calls.
        change: How the success differs.
    """

    calls: frozenset[str]
    change: Change = Change()


class Unlisted(NamedTuple):
    """What `cpi sweep` does not list.

    Attributes:
        prefixes: Of its ids.
        is_complete: Whether it has to be one of `Painter.complete_images`.
    """

    prefixes: tuple[str, ...]
    is_complete: bool = False


OTHER_ZONE = "create_vm in another zone"
TOO_LOW = "create_vm on spot at too low a price"
OPEN_REQUEST = f"spot request: open {ORIGIN}"
"""Sweep can't list it (docs/sweep.md). A SIGKILL after a refused spot launch may leave it, and a cancellation
that fails, which the log then names.
"""
SPREAD = "create_vm in a spread placement group"
OUTSIDE = "create_vm outside of a full placement group"
FROM_GROUP = "delete_vm of an address in a group"
FROM_GROUP_FAST = f"{FROM_GROUP}, on the fast path"
BUILT_IN_TABLE = Outlived(frozenset({"DescribeInstanceTypes"}))
"""A role that may not make this call is served from the built-in table of types."""
OUTLIVED: dict[str, list[Outlived]] = {
    **{each.name: [BUILT_IN_TABLE] for each in VMS if each.method == "create_vm"},
    # If EC2 does not say what the region offers, all types count.
    SIZED: [Outlived(frozenset({"DescribeInstanceTypeOfferings"}))],
    # The VM is there, on demand, and the log names the request that may launch another one.
    TOO_LOW: [
        BUILT_IN_TABLE,
        Outlived(
            frozenset({"DescribeSpotInstanceRequests", "CancelSpotInstanceRequests"}),
            Change(gains=[OPEN_REQUEST]),
        ),
    ],
    # The tag `Name: to be deleted` only informs operators.
    FROM_GROUP_FAST: [Outlived(frozenset({"CreateTags"}))],
    # EC2 allows tags on others' AMIs, policies often don't: they only inform operators.
    "create_stemcell that is light": [
        Outlived(frozenset({"CreateTags"}), Change([f"{LAID} [deployment=cf]"], [LAID]))
    ],
    # The stemcell is good: that tag helps to find the snapshot should its AMI be removed by hand.
    "create_stemcell that is copied": [
        Outlived(
            frozenset({"CreateTags"}),
            Change([COPIED_SNAPSHOT.format(ami="bosh_ami=made, ")], [COPIED_SNAPSHOT.format(ami="")]),
        )
    ],
    "create_stemcell with its image": [
        Outlived(frozenset({"CreateTags"}), Change([HEAVY_SNAPSHOT], [WITHOUT_AMI]))
    ],
    # A VM that is to be deleted is deleted, as it is without deregister_on_delete: what keeps it from leaving
    # its load balancers is logged. A classic one drops it by and by, as a failing instance; once it is ended,
    # it is no target any more.
    BALANCED_VM: [
        Outlived(
            frozenset({"DescribeLoadBalancers", "DeregisterInstancesFromLoadBalancer"}),
            Change(gains=BALANCERS[:1]),
        ),
        Outlived(
            frozenset(
                {"DescribeTargetGroups", "DeregisterTargets", "DeregisterTargets2", "DescribeTargetHealth"}
                | {f"DescribeTargetHealth{nth}" for nth in (2, 3, 4)}
                | {"DescribeTargetGroupAttributes", "DescribeTargetGroupAttributes2"}
            ),
        ),
    ],
}
STEPS: dict[str, list[Change]] = {
    # Other VMs of the instance group may use the placement group: it stays with its tags, the next create_vm
    # uses it, and cpi sweep deletes it.
    SPREAD: [Change(gains=[SPREAD_GROUP])],
    # The VM is deleted, and the error says that its address may still be a target: the same call again
    # deregisters it.
    FROM_GROUP: [Change([VM_IN_GROUP, ROOT, ENI])],
    FROM_GROUP_FAST: [Change([VM_IN_GROUP, ROOT, ENI])],
    # The policy need not allow DeleteTags: a link that is undone is empty, and the Director's tag stays.
    "update_disk by a copy": [
        Change([FREE], [old("")]),
        Change([FREE], [f"{FREE} [bosh_replaced_by=]"]),
    ],
    # AWS's work comes before the registry's: what the registry was not told stays as AWS has it, and the same
    # call again finishes it.
    OLD_ATTACHING: [ATTACHED],
    OLD_DETACHING: [DETACHED],
    # It gets no traffic any more, and lives: the same call again ends it.
    BALANCED_VM: [Change(BALANCERS[:left]) for left in range(1, len(BALANCERS) + 1)],
}
"""States on the way that a request which fails may leave."""
KILLED_LEAVES: dict[str, list[Change]] = {
    # The repeated request never uses that copy, which may lack data; cpi sweep lists it.
    "update_disk by a copy": [Change(gains=[NEW.replace("made", "new")])],
}
"""What SIGKILL may leave although the request is repeated."""
DONE_BEFORE = {
    # The contract has these errors for what is unknown, or not attached, and callers take them for done.
    "delete_disk": "Bosh::Clouds::DiskNotFound",
    "delete_network": "Bosh::Clouds::NetworkNotFound",
    "detach_disk": "Bosh::Clouds::DiskNotAttached",
}
"""The type of the error that says of a request which is made again that it is done."""
UNCERTAIN = frozenset(
    {"HTTP 500 once", "time-out", "connection reset", "answer lost", "lost, then throttled"}
)
"""After these AWS may have done what it refuses, or throttles, when it is asked again."""
RETRIED = {OTHER_ZONE, TOO_LOW, OUTSIDE}
"""The first attempt at their launch may have launched the VM, though EC2 does not show it, and have taken the
last free address, or the group's last place. A launch elsewhere could be a second one: the request fails, and
the Director's retry has an answer that is certain.
"""
UNLISTED: dict[str, Unlisted] = {
    # A snapshot that the Director does not know has the same tags as one that it knows: the sweep lists none
    # of them (docs/sweep.md). The next equal call adopts it.
    "snapshot_disk": Unlisted(("snap-",)),
    # So it is with a whole AMI.
    **dict.fromkeys(
        ("create_stemcell that is copied", "create_stemcell with its image"),
        Unlisted(("ami-", "snap-"), is_complete=True),
    ),
}
"""What may stay unlisted: after SIGKILL, or with its id in the log if its undo is refused."""


def is_retried(scenario: str, call: str, kind: str) -> bool:
    """Whether the request may fail after a fault that passes, if the Director retries it."""
    return scenario in RETRIED and call == "RunInstances" and kind in UNCERTAIN


def is_done_before(scenario: str, kind: str) -> bool:
    """Whether this type of error says that what is asked for again is done."""
    return DONE_BEFORE.get(scenario) == kind


def outlived(scenario: str, call: str) -> Change | None:
    """Say how a success may differ after a call was refused for good; none: there must be no success."""
    return next((each.change for each in OUTLIVED.get(scenario, []) if call in each.calls), None)
