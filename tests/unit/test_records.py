"""Values with named fields."""

from collections.abc import Callable

import pytest

from bosh_aws_cpi.config.cpi_config import RegistryConfig
from bosh_aws_cpi.plan.agent_settings import AgentSettingsInput
from bosh_aws_cpi.records import Record
from bosh_aws_cpi.rpc.request import Request


class Point(Record):
    """A value of two fields, one of which has a default."""

    x: int
    y: int = 0


POINT: Callable[..., Point] = Point
"""As type checkers do not see it: they refuse what the tests try."""


class Named(Point):
    """A value with one more field."""

    name: str = ""


@pytest.mark.parametrize("point", [Point(1, 0), Point(y=0, x=1), Point(7).replace(x=1)])
def test_same_fields(point: Point) -> None:
    """Values of one kind with the same fields are equal, however they were given."""
    assert (point.x, point.y) == (1, 0)
    assert {point, Point(1)} == {point}
    assert all(point != other for other in (Point(2), Point(1, 1), Named(1), (1, 0)))
    assert Named(1, 2, "a") == Named(y=2, x=1, name="a")


@pytest.mark.parametrize(
    "make",
    [
        lambda: POINT(1, 2, 3),
        lambda: POINT(1, x=2),
        lambda: POINT(1, z=2),
        lambda: POINT(y=1),
        lambda: Point(1).replace(z=1),
    ],
    ids=["too many", "twice", "unknown", "missing", "unknown in a copy"],
)
def test_wrong_fields(make: Callable[[], Point]) -> None:
    """A value for no field, and a field without a value, are errors."""
    with pytest.raises(TypeError, match=r"^Point has the fields x, y, and needs x$"):
        make()


def test_frozen() -> None:
    """A field can't be changed, except in a copy."""
    point = Point(1)
    assert point.replace(y=3) == Point(1, 3)
    with pytest.raises(AttributeError, match=r"Point\.x can't be changed"):
        setattr(point, "x", 2)  # noqa: B010 - type checkers refuse the assignment
    with pytest.raises(AttributeError, match=r"Point\.x can't be changed"):
        del point.x
    assert point == Point(1)


def test_shown() -> None:
    """A value shows its fields, unless they may be secret."""
    assert repr(Named(1, name="a")) == "Named(x=1, y=0, name='a')"
    request = Request("info", ["arguments"], {"secret_access_key": "x"}, 2)
    assert repr(request) == "<Request>"
    assert repr(RegistryConfig(endpoint="http://u:p@h", user="u", password="p")) == "<RegistryConfig>"
    settings = AgentSettingsInput(
        "agent-1", {}, {"bosh": {"password": "x"}}, {}, None, "/dev/xvda", is_registry_used=False
    )
    assert repr(settings) == "<AgentSettingsInput>"
