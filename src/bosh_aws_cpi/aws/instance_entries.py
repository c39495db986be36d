"""Reads instances in the answers of DescribeInstances and RunInstances."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from bosh_aws_cpi.aws.sdk import clock
from bosh_aws_cpi.aws.sdk.idempotency import tags_of
from bosh_aws_cpi.model import AttachedNic, Instance, StateReason

if TYPE_CHECKING:
    from mypy_boto3_ec2.type_defs import InstanceTypeDef


def from_entry(entry: "InstanceTypeDef", answer: Any) -> Instance:  # noqa: ANN401 - any of the SDK's answers
    """Read an instance as EC2 describes it.

    Args:
        entry: The instance.
        answer: The answer of DescribeInstances or RunInstances that contains it.
    """
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
        outliving=frozenset(
            device["Ebs"]["VolumeId"]
            for device in entry.get("BlockDeviceMappings", [])
            if "Ebs" in device and not device["Ebs"].get("DeleteOnTermination")
        ),
        nics=sorted(
            (
                AttachedNic(
                    nic_id=nic["NetworkInterfaceId"],
                    device_index=nic["Attachment"]["DeviceIndex"],
                    attachment_id=nic["Attachment"]["AttachmentId"],
                    addresses=frozenset(_addresses(nic)),
                    primary_addresses=dict(_primary(nic)),
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
        ami_id=entry.get("ImageId", ""),
        age=_age(entry, answer),
        is_spot=entry.get("InstanceLifecycle") == "spot",
        tags=tags_of(entry),
    )


def _primary(nic: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - one of the SDK's typed dicts
    if nic.get("PrivateIpAddress"):
        yield "ipv4", nic["PrivateIpAddress"]
    for each in nic.get("Ipv6Addresses", [])[:1]:
        yield "ipv6", each["Ipv6Address"]


def _addresses(nic: Any) -> Iterator[str]:  # noqa: ANN401 - one of the SDK's typed dicts
    yield from (each["PrivateIpAddress"] for each in nic.get("PrivateIpAddresses", []))
    yield from (each["Ipv6Address"] for each in nic.get("Ipv6Addresses", []))


_SAID: Final = re.compile(r"((?:Client|Server)\.[\w.]+)(?::|$)")
"""The code at the beginning of a message."""


def _reason(reason: Any) -> StateReason | None:  # noqa: ANN401 - one of the SDK's typed dicts, or nothing
    """EC2's reason for an instance's state.

    Its code is taken from the beginning of the message: EC2 gives Server.InternalError as the code of a
    launch that ended with "Client.VolumeLimitExceeded: Volume limit exceeded" (EC2 user guide, "Instance
    terminates immediately").
    """
    code, message = (reason or {}).get("Code", ""), (reason or {}).get("Message", "")
    if said := _SAID.match(message):
        return StateReason(said[1], message)
    return StateReason(code, f"{code}: {message}") if code else None


def _age(entry: "InstanceTypeDef", answer: Any) -> float | None:  # noqa: ANN401 - any of the SDK's answers
    """An instance's age when EC2 answered, in seconds, by AWS's clock and not by this machine's."""
    headers = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    launched = entry.get("LaunchTime")
    if launched is None:
        return None
    return ((clock.date_of(headers) or clock.now()) - launched).total_seconds()
