"""Pairs of faults: the first at a call of a scenario, the second at a call that the program makes after it.

They are drawn by a seed: the same seed draws the same pairs.
"""

import os
import random
import signal
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, auto

from testbed.executable import PATIENCE, Answer, Process, finish
from testbed.killing import hold_next, wait_until_held
from testbed.rules import ANY
from testbed.warm_server import TIMEOUT_SPEED
from tests.conftest import SPEED
from tests.faults.kinds import (
    FAULT,
    KILLED,
    KILLED_FIRST,
    LOST,
    NOT_FOUND_YET,
    REFUSED,
    TERMINATED,
    THROTTLED,
    THROTTLED_LONG,
    Case,
    Expected,
    Kind,
)
from tests.faults.scenario import MAKING, Call, Scenario
from tests.faults.scenarios import SCENARIOS
from tests.faults.stage import Stage

SEED = os.environ.setdefault("FAULT_SEED", f"{datetime.now(UTC):%Y-%m-%d}")
"""Pytest's workers inherit it, so all of them draw the same pairs, at midnight too."""
NUMBER = 100
LATE = 61
"""Seconds: longer than an attempt waits for its answer."""
TIMED_OUT = Kind("time-out", Expected.SURVIVED, lambda _: {"delay": LATE / SPEED})
RESET = Kind("connection reset", Expected.SURVIVED, lambda _: {"drop": "reset"})
PASSING = (THROTTLED, FAULT, TIMED_OUT, RESET, LOST)
"""After these the program goes on: it makes the same call again, or looks what became of it."""
HASTY = {TIMEOUT_SPEED: str(SPEED)}
"""The environment of a request in which an answer comes too late."""
SIGNALS = {Expected.ENDED: signal.SIGTERM, Expected.REPEATED: signal.SIGKILL}
SECOND = (*PASSING, THROTTLED_LONG, REFUSED, NOT_FOUND_YET, TERMINATED, KILLED_FIRST, KILLED)


class Where(Enum):
    """Which call the second fault meets: the same, a later one, one of the undo, or one after a SIGKILL."""

    AGAIN = auto()
    LATER = auto()
    ENDING = auto()
    REPEATED = auto()


FIRST = {
    Where.AGAIN: PASSING,
    Where.LATER: (*PASSING, NOT_FOUND_YET),
    Where.ENDING: (REFUSED, TERMINATED),
    Where.REPEATED: (KILLED, KILLED_FIRST),
}


@dataclass(frozen=True)
class Pair:
    """Two faults.

    Attributes:
        scenario: The request.
        call: The call that the first one meets.
        first: The first one.
        second: The second one.
        action: The action that the second one meets.
        nth: Which of the calls of that action it meets, counted from the first fault.
    """

    scenario: Scenario
    call: Call
    first: Kind
    second: Kind
    action: str
    nth: int


@dataclass(frozen=True)
class Place:
    """What is known of a pair before it is tried.

    Attributes:
        name: The seed of the rest.
        scenario: The request.
        where: The second fault's place.
    """

    name: str
    scenario: Scenario
    where: Where

    @property
    def again(self) -> str:
        """The command that tries it again."""
        seed = self.name.rpartition("-")[0]
        return f"""FAULT_SEED={seed} make faults PYTEST_ARGS="-k 'test_pair[{self.name}'\""""

    def __str__(self) -> str:
        return f"{self.name}-{self.scenario.name}".replace(" ", "_")


def places(seed: str, number: int) -> list[Place]:
    """Draw the scenario of each pair, and where its second fault is; the rest is drawn by `draw`."""
    lot = random.Random(seed)  # noqa: S311 - must be the same again
    listed = []
    for place in range(number):
        where = list(Where)[place % len(Where)]
        able = [each for each in SCENARIOS if where != Where.ENDING or MAKING & set(each.calls)]
        (scenario,) = lot.choices(able, [len(each.calls) for each in able])
        listed.append(Place(f"{seed}-{place:03}", scenario, where))
    return listed


