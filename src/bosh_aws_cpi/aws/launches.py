"""RunInstances, the wait until the instance runs, and the spot request of a refused launch."""

from collections.abc import Callable, Mapping
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from botocore.exceptions import HTTPClientError
from botocore.parsers import ResponseParserError

from bosh_aws_cpi.aws import instances
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.error_codes import AT_FAULT, GROUP_MISSING, QUOTA_REACHED, THROTTLED, TOKEN_SPENT
from bosh_aws_cpi.aws.sdk.errors import (
    described,
    has_code,
    is_group_full,
    is_shortage,
    is_subnet_full,
    may_be_done,
)
from bosh_aws_cpi.aws.sdk.filters import by_tags, exactly
from bosh_aws_cpi.aws.sdk.idempotency import create_once, has_tags
from bosh_aws_cpi.aws.sdk.translation import explained
from bosh_aws_cpi.errors import CloudError, VMCreationFailed, VMNotFound
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Instance, Nic

if TYPE_CHECKING:
    from botocore.exceptions import ClientError
    from mypy_boto3_ec2 import EC2Client


class Refused(VMCreationFailed):
    """EC2 can't launch the VM this way.

    Args:
        said: EC2's error, or what the CPI waited for in vain.
        message: EC2's error, with its remedy.
    """

    def __init__(self, said: str, message: str, *, ok_to_retry: bool = True) -> None:
        super().__init__(message, ok_to_retry=ok_to_retry)
        self.said = said


class NoCapacity(Refused):
    """EC2 can't launch this instance type here and now; retriable, unless a quota is reached."""


class SubnetFull(Refused):
    """The subnet of the interface that RunInstances creates is full; retriable."""


class GroupFailed(Refused):
    """A spread placement group, which launch options share, is full, or EC2 does not accept it; retriable."""


class GroupUnknown(CloudError):
    """EC2 does not know the launch's placement group, which concerns every instance type."""


class Unanswered(VMCreationFailed):
    """EC2 did not answer a launch and shows no instance of it, but it may have launched one."""


class Ended(Refused):
    """The instance was terminated before it ran; ``instance`` holds the reason."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        reason = instance.state_reason
        self.code = reason.code if reason else ""
        why = reason.text if reason else "no reason given"
        self.is_by_user = self.code == "Client.UserInitiatedShutdown"
        who = "A user" if self.is_by_user else "EC2"
        said = f"{who} terminated instance '{instance.vm_cid}' before it ran: {why}"
        super().__init__(said, said + remedy(instance), ok_to_retry=not self.code.startswith("Client."))

    @property
    def is_about_a_key(self) -> bool:
        """Whether the reason says, or may mean, that EC2 could not use a KMS key."""
        return self.code == "Client.InternalError" or self.code.startswith("Client.InvalidKMSKey")


class TokenSpent(Exception):
    """The client token belongs to an earlier launch, whose instance is gone or whose arguments differ."""


_KEY: Final = (
    ". Check that the KMS key of each encrypted disk, and of the AMI's snapshots, exists, is enabled and not "
    "pending deletion, and that its policy lets the CPI's user or role use it and create grants"
)
_SPOT_GRANT: Final = (
    ". A customer managed key also needs a grant for the role by which EC2 launches Spot instances, "
    "AWSServiceRoleForEC2Spot: aws kms create-grant"
)
_UNNAMED: Final = f". The usual cause is a KMS key that EC2 can't use{_KEY}"
_GROUP_FULL: Final = (
    ". If some of them are being terminated, retry. Otherwise give the instance group more azs, divide it "
    "into several, use spread: prefer, or remove spread or placement_group"
)
_REMEDIES: Final = {
    "Client.InternalError": _UNNAMED,
    "Client.InvalidKMSKey": _KEY,
    "Client.InvalidParameter": ". Correct root_disk or ephemeral_disk",
    "Client.InvalidSnapshot.NotFound": ". A snapshot of the AMI is gone: upload the stemcell again",
    "Client.VolumeLimitExceeded": ". Delete volumes, or have the account's EBS quota raised",
}
"""Remedies for reasons that the account can correct, by the beginning of their codes."""


def remedy(instance: Instance) -> str:
    """What to do about the reason for which EC2 ended an instance, ". Check …"; empty if not known."""
    code = instance.state_reason.code if instance.state_reason else ""
    found = next((text for prefix, text in _REMEDIES.items() if code.startswith(prefix)), "")
    return found + _SPOT_GRANT if instance.is_spot and found.endswith(_KEY) else found


class NeverSeen(VMCreationFailed):
    """EC2 returned the id of an earlier call's instance, but does not show the instance."""


def run(
    client: "EC2Client",
    arguments: Json,
    find: Callable[[], Instance | None],
    is_new: Callable[[Instance], bool],
) -> Instance:
    """RunInstances for one instance.

    Args:
        arguments: All of RunInstances' arguments except the counts.
        find: Looks for the instance of this launch when it is uncertain whether it was launched.
        is_new: Whether this call launched an instance; EC2 may answer a client token with the instance of
            an earlier call.

    Returns:
        The instance; if the client token was used before, in its current state.

    Raises:
        GroupFailed: The spread placement group has as many instances in the zone as EC2 allows; retriable.
        GroupUnknown: EC2 does not know the placement group.
        NoCapacity: EC2 can't launch the type now.
        SubnetFull: The subnet has no free address.
        TokenSpent: The client token can't be used for this launch.
        VMCreationFailed: AWS is at fault, throttles or does not answer; retriable.
        ClientError: EC2 refuses the launch.
    """

    def launch() -> Instance:
        answer = client.run_instances(MinCount=1, MaxCount=1, **arguments)
        return instances.from_entry(answer["Instances"][0], answer)

    try:
        instance = create_once("the instance", launch, find)
    except (HTTPClientError, ResponseParserError) as error:
        raise Unanswered(f"EC2 did not answer: {described(error)}", ok_to_retry=True) from error
    except client.exceptions.ClientError as error:
        meaning = _meaning(error)
        if meaning is None:
            raise
        raise meaning from error
    if not is_new(instance) and (difference := _difference(instance, arguments)):
        message = f"its instance '{instance.vm_cid}' has {difference}"
        raise TokenSpent(message)
    return instance


