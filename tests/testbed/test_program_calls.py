"""The record of the program's calls to AWS."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from testbed.cloud import FakeAws
from testbed.executable import Cpi, config
from testbed.program_calls import VARIABLE, ProgramCalls
from testbed.protocols import OURS

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    import pytest


def recorded(folder: Path) -> list[Any]:
    """Read the files in a folder."""
    return [json.loads(path.read_text()) for path in folder.iterdir()]


def disguise(request: Any, **_: Any) -> None:
    """Have a call look like the program's."""
    request.headers["User-Agent"] = OURS


def test_calls_of_the_executable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in writes a file with the executable's calls, including those before a reset, and no others.

    A test may call AWS as the program does, but without a request and so without a Director's tag.
    """
    folder = tmp_path / "calls"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, "calls")
    with FakeAws() as fake_aws:
        cpi = Cpi(config(fake_aws.endpoint))
        assert cpi.call("has_disk", "vol-0123456789abcdef0").ok() is False
        assert cpi.call("has_disk", "vol-0123456789abcdef0").ok() is False
        fake_aws.client("ec2").describe_vpcs()
        like_the_program = fake_aws.new_client("ec2")
        like_the_program.meta.events.register("before-send.ec2", disguise)
        like_the_program.describe_subnets()
        fake_aws.reset()
        assert not folder.exists()
    assert recorded(folder) == [[["ec2", "DescribeVolumes", ""]]]


def test_denials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file says what the restricted policy denies the Director: to create something without its tag."""
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with FakeAws() as fake_aws:
        cpi = Cpi(config(fake_aws.endpoint))
        cpi.call("delete_disk", "vol-0123456789abcdef0")
        cpi.call("create_disk", 1024, {}, context={"director_uuid": ""})
    (calls,) = recorded(tmp_path)
    assert {action: bool(denial) for _, action, denial in calls} == {
        "CreateVolume": True,
        "DeleteVolume": False,
        "DescribeAvailabilityZones": False,
        "DescribeVolumes": False,
    }


def test_several_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each record is a separate file; a record without calls writes none."""
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    for actions in (["B", "A", "A"], ["A"], []):
        calls = ProgramCalls()
        for action in actions:
            calls.note("ec2", action)
        calls.write()
    assert sorted(recorded(tmp_path)) == [[["ec2", "A", ""]], [["ec2", "A", ""], ["ec2", "B", ""]]]


def test_not_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the variable nothing is written."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    calls = ProgramCalls()
    calls.note("ec2", "A")
    calls.write()
    assert list(tmp_path.iterdir()) == []
