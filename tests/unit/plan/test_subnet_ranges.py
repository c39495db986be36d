"""The ranges of managed networks."""

from ipaddress import IPv4Network

import pytest

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.plan import subnet_ranges

VPC = ["10.0.0.0/16", "10.4.0.0/22"]
IPV6 = ["2600:1f18::/63"]
HALF, OTHER_HALF = "2600:1f18::/64", "2600:1f18:0:1::/64"


def chosen(bits: int | None, *taken: str, start: int = 0, vpc: list[str] | None = None) -> str:
    """Choose a range."""
    return str(subnet_ranges.free_range(VPC if vpc is None else vpc, taken, bits, start))


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (255, "10.0.255.0/24"),
        (256, "10.4.0.0/24"),
        (260, "10.0.0.0/24"),
        (2**32 + 1, "10.4.1.0/24"),
    ],
)
def test_start(start: int, expected: str) -> None:
    """The search begins anywhere in all of the VPC's ranges, and wraps around."""
    assert chosen(None, start=start) == expected


def test_taken() -> None:
    """A range that overlaps a subnet is skipped."""
    taken = ("10.0.0.0/25", "10.0.1.128/28", "10.0.2.0/23", "2600:1f18::/64")
    assert chosen(24, *taken) == "10.0.4.0/24"
    assert chosen(24, "10.0.128.0/17", start=200) == "10.4.0.0/24"
    assert chosen(22, "10.0.0.0/16") == "10.4.0.0/22"


@pytest.mark.parametrize(("bits", "taken"), [(16, ["10.0.5.0/24"]), (28, ["10.0.0.0/16", "10.4.0.0/22"])])
def test_none_free(bits: int, taken: list[str]) -> None:
    """When no range of that size is free, the error names the size and the VPC's ranges."""
    expected = rf"no /{bits} is free in the VPC, which has 10\.0\.0\.0/16, 10\.4\.0\.0/22"
    with pytest.raises(CloudError, match=expected):
        chosen(bits, *taken)


def test_last_free() -> None:
    """The last free range is found, wherever the search begins."""
    taken = [str(part) for part in IPv4Network("10.0.0.0/24").subnets(new_prefix=28)][:-1]
    found = {chosen(28, *taken, start=start, vpc=["10.0.0.0/24"]) for start in range(20)}
    assert found == {"10.0.0.240/28"}


@pytest.mark.parametrize(
    ("taken", "start", "expected"),
    [([], 1, OTHER_HALF), ([], 2, HALF), ([HALF], 0, OTHER_HALF), ([OTHER_HALF], 1, HALF)],
)
def test_ipv6(taken: list[str], start: int, expected: str) -> None:
    """A free IPv6 /64 is chosen, from the start on."""
    assert str(subnet_ranges.free_ipv6_range(IPV6, taken, start)) == expected


def test_ipv6_of_a_large_range() -> None:
    """A large range is searched from its start on, and IPv4 ranges don't matter."""
    found = subnet_ranges.free_ipv6_range(["2600:1f18::/44"], ["10.0.0.0/16", "2600:1f18::/60"], 2**32)
    assert str(found) == "2600:1f18:0:10::/64"


@pytest.mark.parametrize(("vpc", "problem"), [([], "the VPC has no IPv6 range"), (IPV6, "no /64 is free")])
def test_no_ipv6(vpc: list[str], problem: str) -> None:
    """Without a free /64 the error says why."""
    with pytest.raises(CloudError, match=rf"^network\.cloud_properties\.ipv6: {problem}"):
        subnet_ranges.free_ipv6_range(vpc, [HALF, OTHER_HALF], 7)
