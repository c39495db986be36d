"""What follows from what AWS answers, or does not."""

from __future__ import annotations

import socket
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ProxyConnectionError,
    ReadTimeoutError,
    SSLError,
)
from botocore.parsers import ResponseParserError

from bosh_aws_cpi.tools.examination import judged
from bosh_aws_cpi.tools.unreachable import OUT_OF_REACH, reason, refused_keys

if TYPE_CHECKING:
    from bosh_aws_cpi.cpi.cloud import Cloud

URL = "https://ec2.example.test"


def answered(code: str, operation: str = "RunInstances") -> ClientError:
    """Make an error that AWS answered."""
    return ClientError({"Error": {"Code": code, "Message": "m"}}, operation)


def after(error: Exception, cause: Exception) -> Exception:
    """Make an error that came from another one, as the SDK does."""
    error.__context__ = cause
    return error


@pytest.mark.parametrize(
    ("code", "state"),
    [
        ("DryRunOperation", "allowed"),
        ("LoadBalancerNotFound", "allowed"),
        ("UnauthorizedOperation", "missing"),
        ("AccessDenied", "missing"),
        ("AccessDeniedException", "missing"),
        ("InvalidInstanceID.NotFound", "not checkable"),
        ("RequestLimitExceeded", "not checkable"),
    ],
)
def test_judged(code: str, state: str) -> None:
    """A dry run's own answer, and what only the permitted are told, allow; other codes settle nothing."""
    verdict = judged(answered(code), frozenset({"LoadBalancerNotFound"}))
    assert verdict.state == state
    assert (code in verdict.why) is (state != "allowed")


@pytest.mark.parametrize("source", ["static", "env_or_profile"])
@pytest.mark.parametrize(
    "code", ["SignatureDoesNotMatch", "RequestExpired", "ExpiredToken", "UnrecognizedClientException"]
)
def test_keys_are_not_taken(cloud: Cloud, source: str, code: str) -> None:
    """A code that speaks of the keys becomes an error that says which keys they are, and the remedy."""
    config = replace(cloud.config.aws, credentials_source=source)  # type: ignore[arg-type]
    error = refused_keys(config, answered(code))
    assert error is not None
    where = {"static": "aws.access_key_id", "env_or_profile": "the instance profile"}[source]
    assert where in error.message
    assert f"{code}: m" in error.message
    assert refused_keys(config, answered("UnauthorizedOperation")) is None


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            after(EndpointConnectionError(endpoint_url=URL), ConnectionRefusedError("r")),
            "connection is refused",
        ),
        (
            after(EndpointConnectionError(endpoint_url=URL), socket.gaierror(-2, "n")),
            "name can't be resolved",
        ),
        (after(EndpointConnectionError(endpoint_url=URL), OSError("no route")), "no connection (no route)"),
        (
            after(SSLError(endpoint_url=URL, error=OSError("e")), OSError("self-signed")),
            "not trusted (self-signed)",
        ),
        (ConnectTimeoutError(endpoint_url=URL), "does not answer in time"),
        (ReadTimeoutError(endpoint_url=URL), "does not answer in time"),
        (after(ProxyConnectionError(proxy_url="http://p"), ConnectionRefusedError("r")), "the proxy"),
        (ResponseParserError("<html>"), "something other than AWS"),
    ],
)
def test_out_of_reach(error: Exception, words: str) -> None:
    """Each way not to get an answer has its words; where another endpoint helps, its property is named."""
    assert isinstance(error, OUT_OF_REACH)
    said = reason("elbv2", error)
    assert words in said
    own = {"the proxy", "something other than AWS", "not trusted (self-signed)"}
    assert ("aws.elb_endpoint" in said) is (words not in own)
