"""What people read on a terminal: foreign text can neither steer it nor forge a line."""

import base64
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from testbed import terminal
from testbed.cloud import FakeAws
from testbed.executable import DIRECTOR_UUID, EXECUTABLE, Answer, Cpi, least_environment
from testbed.world import World
from tests.stories.operators import ANY_AGE, GONE, Sweep, TaggedResources
from tests.stories.right_configs import OWN
from tests.stories.vm_and_director import VmAndDirector

OnTerminal = Callable[..., tuple[Answer, Answer]]

IN_XML = "a\nb\x85\x9b2J\u00ad\u200b\u202e\u2028\u2029\u2066\U000e0041z"
"""Line breaks, control characters and format characters that an answer of AWS can have."""
ANYWHERE = f"\x07\x1b[2J\x1b]0;title\x07\r\x7f{IN_XML}"
OWN_LINES = dict.fromkeys(b"\r\n")
INVALID_UTF8 = os.fsdecode(b"\xff\x9b")


@dataclass(frozen=True)
class Scene:
    """What a command looks at.

    Attributes:
        fake_aws: The stand-in for AWS.
        world: What is there.
        cpi: The executable, with a folder of its own.
    """

    fake_aws: FakeAws
    world: World
    cpi: Cpi

    def sweep(self, *options: str) -> Answer:
        """Sweep strays of any age."""
        return Sweep(self.cpi, self.fake_aws)(*ANY_AGE, *options)

    @property
    def tagged(self) -> TaggedResources:
        """What makes strays."""
        return TaggedResources(self.fake_aws, self.world)

    def refuse(self, action: str, message: str) -> None:
        """Have AWS refuse an action in these words."""
        self.fake_aws.refuse(action, "UnauthorizedOperation", message, 403)


def replaced_by(scene: Scene, text: str) -> Answer:
    """A volume's tag."""
    scene.tagged.volume(bosh_call="call", bosh_replaced_by=text)
    return scene.sweep()


def error_of_deletion(scene: Scene, text: str) -> Answer:
    """AWS's words in the table, as it refuses a deletion."""
    scene.tagged.seen(scene.tagged.interface(**GONE))
    scene.refuse("DeleteNetworkInterface", text)
    return scene.sweep("--delete")


def error_of_command(scene: Scene, text: str) -> Answer:
    """AWS's words in the error of a command."""
    scene.refuse("DescribeVolumes", text)
    return scene.sweep()


def error_of_call(scene: Scene, text: str) -> Answer:
    """AWS's words in the log of a call."""
    scene.refuse("DescribeVolumes", text)
    return scene.cpi.call("has_disk", "vol-0123456789abcdef0")


def method_of_call(scene: Scene, text: str) -> Answer:
    """The method of a request."""
    return scene.cpi.call(text)


def path_of_configuration(scene: Scene, text: str) -> Answer:
    """The only argument of a call."""
    cpi = scene.cpi
    cpi.config_path = cpi.folder / text
    return cpi.call("info")


def quoted(text: str) -> str:
    """Write a text as YAML, which has no surrogate pairs, in double quotes."""
    escaped = "".join(f"\\U{ord(each):08x}" for each in text)
    return f'"{escaped}"'


def file_name(scene: Scene, text: str) -> Answer:
    """The name of a file that is checked."""
    path = scene.cpi.folder / f"{INVALID_UTF8}{text}"
    path.write_text(OWN)
    return scene.cpi.run("check", str(path), "--offline")


def missing_file(scene: Scene, text: str) -> Answer:
    """The name of a file that is not there."""
    return scene.cpi.run("check", f"/nowhere/{text}", "--offline")


def bad_option(scene: Scene, text: str) -> Answer:
    """An argument that is refused before anything is read."""
    return scene.cpi.run("check", "file", f"--{text}")


def director(scene: Scene, text: str) -> Answer:
    """An argument in the report."""
    return scene.cpi.run("sweep", "--director", text)


def console(scene: Scene, text: str) -> Answer:
    """A line of a VM's console."""
    vm = VmAndDirector(scene.fake_aws, scene.world)
    lines = f"bosh-agent error {text.translate(OWN_LINES)}\n[1.0]\tKernel panic\n"
    shown = f"<output>{base64.b64encode(lines.encode()).decode()}</output>"
    scene.fake_aws.rule(action="GetConsoleOutput", replace=[["<output>.*</output>|<output */>", shown]])
    return vm.diagnose()


def error_of_diagnose(scene: Scene, text: str) -> Answer:
    """AWS's words in a finding."""
    vm = VmAndDirector(scene.fake_aws, scene.world)
    scene.refuse("DescribeNetworkAcls", text)
    return vm.diagnose()


