"""EC2 instances: run, look at, reboot, terminate."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from botocore.exceptions import HTTPClientError
from botocore.parsers import ResponseParserError

from bosh_aws_cpi.aws import timing
from bosh_aws_cpi.aws.errors import (
    AT_FAULT,
    NO_CAPACITY,
    NOT_FOUND_YET,
    QUOTA_REACHED,
    THROTTLED,
    TOKEN_SPENT,
    described,
    has_code,
    naming_vm,
)
from bosh_aws_cpi.aws.once import by_tags, make_once
from bosh_aws_cpi.errors import VMCreationFailed, VMNotFound
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import AttachedNic, Instance, Json

if TYPE_CHECKING:
    from botocore.exceptions import ClientError
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ec2.type_defs import InstanceTypeDef


class NoCapacity(VMCreationFailed):
    """This instance type is not to be had here and now; retriable, unless a quota is reached.

    Args:
        said: What EC2 said.
        message: The same and what can be done about it; the same without it by default.
        ok_to_retry: Whether the same call may succeed when it is made again.
    """

    def __init__(self, said: str, message: str = "", *, ok_to_retry: bool = False) -> None:
        super().__init__(message or said, ok_to_retry=ok_to_retry)
        self.said = said


class Unanswered(VMCreationFailed):
    """EC2 did not answer a launch, nor show an instance of it since; it may still have made one."""


class Ended(VMCreationFailed):
    """EC2 ended the instance before it ran; ``instance`` says why."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        code, _, _ = (instance.state_reason or "").partition(":")
        self.code = code
        reason = instance.state_reason or "no reason given"
        self.said = f"EC2 ended instance '{instance.vm_cid}' before it ran: {reason}"
        super().__init__(self.said + _REMEDIES.get(code, ""), ok_to_retry=not code.startswith("Client."))


class TokenSpent(Exception):
    """The client token stands for an earlier launch: its instance is gone, or other arguments were given."""


_REMEDIES = {
    "Client.InternalError": (
        ". Most often a volume can't be made: check that the KMS key of each encrypted disk, and of the "
        "AMI's snapshots, exists, is enabled, and may be used by this account"
    ),
    "Client.InvalidSnapshot.NotFound": ". A snapshot of the AMI is gone: upload the stemcell again",
    "Client.VolumeLimitExceeded": ". Delete volumes, or have the account's EBS quota raised",
}
"""What an operator can do about EC2's reasons that are on the account's side."""


class NeverSeen(VMCreationFailed):
    """EC2 does not show the instance that it has answered with: an earlier call made it, long ago."""


def run(client: "EC2Client", arguments: Json, find: Callable[[], Instance | None]) -> Instance:
    """RunInstances for one instance.

    Args:
        client: The EC2 client.
        arguments: All of RunInstances' arguments but the counts.
        find: Looks for the instance of this launch, when it is not certain whether there is one.

    Returns:
        The instance; with a client token that was used before, as it is now.

    Raises:
        NoCapacity: The type is not to be had now.
        TokenSpent: The client token can't be used for this launch.
        VMCreationFailed: AWS is at fault, throttles or does not answer; retriable.
        ClientError: EC2 refuses the launch.
    """

    def launch() -> Instance:
        try:
            answer = client.run_instances(MinCount=1, MaxCount=1, **arguments)
        except client.exceptions.ClientError as error:
            if has_code(error, NO_CAPACITY):  # also when it comes as a fault of EC2's
                is_quota = has_code(error, QUOTA_REACHED)
                raise NoCapacity(described(error), _explained(error), ok_to_retry=not is_quota) from error
            raise
        return _instance(answer["Instances"][0])

    try:
        return make_once("the instance", launch, find)
    except (HTTPClientError, ResponseParserError) as error:
        raise Unanswered(f"EC2 did not answer: {described(error)}", ok_to_retry=True) from error
    except client.exceptions.ClientError as error:
        if has_code(error, TOKEN_SPENT):
            raise TokenSpent(described(error)) from error
        if has_code(error, AT_FAULT | THROTTLED):
            raise VMCreationFailed(_explained(error), ok_to_retry=True) from error
        raise


