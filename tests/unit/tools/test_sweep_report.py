"""What becomes of a stray, what it costs, and how that is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bosh_aws_cpi.tools.strays import Action, Removal, Stray, Wish, action
from bosh_aws_cpi.tools.sweep_report import Report, Row, monthly
from tests.unit.tools.sweep_things import DIRECTOR, NOW, hours_ago, thing

ALL = Wish(24, delete=True, disks=True)
LISTING = Wish(24)
DELETING = Wish(24, delete=True)
VOLUME = Stray(thing("volume", size_gib=10, type="gp3"), "lost", Removal.DELETE, hours_ago(100))
INTERFACE = Stray(thing("interface", hours=None), "lost", Removal.DELETE, None)


@pytest.mark.parametrize(
    ("hours", "removal", "wish", "expected"),
    [
        (100, Removal.DELETE, LISTING, Action.LIST),
        (100, Removal.DISKS, LISTING, Action.LIST),
        (100, Removal.DELETE, DELETING, Action.REMOVE),
        (100, Removal.DISKS, DELETING, Action.ASK),
        (100, Removal.DISKS, ALL, Action.REMOVE),
        (24, Removal.DELETE, DELETING, Action.REMOVE),
        (23.9, Removal.DELETE, DELETING, Action.YOUNG),
        (23.9, Removal.DISKS, ALL, Action.YOUNG),
        (23.9, Removal.DELETE, LISTING, Action.YOUNG),
        (-1, Removal.DELETE, Wish(0, delete=True), Action.REMOVE),
        (-1, Removal.DELETE, Wish(0.001, delete=True), Action.YOUNG),
        (100, Removal.HAND, LISTING, Action.LOOK),
        (100, Removal.HAND, ALL, Action.LOOK),
        (1, Removal.HAND, ALL, None),
    ],
)
def test_actions(hours: float, removal: Removal, wish: Wish, expected: Action | None) -> None:
    """What is old enough goes when that is asked for; a clock that is ahead of ours makes nothing old."""
    assert action(replace(VOLUME, removal=removal, since=hours_ago(hours)), wish, NOW) is expected


@pytest.mark.parametrize("wish", [DELETING, Wish(0, delete=True)])
def test_interface_of_unknown_age(wish: Wish) -> None:
    """An interface whose age is not known is marked, whatever age is asked for, and is not removed."""
    assert action(INTERFACE, wish, NOW) is Action.MARK


def test_unknown_age() -> None:
    """Nothing is written when it is not asked for, and what can't have a mark and has no age stays."""
    assert action(INTERFACE, LISTING, NOW) is Action.LIST
    assert action(replace(VOLUME, since=None), DELETING, NOW) is Action.LIST


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
    ("outcome", "listing", "deleting"),
    [
        (Action.LIST.value, 1, 1),
        (Action.YOUNG.value, 1, 0),
        (Action.LOOK.value, 1, 1),
        (Action.ASK.value, 1, 1),
        (Action.MARK.value, 1, 0),
        (Action.REMOVE.value, 1, 0),
        ("gone", 1, 0),
        ("spared", 1, 0),
        ("failed", 1, 1),
    ],
)
def test_status(outcome: str, listing: int, deleting: int) -> None:
    """A list that is not empty is 1; after a removal, what still asks for somebody is."""
    rows = [Row(VOLUME, Action.REMOVE.value), Row(VOLUME, outcome)]
    assert Report(DIRECTOR, LISTING, NOW, rows).status == listing
    assert Report(DIRECTOR, DELETING, NOW, rows).status == deleting


def test_nothing() -> None:
    """Nothing stray is said in one line, and is 0."""
    report = Report(DIRECTOR, DELETING, NOW, [])
    assert (report.table(), report.status) == (f"Nothing stray of director {DIRECTOR}\n", 0)
    assert report.document()["strays"] == []


def test_table() -> None:
    """Each stray has a line with its age, its price and what became of it; the sum counts what is left."""
    rows = [
        Row(VOLUME, "removed"),
        Row(replace(VOLUME, resource=thing("volume", size_gib=5, type="gp9")), "failed", "AWS said no"),
        Row(
            replace(
                VOLUME, resource=thing("snapshot", "completed", size_gib=30, resource_id="snap-0123456789")
            ),
            "left: needs --disks",
        ),
        Row(replace(VOLUME, resource=thing("AMI", "failed"), since=hours_ago(47.9)), "spared"),
        Row(INTERFACE, "stray"),
        Row(replace(INTERFACE, since=hours_ago(3)), "too young"),
        Row(replace(VOLUME, resource=thing("instance", "running", type="t3.micro")), "left to you"),
    ]
    assert Report(DIRECTOR, DELETING, NOW, rows).table().splitlines() == [
        "KIND       ID               AGE                  COST                   WHAT  OUTCOME",
        "volume     volume-1         4 days               10 GiB gp3, $0.80      lost  removed",
        "volume     volume-1         4 days               5 GiB gp9              lost  failed: AWS said no",
        "snapshot   snap-0123456789  4 days               30 GiB, at most $1.50  lost  left: needs --disks",
        "AMI        AMI-1            47.9 h               its snapshot's         lost  spared",
        "interface  interface-1      unknown              holds an address       lost  stray",
        "interface  interface-1      unknown, seen 3.0 h  holds an address       lost  too young",
        "instance   instance-1       4 days               a running t3.micro     lost  left to you",
        "",
        (
            "7 listed, 5 left. Volumes and snapshots that are left cost about $1.50 a month: "
            "a hint, by list prices in us-east-1"
        ),
    ]


def test_document() -> None:
    """Scripts get the same, with null for what is not known."""
    report = Report(
        DIRECTOR, Wish(1.5), NOW, [Row(VOLUME, "stray"), Row(INTERFACE, "failed", "no")], ["snapshot"]
    )
    common = {"why": "lost", "removal": "--delete"}
    nothing = dict.fromkeys(("since", "age_hours", "size_gib", "type", "usd_per_month"))
    assert report.document() == {
        "director": DIRECTOR,
        "older_than_hours": 1.5,
        "delete": False,
        "disks": False,
        "not_listed": ["snapshot"],
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
