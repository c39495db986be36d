"""RunInstances, the wait until the instance runs, and the cancellation of open spot requests."""

from collections.abc import Mapping
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING

from bosh_aws_cpi.aws import instances
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.filters import by_tags, equals
from bosh_aws_cpi.aws.sdk.idempotency import has_tags
from bosh_aws_cpi.errors import VMCreationFailed
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Instance, Nic

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client


def run(client: "EC2Client", arguments: Json) -> Instance:
    """RunInstances for one instance.

    Args:
        arguments: All arguments except the counts.

    Returns:
        The instance; if the client token was used before, that of the earlier call, with its current state.
    """
    answer = client.run_instances(MinCount=1, MaxCount=1, **arguments)
    return instances.from_entry(answer["Instances"][0], answer)


def difference(instance: Instance, arguments: Json) -> str | None:
    """How an instance differs from the requested instance, as far as EC2 shows it; None without difference.

    A launch whose client token was used with other arguments may "return successfully without performing
    any further actions" (EC2 developer guide, "Ensuring idempotency").
    """
    for name, shown in (("InstanceType", instance.instance_type), ("ImageId", instance.ami_id)):
        if shown and shown != arguments.get(name, shown):
            return f"{name} {shown}"
    requested = {
        (each["DeviceIndex"], each.get("NetworkCardIndex", 0)): each
        for each in arguments.get("NetworkInterfaces", [])
    }
    shown_nics = {(nic.device_index, nic.card_index): nic for nic in instance.nics}
    differences = (_nic_difference(requested[at], shown_nics[at]) for at in requested if at in shown_nics)
    return next(filter(None, differences), None)


def _nic_difference(requested: Json, nic: Nic) -> str | None:
    """How an interface differs from the requested interface, as far as EC2 shows it."""
    if requested.get("NetworkInterfaceId", nic.nic_id) != nic.nic_id:
        return f"network interface {nic.nic_id}"
    shown = {ip_address(each) for each in nic.addresses}
    versions = {each.version for each in shown}
    wanted = [
        requested.get("PrivateIpAddress"),
        *(each["Ipv6Address"] for each in requested.get("Ipv6Addresses", [])),
    ]
    addresses = [ip_address(each) for each in filter(None, wanted)]
    missing = [each for each in addresses if each.version in versions and each not in shown]
    return f"no address {missing[0]}" if missing else None


def cancel_open_requests(client: "EC2Client", tags: Mapping[str, str]) -> None:
    """Cancel the open spot requests with all of these tags.

    EC2 may keep the spot request of a failed launch open, and launch the instance later.
    """
    filters = [*by_tags(tags), equals("state", "open")]

    def cancel() -> None:
        pages = client.get_paginator("describe_spot_instance_requests").paginate(Filters=filters)
        requests = [each for page in pages for each in page["SpotInstanceRequests"]]
        request_ids = [each["SpotInstanceRequestId"] for each in requests if has_tags(each, tags)]
        if request_ids:
            logger.info("Cancelling the open spot requests %s", ", ".join(request_ids))
            client.cancel_spot_instance_requests(SpotInstanceRequestIds=request_ids)

    timing.poll(timing.LOST_SEEN, "the open spot requests to be cancelled", cancel)


def wait_until_running(
    client: "EC2Client", vm_cid: str, nic_count: int = 0, *, is_new: bool = True
) -> Instance | None:
    """Wait until a new instance runs or ends.

    Args:
        nic_count: The number of interfaces that EC2 must show as attached to the instance.
        is_new: Whether this call launched the instance; if so, it exists even while EC2 does not show it.

    Returns:
        The instance; None if an earlier call launched the instance, and EC2 does not show it.

    Raises:
        VMCreationFailed: The instance does not run in time; retriable.
    """
    window = timing.VisibilityWindow(timing.INSTANCE_SEEN)

    def probe() -> Instance | None:
        instance = instances.find_new(client, vm_cid)
        if instance is None:  # eventual consistency: RunInstances has answered with this id
            if window.is_overdue and not is_new:
                return None
            raise timing.NotYet("not visible yet")
        window.was_seen = True
        if instance.state != "running" and not instance.is_ending:
            raise timing.NotYet(instance.state)
        if len(instance.nics) < nic_count and not instance.is_ending:
            raise timing.NotYet("running, but not all of its network interfaces are shown as attached")
        return instance

    timed_out = partial(VMCreationFailed, ok_to_retry=True)
    return timing.poll(timing.INSTANCE_RUNNING, f"instance '{vm_cid}' to run", probe, timed_out)
