"""What follows from what AWS answers, or does not."""

from __future__ import annotations

import socket
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
from bosh_aws_cpi.tools.unreachable import (
    OUT_OF_REACH,
    is_answer_of_aws,
    is_error_of_aws,
    other_keys,
    reason,
    refused_keys,
    refused_role,
    speaks_of_keys,
    strange,
)

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
        ("InvalidAllocationID.NotFound", "not checkable"),
        ("InvalidSubnetID.Malformed", "not checkable"),
        ("InvalidID", "not checkable"),
        ("RequestLimitExceeded", "no verdict"),
        ("InternalError", "no verdict"),
        ("InvalidAction", "no verdict"),
        ("ValidationException", "no verdict"),
        ("AuthFailure", "no verdict"),
    ],
)
def test_judged(code: str, state: str) -> None:
    """A dry run's own answer, and what only the permitted are told, allow; "not found" can't settle it.

    What nobody has foreseen is no verdict.
    """
    verdict = judged(answered(code), frozenset({"LoadBalancerNotFound"}))
    assert verdict.state == state
    assert (code in verdict.why) is (state != "allowed")


@pytest.mark.parametrize("source", ["static", "env_or_profile"])
@pytest.mark.parametrize(
    "code", ["SignatureDoesNotMatch", "RequestExpired", "ExpiredToken", "UnrecognizedClientException"]
)
def test_keys_are_not_taken(cloud: Cloud, source: str, code: str) -> None:
    """A code that speaks of the keys becomes an error that says which keys they are, and the remedy."""
    config = cloud.config.aws.replaced(credentials_source=source)
    assert speaks_of_keys(answered(code))
    error = refused_keys(config, answered(code))
    where = {"static": "aws.access_key_id", "env_or_profile": "the instance profile"}[source]
    assert where in error.message
    assert f"{code}: m" in error.message
    assert not speaks_of_keys(answered("UnauthorizedOperation"))


@pytest.mark.parametrize(("code", "is_about_trust"), [("AccessDenied", True), ("Throttling", False)])
def test_role(cloud: Cloud, code: str, *, is_about_trust: bool) -> None:
    """A role that can't be assumed is named; the trust policy is to blame where access is denied."""
    config = cloud.config.aws.replaced(role_arn="arn:role")
    error = refused_role(config, answered(code, "AssumeRole"))
    assert error is not None
    assert error.message.startswith(
        "aws.role_arn 'arn:role' can't be assumed with the keys of aws.access_key_id"
    )
    assert f"{code}: m" in error.message
    assert ("trust policy" in error.message) is is_about_trust
    assert refused_role(config, answered(code)) is None


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
    """An error without a code of AWS's own is a page of something else."""
    assert is_error_of_aws(error) is expected


@pytest.mark.parametrize(("metadata", "expected"), [({"RequestId": "r"}, True), ({}, False)])
def test_answer_of_aws(metadata: dict[str, str], *, expected: bool) -> None:
    """An answer without a request id is none of AWS's either."""
    assert is_answer_of_aws({"Account": "1", "ResponseMetadata": metadata}) is expected


def test_another_service() -> None:
    """What answers in a service's place, or refuses keys that others took, is named with its property."""
    assert strange("ebs").startswith("the response is not from AWS, perhaps from a proxy: check ")
    said = other_keys("elb", answered("SignatureDoesNotMatch"))
    assert said.startswith("it refuses the keys that other services accept (SignatureDoesNotMatch)")
    assert "aws.ebs_endpoint" in strange("ebs")
    assert "aws.elb_endpoint" in said


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
        (ResponseParserError("<html>"), "the response is not from AWS"),
        (KeyError("DescribeLoadBalancersResult"), "the response is not from AWS"),
    ],
)
def test_out_of_reach(error: Exception, words: str) -> None:
    """Each way not to get an answer has its words; where another endpoint helps, its property is named."""
    assert isinstance(error, OUT_OF_REACH)
    said = reason("elbv2", error)
    assert words in said
    own = {"the proxy", "not trusted (self-signed)"}
    assert ("aws.elb_endpoint" in said) is (words not in own)
