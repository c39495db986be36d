"""What the sweep does about volumes and interfaces, and what it leaves when they change meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.tools.sweep_things import DIRECTOR, PAGE, hours_ago, tags

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.conftest import Ec2
    from tests.unit.tools.sweep_things import Run

LOST = {"bosh_agent_id": "agent-1"}
SEEN = {"bosh_sweep_seen": "2020-05-01T00:00:00Z eni-1"}
NAMED = ("--disk", "vol-1")
VOLUME = {
    "VolumeId": "vol-1",
    "State": "available",
    "CreateTime": hours_ago(100),
    "Size": 1,
    "VolumeType": "gp3",
    "Tags": tags(**LOST),
}
NIC = {
    "NetworkInterfaceId": "eni-1",
    "Status": "available",
    "Description": f"BOSH agent agent-1 of director {DIRECTOR}",
    "TagSet": tags(**LOST, **SEEN),
}


@pytest.fixture
def volume_again(ec2: Ec2) -> Callable[[], None]:
    """Return a function that lays out the second look at the volume."""

    def show() -> None:
        by_id = [{"Name": "volume-id", "Values": ["vol-1"]}]
        ec2.answers("describe_volumes", {"Volumes": [VOLUME]}, MaxResults=500, Filters=by_id)

    return show


@pytest.fixture
def nic_again(ec2: Ec2) -> Callable[..., None]:
    """Return a function that lays out the second look at the interface, with this mark."""

    def show(mark: dict[str, str] = SEEN) -> None:
        by_id = [{"Name": "network-interface-id", "Values": ["eni-1"]}]
        found = {**NIC, "TagSet": tags(**LOST, **mark)}
        ec2.answers("describe_network_interfaces", {"NetworkInterfaces": [found]}, **PAGE, Filters=by_id)

    return show


def test_volume_attached_meanwhile(
    run: Run,
    there: Callable[..., None],
    volume_again: Callable[[], None],
    ec2: Ec2,
) -> None:
    """A volume that is attached after the second look is not waited for, and stays."""
    there(volume=VOLUME)
    volume_again()
    ec2.refuses("delete_volume", "VolumeInUse", "vol-1 is currently attached", VolumeId="vol-1")
    assert run(*NAMED) == [("volume", "spared")]


@pytest.mark.parametrize("code", ["InvalidNetworkInterface.InUse", "InvalidParameterValue"])
def test_interface_attached_meanwhile(
    run: Run,
    there: Callable[..., None],
    nic_again: Callable[..., None],
    ec2: Ec2,
    code: str,
) -> None:
    """Nor is an interface, be it in use or being detached."""
    there(nic=NIC)
    nic_again()
    ec2.refuses("delete_network_interface", code, "in use", NetworkInterfaceId="eni-1")
    assert run() == [("interface", "spared")]


@pytest.mark.parametrize("is_there", [True, False])
def test_volume_goes(
    run: Run,
    there: Callable[..., None],
    volume_again: Callable[[], None],
    ec2: Ec2,
    *,
    is_there: bool,
) -> None:
    """A volume is removed when it is gone, whoever was the first to delete it."""
    there(volume=VOLUME)
    volume_again()
    if is_there:
        ec2.answers("delete_volume", VolumeId="vol-1")
    else:
        ec2.refuses("delete_volume", "InvalidVolume.NotFound", VolumeId="vol-1")
    ec2.refuses("describe_volumes", "InvalidVolume.NotFound", VolumeIds=["vol-1"])
    assert run(*NAMED) == [("volume", "removed")]


@pytest.mark.parametrize("seen", [{}, {"bosh_sweep_seen": "2999-01-01T00:00:00Z eni-1"}])
def test_seen_anew(
    run: Run,
    there: Callable[..., None],
    nic_again: Callable[..., None],
    seen: dict[str, str],
) -> None:
    """What is not old enough at the second look, as its mark is new or gone, stays."""
    there(nic=NIC)
    nic_again(seen)
    assert run() == [("interface", "spared")]


def test_named_disk_that_is_none(run: Run, there: Callable[..., None]) -> None:
    """A disk that is named and is no stray stays, and is told as failed."""
    there(volume={**VOLUME, "Tags": tags(bosh_call="call-1", attached_at="2026-05-01")})
    outcome = "failed: not a stray of this Director: it must exist, be detached and lack the Director's tags"
    assert run("--disk", "vol-1", "--disk", "vol-9") == [("volume", outcome)] * 2
