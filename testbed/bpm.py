"""A container as bpm makes it for a worker of the Director, in which the worker starts the CPI.

From bpm-release (src/bpm/runc, November 2026): what is mounted and how (adapter/adapter.go), capabilities,
privileges, namespaces and system calls (specbuilder). From bosh 283.1.6: the CPI's folders that a worker gets
(jobs/director/templates/bpm.yml) and the environment that the CPI gets (src/bosh-director/lib/clouds/
external_cpi.rb). Made with `unshare`, without runc and without root.

Left out: cgroups; /dev/pts and /dev/mqueue; the folders below /run to which /etc/resolv.conf may lead, as the
tests need no names; and the paths in /proc and /sys that runc hides or makes read-only, as an ordinary user
can't change them in any case.
"""

import shutil
import stat
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from testbed.executable import popen
from testbed.hypervisor import BASE, TOGETHER
from testbed.job import DATA, DEVICES, JOB, PYTHON_PROGRAM, TMP, VCAP, Place

REFUSED: Final = (
    "bpm's container can't be made on this machine, so nothing is known about the CPI in it. It takes Linux, "
    "unshare, setpriv, mount and pivot_root (Debian: util-linux), and permission to create user and mount "
    "namespaces and to mount /proc (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, "
    "kernel.apparmor_restrict_unprivileged_userns; in Docker: --privileged). The system says: "
)

_READ_ONLY, _PROGRAMS, _WRITABLE = "nosuid,nodev,noexec,ro", "nosuid,nodev,ro", "nosuid,nodev,noexec,rw"
_SYSTEM: Final = ("/bin", "/etc", "/lib", "/lib64", "/sbin", "/usr")
_UNSHARE: Final = ("unshare", "--user", "--map-root-user", "--mount", "--ipc", "--uts", *TOGETHER)
_INSIDE: Final = f"""set -e
root=$1
shift
mount -t tmpfs -o mode=755 none "$root"
while [ "$1" != -- ]; do
    mkdir -p "$root$2"
    mount --rbind "$1" "$root$2"
    awk -v at="$root$2" '$5 == at || index($5, at "/") == 1 {{ print $5 }}' /proc/self/mountinfo |
        while read -r each; do mount -o "remount,bind,$3" "$each"; done
    shift 3
done
shift
cd "$root"
mkdir -p proc dev .outside
mount -t proc proc proc
mount -t tmpfs -o nosuid,noexec,mode=755 none dev
mkdir dev/shm
mount -t tmpfs -o nosuid,noexec,nodev,mode=1777 none dev/shm
for each in {" ".join(DEVICES)}; do
    : > "dev/$each"
    mount --bind "/dev/$each" "dev/$each"
done
ln -s /proc/self/fd dev/fd
mount -o remount,bind,nosuid,noexec,ro dev
mount -o remount,bind,ro .
pivot_root . .outside
umount -l .outside
cd {BASE}/jobs/director
exec unshare --user --map-user={VCAP} --map-group={VCAP} --keep-caps \\
    setpriv --no-new-privs --bounding-set=-all --inh-caps=-all --ambient-caps=-all "$@"
"""
"""The shell's words that make the container's file system in the folder `$1`, and start a program in it.

Up to `--` follow three words for each mount: source, destination, options; then the program.
"""


@dataclass(frozen=True)
class Container(Place):
    """One worker's container, which sees parts of the VM's /var/vcap; its `tmp` is /tmp inside, too.

    Attributes:
        volumes: The writable ones of the Director's `cpi_additional_volumes`, by their paths below /var/vcap.
    """

    volumes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        (self.vcap / "root").mkdir(exist_ok=True)
        for name in self.volumes:
            (self.vcap / name).mkdir(mode=0o700, parents=True, exist_ok=True)

    def popen(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start a program inside; the path is that inside."""
        starter = [f"{BASE}/packages/{PYTHON_PROGRAM}", "-I", "-S", "-c", _filter()]
        words = [
            "setpriv",
            "--pdeathsig",
            "KILL",
            *_UNSHARE,
            "sh",
            "-c",
            _INSIDE,
            "sh",
            str(self.vcap / "root"),
        ]
        return popen([*words, *self._mounts(), "--", *starter, *command], self.environment, self.vcap)

    def check(self) -> None:
        """Start a program that does nothing.

        Raises:
            AssertionError: It can't be started, and why.
        """
        try:
            with self.popen(["/bin/true"]) as process:
                _, stderr = process.communicate()
        except OSError as error:
            raise AssertionError(f"{REFUSED}{error}") from None
        if process.returncode:
            raise AssertionError(REFUSED + stderr.decode(errors="replace"))

    def _mounts(self) -> list[str]:
        """List all mounts, the outer ones before those in them."""
        vcap = self.vcap
        mounts = [(path, path, _PROGRAMS) for path in _SYSTEM if Path(path).exists()]
        mounts += [(str(self.tmp), path, _WRITABLE) for path in ("/tmp", "/var/tmp", TMP)]  # noqa: S108 - the same
        mounts += [
            ("/sys", "/sys", _READ_ONLY),
            (str(self.packages), f"{BASE}/data/packages", _PROGRAMS),
            (str(vcap / "packages"), f"{BASE}/packages", _PROGRAMS),
            (str(vcap / "jobs/director"), f"{BASE}/jobs/director", _PROGRAMS),
            (str(vcap / "jobs/aws_cpi"), JOB, _PROGRAMS),
            (str(vcap / "sys/log/director"), f"{BASE}/sys/log/director", _WRITABLE),
            (str(vcap / "sys/log/aws_cpi"), f"{BASE}/sys/log/aws_cpi", _WRITABLE),
            (str(vcap / "data/director"), DATA, _WRITABLE),
            (str(vcap / "store/director"), f"{BASE}/store/director", _WRITABLE),
            *((str(vcap / name), f"{BASE}/{name}", _WRITABLE) for name in self.volumes),
        ]
        # Stands in for the release's interpreter, which needs nothing outside of its package.
        if not sys.base_prefix.startswith("/usr"):
            mounts.append((sys.base_prefix, sys.base_prefix, _PROGRAMS))
        return [word for mount in sorted(mounts, key=lambda each: each[1].count("/")) for word in mount]


def lay_packages(folder: Path, lib: Path, program: Path) -> None:
    """Lay the release's packages out as compiled ones."""
    own = folder / "bosh_aws_cpi"
    (own / "bin").mkdir(parents=True)
    shutil.move(lib, own / "lib")
    shutil.copy(program, own / "bin")
    (own / "bin" / program.name).chmod(
        stat.S_IRWXU | stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH
    )
    python = folder / PYTHON_PROGRAM
    python.parent.mkdir(parents=True)
    python.symlink_to(Path(sys.base_prefix, "bin", f"python3.{sys.version_info.minor}"))


def _filter() -> str:
    return Path(__file__).with_name("bpm_filter.py").read_text()
