"""Ranges of addresses as the Director reads them, and many of them."""

from __future__ import annotations

import itertools
from ipaddress import ip_network
from typing import TYPE_CHECKING

import pytest

from bosh_aws_cpi.tools.checks.bosh.ranges import Blocks, overlaps, parsed, shared, within
from bosh_aws_cpi.tools.checks.bosh.subnets import manual_subnet
from bosh_aws_cpi.tools.checks.documents import Document

if TYPE_CHECKING:
    from bosh_aws_cpi.tools.checks.bosh.ranges import AnyNetwork

BLOCKS: list[AnyNetwork] = [
    ip_network(each)
    for each in (
        *("10.0.1.0/24", "10.0.1.0/28", "10.0.1.4/30", "10.0.1.5", "10.0.1.255", "10.0.2.0", "10.0.0.0/23"),
        *("10.0.3.0/24", "10.0.0.0/8", "::/0", "fd00::/64", "fd00::5", "0.0.0.0/0", "::a00:105"),
    )
]


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("10.0.1.5", ["10.0.1.5"]),
        ("10.0.1.2/32-10.0.1.3/32", ["10.0.1.2/31"]),
        ("fd00::2/128 - fd00::3", ["fd00::2/127"]),
        ("10.0.1.3-10.0.1.2", []),
        ("10.0.1.0/24-10.0.1.9", None),
        ("10.0.1.2-fd00::9", None),
        ("10.0.1.2-10.0.1.3-10.0.1.4", None),
        ("router", None),
    ],
)
def test_parsed(text: str, blocks: list[str] | None) -> None:
    """The ends of a range are addresses, with or without their full prefix."""
    expected = None if blocks is None else tuple(ip_network(each) for each in blocks)
    assert parsed(text) == expected


@pytest.mark.parametrize("one", BLOCKS, ids=str)
def test_blocks(one: AnyNetwork) -> None:
    """Blocks answer as a comparison with each of them does."""
    for others in itertools.combinations(BLOCKS, 2):
        blocks = Blocks(others)
        assert blocks.contain(one) == any(within(one, other) for other in others)
        assert blocks.overlap(one) == overlaps(one, others)


def test_shared() -> None:
    """Each block that has an address in common with an earlier one is found once, with one of those."""
    for blocks in itertools.permutations(BLOCKS[:6], 4):
        found = shared(blocks)
        assert all(overlaps(blocks[later], [blocks[earlier]]) for later, earlier in found.items())
        expected = [index for index, each in enumerate(blocks) if overlaps(each, blocks[:index])]
        assert list(found) == expected


def test_many() -> None:
    """A subnet with thousands of reserved and of static addresses is checked without comparing all pairs."""
    addresses = [f"10.0.{16 + index // 64}.{4 * (index % 64) + 1}" for index in range(4000)]
    subnet = {
        "range": "10.0.0.0/16",
        "gateway": "10.0.0.1",
        "reserved": ["10.0.0.2-10.0.0.3", *addresses],
        "static": [
            address.rpartition(".")[0] + f".{int(address.rpartition('.')[2]) + 2}" for address in addresses
        ],
    }
    assert list(manual_subnet(Document("file.yml", subnet).root)) == []
    subnet["static"] = [*subnet["static"], addresses[-1]]
    (found,) = manual_subnet(Document("file.yml", subnet).root)
    assert "is reserved" in found.what
