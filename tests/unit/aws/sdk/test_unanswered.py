"""Why a service gave no answer that can be used, and what to do."""

from __future__ import annotations

import socket
from http.client import BadStatusLine
from ssl import SSLCertVerificationError
from typing import Any

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    EndpointProviderError,
    HTTPClientError,
    ProxyConnectionError,
    ReadTimeoutError,
    SSLError,
)
from botocore.parsers import ResponseParserError

from bosh_aws_cpi.aws.sdk.errors import CALL, Call
from bosh_aws_cpi.aws.sdk.unanswered import (
    OUT_OF_REACH,
    in_place_of,
    is_error_of_aws,
    reason,
    unlisted,
)

URL = "https://ec2.example.test"


def answered(code: str) -> ClientError:
    """Return an error of AWS."""
    return ClientError({"Error": {"Code": code, "Message": "m"}}, "RunInstances")


def after(error: Exception, cause: Exception) -> Exception:
    """Return an error with a cause, as the SDK raises it."""
    error.__context__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (answered("InternalError"), True),
        (answered("403"), False),
        (answered("Unknown"), False),
        (answered(""), False),
        (ClientError({"Error": {}}, "RunInstances"), False),
        (ClientError({"ResponseMetadata": {"HTTPStatusCode": 403}}, "RunInstances"), False),  # type: ignore[typeddict-item]
    ],
)
def test_error_of_aws(error: ClientError, *, expected: bool) -> None:
    """An error without one of AWS's codes is not from AWS."""
    assert is_error_of_aws(error) is expected


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
        (
            after(EndpointConnectionError(endpoint_url=URL), OSError(113, "no route")),
            "no connection (no route)",
        ),
        (
            after(SSLError(endpoint_url=URL, error=OSError("e")), SSLCertVerificationError(1, "self-signed")),
            "not trusted (self-signed)",
        ),
        (
            after(SSLError(endpoint_url=URL, error=OSError("e")), OSError(104, "cut")),
            "TLS connection fails (cut)",
        ),
        (EndpointProviderError(msg="no FIPS"), "no such endpoint (no FIPS): check aws.region, aws.fips"),
        (ConnectTimeoutError(endpoint_url=URL), "does not answer in time"),
        (ReadTimeoutError(endpoint_url=URL), "does not answer in time"),
        (after(ProxyConnectionError(proxy_url="http://p"), ConnectionRefusedError("r")), "the proxy"),
        (
            after(
                ProxyConnectionError(proxy_url="http://p"),
                OSError("Tunnel connection failed: 407 bob:pw\x1b[m"),
            ),
            "refuses (Tunnel connection failed: 407): check",
        ),
        (
            after(EndpointConnectionError(endpoint_url=URL), BadStatusLine("pw\r\n")),
            "is no connection: check",
        ),
        (ResponseParserError("<html>"), "the response is not from AWS"),
    ],
)
def test_out_of_reach(error: Exception, words: str) -> None:
    """Each kind of failure has its own words; if another endpoint helps, its property is named."""
    assert isinstance(error, OUT_OF_REACH)
    said = reason("elbv2", error)
    assert words in said
    own = {"the proxy", "not trusted (self-signed)"}
    assert "pw" not in said
    assert ("aws.elb_endpoint" in said) is (words not in own and "Tunnel" not in words)


@pytest.mark.parametrize(
    ("status", "said"), [(503, "AWS failed, or a proxy before it"), (403, "The response is not from AWS")]
)
def test_page(status: int, said: str) -> None:
    """A page without an error of AWS's form may be AWS's own only if the status says that a server failed."""
    answer: Any = {"Error": {"Code": str(status)}, "ResponseMetadata": {"HTTPStatusCode": status}}
    assert said in unlisted(ClientError(answer, "RunInstances"))


@pytest.mark.parametrize(
    ("proxy", "is_valid"),
    [
        ("http://bob:pw@[pw99]:1", False),
        ("http://bob:pw99/@h:1", False),
        ("bob:pw99/@h:1", False),
        ("http://bob:p%C3%A4@h:1", False),
        ("http:/h", False),
        ("http://bob:pw@h:1", True),
        ("h:1", True),
        ("", True),
    ],
)
def test_proxy_that_is_not_valid(monkeypatch: pytest.MonkeyPatch, proxy: str, *, is_valid: bool) -> None:
    """A text that a library quotes may be of the proxy's password; a valid proxy is not blamed."""
    monkeypatch.setattr("os.environ", {"https_proxy": proxy})
    error = after(HTTPClientError(error="x"), ValueError("'pw99' does not appear to be an IPv4 address"))
    said = str(in_place_of(error))
    assert ("its answer can't be read" if is_valid else "not valid: check its scheme, host and port") in said
    assert "pw99" not in said
    assert in_place_of(after(HTTPClientError(error="x"), OSError("y"))) is None


def test_service_of_the_call() -> None:
    """The call that failed names the service: a call to EC2 also fails if STS gives no keys of the role."""
    error = after(EndpointConnectionError(endpoint_url=URL), ConnectionRefusedError("r"))
    setattr(error, CALL, Call("sts:AssumeRole", ()))
    assert reason("ec2", error).startswith("the connection is refused: check aws.sts_endpoint, ")
    assert "aws.elb_endpoint" in reason("elb", answered_by("elasticloadbalancing:DescribeTargetGroups"))
    assert "aws.service_quotas_endpoint" in reason("", answered_by("servicequotas:ListServiceQuotas"))
    assert "the endpoints in aws" in reason("", ReadTimeoutError(endpoint_url=URL))


def answered_by(action: str) -> Exception:
    """Return the error of a call that was not answered."""
    error = ReadTimeoutError(endpoint_url=URL)
    setattr(error, CALL, Call(action, ()))
    return error


def test_cause_once() -> None:
    """A cause that was said already is not repeated."""
    error = after(EndpointConnectionError(endpoint_url=URL), OSError("no route"))
    assert "there is no connection: check routes" in reason("ec2", error, "could not connect: no route")
