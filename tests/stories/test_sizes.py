"""calculate_vm_cloud_properties: the instance type for a wanted size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from testbed.cloud import FakeAws
    from testbed.executable import Cpi
    from tests.protocols import WriteError

LARGEST = "Largest known VM type is 'r5.16xlarge': 64 CPU, 524288 RAM."


def test_smallest_that_is_large_enough(cpi: Cpi, fake_aws: FakeAws) -> None:
    """The first type of the list that has the CPUs and the memory is taken, without asking AWS."""
    wanted = {"cpu": 1, "ram": 8192, "ephemeral_disk_size": 4096}
    answer = cpi.call("calculate_vm_cloud_properties", wanted)
    assert answer.ok() == {"instance_type": "m5.large", "ephemeral_disk": {"size": 4096}}
    assert fake_aws.actions() == []


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"ephemeral_disk_size": 0}, "Missing VM cloud properties: 'cpu', 'ram'"),
        (
            {"cpu": 65, "ram": 1, "ephemeral_disk_size": 1},
            f"Unable to meet requested VM requirements: 65 CPU, 1 RAM. {LARGEST}",
        ),
    ],
)
def test_impossible_sizes(
    cpi: Cpi,
    fake_aws: FakeAws,
    failure: WriteError,
    wanted: dict[str, int],
    message: str,
) -> None:
    """A size that is incomplete or larger than all types is an error that says so."""
    answer = cpi.call("calculate_vm_cloud_properties", wanted)
    assert answer.error == failure("CloudError", message)
    assert fake_aws.actions() == []
