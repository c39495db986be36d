"""The ways in which a VM may be launched."""

from __future__ import annotations

import pytest

from bosh_aws_cpi.model import BlockDevices, InstanceTypeFacts
from bosh_aws_cpi.plan.launch_options import LaunchOption, in_subnets, launch_options

TYPES = [
    (InstanceTypeFacts("m5.large", ebs_needs_nvme_path=True), BlockDevices([], "/dev/sdb")),
    (InstanceTypeFacts("i3.large", ebs_needs_nvme_path=False), BlockDevices([], None)),
]


@pytest.mark.parametrize(
    ("is_spot", "falls_back", "expected"),
    [
        (False, False, ["m5.large (on demand)", "i3.large (on demand)"]),
        (False, True, ["m5.large (on demand)", "i3.large (on demand)"]),
        (True, False, ["m5.large (spot)", "i3.large (spot)"]),
        (
            True,
            True,
            ["m5.large (spot)", "i3.large (spot)", "m5.large (on demand)", "i3.large (on demand)"],
        ),
    ],
)
def test_order(expected: list[str], *, is_spot: bool, falls_back: bool) -> None:
    """Types keep their order; all are tried as spot before any is paid for on demand."""
    made = launch_options(TYPES, is_spot=is_spot, falls_back_to_demand=falls_back)
    assert [str(option) for option in made] == expected


def test_devices() -> None:
    """Each launch option has the block devices of its own type."""
    made = launch_options(TYPES, is_spot=True, falls_back_to_demand=True)
    facts, devices = TYPES[1]
    assert [made[1], made[3]] == [
        LaunchOption(facts, devices, is_spot=True),
        LaunchOption(facts, devices, is_spot=False),
    ]


def test_subnets() -> None:
    """A type is tried in one subnet after the other before the next type; one subnet changes nothing."""
    options = launch_options(TYPES, is_spot=False, falls_back_to_demand=False)
    assert in_subnets(options, ["a"]) == options
    made = in_subnets(options, ["a", "b"])
    assert [str(option) for option in made] == [
        *("m5.large (on demand) in a", "m5.large (on demand) in b"),
        *("i3.large (on demand) in a", "i3.large (on demand) in b"),
    ]
    assert [option.way for option in made[::2]] == [str(option) for option in options]
