"""The job's bin/cpi on a VM of the Director's, as BOSH renders it, with the release's packages."""

import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from bosh_release import blobs
from testbed.executable import Answer, Cpi, Process
from testbed.hypervisor import BASE

Render = Callable[[str, Mapping[str, object]], str]

DATA: Final = f"{BASE}/data/director"
"""The Director's own folder, on the VM's ephemeral disk."""
TMP: Final = f"{DATA}/tmp"  # noqa: S108 - not the machine's
JOB: Final = f"{BASE}/jobs/aws_cpi"
DIRECTORS: Final = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR": TMP, "HOME": DATA}
"""The CPI's whole environment: the Director's own PATH for it; TMPDIR and HOME, which bpm sets."""
VCAP: Final = 1000
"""The user's and the group's id on a stemcell."""
DEVICES: Final = ("null", "zero", "full", "random", "urandom", "tty")
"""The devices below /dev that containers and VMs have, beside their disks."""
PYTHON: Final = f"aws-cpi-python-{blobs.PYTHON}"
PYTHON_PROGRAM: Final = f"{PYTHON}/bin/python{blobs.PYTHON}"
PACKAGES: Final = (PYTHON, "bosh_aws_cpi")
"""The release's packages, in the order in which they are compiled."""


@dataclass(frozen=True)
class Place:
    """Where the job runs."""

    vcap: Path
    packages: Path
    environment: Mapping[str, str]

    def __post_init__(self) -> None:
        """Make the folders that BOSH and bpm make."""
        for name in ("jobs/director", "jobs/aws_cpi/bin", "jobs/aws_cpi/config", "packages"):
            (self.vcap / name).mkdir(parents=True, exist_ok=True)
        for name in ("data/director/tmp", "store/director", "sys/log/director", "sys/log/aws_cpi"):
            (self.vcap / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in PACKAGES:
            link = self.vcap / "packages" / name
            link.unlink(missing_ok=True)
            link.symlink_to(f"{BASE}/data/packages/{name}")

    @property
    def tmp(self) -> Path:
        """The folder that is `TMP` there."""
        return self.vcap / "data/director/tmp"

    @property
    def written(self) -> list[str]:
        """The files in all that the CPI may write, by their paths below /var/vcap."""
        places = ("data/director", "store/director", "sys/log")
        found = (path for place in places for path in (self.vcap / place).rglob("*") if path.is_file())
        return sorted(str(path.relative_to(self.vcap)) for path in found)

    def popen(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start a program there, as the user vcap; the path is that there."""
        raise NotImplementedError


class JobCpi(Cpi):
    """The job's bin/cpi."""

    def __init__(self, place: Place, render: Render, document: Mapping[str, Any]) -> None:
        super().__init__(document)
        job = place.vcap / "jobs/aws_cpi"
        for name in ("bin/cpi", "config/cpi.json", "config/cacert.pem"):
            (job / name).write_text(render(name, _properties(document)))
        (job / "bin/cpi").chmod(0o755)
        # What a test passes beside the Director's environment.
        added = {name: value for name, value in self._environment.items() if name.startswith("AWS_")}
        self._place = replace(place, environment={**added, **place.environment})

    def raw(self, stdin: bytes) -> Answer:
        """Give these bytes to the executable; files in the place's `tmp` are named as they are there."""
        return super().raw(stdin.replace(str(self._place.tmp).encode(), TMP.encode()))

    def _popen(self, arguments: list[str]) -> Process:
        own = [word for word in arguments if word != str(self.config_path)]
        return self._place.popen([f"{JOB}/bin/cpi", *own])


def _properties(document: Mapping[str, Any]) -> dict[str, object]:
    """The job's properties for which BOSH renders that cpi.json."""
    sections = document["cloud"]["properties"]
    properties: dict[str, object] = {f"aws.{name}": value for name, value in sections["aws"].items()}
    properties["agent.mbus"] = sections["agent"]["mbus"]
    properties["ntp"] = sections["agent"]["ntp"]
    if debug := sections.get("debug"):
        properties["debug"] = debug
    if registry := sections.get("registry"):
        _, _, address = registry["endpoint"].rpartition("@")
        host, _, port = address.rpartition(":")
        names = {"username": registry["user"], "password": registry["password"], "host": host, "port": port}
        properties.update({f"registry.{name}": value for name, value in names.items()})
    return properties
