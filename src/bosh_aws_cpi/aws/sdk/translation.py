"""Converts the AWS SDK's errors to the CPI's errors: type, ok_to_retry, and the remedy of the table `codes`.

A code without row and family is a `CloudError`, which is retriable when the HTTP status means a fault of AWS.
"""

import re
import socket
from collections.abc import Iterator, Mapping
from http.client import RemoteDisconnected
from ssl import SSLCertVerificationError
from typing import Any, Final

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    CredentialRetrievalError,
    EndpointProviderError,
    HTTPClientError,
    NoCredentialsError,
    PartialCredentialsError,
    ProxyConnectionError,
    ReadTimeoutError,
    SSLError,
)
from botocore.exceptions import ConnectionError as NotConnected
from botocore.httpsession import get_cert_path
from botocore.parsers import ResponseParserError

from bosh_aws_cpi.aws.sdk.codes import Kind, row_of
from bosh_aws_cpi.aws.sdk.errors import (
    CERTIFICATES,
    ELEMENT,
    call_of,
    code_of,
    describe_error,
    encoded_of,
    is_error_of_aws,
    is_foreign,
    is_transient,
    message_of,
    policy_remedy,
)
from bosh_aws_cpi.config.aws_config import ENDPOINTS
from bosh_aws_cpi.errors import BoshError, CloudError, DiskNotFound, VMCreationFailed, VMNotFound
from bosh_aws_cpi.model import ID_DIGITS

NO_CREDENTIALS_ERRORS: Final = (CredentialRetrievalError, NoCredentialsError, PartialCredentialsError)
"""The SDK's exceptions when there are no keys, so that no call is possible."""
NO_ANSWER_ERRORS: Final = (NotConnected, HTTPClientError, ResponseParserError, EndpointProviderError)
"""The SDK's exceptions when AWS did not answer."""
_NAMED_VALUE: Final = "the named value in the cloud config, the manifest, or the CPI's configuration"
"""What the table says where AWS's message names the value."""
KEYS_REMEDY: Final = (
    "Give the machine that runs the CPI an instance profile, set AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY, or set aws.credentials_source to static, with aws.access_key_id and "
    "aws.secret_access_key. In a container on EC2, raise the hop limit of its instance metadata"
)
_SDK_NAMES: Final = {"elasticloadbalancing": "elb", "servicequotas": "service-quotas"}
"""The SDK's names of services by IAM's names, where these differ."""
_CHECK_ENDPOINT: Final = "check env.https_proxy and {endpoint}"
_NOT_FROM_AWS: Final = f"the response is not from AWS, perhaps from a proxy: {_CHECK_ENDPOINT}"
_AWS_FAILED: Final = f"AWS failed, or a proxy before it: retry later, and if this stays so, {_CHECK_ENDPOINT}"
_PROBLEMS: Final[tuple[tuple[type[Exception] | tuple[type[Exception], ...], str], ...]] = (
    (
        ProxyConnectionError,
        "the proxy does not answer, or refuses{cause}: check env.https_proxy and env.no_proxy",
    ),
    (
        SSLCertVerificationError,
        "its certificate is not trusted{cause}: add its CA certificate to aws.connection_options.ca_cert",
    ),
    (SSLError, "the TLS connection fails{cause}: check proxy and {endpoint}"),
    (
        (ConnectTimeoutError, ReadTimeoutError),
        "it does not answer in time: check routes, security groups, proxy and {endpoint}",
    ),
    (
        EndpointProviderError,
        "it has no such endpoint{cause}: check aws.region, aws.fips, aws.dualstack and {endpoint}",
    ),
    (
        socket.gaierror,
        "its name can't be resolved: check aws.region, aws.fips, the name servers and {endpoint}",
    ),
    (ConnectionRefusedError, "the connection is refused: check {endpoint}"),
    (Exception, "there is no connection{cause}: check routes, proxy and {endpoint}"),
)
"""Problems and remedies by exception type; the first type that is among an error's causes counts."""


def translate(error: Exception, method: str) -> BoshError | None:
    """Return the typed error for an exception of the AWS SDK.

    Args:
        method: The contract's method that failed; the Director retries only create_vm when AWS is busy.

    Returns:
        The error for the caller; None when the exception is not the SDK's.
    """
    if isinstance(error, ClientError):
        return _from_answer(error, method)
    if isinstance(error, BotoCoreError | ResponseParserError):
        message = _message_without_answer(error)
        is_final = isinstance(error, SSLError) and bool(getattr(error, CERTIFICATES, ""))
        return _busy_error(message, method) if is_transient(error) and not is_final else CloudError(message)
    if "refreshed credentials are still expired" in str(error):  # a RuntimeError of the SDK
        clock = "Set the clock of the machine that runs the CPI, or renew the keys"
        return CloudError(f"AWS credentials had expired when they arrived. {clock}")
    if isinstance(error, TypeError) and "offset-naive" in str(error):  # of the SDK, which compares times
        zone = "it must end with Z or an offset"
        return CloudError(f"AWS credentials have an Expiration without a time zone: {zone}")
    return None


def _from_answer(error: ClientError, method: str) -> BoshError:
    row = row_of(code_of(error), message_of(error))
    kind = row.kind if row else None
    if kind is Kind.BUSY or (kind is None and is_transient(error)):
        return _busy_error(explain(error), method)
    if kind is Kind.VM_GONE and (vm_cid := _id_in(error, "i")):
        if method == "create_vm":  # somebody else has terminated the instance that was just launched
            return VMCreationFailed(explain(error), ok_to_retry=True)
        return VMNotFound(vm_cid)
    if kind is Kind.DISK_GONE and (disk_cid := _id_in(error, "vol")):
        return DiskNotFound(disk_cid)
    return CloudError(explain(error))


