"""The console's text: what it shows of a VM that can't start, and its last lines. Pure."""

import re
from typing import Final

from bosh_aws_cpi.tools.findings import Finding, Severity

SHOWN: Final = 10
"""The number of last lines in the report."""
_LONGEST: Final = 200
"""The maximum length of a line in the report."""
_MOST: Final = 3
"""The maximum number of findings of one kind: later lines usually follow from the first ones."""
_CONTROL: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
"""Colours and other control characters of a terminal."""
_FATAL: Final = re.compile(
    r"Kernel panic|You are in emergency mode|Emergency Mode|emergency shell|Unable to mount root|"
    r"VFS: Cannot open root device|ALERT! .* does not exist|No bootable device|"
    r"Give root password for maintenance",
    re.IGNORECASE,
)
"""Messages of the kernel, the initial RAM disk and systemd after which a VM does not start."""
_STORE_FULL: Final = re.compile(r"No space left on device|Out of memory: Kill|oom-kill|invoked oom-killer")
_AGENT: Final = re.compile(
    r"^(?=.*(bosh-agent|cloud-init)).*(error|fail|panic|traceback)|agent exited with error| ERROR - ",
    re.IGNORECASE,
)
"""Errors of the agent and cloud-init, and of systemd about them."""


def lines(text: str) -> list[str]:
    """The lines of the console, without control characters and empty lines.

    Args:
        text: The console's text, in which secrets are masked: a secret may extend over several lines.
    """
    plain = (_CONTROL.sub("", line).strip() for line in text.replace("\r", "\n").split("\n"))
    return [line[:_LONGEST] for line in plain if line]


def findings(text: str) -> list[Finding]:
    """What the console shows: first what stops the VM, then errors of the agent and of cloud-init.

    Args:
        text: As in `lines`.
    """
    shown = lines(text)
    kinds = [
        (
            _FATAL,
            Severity.ERROR,
            "The VM did not start",
            "Recreate the VM; use another stemcell if it recurs",
        ),
        (
            _STORE_FULL,
            Severity.WARNING,
            "The VM lacks memory or disk space",
            "Use a larger instance type or a larger root or ephemeral disk",
        ),
        (_AGENT, Severity.WARNING, "The agent or cloud-init failed", "Correct what the line names"),
    ]
    return [
        Finding(severity, f"{what}: the console shows '{line}'", remedy, source="AWS")
        for pattern, severity, what, remedy in kinds
        for line in [each for each in shown if pattern.search(each)][:_MOST]
    ]
