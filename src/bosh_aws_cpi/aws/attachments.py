"""Attachments of EBS volumes to instances: attach, detach, wait."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import instances, volumes
from bosh_aws_cpi.aws.sdk import errors, timing
from bosh_aws_cpi.errors import CloudError, DiskNotAttached, DiskNotFound, VMNotFound
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Volume

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client


Result = TypeVar("Result")

MAX_UNSEEN = 13
"""The number of looks (about 20 seconds) in which EC2 may fail to show an attachment that it has accepted."""
MAX_REFUSALS: Final = 10
"""After this number of refusals, over about half a minute, the CPI assumes that another VM keeps the volume.

Before that, EC2 may still show an attachment that has just ended, or show a terminated VM as running.
"""
_NOT_ATTACHED: Final = "not attached"
_ATTACHED_STATES: Final = frozenset({"attaching", "attached"})
_KEEPING_STATES: Final = frozenset({"pending", "running", "stopped"})
"""The states in which a VM does not release its volumes."""


class NameTaken(Exception):
    """The instance already uses the device name, or all device names to try."""


def attach(
    client: "EC2Client", disk_cid: str, vm_cid: str, device_names: Sequence[str], ebs_card: int | None = None
) -> str:
    """Call AttachVolume with the first device name that EC2 accepts.

    A name that DescribeInstances does not show may be in use: for some seconds after a detachment, or by a
    device of the AMI.

    Args:
        device_names: The names to try, in this order.
        ebs_card: The index of the instance's EBS card; None for the first card.

    Returns:
        The device name of the attachment.

    Raises:
        DiskNotFound: EC2 does not know the volume.
        VMNotFound: EC2 does not know the instance.
        CloudError: The volume stays attached to another VM.
        NameTaken: All names are in use.
    """
    on_card = {} if ebs_card is None else {"EbsCardIndex": ebs_card}
    for name in device_names:
        try:
            return _attach_as(client, disk_cid, vm_cid, name, on_card)
        except NameTaken:
            logger.info("Instance '%s' already uses device name %s: trying the next one", vm_cid, name)
    raise NameTaken


def _attach_as(client: "EC2Client", disk_cid: str, vm_cid: str, device_name: str, on_card: Json) -> str:
    """Call AttachVolume; retry while the VM is not ready, the volume changes, or another VM releases it.

    AttachVolume takes no client token. When EC2 answers that the volume or the name is in use, an earlier
    attempt whose answer was lost may have attached the volume.

    Raises:
        CloudError: The volume stays attached to another VM.
        NameTaken: Another volume uses the name.
    """
    holder = _Holder(client)

    def call() -> str:
        try:
            client.attach_volume(VolumeId=disk_cid, InstanceId=vm_cid, Device=device_name, **on_card)
        except client.exceptions.ClientError as error:
            is_name_taken = errors.DEVICE_NAME_TAKEN(error)
            if not (is_name_taken or errors.VOLUME_IN_USE(error)):
                raise
            volume = volumes.find(client, disk_cid)
            state, attached = volume.attachments.get(vm_cid, ("", ""))
            if state in _ATTACHED_STATES:
                logger.info("Volume '%s' is already attached to '%s', as %s", disk_cid, vm_cid, attached)
                return attached
            if is_name_taken:
                raise NameTaken from error
            holder.check(volume, error)
            raise
        return device_name

    ready = f"instance '{vm_cid}' to accept volume '{disk_cid}'"
    for policy, what, codes in (
        (timing.INSTANCE_READY_TO_ATTACH, ready, errors.NOT_ATTACHABLE_YET),
        (timing.VOLUME_MODIFIED, f"volume '{disk_cid}' to be changed", errors.VOLUME_CHANGING),
        (timing.VOLUME_RELEASED, f"volume '{disk_cid}' to be released", errors.VOLUME_IN_USE),
    ):  # each wait is within the next one
        call = partial(timing.retry_on_codes, policy, what, codes, call)
    return _repeat_while_shown(client, disk_cid, vm_cid, call)


def _repeat_while_shown(
    client: "EC2Client", disk_cid: str, vm_cid: str, call: Callable[[], Result]
) -> Result:
    """Make a call about a volume and an instance, which EC2 may fail for a moment to find.

    Raises:
        DiskNotFound: EC2 does not know the volume.
        VMNotFound: EC2 does not know the instance.
    """
    of_disk = partial(volumes.repeat_while_shown, client, disk_cid, call)
    return instances.repeat_while_shown(client, vm_cid, of_disk)


class _Holder:
    """Looks up the other VM that has a volume, while EC2 refuses to attach the volume."""

    def __init__(self, client: "EC2Client") -> None:
        self._client = client
        self._refusals = 0

    def check(self, volume: Volume, error: ClientError) -> None:
        """Look up the other VM after the first refusal, and after each refusal beyond `MAX_REFUSALS`.

        Args:
            volume: The volume as DescribeVolumes shows it after the refusal.

        Raises:
            CloudError: The VM keeps the volume: the VM is not ending, and the volume is not being detached.
        """
        held = {vm: name for vm, (state, name) in volume.attachments.items() if state in _ATTACHED_STATES}
        self._refusals += bool(held)
        is_last = self._refusals > MAX_REFUSALS
        if not held or not (is_last or self._refusals == 1):
            return
        vm_cid, name = next(iter(held.items()))
        state = self._state(vm_cid)
        where = f"Volume '{volume.disk_cid}' is attached to instance '{vm_cid}' ({state}), as {name}"
        if is_last and state in _KEEPING_STATES:
            raise CloudError(
                f"{errors.describe_error(error)}. {where}. Detach it from there first"
            ) from error
        if self._refusals == 1:
            logger.info("%s: waiting for its release", where)

    def _state(self, vm_cid: str) -> str:
        """Return the VM's state for messages; do not raise, because that would hide EC2's refusal."""
        try:
            return instances.find(self._client, vm_cid).state
        except VMNotFound:
            return "unknown to EC2"
        except errors.FAILURES as error:
            logger.info("Could not look at instance '%s': %s", vm_cid, errors.describe_error(error))
            return "not known"


def wait_until_attached(client: "EC2Client", disk_cid: str, vm_cid: str) -> None:
    """Wait until a volume is attached to an instance.

    Raises:
        CloudError: The wait timed out, or the volume was detached, for example because the instance is
            terminating.
        DiskNotFound: The volume was deleted.
    """
    seen: list[str] = []

    def probe() -> None:
        state, _ = volumes.find(client, disk_cid).attachments.get(vm_cid, (_NOT_ATTACHED, ""))
        seen.append(state)
        if state == _NOT_ATTACHED and (set(seen) != {state} or len(seen) > MAX_UNSEEN):
            message = f"Volume '{disk_cid}' was detached from instance '{vm_cid}': is the VM terminating?"
            raise CloudError(message)
        if state != "attached":
            raise timing.NotYet(state)

    what = f"volume '{disk_cid}' to be attached to instance '{vm_cid}'"
    timing.poll(timing.VOLUME_ATTACHED, what, probe)


def detach(client: "EC2Client", disk_cid: str, vm_cid: str) -> None:
    """Call DetachVolume.

    Raises:
        DiskNotAttached: The volume is not attached to that instance.
        DiskNotFound: EC2 does not know the volume.
        VMNotFound: EC2 does not know the instance.
    """

    def call() -> None:
        try:
            client.detach_volume(VolumeId=disk_cid, InstanceId=vm_cid)
        except client.exceptions.ClientError as error:
            if not errors.NOT_ATTACHED(error):
                raise
            if not errors.may_have_taken_effect(error):
                raise DiskNotAttached(disk_cid, vm_cid) from error
            logger.info("Volume '%s' was detached by the call whose answer was lost", disk_cid)

    _repeat_while_shown(client, disk_cid, vm_cid, call)


def detach_by_force(client: "EC2Client", disk_cid: str, vm_cid: str) -> None:
    """Call DetachVolume with Force, and wait; no error if the volume is not attached."""
    with errors.naming_disk(disk_cid), errors.naming_vm(vm_cid):
        detaching = errors.call_unless(
            errors.NOT_ATTACHED,
            lambda: client.detach_volume(VolumeId=disk_cid, InstanceId=vm_cid, Force=True),
        )
    if detaching is not None:
        wait_until_detached(client, disk_cid, vm_cid)


def wait_until_detached(client: "EC2Client", disk_cid: str, vm_cid: str) -> None:
    """Wait until a volume is no longer attached to an instance; a deleted volume is not attached.

    Raises:
        CloudError: The wait timed out. The guest may still have the volume mounted.
    """

    def probe() -> None:
        try:
            volume = volumes.find(client, disk_cid)
        except DiskNotFound:
            return
        if vm_cid in volume.attachments:
            raise timing.NotYet(volume.attachments[vm_cid][0])

    what = f"volume '{disk_cid}' to be detached from instance '{vm_cid}'"
    timing.poll(timing.VOLUME_DETACHED, what, probe)
