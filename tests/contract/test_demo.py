"""The demo: passes with the program as it is, and fails when an answer differs."""

import io
import re
from collections.abc import Iterator

import pytest

from testbed.cloud import FakeAws
from testbed.demo import Difference, Play, check_nothing_left, main
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


@pytest.mark.parametrize(
    ("stdout", "status", "message"),
    [
        (b"", 0, "stdout is not one JSON object"),
        (b'{"result": {"api_version": 3}, "error": null, "log": ""}', 0, "should be"),
        (b'{"result": {}, "error": null, "log": ""}', 7, "exit status 7"),
    ],
    ids=["no answer", "result", "exit status"],
)
def test_difference(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, stdout: bytes, status: int, message: str
) -> None:
    """A wrong answer ends the demo at that call."""
    monkeypatch.setattr(Cpi, "call", lambda *_, **__: Answer(stdout, "", status, 0))
    with pytest.raises(Difference, match=rf"(?s)^Failed at call 1, info.*{message}"):
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
