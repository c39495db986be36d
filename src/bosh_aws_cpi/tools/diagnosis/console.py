"""The console's text: what it shows of a VM that can't start, and its last lines. Pure."""

import re
from collections.abc import Callable
from typing import Final

from bosh_aws_cpi.records import Record
from bosh_aws_cpi.redact import MASK
from bosh_aws_cpi.tools.findings import Finding, Severity, of_aws

LAST_LINES: Final = 10
"""How many of the last lines are in the report."""
_LONGEST_LINE: Final = 200
"""The maximum length of a line in the report."""
_MOST: Final = 3
"""The maximum number of findings of one kind: later lines usually follow from the first ones."""
_CONTROL: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Colours and other control characters of a terminal."""
_KERNEL_START: Final = re.compile(r"Linux version \d")
"""The kernel's first message: what is above it belongs to an earlier start."""
_SECRETS: Final = (
    re.compile(r"\A.*-----END [A-Z0-9 ]*PRIVATE KEY-----", re.DOTALL),  # EC2 cut its beginning off
    re.compile(r"(?<=://)[^/\s@]+(?=@)"),  # a token instead of a user and a password
    re.compile(r"(?<=\b(?i:bearer) )\S+|(?<=\b(?i:basic) )\S{8,}"),
    re.compile(r"(?<![\w-])eyJ[\w-]+\.[\w-]+(?:\.[\w-]*)*"),  # a JSON Web Token
    re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    re.compile(
        r"(?<![A-Za-z0-9+/])(?=[A-Z\d+/]*[a-z])(?=[a-z\d+/]*[A-Z])(?=[A-Za-z+/]*\d)[A-Za-z0-9+/]{40,}={0,2}"
    ),
)
"""Secrets that are told by their form alone: parts of keys, and tokens. The last pattern is Base64."""
_NAMED_SECRET: Final = re.compile(
    r"((?:password|passwd|passphrase|secret|token)[\w-]{0,40}: +)[\w/+.-]\S*", re.IGNORECASE
)
"""A secret after its name, without quotation marks."""


class _Symptom(Record):
    """A kind of line that tells why a VM does not work.

    Attributes:
        pattern: Finds it in a line, whatever the case.
        what: What is wrong.
    """

    pattern: str
    severity: Severity
    what: str
    remedy: str


_SYMPTOMS: Final = (
    _Symptom(
        r"Kernel panic|You are in emergency mode|Emergency Mode|emergency shell|Unable to mount root|"
        r"VFS: Cannot open root device|ALERT! .* does not exist|No bootable device|"
        r"Give root password for maintenance",
        Severity.ERROR,
        "The VM did not start",
        "Recreate the VM; use another stemcell if it recurs",
    ),
    _Symptom(
        r"No space left on device|Out of memory: Kill|oom-kill|invoked oom-killer",
        Severity.WARNING,
        "The VM lacks memory or disk space",
        "Use a larger instance type or a larger root or ephemeral disk",
    ),
    _Symptom(
        r"x509: |certificate (has expired|is not yet valid|verify failed)|tls: bad certificate",
        Severity.WARNING,
        "A certificate is refused",
        "Check the clocks (ntp) and the Director's NATS certificates; recreate the VM after they change",
    ),
    _Symptom(
        r"getting real device path|(ephemeral|persistent) disk.*(fail|error)",
        Severity.WARNING,
        "The agent did not find a disk",
        "Look at the VM's volumes; use a newer stemcell if the instance type is newer than it",
    ),
    _Symptom(
        r"169\.254\.169\.254.*(fail|error|refused|timeout|unreachable)|invalid status from .*169\.254",
        Severity.WARNING,
        "The VM can't read instance metadata",
        "Check metadata_options; stemcells before May 2022 need http_tokens: optional",
    ),
    _Symptom(
        r"^(?=.*(bosh-agent|cloud-init)).*(error|fail|panic|traceback)|agent exited with error| ERROR - ",
        Severity.WARNING,
        "The agent or cloud-init failed",
        "Correct what the line names",
    ),
)
"""What stops a VM, the likeliest cause first: messages of the kernel, the initial RAM disk and systemd; those
of bosh-agent (its `bootstrap.go`, `http_metadata_service.go`, `mapped_device_path_resolver.go`) and of Go's
TLS, for images that send the agent's log to the console."""


def mask(text: str, redact: Callable[[str], str]) -> str:
    """The console's text without secrets, and without characters that could hide one.

    Args:
        text: What EC2 shows.
        redact: Masks the secrets that are known.
    """
    plain = redact(_CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))
    for pattern in _SECRETS:
        plain = pattern.sub(MASK, plain)
    return _NAMED_SECRET.sub(rf"\1{MASK}", plain)


def lines(text: str) -> list[str]:
    """The lines of the console without empty ones; long lines are cut.

    Args:
        text: The console's text, from `mask`.
    """
    stripped = (line.expandtabs().strip() for line in text.split("\n"))
    return [line[:_LONGEST_LINE] for line in stripped if line]


def findings(text: str) -> list[Finding]:
    """What the console shows since the VM's last start; a line is a finding of one kind only.

    Args:
        text: As in `lines`.
    """
    shown = lines(text)
    begin = max((number for number, line in enumerate(shown) if _KERNEL_START.search(line)), default=0)
    lines_of: dict[_Symptom, list[str]] = {kind: [] for kind in _SYMPTOMS}
    for line in shown[begin:]:
        for kind in [each for each in _SYMPTOMS if re.search(each.pattern, line, re.IGNORECASE)][:1]:
            lines_of[kind].append(line)
    return [
        of_aws(kind.severity, f"{kind.what}: the console shows '{line}'", kind.remedy)
        for kind, found in lines_of.items()
        for line in found[:_MOST]
    ]
