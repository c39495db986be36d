"""The life of a VM on a simulated AWS, shown and checked call by call: `python -m testbed.demo`."""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed import demo_tools
from testbed.demo_lives import AGENT, GONE, LIVES, Life, Step
from testbed.demo_match import Id, Names, difference, learn, resolve
from testbed.demo_stage import Stage, main_status, staged
from testbed.demo_state import state
from testbed.demo_text import (
    BOLD,
    DIM,
    GREEN,
    RED,
    YELLOW,
    brief,
    calls_in_short,
    cell,
    masked,
    paint,
    readable,
)
from testbed.executable import Answer, Cpi, config
from testbed.registry import PASSWORD, USER

if TYPE_CHECKING:
    from collections.abc import Sequence

METHOD, ARGUMENTS, RESULT, TIME = 17, 44, 36, 5
"""Widths of the columns; the calls of AWS come last and take what they need."""


class Difference(Exception):
    """A result is wrong; the message says where, and the expected one."""


class Play:
    """The lives, one after the other, in one world.

    Attributes:
        calls: The number of calls that passed their checks.
        vms: The number of VMs whose settings passed their checks.
    """

    def __init__(self, stage: Stage, command: Sequence[str] | None = None) -> None:
        """Prepare.

        Args:
            stage: The stand-ins to use.
            command: A command to run instead of the executable in this environment.
        """
        self._stage = stage
        self._command = command
        self._state = state(stage)
        self._names = Names()
        self._settings: dict[str, Any] = {}
        self.calls = 0
        self.vms = 0

    def play(self, life: Life) -> None:
        """Run a life, and show the settings that the VM's agent boots with."""
        world, registry = self._stage.world, self._stage.registry
        laid = {
            "image": world.image_id,
            "zone": world.zone,
            "subnet": world.subnet_ids[0],
            "other_subnet": world.subnet_ids[1],
            "registry": registry.endpoint,
        }
        self._names = Names({name: Id(value) for name, value in laid.items()})
        cpi = Cpi(self._configuration(life), command=self._command)
        print("\n" + paint(life.title, BOLD))
        titles = [cell("call", METHOD), cell("arguments", ARGUMENTS), cell("result", RESULT)]
        print(paint("  ".join([*titles, "ms".rjust(TIME), "AWS calls"]), DIM))
        for step in life.steps():
            self._step(cpi, life, step)
        self._show()

    def check_nothing_left(self) -> None:
        """Fail when any created resource is left behind."""
        world = self._stage.world
        found = {**world.state(), "registry": list(self._stage.registry.documents)}
        if left := difference({**world.empty, "registry": []}, found):
            raise Difference(f"Failed: something is left at the end.\n{left}")

    def _configuration(self, life: Life) -> dict[str, Any]:
        registry = {"endpoint": self._stage.registry.endpoint, "user": USER, "password": PASSWORD}
        section = registry if life.document else None
        return config(self._stage.fake_aws.endpoint, agent=AGENT, registry=section)

    def _step(self, cpi: Cpi, life: Life, step: Step) -> None:
        """Make a call, show it and check it."""
        arguments = resolve(step.arguments, self._names)
        self._stage.fake_aws.forget_calls()
        self._stage.registry.requests.clear()
        where = f"{step.method} {brief(arguments)}"
        try:
            answer = cpi.call(step.method, *arguments, api_version=life.contract, stemcell=life.stemcell)
            document = answer.document
        except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
            raise self._failed(where, f"{type(error).__name__}: {error}") from None
        actions = self._stage.fake_aws.actions()
        asked = [request.method for request in self._stage.registry.requests]
        print(line(step.method, arguments, answer, calls_in_short(actions, asked)))
        problem = self._problem(step, document, actions)
        if not problem and answer.returncode != 0:
            problem = f"The exit status is {answer.returncode}."
        if problem:
            raise self._failed(where, f"{problem}\n\nstderr of the call:\n{answer.stderr}")
        self.calls += 1
        if step.shows:
            self._settings = {
                key: value for key, value in self._state.items() if key.endswith((" user_data", " registry"))
            }

    def _failed(self, where: str, problem: str) -> Difference:
        return Difference(f"Failed at call {self.calls + 1}, {where}\n{problem}")

    def _problem(self, step: Step, document: dict[str, Any], actions: list[str]) -> str:
        """Describe the error of a call; empty when there is none."""
        if step.any_order and isinstance(document.get("result"), list):
            document = {**document, "result": sorted(document["result"], key=str)}
        learn(step.result, document.get("result"), self._names)
        expected = resolve({"result": step.result, "error": step.error, "log": ""}, self._names)
        if step.any_order:
            expected["result"].sort()
        if step.error and isinstance(document.get("log"), str):
            expected["log"] = document["log"]  # a backtrace, of any text
        if found := difference(expected, document):
            return f"The answer differs.\n{found}"
        writes = [action for action in actions if not action.startswith("Describe")]
        if found := difference(list(step.writes), writes):
            return f"The calls that change something in AWS differ.\n{found}"
        return self._problem_of_state(step)

    def _problem_of_state(self, step: Step) -> str:
        found = state(self._stage)
        for key, value in step.changes.items():
            name = resolve(key, self._names)
            learn(value, found.get(name), self._names)
            self._state.pop(name, None)
            if value is not GONE:
                self._state[name] = resolve(value, self._names)
        differs = difference(self._state, found)
        return f"What there is now in AWS and the registry differs.\n{differs}" if differs else ""

    def _show(self) -> None:
        self.vms += 1
        for key, document in self._settings.items():
            vm_cid, kind = key.split()
            what = "user_data, decoded" if kind == "user_data" else "the registry's document"
            print("\n" + paint(f"The agent's settings of {vm_cid}: {what}", BOLD))
            print(masked(readable(document)))