PLAYS: dict[Callable[..., Answer], str] = {
    **dict.fromkeys([replaced_by, error_of_deletion, error_of_diagnose], IN_XML),
    **dict.fromkeys([error_of_command, error_of_call], IN_XML),
    **dict.fromkeys([console, file_name, director, missing_file, bad_option], ANYWHERE),
    **dict.fromkeys([method_of_call, path_of_configuration], ANYWHERE),
}
"""Where foreign text comes from, and what of it can be in it."""


COLOURED = re.compile(r"\x1b\[(1;31|33|35|36)m([A-Za-z :-]+)\x1b\[0m")


@pytest.fixture
def scene(fake_aws: FakeAws, world: World, cpi: Cpi) -> Scene:
    """Return what a command looks at."""
    return Scene(fake_aws, world, cpi)


def said(answer: Answer) -> str:
    """Return what a terminal gets; a call's response goes to BOSH, and is ASCII."""
    stdout = answer.stdout.decode()
    if stdout.startswith('{"result":'):
        assert stdout.isascii()
        stdout = ""
    return stdout + answer.stderr


def check_escaped(text: str) -> None:
    """Check that foreign text is shown, with its control and format characters escaped, on one line."""
    assert [each for each in text if each != "\n" and not each.isprintable()] == []
    text = re.sub(r"(  left to you.*)?\n {40,}", "", text)  # a column's long text goes on in the lines below
    assert r"\u202e\u2028" in text  # else it was not shown, and the test shows nothing
    assert re.search(r"a(\\n)?b(\\u0085\\u009b)?2J", text)  # a console shows fewer characters


@pytest.mark.parametrize("play", PLAYS, ids=lambda play: play.__name__)
def test_foreign_text(scene: Scene, play: Callable[..., Answer]) -> None:
    """Foreign text is escaped in logs, errors and reports."""
    check_escaped(said(play(scene, PLAYS[play])))


@pytest.fixture
def on_terminal(cpi: Cpi) -> OnTerminal:
    """Return a function that checks a property with a hostile key, in a pipe and then on a terminal."""
    path = cpi.folder / "config.yml"
    path.write_text(OWN.replace("m5.large", f"m5.large\n    {quoted(ANYWHERE)}: 1"))

    def check(*options: str, **variables: str) -> tuple[Answer, Answer]:
        arguments = [str(path), "--offline", *options]
        line = [EXECUTABLE, "check", str(cpi.config_path), *arguments]
        environment = {**least_environment(cpi.folder), **variables}
        shown = terminal.run(line, environment, cpi.folder, streams=["stdout"])
        return cpi.run("check", *arguments), shown

    return check


def test_report(on_terminal: OnTerminal) -> None:
    """A terminal gets the same lines as a pipe, with the severity coloured, after foreign text is escaped."""
    piped, shown = on_terminal()
    assert shown.returncode == piped.returncode
    lines = shown.stdout.decode()
    assert "\x1b[33mwarning\x1b[0m: " in lines
    plain = COLOURED.sub(r"\2", lines)
    assert plain.splitlines() == piped.stdout.decode().splitlines()
    check_escaped(plain)


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_no_colours(on_terminal: OnTerminal, variables: dict[str, str]) -> None:
    """Whoever wants no colours, or has a terminal without, gets none."""
    piped, shown = on_terminal(**variables)
    assert shown.stdout == piped.stdout


def test_json(on_terminal: OnTerminal) -> None:
    """JSON is the same on a terminal as in a pipe: escaped, with its meaning kept."""
    piped, shown = on_terminal("--json")
    assert shown.stdout == piped.stdout
    assert piped.stdout.decode().rstrip("\n").isprintable()
    assert "\u202e\u2028" in json.dumps(piped.document, ensure_ascii=False)


@pytest.mark.parametrize("stream", ["stderr", "stdout"])
def test_long_command(scene: Scene, stream: str) -> None:
    """A command that takes seconds says on a terminal that it is at work, and nothing in a pipe."""
    cpi = scene.cpi
    scene.fake_aws.rule(action="DescribeSnapshots", delay=2.1)
    command = [EXECUTABLE, "sweep", str(cpi.config_path), "--director", DIRECTOR_UUID]
    answer = terminal.run(command, least_environment(cpi.folder), cpi.folder, streams=[stream])
    progress = "cpi: at work, 2 AWS calls, 0 retries"
    assert (progress in answer.stdout.decode() + answer.stderr) is (stream == "stderr")