def _explained(error: "ClientError") -> str:
    from bosh_aws_cpi.aws.translation import explained  # noqa: PLC0415 - nearly every verb loads this module

    return explained(error)


def of_agent(client: "EC2Client", tags: Mapping[str, str]) -> list[Instance]:
    """DescribeInstances for those that were made for one agent, ended ones too.

    Args:
        client: The EC2 client.
        tags: The tags by which they are found.
    """
    pages = client.get_paginator("describe_instances").paginate(Filters=by_tags(tags))
    return [
        _instance(entry)
        for page in pages
        for reservation in page["Reservations"]
        for entry in reservation["Instances"]
    ]


def find(client: "EC2Client", vm_cid: str) -> Instance:
    """DescribeInstances for one instance, terminated ones too.

    Raises:
        VMNotFound: EC2 does not know it.
    """
    with naming_vm(vm_cid):
        answer = client.describe_instances(InstanceIds=[vm_cid])
    found = [entry for reservation in answer["Reservations"] for entry in reservation["Instances"]]
    if not found:
        raise VMNotFound(vm_cid)
    return _instance(found[0])


def find_alive(client: "EC2Client", vm_cid: str) -> Instance:
    """DescribeInstances for one instance that EC2 has not ended.

    Raises:
        VMNotFound: EC2 does not know it, or it is terminated.
    """
    instance = find(client, vm_cid)
    if instance.is_gone:
        raise VMNotFound(vm_cid)
    return instance


def is_alive(client: "EC2Client", vm_cid: str) -> bool:
    """Whether an instance is there, and EC2 is not ending it."""
    try:
        return not find(client, vm_cid).is_ending
    except VMNotFound:
        return False


def wait_until_running(client: "EC2Client", vm_cid: str, nic_count: int = 0) -> Instance:
    """Wait for a new instance to run.

    Args:
        client: The EC2 client.
        vm_cid: The instance.
        nic_count: How many interfaces must be seen attached to it.

    Raises:
        NeverSeen: EC2 does not show it.
        Ended: EC2 ended it. Retriable, unless EC2's reason starts with "Client.", which is on
            the caller's side.
        VMCreationFailed: It does not run in time; retriable.
    """

    def look() -> Instance:
        try:
            return find(client, vm_cid)
        except VMNotFound:  # eventual consistency: RunInstances has answered with this id
            raise timing.NotYet("not to be seen yet") from None

    seen = [timing.until(timing.INSTANCE_SEEN, f"instance '{vm_cid}' to be seen", look, NeverSeen)]

    def probe() -> Instance:
        instance = seen.pop() if seen else look()
        if instance.is_ending:
            raise Ended(instance)
        if instance.state != "running":
            raise timing.NotYet(instance.state)
        if len(instance.nics) < nic_count:
            raise timing.NotYet("running, but not all of its network interfaces are seen attached")
        return instance

    timed_out = partial(VMCreationFailed, ok_to_retry=True)
    return timing.until(timing.INSTANCE_RUNNING, f"instance '{vm_cid}' to run", probe, timed_out)


def terminate(client: "EC2Client", vm_cid: str) -> None:
    """TerminateInstances for one instance; an instance that is terminated already is fine.

    Raises:
        VMNotFound: EC2 does not know it.
    """
    with naming_vm(vm_cid):
        client.terminate_instances(InstanceIds=[vm_cid])


def wait_until_terminated(client: "EC2Client", vm_cid: str) -> None:
    """Wait until EC2 has ended an instance and so let go of its volumes and interfaces.

    Raises:
        CloudError: It takes too long: the deletion is not certain.
    """

    def probe() -> None:
        try:
            instance = find(client, vm_cid)
        except VMNotFound:
            return
        if not instance.is_gone:
            raise timing.NotYet(instance.state)

    timing.until(timing.INSTANCE_TERMINATED, f"instance '{vm_cid}' to be terminated", probe)


