"""From networks to network interfaces."""

from typing import Any

import pytest

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import NicPlan
from bosh_aws_cpi.plan import nics
from bosh_aws_cpi.properties.network import Network

IPV6 = "2600:1f18:1::5"


def manual(ip: str | None, subnet: str | None = "subnet-1", **more: Any) -> dict[str, Any]:
    """Describe a manual network."""
    return {"ip": ip, "cloud_properties": {"subnet": subnet}, **more}


def dynamic(subnet: str | None = "subnet-1", **more: Any) -> dict[str, Any]:
    """Describe a dynamic network."""
    return {"type": "dynamic", "cloud_properties": {"subnet": subnet}, **more}


VIP: dict[str, Any] = {"type": "vip", "ip": "52.1.2.3"}


def read(networks: dict[str, dict[str, Any]]) -> dict[str, Network]:
    """Read networks as create_vm does, vip ones too."""
    return {name: Network.parse(name, values) for name, values in networks.items()}


@pytest.mark.parametrize(
    ("networks", "expected"),
    [
        pytest.param(
            {
                "a": manual("10.0.0.5", nic_group=1),
                "b": manual("10.0.1.5", "subnet-2"),
                "c": manual(IPV6, nic_group="1"),
            },
            [
                NicPlan("1", ["a", "c"], "subnet-1", "manual", "10.0.0.5", IPV6),
                NicPlan("b", ["b"], "subnet-2", "manual", "10.0.1.5"),
            ],
            id="a group stands where its first network stands",
        ),
        pytest.param(
            {
                "a": manual("10.0.0.5", nic_group="g"),
                "b": manual("10.0.0.6", nic_group="g"),
                "c": manual(IPV6, nic_group="g"),
                "d": manual("2600:1f18:1::6", nic_group="g"),
            },
            [NicPlan("g", ["a", "b", "c", "d"], "subnet-1", "manual", "10.0.0.5", IPV6)],
            id="the first address of each family",
        ),
        pytest.param(
            {"a": manual("2600:1F18:0001::0005")},
            [NicPlan("a", ["a"], "subnet-1", "manual", None, IPV6)],
            id="IPv6 alone, in EC2's spelling",
        ),
        pytest.param(
            {"a": manual("10.0.0.5", nic_group="g"), "b": manual(None, None, nic_group="g")},
            [NicPlan("g", ["a", "b"], "subnet-1", "manual", "10.0.0.5")],
            id="one network of a group names the subnet and the address",
        ),
        pytest.param(
            {
                "v": VIP,
                "d": dynamic("subnet-2", nic_group="g"),
                "a": manual("10.0.0.5", nic_group="g"),
                "e": dynamic("subnet-3", ip="10.9.9.9"),
            },
            [
                NicPlan("g", ["a"], "subnet-1", "manual", "10.0.0.5"),
                NicPlan("d", ["d"], "subnet-2", "dynamic"),
            ],
            id="manual ones first, then the first dynamic one, which joins no group, and no vip",
        ),
    ],
)
def test_nic_plans(networks: dict[str, dict[str, Any]], expected: list[NicPlan]) -> None:
    """Networks become interfaces: grouped, in order, each with its subnet and addresses."""
    assert nics.nic_plans(read(networks)) == expected


@pytest.mark.parametrize(
    ("networks", "said"),
    [
        (
            {"a": manual("10.0.0.5", "s-2", nic_group="g"), "b": manual("10.0.0.6", "s-1", nic_group="g")},
            "different subnet ids: s-2, s-1 .*'a' has s-2, 'b' has s-1",
        ),
        ({"g": manual("10.0.0.5", None)}, "'g' has no subnet"),
        ({"g": dynamic(None)}, "'g' has no subnet"),
        ({"g": manual(None)}, "Could not find a single ip address .*: g$"),
        ({"a": manual("", nic_group="g")}, "Could not find a single ip address .*: a$"),
        ({"g": manual("10.0.0.16", prefix=28)}, "ip address .* a prefix network can only be a secondary"),
    ],
    ids=["two subnets", "no subnet", "dynamic without a subnet", "no address", "empty address", "a prefix"],
)
def test_groups_that_make_no_interface(networks: dict[str, dict[str, Any]], said: str) -> None:
    """A group needs one subnet and a single address; the message names the group."""
    with pytest.raises(CloudError, match=said) as caught:
        nics.nic_plans(read(networks))
    assert "'g'" in caught.value.message
    assert caught.value.ok_to_retry is False


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("sg-12345678", True),
        ("sg-1234567", False),
        ("sg-deadbeef-web", False),
        ("my-sg-12345678", False),
        ("sg-1234567G", False),
        ("sg-12345678\n", False),
    ],
)
def test_group_ids(entry: str, expected: bool) -> None:  # noqa: FBT001 - a column of the table
    """Only "sg-" with 8 or more hex digits and nothing else is an id: a group may be named sg-frontend."""
    assert nics.is_group_id(entry) is expected
