"""Userlands as VMs of the stemcell lines have them, made of Debian's suites of the same age.

From the lists of packages in bosh-linux-stemcell-builder (bosh-stemcell/spec/assets): jammy and noble have
gcc, make, xz-utils, libssl-dev and zlib1g-dev; jammy GCC 11, noble GCC 13. From RFC 58 of Cloud Foundry's
community: resolute has GCC 15, uutils' coreutils and sudo-rs. docs/stemcells.md compares the versions.
"""

import os
import shutil
import socket
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from testbed.job import VCAP

REFUSED: Final = (
    "A userland of a stemcell line can't be made on this machine, so nothing is known about the release on "
    "it. It takes Linux, root (in Docker and Concourse: a privileged container), mmdebstrap and the keys of "
    "Debian's archive (Debian: mmdebstrap, debian-archive-keyring), and a mirror of Debian among this "
    "machine's apt sources; for another ARCH, qemu-user-static and arch-test. The system says: "
)
_COMPILING: Final = ("libc6-dev", "libssl-dev", "make", "xz-utils", "zlib1g-dev")
_FETCHING: Final = ("Acquire::Check-Valid-Until", "Acquire::Check-Date", "Acquire::http", "Acquire::https")
"""The machine's own settings by which it reaches its mirrors, and judges what they send."""
_KEYRING: Final = "/usr/share/keyrings/debian-archive-keyring.gpg"
_LEFT_OUT: Final = ("/usr/share/doc/*", "/usr/share/info/*", "/usr/share/locale/*", "/usr/share/man/*")
_UUTILS: Final = "/usr/lib/cargo/bin/coreutils"
"""The folder in which Debian's package has a link for each of its programs."""
# Not -O0: that keeps a function of _multiprocessing that nothing calls, which needs /dev/shm to link.
HASTY: Final = """#!/bin/sh
case " $* " in *" -fprofile-generate "*) exit 1 ;; esac
exec /usr/bin/{} "$@" -O1
"""
"""A compiler that optimises little, and does not count what a program does: it is done sooner."""
_VCAP: Final = {
    "passwd": f"x:{VCAP}:{VCAP}::/home/vcap:/bin/bash",
    "group": f"x:{VCAP}:",
    "shadow": "*:20000:0:99999:7:::",
}
"""The user's entry in each file of /etc; his password, which a stemcell has, serves nothing here."""
_SUDOERS: Final = "root ALL=(ALL) ALL\n#includedir /etc/sudoers.d\n"
_PAM: Final = "@include common-auth\n@include common-account\n@include common-session-noninteractive\n"


@dataclass(frozen=True)
class Line:
    """A stemcell line, and what stands for it.

    Attributes:
        name: Of the line.
        suite: Of Debian.
        compiler: The package with the line's version of GCC.
        is_rust: Whether uutils and sudo-rs take the place of GNU's coreutils and of sudo.
    """

    name: str
    suite: str
    compiler: str
    is_rust: bool = False

    @property
    def packages(self) -> tuple[str, ...]:
        """What a stemcell has beside Debian's essential packages, as far as the release needs it."""
        sudo = ("rust-coreutils", "sudo-rs") if self.is_rust else ("sudo",)
        return (*_COMPILING, self.compiler, *sudo, "mount", "util-linux")


LINES: Final = (
    Line("oldest", "bullseye", "gcc-10"),
    Line("jammy", "bookworm", "gcc-11"),
    Line("noble", "trixie", "gcc-13"),
    Line("resolute", "forky", "gcc-15", is_rust=True),
)
"""The lines by age. The first one stands for none: it is older than each that is supported."""


@dataclass(frozen=True)
class Userland:
    """The root directory of a line's VMs."""

    line: Line
    root: Path
    architecture: str = ""
    """Debian's name of the architecture, if it is not this machine's: QEMU runs its programs."""

    def __post_init__(self) -> None:
        """Make it, unless it is there.

        Raises:
            AssertionError: It can't be made, and why.
        """
        if self.root.exists():
            return
        try:
            self._make()
        except _Problem as problem:
            raise AssertionError(f"{REFUSED}{problem}") from None

    def _make(self) -> None:
        """Make it from the first of the machine's mirrors that has the suite."""
        if os.geteuid() != 0:
            raise _Problem("this user is not root")
        mirrors = _said("apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages").splitlines()
        problems = []
        for mirror in dict.fromkeys(mirrors):
            try:
                self._bootstrap(mirror)
            except _Problem as problem:
                problems.append(str(problem))
                shutil.rmtree(self.root, ignore_errors=True)
            else:
                self._finish()
                return
        raise _Problem("\n".join(problems) or "no mirror is among the apt sources")

    def _bootstrap(self, mirror: str) -> None:
        self.root.parent.mkdir(parents=True, exist_ok=True)
        settings = _said("apt-config", "dump", *_FETCHING)
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
            file.write(settings)
            file.flush()
            Path(file.name).chmod(0o644)  # apt reads it as a user of its own
            _said(
                *("mmdebstrap", "--mode=root", "--variant=essential", f"--aptopt={file.name}"),
                f"--keyring={_KEYRING}",
                *(f"--dpkgopt=path-exclude={pattern}" for pattern in _LEFT_OUT),
                *([f"--architectures={self.architecture}"] if self.architecture else []),
                f"--include={','.join(self.line.packages)}",
                *(self.line.suite, str(self.root), mirror),
            )

    def _finish(self) -> None:
        """Add what a stemcell has from elsewhere: the user, names, the rules of sudo."""
        for name, fields in _VCAP.items():
            with (self.root / "etc" / name).open("a") as file:
                file.write(f"vcap:{fields}\n")
        # As the agent writes it; without it, sudo complains about the host's own name.
        (self.root / "etc/hosts").write_text(f"127.0.0.1 localhost {socket.gethostname()}\n")
        (self.root / "var/vcap").mkdir(parents=True)
        sudoers = self.root / "etc/sudoers"
        sudoers.unlink(missing_ok=True)
        sudoers.write_text(_SUDOERS)
        sudoers.chmod(0o440)
        binaries = self.root / "usr/bin"
        for name in ("gcc", "cc"):
            (binaries / name).symlink_to(self.line.compiler)
        if self.line.is_rust:
            (binaries / "sudo").symlink_to("sudo-rs")
            (self.root / "etc/pam.d/sudo").write_text(_PAM)
            self._replace_coreutils()

    def _replace_coreutils(self) -> None:
        """Put links to uutils in the place of each of GNU's programs that it has, as Ubuntu does."""
        for program in (self.root / _UUTILS.lstrip("/")).iterdir():
            for folder in ("usr/bin", "usr/sbin"):
                path = self.root / folder / program.name
                if path.exists() or path.is_symlink():
                    path.unlink()
                    path.symlink_to(f"{_UUTILS}/{program.name}")

    def hurry_compiler(self) -> None:
        """Have a hasty compiler, with the line's version and options, and all warnings and errors."""
        hasty = self.root / "usr/local/bin/gcc"
        hasty.write_text(HASTY.format(self.line.compiler))
        hasty.chmod(0o755)

    def said(self, *command: str) -> str:
        """Run a program without anything of BOSH, and return what it wrote to stdout."""
        return _said("chroot", str(self.root), *command)


class _Problem(Exception):
    """A program failed, or can't be run; the message says why."""


def _said(*command: str) -> str:
    """Run a program, and return what it wrote to stdout."""
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    except OSError as error:
        raise _Problem(str(error)) from None
    if done.returncode:
        raise _Problem(f"{command[0]}: {done.stderr[-2000:]}")
    return done.stdout
