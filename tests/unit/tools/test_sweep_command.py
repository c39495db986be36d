"""The command line of `cpi sweep`, and how it ends."""

import pytest

from bosh_aws_cpi.tools import sweep
from tests.unit.tools.sweep_things import DIRECTOR


def test_fault_of_the_program(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], signals: None
) -> None:
    """An unexpected error is reported without secrets; the exit status is 2."""
    assert signals is None

    def fail(_path: str, _context: object) -> None:
        message = "'password': 'hunter2'"
        raise ValueError(message)

    monkeypatch.setattr(sweep, "load", fail)
    assert sweep.main(["cpi.json", "--director", DIRECTOR]) == 2
    printed = capfd.readouterr()
    assert printed.out == ""
    assert "Unexpected error: a bug in the CPI, please report it" in printed.err
    assert printed.err.splitlines()[-1].startswith("cpi: ValueError: ")
    assert "hunter2" not in printed.err


@pytest.mark.usefixtures("signals")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--disk", "vol-01234567"], "without --delete"),
        (["--instance", "i-01234567"], "without --delete"),
        (["--delete", "--older-than", "3.9"], "must be 0, or at least 4,"),
    ],
)
def test_arguments(arguments: list[str], words: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Options that contradict each other are refused with the reason, before anything is read."""
    assert sweep.main(["cpi.json", "--director", DIRECTOR, *arguments]) == 2
    printed = capfd.readouterr()
    assert printed.out == ""
    assert words in printed.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        *((["--director", text], "the UUID that `bosh env` shows") for text in (" ", "abc")),
        *((["--older-than", text], "a number of hours") for text in ("24h", "-1", "nan")),
        (["--disk", "i-1"], "must be one id, vol-…, not 'i-1'"),
        (["--instance", "i-1,i-2"], "must be one id, i-…"),
        (["--del"], "unrecognized arguments: --del (did you mean --delete?)"),
    ],
)
def test_unreadable_arguments(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Wrong arguments are refused; options can't be abbreviated."""
    with pytest.raises(SystemExit) as ended:
        sweep.main(["cpi.json", "--director", DIRECTOR, *arguments])
    printed = capsys.readouterr()
    assert (ended.value.code, printed.out) == (2, "")
    assert words in printed.err
