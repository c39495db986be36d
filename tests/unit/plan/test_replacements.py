"""The tags that link a volume with its copy."""

from __future__ import annotations

import pytest

from bosh_aws_cpi.model import Volume
from bosh_aws_cpi.plan import replacements
from bosh_aws_cpi.plan.replacements import Step

OLD = Volume("vol-1", "available", "z", {}, 1, "gp3", encrypted=False)
COPY = OLD.replaced(disk_cid="vol-2", source_cid="vol-1", tags={"bosh_replaces": "vol-1"})


@pytest.mark.parametrize("step", Step)
def test_link(step: Step) -> None:
    """The tag's value is parsed as it was written."""
    assert replacements.source_of({"bosh_replaces": replacements.link("vol-1", step)}) == ("vol-1", step)


def test_links() -> None:
    """The search for a volume's copies uses every value of the tag."""
    assert replacements.links("vol-1") == ["vol-1", "vol-1 known", "vol-1 deleted", "vol-1 kept"]


@pytest.mark.parametrize("value", [None, "", " known", "vol-1 unheard", "vol-1 known of"])
def test_no_link(value: str | None) -> None:
    """Any other value is no link."""
    tags = {} if value is None else {"bosh_replaces": value}
    assert replacements.source_of(tags) is None
    assert replacements.pending_source(tags) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [("vol-1", "vol-1"), ("vol-1 known", "vol-1"), ("vol-1 deleted", None), ("vol-1 kept", None)],
)
def test_pending(value: str, expected: str | None) -> None:
    """An old volume is pending until it is deleted or kept."""
    assert replacements.pending_source({"bosh_replaces": value}) == expected


LATER, EARLIER = ({"bosh_replaces": "vol-1", "attached_at": f"2026-05-0{day}T00:00:00Z"} for day in (2, 1))
USED = {"attached_at": "2026-05-01T12:00:00Z"}
HELD = {"i-1": ("attached", "/dev/sdf")}


@pytest.mark.parametrize(
    ("copy", "expected"),
    [
        (COPY, True),
        (COPY.replaced(tags={"bosh_replaces": "vol-1 known"}), False),
        (COPY.replaced(tags={}), False),
        (COPY.replaced(source_cid=None), False),
        (COPY.replaced(source_cid="vol-3"), False),
        (COPY.replaced(attachments=HELD), False),
        (COPY.replaced(tags=EARLIER), True),
        (COPY.replaced(tags=LATER), False),
    ],
    ids=["unknown", "known", "no tag", "no copy", "of another volume", "attached", "stale", "used"],
)
def test_unknown_copy(copy: Volume, *, expected: bool) -> None:
    """Only an unused copy, by EC2 and by its tag, may be discarded as unknown."""
    assert replacements.is_unknown_copy(copy, OLD.replaced(tags=USED)) is expected


@pytest.mark.parametrize(
    ("tags", "expected"),
    [(LATER, True), (EARLIER, False), ({**LATER, "bosh_replaces": "vol-1 known"}, False)],
)
def test_unnoted_copy(tags: dict[str, str], *, expected: bool) -> None:
    """The Director's tag shows that it has used a copy of which the link does not say so."""
    assert replacements.is_unnoted_copy(COPY.replaced(tags=tags), OLD.replaced(tags=USED)) is expected


@pytest.mark.parametrize(
    ("copy", "named", "expected"),
    [
        (COPY.replaced(attachments=HELD), "vol-2", True),
        (COPY.replaced(attachments=HELD), "", False),
        (COPY.replaced(attachments=HELD, source_cid="vol-3"), "vol-2", False),
        (COPY, "vol-2", False),
    ],
    ids=["the disk", "not named", "no copy", "not attached"],
)
def test_the_disk(copy: Volume, named: str, *, expected: bool) -> None:
    """An attached copy is the disk only if the volume names it and EC2 calls it a copy of the volume."""
    assert replacements.is_the_disk(copy, OLD.replaced(tags={"bosh_replaced_by": named})) is expected


@pytest.mark.parametrize(
    ("value", "source", "expected"),
    [
        ("vol-1", "vol-1", False),
        ("vol-1 known", "vol-1", True),
        ("vol-1 deleted", "vol-1", True),
        ("vol-1 kept", "vol-1", False),
        ("vol-1 known", "vol-3", False),
        ("", "vol-1", False),
    ],
)
def test_successor(value: str, source: str, *, expected: bool) -> None:
    """A copy succeeds its volume if the Director has used it, and not the volume after it."""
    copy = COPY.replaced(tags={"bosh_replaces": value}, source_cid=source)
    assert replacements.is_successor(copy, "vol-1") is expected


def test_tags_of_a_copy() -> None:
    """A copy has the old tags, but not AWS's, nor those about the origin of the old volume."""
    before = {
        "aws:backup": "x",
        "AWS:x": "y",
        "team": "a",
        "bosh_replaced_by": "vol-0",
        "bosh_call": "call-0",
    }
    found = replacements.of_volume_copy(
        OLD.replaced(tags={**before, "bosh_replaces": "vol-9 known", "bosh_director_uuid": "b"}),
        "d",
        "call-1",
    )
    links = {"bosh_call": "call-1", "bosh_replaces": "vol-1"}
    assert found == {"team": "a", "bosh_director_uuid": "d", **links}


def test_tags_without_a_director() -> None:
    """Without a Director's UUID in the request the copy has no such tag: the volume's may be forged."""
    volume = OLD.replaced(tags={"bosh_director_uuid": "b"})
    assert "bosh_director_uuid" not in replacements.of_volume_copy(volume, None, "call-1")
