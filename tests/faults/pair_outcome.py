"""What a request with two faults in it came to: judged as after one, with what may differ after two."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.faults.allowed import OPEN_REQUEST, OUTLIVED, STEPS, UNCERTAIN, UNLISTED
from tests.faults.kinds import REFUSED, Case, Expected
from tests.faults.outcome import UNDO_FAILED, Outcome, leftovers
from tests.faults.scenario import Change

RESOURCE = re.compile(r"\+ (?:(?:instance|volume|snapshot|image|subnet) new|eni |placement group )")
"""A line of something that did not exist before."""
ROUTE = re.compile(r"[+-] route: (\S+) to ")
DELETION = re.compile("Delete|Terminate|Dere|Release|Detach")


@dataclass(frozen=True)
class PairOutcome(Outcome):
    """What a case with a second fault came to.

    Attributes:
        there: What there was before, by `Painter.holders`.
        strays: Lists what `cpi sweep` finds.
    """

    there: Mapping[str, set[str]]
    strays: Callable[[], set[str]]

    @property
    def _each(self) -> tuple[Outcome, Outcome]:
        """The judges of the two faults, as if each had been alone."""
        first = self.case
        assert first.then is not None
        kind, call = first.then
        alone = (first, Case(first.scenario, call, kind))
        one, other = (Outcome(case, self.answer, self.before, self.painter) for case in alone)
        return one, other

    @property
    def may_fail_to_undo(self) -> bool:
        """A pending signal keeps the SDK from repeating a lost cancellation, which the log then names."""
        first, second = self._each
        is_ended = first.case.kind.expected == Expected.ENDED
        return super().may_fail_to_undo or (is_ended and second.case.call.action.startswith("CancelSpot"))

    @property
    def may_succeed(self) -> bool:
        """The second fault may meet a call that no longer matters; after SIGKILL the request is repeated."""
        first, second = self._each
        is_repeated = second.case.kind.expected == Expected.REPEATED
        return is_repeated or first.may_succeed or first.is_retried

    def is_foreseen(self, error: dict[str, Any]) -> bool:
        """The error of the first fault is the one that counts, unless the request goes on after it."""
        first, second = self._each
        if self._may_have_launched:  # only the Director's retry, with the same token, finds the VM
            return second.is_refusal(error) and error["ok_to_retry"]
        return first.is_foreseen(error) or (self._goes_on and second.is_foreseen(error))

    @property
    def _may_have_launched(self) -> bool:
        """Whether a refused launch was tried before, without an answer that is certain."""
        first, second = self._each
        is_launch = first.case.call.action == second.case.call.action == "RunInstances"
        return is_launch and first.case.kind.name in UNCERTAIN and second.case.kind is REFUSED

    @property
    def _goes_on(self) -> bool:
        """Whether the request may continue after the first fault; a signal waits until a step is complete."""
        first, second = self._each
        if first.case.kind is REFUSED:
            return first.outlived is not None
        is_ended = first.case.kind.expected == Expected.ENDED
        return not (is_ended and DELETION.match(second.case.call.action))

    def _wanted(self) -> list[list[str]]:
        if not self._is_done:
            return super()._wanted()
        pictures = [self.case.scenario.success.of(self.before)]
        for each in self._each:
            pictures += [
                change.of(picture)
                for picture in pictures
                for change in _changes(each.case)
                if Counter(change.loses) <= Counter(picture)
            ]
        return pictures + self._unfinished

    def _of_rest(self, lines: list[str]) -> Iterator[str]:
        """What is left after a refused undo or a SIGKILL is listed by sweep, or belongs to what is listed."""
        is_killed = any(kind.expected == Expected.REPEATED for kind in self.case.kinds)
        is_refused = self.may_fail_to_undo and (is_killed or UNDO_FAILED in self.answer.stderr)
        if self._is_done or not (is_killed or is_refused):
            yield from super()._of_rest(lines)
            return
        listed, found = self.strays(), self.painter.holders()
        unlisted = {each for each in found.keys() - self.there if not {each, *found[each]} & listed}
        if allowed := UNLISTED.get(self.case.scenario.name):
            logged = {each for each in unlisted if is_killed or each in self.answer.stderr}
            right = self.painter.complete_images() if allowed.is_complete else logged
            unlisted -= {each for each in logged & right if each.startswith(allowed.prefixes)}
        is_open = is_killed or f"{UNDO_FAILED}, because its undo failed: open spot" in self.answer.stderr
        usual = self._partial | ({f"+ {OPEN_REQUEST}"} if is_open else set())
        others = [
            line
            for line in lines
            if not (RESOURCE.match(line) or line in usual or self._is_logged_route(line))
        ]
        if unlisted or others:
            text = f"sweep does not list {sorted(unlisted)}; it lists {sorted(listed)}"
            yield from super()._of_rest([*lines, text])

    def _is_logged_route(self, line: str) -> bool:
        """Whether the log names the route as one whose undo failed: sweep lists no routes."""
        route = ROUTE.match(line)
        return route is not None and f"{UNDO_FAILED}, because its undo failed: route to {route[1]} in" in (
            self.answer.stderr
        )

    @property
    def _partial(self) -> set[str]:
        """The lines of a request that is done in part."""
        scenario = self.case.scenario
        changes = [scenario.success, *STEPS.get(scenario.name, [])]
        lines = {f"+ {line}" for change in changes for line in change.gains}
        lines |= {line.replace("made", "new") for line in lines}
        return lines | {f"- {line}" for change in changes for line in change.loses}


def _changes(case: Case) -> Iterator[Change]:
    """List how a success may differ if one of these calls is refused, or the process killed."""
    yield from leftovers(case)
    for each in OUTLIVED.get(case.scenario.name, []):
        if case.kind is REFUSED and case.call.action in {call.rstrip("0123456789") for call in each.calls}:
            yield each.change
