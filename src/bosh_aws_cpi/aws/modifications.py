"""ModifyVolume: changes of EBS volumes in place."""

from typing import TYPE_CHECKING, Any, Final

from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.aws.sdk.errors import described, has_code, looked_up, naming_disk
from bosh_aws_cpi.errors import CloudError, NotSupported
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import logger

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

NOT_MODIFIABLE: Final = frozenset(
    {
        "IncorrectModificationState",
        "UnsupportedOperation",
        "VolumeModificationRateExceeded",
        "VolumeModificationSizeLimitExceeded",
    }
)
"""ModifyVolume answers one of these if the volume can't be changed now, or at all, or in this account."""
_UNKNOWN: Final = frozenset({"InvalidVolumeModification.NotFound"})
_USABLE: Final = frozenset({"optimizing", "completed"})
_RUNNING: Final = frozenset({"modifying", "optimizing"})


def modify(client: "EC2Client", disk_cid: str, changes: Json) -> None:
    """ModifyVolume, and wait until the changed volume can be used.

    If the same change is already under way, because an earlier call's answer was lost, this waits for it.

    Args:
        client: The EC2 client.
        disk_cid: The volume.
        changes: ModifyVolume's Size (GiB), VolumeType, Iops and Throughput, where they differ.

    Raises:
        NotSupported: EBS does not allow this volume to be changed now; the message says why.
        CloudError: The change failed, or the wait timed out.
    """
    running = _latest(client, disk_cid)
    state = running.get("ModificationState")
    if _is_for(running, changes):
        logger.info("The same change of volume '%s' is already under way: waiting for it", disk_cid)
        began = running.get("StartTime")
    elif state in _RUNNING:
        message = f"Volume '{disk_cid}' can't be changed now: an earlier change is still {state}"
        raise NotSupported(message)
    else:
        began = _start(client, disk_cid, changes)
    _wait_until_usable(client, disk_cid, began)


def _start(client: "EC2Client", disk_cid: str, changes: Json) -> Any:  # noqa: ANN401 - EC2's time, if any
    """ModifyVolume; returns the time at which the change began."""
    with naming_disk(disk_cid):
        try:
            answer = client.modify_volume(VolumeId=disk_cid, **changes)
            return answer.get("VolumeModification", {}).get("StartTime")
        except client.exceptions.ClientError as error:
            if not has_code(error, NOT_MODIFIABLE):
                raise
            latest = looked_up(f"the changes of '{disk_cid}'", lambda: _latest(client, disk_cid)) or {}
            if _is_for(latest, changes):  # started by this call, whose first answer was lost
                return latest.get("StartTime")
            message = f"Volume '{disk_cid}' can't be changed now: {described(error)}"
            raise NotSupported(message) from error


def _wait_until_usable(client: "EC2Client", disk_cid: str, began: Any) -> None:  # noqa: ANN401
    def probe() -> None:
        latest = _latest(client, disk_cid)
        if began is not None and latest.get("StartTime", began) < began:
            raise timing.NotYet("EC2 still shows an earlier change")
        state = latest.get("ModificationState")
        if state == "failed":
            reason = latest.get("StatusMessage") or "no reason given"
            message = f"EBS could not change volume '{disk_cid}': {reason}"
            raise CloudError(message)
        if state not in _USABLE:
            raise timing.NotYet(f"{state} {latest.get('Progress', 0)}%")

    timing.until(timing.VOLUME_MODIFIED, f"volume '{disk_cid}' to be changed", probe)


def _latest(client: "EC2Client", disk_cid: str) -> Any:  # noqa: ANN401 - the SDK's typed dict, or an empty one
    """The latest modification of the volume that EC2 shows."""
    try:
        answer = client.describe_volumes_modifications(Filters=[{"Name": "volume-id", "Values": [disk_cid]}])
    except client.exceptions.ClientError as error:
        if has_code(error, _UNKNOWN):
            return {}
        raise
    found = sorted(answer["VolumesModifications"], key=lambda each: str(each.get("StartTime", "")))
    return found[-1] if found else {}


def _is_for(modification: Any, changes: Json) -> bool:  # noqa: ANN401
    """Whether a modification is under way, and to the same values."""
    return modification.get("ModificationState") in _RUNNING and all(
        modification.get(f"Target{name}") == value for name, value in changes.items()
    )