def draw(lot: random.Random, at: Place) -> Pair:
    """Draw a pair; whether its second fault meets a call shows only when it is tried."""
    scenario, where = at.scenario, at.where
    calls = list(scenario.each())
    made = next((place for place, call in enumerate(calls) if call.action in MAKING), 0)
    place = lot.randrange(made if where == Where.ENDING else 0, len(calls))
    call = calls[place]
    firsts = [each for each in FIRST[where] if each is not NOT_FOUND_YET or call.action in MAKING]
    first, second = lot.choice(firsts), lot.choice(SECOND)
    reach = {Where.LATER: len(calls) - place, Where.ENDING: 3, Where.REPEATED: len(calls)}.get(where, 1)
    nth = lot.randint(1, reach)
    if where == Where.AGAIN:
        return Pair(scenario, call, first, second, call.action, 1)
    if second is NOT_FOUND_YET:  # only what is being made can be unknown
        making = sorted(MAKING & set(scenario.calls)) or [ANY]
        return Pair(scenario, call, first, second, lot.choice(making), 1)
    return Pair(scenario, call, first, second, ANY, nth)


class Play:
    """One request with a pair of faults.

    Attributes:
        answers: Of each process, in their order.
    """

    def __init__(self, stage: Stage) -> None:
        """Take the stage, where the scenario is laid."""
        self.answers: list[Answer] = []
        self._stage = stage
        self._aws = stage.fake_aws
        self._process: Process | None = None

    def run(self, pair: Pair) -> Case | None:
        """Make the request, and make it again after each SIGKILL.

        Returns:
            The case, with the call that the second fault met; none if it met no call.
        """
        self._aws.rule(action=pair.call.action, nth=pair.call.nth, hold_before=True)
        self._process = self._stage.start()
        try:
            action = hold_next(self._aws, self._process)
            is_killed = pair.first.expected == Expected.REPEATED
            second = {"action": pair.action, "hold_before": True}
            if not is_killed:  # the call that is held counts
                counted = pair.action in {ANY, action}
                self._aws.rule(**second, nth=pair.nth + counted)
            if not self._inflict(pair.first, action):
                return None
            if is_killed:
                self._aws.rule(**second, nth=pair.nth)
                self._process = self._stage.start()
            met = wait_until_held(self._aws, self._process)
            if not met or not is_felt(pair, met) or not self._inflict(pair.second, met):
                return None
            if pair.second.expected == Expected.REPEATED:
                if pair.first is REFUSED:
                    self._aws.clear_rules()
                self._process = self._stage.start()
        except BaseException:
            self._process.kill()
            raise
        finally:
            self._aws.release()
            self.answers.append(finish(self._process))
        return Case(pair.scenario, pair.call, pair.first, (pair.second, Call(met, 1, is_settled=True)))

    @property
    def answer(self) -> Answer:
        """The last answer, with what all processes have logged."""
        last = self.answers[-1]
        stderr = "".join(each.stderr for each in self.answers)
        return Answer(last.stdout, stderr, last.returncode, last.milliseconds)

    def _inflict(self, kind: Kind, action: str) -> bool:
        """Let a fault meet the call of this action that is held; after SIGKILL no process runs.

        Returns:
            Whether it met one. Of the parallel calls of an upload, another may take the fault's rule, and be
            released together with the call that was held.
        """
        assert self._process is not None
        number = SIGNALS.get(kind.expected)
        if number is None:
            self._aws.rule(action=action, nth=1, **kind.rule(action))
            self._aws.release()
            return True
        if kind.name.endswith("after"):
            self._aws.rule(action=action, nth=1, hold=True)
            self._aws.release()
            if not wait_until_held(self._aws, self._process):
                return False
        self._process.send_signal(number)
        if number == signal.SIGKILL:
            self._process.wait(timeout=PATIENCE)
            self._aws.release()
            self.answers.append(finish(self._process))
        else:
            self._aws.release()
        return True


def is_felt(pair: Pair, met: str) -> bool:
    """Whether the second fault changes anything at the call that it has met."""
    is_shadowed = pair.first is REFUSED and met == pair.call.action and pair.second.expected not in SIGNALS
    return not is_shadowed and (pair.second is not NOT_FOUND_YET or met in MAKING)
