"""Delegated prefixes, elastic IPs, and which interfaces are made before the instance."""

from typing import Any

import pytest

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import NicPlan
from bosh_aws_cpi.plan import nics
from bosh_aws_cpi.properties.network import parse_networks

VIP = {"type": "vip", "ip": "52.1.2.3"}


def manual(ip: str, subnet: str = "subnet-1", **more: Any) -> dict[str, Any]:
    """Describe a manual network."""
    return {"ip": ip, "cloud_properties": {"subnet": subnet}, **more}


IPV4 = manual("10.0.0.5", nic_group="g")
NARROW = manual("10.0.0.16", nic_group="g", prefix=28)
NEXT_NARROW = manual("10.0.0.32", nic_group="g", prefix="28")
IPV6 = manual("2600::5", nic_group="g")
WIDE = manual("2600:0:0:0:1::", nic_group="g", prefix=80)
NEXT_WIDE = manual("2600:0:0:0:2::", nic_group="g", prefix=80)


@pytest.mark.parametrize(
    ("networks", "addresses", "prefixes"),
    [
        ([NARROW, IPV4], ("10.0.0.5", None), ("10.0.0.16/28", None)),
        ([IPV4, IPV6, WIDE, NARROW], ("10.0.0.5", "2600::5"), ("10.0.0.16/28", "2600::1:0:0:0/80")),
        ([IPV6, NARROW], (None, "2600::5"), ("10.0.0.16/28", None)),
        (
            [IPV4, NARROW, NEXT_NARROW, NEXT_WIDE, WIDE],
            ("10.0.0.5", None),
            ("10.0.0.16/28", "2600::2:0:0:0/80"),
        ),
        ([manual("10.0.0.5", nic_group="g", prefix=32)], ("10.0.0.5", None), (None, None)),
        ([manual("2600::5", nic_group="g", prefix=128)], (None, "2600::5"), (None, None)),
    ],
)
def test_prefixes(
    networks: list[dict[str, Any]],
    addresses: tuple[str | None, str | None],
    prefixes: tuple[str | None, str | None],
) -> None:
    """A group takes the first address and the first prefix of each family."""
    named = parse_networks({f"n{index}": given for index, given in enumerate(networks)})
    expected = NicPlan("g", list(named), "subnet-1", "manual", *addresses, *prefixes)
    assert nics.nic_plans(named) == [expected]


@pytest.mark.parametrize(
    ("networks", "said"),
    [
        (
            {"a": manual("10.0.0.17"), "b": {**NARROW, "nic_group": "a"}},
            "'a' overlap: 10.0.0.17 and 10.0.0.16/28",
        ),
        (
            {"a": manual("10.0.0.31"), "b": IPV4, "c": NARROW},
            "'a' and 'g' overlap: 10.0.0.31 and 10.0.0.16/28",
        ),
        (
            {"a": manual("10.0.0.6"), "b": {**NARROW, "nic_group": "a"}, "c": IPV4, "d": NARROW},
            "'a' and 'g' overlap: 10.0.0.16/28 and 10.0.0.16/28",
        ),
        (
            {"a": manual("2600::1:0:0:5"), "b": IPV6, "c": WIDE},
            "'a' and 'g' overlap: 2600::1:0:0:5 and 2600::1:0:0:0/80",
        ),
    ],
    ids=["in its own prefix", "in another's prefix", "the same prefix twice", "IPv6"],
)
def test_addresses_that_overlap(networks: dict[str, Any], said: str) -> None:
    """An address in a prefix of the VM's, or a prefix twice, is refused: EC2 would take the first alone.

    Both are told as they were given.
    """
    with pytest.raises(CloudError) as caught:
        nics.nic_plans(parse_networks(networks))
    assert caught.value.message == f"Addresses of nic group {said}"


@pytest.mark.parametrize(
    "networks",
    [
        {"a": manual("10.0.0.5"), "b": manual("10.0.0.5", "subnet-2")},
        {"a": manual("10.0.0.32"), "b": IPV4, "c": NARROW},
        {"a": manual("10.0.0.17", "subnet-2"), "b": IPV4, "c": NARROW},
        {"a": manual("10.0.0.5", nic_group="g"), "b": manual("10.0.0.5", nic_group="g")},
    ],
    ids=["subnets", "beside a prefix", "prefix of another subnet", "one interface"],
)
def test_addresses_that_do_not_meet(networks: dict[str, Any]) -> None:
    """Addresses that differ, one in two subnets, or one twice for one interface are fine."""
    subnets = {network["cloud_properties"]["subnet"] for network in networks.values()}
    assert {plan.subnet_id for plan in nics.nic_plans(parse_networks(networks))} == subnets


def test_two_elastic_ips() -> None:
    """A second vip network is refused by its name."""
    named = parse_networks({"v": VIP, "a": manual("10.0.0.5"), "w": VIP})
    with pytest.raises(CloudError) as caught:
        nics.vip_plan(named, nics.nic_plans(named))
    assert caught.value.message.startswith("More than one vip network for 'w'. ")
    assert "has that of vip network 'v' already" in caught.value.message
