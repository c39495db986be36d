"""What all tests share: one stand-in for AWS per worker, empty for each test, and the executable."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from testbed.cloud import FakeAws, lay
from testbed.executable import Cpi, config

if TYPE_CHECKING:
    from collections.abc import Iterator

    from testbed.world import World


@pytest.fixture(autouse=True)
def no_machine_configuration(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Hide the machine's own AWS configuration, proxies and CA bundles from every test."""
    for name in (
        *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION"),
        *("AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_CA_BUNDLE", "AWS_CONFIG_FILE", "BOSH_CA_CERT_FILE"),
        *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "ALL_PROXY"),
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path_factory.getbasetemp()))


@pytest.fixture(scope="session")
def server() -> Iterator[FakeAws]:
    """Run the stand-in for AWS."""
    with FakeAws() as fake_aws:
        yield fake_aws


@pytest.fixture
def fake_aws(server: FakeAws) -> FakeAws:
    """Return the stand-in for AWS, with nothing in it."""
    server.reset()
    return server


@pytest.fixture
def world(fake_aws: FakeAws) -> World:
    """Return a laid world, with no calls counted yet."""
    laid = lay(fake_aws)
    fake_aws.forget_calls()
    return laid


@pytest.fixture
def cpi(server: FakeAws) -> Cpi:
    """Return the executable, configured for the stand-in, without a registry."""
    return Cpi(config(server.endpoint))
