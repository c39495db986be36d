"""A deployment: the calls that a real Director made for it, in their order, as one figure.

The Director starts a process for each call, and so does this: a figure is the sum of all starts. The plain
script has no `info`, so its figure lacks these calls, and the executable's has them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from testbed.bench.figures import DEPLOYMENT, INFO, PLAINS
from testbed.bench.measuring import Start, check_alike, figures
from testbed.cloud import ROOT
from testbed.executable import Answer
from testbed.replay import Replay, director_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from testbed.bench.figures import Row
    from testbed.bench.forms import Form
    from testbed.bench.measuring import Bench
    from testbed.cloud import FakeAws

RECORDED = ROOT / "tests/data/recorded/80-director-deploy.jsonl"
"""A first deployment: a VM for compiling, and two VMs with a disk each."""


class Program:
    """A form as a replay calls it.

    Attributes:
        starts: All starts so far.
    """

    def __init__(self, bench: Bench, form: Form) -> None:
        """Begin without starts."""
        self.starts: list[Start] = []
        self._bench = bench
        self._form = form

    def raw(self, stdin: bytes) -> Answer:
        """Start the form with a request; its stderr is measured, and not kept."""
        start, answer = self._bench.ask(self._form, stdin)
        self.starts.append(start)
        return Answer(answer, "", 0, start.wall)


def deployment(bench: Bench, fake_aws: FakeAws, forms: Sequence[Form], runs: int) -> Row:
    """Measure all forms, in turn. The first deployment of each is not measured, as in the other rows.

    Args:
        bench: What starts them.
        fake_aws: The stand-in for AWS.
        forms: What is started.
        runs: How often each form does the whole deployment.

    Raises:
        BenchError: A form failed, or the forms do not make the same calls to AWS.
    """
    flow = [json.loads(line) for line in RECORDED.read_text().splitlines()]
    totals: dict[str, list[Start]] = {form.name: [] for form in forms}
    for _ in range(runs + 1):
        for form in forms:
            totals[form.name].append(_deployed(bench, fake_aws, form, flow))
    check_alike(DEPLOYMENT, {form.name: totals[form.name][-1].calls for form in forms if not form.is_bare})
    return {name: figures(each[1:], None) for name, each in totals.items()}


def _deployed(bench: Bench, fake_aws: FakeAws, form: Form, flow: Sequence[dict[str, Any]]) -> Start:
    fake_aws.reset()
    world = fake_aws.lay()
    program = Program(bench, form)
    if form.is_bare:
        for line in flow:
            program.raw(json.dumps(line["request"]).encode())
    else:
        methods = {line["request"]["method"] for line in flow}
        asked = methods - {INFO} if form.name in PLAINS else methods
        Replay(program, director_names(world)).play(flow, asked)
    return total(program.starts)


def total(starts: Sequence[Start]) -> Start:
    """Add up starts; the memory is that of the largest."""
    return Start(
        wall=sum(each.wall for each in starts),
        cpu=sum(each.cpu for each in starts),
        memory=max(each.memory for each in starts),
        stderr=sum(each.stderr for each in starts),
        calls=tuple(sorted(call for each in starts for call in each.calls)),
    )
