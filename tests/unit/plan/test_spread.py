"""The name of an instance group's placement group, and which instance groups have one."""

import pytest

from bosh_aws_cpi.plan import spread

UUID = "6321488c-5d2e-4cb7-a50d-d9701a5dc122"


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        (f"bosh-1-db-compilation-{UUID}", True),
        (f"bosh-1-db-compilation-{UUID}-etcd", False),
        (f"bosh-1-db-{UUID}", False),
    ],
)
def test_is_compilation(group: str, *, expected: bool) -> None:
    """Only the end of the Director's name for a group tells that it is for the compilation."""
    assert spread.is_compilation(group) is expected


@pytest.mark.parametrize("group", ["x" * 213, "x" * 214, "ä"])
def test_name(group: str) -> None:
    """A name has at most 255 ASCII characters, and another one for another group."""
    name = spread.spread_group(UUID, group, {}).name
    assert len(name) <= 255
    assert name.isascii()
    assert (name == f"bosh-{UUID}-{group}") is (group == "x" * 213)
    assert name != spread.spread_group(UUID, group[:-1] + "z", {}).name


def test_config_tags() -> None:
    """The tags of the configuration don't replace those by which the CPI knows the group."""
    tags = spread.spread_group(UUID, "a-b-c", {"team": "a", "bosh_spread_group": "other"}).tags
    assert tags == {"team": "a", "bosh_director_uuid": UUID, "bosh_spread_group": "a-b-c"}