def _difference(instance: Instance, arguments: Json) -> str | None:
    """How an instance differs from the requested one, as far as EC2 shows it; None when it does not.

    A launch whose client token was used with other arguments may "return successfully without performing
    any further actions" (EC2 developer guide, "Ensuring idempotency").
    """
    for name, shown in (("InstanceType", instance.instance_type), ("ImageId", instance.ami_id)):
        if shown and shown != arguments.get(name, shown):
            return f"{name} {shown}"
    asked = {
        (each["DeviceIndex"], each.get("NetworkCardIndex", 0)): each
        for each in arguments.get("NetworkInterfaces", [])
    }
    there = {(nic.device_index, nic.card_index): nic for nic in instance.nics}
    differences = (_nic_difference(asked[each], there[each]) for each in asked if each in there)
    return next(filter(None, differences), None)


def _nic_difference(asked: Json, nic: Nic) -> str | None:
    """How an interface differs from the requested one, as far as EC2 shows it."""
    if asked.get("NetworkInterfaceId", nic.nic_id) != nic.nic_id:
        return f"network interface {nic.nic_id}"
    shown = {ip_address(each) for each in nic.addresses}
    versions = {each.version for each in shown}
    wanted = [
        asked.get("PrivateIpAddress"),
        *(each["Ipv6Address"] for each in asked.get("Ipv6Addresses", [])),
    ]
    addresses = [ip_address(each) for each in filter(None, wanted)]
    missing = [each for each in addresses if each.version in versions and each not in shown]
    return f"no address {missing[0]}" if missing else None


def _meaning(error: "ClientError") -> Exception | None:
    """The domain error for EC2's refusal of a launch; None when a retry can't help."""
    if has_code(error, TOKEN_SPENT):
        return TokenSpent(described(error))
    if may_be_done(error):
        return Unanswered(explained(error), ok_to_retry=True)
    if has_code(error, GROUP_MISSING):
        return GroupUnknown(explained(error))
    if has_code(error, AT_FAULT | THROTTLED):
        return VMCreationFailed(explained(error), ok_to_retry=True)
    return _lack(error)


def _lack(error: "ClientError") -> Exception | None:
    """The domain error if EC2 lacks capacity or addresses; otherwise None."""
    if is_group_full(error):
        return GroupFailed(described(error), described(error) + _GROUP_FULL)
    if is_shortage(error):
        return NoCapacity(described(error), explained(error), ok_to_retry=not has_code(error, QUOTA_REACHED))
    return SubnetFull(described(error), explained(error)) if is_subnet_full(error) else None


def cancel_open_requests(client: "EC2Client", tags: Mapping[str, str]) -> None:
    """DescribeSpotInstanceRequests, and CancelSpotInstanceRequests for the open ones with all of these tags.

    EC2 may keep the request of a launch that failed, and launch the instance later.
    """
    filters = [*by_tags(tags), exactly("state", "open")]
    pages = client.get_paginator("describe_spot_instance_requests").paginate(Filters=filters)
    requests = [each for page in pages for each in page["SpotInstanceRequests"]]
    found = [each["SpotInstanceRequestId"] for each in requests if has_tags(each, tags)]
    if found:
        logger.info("Cancelling the open spot requests %s", ", ".join(found))
        client.cancel_spot_instance_requests(SpotInstanceRequestIds=found)


def wait_until_running(
    client: "EC2Client", vm_cid: str, nic_count: int = 0, *, is_new: bool = True
) -> Instance:
    """Wait for a new instance to run.

    Args:
        nic_count: How many interfaces EC2 must show as attached to it.
        is_new: Whether this call launched it. If so, it exists even while EC2 does not show it.

    Raises:
        NeverSeen: An earlier call launched it, and EC2 does not show it.
        Ended: It was terminated. Retriable, unless EC2's reason starts with "Client.": then the caller
            must correct the cause.
        VMCreationFailed: It does not run in time; retriable.
    """
    window = timing.VisibilityWindow(timing.INSTANCE_SEEN)

    def probe() -> Instance:
        try:
            instance = instances.find(client, vm_cid)
        except VMNotFound as error:  # eventual consistency: RunInstances has answered with this id
            if window.is_overdue and not is_new:
                message = f"EC2 does not show instance '{vm_cid}'"
                raise NeverSeen(message) from error
            raise timing.NotYet("not visible yet") from None
        window.was_seen = True
        if instance.is_ending:
            raise Ended(instance)
        if instance.state != "running":
            raise timing.NotYet(instance.state)
        if len(instance.nics) < nic_count:
            raise timing.NotYet("running, but not all of its network interfaces are shown as attached")
        return instance

    timed_out = partial(VMCreationFailed, ok_to_retry=True)
    return timing.until(timing.INSTANCE_RUNNING, f"instance '{vm_cid}' to run", probe, timed_out)
