"""The configuration file as the protocol sees it: there or not, readable or not, valid or not."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from testbed.executable import ABSENT, SECRET_ACCESS_KEY, Answer, Cpi, config

if TYPE_CHECKING:
    from collections.abc import Callable

    Checked = Callable[[Answer], Any]

NOWHERE = "http://127.0.0.1:1"
EXECUTABLE = str(Path(sys.executable).parent / "cpi")
NO_PROPERTIES = "Could not find cloud properties in the configuration"


def shell(line: str) -> Cpi:
    """Return the executable behind a shell: `$0` is the executable, `$1` the configuration's path."""
    return Cpi(config(NOWHERE), command=["/bin/sh", "-c", line, EXECUTABLE])


@pytest.mark.parametrize("line", ['exec "$0"', 'exec "$0" "$1" "$1"'], ids=["none", "two"])
def test_usage(early: Checked, line: str) -> None:
    """Without the path of the configuration, or with more than that, the usage is answered."""
    kind, message = early(shell(line).call("info"))
    assert kind == "Unknown"
    assert "cpi CONFIG_PATH" in message


def missing(path: Path) -> None:
    """Take the file away."""
    path.unlink()


def directory(path: Path) -> None:
    """Put a directory in the file's place."""
    path.unlink()
    path.mkdir()


def endless_link(path: Path) -> None:
    """Put a link to itself in the file's place: nobody can open it, not even root."""
    path.unlink()
    path.symlink_to(path)


def no_document(path: Path) -> None:
    """Break the file off in the middle."""
    path.write_bytes(path.read_bytes()[:-20])


def no_text(path: Path) -> None:
    """Put bytes into the file that are no text."""
    path.write_bytes(b"\xc3( \x80")


@pytest.mark.parametrize("spoil", [missing, directory, endless_link, no_document, no_text])
def test_unusable_file(offline: Cpi, early: Checked, spoil: Callable[[Path], None]) -> None:
    """A file that can't be read or understood is named, and never quoted."""
    spoil(offline.config_path)
    answer = offline.call("info")
    kind, message = early(answer)
    assert kind == "Unknown"
    assert str(offline.config_path) in message
    assert SECRET_ACCESS_KEY not in answer.stdout.decode() + answer.stderr


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"cloud": null}', '{"cloud": {"properties": "aws"}}'],
)
def test_no_cloud_properties(offline: Cpi, early: Checked, text: str) -> None:
    """A file that is empty or of another shape lacks the cloud properties."""
    offline.config_path.write_text(text)
    assert early(offline.call("ping")) == ("Unknown", NO_PROPERTIES)


def test_yaml(offline: Cpi, result: Checked) -> None:
    """A file in YAML is as good as one in JSON."""
    aws = json.loads(offline.config_path.read_text())["cloud"]["properties"]["aws"]
    lines = ["cloud:", "  properties:", "    aws:"]
    lines += [f"      {key}: {json.dumps(value)}" for key, value in aws.items()]
    offline.config_path.write_text("\n".join(lines))
    assert result(offline.call("ping")) == "pong"


@pytest.mark.parametrize(
    ("method", "changes", "details"),
    [
        ("info", {"max_retries": ABSENT}, "missing configuration parameters > aws:max_retries"),
        (
            "ping",
            {"region": ABSENT, "ec2_endpoint": ABSENT},
            "missing configuration parameters > aws:region, or aws:ec2_endpoint and aws:elb_endpoint",
        ),
        ("info", {"credentials_source": "magic"}, "Unknown credentials_source magic"),
        (
            "ping",
            {"secret_access_key": None},
            "Must use access_key_id and secret_access_key with static credentials_source",
        ),
        (
            "has_vm",
            {"credentials_source": "env_or_profile"},
            "Can't use access_key_id and secret_access_key with env_or_profile credentials_source",
        ),
    ],
)
def test_invalid_aws(early: Checked, method: str, changes: dict[str, Any], details: str) -> None:
    """An aws section that does not validate fails every method, info and ping too."""
    expected = ("InvalidCall", f"Arguments are not correct, details: '{details}'")
    assert early(Cpi(config(NOWHERE, **changes)).call(method)) == expected


def test_context_over_file(early: Checked, result: Checked) -> None:
    """The context is merged over the file's aws section before that is checked."""
    cpi = Cpi(config(NOWHERE, max_retries=ABSENT))
    assert early(cpi.call("ping"))[0] == "InvalidCall"
    assert result(cpi.call("ping", context={"max_retries": 1})) == "pong"
