"""A cloud config without mistakes for a laid world."""

import copy
from typing import Any, cast

import yaml

from testbed.world import World
from tests.stories.right_configs import CREATE_ENV

GONE = object()
"""In place of a value: the key is deleted."""
Route = tuple[str | int, ...]
Z1, LARGE, DISK = ("azs", 0), ("vm_types", 1), ("disk_types", 0)
NETWORK, DYNAMIC = ("networks", 0), ("networks", 1)
SUBNET: Route = (*NETWORK, "subnets", 0)


def right(world: World) -> dict[str, Any]:
    """Write a cloud config for a laid world."""
    return {
        "azs": [
            {"name": "z1", "cloud_properties": {"availability_zone": world.zone}},
            {"name": "z2", "cloud_properties": {"availability_zone": world.other_zone}},
        ],
        "vm_types": [
            {
                "name": "small",
                "cloud_properties": {"instance_type": "t3.micro", "ephemeral_disk": {"size": 10_240}},
            },
            {"name": "large", "cloud_properties": {"instance_type": "m5.large"}},
        ],
        "vm_extensions": [{"name": "public", "cloud_properties": {"auto_assign_public_ip": True}}],
        "disk_types": [{"name": "default", "disk_size": 3000, "cloud_properties": {"type": "gp3"}}],
        "networks": [
            {
                "name": "default",
                "type": "manual",
                "subnets": [
                    subnet("10.0.1", "z1", world.subnet_ids[0]),
                    subnet("10.0.3", "z2", world.subnet_ids[2]),
                ],
            },
            {
                "name": "dynamic",
                "type": "dynamic",
                "subnets": [{"az": "z1", "cloud_properties": {"subnet": world.subnet_ids[1]}}],
            },
            {"name": "vip", "type": "vip"},
        ],
        "compilation": {"workers": 2, "network": "default", "az": "z1", "vm_type": "large"},
    }


def subnet(prefix: str, zone: str, subnet_id: str) -> dict[str, Any]:
    """Write a subnet of a manual network."""
    return {
        "range": f"{prefix}.0/24",
        "gateway": f"{prefix}.1",
        "azs": [zone],
        "reserved": [f"{prefix}.2-{prefix}.9"],
        "static": [f"{prefix}.100-{prefix}.120"],
        "dns": ["10.0.0.2"],
        "cloud_properties": {"subnet": subnet_id},
    }


def env(world: World, **aws: Any) -> dict[str, Any]:
    """A manifest for create-env that fits the world, with these properties of the CPI."""
    whole = yaml.safe_load(CREATE_ENV)
    whole["resource_pools"][0]["cloud_properties"]["availability_zone"] = world.zone
    network = whole["networks"][0]["subnets"][0]
    network |= {"range": "10.0.1.0/24", "gateway": "10.0.1.1", "static": ["10.0.1.6"]}
    network["cloud_properties"]["subnet"] = world.subnet_id
    own, public = whole["instance_groups"][0]["networks"]
    own["static_ips"] = ["10.0.1.6"]
    public["static_ips"] = [world.ec2.allocate_address(Domain="vpc")["PublicIp"]]
    whole["cloud_provider"]["mbus"] = "https://mbus:((mbus_password))@10.0.1.6:6868"
    whole["cloud_provider"]["properties"]["aws"] |= aws
    return cast("dict[str, Any]", whole)


def changed(config: dict[str, Any], route: Route, value: Any) -> dict[str, Any]:
    """Return a copy with another value; hashes on the way are made."""
    whole = copy.deepcopy(config)
    node: Any = whole
    for key in route[:-1]:
        node = node.setdefault(key, {}) if isinstance(node, dict) else node[key]
    if value is GONE:
        del node[route[-1]]
    elif isinstance(node, list) and route[-1] == len(node):
        node.append(value)
    else:
        node[route[-1]] = value
    return whole
