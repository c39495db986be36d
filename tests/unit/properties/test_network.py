"""create_vm's networks as manifests give them."""

from ipaddress import ip_address
from typing import Any

import pytest

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.properties.network import Network, parse_networks
from tests.unit.conftest import ProgramLog

NO_TYPE = "Invalid network type 'local' for AWS, can only handle 'dynamic', 'vip', or 'manual' network types"


def test_read() -> None:
    """Networks keep their order; each has its type, its address and its own properties."""
    networks = parse_networks(
        {
            "b": {"type": "dynamic", "cloud_properties": {"subnet": "s", "security_groups": ["g"]}},
            "a": {"ip": "10.0.0.5", "prefix": 32, "nic_group": 1, "dns": ["d"], "default": ["dns"]},
            "c": {"ip": "2600::5", "prefix": "128", "type": "manual", "cloud_properties": None},
        }
    )
    assert list(networks) == ["b", "a", "c"]
    assert [network.kind for network in networks.values()] == ["dynamic", "manual", "manual"]
    addresses = [network.address for network in networks.values()]
    assert addresses == [None, ip_address("10.0.0.5"), ip_address("2600::5")]
    assert (networks["a"].nic_group, networks["a"].prefix) == ("1", "32")
    assert networks["b"].cloud_properties.subnet == "s"
    assert list(networks["b"].cloud_properties.security_groups) == ["g"]
    assert networks["c"].cloud_properties.subnet is None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (None, "networks.a must be a Hash, got null"),
        ({"type": "local"}, NO_TYPE),
        ({"ip": "10.0.0.256"}, "networks.a.ip is not an IP address: '10.0.0.256'"),
        ({"ip": "10.0.0.0/28"}, "networks.a.ip is not an IP address: '10.0.0.0/28'"),
    ],
)
def test_no_networks(values: object, message: str) -> None:
    """What is no network is refused by its name."""
    with pytest.raises(CloudError) as caught:
        parse_networks({"fine": {"ip": "10.0.0.5"}, "a": values})
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("values", "path", "kind"),
    [
        ({"type": 5}, "type", "Integer"),
        ({"ip": ["hunter2"]}, "ip", "Array"),
        ({"nic_group": True}, "nic_group", "Boolean"),
        ({"cloud_properties": "hunter2"}, "cloud_properties", "String"),
        (
            {"cloud_properties": {"security_groups": {"a": "hunter2"}}},
            "cloud_properties.security_groups.0",
            "Hash",
        ),
        (
            {"cloud_properties": {"security_groups": [["a", 5]]}},
            "cloud_properties.security_groups.1",
            "Integer",
        ),
    ],
)
def test_wrong_types(values: dict[str, Any], path: str, kind: str) -> None:
    """A value of a wrong type is refused by its path and its type, never by what it is."""
    with pytest.raises(CloudError) as caught:
        parse_networks({"a": values})
    message = caught.value.message
    assert message.startswith(f"Invalid properties: networks.a.{path}: ")
    assert message.endswith(f", got {kind}")
    assert "hunter2" not in message


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"ip": "10.0.0.5", "prefix": "32"}, ("10.0.0.5", None)),
        ({"ip": "2600::5", "prefix": "128"}, ("2600::5", None)),
        ({"ip": "10.0.0.16", "prefix": "28"}, (None, "10.0.0.16/28")),
        ({"ip": "2600:1F18:0001::", "prefix": 80}, (None, "2600:1f18:1::/80")),
        ({"prefix": 28}, (None, None)),
    ],
)
def test_address_or_prefix(given: dict[str, Any], expected: tuple[str | None, str | None]) -> None:
    """With a prefix an address names all that are delegated; a prefix of full length is a single address."""
    network = Network.parse("a", given)
    address = str(network.address) if network.address else None
    assert (address, network.delegated_prefix) == expected


OTHER_LENGTH = (
    "networks.a.prefix: EC2 delegates /28 of IPv4 and /80 of IPv6 addresses, not '{}'. "
    "For a single address leave the prefix out, or give /{}"
)


@pytest.mark.parametrize(
    ("ip", "prefix", "full"),
    [
        *(("10.0.0.16", 29, 32), ("10.0.0.0", "27", 32), ("2600::", 64, 128), ("2600::", 28, 128)),
    ],
)
def test_prefixes_of_other_lengths(ip: str, prefix: int | str, full: int) -> None:
    """A prefix of a length that EC2 does not delegate is refused, with what is taken."""
    with pytest.raises(CloudError) as caught:
        Network.parse("a", {"ip": ip, "prefix": prefix})
    assert caught.value.message == OTHER_LENGTH.format(f"{ip}/{prefix}", full)


@pytest.mark.parametrize(
    ("ip", "prefix", "what"),
    [
        ("10.0.0.5", 28, "has host bits set"),
        ("2600::5", 80, "has host bits set"),
        ("10.0.0.16", 33, "does not appear to be"),
        ("10.0.0.16", 128, "does not appear to be"),
    ],
)
def test_no_prefixes(ip: str, prefix: int | str, what: str) -> None:
    """What is no prefix, or has bits beyond it, is refused by its name."""
    with pytest.raises(CloudError, match=r"networks\.a: ip and prefix are not a valid range: ") as caught:
        Network.parse("a", {"ip": ip, "prefix": prefix})
    assert what in caught.value.message
    assert f"{ip}/{prefix}" in caught.value.message


@pytest.mark.parametrize("kind", ["dynamic", "vip"])
def test_prefix_of_other_networks(kind: str) -> None:
    """Only a manual network has a prefix to delegate: another one's is not looked at."""
    assert Network.parse("a", {"type": kind, "ip": "10.0.0.5", "prefix": 5}).kind == kind


def test_unknown_keys(program_log: ProgramLog) -> None:
    """Unknown keys are warned about by their path, in the network and in its cloud properties."""
    Network.parse("a", {"ip": "10.0.0.5", "netmsk": 1, "cloud_properties": {"subnet_id": "s"}})
    (record,) = program_log.records
    assert record.text == (
        "Unknown properties are ignored: networks.a.netmsk (did you mean netmask?), "
        "networks.a.cloud_properties.subnet_id (did you mean subnet?)"
    )
