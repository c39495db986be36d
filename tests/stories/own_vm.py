"""The executable on a VM of EC2's: with instance metadata, a program that writes to disks, and disks.

The disks are block devices of this computer under names that a VM's kernel gives, in a mount namespace
in which a folder of the test's is /dev: nothing of this computer is changed.
"""

import functools
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from testbed.executable import EXECUTABLE, Answer, Cpi, Process, config
from testbed.hypervisor import APART
from testbed.imds import Imds
from tests.stories.stemcell_images import Heavy

PROGRAM: Final = Path(__file__).parents[2] / "src/bosh_release/stemcell-copy"
DISK_SIZE: Final = 4 << 20
LOOP: Final = ["losetup"]
_AS_DEV: Final = """set -e
dev=$1
shift
for name in "$dev"/*; do
    [ ! -f "$name" ] || mount --bind "/dev/${name##*/}" "$name"
done
mount --rbind "$dev" /dev
exec "$@"
"""
"""The shell's words that make a folder /dev there; its files are the devices of the same names."""
_STAND_IN: Final = """#!/bin/sh
printf '%s\\n' "$@" > "$0.called"
{}
"""


@functools.cache
def works_apart() -> bool:
    """Whether a program can be given a /dev of its own here, with a block device in it."""
    with suppress(OSError):
        command = [*APART, "mount", "-t", "tmpfs", "none", "/dev"]
        done = subprocess.run(command, check=False, stderr=subprocess.DEVNULL)
        return done.returncode == 0 and bool(block_devices())
    return False


def block_devices() -> list[str]:
    """List the names of this computer's block devices, loop devices first."""
    found = [entry.name for entry in Path("/dev").iterdir() if entry.is_block_device()]
    return sorted(found, key=lambda name: (not name.startswith("loop"), name))


@contextmanager
def loop_device(folder: Path) -> Iterator[str]:
    """Have the file `disk` in a folder as a block device; yields its path."""
    disk = folder / "disk"
    disk.write_bytes(b"\xff" * DISK_SIZE)
    command = [*LOOP, "--partscan", "--find", "--show", str(disk)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    device = done.stdout.strip()
    try:
        yield device
    finally:
        subprocess.run([*LOOP, "--detach", device], check=True)


def makes_loop_devices() -> bool:
    """Whether this computer makes loop devices, and for this user."""
    return os.geteuid() == 0 and os.access("/dev/loop-control", os.R_OK | os.W_OK)


class OwnVm:
    """One VM, with the executable on it.

    Attributes:
        vm_cid: Its id.
        heavy: The stemcell that it makes.
        disk: The block device that any attached disk is.
    """

    def __init__(self, vm_cid: str, heavy: Heavy, imds: Imds, folder: Path) -> None:
        """Start with a stand-in for the program."""
        self.vm_cid = vm_cid
        self.heavy = heavy
        self._environment = imds.environment
        self._dev = folder / "dev"
        self._program = folder / "bin" / PROGRAM.name
        self._program.parent.mkdir()
        self._dev.mkdir()
        for name in ("null", "urandom"):
            (self._dev / name).touch()
        self.has(f"/dev/{block_devices()[0]}")
        self.writes_by('exec cat > "$0.image"')

    def cpi(self, way: str = "volume", **aws: Any) -> Cpi:
        """Return the executable on this VM, which makes stemcells by one way."""
        path = f"{self._program.parent}:{os.defpath}"
        command = [*APART, "sh", "-c", _AS_DEV, "as-dev", str(self._dev), EXECUTABLE]
        document = config(self.heavy.endpoint, stemcell_upload=way, **aws)
        return Cpi(document, env={**self._environment, "PATH": path}, command=command)

    def create(self, way: str = "volume", **aws: Any) -> Answer:
        """Make the stemcell."""
        return self.heavy.create(cpi=self.cpi(way, **aws))

    def start(self) -> Process:
        """Begin to make it; the caller ends it."""
        self._started = self.cpi()  # its configuration goes with it
        return self.heavy.start(self._started)

    def has(self, disk: str) -> None:
        """Be a VM whose kernel shows each attached disk as xvdf, which is this block device."""
        self.disk = disk
        (self._dev / Path(disk).name).touch()
        link = self._dev / "xvdf"
        link.unlink(missing_ok=True)
        link.symlink_to(disk)

    def writes_by(self, last_words: str) -> None:
        """Have a stand-in for the program, which ends with some words of the shell's."""
        self._program.write_text(_STAND_IN.format(last_words))
        self._program.chmod(0o755)

    def is_written_for(self, interpreter: str) -> None:
        """Have a program that another interpreter is to run."""
        self._program.write_text(f"#!{interpreter}\n")

    def writes_in_earnest(self) -> None:
        """Have the program itself."""
        shutil.copy(PROGRAM, self._program)

    def has_no_program(self) -> None:
        """Have none."""
        self._program.unlink()

    @property
    def called_with(self) -> list[str]:
        """The arguments of the stand-in's last call."""
        return self._program.with_name(f"{PROGRAM.name}.called").read_text().splitlines()

    @property
    def image(self) -> bytes:
        """What the stand-in was given to write."""
        return self._program.with_name(f"{PROGRAM.name}.image").read_bytes()
