"""What becomes of a stray, what it costs, and how that is told."""

from __future__ import annotations

from typing import Any

import pytest

from bosh_aws_cpi.tools.actions import Action, Wish, action
from bosh_aws_cpi.tools.strays import Removal, Stray
from bosh_aws_cpi.tools.sweep_report import Row, monthly
from tests.unit.tools.sweep_things import DIRECTOR, NOW, hours_ago, report, thing

NAMED = Wish(24, delete=True, disks=frozenset({"volume-1"}))
NAMED_INSTANCE = Wish(24, delete=True, instances=frozenset({"volume-1"}))
OTHER_NAMED = Wish(24, delete=True, disks=frozenset({"volume-2"}))
LISTING = Wish(24)
DELETING = Wish(24, delete=True)
VOLUME = Stray(thing("volume", size_gib=10, type="gp3"), "lost", Removal.DELETE, hours_ago(100))
INTERFACE = Stray(thing("interface", hours=None), "lost", Removal.DELETE, None, is_marked=True)
LOOKED = (
    "Looked at in eu-west-1: 0 AMIs, 0 snapshots, 0 volumes, 0 interfaces, 0 subnets, 0 placement groups, "
    "0 instances"
)


@pytest.mark.parametrize(
    ("hours", "removal", "wish", "expected"),
    [
        (100, Removal.DELETE, LISTING, Action.LIST),
        (100, Removal.DISK, LISTING, Action.ASK),
        (100, Removal.DELETE, DELETING, Action.REMOVE),
        (100, Removal.DISK, DELETING, Action.ASK),
        (100, Removal.DISK, OTHER_NAMED, Action.ASK),
        (100, Removal.DISK, NAMED, Action.REMOVE),
        (24, Removal.DELETE, DELETING, Action.REMOVE),
        (23.9, Removal.DELETE, DELETING, Action.YOUNG),
        (23.9, Removal.DISK, NAMED, Action.YOUNG),
        (23.9, Removal.DELETE, LISTING, Action.YOUNG),
        (-1, Removal.DELETE, Wish(0, delete=True), Action.REMOVE),
        (-1, Removal.DELETE, Wish(0.001, delete=True), Action.YOUNG),
        (100, Removal.HAND, LISTING, Action.LOOK),
        (100, Removal.HAND, NAMED, Action.LOOK),
        (1, Removal.HAND, NAMED, None),
        (100, Removal.INSTANCE, LISTING, Action.ASK_INSTANCE),
        (100, Removal.INSTANCE, NAMED, Action.ASK_INSTANCE),
        (1, Removal.INSTANCE, NAMED, None),
        (1, Removal.INSTANCE, NAMED_INSTANCE, Action.REMOVE),
        (100, Removal.DISK, NAMED_INSTANCE, Action.ASK),
    ],
)
def test_actions(hours: float, removal: Removal, wish: Wish, expected: Action | None) -> None:
    """What is old enough goes when that is asked for; a clock that is ahead of ours makes nothing old."""
    assert action(VOLUME.replaced(removal=removal, since=hours_ago(hours)), wish, NOW) is expected


@pytest.mark.parametrize("wish", [DELETING, Wish(0, delete=True)])
def test_first_seen(wish: Wish) -> None:
    """What is first seen is marked, whatever age is asked for, and is not removed."""
    assert action(INTERFACE, wish, NOW) is Action.MARK


def test_unknown_age() -> None:
    """Nothing is written when it is not asked for, and what can't have a mark and has no age stays."""
    assert action(INTERFACE, LISTING, NOW) is Action.UNKNOWN
    assert action(VOLUME.replaced(since=None), DELETING, NOW) is Action.UNKNOWN


@pytest.mark.parametrize(
    ("kind", "more", "price"),
    [
        ("volume", {"size_gib": 100, "type": "gp3", "iops": 3000}, 8.0),
        ("volume", {"size_gib": 100, "type": "gp2", "iops": 300}, 10.0),
        ("volume", {"size_gib": 100, "type": "io1", "iops": 1000}, 77.5),
        ("volume", {"size_gib": 100, "type": "io2", "iops": 1000}, 77.5),
        ("volume", {"size_gib": 1000, "type": "st1"}, 45.0),
        ("volume", {"size_gib": 1000, "type": "sc1"}, 15.0),
        ("volume", {"size_gib": 100, "type": "standard"}, 5.0),
        ("volume", {"size_gib": 100, "type": "gp9"}, None),
        ("snapshot", {"size_gib": 100}, 5.0),
        ("interface", {}, None),
        ("AMI", {}, None),
        ("instance", {"type": "t3.micro"}, None),
    ],
)
def test_prices(kind: Any, more: dict[str, Any], price: float | None) -> None:
    """A volume and a snapshot have a price a month; a type that is not known, and all else, has none."""
    assert monthly(thing(kind, **more)) == (None if price is None else pytest.approx(price))


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Action.LIST.value, 1),
        (Action.UNKNOWN.value, 0),
        (Action.YOUNG.value, 0),
        (Action.LOOK.value, 1),
        (Action.ASK.value, 1),
        (Action.MARK.value, 0),
        (Action.REMOVE.value, 0),
        ("gone", 0),
        ("spared", 0),
        ("failed", 1),
        ("not certain", 1),
    ],
)
def test_status(outcome: str, status: int) -> None:
    """The status is 1 when something asks for somebody; what is new, as in a deployment, does not."""
    assert report(Row(VOLUME, Action.REMOVE.value), Row(VOLUME, outcome)).status == status


