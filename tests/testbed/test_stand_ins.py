"""The registry, the instance metadata and the runner of the executable."""

import json
import sys
from typing import Any

import pytest
import requests
from botocore.credentials import InstanceMetadataProvider
from botocore.utils import InstanceMetadataFetcher

from testbed import executable, imds
from testbed.executable import Cpi, config, finish
from testbed.imds import Imds
from testbed.registry import PASSWORD, USER, Registry

ECHO = """
import json, os, sys
request = json.load(sys.stdin)
print("a log line", file=sys.stderr)
print(json.dumps({"result": [request, dict(os.environ), json.load(open(sys.argv[1]))],
                  "error": None, "log": ""}))
"""


def ask(registry: Registry, method: str, path: str, **more: Any) -> requests.Response:
    """Send a request to the registry, as its user unless told otherwise."""
    more.setdefault("auth", (USER, PASSWORD))
    with requests.Session() as session:
        session.trust_env = False
        return session.request(method, registry.url + path, timeout=10, **more)


def test_registry_document() -> None:
    """A document is put, got as a string, and deleted."""
    path = "/instances/i-1/settings"
    with Registry() as registry:
        assert ask(registry, "GET", path).status_code == 404
        assert ask(registry, "PUT", path, json={"a": 1}).status_code == 200
        answer = ask(registry, "GET", path).json()
        assert (json.loads(answer["settings"]), answer["status"]) == ({"a": 1}, "ok")
        assert registry.settings("i-1") == {"a": 1}
        assert ask(registry, "DELETE", path).status_code == 200
        assert ask(registry, "GET", path).status_code == 404
        assert [request.method for request in registry.requests] == ["GET", "PUT", "GET", "DELETE", "GET"]
        assert registry.requests[1].headers["content-type"] == "application/json"


def test_registry_password() -> None:
    """A request with a wrong password is refused."""
    with Registry() as registry:
        refused = ask(registry, "GET", "/instances/i-1/settings", auth=(USER, "wrong"))
        assert refused.status_code == 401


def test_registry_told_what_to_answer() -> None:
    """A test can set the next answers."""
    with Registry() as registry:
        registry.answer(500)
        registry.answer(200, "no JSON")
        assert ask(registry, "GET", "/instances/i-1/settings").status_code == 500
        assert ask(registry, "GET", "/instances/i-1/settings").text == "no JSON"
        assert ask(registry, "GET", "/instances/i-1/settings").status_code == 404


def test_metadata_needs_a_token() -> None:
    """A request without a token is refused."""
    with Imds("i-00000000000000001") as server, requests.Session() as session:
        session.trust_env = False
        path = server.url + "/latest/meta-data/instance-id"
        assert session.get(path, timeout=10).status_code == 401
        ttl = {"X-aws-ec2-metadata-token-ttl-seconds": "60"}
        token = session.put(server.url + "/latest/api/token", headers=ttl, timeout=10).text
        found = session.get(path, headers={"X-aws-ec2-metadata-token": token}, timeout=10)
        assert found.text == "i-00000000000000001"
        assert [request.method for request in server.requests] == ["GET", "PUT", "GET"]


def test_metadata_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Botocore gets the role's credentials from the metadata."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Imds() as server:
        fetcher = InstanceMetadataFetcher(
            base_url=server.url, timeout=30, num_attempts=2, env=server.environment, config={}
        )
        credentials: Any = InstanceMetadataProvider(fetcher).load()
    assert credentials.access_key == imds.ACCESS_KEY_ID
    assert credentials.token == imds.SESSION_TOKEN


@pytest.fixture
def echo() -> Cpi:
    """Run a program that answers with its own request, in place of the executable."""
    document = config("http://127.0.0.1:1", region=executable.ABSENT, max_retries=3)
    return Cpi(document, env={"EXTRA": "1"}, command=[sys.executable, "-c", ECHO])


def test_call(echo: Cpi, monkeypatch: pytest.MonkeyPatch) -> None:
    """The executable gets the request and the configuration, and nothing of the machine's environment."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAMACHINE")
    answer = echo.call("has_vm", "i-1", api_version=3, stemcell=2, context={"request_id": "cpi-1"})
    request, environment, document = answer.ok()
    assert (request["method"], request["arguments"], request["api_version"]) == ("has_vm", ["i-1"], 3)
    assert request["context"]["vm"] == {"stemcell": {"api_version": 2}}
    assert request["context"]["request_id"] == "cpi-1"
    assert environment["EXTRA"] == "1"
    assert "AWS_ACCESS_KEY_ID" not in environment
    assert environment["AWS_EC2_METADATA_DISABLED"] == "true"
    aws = document["cloud"]["properties"]["aws"]
    assert aws["max_retries"] == 3
    assert "region" not in aws
    assert answer.stderr == "a log line\n"
    assert answer.milliseconds > 0


def test_started_call(echo: Cpi) -> None:
    """A call that was started can be waited for."""
    request = finish(echo.start("ping", api_version=None)).result[0]
    assert request["method"] == "ping"
    assert "api_version" not in request


def test_failed_call() -> None:
    """An error fails a call that must succeed; output that is not JSON fails every call."""
    script = 'import sys; sys.stdin.read(); print(\'{"result": null, "error": {"message": "bad"}}\')'
    with pytest.raises(AssertionError, match="bad"):
        Cpi({}, command=[sys.executable, "-c", script]).call("ping").ok()
    noisy = "import sys; sys.stdin.read(); print('hello'); print('{}')"
    with pytest.raises(AssertionError, match="hello"):
        Cpi({}, command=[sys.executable, "-c", noisy]).call("ping").document  # noqa: B018
