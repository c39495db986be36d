"""EC2 instances: find, reboot, terminate; also lists of key pairs and of instance profiles.

`launches` creates instances.
"""

import base64
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from bosh_aws_cpi.aws import network_interfaces
from bosh_aws_cpi.aws.listings import entries
from bosh_aws_cpi.aws.sdk import clock, errors, timing
from bosh_aws_cpi.aws.sdk.errors import ask_or_warn, call_unless, describe_error, naming_vm
from bosh_aws_cpi.aws.sdk.filters import by_tags, equals, starts_with
from bosh_aws_cpi.aws.sdk.idempotency import has_tags, tags_of
from bosh_aws_cpi.errors import VMNotFound
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Instance, StateReason
from bosh_aws_cpi.records import Record

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ec2.type_defs import InstanceTypeDef
    from mypy_boto3_iam import IAMClient

Result = TypeVar("Result")


def find_by_tags(client: "EC2Client", tags: Mapping[str, str]) -> list[Instance]:
    """DescribeInstances: the instances with all of these tags, including terminated instances.

    Args:
        tags: The tags, such as those that name an agent.
    """
    pages = client.get_paginator("describe_instances").paginate(Filters=by_tags(tags))
    return [
        from_entry(entry, page)
        for page in pages
        for reservation in page["Reservations"]
        for entry in reservation["Instances"]
        if has_tags(entry, tags)
    ]


def find(client: "EC2Client", vm_cid: str) -> Instance:
    """DescribeInstances for one instance, even a terminated one; if EC2 does not know it, asks again.

    Raises:
        VMNotFound: EC2 does not know the instance.
    """
    found = timing.look_twice(
        lambda: find_new(client, vm_cid),
        lambda: _describe(client, Filters=[equals("instance-id", vm_cid)]),
    )
    if found is None:
        raise VMNotFound(vm_cid)
    return found


def find_new(client: "EC2Client", vm_cid: str) -> Instance | None:
    """DescribeInstances for one instance; None if EC2 does not know it, or not yet."""
    return _describe(client, InstanceIds=[vm_cid])


def find_with_tags(client: "EC2Client", vm_cid: str) -> Instance | None:
    """DescribeInstances for one instance, if it has tags; None if EC2 shows none.

    EC2 may leave tags out of an answer, unless a filter is about tags (cloud-custodian issue 252).
    """
    return _describe(client, InstanceIds=[vm_cid], Filters=[starts_with("tag-key", "")])


def _describe(client: "EC2Client", **which: Any) -> Instance | None:  # noqa: ANN401
    answer = call_unless(errors.INSTANCE_MISSING, lambda: client.describe_instances(**which))
    if answer is None:
        return None
    shown = (entry for reservation in answer["Reservations"] for entry in reservation["Instances"])
    return next((from_entry(entry, answer) for entry in shown), None)


def repeat_while_shown(client: "EC2Client", vm_cid: str, call: Callable[[], Result]) -> Result:
    """Make a call about an instance, which EC2 may fail for a moment to find.

    Raises:
        VMNotFound: EC2 does not know the instance, or the instance is terminated.
    """
    what, look = f"instance '{vm_cid}'", partial(find_alive, client, vm_cid)
    return timing.repeat_while_shown(what, VMNotFound, look, naming_vm(vm_cid)(call))


def find_alive(client: "EC2Client", vm_cid: str) -> Instance:
    """DescribeInstances for one instance that is not terminated.

    Raises:
        VMNotFound: EC2 does not know the instance, or the instance is terminated.
    """
    instance = find(client, vm_cid)
    if instance.is_gone:
        raise VMNotFound(vm_cid)
    return instance


def is_alive(client: "EC2Client", vm_cid: str) -> bool:
    """Whether an instance exists and is neither terminated nor shutting down."""
    try:
        return not find(client, vm_cid).is_ending
    except VMNotFound:
        return False


def terminate(client: "EC2Client", vm_cid: str, *, skips_shutdown: bool = False) -> None:
    """Call TerminateInstances for one instance; no error if the instance is already terminated.

    Args:
        skips_shutdown: Whether to skip the shutdown of the operating system, unless EC2 refuses to skip it.

    Raises:
        VMNotFound: EC2 does not know the instance.
    """

    def look() -> None:
        if find(client, vm_cid).is_gone:
            raise _Terminated

    with suppress(_Terminated):
        timing.repeat_while_shown(
            f"instance '{vm_cid}'",
            VMNotFound,
            look,
            lambda: _terminate(client, vm_cid, skips_shutdown=skips_shutdown),
        )


class _Terminated(Exception):
    """The instance needs no termination."""


