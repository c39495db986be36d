"""Starts the forms of a row in turn, and reads the cost of each start."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed.bench.forms import Form, Front, yardsticks
from testbed.bench.rows import ROLE, ROWS, TLS, added, method_of
from testbed.cloud import FakeAws
from testbed.executable import ABSENT, config, least_environment, request

TIMED = [sys.executable, "-I", "-S", str(Path(__file__).with_name("timed.py"))]
VALGRIND = shutil.which("valgrind")
"""Counts instructions, which are the same however busy the machine is; None where it is not installed."""
COUNTING = [str(VALGRIND), "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
ROLE_ARN = "arn:aws:iam::123456789012:role/cpi"
MEMORY_UNITS_PER_MIB = 1 << (20 if sys.platform == "darwin" else 10)
"""macOS tells a process's peak in bytes, Linux in KiB."""


class BenchError(Exception):
    """A measured program failed; the message says how."""


@dataclass(frozen=True)
class Start:
    """What one start took.

    Attributes:
        cpu: Milliseconds, of the process and of those that it started itself.
        memory: MiB, at the peak.
        calls: AWS's actions, sorted.
    """

    cpu: float
    memory: float
    calls: tuple[str, ...]


@dataclass(frozen=True)
class Figures:
    """What a form took for a row.

    Attributes:
        instructions: Millions; None where valgrind is not installed.
        cpu: Milliseconds, the least of all starts.
        memory: MiB, the least of all starts.
        calls: How many to AWS.
    """

    instructions: float | None
    cpu: float
    memory: float
    calls: int


class Bench:
    """Measures calls against one stand-in for AWS."""

    def __init__(self, fake_aws: FakeAws, folder: Path, front: Front | None = None) -> None:
        self._fake_aws = fake_aws
        self._folder = folder
        self._front = front
        self._environment = least_environment(folder)

    def row(self, name: str, executables: Sequence[Form], runs: int) -> dict[str, Figures]:
        """Measure the executable's forms and their yardsticks; returns what each took, by its name.

        One start of each is not measured: after it, the bytecode is there for the others.
        """
        others = yardsticks(method_of(name))
        forms = {each.name: each for form in executables for each in (others[form.name], form)}
        for form in forms.values():
            self._start(name, form)
        starts: dict[str, list[Start]] = {each: [] for each in forms}
        for _ in range(runs):
            for each, form in forms.items():
                starts[each].append(self._start(name, form))
        check_alike(name, {each: starts[each][0].calls for each, form in forms.items() if form.program})
        return {each: self._figures(name, form, starts[each]) for each, form in forms.items()}

    def _figures(self, name: str, form: Form, starts: Sequence[Start]) -> Figures:
        return Figures(
            instructions=self._instructions(name, form) if VALGRIND else None,
            cpu=min(each.cpu for each in starts),
            memory=min(each.memory for each in starts),
            calls=len(starts[0].calls),
        )

    def _instructions(self, name: str, form: Form) -> float:
        """Count the instructions of one more start, in millions."""
        log = self._folder / "instructions"
        self._start(name, form, [*COUNTING, f"--log-file={log}"], PYTHONHASHSEED="0")
        found = re.search(r"I\s+refs:\s+([\d,]+)", log.read_text())
        if not found:
            message = f"{form.name}: valgrind counted no instructions:\n{log.read_text()}"
            raise BenchError(message)
        return int(found[1].replace(",", "")) / 1_000_000

    def _start(self, name: str, form: Form, tool: Sequence[str] = (), **environment: str) -> Start:
        """Start a form once, under a tool if one is given."""
        asked = request(method_of(name), ROWS[name](self._fake_aws), stemcell=2)
        if self._front and TLS in added(name) and not form.trusts_front:
            environment["AWS_CA_BUNDLE"] = str(self._front.bundle)
        stdin, stdout, stderr = (self._folder / stream for stream in ("stdin", "stdout", "stderr"))
        stdin.write_bytes(asked)
        self._fake_aws.forget_calls()
        command = [*tool, *form.command(self._config(name))]
        ended = subprocess.run(
            [*TIMED, str(stdin), str(stdout), str(stderr), *command],
            check=True,
            capture_output=True,
            text=True,
            env=self._environment | environment,
            cwd=self._folder,
        )
        cpu, memory, status = map(float, ended.stdout.split())
        answer = stdout.read_bytes()
        if status or (form.program and not _is_well(answer)):
            message = f"{form.name}: {name} failed: {answer.decode()}\n{stderr.read_text()}"
            raise BenchError(message)
        calls = tuple(sorted(self._fake_aws.actions()))
        return Start(cpu, memory / MEMORY_UNITS_PER_MIB, calls)

    def _config(self, name: str) -> Path:
        """Write the configuration of a row's calls."""
        path = self._folder / "cpi.json"
        over_tls = TLS in added(name) and self._front
        endpoint = f"https://{over_tls.address}" if over_tls else self._fake_aws.endpoint
        role = ROLE_ARN if ROLE in added(name) else ABSENT
        path.write_text(json.dumps(config(endpoint, role_arn=role)))
        return path


def _is_well(answer: bytes) -> bool:
    return bool(answer) and json.loads(answer)["error"] is None


def check_alike(name: str, calls: dict[str, tuple[str, ...]]) -> None:
    """Refuse to compare forms that have not made the same calls to AWS."""
    if len(set(calls.values())) > 1:
        lines = [f"  {form}: {', '.join(each)}" for form, each in calls.items()]
        message = f"{name}: the forms make different calls to AWS\n" + "\n".join(lines)
        raise BenchError(message)
