"""The demo: passes with the program as it is, and fails when anything differs."""

import io
import re
import shlex
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.demo import Difference, Play
from testbed.demo_lives import LIVES
from testbed.demo_match import Names, New, difference, learn, resolve
from testbed.demo_process import Program
from testbed.demo_stage import Stage
from testbed.demo_text import BOLD, SECRETS, brief, calls_in_short, cell, paint, readable
from testbed.registry import Registry
from testbed.world import World

TAMPERED = """
import json, pathlib, subprocess, sys
request = sys.stdin.read()

def run(**agent):
    path = pathlib.Path(sys.argv[1])
    config = json.loads(path.read_text())
    config["cloud"]["properties"]["agent"].update(agent)
    other = path.with_name("tampered.json")
    other.write_text(json.dumps(config))
    command = [str(pathlib.Path(sys.executable).parent / "cpi"), str(other)]
    done = subprocess.run(command, input=request, text=True, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)

answer = {answer} if json.loads(request)["method"] == {verb!r} else run()
sys.stderr.write(pathlib.Path(sys.argv[1]).read_text())
sys.stdout.write(json.dumps(answer))
"""
SWALLOWED = '{"result": None, "error": None, "log": ""}'


def tampered(verb: str, answer: str) -> list[str]:
    """Make a command that answers one verb by an expression; the configuration goes to its stderr."""
    return [sys.executable, "-c", TAMPERED.replace("{answer}", answer).replace("{verb!r}", repr(verb))]


@pytest.fixture
def stage(fake_aws: FakeAws, world: World) -> Iterator[Stage]:
    """Return a laid stage, on the tests' own server."""
    with Registry() as registry:
        yield Stage(fake_aws, world, registry)


def test_demo() -> None:
    """It shows each call in a line and the settings without secrets, says what it checked, leaves nothing."""
    with Program("testbed.demo") as demo:
        stdout, stderr, status = demo.finish()
        assert (stderr, status, demo.left()) == ("", 0, [])
    verbs = Counter(step.verb for life in LIVES for step in life.steps())
    lines = re.findall(r"^([a-z_]+) +.{44}  .{36} +\d+  +\d+(?: \S+)*$", stdout, re.MULTILINE)
    assert Counter(lines) == verbs
    assert stdout.endswith(
        f"\nChecked: {verbs.total()} calls, the agent's settings of 2 VMs, every answer's shape, "
        "and that nothing is left in EC2 or the registry.\n"
    )
    assert stdout.isascii()
    assert "\033" not in stdout
    assert [secret for secret in SECRETS if secret in stdout] == []
    assert '"mbus": "nats://nats:<secret>@10.0.1.6:4222"' in stdout
    assert re.search(r'"endpoint": "http://registry-user:<secret>@127\.0\.0\.1:\d+"', stdout)
    assert re.search(r'"persistent": \{"vol-[0-9a-f]{17}": "/dev/sdg"\}', stdout)


def test_demo_of_another_cpi_fails() -> None:
    """With a command that answers otherwise, it fails and names the call and the difference."""
    command = shlex.join(tampered("info", '{**run(), "result": {"api_version": 9}}'))
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


@pytest.mark.parametrize(
    ("verb", "answer", "message"),
    [
        ("info", '{**run(), "more": 1}', r'info.*\+  "more": 1'),
        ("info", '{**run(), "log": None}', r'info.*-  "log": "",\n\+  "log": null'),
        ("info", "[]", r"info.*stdout is not one JSON object"),
        ("info", "sys.exit(3)", r"info.*stdout is not one JSON object\nexit status 3"),
        (
            "create_stemcell",
            SWALLOWED,
            r'create_stemcell.*-  "result": "ami-\w+ light"\n\+  "result": null',
        ),
        ("create_vm", "run(extra=1)", r'create_vm.*What there is now.*\+    "extra": 1'),
        ("set_vm_metadata", SWALLOWED, r'set_vm_metadata.*change something.*-  "CreateTags"'),
    ],
)
def test_difference(stage: Stage, verb: str, answer: str, message: str) -> None:
    """An answer, a setting or an effect that is not the expected one ends the demo at that call."""
    with pytest.raises(Difference, match=r"(?s)^Failed at call \d+, " + message):
        Play(stage, tampered(verb, answer)).play(LIVES[0])


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


class Screen(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


@pytest.mark.parametrize(
    ("stream", "no_color", "text"),
    [
        (Screen(), "", "\033[1mtext\033[0m"),
        (Screen(), "1", "text"),
        (io.StringIO(), "", "text"),
    ],
)
def test_colours(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, no_color: str, text: str) -> None:
    """Colours are for terminals, and only while NO_COLOR is not set."""
    monkeypatch.setenv("NO_COLOR", no_color)
    assert paint("text", BOLD, stream) == text


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (brief(["vol-0123456789abcdef0", {"a": None, "b": [True]}]), "[vol-012345, {a: null, b: [true]}]"),
        (brief(f"nats://nats:{SECRETS[-1]}@h"), "nats://nats:<secret>@h"),
        (cell("abcdefgh", 6), "abcd.."),
        (cell("abc", 6), "abc   "),
        (calls_in_short([], []), " 0"),
        (calls_in_short(["DescribeA", "Run", "DescribeA"], ["PUT"]), " 3 Describe(A*2) Run registry(PUT)"),
        (readable({"a": [1, 2]}), '{"a": [1, 2]}'),
        (readable(["x" * 60, "y" * 60]), f'[\n  "{"x" * 60}",\n  "{"y" * 60}"\n]'),
    ],
)
def test_text(written: str, text: str) -> None:
    """What is written is short, and has no secret."""
    assert written == text


@pytest.mark.parametrize(
    ("expected", "found", "same"),
    [
        ({"a": New("b", "x[0-9]"), "{b}": ["{b}"]}, {"a": "x1", "x1": ["x1"]}, True),
        ([New("b", "x[0-9]")], ["y1"], False),
        ({"a": 1}, {"a": True}, False),
        ({"a": 1}, {"a": 1, "b": 2}, False),
    ],
)
def test_match(expected: Any, found: Any, same: bool) -> None:  # noqa: FBT001 - a parameter
    """A new id is learned where its pattern fits, and everything else must be the same."""
    names = Names()
    learn(expected, found, names)
    assert (difference(resolve(expected, names), found) == "") is same
