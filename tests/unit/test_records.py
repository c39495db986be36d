"""Values with named fields."""

from __future__ import annotations

import pytest

from bosh_aws_cpi.records import Record


class Point(Record):
    """A value of two fields, one of which has a default."""

    x: int
    y: int = 0


class Other(Record):
    """Another kind of value with the same fields."""

    x: int
    y: int = 0


@pytest.mark.parametrize(
    "point", [Point(1), Point(1, 0), Point(x=1), Point(y=0, x=1), Point(7).replaced(x=1)]
)
def test_same_fields(point: Point) -> None:
    """Values with the same fields are equal, however they were given."""
    assert (point.x, point.y) == (1, 0)
    assert point == Point(1)
    assert {point, Point(1)} == {point}


@pytest.mark.parametrize("other", [Point(2), Point(1, 1), Other(1), (1, 0)])
def test_differences(other: object) -> None:
    """Values of other fields, and of another kind, differ."""
    assert Point(1) != other


def test_replaced() -> None:
    """A copy with another field leaves the value as it was."""
    point = Point(1, 2)
    assert point.replaced(y=3) == Point(1, 3)
    assert point == Point(1, 2)
