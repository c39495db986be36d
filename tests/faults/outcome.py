"""What a request with a fault in it came to, against what it should have."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from testbed.executable import SECRETS, Answer
from testbed.registry import PASSWORD
from tests.faults.allowed import KILLED_LEAVES, STEPS, is_done_before, is_retried, outlived
from tests.faults.kinds import REFUSED, Case, Expected
from tests.faults.picture import Painter, lasting
from tests.faults.scenario import Change

TYPES = {
    f"Bosh::Clouds::{name}"
    for name in (
        "CloudError",
        "CpiError",
        "DiskNotAttached",
        "DiskNotFound",
        "NetworkNotFound",
        "NoDiskSpace",
        "NotImplemented",
        "NotSupported",
        "VMCreationFailed",
        "VMNotFound",
    )
}
"""The types of errors that callers know."""


UNDO_FAILED = "Perhaps left behind"
GONE = "The caller is gone and did not read the response"


@dataclass(frozen=True)
class Outcome:
    """What a case came to.

    Attributes:
        case: What was tried.
        answer: The last answer.
        before: The picture before the request.
        painter: Takes the picture after it.
    """

    case: Case
    answer: Answer
    before: Sequence[str]
    painter: Painter

    def problems(self) -> list[str]:
        """List what is wrong."""
        if self._is_abandoned:
            return [*self._of_silence(), *_shown_secrets(self.answer), *self._of_undo(), *self._of_world()]
        malformed = list(_malformed(self.answer))
        said = [] if malformed else [*self._of_success(), *self._of_error()]
        return [*malformed, *_shown_secrets(self.answer), *said, *self._of_undo(), *self._of_world()]

    @property
    def _is_abandoned(self) -> bool:
        """Whether nobody reads the response."""
        return self.case.kind.expected == Expected.ABANDONED

    def _of_silence(self) -> Iterator[str]:
        """Without a reader, only the exit status and the log show the result."""
        answer = self.answer
        if (answer.returncode, answer.stdout) != (1, b"") or GONE not in answer.stderr:
            yield f"nobody read its answer, and its exit status is {answer.returncode}"

    @property
    def _is_done(self) -> bool:
        """Whether the request reports success, or must succeed although nobody reads its response."""
        if self._is_abandoned:
            return not self.case.scenario.makes
        if list(_malformed(self.answer)):
            return False
        return self.answer.error is None or self._is_done_before(self.answer.error)

    def _is_done_before(self, error: dict[str, Any]) -> bool:
        is_repeated = any(kind.expected == Expected.REPEATED for kind in self.case.kinds)
        return is_repeated and is_done_before(self.case.scenario.name, error["type"])

    @property
    def outlived(self) -> Change | None:
        """How a success may differ, where the refusal of a call is none of the request."""
        if self.case.kind is not REFUSED:
            return None
        return outlived(self.case.scenario.name, str(self.case.call))

    @property
    def is_retried(self) -> bool:
        """Whether it may fail though the fault passes."""
        return is_retried(self.case.scenario.name, str(self.case.call), self.case.kind.name)

    def _of_success(self) -> Iterator[str]:
        case, answer = self.case, self.answer
        if answer.error is not None:
            return
        shown = case.scenario.shown(answer.result)
        if case.scenario.makes:
            self.painter.name(shown, "made")
        result = self.painter.named(json.dumps(shown))
        if result != case.scenario.result:
            yield f"it answered {result}"
        if not self.may_succeed:
            yield f"it succeeded: {self._hint}"

    @property
    def _hint(self) -> str:
        """What to do if a success is right after all."""
        call, name = self.case.call, self.case.scenario.name
        if self.is_retried:
            return f"if right, drop {name!r} from RETRIED in tests/faults/allowed.py"
        if self.case.kind is REFUSED:
            return f"if right, add a row for {call} to OUTLIVED[{name!r}] in tests/faults/allowed.py"
        return "after this fault it must not"

    @property
    def may_succeed(self) -> bool:
        """Whether a success is right."""
        kind = self.case.kind
        is_refused = kind.expected in {Expected.REFUSED, Expected.BUSY} and self.outlived is None
        is_ended_early = kind.expected == Expected.ENDED and not self.case.call.is_settled
        return not (is_refused or self.is_retried or is_ended_early)

    def _of_error(self) -> Iterator[str]:
        error = self.answer.error
        if error is None:
            return
        if error["type"] not in TYPES:
            yield f"type {error['type']}: {error['message']}"
        if not self.is_foreseen(error):
            yield f"it failed: {error}"

    def is_foreseen(self, error: dict[str, Any]) -> bool:
        """Whether the fault asks for this error."""
        is_foreseen: dict[Expected, bool] = {
            Expected.SURVIVED: self.is_retried and error["ok_to_retry"],
            Expected.REFUSED: self.outlived is None and self.is_refusal(error) and not error["ok_to_retry"],
            Expected.BUSY: self.is_refusal(error) and error["ok_to_retry"],
            Expected.ENDED: "interrupted by SIGTERM" in error["message"],
            Expected.REPEATED: self._is_done_before(error),
            Expected.TRUE: True,
        }
        return is_foreseen[self.case.kind.expected]

    def is_refusal(self, error: dict[str, Any]) -> bool:
        """Whether it is AWS's error."""
        return all(word in error["message"] for word in self.case.kind.words(self.case.call.action))

    def _of_undo(self) -> Iterator[str]:
        """What AWS refuses for good may be what the undo needs; any other fault it has to live with."""
        if UNDO_FAILED in self.answer.stderr and not self.may_fail_to_undo:
            yield f"its log says: {UNDO_FAILED}"

    @property
    def may_fail_to_undo(self) -> bool:
        """Whether its undo may be refused."""
        return REFUSED in self.case.kinds

    def _of_world(self) -> Iterator[str]:
        found, wanted = self.painter.picture(), self._wanted()
        if not self._is_done or self.case.then:  # what one fault has undone is repeated after the other
            found, wanted = lasting(found), [lasting(each) for each in wanted]
        if found not in wanted:
            yield from self._of_rest(min((difference(found, each) for each in wanted), key=len))

    def _of_rest(self, lines: list[str]) -> Iterator[str]:
        yield "\n  ".join(["the world is another:", *lines])

    def _wanted(self) -> list[list[str]]:
        """List the pictures that are well."""
        scenario = self.case.scenario
        steps = self._steps
        if self._is_abandoned and scenario.makes:
            return [sorted(self.before), *steps]
        success = scenario.success.of(self.before)
        if self._is_done:
            done = self._with_traces(self.outlived.of(success) if self.outlived else success)
            return [done, *(each.of(done) for each in leftovers(self.case)), *self._unfinished]
        return [sorted(self.before), *steps, *([success] if scenario.is_in_place else [])]

    @property
    def _unfinished(self) -> list[list[str]]:
        """The states in which a repeated request that reports "already done" may leave the resources."""
        if self._is_abandoned or self.answer.error is None:
            return []
        return self._steps

    @property
    def _steps(self) -> list[list[str]]:
        """The pictures of the states in which a request that fails may leave the resources."""
        return [step.of(self.before) for step in STEPS.get(self.case.scenario.name, [])]

    def _with_traces(self, picture: list[str]) -> list[str]:
        """What a fault that is survived changes all the same."""
        kind = self.case.kind
        for name, other in kind.renames.items():
            picture = [line.replace(name, other) for line in picture]
        return sorted([*picture, *kind.gains])


