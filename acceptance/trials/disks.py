"""EBS volumes, their attachments and their changes."""

import re
import time
from collections.abc import Iterator

from acceptance.lab import Lab, said_to
from acceptance.patience import NotYet, until
from acceptance.trials.trial import UNKNOWN_KEY, Seen, Trials
from bosh_aws_cpi.aws.sdk.errors import DEVICE_NAME_TAKEN, NOT_MODIFIABLE, VOLUME_IN_USE, is_transient
from bosh_aws_cpi.plan.device_names import FURTHER_DISK_NAMES, PERSISTENT_DISK_NAMES

TRIALS = Trials()
UNUSABLE = {"InvalidVolume.NotFound", "error", "deleting", "deleted"}
DEVICE, OTHER_DEVICE = "/dev/sdf", "/dev/sdh"
"""Two trials use different names: a name may stay in use for a while after a volume is detached."""


def ends_of_the_series() -> Iterator[str]:
    """The first and the last name of each series of device names: "/dev/xvdba", "/dev/xvdbz"."""
    series: dict[str, list[str]] = {}
    for name in (*PERSISTENT_DISK_NAMES, *FURTHER_DISK_NAMES):
        series.setdefault(re.sub(r"[a-z]$", "", name), []).append(name)
    for names in series.values():
        yield from dict.fromkeys([min(names), max(names)])


@TRIALS.of("volume-iops")
def volume_iops(lab: Lab) -> Seen:
    """Ask for more iops than a volume's size allows."""
    said = said_to(lab.ec2.create_volume, **lab.volume_arguments(Iops=16_000))
    assumed = {"InvalidParameterValue", "InvalidParameterCombination"}
    return Seen(said.code in assumed, said.text)


@TRIALS.of("volume-known")
def volume_known(lab: Lab) -> Seen:
    """Ask for a volume of an unknown type, and for ones that are too large and too small."""
    unknown = said_to(lab.ec2.create_volume, **lab.volume_arguments(VolumeType="gp9"))
    large = said_to(lab.ec2.create_volume, **lab.volume_arguments(Size=70_000))
    small = said_to(lab.ec2.create_volume, **lab.volume_arguments(VolumeType="st1", Size=124))
    codes = (unknown.code, large.code, small.code)
    agrees = codes == ("UnknownVolumeType", "InvalidParameterValue", "InvalidParameterValue")
    return Seen(agrees, f"unknown type: {unknown.text}; too large: {large.text}; too small: {small.text}")


@TRIALS.of("volume-of-snapshot")
def volume_of_snapshot(lab: Lab) -> Seen:
    """Create volumes from an encrypted snapshot: one that is too small, and one with Encrypted false."""
    source = {"SnapshotId": lab.create_snapshot(VolumeSize=2, Encrypted=True)}
    small = said_to(lab.ec2.create_volume, **lab.volume_arguments(**source, Size=1))
    volume_id = lab.create_volume(**source, Size=2, Encrypted=False)
    is_encrypted = lab.describe_volume(volume_id)["Encrypted"]
    agrees = small.code == "InvalidParameterValue" and is_encrypted
    return Seen(agrees, f"too small: {small.text}; with Encrypted false: encrypted {is_encrypted}")


@TRIALS.of("volume-attached-twice")
def volume_attached_twice(lab: Lab) -> Seen:
    """Attach a volume twice, and delete it while it is attached."""
    volume_id = lab.create_volume()
    first = lab.attach(volume_id, DEVICE)
    again = said_to(lab.ec2.attach_volume, VolumeId=volume_id, InstanceId=lab.instance_id, Device="/dev/sdg")
    deleted = said_to(lab.ec2.delete_volume, VolumeId=volume_id)
    lab.detach(volume_id)
    agrees = not first.code and again.code in VOLUME_IN_USE and deleted.code in VOLUME_IN_USE
    return Seen(agrees, f"attached again: {again.text}; deleted: {deleted.text}")


@TRIALS.of("device-in-use")
def device_in_use(lab: Lab) -> Seen:
    """Attach two volumes under one name."""
    first, second = lab.create_volume(), lab.spare_volume_id
    attached = lab.attach(first, OTHER_DEVICE)
    if attached.code:
        return Seen(agrees=False, text=f"the first volume: {attached.text}")
    said = said_to(lab.ec2.attach_volume, VolumeId=second, InstanceId=lab.instance_id, Device=OTHER_DEVICE)
    lab.detach(first)
    return Seen(DEVICE_NAME_TAKEN(said.error), said.text)


@TRIALS.of("device-names")
def device_names(lab: Lab) -> Seen:
    """Attach a volume under the first and the last name of each series, one after the other."""
    refused = {}
    names = list(ends_of_the_series())
    for name in names:
        said = lab.attach(lab.spare_volume_id, name)
        if said.code:
            refused[name] = said.text
        else:
            lab.detach(lab.spare_volume_id)
    return Seen(not refused, f"of {', '.join(names)} refused: {refused or 'none'}")


