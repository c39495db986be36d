"""The job as it is on a VM, started as a Director starts it."""

from pathlib import Path

from testbed.cloud import ROOT
from testbed.executable import Cpi, config
from testbed.hypervisor import APART, AS_VCAP, BASE

# The VM's files are where they are on a VM, and this working copy, whose files an installed release must
# not need, is out of sight.
AS_THE_DIRECTOR = f"""
{AS_VCAP} && {{ [ ! -d "$1" ] || mount -t tmpfs none "$1"; }} &&
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME={BASE} TMPDIR={BASE}
"""


def on(vcap: Path, command: str = "", exec_path: str = f"{BASE}/jobs/aws_cpi/bin/cpi") -> Cpi:
    """Return bin/cpi, or a command of it with its arguments.

    Args:
        vcap: What is below /var/vcap on the VM.
        command: Such as `sweep --json`.
        exec_path: The executable, as a CPI config names it.
    """
    line = f"{AS_THE_DIRECTOR.rstrip()} {exec_path} {command}"
    return Cpi(config("unused"), command=[*APART, "sh", "-c", line, "sh", str(vcap), str(ROOT)])
