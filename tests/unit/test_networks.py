"""create_vm's networks as manifests give them."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

import pytest

from bosh_aws_cpi.errors import CloudError, NotSupported
from bosh_aws_cpi.properties import Network, parse_networks

NO_TYPE = "Invalid network type '{}' for AWS, can only handle 'dynamic', 'vip', or 'manual' network types"


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


def test_none() -> None:
    """No networks are none."""
    assert parse_networks({}) == {}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (None, "networks.a must be a Hash, got null"),
        (["hunter2"], "networks.a must be a Hash, got Array"),
        (
            {"type": "local"},
            NO_TYPE.format("local"),
        ),
        (
            {"type": ""},
            NO_TYPE.format(""),
        ),
        ({"ip": "10.0.0.256"}, "networks.a.ip is no IP address: '10.0.0.256'"),
        ({"ip": "10.0.0.0/28"}, "networks.a.ip is no IP address: '10.0.0.0/28'"),
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
        ({"dns": "hunter2"}, "dns", "String"),
        ({"nic_group": {"hunter2": 1}}, "nic_group", "Hash"),
        ({"nic_group": True}, "nic_group", "Boolean"),
        ({"cloud_properties": "hunter2"}, "cloud_properties", "String"),
        ({"cloud_properties": {"subnet": 5}}, "cloud_properties.subnet", "Integer"),
        ({"cloud_properties": {"security_groups": "hunter2"}}, "cloud_properties.security_groups", "String"),
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
    ("networks", "names"),
    [
        ({"a": {"ip": "10.0.0.5"}, "v": {"type": "vip", "ip": "52.0.0.1"}}, "networks.v of type vip"),
        ({"a": {"ip": "10.0.0.16", "prefix": "28"}}, "networks.a.prefix"),
        ({"a": {"ip": "10.0.0.16", "prefix": 128}}, "networks.a.prefix"),
        ({"a": {"ip": "2600::", "prefix": 80}, "b": {"ip": "2600::", "prefix": "32"}}, "networks.{}.prefix"),
    ],
)
def test_not_there_yet(networks: dict[str, Any], names: str) -> None:
    """A vip network and a delegated prefix are refused by name."""
    expected = ", ".join(names.format(name) for name in networks) if "{}" in names else names
    with pytest.raises(NotSupported) as caught:
        parse_networks(networks)
    assert caught.value.message == f"Not supported yet by this CPI: {expected}. Nothing was created"


def test_unknown_keys(program_log: pytest.LogCaptureFixture) -> None:
    """Unknown keys are warned about by their path, in the network and in its cloud properties."""
    Network.parse("a", {"ip": "10.0.0.5", "netmsk": 1, "cloud_properties": {"subnet_id": "s"}})
    (record,) = program_log.records
    assert record.getMessage() == (
        "Unknown properties are ignored: networks.a.netmsk (did you mean netmask?), "
        "networks.a.cloud_properties.subnet_id (did you mean subnet?)"
    )
