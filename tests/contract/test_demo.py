"""The demo: passes with the program as it is, and fails when anything differs."""

import json
import re
import shlex
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.demo import Difference, Play, main
from testbed.demo_lives import LIVES
from testbed.demo_process import Program
from testbed.demo_stage import Stage
from testbed.demo_text import SECRETS
from testbed.executable import Answer, Cpi
from testbed.registry import Registry
from testbed.world import World

Call = Callable[..., Answer]
"""Makes a call as it would have been made, with more in the agent's section."""

TELLING = """
import pathlib, sys
sys.stderr.write(pathlib.Path(sys.argv[1]).read_text())
sys.stdout.write('{"result": {"api_version": 9}, "error": null, "log": ""}')
"""
"""Another CPI, which answers everything alike; the configuration goes to its stderr."""


def said(document: Any, answer: Answer | None = None) -> Answer:
    """Return an answer with this document, else as it was."""
    stdout = json.dumps(document).encode()
    return Answer(stdout, answer.stderr if answer else "", answer.returncode if answer else 0, 0.0)


def and_more(**keys: Any) -> Callable[[Call], Answer]:
    """Return a function that changes what a call answers."""

    def change(run: Call) -> Answer:
        answer = run()
        return said({**answer.document, **keys}, answer)

    return change


def swallowed(_: Call) -> Answer:
    """Answer without doing anything."""
    return said({"result": None, "error": None, "log": ""})


@contextmanager
def more_settings(cpi: Cpi, agent: dict[str, Any]) -> Iterator[None]:
    """Have more in the agent's section for a while."""
    before = cpi.config_path.read_text()
    document = json.loads(before)
    document["cloud"]["properties"]["agent"].update(agent)
    cpi.config_path.write_text(json.dumps(document))
    yield
    cpi.config_path.write_text(before)


@pytest.fixture
def tamper(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Callable[[Call], Answer]], None]:
    """Return a function that has one method done otherwise."""
    original = Cpi.call

    def replace(replaced: str, otherwise: Callable[[Call], Answer]) -> None:
        def call(cpi: Cpi, method: str, *arguments: Any, **request: Any) -> Answer:
            def run(**agent: Any) -> Answer:
                with more_settings(cpi, agent):
                    return original(cpi, method, *arguments, **request)

            return otherwise(run) if method == replaced else run()

        monkeypatch.setattr(Cpi, "call", call)

    return replace


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
    methods = Counter(step.method for life in LIVES for step in life.steps())
    lines = re.findall(r"^([a-z_]+) +.{44}  .{36} +\d+  +\d+(?: \S+)*$", stdout, re.MULTILINE)
    assert Counter(lines) == methods
    assert stdout.endswith(
        f"\nChecked: {methods.total()} calls, the agent's settings of 2 VMs, every answer's shape, "
        "and that nothing is left in EC2 or the registry.\n"
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
    assert '+    "api_version": 9\n' in stderr
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
    """A command that is none is refused at once."""
    with Program("testbed.demo", "--cpi", "no-such-cpi --fast") as demo:
        _, stderr, status = demo.finish()
    assert status == 2
    assert "no such command: 'no-such-cpi --fast'" in stderr


@pytest.mark.usefixtures("warm")
@pytest.mark.parametrize(
    ("method", "otherwise", "message"),
    [
        ("info", and_more(more=1), r'info.*\+  "more": 1'),
        (
            "info",
            lambda _: Answer(b"", "", 3, 0.0),
            r"info.*stdout is not one JSON object\nexit status 3",
        ),
        ("create_vm", lambda run: run(extra=1), r'create_vm.*What there is now.*\+    "extra": 1'),
        ("set_vm_metadata", swallowed, r'set_vm_metadata.*change something.*-  "CreateTags"'),
    ],
)
def test_difference(
    stage: Stage,
    tamper: Callable[[str, Callable[[Call], Answer]], None],
    method: str,
    otherwise: Callable[[Call], Answer],
    message: str,
) -> None:
    """An answer, a setting or an effect that is not the expected one ends the demo at that call."""
    tamper(method, otherwise)
    with pytest.raises(Difference, match=r"(?s)^Failed at call \d+, " + message):
        Play(stage).play(LIVES[0])


def test_exit_status_counts(stage: Stage) -> None:
    """A right answer with an exit status that is not 0 is a difference."""
    script = "import sys, subprocess; subprocess.run([*sys.argv[1:]]); sys.exit(7)"
    command = [sys.executable, "-c", script, str(Path(sys.executable).parent / "cpi")]
    with pytest.raises(Difference, match="The exit status is 7"):
        Play(stage, command).play(LIVES[0])


def test_what_is_left_is_found(stage: Stage, world: World) -> None:
    """A volume or a registry document that nobody removed is named at the end."""
    play = Play(stage)
    play.check_nothing_left()
    stage.registry.documents["i-forgotten"] = "{}"
    volume_id = world.ec2.create_volume(AvailabilityZone=world.zone, Size=1)["VolumeId"]
    with pytest.raises(Difference, match=f"(?s)something is left.*i-forgotten.*{volume_id}"):
        play.check_nothing_left()
