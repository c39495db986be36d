"""One instance in detail, for `cpi diagnose`: interfaces, status checks, events, console, user data."""

import base64
from collections.abc import Iterable
from typing import TYPE_CHECKING

from bosh_aws_cpi.aws import instances, interface_details
from bosh_aws_cpi.aws.interface_details import Interface
from bosh_aws_cpi.aws.sdk.error_codes import UNAUTHORIZED
from bosh_aws_cpi.aws.sdk.errors import has_code
from bosh_aws_cpi.model import Instance
from bosh_aws_cpi.records import Record

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ec2.type_defs import InstanceStatusEventTypeDef

_DONE = ("[Completed]", "[Canceled]")
"""Descriptions of events that are over begin so: EC2 still shows them for up to a week."""


class Details(Record):
    """What DescribeInstances shows of an instance.

    Attributes:
        instance: Its state, type and zone.
        interfaces: Its network interfaces, by device index.
        metadata_endpoint: "enabled" or "disabled"; empty when EC2 does not show it.
        metadata_tokens: "required" or "optional"; empty when EC2 does not show it.
    """

    instance: Instance
    interfaces: tuple[Interface, ...]
    metadata_endpoint: str
    metadata_tokens: str


class Health(Record):
    """The status checks, each "ok", "impaired", "insufficient-data", "initializing" or "not-applicable".

    Attributes:
        state: The instance's state, "running" or another one.
        system: The check of AWS's host and network.
        instance: The check of the instance's own kernel and network.
        disks: The check of the attached EBS volumes.
        events: The events that AWS has scheduled and not completed.
    """

    state: str
    system: str
    instance: str
    disks: str
    events: tuple[str, ...]


def details(client: "EC2Client", vm_cid: str) -> Details:
    """DescribeInstances for one instance, even a terminated one.

    Raises:
        VMNotFound: EC2 does not know it.
    """
    entry, answer = instances.describe(client, vm_cid)
    nics = (
        interface_details.from_entry(nic) for nic in entry.get("NetworkInterfaces", []) if nic.get("SubnetId")
    )
    options = entry.get("MetadataOptions", {})
    return Details(
        instances.from_entry(entry, answer),
        tuple(sorted(nics, key=lambda nic: nic.device_index)),
        options.get("HttpEndpoint", ""),
        options.get("HttpTokens", ""),
    )


def health(client: "EC2Client", vm_cids: Iterable[str]) -> dict[str, Health]:
    """DescribeInstanceStatus for instances in any state, by id."""
    answer = client.describe_instance_status(InstanceIds=sorted(set(vm_cids)), IncludeAllInstances=True)
    return {
        entry["InstanceId"]: Health(
            entry.get("InstanceState", {}).get("Name", ""),
            entry.get("SystemStatus", {}).get("Status", ""),
            entry.get("InstanceStatus", {}).get("Status", ""),
            entry.get("AttachedEbsStatus", {}).get("Status", ""),
            tuple(_event(event) for event in entry.get("Events", []) if _is_due(event)),
        )
        for entry in answer["InstanceStatuses"]
    }


def console(client: "EC2Client", vm_cid: str) -> str:
    """GetConsoleOutput: at most the last 64 KiB; empty when there is no output yet.

    EC2 shows the latest output only of types on Nitro, and refuses it for others with a code that its
    reference does not name. Their output is that of the last start, stop or reboot (user guide, "Instance
    console output").
    """
    try:
        answer = client.get_console_output(InstanceId=vm_cid, Latest=True)
    except client.exceptions.ClientError as error:
        if has_code(error, UNAUTHORIZED):
            raise
        answer = client.get_console_output(InstanceId=vm_cid)
    return answer.get("Output", "")  # the SDK has decoded it


def user_data(client: "EC2Client", vm_cid: str) -> bytes:
    """DescribeInstanceAttribute for the user data; empty when there is none."""
    answer = client.describe_instance_attribute(InstanceId=vm_cid, Attribute="userData")
    return base64.b64decode(answer.get("UserData", {}).get("Value", ""))


def _is_due(event: "InstanceStatusEventTypeDef") -> bool:
    return not event.get("Description", "").startswith(_DONE)


def _event(event: "InstanceStatusEventTypeDef") -> str:
    begin = event.get("NotBefore")
    when = f"not before {begin:%Y-%m-%d %H:%M} UTC" if begin else ""
    return ", ".join(filter(None, [event.get("Code", ""), when, event.get("Description", "")]))