def _busy_error(message: str, method: str) -> BoshError:
    if method == "create_vm":
        return VMCreationFailed(message, ok_to_retry=True)
    return CloudError(message, ok_to_retry=True)


def _id_in(error: ClientError, prefix: str) -> str | None:
    """The id of the resource that an error concerns, from AWS's message, else from the call's parameters."""
    call = call_of(error)
    texts = [message_of(error), *(call.ids if call else ())]
    return next(
        (match[0] for text in texts if (match := re.search(rf"\b{prefix}-{ID_DIGITS}\b", text))), None
    )


def explain(error: Exception) -> str:
    """Describe an error, and add the remedy for an error of AWS."""
    text = describe_error(error)
    if not isinstance(error, ClientError):
        return text
    row = row_of(code_of(error), message_of(error), error.operation_name)
    if row is None:
        if is_error_of_aws(error):
            return text
        return _join_sentences(text, _fill(_NOT_FROM_AWS if is_foreign(error) else _AWS_FAILED, "", error))
    if encoded := encoded_of(error):
        decode = f"aws sts decode-authorization-message --encoded-message {encoded}"
        text += f". To decode the details, run: {decode}"
    remedy = row.remedy.format(permission=policy_remedy(error), action=error.operation_name)
    return _join_sentences(text, remedy)  # the log keeps its end


def name_key(message: str, arguments: Mapping[str, Any]) -> str:
    """An error's message with the key to correct, if only one key of the request has a value that AWS quotes.

    Args:
        arguments: The method's hashes by name, ``cloud_properties``.
    """
    quoted = set(re.findall(r"[('\"]([^()'\"]+)[)'\"]", message))
    keys = [key for key, value in _values(arguments) if value in quoted]
    return message.replace(_NAMED_VALUE, keys[0]) if len(keys) == 1 else message


def _values(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - a part of a request
    """The texts in a request's hashes, each with its key, "networks.a.cloud_properties.subnet"."""
    if isinstance(node, dict | list):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            yield from _values(value, f"{path}.{key}" if path else str(key))
    elif isinstance(node, str):
        yield path, node


def _message_without_answer(error: Exception) -> str:
    """The message, with the remedy, for an error of the SDK that is not an answer of AWS."""
    text = describe_error(error)
    if isinstance(error, NoCredentialsError | PartialCredentialsError):
        return (
            "No AWS credentials found: credentials_source env_or_profile tries the environment's keys, "
            f"web identity, the container's keys and the instance profile. {text}. {KEYS_REMEDY}"
        )
    if isinstance(error, ResponseParserError):
        return _join_sentences(
            text, _fill(_AWS_FAILED if hasattr(error, ELEMENT) else _CHECK_ENDPOINT, "", error)
        )
    text = f"AWS could not be called{_trust_source(error) if isinstance(error, SSLError) else ''}: {text}"
    if isinstance(error, CredentialRetrievalError):
        return _join_sentences(text, KEYS_REMEDY)
    return (
        _join_sentences(text, explain_no_answer("", error, text))
        if isinstance(error, NO_ANSWER_ERRORS)
        else text
    )


def _trust_source(error: SSLError) -> str:
    """Name the CA certificates that the call trusted, for a message."""
    usual = f"the CA certificates of '{get_cert_path(True)}'"  # noqa: FBT003
    return f" with {getattr(error, CERTIFICATES, '') or usual}"


def explain_no_answer(service: str, error: Exception, detail: str = "") -> str:
    """Why a service did not answer, with the remedy.

    Args:
        service: The SDK's name of the service, used if no call is attached to the error.
        error: An error of the types `NO_ANSWER_ERRORS`, or an answer that is not from AWS.
        detail: The message so far; a cause that it already contains is not added.
    """
    if isinstance(error, ClientError | ResponseParserError):
        return _fill(_NOT_FROM_AWS, service, error)
    causes = list(_causes(error))
    words = next(words for kinds, words in _PROBLEMS if any(isinstance(each, kinds) for each in causes))
    last = _local_message(causes[-1])
    return _fill(words, service, error, "" if not last or last in detail else f" ({last})")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and its causes: the libraries below the SDK wrap each other's errors several times."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)


def _local_message(cause: BaseException) -> str:
    """The part of an error's message that comes from this machine, not from a server or proxy."""
    if isinstance(cause, EndpointProviderError | RemoteDisconnected):
        return str(cause)
    if isinstance(cause, OSError) and (tunnel := re.match(r"Tunnel connection failed: \d{3}\b", str(cause))):
        return tunnel[0]
    return (cause.strerror or "") if isinstance(cause, OSError) else ""


def _fill(words: str, service: str, error: Exception, cause: str = "") -> str:
    call = call_of(error)
    return words.format(cause=cause, endpoint=endpoint(call.action.partition(":")[0] if call else service))


def endpoint(service: str) -> str:
    """The setting of a service's endpoint, as a part of a remedy."""
    key = ENDPOINTS.get(_SDK_NAMES.get(service, service))
    return f"{key.path if key else 'the endpoints in aws'}, or create a VPC endpoint for it"


def _join_sentences(first: str, second: str) -> str:
    return f"{first}{'' if first.endswith('?') else '.'} {second[0].upper()}{second[1:]}"
