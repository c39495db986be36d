"""EBS volumes: make, look at, attach, detach, delete."""

import re
import uuid
from typing import TYPE_CHECKING

from bosh_aws_cpi.aws import timing
from bosh_aws_cpi.aws.errors import code_of, has_code, is_volume_missing, naming_disk, naming_vm, was_repeated
from bosh_aws_cpi.aws.once import by_tags, is_recent, make_once
from bosh_aws_cpi.errors import CloudError, DiskNotAttached, DiskNotFound
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Json, Volume

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ec2.type_defs import VolumeTypeDef

MAX_UNSEEN = 16
"""Questions, over about 20 seconds, in which an attachment that EC2 has agreed to may not show."""
_IN_USE = frozenset({"VolumeInUse"})
_GOING = frozenset({"deleting", "deleted"})
_FAILED = _GOING | {"error"}
_NOT_ATTACHED = frozenset({"IncorrectState", "InvalidAttachment.NotFound"})
_NOT_READY = frozenset({"IncorrectState"})


def create(client: "EC2Client", arguments: Json, mark: tuple[str, str]) -> str:
    """CreateVolume.

    Args:
        client: The EC2 client.
        arguments: All of CreateVolume's arguments; without a client token the SDK makes one.
        mark: The key and value of one of the tags, by which the volume is found, should its answer
            be lost.

    Returns:
        The volume's id; it is not available yet.
    """

    def make() -> str:
        answer = client.create_volume(**arguments)
        if not is_recent(answer.get("CreateTime")):
            logger.warning("Volume '%s' was made by another request of this id", answer["VolumeId"])
            answer = client.create_volume(**{**arguments, "ClientToken": str(uuid.uuid4())})
        return answer["VolumeId"]

    return make_once("the volume", make, lambda: find_marked(client, mark))


def find_marked(client: "EC2Client", mark: tuple[str, str]) -> str | None:
    """DescribeVolumes: one that has this tag, was just made and is not going; None when none is seen."""
    answer = client.describe_volumes(Filters=by_tags(dict([mark])))
    staying = (entry for entry in answer["Volumes"] if entry.get("State") not in _GOING)
    return next((entry["VolumeId"] for entry in staying if is_recent(entry.get("CreateTime"))), None)


def find(client: "EC2Client", disk_cid: str) -> Volume:
    """DescribeVolumes for one volume.

    Raises:
        DiskNotFound: EC2 does not know it.
    """
    return find_all(client, [disk_cid])[0]


def find_all(client: "EC2Client", disk_cids: list[str]) -> list[Volume]:
    """DescribeVolumes, in the order asked for; repeated ids are answered once each.

    Raises:
        DiskNotFound: EC2 does not know one of them; the first one missing is named.
    """
    try:
        answer = client.describe_volumes(VolumeIds=sorted(set(disk_cids)))
    except client.exceptions.ClientError as error:
        if not is_volume_missing(error):
            raise
        named = [cid for cid in disk_cids if re.search(rf"{re.escape(cid)}\b", str(error))]
        raise DiskNotFound((named or disk_cids)[0]) from error
    found = {entry["VolumeId"]: _volume(entry) for entry in answer["Volumes"]}
    for disk_cid in disk_cids:
        if disk_cid not in found:
            raise DiskNotFound(disk_cid)
    return [found[disk_cid] for disk_cid in disk_cids]


def wait_until_available(client: "EC2Client", disk_cid: str) -> None:
    """Wait for a new volume to be usable.

    Raises:
        CloudError: EBS reports an error for it (a key that can't be used, mostly), or it
            takes too long.
    """
    sight = timing.Sight()

    def probe() -> None:
        try:
            volume = find(client, disk_cid)
        except DiskNotFound as error:
            if sight.is_lost:  # EBS drops a volume whose key it can't use
                raise _not_made(disk_cid, "gone") from error
            raise timing.NotYet("not to be seen yet") from None
        sight.was_seen = True
        if volume.state in _FAILED:
            raise _not_made(disk_cid, f"in state {volume.state}")
        if volume.state != "available":
            raise timing.NotYet(volume.state)

    timing.until(timing.VOLUME_AVAILABLE, f"volume '{disk_cid}' to be available", probe)


def _not_made(disk_cid: str, how: str) -> CloudError:
    return CloudError(
        f"EBS could not make volume '{disk_cid}': it is {how}. "
        "For an encrypted disk, check that its KMS key exists, is enabled and may be used"
    )


def delete(client: "EC2Client", disk_cid: str) -> None:
    """DeleteVolume, repeated while EBS still holds the volume for a VM that was just deleted.

    Raises:
        DiskNotFound: EC2 does not know it.
    """

    def call() -> None:
        try:
            client.delete_volume(VolumeId=disk_cid)
        except client.exceptions.ClientError as error:
            if not (is_volume_missing(error) and was_repeated(error)):
                raise
            logger.info("Volume '%s' was deleted by the call whose answer was lost", disk_cid)

    with naming_disk(disk_cid):
        timing.patiently(timing.VOLUME_RELEASED, f"volume '{disk_cid}' to be released", _IN_USE, call)


def wait_until_deleted(client: "EC2Client", disk_cid: str) -> None:
    """Wait until a volume is gone.

    Raises:
        CloudError: It takes too long: the deletion is not certain.
    """

    def probe() -> None:
        try:
            volume = find(client, disk_cid)
        except DiskNotFound:
            return
        if volume.state != "deleted":
            raise timing.NotYet(volume.state)

    timing.until(timing.VOLUME_DELETED, f"volume '{disk_cid}' to be deleted", probe)


def discard(client: "EC2Client", disk_cid: str) -> None:
    """Remove a volume that must not be.

    Raises:
        CloudError: That is not certain.
    """
    logger.info("Removing volume '%s'", disk_cid)
    timing.remove(
        f"volume '{disk_cid}'",
        lambda error: isinstance(error, DiskNotFound),
        lambda: delete(client, disk_cid),
    )
    wait_until_deleted(client, disk_cid)


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
            if not (has_code(error, _IN_USE) and _is_attached_as(client, disk_cid, vm_cid, device_name)):
                raise
            logger.info("Volume '%s' is attached to '%s' already", disk_cid, vm_cid)

    def once_ready() -> None:
        what = f"instance '{vm_cid}' to take volume '{disk_cid}'"
        timing.patiently(timing.INSTANCE_READY_TO_ATTACH, what, _NOT_READY, call)

    with naming_disk(disk_cid), naming_vm(vm_cid):
        what = f"volume '{disk_cid}' to be released"
        timing.patiently(timing.VOLUME_RELEASED, what, _IN_USE, once_ready)


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
            if code_of(error) in _NOT_ATTACHED and was_repeated(error):
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


def _volume(entry: "VolumeTypeDef") -> Volume:
    return Volume(
        disk_cid=entry["VolumeId"],
        state=entry["State"],
        availability_zone=entry["AvailabilityZone"],
        attachments={
            attachment["InstanceId"]: (attachment["State"], attachment.get("Device", ""))
            for attachment in entry.get("Attachments", [])
            if attachment.get("State") != "detached" and "InstanceId" in attachment
        },
        size_gib=entry["Size"],
        type=entry["VolumeType"],
        encrypted=entry["Encrypted"],
        iops=entry.get("Iops"),
        throughput=entry.get("Throughput"),
        kms_key_arn=entry.get("KmsKeyId"),
    )
