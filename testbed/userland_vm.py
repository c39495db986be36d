"""A VM of a stemcell line: its userland, with the release's packages and its job.

Programs run in a mount namespace of their own, with the userland as their root directory, /var/vcap and /dev
of the VM's own, and a tmpfs at /tmp, as resolute has it, from which nothing can be executed.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from testbed.cloud import ROOT
from testbed.executable import popen
from testbed.hypervisor import BASE, TOGETHER
from testbed.job import DEVICES, JOB, PACKAGES, VCAP, Place
from testbed.userland import Userland

PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""The agent's."""

_INSIDE: Final = f"""set -e
root=$1 vcap=$2 packages=$3 disk=$4
shift 4
mount --bind "$root" "$root"
cd "$root"
mount --bind "$vcap" .{BASE}
mkdir -p .{BASE}/data/packages
mount --bind "$packages" .{BASE}/data/packages
mount -t proc proc proc
mount --rbind /sys sys
mount -t tmpfs -o nosuid,noexec,mode=755 none dev
for each in {" ".join(DEVICES)} ${{disk##*/}}; do
    : > "dev/$each"
    mount --bind "/dev/$each" "dev/$each"
done
[ -z "$disk" ] || ln -s "$disk" dev/xvdf
ln -s /proc/self/fd dev/fd
mount -t tmpfs -o nosuid,nodev,noexec,mode=1777 none tmp
exec chroot "$@"
"""
"""The shell's words that put a VM's file systems into the folder `$1`, and start a program there."""


@dataclass(frozen=True)
class Vm(Place):
    """A VM of a line.

    Attributes:
        userland: Its root directory.
        disk: The path of a block device of this computer, which the VM shows as /dev/xvdf, too.
    """

    userland: Userland
    disk: str = ""

    def __post_init__(self) -> None:
        """Make the folders; those that are the CPI's to write belong to vcap."""
        super().__post_init__()
        self.packages.mkdir(parents=True, exist_ok=True)
        for name in ("data/director", "data/director/tmp", "store/director"):
            os.chown(self.vcap / name, VCAP, VCAP)

    def popen(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start a program as the user vcap."""
        return self._popen([f"--userspec={VCAP}:{VCAP}", ".", *command], self.environment)

    def run_as_root(
        self, *command: str, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a program as root, in the environment of the agent and some more."""
        with self._popen([".", *command], {"PATH": PATH, **(environment or {})}) as process:
            stdout, stderr = process.communicate()
        return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)

    def start_job(self, cpi_ctl: str) -> None:
        """Start the job as monit does, which lets vcap run the package's program as root."""
        path = self.vcap / "jobs/aws_cpi/bin/cpi_ctl"
        path.write_text(cpi_ctl)
        path.chmod(0o755)
        done = self.run_as_root(f"{JOB}/bin/cpi_ctl", "start")
        assert done.returncode == 0, done.stderr.decode()  # noqa: S101 - the caller is a test

    def compile(self) -> None:
        """Compile the release's packages, as the agent does.

        From bosh-agent, agent/compiler: `bash -x packaging` in the folder with the package's sources.

        Raises:
            AssertionError: A script failed; the message has the end of what it wrote.
        """
        for name in PACKAGES:
            folder = self.vcap / "data/compile" / name
            lay_sources(name, folder)
            (self.packages / name).mkdir()
            here = f"{BASE}/data/compile/{name}"
            environment = {
                "BOSH_COMPILE_TARGET": here,
                "BOSH_INSTALL_TARGET": f"{BASE}/packages/{name}",
                "BOSH_PACKAGE_NAME": name,
                "BOSH_PACKAGE_VERSION": "1",
            }
            script = f"cd {here} && exec bash -x packaging"
            done = self.run_as_root("sh", "-c", script, environment=environment)
            if done.returncode:
                said = (done.stdout + done.stderr)[-4000:].decode(errors="replace")
                raise AssertionError(f"{name} does not compile on {self.userland.line}: {said}")
            shutil.rmtree(folder)

    def _popen(self, words: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        places = map(str, (self.userland.root, self.vcap, self.packages, self.disk))
        unshare = ("setpriv", "--pdeathsig", "KILL", "unshare", "--mount", *TOGETHER)
        return popen([*unshare, "sh", "-c", _INSIDE, "sh", *places, *words], environment, self.vcap)


def lay_sources(package: str, folder: Path) -> None:
    """Lay out what a package's spec names, from src/ and blobs/, with its script."""
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "packages" / package / "packaging", folder)
    for pattern in yaml.safe_load((ROOT / "packages" / package / "spec").read_text())["files"]:
        for base in (ROOT / "src", ROOT / "blobs"):
            for path in base.glob(pattern):
                copy = folder / path.relative_to(base)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, copy)
