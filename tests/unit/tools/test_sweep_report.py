"""What a sweep does with a stray, what the stray costs, and the report."""

from typing import Any

import pytest

from bosh_aws_cpi.tools.strays import Removal, Stray, StrayOutcome, SweepOptions, decide_outcome
from bosh_aws_cpi.tools.sweep import monthly_cost
from tests.unit.tools.sweep_things import DIRECTOR, NOW, hours_ago, report, thing

NAMED = SweepOptions(24, delete=True, disks=frozenset({"volume-1"}))
NAMED_INSTANCE = SweepOptions(24, delete=True, instances=frozenset({"volume-1"}))
OTHER_NAMED = SweepOptions(24, delete=True, disks=frozenset({"volume-2"}))
LISTING = SweepOptions(24)
DELETING = SweepOptions(24, delete=True)
VOLUME = Stray(thing("volume", size_gib=10, type="gp3"), "lost", Removal.DELETE, hours_ago(100))
INTERFACE = Stray(thing("interface", hours=None), "lost", Removal.DELETE, None)


def became(stray: Stray, outcome: StrayOutcome, error: str | None = None) -> Stray:
    """Return a stray with its outcome."""
    return stray.replace(outcome=outcome, error=error)


@pytest.mark.parametrize(
    ("hours", "removal", "options", "expected"),
    [
        (100, Removal.DELETE, LISTING, StrayOutcome.STRAY),
        (100, Removal.DISK, LISTING, StrayOutcome.LEFT_DISK),
        (100, Removal.DELETE, DELETING, StrayOutcome.REMOVED),
        (100, Removal.DISK, OTHER_NAMED, StrayOutcome.LEFT_DISK),
        (100, Removal.DISK, NAMED, StrayOutcome.REMOVED),
        (24, Removal.DELETE, DELETING, StrayOutcome.REMOVED),
        (23.9, Removal.DELETE, DELETING, StrayOutcome.YOUNG),
        (23.9, Removal.DISK, NAMED, StrayOutcome.YOUNG),
        (-1, Removal.DELETE, SweepOptions(0, delete=True), StrayOutcome.REMOVED),
        (-1, Removal.DELETE, SweepOptions(0.001, delete=True), StrayOutcome.YOUNG),
        (100, Removal.BY_HAND, NAMED, StrayOutcome.LEFT),
        (100, Removal.INSTANCE, NAMED, StrayOutcome.LEFT_INSTANCE),
        (1, Removal.INSTANCE, NAMED, StrayOutcome.YOUNG),
        (1, Removal.INSTANCE, NAMED_INSTANCE, StrayOutcome.REMOVED),
        (100, Removal.DISK, NAMED_INSTANCE, StrayOutcome.LEFT_DISK),
    ],
)
def test_actions(hours: float, removal: Removal, options: SweepOptions, expected: StrayOutcome) -> None:
    """A stray that is old enough is deleted on request; one from the future has the age 0."""
    assert decide_outcome(VOLUME.replace(removal=removal, since=hours_ago(hours)), options, NOW) is expected


@pytest.mark.parametrize(
    ("stray", "options", "expected"),
    [
        (INTERFACE, LISTING, StrayOutcome.UNKNOWN),
        (INTERFACE, DELETING, StrayOutcome.MARKED),
        (INTERFACE, SweepOptions(0, delete=True), StrayOutcome.MARKED),
        (VOLUME.replace(since=None), DELETING, StrayOutcome.UNKNOWN),
    ],
)
def test_unknown_age(stray: Stray, options: SweepOptions, expected: StrayOutcome) -> None:
    """With --delete, a stray whose age only a mark can tell is marked; without an age, nothing is deleted."""
    assert decide_outcome(stray, options, NOW) is expected


@pytest.mark.parametrize(
    ("kind", "more", "price"),
    [
        ("volume", {"size_gib": 100, "type": "gp3"}, 8.0),
        ("volume", {"size_gib": 1000, "type": "st1"}, 45.0),
        ("volume", {"size_gib": 100, "type": "io2"}, None),
        ("snapshot", {"size_gib": 100}, 5.0),
        ("instance", {"type": "t3.micro"}, None),
    ],
)
def test_prices(kind: Any, more: dict[str, Any], price: float | None) -> None:
    """Volumes and snapshots have a monthly price; other kinds and unknown volume types have none."""
    assert monthly_cost(thing(kind, **more)) == (None if price is None else pytest.approx(price))


def test_status() -> None:
    """The exit status is 1 if something is left to do; strays that are too young don't count."""
    removed = became(VOLUME, StrayOutcome.REMOVED)
    to_do = {each for each in StrayOutcome if report(removed, became(VOLUME, each)).status}
    assert to_do == {
        *(StrayOutcome.STRAY, StrayOutcome.FAILED, StrayOutcome.NOT_CERTAIN),
        *(StrayOutcome.LEFT, StrayOutcome.LEFT_DISK, StrayOutcome.LEFT_INSTANCE),
    }


def test_summary() -> None:
    """The summary counts as left to do what makes the exit status 1; what may be deleted later, apart."""
    for each in StrayOutcome:
        listed = report(became(VOLUME, StrayOutcome.REMOVED), became(VOLUME, each))
        left = f"2 listed, {listed.status} left to do"
        later = each in {StrayOutcome.MARKED, StrayOutcome.UNKNOWN, StrayOutcome.YOUNG}
        assert f"{left}{', 1 not due' if later else ''}" in listed.lines()


def test_long_texts() -> None:
    """A long text, also one without blanks that a tag has, leaves the columns aligned; none of it is lost."""
    why = f"replaced by {'vol-' * 30}: first look in bosh disks --orphaned"
    lines = report(VOLUME.replace(why=why), VOLUME).lines()
    rows = lines[: lines.index("")]
    begin, end = rows[0].index("WHAT"), rows[0].index("OUTCOME")
    assert [row[end:] for row in rows if row[end:]] == ["OUTCOME", "not certain", "not certain"]
    shown = "".join(row[begin:end].strip() for row in rows[1:])
    assert shown.replace(" ", "") == f"{why}lost".replace(" ", "")


def test_not_complete() -> None:
    """The report of an interrupted run says that it is incomplete."""
    ended = report(VOLUME).replace(is_complete=False)
    assert ended.lines()[-1] == "INCOMPLETE: the run was interrupted"
    assert ended.document()["is_complete"] is False


def test_document() -> None:
    """The JSON document says what the report says; unknown values are null."""
    strays = [became(VOLUME, StrayOutcome.STRAY), became(INTERFACE, StrayOutcome.FAILED, "no")]
    options = SweepOptions(
        1.5, delete=True, disks=frozenset({"vol-2", "vol-1"}), instances=frozenset({"i-1"})
    )
    document = report(*strays, options=options, not_listed={"snapshot": "not listed"}).document()
    assert (document["director"], document["older_than_hours"], document["disks"]) == (
        DIRECTOR,
        1.5,
        ["vol-1", "vol-2"],
    )
    assert (document["not_listed"], "snapshot" in document["looked_at"]) == (["snapshot"], False)
    volume, interface = document["strays"]
    assert (volume["since"], volume["age_hours"]) == ("2026-04-30T08:00:00Z", 100)
    assert (volume["size_gib"], volume["type"], volume["usd_per_month"]) == (10, "gp3", 0.8)
    assert (volume["removal"], volume["outcome"], volume["error"]) == ("--delete", "stray", None)
    assert (interface["outcome"], interface["error"]) == ("failed", "no")
    unknown = {"since", "age_hours", "size_gib", "type", "usd_per_month"}
    assert {key for key, value in interface.items() if value is None} == unknown
