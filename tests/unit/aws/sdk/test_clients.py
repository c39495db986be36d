"""What the clients change in the process's environment."""

import os

import pytest

from bosh_aws_cpi.aws.sdk.clients import METADATA_HOSTS, bypass_proxies_for_metadata


@pytest.mark.parametrize(
    ("given", "expected"), [("*", ["*"]), ("a,b", ["a", "b", *METADATA_HOSTS]), ("", [*METADATA_HOSTS])]
)
def test_bypassed_proxies(monkeypatch: pytest.MonkeyPatch, given: str, expected: list[str]) -> None:
    """Instance metadata joins what is asked without a proxy, unless that is everything, once."""
    monkeypatch.delenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", raising=False)
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("no_proxy", given)
    for _ in range(2):
        bypass_proxies_for_metadata()
    assert os.environ["no_proxy"].split(",") == expected
