"""The simulated AWS, from the outside: start it, call it, set its rules."""

import copy
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import boto3
import botocore.session
from botocore.config import Config

from testbed.program_calls import VARIABLE
from testbed.protocols import KEY_OF_TESTS
from testbed.world import World

REGION = "us-east-1"
ROOT = Path(__file__).parent.parent
STARTUP = "listening on "
PATIENCE = 90.0
"""Seconds for one request to the server's control interface."""


def scrubbed_environment(home: str) -> dict[str, str]:
    """Return an environment without anything of the machine's AWS configuration."""
    recording = {VARIABLE: str(Path(os.environ[VARIABLE]).resolve())} if VARIABLE in os.environ else {}
    return {
        **recording,
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": home,
        "TMPDIR": home,
        "PYTHONPATH": str(ROOT),
        "AWS_EC2_METADATA_DISABLED": "true",
    }


class FakeAws:
    """moto's server process for one `with` block."""

    def __init__(self) -> None:
        self.endpoint = ""
        self._home = ""
        self._clients: dict[tuple[str, str, str], Any] = {}
        self._world: World | None = None
        self._process: subprocess.Popen[bytes] | None = None
        # Never through a proxy of the machine.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def __enter__(self) -> Self:
        self._home = tempfile.mkdtemp(prefix="testbed-")
        errors = Path(self._home) / "stderr"
        with errors.open("wb") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "testbed.moto_server"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=scrubbed_environment(self._home),
                cwd=self._home,
            )
        assert self._process.stdout is not None  # noqa: S101 - tells the type checker
        line = self._process.stdout.readline().decode().strip()
        if not line.startswith(STARTUP):
            problem = errors.read_text()
            self.__exit__()
            message = f"the server did not start: {line}\n{problem}"
            raise RuntimeError(message)
        self.endpoint = line.removeprefix(STARTUP)
        return self

    def __exit__(self, *_: object) -> None:
        """End the process: it ends with its standard input."""
        if self._process is not None:
            self._process.communicate()
            self._process = None
        shutil.rmtree(self._home, ignore_errors=True)

    def client(self, service: str, region: str = REGION, account: str = "") -> Any:
        """Return a boto3 client of the server: one per service, as creating them takes long."""
        key = (service, region, account)
        if key not in self._clients:
            client = self._clients[key] = self.new_client(service, region)
            if account:
                header = {"x-moto-account-id": account}  # moto's way to choose one
                event = f"before-call.{client.meta.service_model.service_name}"
                client.meta.events.register(event, lambda params, **_: params["headers"].update(header))
        return self._clients[key]

    def new_client(self, service: str, region: str = REGION) -> Any:
        """Make a boto3 client that nothing of the machine's configuration reaches."""
        nowhere: dict[str, Any] = {
            "profile": (None, None, None, None),
            "config_file": (None, None, os.devnull, None),
            "credentials_file": (None, None, os.devnull, None),
        }
        session: Any = boto3.Session(botocore_session=botocore.session.Session(session_vars=nowhere))
        return session.client(
            service,
            region_name=region,
            endpoint_url=self.endpoint,
            aws_access_key_id=KEY_OF_TESTS,
            aws_secret_access_key="testbed",
            config=Config(proxies={}, retries={"total_max_attempts": 1}),
        )

    def reset(self) -> None:
        """Forget everything: what exists, the calls, the rules and the throttling."""
        self._ask("DELETE", "/testbed/")

    def lay(self) -> World:
        """Lay a network, an image and what else a VM needs, in place of all that exists; forget the calls.

        They are created by calls once. From then on they come back as they were, with the same ids.
        """
        self._ask("PUT", "/testbed/resources")
        if self._world is None:
            world = World.lay(self.client("ec2"), self.client("iam"), self.existing)
            self._ask("POST", "/testbed/resources")
            self.forget_calls()
            self._world = world
        return replace(self._world, groups=dict(self._world.groups), laid=copy.deepcopy(self._world.laid))

    def existing(self) -> dict[str, list[str]]:
        """List what exists; see `testbed.resources.Resources.existing`."""
        existing: dict[str, list[str]] = self._ask("GET", "/testbed/resources")
        return existing

    def contents(self) -> dict[str, list[str]]:
        """Tell what is written on each volume: the instances that have had it; see `moto_patches.copies`."""
        contents: dict[str, list[str]] = self._ask("GET", "/testbed/contents")
        return contents

    def calls(self) -> list[dict[str, Any]]:
        """List the calls so far: service, action, parameters, HTTP status and User-Agent."""
        calls: list[dict[str, Any]] = self._ask("GET", "/testbed/calls")
        return calls

    def actions(self) -> list[str]:
        """List the names of the actions so far."""
        return [call["action"] for call in self.calls()]

    def forget_calls(self) -> None:
        """Start the list of calls anew."""
        self._ask("DELETE", "/testbed/calls")

    def rule(self, **rule: Any) -> None:
        """Set a rule; see `testbed.rules.Rule` for its fields."""
        self._ask("POST", "/testbed/rules", [rule])

    def refuse(self, action: str, code: str, message: str = "No.", status: int = 400, **rule: Any) -> None:
        """Set a rule by which an action is answered with an error."""
        self.rule(action=action, error={"code": code, "message": message, "status": status}, **rule)

    def clear_rules(self) -> None:
        """Drop all rules, release the calls that they hold and show the resources that they hide."""
        self._ask("DELETE", "/testbed/rules")

    def release(self) -> None:
        """Let go of the calls and answers that are held or late."""
        self._ask("POST", "/testbed/release")

    def wait_until_held(self) -> list[str]:
        """Wait until a call or its answer is held; returns the actions that are."""
        held: list[str] = self._ask("GET", "/testbed/held")
        if not held:
            raise RuntimeError("no call was held")
        return held

    def held_within(self, seconds: float) -> list[str]:
        """Wait until a call or its answer is held, or the time is over; returns the actions that are."""
        held: list[str] = self._ask("GET", f"/testbed/held?seconds={seconds}")
        return held

    def restrict(self, **names: str) -> None:
        """Give the program's keys docs/iam-policy-restricted.json; see `testbed.iam`.

        Calls of tests may do everything.
        """
        self._ask("POST", "/testbed/policy", names)

    def throttle(self, speed: float = 1.0) -> None:
        """Throttle the program's calls as AWS does, beginning with full buckets.

        Calls of tests are never throttled.

        Args:
            speed: How many times faster than AWS's the buckets refill; 0 ends the throttling.
        """
        self._ask("POST", "/testbed/buckets", speed)

    def buckets(self) -> dict[str, dict[str, Any]]:
        """Tell how far the buckets are, by action; see `testbed.buckets.Bucket`."""
        buckets: dict[str, dict[str, Any]] = self._ask("GET", "/testbed/buckets")
        return buckets

    def _ask(self, method: str, path: str, document: object = None) -> Any:
        body = b"" if document is None else json.dumps(document).encode()
        request = urllib.request.Request(self.endpoint + path, body, method=method)  # noqa: S310
        try:
            with self._opener.open(request, timeout=PATIENCE) as response:
                return json.loads(response.read())
        except urllib.request.HTTPError as error:
            with error:
                message = f"{method} {path}: {error.code} {error.read().decode()}"
            raise RuntimeError(message) from None
