"""The demo: passes with the program as it is, and fails when an answer differs."""

import io
import re
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.demo import Difference, Play, check_nothing_left, main
from testbed.demo_process import Program
from testbed.demo_stage import Stage
from testbed.demo_text import BOLD, SECRETS, brief, paint
from testbed.executable import Answer, Cpi
from testbed.registry import Registry
from testbed.world import World


@pytest.fixture
def stage(fake_aws: FakeAws, world: World) -> Iterator[Stage]:
    """Return a laid stage, on the tests' own server."""
    with Registry() as registry:
        yield Stage(fake_aws, world, registry)


@pytest.mark.timeout(300)  # 20 calls and two tools, where other work takes all processors
@pytest.mark.usefixtures("warm")
def test_demo(capsys: pytest.CaptureFixture[str]) -> None:
    """It shows each call and the settings without secrets, says what it checked, and leaves nothing."""
    assert main() == 0
    stdout, stderr = capsys.readouterr()
    assert stderr == ""
    calls = len(re.findall(r"^  \d+ ms, AWS: ", stdout, re.MULTILINE))
    assert stdout.endswith(f"\nChecked: the answers of {calls} calls, and that nothing is left in EC2.\n")
    for part in ("Did you mean security_groups?", "error: The security groups of the Director, sg-"):
        assert part in stdout
    assert '"mbus": "nats://nats:<secret>@10.0.1.6:4222"' in stdout
    assert [secret for secret in SECRETS if secret in stdout] == []
    assert "\033" not in stdout


def test_interrupted_demo() -> None:
    """Ctrl-C ends it and all it started."""
    with Program("testbed.demo") as demo:
        assert demo.read_until("create_stemcell")[-1].startswith("create_stemcell")
        demo.signal(signal.SIGINT)
        _, stderr, status = demo.finish()
        assert (stderr, status) == ("\nInterrupted. All that was started has ended.\n", 130)
        assert demo.left() == []


@pytest.mark.usefixtures("warm")
@pytest.mark.parametrize(
    ("replaced", "answer", "message"),
    [
        ("info", Answer(b"", "", 0, 0), "stdout is not one JSON object"),
        ("info", Answer(b'{"result": {"api_version": 3}, "error": null, "log": ""}', "", 0, 0), "should be"),
        ("create_disk", Answer(b'{"result": "vol-1", "error": null, "log": ""}', "", 0, 0), "vol-1"),
        ("reboot_vm", Answer(b'{"result": null, "error": null, "log": ""}', "", 7, 0), "exit status 7"),
    ],
    ids=["no answer", "result", "id", "exit status"],
)
def test_difference(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, replaced: str, answer: Answer, message: str
) -> None:
    """A wrong answer ends the demo at that call."""
    original = Cpi.call

    def call(cpi: Cpi, method: str, *arguments: Any, **request: Any) -> Answer:
        right = original(cpi, method, *arguments, **request)
        return answer if method == replaced else right

    monkeypatch.setattr(Cpi, "call", call)
    with pytest.raises(Difference, match=rf"(?s)^Failed at call \d+, {replaced}.*{message}"):
        Play(stage).play()


def test_what_is_left_is_found(stage: Stage, world: World) -> None:
    """A volume that is left at the end is named."""
    check_nothing_left(stage)
    volume_id = world.ec2.create_volume(AvailabilityZone=world.zone, Size=1)["VolumeId"]
    with pytest.raises(Difference, match=f"(?s)something is left.*{volume_id}"):
        check_nothing_left(stage)


def test_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is shown is short and has no secret; colours are for terminals, while NO_COLOR is not set."""
    assert brief(["vol-0123456789abcdef0", {"a": None, "b": [True]}]) == "[vol-012345, {a: null, b: [true]}]"
    assert brief(f"nats://nats:{SECRETS[-1]}@h") == "nats://nats:<secret>@h"
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: True)
    for no_color, text in (("", "\033[1mtext\033[0m"), ("1", "text")):
        monkeypatch.setenv("NO_COLOR", no_color)
        assert paint("text", BOLD, screen) == text
    assert paint("text", BOLD, io.StringIO()) == "text"
