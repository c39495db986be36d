"""Attachments of EBS volumes to instances: make, wait for, undo."""

from typing import TYPE_CHECKING

from bosh_aws_cpi.aws import timing
from bosh_aws_cpi.aws.errors import VOLUME_IN_USE, code_of, has_code, may_be_done, naming_disk, naming_vm
from bosh_aws_cpi.aws.volumes import find
from bosh_aws_cpi.errors import CloudError, DiskNotAttached, DiskNotFound
from bosh_aws_cpi.log import logger

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client


MAX_UNSEEN = 22
"""Questions, over about 20 seconds, in which an attachment that EC2 has agreed to may not show."""
_NOT_ATTACHED = frozenset({"IncorrectState", "InvalidAttachment.NotFound"})
_NOT_READY = frozenset({"IncorrectState"})


def attach(client: "EC2Client", disk_cid: str, vm_cid: str, device_name: str) -> None:
    """AttachVolume, repeated while the VM is not ready or another VM still holds the volume.

    It has no client token: when EC2 says that the volume is in use, that may be by this very
    attachment, whose answer was lost.

    Raises:
        DiskNotFound: EC2 does not know the volume.
        VMNotFound: EC2 does not know the instance.
    """

    def call() -> None:
        try:
            client.attach_volume(VolumeId=disk_cid, InstanceId=vm_cid, Device=device_name)
        except client.exceptions.ClientError as error:
            if not (
                has_code(error, VOLUME_IN_USE) and _is_attached_as(client, disk_cid, vm_cid, device_name)
            ):
                raise
            logger.info("Volume '%s' is attached to '%s' already", disk_cid, vm_cid)

    def once_ready() -> None:
        what = f"instance '{vm_cid}' to take volume '{disk_cid}'"
        timing.patiently(timing.INSTANCE_READY_TO_ATTACH, what, _NOT_READY, call)

    with naming_disk(disk_cid), naming_vm(vm_cid):
        what = f"volume '{disk_cid}' to be released"
        timing.patiently(timing.VOLUME_RELEASED, what, VOLUME_IN_USE, once_ready)


def _is_attached_as(client: "EC2Client", disk_cid: str, vm_cid: str, device_name: str) -> bool:
    state, name = find(client, disk_cid).attachments.get(vm_cid, ("", ""))
    return state in {"attaching", "attached"} and name == device_name


def wait_until_attached(client: "EC2Client", disk_cid: str, vm_cid: str) -> None:
    """Wait until a volume is attached to an instance.

    Raises:
        CloudError: It takes too long, or came off again, as when the instance is ending.
        DiskNotFound: The volume went away.
    """
    seen: list[str] = []

    def probe() -> None:
        attachment = find(client, disk_cid).attachments.get(vm_cid)
        seen.append(attachment[0] if attachment else "not attached")
        if attachment is None and (set(seen) != {"not attached"} or len(seen) > MAX_UNSEEN):
            message = f"Volume '{disk_cid}' came off instance '{vm_cid}' again, is the VM ending?"
            raise CloudError(message)
        if attachment is None:
            raise timing.NotYet("not attached")
        if attachment[0] != "attached":
            raise timing.NotYet(attachment[0])

    timing.until(timing.VOLUME_ATTACHED, f"volume '{disk_cid}' to be attached to instance '{vm_cid}'", probe)


def detach(client: "EC2Client", disk_cid: str, vm_cid: str) -> None:
    """DetachVolume.

    Raises:
        DiskNotAttached: It is not attached to that instance.
        DiskNotFound: EC2 does not know the volume.
        VMNotFound: EC2 does not know the instance.
    """
    with naming_disk(disk_cid), naming_vm(vm_cid):
        try:
            client.detach_volume(VolumeId=disk_cid, InstanceId=vm_cid)
        except client.exceptions.ClientError as error:
            if code_of(error) in _NOT_ATTACHED and may_be_done(error):
                logger.info("Volume '%s' was detached by the call whose answer was lost", disk_cid)
                return
            if code_of(error) in _NOT_ATTACHED:
                raise DiskNotAttached(disk_cid, vm_cid) from error
            raise


def detach_by_force(client: "EC2Client", disk_cid: str, vm_cid: str) -> None:
    """DetachVolume with Force, and wait; one that is not attached is fine."""
    try:
        with naming_disk(disk_cid), naming_vm(vm_cid):
            client.detach_volume(VolumeId=disk_cid, InstanceId=vm_cid, Force=True)
    except client.exceptions.ClientError as error:
        if code_of(error) not in _NOT_ATTACHED:
            raise
        return
    wait_until_detached(client, disk_cid, vm_cid)


def wait_until_detached(client: "EC2Client", disk_cid: str, vm_cid: str) -> None:
    """Wait until a volume is no longer attached to an instance; one that is gone isn't.

    Raises:
        CloudError: It takes too long. The guest may still have it mounted.
    """

    def probe() -> None:
        try:
            attachments = find(client, disk_cid).attachments
        except DiskNotFound:
            return
        if vm_cid in attachments:
            raise timing.NotYet(attachments[vm_cid][0])

    timing.until(
        timing.VOLUME_DETACHED, f"volume '{disk_cid}' to be detached from instance '{vm_cid}'", probe
    )
