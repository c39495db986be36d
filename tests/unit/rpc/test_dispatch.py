"""One call, from bytes to bytes, with a stand-in for the cloud behind it."""

import signal
from errno import EACCES, ENOMEM
from typing import Any

import pytest

from bosh_aws_cpi import interrupts
from bosh_aws_cpi.errors import BoshError, CloudError, DiskNotAttached
from bosh_aws_cpi.redact import Redactor
from bosh_aws_cpi.rpc import dispatch
from tests.unit.conftest import ProgramLog
from tests.unit.rpc.standin import Foreign, Host, ask, failing

pytestmark = pytest.mark.usefixtures("signals")


@pytest.fixture(autouse=True)
def redactor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test's secrets reach the next one."""
    monkeypatch.setattr(dispatch, "redact", Redactor())
    monkeypatch.setattr("bosh_aws_cpi.log.logger.request_id", None)


def test_result(program_log: ProgramLog) -> None:
    """A method gets the session and the arguments; its result is answered, and begin and end are logged."""
    host = Host(lambda *arguments: [*arguments, "ü"])
    assert ask(host, "set_vm_metadata", "i-1", None) == {
        "result": ["session", "i-1", {}, "ü"],
        "error": None,
        "log": "",
    }
    assert host.targets == ["vms.existing:set_vm_metadata"]
    assert host.opened[0].api_version == 2
    assert [record.text for record in program_log.records] == [
        "Starting set_vm_metadata...",
        "Finished set_vm_metadata in 1.250 seconds, 2 AWS calls",
    ]


OUT_OF_MEMORY = (
    "The call needs more memory than this process may have: raise its limits (ulimit -v, ulimit -d, or those "
    "of its container) or the machine's memory, or let fewer calls run at once"
)


@pytest.mark.parametrize(
    ("error", "wire_type", "message", "ok_to_retry"),
    [
        (CloudError("said"), "Bosh::Clouds::CloudError", "said", False),
        (
            DiskNotAttached("vol-1", "i-1"),
            "Bosh::Clouds::DiskNotAttached",
            "Disk `vol-1' is not attached to instance `i-1'",
            True,
        ),
        (Foreign("said"), "Bosh::Clouds::CloudError", "translated said", False),
        (ValueError("said"), "Unknown", "said", False),
        (ValueError(), "Unknown", "ValueError", False),
        (MemoryError(), "Bosh::Clouds::CloudError", f"{OUT_OF_MEMORY}: MemoryError", False),
        (OSError(ENOMEM, "no"), "Bosh::Clouds::CloudError", f"{OUT_OF_MEMORY}: [Errno {ENOMEM}] no", False),
        (OSError(EACCES, "no"), "Unknown", f"[Errno {EACCES}] no", False),
        (SystemExit(), "Unknown", "SystemExit", False),
    ],
)
def test_error(
    program_log: ProgramLog,
    error: BaseException,
    wire_type: str,
    message: str,
    *,
    ok_to_retry: bool,
) -> None:
    """Whatever a method raises is answered by its name, and logged; the response's log says where."""
    document = ask(Host(failing(error)), "has_vm", "i-1")
    assert document["result"] is None
    assert document["error"] == {"type": wire_type, "message": message, "ok_to_retry": ok_to_retry}
    assert document["log"].startswith(f"Rescued {wire_type}: {message}. backtrace: ")
    assert document["log"].endswith(":in method\n")
    errors = [record.text for record in program_log.records if record.level == "ERROR"]
    assert errors == [f"{wire_type}: {message}"]
    debug = [record.text for record in program_log.records if record.level == "DEBUG"]
    assert debug == [document["log"].removesuffix("\n")]
    finished = [record for record in program_log.records if record.text.startswith("Finished has_vm")]
    assert len(finished) == 1


def test_causes() -> None:
    """The response's log names the causes of an error, innermost last, without any source line."""

    def method(*_: Any) -> None:
        try:
            int("inner")
        except ValueError as error:
            message = "outer"
            raise CloudError(message) from error

    log = ask(Host(method), "has_vm", "i-1")["log"]
    before, _, after = log.partition(
        "; caused by ValueError: invalid literal for int() with base 10: 'inner'; "
    )
    assert before.startswith("Rescued Bosh::Clouds::CloudError: outer. backtrace: ")
    assert after.endswith(":in method\n")
    assert "raise" not in log
    assert "\n" not in log.removesuffix("\n")


def test_hidden_causes() -> None:
    """A cause that was cut off is not named: it may hold what must not be seen."""

    def method(*_: Any) -> None:
        try:
            int("no number")
        except ValueError:
            message = "outer"
            raise CloudError(message) from None

    assert "caused by" not in ask(Host(method), "has_vm", "i-1")["log"]


@pytest.mark.parametrize(
    ("result", "message"),
    [(float("nan"), "Out of range float values are not JSON compliant"), ({1, 2}, "not JSON serializable")],
)
def test_result_that_is_no_json(result: object, message: str) -> None:
    """A result that can't be written is an error of its own, and still an answer."""
    document = ask(Host(lambda *_: result), "get_disks", "i-1")
    assert document["error"]["type"] == "Unknown"
    assert message in document["error"]["message"]


def test_memory_that_the_sdk_lacked() -> None:
    """An error that the SDK makes of another one is a lack of memory, too."""
    error = Foreign("wrapped")
    error.__cause__ = MemoryError()
    assert ask(Host(failing(error)), "has_vm", "i-1")["error"]["message"] == f"{OUT_OF_MEMORY}: wrapped"


def test_signal_while_an_error_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal while another error is being answered still leaves one answer."""
    rescued = dispatch.__dict__["_log_text"]

    def interrupted(*arguments: Any) -> Any:
        signal.raise_signal(signal.SIGTERM)
        return rescued(*arguments)

    monkeypatch.setattr(dispatch, "_log_text", interrupted)
    document = ask(Host(failing(SystemExit())), "has_vm", "i-1")
    assert (document["error"]["type"], document["log"]) == ("Bosh::Clouds::CloudError", "")
    assert "interrupted by SIGTERM" in document["error"]["message"]


def test_signal_after_an_error() -> None:
    """Once the method has failed, its error is the answer, whatever signal comes while it is translated."""

    class Slow(Host):
        def translate(self, error: Exception) -> BoshError | None:
            signal.raise_signal(signal.SIGTERM)
            return super().translate(error)

    assert ask(Slow(failing(Foreign("x"))), "has_vm", "i-1")["error"]["message"] == "translated x"


def test_signal_after_the_answer() -> None:
    """Once the answer is made a signal changes it no more."""
    assert ask(Host(lambda *_: True), "has_vm", "i-1")["result"] is True
    signal.raise_signal(signal.SIGTERM)
    interrupts.check()
