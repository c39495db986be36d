"""Client tokens."""

from itertools import combinations
from typing import Any

import pytest

from bosh_aws_cpi.cpi.identity import client_token
from bosh_aws_cpi.model import InstanceTypeFacts
from bosh_aws_cpi.plan.block_devices import BlockDevices
from bosh_aws_cpi.plan.launch_options import LaunchOption

PARTS = ("instance", "director", "agent", "m5.large (spot)", 0)


@pytest.mark.parametrize(
    "parts", [PARTS, (), ("",), ("ü", "\U0001f600"), ("a" * 10_000,)], ids=lambda parts: str(len(parts))
)
def test_form(parts: tuple[object, ...]) -> None:
    """Whatever it stands for, a token is 64 ASCII characters: EC2 takes no more, and no others."""
    token = client_token(*parts)
    assert len(token) == 64
    assert token.isascii()
    assert token.isalnum()


def test_stability() -> None:
    """The same values make the same token, in every process and every release from now on."""
    assert client_token("instance", "d", "a", "m5.large (on demand)", 0) == (
        "cc8099ff2779a7fd9cf35fd1731a4ca9a2157d44b35dbf396bbec96692f0f2b5"
    )


@pytest.mark.parametrize("index", range(len(PARTS)))
def test_each_part_counts(index: int) -> None:
    """A token differs with each of its parts."""
    other = list(PARTS)
    other[index] = f"{PARTS[index]}1"
    assert client_token(*other) != client_token(*PARTS)


@pytest.mark.parametrize(
    ("one", "other"),
    list(combinations([("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), ("", "abc"), ("a", "b", "c")], 2)),
)
def test_parts_do_not_run_together(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    """The borders between the parts are part of the token."""
    assert client_token(*one) != client_token(*other)


def test_offers() -> None:
    """A token tells types, and markets, from each other, but not what belongs to the request."""

    def token(name: str, *, ephemeral: str | None = None, **way: Any) -> str:
        facts = InstanceTypeFacts(name, ebs_needs_nvme_path=True)
        return client_token("instance", LaunchOption(facts, BlockDevices([], ephemeral), **way))

    assert token("m5.large", market="spot") == token("m5.large", market="spot", ephemeral="/dev/sdb")
    assert token("m5.large", market="spot") != token("m5.large")
    assert token("m5.large", market="spot") != token("m5.xlarge", market="spot")
    assert token("m5.large", is_reserved=True) != token("m5.large")
