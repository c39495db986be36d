"""What `cpi diagnose` reads on the console."""

import pytest

from bosh_aws_cpi import log
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
    """Control characters are removed, empty lines are left out, and long ones are cut."""
    text = f"\x1b[1;32mgreen\x1b[0m\r\n\n \x07bell \rprogress 1\rprogress 2\n{'x' * 300}"
    assert console.lines(console.mask(text, str)) == [
        "green",
        "bell",
        "progress 1",
        "progress 2",
        "x" * 200,
    ]
    assert console.lines("") == []


def test_earlier_start() -> None:
    """Errors of an earlier start of the VM are no findings."""
    panic = "[    1.2] Kernel panic - not syncing: Attempted to kill init!"
    begin = "[    0.000000] Linux version 6.8.0-1021-aws (buildd@lcy02-amd64-071)"
    assert console.findings(f"{begin}\n{panic}\n{begin}\nbosh-stemcell login:\n") == []
    assert len(console.findings(f"{begin}\nlogin:\n{begin}\n{panic}\n")) == 1


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("nats://my-token-0123@10.0.2.6:4222", "my-token-0123"),
        ("nats://user:pa%ss:word@10.0.2.6:4222", "pa%ss"),
        ("nats://us\x1b[0mer:pass\x1b[31mword-1\x07@10.0.2.6", "word-1"),
        (
            "-----BEGIN EC PRIVATE KEY-----\r\nMHcCAQEE\r\nIKx\r\n-----END EC PRIVATE KEY-----\r\nlogin:",
            "MHcCAQEE",
        ),
        ("MHcCAQEEIKx\nzY9w==\n-----END EC PRIVATE KEY-----\nlogin:", "zY9w"),  # EC2 shows the last 64 KiB
        ("[ 9.1] app[5]: -----BEGIN PRIVATE KEY-----\n[ 9.1] app[5]: MHcCAQEEIKx\n", "MHcCAQEEIKx"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalr"),
        ("key wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY used", "wJalr"),
        ("using AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
        ('{"password": "hunter2hunter2", "mbus": "x"}', "hunter2"),
        ('{\\"blobstore\\":{\\"options\\":{\\"password\\":\\"hunter2\\"}}}', "hunter2"),
        ("password: hunter2", "hunter2"),
        ("Authorization: Bearer abc.def", "abc.def"),
        ("authorization: basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
        ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "eyJzdWIiOiIxIn0"),
        ("user data eyJhZ2VudF9pZCI6ImEiLCJtYnVzIjoibmF0czovL3U6cEAxMC4wLjIuNjo0MjIyIn0=", "JtYnVz"),
    ],
)
def test_masked(text: str, secret: str) -> None:
    """Unknown secrets are masked by their form, even if control characters or EC2 cut them."""
    assert secret not in console.mask(text, log.redact)


@pytest.mark.parametrize(
    "text",
    [
        "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0123456789abcdef0",
        "vm-5c6a4f0e-0000-4000-8000-000000000001 login:",
        "[    0.000000] Command line: BOOT_IMAGE=/boot/vmlinuz-6.8.0-1021-aws root=UUID=3e13 console=ttyS0",
        "SHA256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "dial tcp 10.0.2.6:4222: i/o timeout",
    ],
)
def test_not_masked(text: str) -> None:
    """Text that is no secret is shown."""
    assert console.mask(text, log.redact) == text


EXIT = "[main] 2026/05/01 10:00:00 ERROR - Agent exited with error: "


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("Out of memory: Killed process 812 (java)", "memory or disk space"),
        ("cloud-init[5]: Traceback (most recent call last):", "cloud-init"),
        ("[FAILED] Failed to start bosh-agent.service", "agent"),
        (f"{EXIT}dial tcp", "agent"),
        (f"{EXIT}tls: failed to verify certificate: x509: certificate has expired", "A certificate"),
        (f"{EXIT}Getting real device path: Timed out getting real device path for /dev/sdb", "a disk"),
        (f"{EXIT}Get http://169.254.169.254/latest/user-data: i/o timeout", "instance metadata"),
    ],
)
def test_warnings(line: str, what: str) -> None:
    """An error on the console is one warning: the VM may work nevertheless."""
    (finding,) = console.findings(line)
    assert (finding.severity, what in finding.what) == (Severity.WARNING, True)
