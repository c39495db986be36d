"""What is wrong when AWS is out of reach or refuses the keys, in words and with the remedy."""

import socket
from collections.abc import Iterator
from typing import Final

from botocore.exceptions import (
    ClientError,
    ConnectTimeoutError,
    HTTPClientError,
    ProxyConnectionError,
    ReadTimeoutError,
    SSLError,
)
from botocore.exceptions import ConnectionError as NotConnected
from botocore.parsers import ResponseParserError

from bosh_aws_cpi.aws.errors import code_of
from bosh_aws_cpi.aws.translation import explained
from bosh_aws_cpi.config import AwsConfig
from bosh_aws_cpi.errors import CloudError

OUT_OF_REACH: Final = (NotConnected, HTTPClientError, ResponseParserError)
"""What the SDK raises when it has no answer of AWS."""

_PROPERTIES: Final = {
    "ec2": "aws.ec2_endpoint",
    "elb": "aws.elb_endpoint",
    "elbv2": "aws.elb_endpoint",
    "sts": "aws.sts_endpoint",
    "ebs": "aws.ebs_endpoint",
}
_PROBLEMS: Final[tuple[tuple[type[Exception] | tuple[type[Exception], ...], str], ...]] = (
    (ProxyConnectionError, "the proxy does not answer: check env.https_proxy and env.no_proxy"),
    (
        SSLError,
        "its certificate is not trusted ({cause}): name its authority in aws.connection_options.ca_cert",
    ),
    (
        (ConnectTimeoutError, ReadTimeoutError),
        "it does not answer in time: check routes, security groups, proxy and {endpoint}",
    ),
    (ResponseParserError, "its answer can't be read: something other than AWS answers, perhaps a proxy"),
    (socket.gaierror, "its name can't be resolved: check aws.region, the name servers and {endpoint}"),
    (ConnectionRefusedError, "the connection is refused: check {endpoint}"),
    (Exception, "there is no connection ({cause}): check routes, proxy and {endpoint}"),
)
"""The first kind counts that is among an error's causes."""
_NOT_TAKEN: Final = frozenset(
    {
        "AuthFailure",
        "Blocked",
        "ExpiredToken",
        "ExpiredTokenException",
        "IncompleteSignature",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "MissingAuthenticationToken",
        "OptInRequired",
        "PendingVerification",
        "RequestExpired",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
"""Codes that speak of keys, clock or account rather than of a permission: every call is answered so."""
_SOURCES: Final = {
    "static": "aws.access_key_id and aws.secret_access_key",
    "env_or_profile": "the environment or the instance profile",
}


def refused_keys(config: AwsConfig, error: ClientError) -> CloudError | None:
    """The error for keys that AWS does not take, or that may not assume the role.

    Args:
        config: The ``aws`` section.
        error: What AWS answered.

    Returns:
        The error with its remedy; None when the answer does not speak of the keys.
    """
    keys = _SOURCES[config.credentials_source]
    if error.operation_name == "AssumeRole":
        what = f"aws.role_arn '{config.role_arn}' can't be assumed with the keys of {keys}"
        trust = "The role's trust policy must name whose keys they are"
        return CloudError(f"{what}: {explained(error)}. {trust}")
    if code_of(error) in _NOT_TAKEN:
        return CloudError(f"AWS does not take the keys of {keys}: {explained(error)}")
    return None


def reason(service: str, error: Exception) -> str:
    """Why a service did not answer, and what to do about it.

    Args:
        service: The SDK's name of the service.
        error: One of `OUT_OF_REACH`.
    """
    causes = list(_causes(error))
    words = next(words for kinds, words in _PROBLEMS if any(isinstance(each, kinds) for each in causes))
    return words.format(cause=causes[-1], endpoint=f"{_PROPERTIES[service]}, or make a VPC endpoint for it")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error, and what it came from; the libraries below the SDK wrap each other's several times."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__
