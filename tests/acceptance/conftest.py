"""Starts the programs as a person does, in an account of the simulated AWS."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from testbed.cloud import ROOT, FakeAws, scrubbed_environment
from testbed.executable import FORK_FROM
from testbed.world import World

KEYS = {"AWS_ACCESS_KEY_ID": "AKIAACCEPTANCE", "AWS_SECRET_ACCESS_KEY": "acceptance-secret-1f0c"}
NETWORK = {
    "describe_vpcs": "Vpcs",
    "describe_subnets": "Subnets",
    "describe_internet_gateways": "InternetGateways",
    "describe_route_tables": "RouteTables",
    "describe_security_groups": "SecurityGroups",
    "describe_addresses": "Addresses",
}
"""Kinds of resources that the programs create and a CPI does not."""


@dataclass(frozen=True)
class Run:
    """How a run of a program ended."""

    status: int
    report: str
    document: dict[str, Any]

    @property
    def run_id(self) -> str:
        """The run's id, with which its resources are tagged."""
        run_id: str = self.document["run"]
        return run_id


@pytest.fixture
def environment(tmp_path: Path, warm: None) -> dict[str, str]:
    """Return an environment with keys that open nothing, in which the programs fork the executable."""
    del warm
    forking = {name: path for name, path in os.environ.items() if name == FORK_FROM}
    return {**scrubbed_environment(str(tmp_path)), **KEYS, "AWS_REGION": "us-east-1", **forking}


@pytest.fixture
def command(fake_aws: FakeAws, world: World) -> Callable[..., list[str]]:
    """Return a function that writes the command line of a program in this account."""

    def write(program: str, *arguments: str) -> list[str]:
        where = ["--endpoint", fake_aws.endpoint, "--image", world.image_id, "--json"]
        return [sys.executable, "-m", f"acceptance.{program}", *where, *arguments]

    return write


@pytest.fixture
def start(
    command: Callable[..., list[str]], environment: dict[str, str]
) -> Callable[..., subprocess.Popen[str]]:
    """Return a function that starts a program."""

    def begin(program: str, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command(program, *arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            env=environment,
            cwd=ROOT,
        )

    return begin


@pytest.fixture
def run(start: Callable[..., subprocess.Popen[str]]) -> Callable[..., Run]:
    """Return a function that runs a program to its end, and checks that its output has no secret."""

    def finish(program: str, *arguments: str) -> Run:
        with start(program, *arguments) as process:
            stdout, stderr = process.communicate()
        assert "acceptance-secret" not in stdout + stderr
        return Run(process.returncode, stderr, json.loads(stdout) if stdout else {})

    return finish


@pytest.fixture
def network(world: World) -> Callable[[], dict[str, set[str]]]:
    """Return a function that lists all networks and their parts."""

    def look() -> dict[str, set[str]]:
        answers = {items: getattr(world.ec2, operation)()[items] for operation, items in NETWORK.items()}
        return {
            items: {json.dumps(each, default=str, sort_keys=True) for each in found}
            for items, found in answers.items()
        }

    return look


@pytest.fixture
def nothing_left(world: World, network: Callable[[], dict[str, set[str]]]) -> Callable[[], None]:
    """Return a function that checks that exactly the earlier resources exist."""
    before = network()

    def check() -> None:
        assert world.state() == world.empty
        assert network() == before

    return check
