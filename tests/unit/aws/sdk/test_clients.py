"""What the clients read and change in the process's environment."""

import os

import pytest

from bosh_aws_cpi.aws.sdk.clients import METADATA_HOSTS, bypass_proxies_for_metadata, check_proxies
from bosh_aws_cpi.errors import CloudError


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


VALID = ("", "h", "h:3128", "//h", "http://bob:p@w%2F%23@[fd00::1]:3128/", "https://b\u00f6b@h/x?y")


@pytest.mark.parametrize("variable", ["http_proxy", "HTTPS_PROXY"])
def test_valid_proxy(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    """Every form of a proxy's URL that the SDK understands is accepted, and what is no proxy of ours."""
    for each in VALID:
        monkeypatch.setattr("os.environ", {variable: each, "ftp_proxy": "/@", "no_proxy": "/@"})
        check_proxies()


@pytest.mark.parametrize("variable", ["http_proxy", "HTTPS_PROXY"])
@pytest.mark.parametrize(
    "url", ["bob:pw/@h:1", "http://bob:pw?@h", "http://h:1/#@h", "http://bob:[pw]@h", "http:/h", "socks5://h"]
)
def test_proxy_that_is_not_valid(monkeypatch: pytest.MonkeyPatch, variable: str, url: str) -> None:
    """A URL in which a library could take the password for another part is refused by its variable's name."""
    monkeypatch.setattr("os.environ", {variable: url})
    with pytest.raises(CloudError, match=f"^{variable.lower()} in the environment") as caught:
        check_proxies()
    assert url not in caught.value.message
