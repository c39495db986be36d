"""What people read on a terminal: foreign text can neither steer it nor forge a line."""

import base64
import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from bosh_aws_cpi.plan import spread
from testbed import terminal
from testbed.cloud import FakeAws
from testbed.executable import DIRECTOR_UUID, Answer, Cpi, config
from testbed.world import World
from tests.stories.operators import ANY_AGE, GONE, Preflight, Sweep, Unnamed, Yard
from tests.stories.right_configs import OWN
from tests.stories.vm_and_director import VmAndDirector

OnTerminal = Callable[..., tuple[Answer, Answer]]

IN_XML = "a\nb\x85\x9b2J\u00ad\u200b\u202e\u2028\u2029\u2066\U000e0041z"
"""Line breaks, control characters and format characters that an answer of AWS can have."""
ANYWHERE = f"\x07\x1b[2J\x1b]0;title\x07\r\x7f{IN_XML}"
TAME = "tame"
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

    def preflight(self, *options: str) -> Answer:
        """Ask about the permissions."""
        with Unnamed(self.fake_aws.endpoint) as relay:
            return Preflight(relay.url)(*options)

    @property
    def yard(self) -> Yard:
        """What makes strays."""
        return Yard(self.fake_aws, self.world)

    def refuse(self, action: str, message: str) -> None:
        """Have AWS refuse an action in these words."""
        error = {"code": "UnauthorizedOperation", "message": message, "status": 403}
        self.fake_aws.rule(action=action, error=error)

    def check(self, content: str, *options: str, name: str = "config.yml") -> Answer:
        """Check a cloud config in a file of this name."""
        path = self.cpi.folder / name
        path.write_text(content)
        return self.cpi.run("check", str(path), "--offline", *options)


def replaced_by(scene: Scene, text: str, *options: str) -> Answer:
    """A volume's tag."""
    scene.yard.volume(bosh_call="call", bosh_replaced_by=text)
    return scene.sweep(*options)


def spread_group(scene: Scene, text: str, *options: str) -> Answer:
    """A placement group's tag."""
    scene.yard.group(spread.spread_group(DIRECTOR_UUID, text, {}).name, bosh_spread_group=text)
    return scene.sweep(*options)


def error_of_deletion(scene: Scene, text: str, *options: str) -> Answer:
    """AWS's words in the table, as it refuses a deletion."""
    scene.yard.seen(scene.yard.interface(**GONE))
    scene.refuse("DeleteNetworkInterface", text)
    return scene.sweep("--delete", *options)


def error_of_listing(scene: Scene, text: str) -> Answer:
    """AWS's words in a warning."""
    scene.refuse("DescribeSnapshots", text)
    return scene.sweep()


def error_of_command(scene: Scene, text: str) -> Answer:
    """AWS's words in the error of a command."""
    scene.refuse("DescribeVolumes", text)
    return scene.sweep()


def error_of_call(scene: Scene, text: str) -> Answer:
    """AWS's words in the log of a call."""
    scene.refuse("DescribeVolumes", text)
    return scene.cpi.call("has_disk", "vol-0123456789abcdef0")


def disk_of_call(scene: Scene, text: str) -> Answer:
    """A name in a request."""
    return scene.cpi.call("delete_disk", f"vol-{text}")


def method_of_call(scene: Scene, text: str) -> Answer:
    """The method of a request."""
    return scene.cpi.call(text)


def path_of_configuration(scene: Scene, text: str) -> Answer:
    """The only argument of a call."""
    cpi = scene.cpi
    cpi.config_path = cpi.folder / text
    return cpi.call("info")


def configuration(scene: Scene, text: str) -> Answer:
    """A value in the configuration."""
    return Cpi(config(scene.fake_aws.endpoint, credentials_source=text)).call("info")


def quoted(text: str) -> str:
    """Write a text as YAML, which has no surrogate pairs, in double quotes."""
    escaped = "".join(f"\\U{ord(each):08x}" for each in text)
    return f'"{escaped}"'


def property_key(scene: Scene, text: str, *options: str) -> Answer:
    """A key in a cloud config."""
    return scene.check(OWN.replace("m5.large", f"m5.large\n    {quoted(text)}: 1"), *options)


def property_value(scene: Scene, text: str, *options: str) -> Answer:
    """A value in a cloud config."""
    return scene.check(OWN.replace("m5.large", f"m5.large\n    tenancy: {quoted(text)}"), *options)


