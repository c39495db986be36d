"""EBS volumes, their attachments and their changes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from acceptance.lab import Lab, said_to
from acceptance.patience import NotYet, until
from acceptance.trials.trial import Seen, Trials
from bosh_aws_cpi.aws.attachments import says_name_taken
from bosh_aws_cpi.aws.errors import VOLUME_IN_USE
from bosh_aws_cpi.aws.modifications import NOT_AGAIN_YET
from bosh_aws_cpi.plan.device_names import FURTHER_DISK_NAMES, PERSISTENT_DISK_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator

TRIALS = Trials()
DEVICE = "/dev/sdf"


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
    believed = {"InvalidParameterValue", "InvalidParameterCombination"}
    return Seen(said.code in believed, said.text)


@TRIALS.of("volume-attached-twice")
def volume_attached_twice(lab: Lab) -> Seen:
    """Attach a volume, once more, and delete it as long as it is attached."""
    volume_id = lab.volume()
    first = lab.attached(volume_id, DEVICE)
    again = said_to(lab.ec2.attach_volume, VolumeId=volume_id, InstanceId=lab.instance_id, Device="/dev/sdg")
    deleted = said_to(lab.ec2.delete_volume, VolumeId=volume_id)
    lab.detached(volume_id)
    agrees = not first.code and again.code in VOLUME_IN_USE and deleted.code in VOLUME_IN_USE
    return Seen(agrees, f"attached again: {again.text}; deleted: {deleted.text}")


@TRIALS.of("device-in-use")
def device_in_use(lab: Lab) -> Seen:
    """Attach two volumes under one name."""
    first, second = lab.volume(), lab.spare_volume_id
    lab.attached(first, DEVICE)
    said = said_to(lab.ec2.attach_volume, VolumeId=second, InstanceId=lab.instance_id, Device=DEVICE)
    lab.detached(first)
    return Seen(said.error is not None and says_name_taken(said.error), said.text)


@TRIALS.of("device-names")
def device_names(lab: Lab) -> Seen:
    """Attach a volume under the first and the last name of each series, one after the other."""
    refused = {}
    names = list(ends_of_the_series())
    for name in names:
        said = lab.attached(lab.spare_volume_id, name)
        if said.code:
            refused[name] = said.text
        else:
            lab.detached(lab.spare_volume_id)
    return Seen(not refused, f"of {', '.join(names)} refused: {refused or 'none'}")


@TRIALS.of("volume-not-attached")
def volume_not_attached(lab: Lab) -> Seen:
    """Detach a volume that is not attached."""
    said = said_to(lab.ec2.detach_volume, VolumeId=lab.spare_volume_id, InstanceId=lab.instance_id)
    return Seen(said.code in {"IncorrectState", "InvalidAttachment.NotFound"}, said.text)


@TRIALS.of("volume-changed")
def volume_changed(lab: Lab) -> Seen:
    """Make a volume larger, at once larger still, and smaller."""
    volume_id = lab.volume()
    never = said_to(lab.ec2.describe_volumes_modifications, VolumeIds=[lab.spare_volume_id])
    first = said_to(lab.ec2.modify_volume, VolumeId=volume_id, Size=2)
    (change,) = lab.ec2.describe_volumes_modifications(VolumeIds=[volume_id])["VolumesModifications"]
    state = change["ModificationState"]
    again = said_to(lab.ec2.modify_volume, VolumeId=volume_id, Size=3)
    smaller = said_to(lab.ec2.modify_volume, VolumeId=lab.volume(Size=2), Size=1)
    agrees = (
        not first.code
        and never.code in {"", "InvalidVolumeModification.NotFound"}
        and (again.code in NOT_AGAIN_YET or state == "completed")
        and smaller.code == "InvalidParameterValue"
    )
    texts = (f"never changed: {never.text}", f"while {state}: {again.text}", f"smaller: {smaller.text}")
    return Seen(agrees, "; ".join(texts))


@TRIALS.of("volume-key")
def volume_key(lab: Lab) -> Seen:
    """Make a volume that is encrypted with a key that there is not."""
    key = "00000000-0000-4000-8000-000000000000"
    said = said_to(lab.ec2.create_volume, **lab.volume_arguments(Encrypted=True, KmsKeyId=key))
    if said.code:
        return Seen(agrees=True, text=f"refused at once: {said.text}")
    volume_id = said.answer["VolumeId"]
    states = [said.answer["State"]]

    def gone() -> None:
        looked = said_to(lab.ec2.describe_volumes, VolumeIds=[volume_id])
        state = looked.code or next((each["State"] for each in looked.answer["Volumes"]), "not to be seen")
        if state != states[-1]:
            states.append(state)
        if state in {"creating", "InvalidVolume.NotFound"} and len(states) == 1:
            raise NotYet(state)

    until(gone)
    agrees = states[-1] in {"InvalidVolume.NotFound", "error", "deleting", "deleted", "not to be seen"}
    return Seen(agrees, f"first made, then {' and '.join(states)}")
