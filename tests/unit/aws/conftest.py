"""Clients as calls get them, for which no time passes while they wait to try again."""

from typing import Any

import pytest

from bosh_aws_cpi.aws.sdk.clients import Clients
from bosh_aws_cpi.call_statistics import CallStatistics
from bosh_aws_cpi.config import cpi_config
from bosh_aws_cpi.config.aws_config import AwsConfig
from testbed.cloud import FakeAws
from testbed.protocols import KEY_OF_TESTS
from tests.unit.conftest import Clock

RETRIES = 2
"""How often a fault is met by another attempt."""


@pytest.fixture
def aws(
    fake_aws: FakeAws,
    clock: Clock,  # noqa: ARG001 - replaces the time before the clients read it
    monkeypatch: pytest.MonkeyPatch,
) -> AwsConfig:
    """Return the configuration of clients whose pauses take no time."""
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setenv("NO_PROXY", "")  # the clients add to both
    endpoints = dict.fromkeys(
        ("ec2_endpoint", "elb_endpoint", "sts_endpoint", "ebs_endpoint"), fake_aws.endpoint
    )
    keys = {"access_key_id": KEY_OF_TESTS, "secret_access_key": "unit"}
    section = {"max_retries": RETRIES, "region": "us-east-1", **endpoints, **keys}
    return cpi_config.parse({"cloud": {"properties": {"aws": section}}}, {}, {}).aws


@pytest.fixture
def clients(aws: AwsConfig) -> Clients:
    """Return a method's clients."""
    return Clients(aws, CallStatistics())


@pytest.fixture
def client(clients: Clients) -> Any:
    """Return the client of EC2."""
    return clients.ec2
