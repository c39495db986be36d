"""Runs the executable as its callers do: one process per call."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed import warm

Process = subprocess.Popen[bytes] | warm.Forked

EXECUTABLE = str(Path(sys.executable).parent / "cpi")
"""The console script beside this interpreter."""
ACCESS_KEY_ID = "AKIADUMMYCONFIG00001"
SECRET_ACCESS_KEY = "config-secret-key-7d31"
MBUS_PASSWORD = "mbus-secret-e0a8"
SECRETS = (ACCESS_KEY_ID, SECRET_ACCESS_KEY, MBUS_PASSWORD)
DIRECTOR_UUID = "5c6a4f0e-0000-4000-8000-000000000001"
PATIENCE = 120.0
SERVICES = ("ec2", "elb", "sts", "ebs", "iam", "kms", "service_quotas")
"""The services that the configuration has endpoints for: all."""
FORK_FROM = "TESTBED_FORK_FROM"
"""The variable that names the socket of a `testbed.warm.Warm`; without it, each executable is started."""


class Absent:
    """Stands for a key that is left out."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = Absent()


def config(
    endpoint: str,
    *,
    registry: Mapping[str, Any] | None = None,
    agent: Mapping[str, Any] | None = None,
    **aws: Any,
) -> dict[str, Any]:
    """Build the document of a cpi.json.

    Args:
        endpoint: Of the stand-in for AWS, for all its services.
        registry: The registry section; without it no registry is configured.
        agent: The agent section, in place of the default one.
        **aws: Keys of the aws section, over the defaults; `ABSENT` takes one out.
    """
    section = {
        **{f"{service}_endpoint": endpoint for service in SERVICES},
        "region": "us-east-1",
        "credentials_source": "static",
        "access_key_id": ACCESS_KEY_ID,
        "secret_access_key": SECRET_ACCESS_KEY,
        "max_retries": 2,
        "default_key_name": "bosh",
        "default_security_groups": ["bosh"],
        **aws,
    }
    properties: dict[str, Any] = {
        "aws": {key: value for key, value in section.items() if value is not ABSENT},
        "agent": agent
        if agent is not None
        else {"mbus": f"nats://nats:{MBUS_PASSWORD}@10.0.1.6:4222", "ntp": ["0.pool.ntp.org"]},
    }
    if registry is not None:
        properties["registry"] = dict(registry)
    return {"cloud": {"plugin": "aws", "properties": properties}}


@dataclass(frozen=True)
class Answer:
    """What a call of the executable came to."""

    stdout: bytes
    stderr: str
    returncode: int
    milliseconds: float

    @property
    def document(self) -> dict[str, Any]:
        """The response; an AssertionError unless stdout is that and nothing else."""
        with contextlib.suppress(ValueError):
            parsed = json.loads(self.stdout)
            if isinstance(parsed, dict):
                return parsed
        raise AssertionError(f"stdout is not one JSON object\n{self._streams()}")

    @property
    def result(self) -> Any:
        """The response's result."""
        return self.document["result"]

    @property
    def error(self) -> Any:
        """The response's error; null when there was none."""
        return self.document["error"]

    def ok(self) -> Any:
        """Return the result of a call that must succeed."""
        if self.error is not None:
            message = f"the call answered {self.error}\n{self._streams()}"
            raise AssertionError(message)
        return self.result

    def _streams(self) -> str:
        stdout = self.stdout.decode(errors="replace")
        return f"exit status {self.returncode}\nstdout: {stdout}\nstderr: {self.stderr}"


def least_environment(home: Path) -> dict[str, str]:
    """Return the executable's default variables."""
    return {
        "PATH": os.defpath,
        "HOME": str(home),
        "TMPDIR": str(home),
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def spawn(arguments: Sequence[str], environment: Mapping[str, str], folder: Path) -> Process:
    """Start the console script beside this interpreter, or fork it if `FORK_FROM` is set."""
    if path := os.environ.get(FORK_FROM):
        return warm.fork(path, arguments, environment, folder)
    return popen([EXECUTABLE, *arguments], environment, folder)


def popen(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> subprocess.Popen[bytes]:
    """Start a command, all its streams piped."""
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=folder,
    )


class Cpi:
    """The executable with one configuration."""

    def __init__(
        self,
        config: Mapping[str, Any],
        *,
        env: Mapping[str, str] | None = None,
        command: Sequence[str] | None = None,
        patience: float = PATIENCE,
        where: Path | None = None,
    ) -> None:
        """Write the configuration.

        Args:
            config: The document of the cpi.json.
            env: Variables over the minimal environment.
            command: In place of what `spawn` starts.
            patience: How many seconds a call may take.
            where: The folder that it runs in, in place of that of the configuration.
        """
        self.folder = Path(tempfile.mkdtemp(prefix="cpi-"))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self.config_path = self.folder / "cpi.json"
        self.config_path.write_text(json.dumps(config))
        self._command = command
        self._where = where or self.folder
        self._patience = patience
        self._environment = {**least_environment(self.folder), **(env or {})}

    def call(self, method: str, *arguments: Any, **more: Any) -> Answer:
        """Call a method; see `request` for what else may be given."""
        return self.raw(request(method, arguments, **more))

    def raw(self, stdin: bytes) -> Answer:
        """Give these bytes to the executable."""
        return self._answer([str(self.config_path)], stdin)

    def run(self, command: str, *arguments: str, stdin: bytes = b"") -> Answer:
        """Carry out an operator's command, `cpi COMMAND CONFIG_PATH …`."""
        return self._answer([command, str(self.config_path), *arguments], stdin)

    def _answer(self, arguments: list[str], stdin: bytes) -> Answer:
        begin = time.perf_counter()
        with self._popen(arguments) as process:
            try:
                stdout, stderr = process.communicate(stdin, timeout=self._patience)
            except BaseException:
                process.kill()
                raise
        elapsed = (time.perf_counter() - begin) * 1000
        return Answer(stdout, stderr.decode(errors="replace"), process.wait(), elapsed)

    def start(self, method: str, *arguments: Any, **more: Any) -> Process:
        """Start a call without waiting for it: the request is sent, stdin closed.

        The caller ends it: `finish(process)`.
        """
        process = self._popen([str(self.config_path)])
        assert process.stdin is not None  # noqa: S101 - tells the type checker
        process.stdin.write(request(method, arguments, **more))
        process.stdin.close()
        process.stdin = None
        return process

    def _popen(self, arguments: list[str]) -> Process:
        if self._command:
            return popen([*self._command, *arguments], self._environment, self._where)
        return spawn(arguments, self._environment, self._where)


def finish(process: Process) -> Answer:
    """Wait for a call that was started; its time is not known."""
    with process:
        try:
            stdout, stderr = process.communicate(timeout=PATIENCE)
        except BaseException:
            process.kill()
            raise
    return Answer(stdout, stderr.decode(errors="replace"), process.wait(), 0.0)


def request(
    method: str,
    arguments: Sequence[Any],
    api_version: int | None = 2,
    stemcell: object = ABSENT,
    context: Mapping[str, Any] | None = None,
) -> bytes:
    """Write a request."""
    whole: dict[str, Any] = {"director_uuid": DIRECTOR_UUID, **(context or {})}
    if stemcell is not ABSENT:
        whole["vm"] = {"stemcell": {"api_version": stemcell}}
    document: dict[str, Any] = {"method": method, "arguments": list(arguments), "context": whole}
    if api_version is not None:
        document["api_version"] = api_version
    return json.dumps(document).encode()