@TRIALS.of("volume-not-attached")
def volume_not_attached(lab: Lab) -> Seen:
    """Detach a volume that is not attached."""
    said = said_to(lab.ec2.detach_volume, VolumeId=lab.spare_volume_id, InstanceId=lab.instance_id)
    return Seen(said.code in {"IncorrectState", "InvalidAttachment.NotFound"}, said.text)


@TRIALS.of("volume-changed")
def volume_changed(lab: Lab) -> Seen:
    """Enlarge a volume, and at once enlarge it again; reduce another one."""
    volume_id = lab.create_volume()
    never = said_to(lab.ec2.describe_volumes_modifications, VolumeIds=[lab.spare_volume_id])
    first = said_to(lab.ec2.modify_volume, VolumeId=volume_id, Size=2)
    again = said_to(lab.ec2.modify_volume, VolumeId=volume_id, Size=3)
    state = _modification_state(lab, volume_id)
    smaller = said_to(lab.ec2.modify_volume, VolumeId=lab.create_volume(Size=2), Size=1)
    agrees = (
        not first.code
        and never.code in {"", "InvalidVolumeModification.NotFound"}
        and (again.code in NOT_MODIFIABLE or (not again.code and state == "completed"))
        and smaller.code == "InvalidParameterValue"
    )
    texts = (f"never changed: {never.text}", f"while {state}: {again.text}", f"smaller: {smaller.text}")
    return Seen(agrees, "; ".join(texts))


def _modification_state(lab: Lab, volume_id: str) -> str:
    """The state of a volume's latest change, which EC2 may not show at once."""
    said = said_to(lab.ec2.describe_volumes_modifications, VolumeIds=[volume_id])
    changes = [] if said.code else said.answer["VolumesModifications"]
    return str(changes[0]["ModificationState"]) if changes else "not shown"


@TRIALS.of("volume-copied")
def volume_copied(lab: Lab) -> Seen:
    """Copy a volume to a larger, encrypted one, and an encrypted one without asking for that, and smaller."""
    source, encrypted = lab.create_volume(), lab.create_volume(Size=2, Encrypted=True)
    smaller = said_to(lab.ec2.copy_volumes, **lab.copy_arguments(encrypted, Size=1))
    copies = [lab.copy_volume(source, Size=2, Encrypted=True), lab.copy_volume(encrypted)]
    shown = [lab.describe_volume(lab.wait_for_volume("available", each)) for each in copies]
    wanted = {
        "Size": 2,
        "VolumeType": "gp3",
        "Encrypted": True,
        "AvailabilityZone": lab.network.zone,
    }
    agrees = (
        all(wanted.items() <= each.items() for each in shown)
        and all(each.get("Tags") for each in shown)
        and bool(smaller.code)
    )
    names = (*wanted, "Tags")
    seen = [{name: each.get(name) for name in names} for each in shown]
    return Seen(agrees, f"copies: {seen}; smaller: {smaller.text}")


def _copy_progress(lab: Lab, copy: str) -> int | None:
    """How far a copy is initialized, in percent; None if EC2 does not show it."""
    (status,) = lab.ec2.describe_volume_status(VolumeIds=[copy])["VolumeStatuses"]
    progress: int | None = status.get("InitializationStatusDetails", {}).get("Progress")
    return progress


@TRIALS.of("volume-copy-refused")
def volume_copy_refused(lab: Lab) -> Seen:
    """Copy a volume twice in a row, and the first copy; EBS may complete the first one before that."""
    source = lab.create_volume()
    copy = lab.wait_for_volume("available", lab.copy_volume(source))
    progress = _copy_progress(lab, copy)
    again = said_to(lab.copy_volume, source_id=source)
    of_copy = said_to(lab.copy_volume, source_id=copy)
    agrees = all(each.error is None or not is_transient(each.error) for each in (again, of_copy))
    return Seen(agrees, f"progress {progress}; again: {again.text}; a copy of the copy: {of_copy.text}")


@TRIALS.of("volume-key")
def volume_key(lab: Lab) -> Seen:
    """Create a volume that is encrypted with a key that does not exist."""
    said = said_to(lab.ec2.create_volume, **lab.volume_arguments(Encrypted=True, KmsKeyId=UNKNOWN_KEY))
    if said.code:
        return Seen(agrees=True, text=f"refused at once: {said.text}")
    volume_id = said.answer["VolumeId"]

    def final_state() -> str:
        looked = said_to(lab.ec2.describe_volumes, VolumeIds=[volume_id])
        state = looked.code or next(
            (each["State"] for each in looked.answer["Volumes"]), "InvalidVolume.NotFound"
        )
        if state not in {*UNUSABLE, "available"} or time.monotonic() < shown_by:
            raise NotYet(state)
        return str(state)

    # EC2 may not show a new volume yet, nor at once that it can't use the key.
    shown_by = time.monotonic() + lab.account.settles
    state = until(final_state)
    return Seen(state in UNUSABLE, f"created, and then {state}")
