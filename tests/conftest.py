"""What all tests share: one stand-in for AWS per worker, empty for each test, and the executable."""

import functools
import json
import os
import re
import signal
import sys
from collections.abc import Iterator
from enum import Enum
from typing import Any

import pytest

from bosh_aws_cpi.aws.sdk import data
from testbed.cloud import ROOT, FakeAws
from testbed.executable import FORK_FROM, Cpi, config
from testbed.registry import Registry
from testbed.warm import Warm
from testbed.world import World

SLOWEST = {
    "test_aws_check.py",
    "test_console.py",
    "test_demo.py",
    "test_lifecycle.py",
}
LONGEST_NAME = 60
"""Characters of one value in a test's id."""
SPEED = 10
"""How many times faster waiting goes where a test is about what comes after it."""
CA_BUNDLES = {"BOSH_CA_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"}


# Whoever runs the tests under nohup has SIGHUP ignored, and the executable leaves it so.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
# A plain PATH lacks where the programs are that make block devices.
os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])


def pytest_configure() -> None:
    """Refuse to test the program of another checkout, which this Python's `.venv` may have installed."""
    if not data.__file__.startswith(str(ROOT)):
        raise pytest.UsageError(f"{sys.prefix} has the program of another checkout: run make venv in {ROOT}")


@pytest.hookimpl(trylast=True)  # after they are shuffled
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the slowest tests begin first, so that no worker is left alone with them in the end."""
    items.sort(key=lambda item: item.path.name not in SLOWEST)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests this machine could not run; the reasons follow, as pytest lists them."""
    if skipped := terminalreporter.stats.get("skipped"):
        terminalreporter.write_line(f"this machine can't run {len(skipped)} of the tests: see SKIPPED")


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name a test by its values, where pytest would number them."""
    if (
        val is None
        or isinstance(val, str | bytes | int | float | Enum | re.Pattern)
        or hasattr(val, "__name__")
    ):
        return None  # pytest names these itself
    text = json.dumps(val, separators=(",", ":"), default=_in_id).strip('"')
    return text if len(text) <= LONGEST_NAME else f"{text[:LONGEST_NAME]}…"


def _in_id(value: Any) -> Any:
    """Show a value in a test's id: the same in every process, so without an address or an order of a set."""
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    if isinstance(value, Exception):
        return f"{type(value).__name__}: {value}"
    text = getattr(value, "__name__", repr(value))
    return type(value).__name__ if " at 0x" in text else text


@pytest.fixture(autouse=True)
def no_machine_configuration(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Hide the machine's own AWS configuration, proxies and CA bundles from every test."""
    for name in list(os.environ):
        upper = name.upper()
        if upper.startswith("AWS_") or upper.endswith("_PROXY") or upper in CA_BUNDLES:
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path_factory.getbasetemp()))


@pytest.fixture(scope="session", autouse=True)
def sdk_data_read_once() -> Iterator[None]:
    """Read EC2's large model once for all clients that tests make of the program in their own process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data, "loader", functools.cache(data.loader))
        yield


@pytest.fixture(scope="session")
def server() -> Iterator[FakeAws]:
    """Run the stand-in for AWS."""
    with FakeAws() as fake_aws:
        yield fake_aws


@pytest.fixture
def registry() -> Iterator[Registry]:
    """Run a registry with nothing in it."""
    with Registry() as running:
        yield running


@pytest.fixture
def fake_aws(server: FakeAws) -> FakeAws:
    """Return the stand-in for AWS, with nothing in it."""
    server.reset()
    return server


@pytest.fixture
def world(fake_aws: FakeAws) -> World:
    """Return a laid world, with no calls counted yet."""
    return fake_aws.lay()


@pytest.fixture
def cpi(fake_aws: FakeAws) -> Cpi:
    """Return the executable, configured for the stand-in, without a registry."""
    return Cpi(config(fake_aws.endpoint))


@pytest.fixture(scope="session")
def loaded() -> Iterator[Warm]:
    """Run what the executable is forked from, with the clock that everybody has."""
    with Warm() as warm:
        yield warm


@pytest.fixture(scope="session")
def loaded_with_fast_clock() -> Iterator[Warm]:
    """Run what the executable is forked from, with a clock that runs faster."""
    with Warm(SPEED) as warm:
        yield warm


@pytest.fixture
def warm(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork the executable instead of starting it, unless all of them are to start: COLD=1 says so."""
    if not os.environ.get("COLD"):
        loaded: Warm = request.getfixturevalue("loaded")
        monkeypatch.setenv(FORK_FROM, loaded.path)


@pytest.fixture
def cold(warm: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start the executable where others fork it: for what its start shows."""
    del warm  # comes first, and this over it
    monkeypatch.delenv(FORK_FROM, raising=False)


@pytest.fixture
def fast_clock(warm: None, loaded_with_fast_clock: Warm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork the executable with a clock that runs faster."""
    del warm  # comes first, and this over it
    monkeypatch.setenv(FORK_FROM, loaded_with_fast_clock.path)
