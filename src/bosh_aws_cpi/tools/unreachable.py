"""Messages and remedies for preflight: AWS is unreachable, something else answers, or keys are refused."""

import socket
from collections.abc import Iterator, Mapping
from typing import Any, Final

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

from bosh_aws_cpi.aws.sdk.error_codes import UNAUTHORIZED
from bosh_aws_cpi.aws.sdk.errors import code_of, has_code
from bosh_aws_cpi.aws.sdk.translation import explained
from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.errors import CloudError

OUT_OF_REACH: Final = (NotConnected, HTTPClientError, ResponseParserError, KeyError)
"""The SDK's exceptions when AWS did not answer; its parser raises KeyError for a page that is not AWS's."""
NOT_AWS: Final = "the response is not from AWS, perhaps from a proxy: check env.https_proxy and {endpoint}"
_NO_CODES: Final = frozenset({"", "Unknown"})
"""The SDK's codes for an error that it can't parse."""

_PROPERTIES: Final = {
    "ec2": "aws.ec2_endpoint",
    "elb": "aws.elb_endpoint",
    "elbv2": "aws.elb_endpoint",
    "sts": "aws.sts_endpoint",
    "ebs": "aws.ebs_endpoint",
    "iam": "the routes to it",
    "kms": "the routes to it",
    "service-quotas": "the routes to it",
}
"""What to check if a service does not answer: its endpoint's property; three services have none."""
_PROBLEMS: Final[tuple[tuple[type[Exception] | tuple[type[Exception], ...], str], ...]] = (
    (ProxyConnectionError, "the proxy does not answer: check env.https_proxy and env.no_proxy"),
    (
        SSLError,
        "its certificate is not trusted ({cause}): add its CA certificate to aws.connection_options.ca_cert",
    ),
    (
        (ConnectTimeoutError, ReadTimeoutError),
        "it does not answer in time: check routes, security groups, proxy and {endpoint}",
    ),
    ((ResponseParserError, KeyError), NOT_AWS),
    (
        socket.gaierror,
        "its name can't be resolved: check aws.region, aws.fips, the name servers and {endpoint}",
    ),
    (ConnectionRefusedError, "the connection is refused: check {endpoint}"),
    (Exception, "there is no connection ({cause}): check routes, proxy and {endpoint}"),
)
"""The problems by exception type; the first type that occurs among an error's causes counts."""
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
"""Codes about keys, clock or account rather than one permission: every call fails with them."""
_SOURCES: Final = {
    "static": "aws.access_key_id and aws.secret_access_key",
    "env_or_profile": "the environment or the instance profile",
}


def is_answer_of_aws(answer: Mapping[str, Any]) -> bool:
    """Whether a successful answer can come from AWS, and is not a proxy's page."""
    return "RequestId" in answer["ResponseMetadata"]


def is_error_of_aws(error: ClientError) -> bool:
    """Whether an error can come from AWS: if the SDK finds no code, it uses the HTTP status, or none."""
    code = code_of(error)
    return code not in _NO_CODES and not code.isdecimal()


def refused_role(config: AwsConfig, error: ClientError) -> CloudError | None:
    """The error for a role that can't be assumed; None when another call failed."""
    if error.operation_name != "AssumeRole":
        return None
    what = f"aws.role_arn '{config.role_arn}' can't be assumed with the keys of {_keys(config)}"
    trust = ". The role's trust policy must name the user or role of these keys"
    return CloudError(f"{what}: {explained(error)}{trust if has_code(error, UNAUTHORIZED) else ''}")


def speaks_of_keys(error: ClientError) -> bool:
    """Whether an error means that AWS does not accept the keys."""
    return has_code(error, _NOT_TAKEN)


def refused_keys(config: AwsConfig, error: ClientError) -> CloudError:
    """The error for keys that AWS does not accept."""
    return CloudError(f"AWS does not accept the keys of {_keys(config)}: {explained(error)}")


def _keys(config: AwsConfig) -> str:
    return _SOURCES[config.credentials_source]


def reason(service: str, error: Exception) -> str:
    """Why a service did not answer, with the remedy.

    Args:
        service: The SDK's name of the service.
        error: One of `OUT_OF_REACH`.
    """
    causes = list(_causes(error))
    words = next(words for kinds, words in _PROBLEMS if any(isinstance(each, kinds) for each in causes))
    return words.format(cause=causes[-1], endpoint=_endpoint(service))


def strange(service: str) -> str:
    """The problem of a service when something other than AWS answers."""
    return NOT_AWS.format(endpoint=_endpoint(service))


def other_keys(service: str, error: ClientError) -> str:
    """The problem of a service that refuses keys that other services accept: its endpoint must be wrong."""
    return f"it refuses the keys that other services accept ({code_of(error)}): check {_endpoint(service)}"


def _endpoint(service: str) -> str:
    return f"{_PROPERTIES[service]}, or create a VPC endpoint for it"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and its causes: the libraries below the SDK wrap each other's errors several times."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__