def test_nothing() -> None:
    """Nothing stray is said in one line, with what was looked at and where, and is 0."""
    there = [thing("volume"), thing("instance", "running"), thing("instance", "stopped")]
    nothing = report(there=there)
    looked = LOOKED.replace("0 volumes", "1 volume").replace("0 instances", "2 instances")
    assert nothing.lines() == [f"No strays of director {DIRECTOR}", looked]
    assert (nothing.status, nothing.document()["strays"]) == (0, [])


def test_not_everything() -> None:
    """What may not be listed may be stray: that is never nothing, and never 0."""
    partly = report(not_listed=["snapshot"])
    said = f"No strays of director {DIRECTOR}, but some kinds of resources could not be listed"
    allow = "snapshots: not listed. Allow ec2:DescribeSnapshots to list them"
    assert partly.lines() == [said, allow, LOOKED.replace("0 snapshots", "snapshots not permitted")]
    assert (partly.status, "snapshot" in partly.document()["looked_at"]) == (1, False)


def test_not_complete() -> None:
    """A run that was ended says so."""
    ended = report(Row(VOLUME, "not certain"), is_complete=False)
    assert ended.lines()[-1] == "INCOMPLETE: the run was interrupted"
    assert ended.document()["is_complete"] is False


def test_table() -> None:
    """Each stray has a line with its age, its price and what became of it; the sum counts what is left."""
    rows = [
        Row(VOLUME, "removed"),
        Row(VOLUME.replaced(resource=thing("volume", size_gib=5, type="gp9")), "failed", "AWS said no"),
        Row(
            VOLUME.replaced(
                resource=thing("snapshot", "completed", size_gib=30, resource_id="snap-0123456789")
            ),
            "left to you: name it with --disk",
        ),
        Row(VOLUME.replaced(resource=thing("AMI", "failed"), since=hours_ago(47.9)), "spared"),
        Row(INTERFACE, "age unknown"),
        Row(INTERFACE.replaced(since=hours_ago(3)), "too young"),
        Row(VOLUME.replaced(resource=thing("instance", "stopped", type="t3.micro")), "left to you"),
        Row(Stray(thing("volume", "", hours=None), "named", Removal.DISK, None), "failed", "none"),
    ]
    assert report(*rows, wish=DELETING).lines() == [
        "KIND       ID               AGE             COST                   WHAT   OUTCOME",
        "volume     volume-1         4 days          10 GiB gp3, $0.80      lost   removed",
        "volume     volume-1         4 days          5 GiB gp9              lost   failed: AWS said no",
        (
            "snapshot   snap-0123456789  4 days          30 GiB, at most $1.50  lost   "
            "left to you: name it with --disk"
        ),
        "AMI        AMI-1            47.9 h          its snapshot's         lost   spared",
        "interface  interface-1      unknown         holds an address       lost   age unknown",
        "interface  interface-1      seen 3.0 h ago  holds an address       lost   too young",
        "instance   instance-1       4 days          stopped t3.micro       lost   left to you",
        "volume     volume-1         unknown         unknown                named  failed: none",
        "",
        (
            "8 listed, 6 left. Volumes and snapshots that are left cost about $1.50 a month: "
            "an estimate from list prices in us-east-1"
        ),
        LOOKED,
    ]


def test_document() -> None:
    """Scripts get the same, with null for what is not known."""
    rows = [Row(VOLUME, "stray"), Row(INTERFACE, "failed", "no")]
    wish = Wish(1.5, delete=True, disks=frozenset({"vol-2", "vol-1"}), instances=frozenset({"i-1"}))
    common = {"why": "lost", "removal": "--delete"}
    nothing = dict.fromkeys(("since", "age_hours", "size_gib", "type", "usd_per_month"))
    assert report(*rows, wish=wish, not_listed=["snapshot"]).document() == {
        "director": DIRECTOR,
        "region": "eu-west-1",
        "older_than_hours": 1.5,
        "delete": True,
        "disks": ["vol-1", "vol-2"],
        "instances": ["i-1"],
        "looked_at": {
            **dict.fromkeys(("AMI", "volume", "interface", "subnet"), 0),
            "placement group": 0,
            "instance": 0,
        },
        "not_listed": ["snapshot"],
        "is_complete": True,
        "strays": [
            {
                **common,
                "kind": "volume",
                "id": "volume-1",
                "since": "2026-04-30T08:00:00Z",
                "age_hours": 100.0,
                "size_gib": 10,
                "type": "gp3",
                "usd_per_month": 0.8,
                "outcome": "stray",
                "error": None,
            },
            {
                **common,
                **nothing,
                "kind": "interface",
                "id": "interface-1",
                "outcome": "failed",
                "error": "no",
            },
        ],
    }
