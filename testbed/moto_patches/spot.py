"""Spot launches: the price of the market."""

from __future__ import annotations

from typing import Any

from moto.ec2.models.core import TaggedEC2Resource
from moto.ec2.models.spot_requests import SpotRequestBackend
from moto.ec2.responses.instances import InstanceResponse
from moto.ec2.utils import random_spot_request_id

from testbed.moto_patches.patching import Original, Patches, parameter, refuse, tag_specifications

PATCHES = Patches()

PRICE = 0.0031
"""Dollars an hour, for every type."""


class OpenRequest(TaggedEC2Resource):
    """A spot request that waits for a lower price."""

    state = "open"

    def __init__(self, backend: Any, tags: dict[str, str]) -> None:
        """Note its tags."""
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
