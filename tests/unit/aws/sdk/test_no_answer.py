"""Why a service gave no answer that can be used, and what to do."""

import socket
from http.client import BadStatusLine
from ssl import SSLCertVerificationError
from typing import Any

import pytest
from botocore.exceptions import (
    ClientError,
    EndpointConnectionError,
    EndpointProviderError,
    ProxyConnectionError,
    ReadTimeoutError,
    SSLError,
)
from botocore.parsers import ResponseParserError

from bosh_aws_cpi.aws.sdk.errors import CALL, Call
from bosh_aws_cpi.aws.sdk.translation import OUT_OF_REACH, explained, is_error_of_aws, reason

URL = "https://ec2.example.test"


@pytest.mark.parametrize(
    ("code", "expected"),
    [("InternalError", True), ("403", False), ("Unknown", False), ("", False), (None, False)],
)
def test_error_of_aws(code: str | None, *, expected: bool) -> None:
    """An error without one of AWS's codes is not from AWS."""
    answer: Any = {} if code is None else {"Error": {"Code": code, "Message": "m"}}
    assert is_error_of_aws(ClientError(answer, "RunInstances")) is expected


def after(error: Exception, cause: Exception) -> Exception:
    """Return an error with a cause, as the SDK raises it."""
    error.__context__ = cause
    return error


def unconnected() -> Exception:
    """Make the error of a server that is not reached."""
    return EndpointConnectionError(endpoint_url=URL)


def insecure() -> Exception:
    """Make the error of a connection without TLS."""
    return SSLError(endpoint_url=URL, error=OSError("e"))


def through_proxy() -> Exception:
    """Make the error of a proxy that is not reached."""
    return ProxyConnectionError(proxy_url="http://p")


@pytest.mark.parametrize(
    ("error", "words", "is_about_endpoint"),
    [
        (after(unconnected(), ConnectionRefusedError("r")), "connection is refused", True),
        (after(unconnected(), socket.gaierror(-2, "n")), "name can't be resolved", True),
        (after(unconnected(), OSError(113, "no route")), "no connection (no route)", True),
        (after(unconnected(), BadStatusLine("pw\r\n")), "is no connection: check", True),
        (after(insecure(), SSLCertVerificationError(1, "self-signed")), "not trusted (self-signed)", False),
        (after(insecure(), OSError(104, "cut")), "TLS connection fails (cut)", True),
        (EndpointProviderError(msg="no FIPS"), "(no FIPS): check aws.region, aws.fips", True),
        (ReadTimeoutError(endpoint_url=URL), "does not answer in time", True),
        (after(through_proxy(), ConnectionRefusedError("r")), "the proxy", False),
        (
            after(through_proxy(), OSError("Tunnel connection failed: 407 bob:pw\x1b[m")),
            "refuses (Tunnel connection failed: 407): check",
            False,
        ),
        (ResponseParserError("<html>"), "the response is not from AWS", True),
    ],
)
def test_out_of_reach(error: Exception, words: str, *, is_about_endpoint: bool) -> None:
    """Each kind of failure has its own words; if another endpoint helps, its property is named."""
    assert isinstance(error, OUT_OF_REACH)
    said = reason("elbv2", error)
    assert words in said
    assert "pw" not in said
    assert ("aws.elb_endpoint" in said) is is_about_endpoint


@pytest.mark.parametrize(("status", "said"), [(503, "AWS failed"), (403, "The response is not from AWS")])
def test_page(status: int, said: str) -> None:
    """A page without an error of AWS's form may be AWS's own only if the status says that a server failed."""
    answer: Any = {"Error": {"Code": str(status)}, "ResponseMetadata": {"HTTPStatusCode": status}}
    assert said in explained(ClientError(answer, "RunInstances"))


@pytest.mark.parametrize(
    ("action", "key"),
    [
        ("sts:AssumeRole", "aws.sts_endpoint"),
        ("elasticloadbalancing:DescribeTargetGroups", "aws.elb_endpoint"),
        ("servicequotas:ListServiceQuotas", "aws.service_quotas_endpoint"),
        ("", "the endpoints in aws"),
    ],
)
def test_service_of_the_call(action: str, key: str) -> None:
    """The call that failed names the service: a call to EC2 also fails if STS gives no keys of the role."""
    error = ReadTimeoutError(endpoint_url=URL)
    if action:
        setattr(error, CALL, Call(action, ()))
    assert key in reason("ec2" if action else "", error)


def test_cause_once() -> None:
    """A cause that was said already is not repeated."""
    error = after(unconnected(), OSError("no route"))
    assert "there is no connection: check routes" in reason("ec2", error, "could not connect: no route")
