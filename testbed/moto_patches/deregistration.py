"""DeregisterImage: the snapshots that are deleted with an image."""

from __future__ import annotations

from typing import Any

from moto.ec2.responses.amis import AmisResponse

from testbed.moto_patches import states
from testbed.moto_patches.patching import Original, Patches, parameter
from testbed.moto_patches.snapshots import snapshots_of, users

PATCHES = Patches()


def deleted(backend: Any, snapshot_id: str) -> dict[str, str]:
    """Delete a snapshot, unless another image uses it; returns EC2's result for it."""
    code = states.outcome("skipped" if any(users(backend, snapshot_id)) else "success")
    if code == "success":
        backend.delete_snapshot(snapshot_id)
    return {"SnapshotId": snapshot_id, "ReturnCode": code}


@PATCHES.around(AmisResponse, "deregister_image")
def deregistered_image(original: Original, response: Any) -> Any:
    """On request EC2 deletes an image's snapshots that no other image uses; moto never did."""
    backend = response.ec2_backend
    image = backend.amis.get(parameter(response, "ImageId"))
    result = original(response)
    if parameter(response, "DeleteAssociatedSnapshots") is True:
        found = [deleted(backend, snapshot_id) for snapshot_id in snapshots_of(image)]
        result.result["DeleteSnapshotResults"] = found
    return result
