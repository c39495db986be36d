"""The demo: passes with the program as it is, and fails when an answer differs."""

import re
import shlex
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.demo import LIVES, Difference, Play, check_nothing_left, main
from testbed.demo_picture import PICTURE, drawn, lines_of, words
from testbed.demo_process import Program
from testbed.demo_stage import Stage
from testbed.demo_text import SECRETS
from testbed.executable import Answer, Cpi
from testbed.registry import Registry
from testbed.world import World

TELLING = """
import pathlib, sys
sys.stderr.write(pathlib.Path(sys.argv[1]).read_text())
sys.stdout.write('{"result": {"api_version": 9}, "error": null, "log": ""}')
"""
"""Another CPI, which answers everything alike; the configuration goes to its stderr."""


@pytest.fixture
def stage(fake_aws: FakeAws, world: World) -> Iterator[Stage]:
    """Return a laid stage, on the tests' own server."""
    with Registry() as registry:
        yield Stage(fake_aws, world, registry)


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


def test_demo_of_no_cpi() -> None:
    """An unknown command is refused at once."""
    with Program("testbed.demo", "--cpi", "no-such-cpi --fast") as demo:
        _, stderr, status = demo.finish()
    assert status == 2
    assert "no such command: 'no-such-cpi --fast'" in stderr


@pytest.mark.usefixtures("warm")
@pytest.mark.parametrize(
    ("replaced", "stdout", "message"),
    [
        ("info", b'{"result": {"api_version": 3}, "error": null, "log": ""}', r"info.*should be {'stem"),
        ("info", b"", r"info.*stdout is not one JSON object"),
        ("has_vm", b'{"result": 1, "error": null, "log": ""}', r"has_vm.*should be True"),
        ("create_disk", b'{"result": "vol-1", "error": null, "log": ""}', r"create_disk.*vol-1"),
        ("get_disks", b'{"result": [], "error": null, "log": ""}', r"get_disks.*\[\]"),
        ("reboot_vm", b'{"result": null, "error": null}', r"reboot_vm.*should be None"),
    ],
    ids=["result", "no answer", "type", "id", "list", "no log"],
)
def test_difference(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, replaced: str, stdout: bytes, message: str
) -> None:
    """A wrong answer ends the demo at that call."""
    original = Cpi.call

    def call(cpi: Cpi, method: str, *arguments: Any, **request: Any) -> Answer:
        answer = original(cpi, method, *arguments, **request)
        return Answer(stdout, "", 0, 0.0) if method == replaced else answer

    monkeypatch.setattr(Cpi, "call", call)
    with pytest.raises(Difference, match=r"(?s)^Failed at call \d+, " + message):
        Play(stage, LIVES[0]).play()


def test_exit_status_counts(stage: Stage) -> None:
    """A right answer with an exit status that is not 0 is a difference."""
    script = "import sys, subprocess; subprocess.run([*sys.argv[1:]]); sys.exit(7)"
    command = [sys.executable, "-c", script, str(Path(sys.executable).parent / "cpi")]
    with pytest.raises(Difference, match="The exit status is 7"):
        Play(stage, LIVES[0], command).play()


def test_what_is_left_is_found(stage: Stage, world: World) -> None:
    """A volume or a registry document that is left at the end is named."""
    check_nothing_left(stage)
    stage.registry.documents["i-forgotten"] = "{}"
    volume_id = world.ec2.create_volume(AvailabilityZone=world.zone, Size=1)["VolumeId"]
    with pytest.raises(Difference, match=f"(?s)something is left.*{volume_id}.*i-forgotten"):
        check_nothing_left(stage)
