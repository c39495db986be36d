"""The deletion of what nothing uses: one attempt, and no error if it has come into use or is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from bosh_aws_cpi.aws import network_interfaces, placement_groups, volumes

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.conftest import Ec2

DELETIONS: Final[dict[str, tuple[Callable[..., bool], str]]] = {
    "delete_volume": (volumes.delete_idle, "VolumeId"),
    "delete_network_interface": (network_interfaces.delete_unattached, "NetworkInterfaceId"),
    "delete_placement_group": (placement_groups.delete_unused, "GroupName"),
}


@pytest.mark.parametrize(
    ("operation", "code", "message", "is_gone"),
    [
        ("delete_volume", None, "", True),
        ("delete_volume", "InvalidVolume.NotFound", "", True),
        ("delete_volume", "VolumeInUse", "", False),
        ("delete_network_interface", None, "", True),
        ("delete_network_interface", "InvalidNetworkInterfaceID.NotFound", "", True),
        ("delete_network_interface", "InvalidNetworkInterface.InUse", "", False),
        ("delete_network_interface", "InvalidParameterValue", "", False),
        ("delete_placement_group", None, "", True),
        ("delete_placement_group", "InvalidPlacementGroup.Unknown", "", True),
        ("delete_placement_group", "InvalidPlacementGroup.InUse", "", False),
    ],
)
def test_deletion(ec2: Ec2, operation: str, code: str | None, message: str, *, is_gone: bool) -> None:
    """The result says whether the resource is gone."""
    delete, name = DELETIONS[operation]
    if code is None:
        ec2.answers(operation, **{name: "x-1"})
    else:
        ec2.refuses(operation, code, message, **{name: "x-1"})
    assert delete(ec2.client, "x-1") is is_gone


@pytest.mark.parametrize("operation", DELETIONS)
def test_refused_deletion(ec2: Ec2, operation: str) -> None:
    """Any other error is raised."""
    delete, name = DELETIONS[operation]
    ec2.refuses(operation, "UnauthorizedOperation", **{name: "x-1"})
    with pytest.raises(ec2.client.exceptions.ClientError, match="UnauthorizedOperation"):
        delete(ec2.client, "x-1")
