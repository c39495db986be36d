"""Removing several things, of which any may fail."""

from typing import Any

import pytest

from bosh_aws_cpi.aws.sdk.errors import run_all
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.interrupts import Interrupted
from tests.unit.aws.timing_script import Script
from tests.unit.conftest import ProgramLog


def test_first_error(program_log: ProgramLog) -> None:
    """Every step is taken whatever fails; the first error is raised, and each further one is logged."""
    first = CloudError("first")
    steps = [Script(end) for end in ("", first, ValueError("second"), CloudError("third"), "")]
    with pytest.raises(CloudError) as caught:
        run_all(*steps)
    assert caught.value is first
    assert [step.calls for step in steps] == [1] * 5
    texts = [record.text for record in program_log.records if record.level == "ERROR"]
    assert [text.rpartition(": ")[2] for text in texts] == ["second", "third"]


def test_signal() -> None:
    """A signal ends the whole at once."""

    def signal() -> Any:
        raise Interrupted("SIGTERM")

    step = Script("")
    with pytest.raises(Interrupted):
        run_all(signal, step)
    assert step.calls == 0
