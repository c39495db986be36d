"""The real `bosh` CLI as an operator runs it, with a home folder of its own."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.hypervisor import AS_ONE

TOOLS = Path(__file__).parent.parent / ".e2e" / "bin"
"""Where scripts/e2e-tools puts `bosh` and `bosh-agent`."""
PATIENCE = 3000.0
"""Seconds for one run, which may compile CPython with a profile on a slow and busy machine."""


_LINE = r"^\[[^\]\n]+\] \d{4}/\d{2}/\d{2} "
_CALL = re.compile(
    r"Exit Code (?P<status>-?\d+) when executing external CPI command '[^'\n]*'\n"
    r"STDIN: '(?P<stdin>[^\n]*)'\nSTDOUT: '(?P<stdout>.*?)'\nSTDERR: '(?P<stderr>.*?)'\n(?=" + _LINE + ")",
    re.DOTALL | re.MULTILINE,
)
_OUTPUT = re.compile(
    _LINE + r"\S+ [A-Z]+ - (?:Stdout|Stderr): (.*?)(?=" + _LINE + ")", re.DOTALL | re.MULTILINE
)
_COMMAND = re.compile(r"Running command '([^\n]*)'$", re.MULTILINE)


@dataclass(frozen=True)
class Call:
    """One call of the CPI, from the CLI's debug log."""

    status: int
    request: dict[str, Any]
    response: dict[str, Any]
    stderr: str

    @property
    def method(self) -> str:
        """The requests so far."""
        method: str = self.request["method"]
        return method


@dataclass(frozen=True)
class Run:
    """The result of a run of the CLI."""

    status: int
    output: str
    log: str

    @property
    def calls(self) -> list[Call]:
        """The calls of the CPI."""
        return [
            Call(int(each["status"]), json.loads(each["stdin"]), json.loads(each["stdout"]), each["stderr"])
            for each in _CALL.finditer(self.log)
        ]

    @property
    def methods(self) -> list[str]:
        """The methods that were called, without the `info` before each call."""
        return [call.method for call in self.calls if call.method != "info"]

    @property
    def said_by_programs(self) -> list[str]:
        """The output of the programs that the CLI started, such as the CPI and the packages' scripts.

        The rest of the log is the CLI's own, which shows the secrets of its manifest.
        """
        calls = [text for each in _CALL.finditer(self.log) for text in (each["stdout"], each["stderr"])]
        return [*calls, *_OUTPUT.findall(self.log)]

    @property
    def commands(self) -> list[str]:
        """The programs that the CLI started, with their arguments."""
        return _COMMAND.findall(self.log)

    def ok(self) -> str:
        """Return the output of a run that must succeed."""
        if self.status != 0:
            raise AssertionError(f"exit status {self.status}\n{self.output}\n{self.log[-20000:]}")
        return self.output

    def failed(self) -> str:
        """Return the output of a run that must fail."""
        if self.status == 0:
            raise AssertionError(f"it succeeded\n{self.output}")
        return self.output


class Bosh:
    """The CLI; several runs at once need a home each."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._kept = home / ".bosh"
        self._saved = home / "saved"
        self._runs = 0
        (home / "tmp").mkdir(parents=True)

    def installation(self, state: dict[str, Any]) -> Path:
        """Return the folder in which it keeps what it compiled for the environment of a state file."""
        return self._kept / "installations" / str(state["installation_id"])

    def save(self) -> None:
        """Save the CLI's state, mainly the packages that it has compiled."""
        shutil.copytree(self._kept, self._saved, symlinks=True)

    def restore(self) -> None:
        """Restore the saved state, in the same place."""
        if self._kept.exists():
            shutil.rmtree(self._kept)
        shutil.copytree(self._saved, self._kept, symlinks=True)

    def forget(self, package: str) -> None:
        """Forget what is installed, as on another machine, and that this package was compiled."""
        for installation in (self._kept / "installations").iterdir():
            shutil.rmtree(installation / "packages", ignore_errors=True)
            index = installation / "compiled_packages.json"
            if index.exists():
                known = json.loads(index.read_text())
                index.write_text(
                    json.dumps([each for each in known if each["Key"]["PackageName"] != package])
                )

    def run(self, *arguments: str | Path) -> Run:
        """Run a command to its end."""
        self._runs += 1
        log = self._home / f"run-{self._runs}.log"
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self._home),
            "TMPDIR": str(self._home / "tmp"),
            "LANG": "C.UTF-8",
            "AWS_EC2_METADATA_DISABLED": "true",
            "BOSH_NON_INTERACTIVE": "true",
            "BOSH_LOG_LEVEL": "debug",
            "BOSH_LOG_PATH": str(log),
        }
        with subprocess.Popen(
            # Without a terminal it tells the operator little.
            [*AS_ONE, TOOLS / "bosh", "--tty", "--no-color", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self._home,
            env=environment,
            start_new_session=True,  # `unshare` and the CLI are ended at once, and with them the rest
        ) as process:
            try:
                output, _ = process.communicate(timeout=PATIENCE)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        log.with_suffix(".output.log").write_bytes(output)
        return Run(process.returncode, output.decode(errors="replace"), log.read_text(errors="replace"))