def reboot(client: "EC2Client", vm_cid: str) -> None:
    """RebootInstances, or StartInstances for one that is stopped; does not wait for the guest.

    Raises:
        VMNotFound: EC2 does not know it, or it is terminated.
        CloudError: It is stopping and takes too long.
    """
    instance = find_alive(client, vm_cid)
    if instance.state == "stopping":
        _wait_until_stopped(client, vm_cid)
    with naming_vm(vm_cid):
        if instance.state in {"stopping", "stopped"}:
            logger.info("Instance '%s' was %s: starting it", vm_cid, instance.state)
            client.start_instances(InstanceIds=[vm_cid])
        else:
            client.reboot_instances(InstanceIds=[vm_cid])


def pass_foreign_traffic(client: "EC2Client", vm_cid: str) -> None:
    """Take the source/destination check off an instance with one interface; EC2 refuses it with several."""
    timing.patiently(
        timing.VISIBLE,
        f"instance '{vm_cid}' to be seen",
        NOT_FOUND_YET,
        lambda: client.modify_instance_attribute(InstanceId=vm_cid, SourceDestCheck={"Value": False}),
    )


def discard(client: "EC2Client", vm_cid: str) -> None:
    """Remove an instance that must not be: terminate it and wait until it has ended.

    Raises:
        CloudError: That is not certain.
    """
    logger.info("Removing instance '%s'", vm_cid)
    timing.remove(
        f"instance '{vm_cid}'",
        lambda error: isinstance(error, VMNotFound),
        lambda: terminate(client, vm_cid),
    )
    wait_until_terminated(client, vm_cid)


def _wait_until_stopped(client: "EC2Client", vm_cid: str) -> None:
    def probe() -> None:
        state = find_alive(client, vm_cid).state
        if state != "stopped":
            raise timing.NotYet(state)

    timing.until(timing.INSTANCE_STOPPED, f"instance '{vm_cid}' to be stopped", probe)


def _instance(entry: "InstanceTypeDef") -> Instance:
    return Instance(
        vm_cid=entry["InstanceId"],
        state=entry["State"]["Name"],
        instance_type=entry["InstanceType"],
        availability_zone=entry.get("Placement", {}).get("AvailabilityZone", ""),
        devices={
            device["DeviceName"]: device["Ebs"]["VolumeId"]
            for device in entry.get("BlockDeviceMappings", [])
            if "Ebs" in device
        },
        leaving=frozenset(
            device["Ebs"]["VolumeId"]
            for device in entry.get("BlockDeviceMappings", [])
            if device.get("Ebs", {}).get("Status") in {"detaching", "detached"}
        ),
        nics=sorted(
            (
                AttachedNic(
                    nic_id=nic["NetworkInterfaceId"],
                    device_index=nic["Attachment"]["DeviceIndex"],
                    attachment_id=nic["Attachment"]["AttachmentId"],
                )
                for nic in entry.get("NetworkInterfaces", [])
                if "Attachment" in nic
            ),
            key=lambda nic: nic.device_index,
        ),
        vpc_id=entry.get("VpcId") or None,
        virtualization_type=entry.get("VirtualizationType", "hvm"),
        client_token=entry.get("ClientToken"),
        state_reason=_reason(entry.get("StateReason")),
    )


def _reason(reason: Any) -> str | None:  # noqa: ANN401 - one of the SDK's typed dicts, or nothing
    """EC2's reason, "CODE: text"; its message mostly begins with the code itself."""
    if not reason or not reason.get("Code"):
        return None
    code, message = reason["Code"], reason.get("Message", "")
    return message if message.startswith(f"{code}:") else f"{code}: {message}"
