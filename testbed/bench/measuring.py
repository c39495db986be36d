"""Starts each form many times, in turn, and reads the cost of each start."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.bench.figures import Row, Starts, spread
from testbed.bench.rows import ROWS
from testbed.executable import config, least_environment, request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from testbed.bench.forms import Form
    from testbed.cloud import FakeAws

HERE = Path(__file__).parent
TIMED = [sys.executable, "-I", "-S", str(HERE / "timed.py")]
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
    """

    def __init__(self, fake_aws: FakeAws, folder: Path) -> None:
        self._fake_aws = fake_aws
        self._folder = folder
        self._config_path = folder / "cpi.json"
        self._config_path.write_text(json.dumps(config(fake_aws.endpoint)))
        self._environment = least_environment(folder)

    def row(self, method: str, forms: Sequence[Form], runs: int) -> Row:
        """Measure a method.

        One start of each form is not measured: it counts modules, and has what is kept from one call to
        the next (bytecode, the facts of instance types, copies of the SDK's data) be there for the others.

        Args:
            method: Its name.
            forms: What is started, in turn.
            runs: How often each is.

        Returns:
            What each form took, by its name.

        Raises:
            BenchError: A form failed, or the forms do not make the same calls to AWS.
        """
        modules = {form.name: self._modules(method, form) for form in forms}
        starts: dict[str, list[Start]] = {form.name: [] for form in forms}
        for _ in range(runs):
            for form in forms:
                starts[form.name].append(self.start(form, method, ROWS[method](self._fake_aws)))
        check_alike(method, {form.name: starts[form.name][0].calls for form in forms if not form.is_bare})
        return {name: figures(each, modules[name]) for name, each in starts.items()}

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
        return self._run(form, form.command(self._config_path), stdin)

    def _modules(self, method: str, form: Form) -> int:
        file = self._folder / "modules"
        file.unlink(missing_ok=True)
        stdin = _request(method, ROWS[method](self._fake_aws))
        self._run(form, form.counting(file, self._config_path), stdin)
        return int(file.read_text())

    def _run(self, form: Form, command: list[str], asked: bytes) -> tuple[Start, bytes]:
        stdin, stdout, stderr = (self._folder / name for name in ("stdin", "stdout", "stderr"))
        stdin.write_bytes(asked)
        self._fake_aws.forget_calls()
        ended = subprocess.run(
            [*TIMED, str(stdin), str(stdout), str(stderr), *command],
            check=True,
            capture_output=True,
            text=True,
            env=self._environment,
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


def figures(starts: Sequence[Start], modules: int | None) -> Starts:
    """Summarize the starts of a form; `modules` is None where they were not counted."""
    return Starts(
        cpu=spread(each.cpu for each in starts),
        wall=spread(each.wall for each in starts),
        memory=spread(each.memory for each in starts),
        modules=modules,
        calls=len(starts[0].calls),
        stderr=max(each.stderr for each in starts),
    )
