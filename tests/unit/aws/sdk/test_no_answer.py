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

from bosh_aws_cpi.aws.sdk.errors import CALL, Call, is_error_of_aws
from bosh_aws_cpi.aws.sdk.translation import NO_ANSWER_ERRORS, explain, explain_no_answer

URL = "https://ec2.example.test"


@pytest.mark.parametrize(
    ("code", "status", "words"),
    [
        *(("403", 403, "The response is not from AWS"), ("Unknown", 403, "The response is not from AWS")),
        *((None, 403, "The response is not from AWS"), ("501", 501, "The response is not from AWS")),
        *(("503", 503, "AWS failed"), ("Unheard", 403, "")),
    ],
)
def test_page(code: str | None, status: int, words: str) -> None:
    """An error without one of AWS's codes may be AWS's own only if the status says that a server failed."""
    answer: Any = {"ResponseMetadata": {"HTTPStatusCode": status}, "Error": {"Code": code} if code else {}}
    error = ClientError(answer, "RunInstances")
    assert is_error_of_aws(error) is not bool(words)
    _, _, remedy = explain(error).partition("). ")
    assert (words in remedy, bool(remedy)) == (True, bool(words))


def unconnected(cause: Exception) -> Exception:
    """Return the error of a server that is not reached, with its cause as the SDK raises it."""
    return after(EndpointConnectionError(endpoint_url=URL), cause)


def after(error: Exception, cause: Exception) -> Exception:
    """Give an error a cause."""
    error.__context__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "words", "is_about_endpoint"),
    [
        (unconnected(ConnectionRefusedError("r")), "connection is refused", True),
        (unconnected(socket.gaierror(-2, "n")), "name can't be resolved", True),
        (unconnected(OSError(113, "no route")), "no connection (no route)", True),
        (unconnected(BadStatusLine("pw\r\n")), "is no connection: check", True),
        (
            after(SSLError(endpoint_url=URL, error=OSError("e")), SSLCertVerificationError(1, "self-signed")),
            "not trusted (self-signed)",
            False,
        ),
        (
            after(SSLError(endpoint_url=URL, error=OSError("e")), OSError(104, "cut")),
            "TLS connection fails (cut)",
            True,
        ),
        (EndpointProviderError(msg="no FIPS"), "(no FIPS): check aws.region, aws.fips", True),
        (ReadTimeoutError(endpoint_url=URL), "does not answer in time", True),
        (after(ProxyConnectionError(proxy_url="http://p"), ConnectionRefusedError("r")), "the proxy", False),
        (
            after(
                ProxyConnectionError(proxy_url="http://p"),
                OSError("Tunnel connection failed: 407 bob:pw\x1b[m"),
            ),
            "refuses (Tunnel connection failed: 407): check",
            False,
        ),
        (ResponseParserError("<html>"), "the response is not from AWS", True),
    ],
)
def test_out_of_reach(error: Exception, words: str, *, is_about_endpoint: bool) -> None:
    """Each kind of failure has its own words; if another endpoint helps, its property is named."""
    assert isinstance(error, NO_ANSWER_ERRORS)
    said = explain_no_answer("elbv2", error)
    assert words in said
    assert "pw" not in said
    assert ("aws.elb_endpoint" in said) is is_about_endpoint


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
    assert key in explain_no_answer("ec2" if action else "", error)


def test_cause_once() -> None:
    """A cause that was said already is not repeated."""
    error = unconnected(OSError("no route"))
    assert "there is no connection: check routes" in explain_no_answer(
        "ec2", error, "could not connect: no route"
    )
