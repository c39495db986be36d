"""The options of a launch that DescribeInstances shows, and the price of the spot market."""

from functools import partial
from typing import Any

from moto.ec2.models.core import TaggedEC2Resource
from moto.ec2.models.spot_requests import SpotRequestBackend
from moto.ec2.responses.instances import InstanceResponse
from moto.ec2.utils import random_resource_id, random_spot_request_id

from testbed.moto_patches.patching import Original, Patches, parameter, refuse, tag_specifications

PATCHES = Patches()


def show_reservation(instance: Any, given: dict[str, Any]) -> None:
    """Show the capacity reservation of a launch; by default any open one is used."""
    instance.capacity_reservation_specification = given or {"CapacityReservationPreference": "open"}
    target = given.get("CapacityReservationTarget", {})
    instance.capacity_reservation_id = target.get("CapacityReservationId")


@PATCHES.around(InstanceResponse, "run_instances")
def shown_options(original: Original, response: Any) -> Any:
    """EC2 shows placement, market, CPU options and capacity reservation of a launch.

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
        show_reservation(instance, get("CapacityReservationSpecification", {}))
        if instance.lifecycle == "spot":
            instance.spot_instance_request_id = f"sir-{random_resource_id(8)}"
    return result


PRICE = 0.0031
"""Dollars an hour, for every type."""


class OpenRequest(TaggedEC2Resource):
    """A spot request that waits for a lower price."""

    state = "open"

    def __init__(self, backend: Any, tags: dict[str, str]) -> None:
        super().__init__()
        self.ec2_backend = backend
        self.id = self.spot_instance_request_id = random_spot_request_id()
        self.add_tags(tags)


@PATCHES.around(InstanceResponse, "run_instances")
def launched_at_its_price(original: Original, response: Any) -> Any:
    """EC2 refuses a spot launch whose maximum price is too low, and keeps its request open; moto launched it.

    EC2's error codes, SpotMaxPriceTooLow; the message: aws/aws-parallelcluster-node pull request 415.
    """
    most = parameter(response, "InstanceMarketOptions.SpotOptions.MaxPrice")
    if most is None or float(most) >= PRICE:
        return original(response)
    backend = response.ec2_backend
    request = OpenRequest(backend, tag_specifications(response).get("spot-instances-request", {}))
    backend.spot_instance_requests[request.id] = request
    return refuse(
        "SpotMaxPriceTooLow",
        f"Your Spot request price of {most} is lower than the minimum required Spot request fulfillment "
        f"price of {PRICE}.",
    )


@PATCHES.around(SpotRequestBackend, "cancel_spot_instance_requests")
def cancelled_requests(original: Original, backend: Any, request_ids: list[str]) -> Any:
    """EC2 shows cancelled requests for hours, and they can be cancelled again; moto forgot them at once.

    API model, DescribeSpotInstanceRequests.
    """
    del original
    requests = [backend.spot_instance_requests[each] for each in request_ids]
    for each in requests:
        each.state = "cancelled"
    return requests
