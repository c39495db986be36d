"""`cpi check`: a cloud config's mistakes, each with its path and line, before a deployment makes them."""

from typing import Any

import pytest
import yaml

from testbed.executable import Cpi
from testbed.world import World
from tests.stories.checked_config import DISK, LARGE, SUBNET, Route, changed, right
from tests.stories.checking import checked, created, errors

VM: Route = (*LARGE, "cloud_properties")
UNKNOWN = "subnet-0123456789abcdef0"
ROUTES = [{"table_id": "rtb-0123456789abcdef0", "destination": "10.9.0.0/16"}]


def test_right(cpi: Cpi, world: World) -> None:
    """A cloud config without mistakes has no findings, offline or with AWS, and its VMs can be created."""
    assert checked(cpi, right(world), "--offline") == []
    assert checked(cpi, right(world)) == []
    created(cpi, world, right(world), "vm_types").ok()
    created(cpi, world, right(world), "disk_types").ok()


def test_mistakes(cpi: Cpi, world: World) -> None:
    """Each mistake is one error with its path, its line, and who refuses it."""
    whole = right(world)
    whole["disk_types"][0]["disk_size"] = "3 GB"
    whole["vm_types"][1]["cloud_properties"] |= {"tenancy": "dedicated", "spread": True, "key_name": "nobody"}
    lines = yaml.safe_dump(whole, sort_keys=False).splitlines()
    expected = [
        ("disk_types/default/disk_size", "Director", "disk_size: 3 GB"),
        ("vm_types/large/cloud_properties/key_name", "AWS", "key_name: nobody"),
        ("vm_types/large/cloud_properties/spread", "CPI", "spread: true"),
    ]
    found = sorted(errors(checked(cpi, whole)), key=lambda each: str(each["path"]))
    shown = [(each["path"], each["source"], lines[each["line"] - 1].strip()) for each in found]
    assert shown == expected


@pytest.mark.parametrize(
    ("kind", "route", "value", "said"),
    [
        ("disk_types", (*DISK, "disk_size"), 0, "disk size must be more than 0 MiB, got 0"),
        ("disk_types", (*DISK, "cloud_properties", "tags"), ["a"], ""),
        ("vm_types", (*VM, "elbs"), ["nobody"], "Could not find classic load balancer `nobody'"),
        ("vm_types", (*VM, "advertised_routes"), ROUTES, ""),
        ("networks", (*SUBNET, "cloud_properties", "subnet"), UNKNOWN, f"Subnet not found: {UNKNOWN}"),
        ("networks", (*SUBNET, "cloud_properties", "security_groups"), ["nobody"], "not found with name"),
    ],
)
def test_call_fails(cpi: Cpi, world: World, kind: str, route: Route, value: Any, said: str) -> None:
    """What the CPI is said to refuse, it refuses for that reason, and leaves nothing."""
    whole = changed(right(world), route, value)
    (found,) = errors(checked(cpi, whole))
    before = world.state()
    error = created(cpi, world, whole, kind, route[1]).error
    assert (said or found["what"]) in error["message"]
    assert world.state() == before
