"""Which disks that update_disk replaced, and which of its copies, are strays."""

from __future__ import annotations

import pytest

from bosh_aws_cpi.tools.strays import Inventory, Removal, Stray
from tests.unit.tools.sweep_things import DIRECTOR, thing

METADATA = {"attached_at": "x"}
OLD = thing("volume", tags={"bosh_replaced_by": "vol-new", **METADATA}, resource_id="vol-old")
NEW = thing(
    "volume",
    "in-use",
    {"bosh_replaces": "vol-old known", "bosh_call": "call-1", **METADATA},
    resource_id="vol-new",
    source_id="vol-old",
    hours=30,
)
UNLINKED = NEW.replaced(state="available", tags={**NEW.tags, "bosh_replaces": "vol-old"})


def tagged(value: str) -> dict[str, str]:
    """Write the copy's tags with another link."""
    return {**NEW.tags, "bosh_replaces": value}


def strays(*resources: object) -> list[Stray]:
    """List the strays among these."""
    return Inventory(DIRECTOR, resources).strays()  # type: ignore[arg-type]


def test_certain() -> None:
    """An old disk is a stray from its copy's creation on, if the copy is known and attached."""
    (stray,) = strays(OLD, NEW)
    assert stray == Stray(OLD, "replaced by vol-new", Removal.DELETE, NEW.created)


def test_old_disk_that_a_copy_keeps() -> None:
    """An old disk that its copy no longer replaces may be unknown to the Director."""
    old = OLD.replaced(tags={**OLD.tags, "bosh_replaced_by": ""})
    (stray,) = strays(old, NEW.replaced(tags=tagged("vol-old kept")))
    why = "replaced by vol-new, and perhaps used again since"
    assert stray == Stray(old, why, Removal.DISK, NEW.created)


@pytest.mark.parametrize(
    ("copy", "doubt"),
    [
        (NEW.replaced(state="available"), "which is not attached"),
        (NEW.replaced(tags=tagged("vol-old")), "which the Director may not know"),
        (NEW.replaced(tags=tagged("vol-other")), "which is not its copy"),
        (NEW.replaced(tags=tagged("")), "which is not its copy"),
        (NEW.replaced(source_id="vol-other"), "which is not its copy"),
    ],
)
def test_doubt(copy: object, doubt: str) -> None:
    """If the Director may still need the old disk, the operator has to name it."""
    (stray,) = strays(OLD, copy)
    assert stray == Stray(OLD, f"replaced by vol-new, {doubt}", Removal.DISK, NEW.created)


@pytest.mark.parametrize("copy", [[], [NEW.replaced(tags={**NEW.tags, "bosh_director_uuid": "another"})]])
def test_copy_that_is_not_there(copy: list[object]) -> None:
    """If the copy is gone, or another Director's, the operator has to name the old disk."""
    (stray,) = strays(OLD, *copy)
    why = "replaced by vol-new, which this Director does not have"
    assert stray == Stray(OLD, why, Removal.DISK, OLD.created)


@pytest.mark.parametrize(
    "old",
    [
        OLD.replaced(state="in-use"),
        OLD.replaced(tags={**OLD.tags, "bosh_replaced_by": ""}),
    ],
)
def test_old_disk_that_is_used_again(old: object) -> None:
    """An old disk that is attached, or whose link is empty, is no stray."""
    assert strays(old, NEW) == []


@pytest.mark.parametrize("others", [[], [OLD.replaced(tags={**OLD.tags, "bosh_replaced_by": "vol-other"})]])
def test_copy_without_its_link(others: list[object]) -> None:
    """A copy that is not attached, and that its source does not name, may be unknown to the Director."""
    found = [stray for stray in strays(*others, UNLINKED) if stray.resource == UNLINKED]
    why = "a copy of update_disk that the Director may not know"
    assert found == [Stray(UNLINKED, why, Removal.DISK, UNLINKED.created)]


@pytest.mark.parametrize("step", ["known", "deleted", "kept"])
def test_copy_that_the_director_knows(step: str) -> None:
    """A copy that the Director has used is a disk like any other."""
    assert strays(NEW.replaced(state="available", tags=tagged(f"vol-old {step}"))) == []
