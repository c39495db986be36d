"""The demo: passes with the program as it is, and fails when an answer differs."""

import re
import shlex
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest

from testbed.demo import main
from testbed.demo_picture import PICTURE, drawn, lines_of, words
from testbed.demo_process import Program
from testbed.demo_text import SECRETS

TELLING = """
import pathlib, sys
sys.stderr.write(pathlib.Path(sys.argv[1]).read_text())
sys.stdout.write('{"result": {"api_version": 9}, "error": null, "log": ""}')
"""
"""Another CPI, which answers everything alike; the configuration goes to its stderr."""


@pytest.mark.timeout(300)  # 40 calls and three tools: 80 seconds where other work takes all processors
@pytest.mark.usefixtures("warm")
def test_demo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It shows each call in a line and the settings without secrets, says what it checked, leaves nothing."""
    monkeypatch.setattr(sys, "argv", ["demo"])
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert main() == 0
    assert list(tmp_path.iterdir()) == []
    stdout, stderr = capsys.readouterr()
    assert stderr == ""
    lines = re.findall(r"^([a-z_]+) +.{20}  .{17} +\d+  +\d+(?: \S+)*$", stdout, re.MULTILINE)
    assert Counter(lines).total() == 40
    assert [line for line in stdout.splitlines() if len(line) > 100] == []
    assert stdout.count("^ This error is meant to come") == 2
    shown = words(lines_of(PICTURE.read_text(encoding="utf-8")))
    assert shown == words(drawn(stdout)), "docs/demo.svg shows another output: make picture"
    assert stdout.endswith(
        "\nChecked: the answers of 40 calls, and that nothing is left in EC2 or the registry.\n"
    )
    for tool in ("an editor, by docs/", "cpi check cpi.json", "cpi diagnose cpi.json"):
        assert f"\n{tool}" in stdout
    assert stdout.isascii()
    assert "\033" not in stdout
    assert [secret for secret in SECRETS if secret in stdout] == []
    assert '"mbus": "nats://nats:<secret>@10.0.1.6:4222"' in stdout
    assert re.search(r'"endpoint": "http://registry-user:<secret>@127\.0\.0\.1:\d+"', stdout)
    assert re.search(r'"persistent": \{"vol-[0-9a-f]{17}": "/dev/sdg"\}', stdout)


def test_demo_of_another_cpi_fails() -> None:
    """With a command that answers otherwise, it fails and names the call and the difference."""
    command = shlex.join([sys.executable, "-c", TELLING])
    with Program("testbed.demo", "--cpi", command) as demo:
        stdout, stderr, status = demo.finish()
        assert (status, demo.left()) == (1, [])
    assert "Checked" not in stdout
    assert "Failed at call 1, info" in stderr
    assert "api_version" in stderr
    assert "<secret>" in stderr
    assert [secret for secret in SECRETS if secret in stderr] == []


def test_interrupted_demo() -> None:
    """Ctrl-C ends it and all it started."""
    with Program("testbed.demo") as demo:
        assert demo.read_until("create_stemcell")[-1].startswith("create_stemcell")
        demo.signal(signal.SIGINT)
        _, stderr, status = demo.finish()
        assert (stderr, status) == ("\nInterrupted. All that was started has ended.\n", 130)
        assert demo.left() == []
