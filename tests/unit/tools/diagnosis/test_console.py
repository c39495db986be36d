"""What `cpi diagnose` reads on the console."""

from __future__ import annotations

import pytest

from bosh_aws_cpi.tools.diagnosis import console
from bosh_aws_cpi.tools.findings import Severity


@pytest.mark.parametrize(
    "line",
    [
        "[    1.2] Kernel panic - not syncing: Attempted to kill init!",
        "You are in emergency mode. After logging in, type journalctl -xb",
        'VFS: Cannot open root device "xvda1" or unknown-block(0,0)',
        "ALERT!  UUID=3e13 does not exist.  Dropping to a shell!",
        "Give root password for maintenance",
    ],
)
def test_fatal(line: str) -> None:
    """A VM that did not start is an error, and the line is quoted."""
    (finding,) = console.findings(f"booting\n{line}\nmore\n")
    assert finding.severity is Severity.ERROR
    assert finding.what == f"The VM did not start: the console shows '{line}'"


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("Out of memory: Killed process 812 (java)", "lacks memory or disk space"),
        ("write /var/log/x: No space left on device", "lacks memory or disk space"),
        ("cloud-init[5]: Traceback (most recent call last):", "The agent or cloud-init failed"),
        ("[FAILED] Failed to start bosh-agent.service", "The agent or cloud-init failed"),
        (
            "[main] 2026/05/01 10:00:00 ERROR - Agent exited with error: dial tcp",
            "The agent or cloud-init failed",
        ),
    ],
)
def test_warnings(line: str, what: str) -> None:
    """Other errors are warnings: the VM may work nevertheless."""
    (finding,) = console.findings(line)
    assert (finding.severity, what in finding.what) == (Severity.WARNING, True)


@pytest.mark.parametrize(
    "line", ["[  OK  ] Started bosh-agent", "cloud-init finished", "EDAC: errors corrected", "login:"]
)
def test_ordinary_lines(line: str) -> None:
    """Other lines are no findings."""
    assert console.findings(line) == []


def test_most() -> None:
    """Of many errors of a kind the first ones are shown."""
    text = "".join(f"bosh-agent error {number}\n" for number in range(9))
    assert [finding.what[-2:] for finding in console.findings(text)] == ["0'", "1'", "2'"]


def test_lines() -> None:
    """Lines are shown without control characters, empty ones are left out, and long ones are cut."""
    text = f"\x1b[1;32mgreen\x1b[0m\r\n\n \x07bell \rprogress 1\rprogress 2\n{'x' * 300}"
    assert console.lines(text) == ["green", "bell", "progress 1", "progress 2", "x" * 200]
    assert console.lines("") == []