def file_name(scene: Scene, text: str, *options: str) -> Answer:
    """The name of a file that is checked."""
    return scene.check(OWN, *options, name=f"{INVALID_UTF8}{text}")


def missing_file(scene: Scene, text: str) -> Answer:
    """The name of a file that is not there."""
    return scene.cpi.run("check", f"/nowhere/{text}", "--offline")


def bad_option(scene: Scene, text: str) -> Answer:
    """An argument that is refused before anything is read."""
    return scene.cpi.run("check", "file", f"--{text}")


def bad_option_of_sweep(scene: Scene, text: str) -> Answer:
    """The same, for the other command with a parser of its own."""
    return scene.cpi.run("sweep", "--director", "d", "--older-than", text)


def director(scene: Scene, text: str, *options: str) -> Answer:
    """An argument in the report."""
    return scene.cpi.run("sweep", "--director", text, *options)


def permission(scene: Scene, text: str, *options: str) -> Answer:
    """AWS's code for a permission."""
    error = {"code": text, "message": "no", "status": 400}
    scene.fake_aws.rule(action="CreateVolume", error=error)
    return scene.preflight(*options)


def caller(scene: Scene, text: str, *options: str) -> Answer:
    """The caller's ARN, from STS."""
    scene.fake_aws.rule(action="GetCallerIdentity", replace=[["<Arn>[^<]*", f"<Arn>{text}"]])
    return scene.preflight(*options)


def console(scene: Scene, text: str, *options: str) -> Answer:
    """A line of a VM's console."""
    vm = VmAndDirector(scene.fake_aws, scene.world)
    lines = f"bosh-agent error {text.translate(OWN_LINES)}\n[1.0]\tKernel panic\n"
    shown = f"<output>{base64.b64encode(lines.encode()).decode()}</output>"
    scene.fake_aws.rule(action="GetConsoleOutput", replace=[["<output>.*</output>|<output */>", shown]])
    return vm.diagnose(*options)


def error_of_diagnose(scene: Scene, text: str, *options: str) -> Answer:
    """AWS's words in a finding."""
    vm = VmAndDirector(scene.fake_aws, scene.world)
    scene.refuse("DescribeNetworkAcls", text)
    return vm.diagnose(*options)


def diagnosed_vm(scene: Scene, text: str) -> Answer:
    """The VM that is asked for."""
    return scene.cpi.run("diagnose", f"i-{text}")


FROM_AWS: list[Callable[..., Answer]] = [
    *(replaced_by, spread_group, error_of_deletion, permission, caller, error_of_diagnose),
]
IN_REPORTS: dict[Callable[..., Answer], str] = {
    **dict.fromkeys(FROM_AWS, IN_XML),
    **dict.fromkeys([console, property_key, property_value, file_name, director], ANYWHERE),
}
"""What is in reports, which `--json` writes as JSON."""
IN_MESSAGES: dict[Callable[..., Answer], str] = {
    **dict.fromkeys([error_of_listing, error_of_command, error_of_call], IN_XML),
    **dict.fromkeys([disk_of_call, diagnosed_vm], IN_XML),  # AWS repeats it
    **dict.fromkeys([method_of_call, path_of_configuration, configuration], ANYWHERE),
    **dict.fromkeys([missing_file, bad_option, bad_option_of_sweep], ANYWHERE),
}
CASES = [pytest.param(play, text, id=play.__name__) for play, text in {**IN_REPORTS, **IN_MESSAGES}.items()]


EXECUTABLE = str(Path(sys.executable).parent / "cpi")
COLOURED = re.compile(r"\x1b\[(1;31|33|35|36)m([A-Za-z :-]+)\x1b\[0m")


@pytest.fixture
def scene(fake_aws: FakeAws) -> Callable[[], Scene]:
    """Return a function that sets a new scene."""

    def new() -> Scene:
        fake_aws.reset()
        return Scene(fake_aws, fake_aws.lay(), Cpi(config(fake_aws.endpoint)))

    return new


def said(answer: Answer) -> str:
    """Return what a terminal gets; a call's response goes to BOSH, and is ASCII."""
    stdout = answer.stdout.decode()
    if stdout.startswith('{"result":'):
        assert stdout.isascii()
        stdout = ""
    return stdout + answer.stderr


