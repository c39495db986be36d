"""The options of a launch that DescribeInstances shows."""

from __future__ import annotations

from functools import partial
from typing import Any

from moto.ec2 import utils
from moto.ec2.responses.instances import InstanceResponse
from moto.ec2.utils import random_resource_id

from testbed.moto_patches.patching import Original, Patches, parameter

PATCHES = Patches()


def show_reservation(instance: Any, given: dict[str, Any]) -> None:
    """Show the capacity reservation of a launch; by default any open one is used."""
    instance.capacity_reservation_specification = given or {"CapacityReservationPreference": "open"}
    target = given.get("CapacityReservationTarget", {})
    instance.capacity_reservation_id = target.get("CapacityReservationId")


@PATCHES.around(InstanceResponse, "run_instances")
def shown_options(original: Original, response: Any) -> Any:
    """EC2 shows placement, market, CPU options, credits and capacity reservation of a launch.

    moto dropped them, but for a placement's host and the market's name.
    """
    result = original(response)
    get = partial(parameter, response)
    for instance in result.result.instances:
        placement = instance.placement
        placement.group_name = get("Placement.GroupName", "")
        placement.tenancy = get("Placement.Tenancy", "default")
        placement.host_resource_group_arn = get("Placement.HostResourceGroupArn")
        instance.cpu_options = get("CpuOptions")
        instance.testbed_credits = get("CreditSpecification.CpuCredits")
        show_reservation(instance, get("CapacityReservationSpecification", {}))
        if instance.lifecycle == "spot":
            instance.spot_instance_request_id = f"sir-{random_resource_id(8)}"
    return result


@PATCHES.around(InstanceResponse, "describe_instance_credit_specifications")
def shown_credits(original: Original, response: Any) -> Any:
    """EC2 shows the requested credits, or the type's default; moto always showed the default of a t2."""
    result = original(response)
    for entry in result.result["InstanceCreditSpecifications"]:
        instance = response.ec2_backend.get_instance(entry["InstanceId"])
        default = "standard" if instance.instance_type.startswith("t2.") else "unlimited"
        entry["CpuCredits"] = getattr(instance, "testbed_credits", None) or default
    return result


@PATCHES.around(utils, "passes_filter_dict")
def filtered_instances(original: Original, instance: Any, filters: dict[str, Any]) -> Any:
    """EC2 filters instances by client token, placement group, and the subnets of their interfaces.

    moto did not know these filters.
    """
    others = dict(filters)
    tokens = others.pop("client-token", None)
    groups = others.pop("placement-group-name", None)
    subnets = others.pop("network-interface.subnet-id", None)
    if tokens is not None and instance.client_token not in tokens:
        return False
    if groups is not None and getattr(instance.placement, "group_name", "") not in groups:
        return False
    if subnets is not None and not {nic.subnet.id for nic in instance.nics.values()} & set(subnets):
        return False
    return original(instance, others)
