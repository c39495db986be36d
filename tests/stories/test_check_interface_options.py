"""`cpi check` and the options of interfaces: what create_vm would refuse is found before a deployment."""

from typing import Any

import pytest

from testbed.executable import Answer, Cpi
from testbed.world import World
from tests.stories.checked_config import DYNAMIC, LARGE, SUBNET, Route, changed, env, right
from tests.stories.checking import checked, checked_with, errors

EFA, EXPRESS = {"interface_type": "efa"}, {"ena_express": {"enabled": True}}
TYPE: Route = (*LARGE, "cloud_properties", "instance_type")
OF_TYPE = "vm_types/large/cloud_properties/instance_type"
OF_GROUP = "instance_groups/web/networks"


def with_options(world: World, first: dict[str, Any], second: dict[str, Any], name: str) -> dict[str, Any]:
    """Write a cloud config whose manual and dynamic networks have options, and a VM type of this type."""
    config = changed(right(world), TYPE, name)
    plain = {"az": "z1", "cloud_properties": {"subnet": world.subnet_ids[1]}}
    config["networks"].append({"name": "plain", "type": "dynamic", "subnets": [plain]})
    config["compilation"] = {"workers": 1, "network": "plain", "az": "z1", "vm_type": "large"}
    for route, options in ((SUBNET, first), ((*DYNAMIC, "subnets", 0), second)):
        for key, value in options.items():
            config = changed(config, (*route, "cloud_properties", key), value)
    return config


def found_in(cpi: Cpi, config: dict[str, Any], *options: str) -> list[tuple[str, str]]:
    """Check a cloud config with a manifest for VMs in both networks; returns place and text of the errors."""
    group = {
        "name": "web",
        "instances": 1,
        "vm_type": "large",
        "azs": ["z1"],
        "stemcell": "default",
        "networks": [{"name": "default", "default": ["dns", "gateway"]}, {"name": "dynamic"}],
    }
    found = errors(checked_with(cpi, config, [group], *options))
    return [(each["path"], each["what"]) for each in found if "quota" not in each["what"]]


def created(cpi: Cpi, world: World, config: dict[str, Any]) -> Answer:
    """Create a VM of the VM type in both networks, as the Director gives them."""
    own = {**config["vm_types"][1]["cloud_properties"], "availability_zone": world.zone}
    first, second = (network["subnets"][0]["cloud_properties"] for network in config["networks"][:2])
    networks = {
        "default": {"type": "manual", "ip": "10.0.1.50", "cloud_properties": first},
        "dynamic": {"type": "dynamic", "cloud_properties": second},
    }
    return cpi.call("create_vm", "agent-1", f"{world.image_id} light", own, networks, [], None, stemcell=2)


@pytest.mark.parametrize(
    ("first", "second", "name", "words"),
    [
        (EFA, EFA, "c6in.32xlarge", "a network card can have only one Elastic Fabric Adapter"),
        ({"network_card_index": 1}, {}, "c6in.32xlarge", "must be on network card 0"),
    ],
    ids=["two-adapters", "first-card"],
)
def test_together(
    cpi: Cpi, world: World, first: dict[str, Any], second: dict[str, Any], name: str, words: str
) -> None:
    """With a manifest, interfaces that no instance type can have together are errors, also without AWS."""
    config = with_options(world, first, second, name)
    ((path, what),) = found_in(cpi, config, "--offline")
    assert path == OF_GROUP
    assert words in what
    assert created(cpi, world, config).error["message"] == what


@pytest.mark.parametrize(
    ("first", "second", "name", "words"),
    [
        (EFA, {}, "m5.large", "interface_type of network 'default' requested for instance type 'm5.large'"),
        ({}, {"network_card_index": 2}, "c6in.32xlarge", "the highest of instance type 'c6in.32xlarge' is 1"),
    ],
    ids=["efa", "card"],
)
def test_types(
    cpi: Cpi, world: World, first: dict[str, Any], second: dict[str, Any], name: str, words: str
) -> None:
    """With a manifest, an option that the VM's instance type lacks is an error, by EC2's data."""
    config = with_options(world, first, second, name)
    assert found_in(cpi, config, "--offline") == []
    ((path, what),) = found_in(cpi, config)
    assert path == OF_TYPE
    assert words in what
    assert created(cpi, world, config).error["message"] == what


def test_right(cpi: Cpi, world: World) -> None:
    """Options that the type has are no error; without a manifest nobody knows which type they are for."""
    options = {**EFA, "network_card_index": 1, **EXPRESS, "connection_tracking": {"udp_timeout": 30}}
    config = with_options(world, EFA, options, "c6in.32xlarge")
    assert found_in(cpi, config) == []
    created(cpi, world, config).ok()
    assert errors(checked(cpi, changed(config, TYPE, "m5.large"))) == []


def test_compilation(cpi: Cpi, world: World) -> None:
    """The VMs that compile have a known network: what their type can't have is an error."""
    config = changed(with_options(world, EFA, {}, "m5.large"), ("compilation", "network"), "default")
    (found,) = errors(checked(cpi, config))
    assert found["path"] == OF_TYPE
    assert "interface_type of network 'default' requested for instance type 'm5.large'" in found["what"]
    assert errors(checked(cpi, changed(config, TYPE, "c6in.32xlarge"))) == []
    card = changed(config, (*SUBNET, "cloud_properties"), {"subnet": world.subnet_ids[0]})
    card = changed(card, (*SUBNET, "cloud_properties", "network_card_index"), 1)
    (found,) = errors(checked(cpi, card, "--offline"))
    assert found["path"] == "compilation/network"
    assert "network_card_index 1 of network 'default': a VM's first interface must be" in found["what"]


@pytest.mark.parametrize(
    ("options", "path", "words"),
    [
        (
            EFA,
            "resource_pools/vms/cloud_properties/instance_type",
            "interface_type of network 'private' requ",
        ),
        (
            {"network_card_index": 1},
            "instance_groups/bosh/networks",
            "first interface must be on network card",
        ),
    ],
    ids=["efa", "first-card"],
)
def test_create_env(cpi: Cpi, world: World, options: dict[str, Any], path: str, words: str) -> None:
    """The manifest for create-env has one VM: its interfaces are checked with its instance type."""
    manifest = env(world)
    assert errors(checked(cpi, manifest)) == []
    manifest["networks"][0]["subnets"][0]["cloud_properties"] |= options
    ((found_path, what),) = [(each["path"], each["what"]) for each in errors(checked(cpi, manifest))]
    assert found_path == path
    assert words in what


def test_vip_network(cpi: Cpi, world: World) -> None:
    """A vip network has no interface: its options are errors."""
    config = changed(right(world), ("networks", 2, "cloud_properties"), EFA)
    (found,) = errors(checked(cpi, config, "--offline"))
    assert found["path"] == "networks/vip/cloud_properties/interface_type"
    assert (
        found["what"] == "interface_type is for networks with an interface: remove it from this vip network"
    )


def test_variable(cpi: Cpi, world: World) -> None:
    """An option with a variable in it is not judged."""
    config = changed(
        right(world),
        (*SUBNET, "cloud_properties", "ena_express"),
        {"enabled": "((express))", "udp": True},
    )
    assert [each["severity"] for each in checked(cpi, config, "--offline")] == ["not checked"]
