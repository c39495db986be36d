"""What this CPI can't do yet, or is not told, is refused by name, and nothing is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from testbed.cloud import FakeAws
    from testbed.executable import Answer, Cpi
    from testbed.world import World

MISSING = "Missing properties: {}. See http://bosh.io/docs/aws-cpi.html for the list of supported properties."


@pytest.mark.parametrize(
    ("name", "properties"),
    [
        ("spot_bid_price", {"spot_bid_price": 0.05}),
        ("elbs", {"elbs": ["lb"]}),
        ("lb_target_groups", {"lb_target_groups": ["tg"]}),
        ("advertised_routes", {"advertised_routes": [{"table_id": "rtb-1", "destination": "1.2.3.0/24"}]}),
        ("auto_assign_public_ip", {"auto_assign_public_ip": True}),
        ("raw_instance_storage", {"raw_instance_storage": True}),
        ("source_dest_check", {"source_dest_check": False}),
        ("ephemeral_disk.use_instance_storage", {"ephemeral_disk": {"use_instance_storage": 0}}),
    ],
)
def test_properties(
    create_vm: Callable[..., Answer], fake_aws: FakeAws, name: str, properties: dict[str, Any]
) -> None:
    """A property that is not there yet is named, without asking AWS."""
    error = create_vm(properties).error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::NotSupported", False)
    assert f"cloud_properties.{name}" in error["message"]
    assert fake_aws.actions() == []


def test_properties_at_rest(create_vm: Callable[..., Answer]) -> None:
    """The same properties are fine as long as they ask for nothing."""
    properties: dict[str, Any] = {
        **dict.fromkeys(("spot_bid_price", "raw_instance_storage", "auto_assign_public_ip")),
        **{name: [] for name in ("elbs", "lb_target_groups", "advertised_routes")},
        "spot_ondemand_fallback": True,
        "source_dest_check": True,
        "ephemeral_disk": {"use_instance_storage": False},
    }
    assert create_vm(properties).ok()[0].startswith("i-")


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ({"type": "vip", "ip": "203.0.113.5"}, "networks.odd"),
        ({"type": "manual", "ip": "10.0.1.16", "prefix": 28}, "networks.odd.prefix"),
        ({"type": "manual", "ip": "2001:db8::", "prefix": "80"}, "networks.odd.prefix"),
    ],
    ids=["vip", "ipv4-prefix", "ipv6-prefix"],
)
def test_networks(
    create_vm: Callable[..., Answer],
    network: Callable[..., dict[str, Any]],
    fake_aws: FakeAws,
    more: dict[str, Any],
    name: str,
) -> None:
    """Elastic IPs and delegated prefixes are refused without asking AWS."""
    networks = {"private": network("10.0.1.10"), "odd": {**network(None), **more}}
    error = create_vm(networks=networks).error
    assert error["type"] == "Bosh::Clouds::NotSupported"
    assert name in error["message"]
    assert fake_aws.actions() == []


def test_paravirtual_image(create_vm: Callable[..., Answer], fake_aws: FakeAws, world: World) -> None:
    """A paravirtual AMI is refused before anything is made."""
    fake_aws.rule(action="DescribeImages", replace=[[">hvm<", ">paravirtual<"]])
    error = create_vm().error
    assert error["type"] == "Bosh::Clouds::NotSupported"
    assert "paravirtual" in error["message"]
    assert world.state() == world.empty


def test_heavy_stemcell(cpi: Cpi, fake_aws: FakeAws) -> None:
    """A stemcell without AMIs is refused without asking AWS."""
    error = cpi.call("create_stemcell", "/path/to/image", {"name": "s", "version": "1", "ami": {}}).error
    assert error["type"] == "Bosh::Clouds::NotSupported"
    assert "heavy" in error["message"]
    assert fake_aws.actions() == []


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("resize_disk", ["vol-0123456789abcdef0", 2048]),
        ("update_disk", ["vol-0123456789abcdef0", 2048, {}]),
        ("snapshot_disk", ["vol-0123456789abcdef0", {}]),
        ("delete_snapshot", ["snap-0123456789abcdef0"]),
        ("create_network", [{}]),
        ("delete_network", ["net"]),
    ],
)
def test_methods(
    cpi: Cpi,
    fake_aws: FakeAws,
    failure: Callable[..., dict[str, Any]],
    method: str,
    arguments: list[Any],
) -> None:
    """A method that is not there yet says so, and callers fall back."""
    message = f"'{method}' is not implemented by Bosh::AwsCloud::CloudV2"
    assert cpi.call(method, *arguments).error == failure("NotImplemented", message)
    assert fake_aws.actions() == []


@pytest.mark.parametrize(
    ("properties", "missing"),
    [
        (
            {"instance_type": None, "availability_zone": None},
            "cloud_properties.instance_type, cloud_properties.availability_zone",
        ),
        ({"instance_type": ""}, "cloud_properties.instance_type"),
        ({"availability_zone": None}, "cloud_properties.availability_zone"),
    ],
)
def test_missing_properties(
    create_vm: Callable[..., Answer],
    failure: Callable[..., dict[str, Any]],
    fake_aws: FakeAws,
    properties: dict[str, Any],
    missing: str,
) -> None:
    """Type and zone are needed; all that are missing are named at once."""
    assert create_vm(properties).error == failure("CloudError", MISSING.format(missing))
    assert fake_aws.actions() == []
