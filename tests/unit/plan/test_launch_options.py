"""The ways in which a VM may be launched."""

from typing import Any

import pytest

from bosh_aws_cpi.model import InstanceTypeFacts
from bosh_aws_cpi.plan.block_devices import BlockDevices
from bosh_aws_cpi.plan.launch_options import LaunchOption, in_subnets, launch_options, prefer_spread
from bosh_aws_cpi.properties.vm import VmProperties

NO_DISKS = BlockDevices([], None)
TYPES = {
    "m5.large": (InstanceTypeFacts("m5.large", ebs_needs_nvme_path=True), BlockDevices([], "/dev/sdb")),
    "i3.large": (InstanceTypeFacts("i3.large", ebs_needs_nvme_path=False), NO_DISKS),
}
ON_DEMAND = ["m5.large (on demand)", "i3.large (on demand)"]
SPOT = ["m5.large (spot)", "i3.large (spot)"]


def options(**given: Any) -> list[LaunchOption]:
    """Order the launch options of a VM that prefers the first type."""
    ordinary = {
        "instance_type": "m5.large",
        "instance_type_fallbacks": ["i3.large"],
        "availability_zone": "z",
    }
    return launch_options(VmProperties.model_validate({**ordinary, **given}), TYPES)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ON_DEMAND),
        ({"spot_ondemand_fallback": True}, ON_DEMAND),
        ({"instance_type_fallbacks": ["m5.large", "i3.large", "i3.large"]}, ON_DEMAND),
        ({"spot_bid_price": 1}, SPOT),
        ({"spot": True}, SPOT),
        ({"spot_bid_price": 1, "spot_ondemand_fallback": True}, [*SPOT, *ON_DEMAND]),
        ({"capacity_reservation": {"preference": "open"}}, ON_DEMAND),
        (
            {"capacity_reservation": {"resource_group_arn": "arn"}},
            ["m5.large (reserved)", "i3.large (reserved)"],
        ),
        ({"capacity_reservation": {"id": "cr-1"}}, ["m5.large (reserved)", "i3.large (on demand)"]),
        (
            {"capacity_reservation": {"resource_group_arn": "arn", "market": "capacity-block"}},
            ["m5.large (capacity-block)", "i3.large (on demand)"],
        ),
    ],
)
def test_order(given: dict[str, Any], expected: list[str]) -> None:
    """Types keep their order; all are tried as spot before any is paid for on demand."""
    assert [str(option) for option in options(**given)] == expected


def test_own_fallback() -> None:
    """The type of a reservation may be its own fallback, on demand."""
    reservation, fallbacks = {"id": "cr-1"}, ["i3.large", "m5.large", "i3.large"]
    made = options(capacity_reservation=reservation, instance_type_fallbacks=fallbacks)
    assert [str(option) for option in made] == ["m5.large (reserved)", *reversed(ON_DEMAND)]


def test_preferring_spread() -> None:
    """Each way is tried in the placement group and then outside of it; some types only outside."""
    types = {**TYPES, "i3.large": (TYPES["i3.large"][0].replace(lacks=frozenset({"spread"})), NO_DISKS)}
    wanted = {"instance_type": "m5.large", "instance_type_fallbacks": ["i3.large"], "availability_zone": "z"}
    made = prefer_spread(launch_options(VmProperties.model_validate({**wanted, "spot": True}), types))
    assert [str(option) for option in in_subnets(made, {"a": "z1", "b": "z1"}, "z1")] == [
        *("m5.large (spot) in a", "m5.large (spot) in b"),
        *("m5.large (spot, not spread) in a", "m5.large (spot, not spread) in b"),
        *("i3.large (spot, not spread) in a", "i3.large (spot, not spread) in b"),
    ]


def test_subnets() -> None:
    """A type is tried in one subnet after the other before the next type; a single subnet needs none."""
    single = options()
    assert [(str(each), each.zone) for each in in_subnets(single, {}, "z")] == [
        (label, "z") for label in ON_DEMAND
    ]
    made = in_subnets(single, {"a": "z1", "b": "z1"}, "z1")
    assert [str(option) for option in made] == [
        *("m5.large (on demand) in a", "m5.large (on demand) in b"),
        *("i3.large (on demand) in a", "i3.large (on demand) in b"),
    ]
    assert [option.label for option in made[::2]] == [str(option) for option in single]


def test_zones() -> None:
    """All options are tried in the first subnet's zone before another zone, whatever the zones' names."""
    made = in_subnets(options(), {"b": "z2", "a": "z1", "c": "z2"}, "z2")
    assert [(option.of_type.name, option.subnet_id, option.zone) for option in made] == [
        *(("m5.large", "b", "z2"), ("m5.large", "c", "z2"), ("i3.large", "b", "z2"), ("i3.large", "c", "z2")),
        *(("m5.large", "a", "z1"), ("i3.large", "a", "z1")),
    ]
