"""Writes an image into a snapshot through a volume that is attached to the VM of this process.

For accounts that are not permitted to use the EBS direct APIs. The program ``stemcell-copy``, which sudo runs
as root, writes to the device.
"""

import os
import shutil
import stat
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, cast

from bosh_aws_cpi import interrupts
from bosh_aws_cpi.aws import attachments, instances, snapshots, volumes
from bosh_aws_cpi.aws.sdk import timing
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.stemcells import image_file
from bosh_aws_cpi.cpi.stemcells.image_file import ImageSource
from bosh_aws_cpi.cpi.undo import Undo
from bosh_aws_cpi.errors import CloudError, DiskNotFound, VMNotFound
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Instance
from bosh_aws_cpi.plan import device_names, tag_plan

PROGRAM: Final = "stemcell-copy"
_PACKAGED: Final = Path(__file__).parents[4] / "bin" / PROGRAM
"""Next to the libraries' folder, as in the BOSH package."""
_ELSE: Final = (
    "use the EBS direct APIs (aws.stemcell_upload: ebs_direct), or the light stemcell of the same version"
)
_OUTPUT_SHOWN: Final = 2000
"""How much of the program's output an error quotes, in bytes."""


def upload(cloud: Cloud, source: ImageSource, vm_cid: str, undo: Undo) -> str:
    """Write an image to a new volume and take a snapshot of it; the volume is deleted in any case.

    Args:
        vm_cid: The VM that this process runs on.
        undo: Gets the step that discards the snapshot.

    Returns:
        The snapshot's id.

    Raises:
        CloudError: The image could not be written.
    """
    command = _command()
    instance = instances.find_alive(cloud.ec2, vm_cid)
    mark = (tag_plan.STEMCELL_TAG, source.call_id)
    arguments = {"Description": source.description, **tag_plan.specifications(source.tags, "snapshot")}
    scratch = Undo()
    undo.arm("the upload's volume", lambda: scratch.run("the upload of the image"))
    try:
        disk_cid, name = _attached_volume(cloud, instance, source, scratch)
        _copy(command, source.path, _block_device(disk_cid, name))
        snapshot_id = undo.create(
            lambda: snapshots.create(cloud.ec2, disk_cid, arguments, mark),
            lambda created: snapshots.discard(cloud.ec2, created),
        )
        snapshots.wait_until_completed(cloud.ec2, snapshot_id)
    finally:
        with interrupts.shielded():
            scratch.run("the upload of the image")
    return snapshot_id


def discard_earlier(cloud: Cloud, mark: tuple[str, str]) -> None:
    """Discard the volume of an earlier, killed upload.

    Args:
        mark: The key and value of its tag.
    """
    disk_cid = volumes.find_marked(cloud.ec2, mark)
    if disk_cid is None:
        return
    with suppress(DiskNotFound):  # it is being deleted
        for vm_cid in volumes.find(cloud.ec2, disk_cid).attachments:
            with suppress(VMNotFound):  # the attachment is gone with the VM
                attachments.detach_by_force(cloud.ec2, disk_cid, vm_cid)
        volumes.discard(cloud.ec2, disk_cid)


def _attached_volume(cloud: Cloud, instance: Instance, source: ImageSource, scratch: Undo) -> tuple[str, str]:
    """Create a volume and attach it to our own VM; return its id and device name."""
    ec2 = cloud.ec2
    arguments = {
        "Size": source.size_gib,
        "VolumeType": "gp3",
        "AvailabilityZone": instance.availability_zone,
        "Encrypted": False,
        **source.encryption.arguments(),
        **tag_plan.specifications(source.tags, "volume"),
    }
    names = device_names.free_names(instance.devices)
    disk_cid = scratch.create(
        lambda: volumes.create(ec2, arguments, (tag_plan.STEMCELL_TAG, source.call_id)),
        lambda created: volumes.discard(ec2, created),
    )
    volumes.wait_until_available(ec2, disk_cid)
    scratch.arm(
        f"attachment of '{disk_cid}'",
        lambda: attachments.detach_by_force(ec2, disk_cid, instance.vm_cid),
    )
    name = attachments.attach(ec2, disk_cid, instance.vm_cid, names)
    attachments.wait_until_attached(ec2, disk_cid, instance.vm_cid)
    return disk_cid, name


def _command() -> list[str]:
    """The command that starts the program as root.

    Raises:
        CloudError: The program is not installed, or this process can't become root.
    """
    program = str(_PACKAGED) if _PACKAGED.is_file() else shutil.which(PROGRAM)
    if program is None:
        message = f"The program {PROGRAM}, which is part of the release, is not installed here: {_ELSE}"
        raise CloudError(message)
    if os.geteuid() == 0:
        return [program]
    if _is_confined() or shutil.which("sudo") is None:
        raise CloudError(
            f"The program {PROGRAM} must run as root, but this process can't become root, without sudo or in "
            f"bpm's containers: set director.use_bpm_for_workers to false, or {_ELSE}"
        )
    return ["sudo", "-n", program]


def _is_confined() -> bool:
    """Whether the kernel ignores set-user-ID bits for this process: sudo would fail (PR_SET_NO_NEW_PRIVS)."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace")
    except OSError:  # not Linux
        return False
    return "\nNoNewPrivs:\t1\n" in status


def _block_device(disk_cid: str, name: str) -> str:
    """The volume's device path.

    Raises:
        CloudError: It does not appear.
    """
    candidates = device_names.guest_paths(name, disk_cid)

    def probe() -> str:
        for candidate in candidates:
            path = Path(candidate)
            if path.exists() and stat.S_ISBLK(path.stat().st_mode):
                return str(path.resolve())
        raise timing.NotYet("missing")

    return timing.poll(timing.DEVICE_SEEN, f"one of {', '.join(candidates)} to appear", probe)


def _copy(command: list[str], path: str, device: str) -> None:
    """Pipe the image to the program; if this call ends, so does the program, because its input is closed."""
    logger.info("Writing '%s' to %s", path, device)
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(  # noqa: S603 - no shell; sudo allows this one program
                [*command, device], stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT
            )
        except OSError as error:
            raise CloudError(f"Unable to copy stemcell root image: {command[0]}: {error.strerror}") from error
        is_whole = False
        with process, suppress(BrokenPipeError):  # if it ends early, its exit status should say why
            with cast("IO[bytes]", process.stdin) as taker:
                for chunk in image_file.chunks(path):
                    interrupts.check()
                    taker.write(chunk)
            is_whole = True
        if process.returncode != 0 or not is_whole:
            output.seek(0)
            text = output.read()[-_OUTPUT_SHOWN:].decode(errors="replace").strip()
            message = f"Unable to copy stemcell root image: {PROGRAM} ended with {process.returncode}: {text}"
            raise CloudError(message)
