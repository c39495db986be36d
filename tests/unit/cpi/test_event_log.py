"""The event log's file, to which many processes append."""

import subprocess
import sys
from pathlib import Path

from bosh_aws_cpi.cpi.event_log import CODE

PROCESSES, LINES = 4, 300
WRITER = f"""
import sys
from bosh_aws_cpi.cpi import event_log
sys.stdin.readline()
for number in range({LINES}):
    event_log._append(sys.argv[1], f"{{sys.argv[2]}} {{number}} {{'x' * 100}}\\n".encode())
"""


def test_processes_at_once(tmp_path: Path) -> None:
    """No line is lost, doubled or mixed with another; some may be empty."""
    path = tmp_path / "events.log"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(number)], stdin=subprocess.PIPE)
        for number in range(PROCESSES)
    ]
    for each in writers:
        assert each.stdin is not None
        each.stdin.close()  # they begin together
    assert [each.wait() for each in writers] == [0] * PROCESSES
    lines = [line for line in path.read_text().splitlines() if line]
    expected = [f"{writer} {number} {'x' * 100}" for writer in range(PROCESSES) for number in range(LINES)]
    assert sorted(lines) == sorted(expected)


def test_code() -> None:
    """Codes of AWS and names of exceptions have the form; texts do not."""
    assert all(map(CODE.fullmatch, ["Client.RequestLimitExceeded", "ReadTimeoutError", "a1-b2", "x" * 128]))
    assert not any(map(CODE.fullmatch, ["", "two words", "a\n", "<b>", "\u00e9", "x" * 129]))