def _terminate(client: "EC2Client", vm_cid: str, *, skips_shutdown: bool = False) -> None:
    skip: Any = {"SkipOsShutdown": True} if skips_shutdown else {}
    with naming_vm(vm_cid):
        try:
            client.terminate_instances(InstanceIds=[vm_cid], **skip)
        except client.exceptions.ClientError as error:
            if not (skips_shutdown and errors.SHUTDOWN_NOT_SKIPPED(error)):
                raise
            why = "EC2 refused to skip the shutdown of instance '%s'; its termination takes longer: %s"
            logger.warning(why, vm_cid, describe_error(error))
            client.terminate_instances(InstanceIds=[vm_cid])


def wait_until_terminated(
    client: "EC2Client", vm_cid: str, on_first_sight: Callable[[Instance], None] | None = None
) -> None:
    """Wait until an instance is terminated, and so has released its volumes and interfaces.

    Args:
        on_first_sight: Called once, with the instance as EC2 first shows it; an error ends the wait. Until
            then, EC2's answer that there is no such instance may be outdated: EC2 has just accepted the id.

    Raises:
        CloudError: The wait timed out: the deletion is not certain.
    """
    window = timing.VisibilityWindow()
    window.was_seen = on_first_sight is None

    def probe() -> None:
        try:
            instance = find(client, vm_cid)
        except VMNotFound as error:
            if not window.is_lost:
                raise timing.NotYet(error.message) from error
            return
        if on_first_sight is not None and not window.was_seen:
            window.was_seen = True
            on_first_sight(instance)
        if not instance.is_gone:
            raise timing.NotYet(instance.state)

    timing.poll(timing.INSTANCE_TERMINATED, f"instance '{vm_cid}' to be terminated", probe)


def reboot(client: "EC2Client", vm_cid: str) -> None:
    """Call RebootInstances, or StartInstances for a stopped instance; do not wait for the guest.

    Raises:
        VMNotFound: EC2 does not know the instance, or the instance is terminated.
        CloudError: The instance did not finish stopping in time.
    """
    instance = find_alive(client, vm_cid)
    if instance.state == "stopping":
        _wait_until_stopped(client, vm_cid)
    begin: Callable[..., object] = client.reboot_instances
    if instance.state in {"stopping", "stopped"}:
        logger.info("Instance '%s' was %s: starting it", vm_cid, instance.state)
        begin = client.start_instances
    repeat_while_shown(client, vm_cid, lambda: begin(InstanceIds=[vm_cid]))


def disable_source_dest_check(client: "EC2Client", vm_cid: str) -> None:
    """Disable the source/destination check; EC2 accepts this only for an instance with one interface."""
    timing.retry_until_visible(
        f"instance '{vm_cid}'",
        lambda: client.modify_instance_attribute(InstanceId=vm_cid, SourceDestCheck={"Value": False}),
    )


def discard(client: "EC2Client", vm_cid: str) -> None:
    """Discard an instance that was just created: call TerminateInstances, and wait.

    Raises:
        CloudError: The termination is not certain.
    """
    logger.info("Terminating instance '%s'", vm_cid)
    try:
        timing.discard(
            f"instance '{vm_cid}'",
            lambda error: isinstance(error, VMNotFound),
            lambda: _terminate(client, vm_cid),
            timing.INSTANCE_SEEN,
        )
    except Exception as error:
        seen = ask_or_warn(f"instance '{vm_cid}'", lambda: find(client, vm_cid))
        if seen is None or not seen.is_ending:
            raise
        logger.info("Instance '%s' was ending before: %s", vm_cid, describe_error(error))
    wait_until_terminated(client, vm_cid)


def _wait_until_stopped(client: "EC2Client", vm_cid: str) -> None:
    def probe() -> None:
        state = find_alive(client, vm_cid).state
        if state != "stopped":
            raise timing.NotYet(state)

    timing.poll(timing.INSTANCE_STOPPED, f"instance '{vm_cid}' to be stopped", probe)