def leftovers(case: Case) -> list[Change]:
    """List what a killed process may leave although its request is repeated."""
    return KILLED_LEAVES.get(case.scenario.name, []) if case.kind.expected == Expected.REPEATED else []


def difference(found: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """List the lines of a picture that are too many (`+`) and those that are missing (`-`)."""
    more, less = Counter(found) - Counter(wanted), Counter(wanted) - Counter(found)
    return [*(f"+ {line}" for line in more.elements()), *(f"- {line}" for line in less.elements())]


def _malformed(answer: Answer) -> Iterator[str]:
    try:
        document = answer.document
    except AssertionError as problem:
        yield str(problem)
        return
    shape = {"result": object, "error": dict | None, "log": str}
    error_shape = {"type": str, "message": str, "ok_to_retry": bool}
    is_shaped = _has_shape(document, shape) and (
        document["error"] is None
        or (_has_shape(document["error"], error_shape) and document["result"] is None)
    )
    if not is_shaped or answer.returncode != 0:
        yield f"exit status {answer.returncode}: {answer.stdout!r}"


def _has_shape(document: dict[str, Any], shape: dict[str, Any]) -> bool:
    return document.keys() == shape.keys() and all(
        isinstance(document[key], kind) for key, kind in shape.items()
    )


def _shown_secrets(answer: Answer) -> Iterator[str]:
    shown = answer.stdout.decode(errors="replace") + answer.stderr
    yield from (f"it shows {secret}" for secret in (*SECRETS, PASSWORD) if secret in shown)
