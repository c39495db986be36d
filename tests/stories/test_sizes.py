"""calculate_vm_cloud_properties: the instance type for a wanted size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from testbed.cloud import FakeAws
    from testbed.executable import Cpi

LARGEST = "Largest known VM type is 'r5.16xlarge': 64 CPU, 524288 RAM."


@pytest.mark.parametrize(
    ("cpu", "ram", "disk", "expected"),
    [
        (1, 512, 1024, "t2.nano"),
        (0, 0, 0, "t2.nano"),
        (1, 513, 0, "t2.micro"),
        (1, 8192, 4096, "m5.large"),
        (2, 2048, 2048, "c5.large"),
        (33, 1, 1, "c5.9xlarge"),
        (36, 73729, 1, "c5.12xlarge"),
        (64, 524288, 1, "r5.16xlarge"),
    ],
)
def test_smallest_that_is_large_enough(cpi: Cpi, cpu: int, ram: int, disk: int, expected: str) -> None:
    """The first type of the list that has the CPUs and the memory is taken; 0 is a size."""
    wanted = {"cpu": cpu, "ram": ram, "ephemeral_disk_size": disk}
    answer = cpi.call("calculate_vm_cloud_properties", wanted)
    assert answer.ok() == {"instance_type": expected, "ephemeral_disk": {"size": disk}}


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"ephemeral_disk_size": 0}, "Missing VM cloud properties: 'cpu', 'ram'"),
        ({"cpu": 1, "ram": 1}, "Missing VM cloud properties: 'ephemeral_disk_size'"),
        (
            {"cpu": 65, "ram": 1, "ephemeral_disk_size": 1},
            f"Unable to meet requested VM requirements: 65 CPU, 1 RAM. {LARGEST}",
        ),
        (
            {"cpu": 1, "ram": 524289, "ephemeral_disk_size": 1},
            f"Unable to meet requested VM requirements: 1 CPU, 524289 RAM. {LARGEST}",
        ),
    ],
)
def test_impossible_sizes(
    cpi: Cpi,
    fake_aws: FakeAws,
    failure: Callable[..., dict[str, Any]],
    wanted: dict[str, int],
    message: str,
) -> None:
    """A size that is incomplete or larger than all types is an error that says so."""
    answer = cpi.call("calculate_vm_cloud_properties", wanted)
    assert answer.error == failure("CloudError", message)
    assert fake_aws.actions() == []