def line(method: str, arguments: list[Any], answer: Answer, calls: str) -> str:
    """Write the line of a call."""
    error = answer.document.get("error")
    if isinstance(error, dict):
        kind = str(error.get("type")).rpartition("::")[2]
        result = paint(cell(f"{kind}: {brief(error.get('message'))}", RESULT), YELLOW)
    else:
        result = cell(brief(answer.document.get("result")), RESULT)
    columns = [
        paint(cell(method, METHOD), BOLD),
        cell(" ".join(map(brief, arguments)), ARGUMENTS),
        result,
        f"{answer.milliseconds:{TIME}.0f}",
        paint(calls, DIM),
    ]
    return "  ".join(columns)


def show(command: Sequence[str] | None = None) -> int:
    """Show and check everything.

    Returns:
        The exit status.
    """
    print("The life of a VM: every line is one process of the CPI, on a simulated AWS (moto).")
    with staged() as stage:
        play = Play(stage, command)
        try:
            for life in LIVES:
                play.play(life)
            if command is None:  # another CPI has no such tools
                demo_tools.show(stage)
            play.check_nothing_left()
        except (Difference, demo_tools.Unexpected) as problem:
            print("\n" + paint(masked(str(problem)), RED, sys.stderr), file=sys.stderr)
            return 1
    checked = (
        f"Checked: {play.calls} calls, the agent's settings of {play.vms} VMs, every answer's shape, "
        "and that nothing is left in EC2 or the registry."
    )
    print("\n" + paint(checked, GREEN))
    return 0


def command_line(text: str) -> list[str]:
    """Read a command, and find its program as a shell does.

    Raises:
        ArgumentTypeError: There is no program of that name.
    """
    words = shlex.split(text)
    program = shutil.which(words[0]) if words else None
    if program is None:
        raise argparse.ArgumentTypeError(f"no such command: {text!r}")
    return [str(Path(program).absolute()), *words[1:]]


def main() -> int:
    """Run the demo."""
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    parser = argparse.ArgumentParser(prog="python -m testbed.demo", description=__doc__)
    parser.add_argument(
        "--cpi",
        type=command_line,
        metavar="COMMAND",
        help="show another CPI: a command that is started with the path of the configuration added "
        "(what paths it has itself must be absolute)",
    )
    return show(parser.parse_args().cpi)


if __name__ == "__main__":
    sys.exit(main_status(main))
