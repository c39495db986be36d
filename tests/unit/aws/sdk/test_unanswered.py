"""Why a service gave no answer that can be used, and what to do."""

from __future__ import annotations

import socket
from ssl import SSLCertVerificationError

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    EndpointProviderError,
    ProxyConnectionError,
    ReadTimeoutError,
    SSLError,
)
from botocore.parsers import ResponseParserError

from bosh_aws_cpi.aws.sdk.errors import CALL, Call
from bosh_aws_cpi.aws.sdk.unanswered import OUT_OF_REACH, is_error_of_aws, reason

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
        (after(EndpointConnectionError(endpoint_url=URL), OSError("no route")), "no connection (no route)"),
        (
            after(SSLError(endpoint_url=URL, error=OSError("e")), SSLCertVerificationError("self-signed")),
            "not trusted (('self-signed',))",
        ),
        (after(SSLError(endpoint_url=URL, error=OSError("e")), OSError("cut")), "TLS connection fails (cut)"),
        (EndpointProviderError(msg="no FIPS"), "no such endpoint (no FIPS): check aws.region, aws.fips"),
        (ConnectTimeoutError(endpoint_url=URL), "does not answer in time"),
        (ReadTimeoutError(endpoint_url=URL), "does not answer in time"),
        (after(ProxyConnectionError(proxy_url="http://p"), ConnectionRefusedError("r")), "the proxy"),
        (ResponseParserError("<html>"), "the response is not from AWS"),
    ],
)
def test_out_of_reach(error: Exception, words: str) -> None:
    """Each kind of failure has its own words; if another endpoint helps, its property is named."""
    assert isinstance(error, OUT_OF_REACH)
    said = reason("elbv2", error)
    assert words in said
    own = {"the proxy", "not trusted (('self-signed',))"}
    assert ("aws.elb_endpoint" in said) is (words not in own)


def test_service_of_the_call() -> None:
    """The call that failed names the service: a call to EC2 also fails if STS gives no keys of the role."""
    error = after(EndpointConnectionError(endpoint_url=URL), ConnectionRefusedError("r"))
    setattr(error, CALL, Call("sts:AssumeRole", ()))
    assert reason("ec2", error).startswith("the connection is refused: check aws.sts_endpoint, ")
    assert "aws.elb_endpoint" in reason("elb", answered_by("elasticloadbalancing:DescribeTargetGroups"))
    assert reason("kms", answered_by("kms:DescribeKey")).endswith(
        "the routes to it, or create a VPC endpoint for it"
    )


def answered_by(action: str) -> Exception:
    """Return the error of a call that was not answered."""
    error = ReadTimeoutError(endpoint_url=URL)
    setattr(error, CALL, Call(action, ()))
    return error


def test_cause_once() -> None:
    """A cause that was said already is not repeated."""
    error = after(EndpointConnectionError(endpoint_url=URL), OSError("no route"))
    assert "there is no connection: check routes" in reason("ec2", error, "could not connect: no route")
