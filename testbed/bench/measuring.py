"""Starts each form many times, in turn, and reads the cost of each start."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.bench.figures import Row, Starts, spread
from testbed.bench.rows import ROLE, ROWS, TLS, added, method_of
from testbed.executable import ABSENT, config, least_environment, request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from testbed.bench.forms import Form, Front
    from testbed.cloud import FakeAws

HERE = Path(__file__).parent
TIMED = [sys.executable, "-I", "-S", str(HERE / "timed.py")]
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
        wall: Milliseconds.
        cpu: Milliseconds, of the process and of those that it started itself.
        memory: MiB, at the peak.
        stderr: Bytes.
        calls: AWS's actions, sorted.
    """

    wall: float
    cpu: float
    memory: float
    stderr: int
    calls: tuple[str, ...]


class Bench:
    """Measures calls against one stand-in for AWS.

    Args:
        fake_aws: The stand-in.
        folder: Where the processes run; it is their home, so that they find what an earlier one keeps.
        front: The stand-in over TLS; without one there are no rows over TLS.
    """

    def __init__(self, fake_aws: FakeAws, folder: Path, front: Front | None = None) -> None:
        self._fake_aws = fake_aws
        self._folder = folder
        self._front = front
        self._environment = least_environment(folder)

    def row(self, name: str, forms: Sequence[Form], runs: int) -> Row:
        """Measure a row.

        One start of each form is not measured: it counts modules, and has what is kept from one call to
        the next (bytecode, the facts of instance types, copies of the SDK's data) be there for the others.

        Args:
            name: In `ROWS`.
            forms: What is started, in turn.
            runs: How often each is.

        Returns:
            What each form took, by its name.

        Raises:
            BenchError: A form failed, or the forms do not make the same calls to AWS.
        """
        modules = {form.name: self._modules(name, form) for form in forms}
        starts: dict[str, list[Start]] = {form.name: [] for form in forms}
        for _ in range(runs):
            for form in forms:
                asked = _request(method_of(name), ROWS[name](self._fake_aws))
                starts[form.name].append(self._run(form, form.command(self._config(name)), asked, name)[0])
        check_alike(name, {form.name: starts[form.name][0].calls for form in forms if not form.is_bare})
        counted = {form.name: self._instructions(name, form) for form in forms if VALGRIND}
        check_alike(
            name, {form.name: counted[form.name][1] for form in forms if counted and not form.is_bare}
        )
        instructions = {form: each[0] for form, each in counted.items()}
        return {form: figures(each, modules[form], instructions.get(form)) for form, each in starts.items()}

    def start(self, form: Form, method: str, arguments: list[Any]) -> Start:
        """Start a form once, with a request for a method.

        Raises:
            BenchError: It failed, or answered an error.
        """
        return self.ask(form, _request(method, arguments))[0]

    def ask(self, form: Form, stdin: bytes) -> tuple[Start, bytes]:
        """Start a form once, with a request; returns the start and its answer.

        Raises:
            BenchError: It failed, or answered an error.
        """
        return self._run(form, form.command(self._config("")), stdin)

    def _config(self, row: str) -> Path:
        """Write the configuration of a row's calls."""
        path = self._folder / "cpi.json"
        over_tls = TLS in added(row) and self._front
        endpoint = f"https://{over_tls.address}" if over_tls else self._fake_aws.endpoint
        role = ROLE_ARN if ROLE in added(row) else ABSENT
        path.write_text(json.dumps(config(endpoint, role_arn=role)))
        return path

    def _modules(self, row: str, form: Form) -> int:
        file = self._folder / "modules"
        file.unlink(missing_ok=True)
        stdin = _request(method_of(row), ROWS[row](self._fake_aws))
        self._run(form, form.counting(file, self._config(row)), stdin, row)
        return int(file.read_text())

    def _instructions(self, row: str, form: Form) -> tuple[float, tuple[str, ...]]:
        """Count the instructions of one start, in millions; returns also its calls to AWS."""
        log = self._folder / "instructions"
        stdin = _request(method_of(row), ROWS[row](self._fake_aws))
        command = form.under([*COUNTING, f"--log-file={log}"], self._config(row))
        start, _ = self._run(form, command, stdin, row, PYTHONHASHSEED="0")
        found = re.search(r"I\s+refs:\s+([\d,]+)", log.read_text())
        if not found:
            message = f"{form.name}: valgrind counted no instructions:\n{log.read_text()}"
            raise BenchError(message)
        return round(int(found[1].replace(",", "")) / 1_000_000, 1), start.calls

    def _run(
        self, form: Form, command: list[str], asked: bytes, row: str = "", **environment: str
    ) -> tuple[Start, bytes]:
        if self._front and TLS in added(row) and not form.trusts_front:
            environment["AWS_CA_BUNDLE"] = str(self._front.bundle)
        stdin, stdout, stderr = (self._folder / name for name in ("stdin", "stdout", "stderr"))
        stdin.write_bytes(asked)
        self._fake_aws.forget_calls()
        ended = subprocess.run(
            [*TIMED, str(stdin), str(stdout), str(stderr), *command],
            check=True,
            capture_output=True,
            text=True,
            env=self._environment | environment,
            cwd=self._folder,
        )
        wall, cpu, memory, status = map(float, ended.stdout.split())
        answer = stdout.read_bytes()
        if status or not (form.is_bare or _is_well(answer)):
            method = json.loads(asked)["method"]
            message = f"{form.name}: {method} failed: {answer.decode()}\n{stderr.read_text()}"
            raise BenchError(message)
        calls = tuple(sorted(self._fake_aws.actions()))
        return Start(wall, cpu, memory / MEMORY_UNITS_PER_MIB, stderr.stat().st_size, calls), answer


def _request(method: str, arguments: list[Any]) -> bytes:
    return request(method, arguments, 2, 2, None)


def _is_well(answer: bytes) -> bool:
    return bool(answer) and json.loads(answer)["error"] is None


def check_alike(method: str, calls: dict[str, tuple[str, ...]]) -> None:
    """Check that all forms have made the same calls to AWS; otherwise they can't be compared.

    Raises:
        BenchError: They have not.
    """
    if len(set(calls.values())) > 1:
        lines = [f"  {name}: {', '.join(each)}" for name, each in calls.items()]
        message = f"{method}: the forms make different calls to AWS\n" + "\n".join(lines)
        raise BenchError(message)


def figures(starts: Sequence[Start], modules: int | None, instructions: float | None = None) -> Starts:
    """Summarize the starts of a form; modules and instructions are None where they were not counted."""
    return Starts(
        cpu=spread(each.cpu for each in starts),
        wall=spread(each.wall for each in starts),
        memory=spread(each.memory for each in starts),
        modules=modules,
        calls=len(starts[0].calls),
        stderr=max(each.stderr for each in starts),
        instructions=instructions,
    )
