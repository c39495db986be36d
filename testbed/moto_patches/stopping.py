"""StopInstances: the instances that can't be stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moto.ec2.models.instances import InstanceBackend

from testbed.moto_patches.patching import Patches, refuse

if TYPE_CHECKING:
    from collections.abc import Callable

PATCHES = Patches()

STATE = "IncorrectInstanceState"


@PATCHES.around(InstanceBackend, "stop_instances")
def stopped_instances(original: Callable[..., Any], backend: Any, instance_ids: list[str]) -> Any:
    """EC2 stops no one-time spot instance, and none that ends or never ran; moto stopped all of them.

    Spot: EC2 user guide, "Manage your Spot Instances"; code and message: pull request 8 of
    diodonfrost/terraform-aws-lambda-scheduler-stop-start. One that never ran: cloud-custodian/cloud-custodian
    pull request 6014, flatcar/mantle pull request 315. One that ends: EC2's error codes,
    IncorrectInstanceState, and CloudTrail records that users have published.
    """
    for instance in backend.get_multi_instances_by_id(instance_ids):
        if instance.lifecycle == "spot":
            refuse(
                "UnsupportedOperation",
                f"You can't stop the Spot Instance '{instance.id}' because it is associated with a one-time "
                "Spot Instance request. You can only stop Spot Instances associated with persistent Spot "
                "Instance requests.",
            )
        if instance.state in {"shutting-down", "terminated"}:
            refuse(STATE, f"This instance '{instance.id}' is not in a state from which it can be stopped.")
        if instance.state == "pending":
            refuse(
                STATE,
                f"Instance '{instance.id}' cannot be stopped as it has never reached the 'running' state.",
            )
    return original(backend, instance_ids)