@pytest.mark.parametrize(("play", "text"), CASES)
def test_terminal(scene: Callable[[], Scene], play: Callable[..., Answer], text: str) -> None:
    """Foreign text is shown with its control and format characters escaped, on the lines that it had."""
    tame, hostile = said(play(scene(), TAME)), said(play(scene(), text))
    assert [each for each in hostile if each != "\n" and not each.isprintable()] == []
    assert r"\u202e\u2028" in hostile  # else it was not shown, and the test shows nothing
    assert hostile.count("\n") == tame.count("\n")


@pytest.mark.parametrize(
    ("play", "text"), [pytest.param(*each, id=each[0].__name__) for each in IN_REPORTS.items()]
)
def test_json(scene: Callable[[], Scene], play: Callable[..., Answer], text: str) -> None:
    """JSON has the same characters escaped, and means what it meant."""
    answer = play(scene(), text, "--json")
    written = answer.stdout.decode()
    assert written.rstrip("\n").isprintable()
    assert "\u202e\u2028" in json.dumps(answer.document, ensure_ascii=False)


@pytest.fixture
def on_terminal(monkeypatch: pytest.MonkeyPatch, scene: Callable[[], Scene]) -> OnTerminal:
    """Return a function that has a command write to a pipe, then to a terminal, and returns both answers."""
    piped: list[Answer] = []
    run = Cpi.run

    def played(
        play: Callable[..., Answer], text: str, *options: str, **variables: str
    ) -> tuple[Answer, Answer]:
        def run_twice(cpi: Cpi, command: str, *arguments: str) -> Answer:
            piped.append(run(cpi, command, *arguments))
            line = [EXECUTABLE, command, str(cpi.config_path), *arguments]
            environment = {**cpi._environment, **variables}  # noqa: SLF001 - only this test needs it
            return terminal.run(line, environment, cpi.folder, streams=["stdout"])

        monkeypatch.setattr(Cpi, "run", run_twice)
        shown = play(scene(), text, *options)
        return piped[-1], shown

    return played


@pytest.mark.parametrize(
    ("play", "coloured"),
    [
        (property_key, "\x1b[33mwarning\x1b[0m: "),
        (replaced_by, "  \x1b[33mleft to you: name it with --disk\x1b[0m"),
        (permission, "\x1b[1;31mNOT READY\x1b[0m for "),
        (error_of_diagnose, "\x1b[35mnot checked\x1b[0m: "),
        (console, "\x1b[1;31merror\x1b[0m: "),
        (error_of_deletion, "  \x1b[1;31mfailed\x1b[0m:"),
    ],
)
def test_on_terminal(on_terminal: OnTerminal, play: Callable[..., Answer], coloured: str) -> None:
    """A terminal gets the same lines, with the severity coloured."""
    piped, shown = on_terminal(play, TAME)
    assert shown.returncode == piped.returncode
    text = shown.stdout.decode()
    assert coloured in text
    assert COLOURED.sub(r"\2", text).splitlines() == piped.stdout.decode().splitlines()


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_no_colours(on_terminal: OnTerminal, variables: dict[str, str]) -> None:
    """Whoever wants no colours, or has a terminal without, gets none."""
    piped, shown = on_terminal(property_key, TAME, **variables)
    assert shown.stdout == piped.stdout


@pytest.mark.parametrize("play", [property_key, permission])
def test_json_on_terminal(on_terminal: OnTerminal, play: Callable[..., Answer]) -> None:
    """JSON is the same on a terminal as in a pipe."""
    piped, shown = on_terminal(play, TAME, "--json", NO_COLOR="")
    assert shown.document.keys() == piped.document.keys()
    assert shown.stdout.count(b"\n") == 1
    assert b"\x1b" not in shown.stdout


@pytest.mark.parametrize("play", [error_of_deletion, permission, console, property_key])
def test_hostile_on_terminal(on_terminal: OnTerminal, play: Callable[..., Answer]) -> None:
    """Foreign text is escaped before lines are coloured: no other sequence reaches a terminal."""
    _, shown = on_terminal(play, IN_REPORTS[play])
    plain = COLOURED.sub(r"\2", shown.stdout.decode())
    assert [each for each in plain if each != "\n" and not each.isprintable()] == []
    assert r"\u202e\u2028" in plain
