"""What a sweep does with a stray, what the stray costs, and the report."""

from __future__ import annotations

from typing import Any

import pytest

from bosh_aws_cpi.tools.strays import Action, Removal, Stray, Wish, action
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
        (1, Removal.HAND, NAMED, Action.YOUNG),
        (100, Removal.INSTANCE, LISTING, Action.ASK_INSTANCE),
        (100, Removal.INSTANCE, NAMED, Action.ASK_INSTANCE),
        (1, Removal.INSTANCE, NAMED, Action.YOUNG),
        (1, Removal.INSTANCE, NAMED_INSTANCE, Action.REMOVE),
        (100, Removal.DISK, NAMED_INSTANCE, Action.ASK),
    ],
)
def test_actions(hours: float, removal: Removal, wish: Wish, expected: Action) -> None:
    """A stray that is old enough is deleted on request; one from the future has the age 0."""
    assert action(VOLUME.replaced(removal=removal, since=hours_ago(hours)), wish, NOW) is expected


@pytest.mark.parametrize(
    ("stray", "wish", "expected"),
    [
        (INTERFACE, LISTING, Action.UNKNOWN),
        (INTERFACE, DELETING, Action.MARK),
        (INTERFACE, Wish(0, delete=True), Action.MARK),
        (VOLUME.replaced(since=None), DELETING, Action.UNKNOWN),
    ],
)
def test_unknown_age(stray: Stray, wish: Wish, expected: Action) -> None:
    """With --delete, a stray whose age only a mark can tell is marked; without an age, nothing is deleted."""
    assert action(stray, wish, NOW) is expected


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
    """Volumes and snapshots have a monthly price; other kinds and unknown volume types have none."""
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
    """The exit status is 1 if something is left to do; strays that are too young don't count."""
    assert report(Row(VOLUME, Action.REMOVE.value), Row(VOLUME, outcome)).status == status


def test_not_everything() -> None:
    """If a kind can't be listed, the report says so, and the exit status is 1."""
    partly = report(not_listed=["snapshot"])
    said = f"No strays of director {DIRECTOR}, but some kinds of resources could not be listed"
    allow = "snapshots: not listed. Allow ec2:DescribeSnapshots to list them"
    assert partly.lines() == [said, allow, LOOKED.replace("0 snapshots", "snapshots not permitted")]
    assert (partly.status, "snapshot" in partly.document()["looked_at"]) == (1, False)


def test_not_complete() -> None:
    """The report of an interrupted run says that it is incomplete."""
    ended = report(Row(VOLUME, "not certain"), is_complete=False)
    assert ended.lines()[-1] == "INCOMPLETE: the run was interrupted"
    assert ended.document()["is_complete"] is False


def test_table() -> None:
    """Each stray has a line with its age, its cost and its outcome; the sum counts those that are left."""
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
            "an estimate from list prices in us-east-1, without the disks of instances"
        ),
        LOOKED,
    ]


def test_document() -> None:
    """The JSON document says the same; unknown values are null."""
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