def from_entry(entry: "InstanceTypeDef", answer: Any) -> Instance:  # noqa: ANN401 - any of the SDK's answers
    """Convert EC2's description of an instance.

    Args:
        entry: The description.
        answer: The response of DescribeInstances or RunInstances that contains it.
    """
    volumes = {
        device["DeviceName"]: device["Ebs"]
        for device in entry.get("BlockDeviceMappings", [])
        if "Ebs" in device
    }
    attached = (nic for nic in entry.get("NetworkInterfaces", []) if "Attachment" in nic)
    return Instance(
        vm_cid=entry["InstanceId"],
        state=entry["State"]["Name"],
        instance_type=entry["InstanceType"],
        availability_zone=entry.get("Placement", {}).get("AvailabilityZone", ""),
        devices={name: volume["VolumeId"] for name, volume in volumes.items()},
        volume_cards=[volume.get("EbsCardIndex", 0) for volume in volumes.values()],
        detaching_volumes=frozenset(
            volume["VolumeId"]
            for volume in volumes.values()
            if volume.get("Status") in {"detaching", "detached"}
        ),
        kept_volumes=frozenset(
            volume["VolumeId"] for volume in volumes.values() if not volume.get("DeleteOnTermination")
        ),
        nics=sorted(
            map(network_interfaces.from_entry, attached), key=lambda nic: (nic.card_index, nic.device_index)
        ),
        vpc_id=entry.get("VpcId") or None,
        virtualization_type=entry.get("VirtualizationType", "hvm"),
        client_token=entry.get("ClientToken"),
        state_reason=_state_reason(entry.get("StateReason")),
        ami_id=entry.get("ImageId", ""),
        age=_age(entry, answer),
        is_spot=entry.get("InstanceLifecycle") == "spot",
        metadata_endpoint=entry.get("MetadataOptions", {}).get("HttpEndpoint", ""),
        tags=tags_of(entry),
    )


_CODE_IN_MESSAGE: Final = re.compile(r"((?:Client|Server)\.[\w.]+)(?::|$)")
"""Matches the code at the beginning of a message."""


def _state_reason(reason: Any) -> StateReason | None:  # noqa: ANN401 - one of the SDK's typed dicts, or nothing
    """EC2's reason for an instance's state.

    The code comes from the beginning of the message, because EC2 gives Server.InternalError as the code of a
    launch that ended with "Client.VolumeLimitExceeded: Volume limit exceeded" (EC2 user guide, "Instance
    terminates immediately").
    """
    code, message = (reason or {}).get("Code", ""), (reason or {}).get("Message", "")
    if match := _CODE_IN_MESSAGE.match(message):
        return StateReason(match[1], message)
    return StateReason(code, f"{code}: {message}") if code else None


def _age(entry: "InstanceTypeDef", answer: Any) -> float | None:  # noqa: ANN401 - any of the SDK's answers
    """The seconds from an instance's launch to EC2's answer, by AWS's clock, not this machine's clock."""
    headers = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    launched = entry.get("LaunchTime")
    if launched is None:
        return None
    return ((clock.parse_date(headers) or clock.now()) - launched).total_seconds()


class Health(Record):
    """Status checks: "ok", "impaired", "insufficient-data", "initializing" or "not-applicable".

    Attributes:
        state: The state of the instance, such as "running".
        system: The check of AWS's host and network.
        instance: The check of the instance's own kernel and network.
        disks: The check of the attached EBS volumes.
    """

    state: str
    system: str
    instance: str
    disks: str


def health(client: "EC2Client", vm_cids: Iterable[str]) -> dict[str, Health]:
    """DescribeInstanceStatus for instances in any state, by id."""
    answer = client.describe_instance_status(InstanceIds=sorted(set(vm_cids)), IncludeAllInstances=True)
    return {
        entry["InstanceId"]: Health(
            entry["InstanceState"]["Name"],
            entry.get("SystemStatus", {}).get("Status", ""),
            entry.get("InstanceStatus", {}).get("Status", ""),
            entry.get("AttachedEbsStatus", {}).get("Status", ""),
        )
        for entry in answer["InstanceStatuses"]
    }


def console(client: "EC2Client", vm_cid: str) -> str:
    """GetConsoleOutput: at most the last 64 KiB; empty when there is no output yet.

    EC2 has the latest output only for types on Nitro. For other types EC2 refuses Latest, with a code that
    the API reference does not name, and has the output of the last start, stop or reboot (user guide,
    "Instance console output").
    """
    try:
        answer = client.get_console_output(InstanceId=vm_cid, Latest=True)
    except client.exceptions.ClientError as error:
        if errors.UNAUTHORIZED(error):
            raise
        answer = client.get_console_output(InstanceId=vm_cid)
    return answer.get("Output", "")  # the SDK has decoded it


def user_data(client: "EC2Client", vm_cid: str) -> bytes:
    """DescribeInstanceAttribute for the user data; empty when there is none."""
    answer = client.describe_instance_attribute(InstanceId=vm_cid, Attribute="userData")
    return base64.b64decode(answer.get("UserData", {}).get("Value", ""))


def key_pairs(client: "EC2Client") -> set[str]:
    """DescribeKeyPairs: the names of all key pairs."""
    return {each["KeyName"] for each in entries(client, "describe_key_pairs", "KeyPairs", page=None)}


def instance_profiles(client: "IAMClient") -> set[str]:
    """ListInstanceProfiles: the names of the account's instance profiles."""
    profiles = entries(client, "list_instance_profiles", "InstanceProfiles")
    return {each["InstanceProfileName"] for each in profiles}
