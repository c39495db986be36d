"""Why a service gave no answer that can be used, and what to do: for the errors of methods and commands.

Only errors load it.
"""

import re
import socket
from collections.abc import Iterator
from http.client import RemoteDisconnected
from ssl import SSLCertVerificationError
from typing import Final
from urllib.request import getproxies

from botocore.exceptions import (
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
from botocore.httpsession import ProxyConfiguration, get_cert_path
from botocore.parsers import ResponseParserError
from urllib3.poolmanager import proxy_from_url

from bosh_aws_cpi.aws.sdk.errors import CERTIFICATES, UNREADABLE, call_of, code_of, described, is_uncertain
from bosh_aws_cpi.config.aws_config import ENDPOINTS

NO_KEYS: Final = (CredentialRetrievalError, NoCredentialsError, PartialCredentialsError)
"""Without keys nothing can be asked."""
OUT_OF_REACH: Final = (NotConnected, HTTPClientError, ResponseParserError, EndpointProviderError)
"""The SDK's exceptions when AWS did not answer."""
KEYS_REMEDY: Final = (
    "Give the machine that runs the CPI an instance profile, set AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY, or set aws.credentials_source to static, with aws.access_key_id and "
    "aws.secret_access_key. In a container on EC2, raise the hop limit of its instance metadata"
)
_NO_CODES: Final = frozenset({"", "Unknown"})
"""The SDK's codes for an error that it can't parse."""
_BY_IAM: Final = {"elasticloadbalancing": "elb", "servicequotas": "service-quotas"}
"""The SDK's names of services that IAM names otherwise."""
_CHECK: Final = "check env.https_proxy and {endpoint}"
_NOT_AWS: Final = f"the response is not from AWS, perhaps from a proxy: {_CHECK}"
_FAILED: Final = f"AWS failed, or a proxy before it: retry later, and if this stays so, {_CHECK}"
_NO_PROXY: Final = (
    "one that is not valid: check its scheme, host and port, and percent-encode the special characters of "
    "its password"
)
_TUNNEL: Final = re.compile(r"Tunnel connection failed: \d{3}\b")
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
    (ResponseParserError, _NOT_AWS),
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
"""The problems by exception type; the first type that occurs among an error's causes counts."""


def message(error: Exception) -> str:
    """The message for an error of the SDK that is not an answer of AWS: what happened, and the remedy."""
    said = described(error)
    if isinstance(error, NoCredentialsError | PartialCredentialsError):
        return (
            "No AWS credentials found: credentials_source env_or_profile tries the environment's keys, "
            f"web identity, the container's keys and the instance profile. {said}. {KEYS_REMEDY}"
        )
    if isinstance(error, ResponseParserError):
        return _sentences(said, _filled(_CHECK, "", error))
    said = f"AWS could not be called{_certificates(error) if isinstance(error, SSLError) else ''}: {said}"
    if isinstance(error, CredentialRetrievalError):
        return _sentences(said, KEYS_REMEDY)
    return _sentences(said, reason("", error, said)) if isinstance(error, OUT_OF_REACH) else said


def _certificates(error: SSLError) -> str:
    """Whom the call trusted."""
    usual = f"the CA certificates of '{get_cert_path(True)}'"  # noqa: FBT003
    return f" with {getattr(error, CERTIFICATES, '') or usual}"


def is_error_of_aws(error: ClientError) -> bool:
    """Whether an error can come from AWS: if the SDK finds no code, it uses the HTTP status, or none."""
    code = code_of(error)
    return code not in _NO_CODES and not code.isdecimal()


def unlisted(error: ClientError) -> str:
    """An error whose code is in no table; if it is not AWS's, with what to check."""
    said = described(error)
    if is_error_of_aws(error):
        return said
    return _sentences(said, _filled(_FAILED if is_uncertain(error) else _NOT_AWS, "", error))


def reason(service: str, error: Exception, said: str = "") -> str:
    """Why a service did not answer, with the remedy.

    Args:
        service: The SDK's name of the service, if no call is attached to the error.
        error: One of `OUT_OF_REACH`.
        said: The message so far; a cause that it already contains is not repeated.
    """
    causes = list(_causes(error))
    words = next(words for kinds, words in _PROBLEMS if any(isinstance(each, kinds) for each in causes))
    last = _own_words(causes[-1])
    return _filled(words, service, error, "" if not last or last in said else f" ({last})")


def _own_words(cause: BaseException) -> str:
    """What this machine says of a cause; nothing that a server or proxy has sent."""
    if isinstance(cause, EndpointProviderError | RemoteDisconnected):
        return str(cause)
    if isinstance(cause, OSError) and (tunnel := _TUNNEL.match(str(cause))):
        return tunnel[0]
    return (cause.strerror or "") if isinstance(cause, OSError) else ""


def strange(service: str) -> str:
    """The problem of a service when something other than AWS answers."""
    return _filled(_NOT_AWS, service, None)


def endpoint(service: str) -> str:
    """What to check if a service does not answer."""
    key = ENDPOINTS.get(_BY_IAM.get(service, service))
    return f"{key.path if key else 'the endpoints in aws'}, or create a VPC endpoint for it"


def in_place_of(error: Exception) -> Exception | None:
    """An error that replaces one that may quote a proxy's password or a server's answer; None for others.

    A special character of the password that is not encoded ends the host's part of the URL, or looks like an
    address. Then libraries take a part of the password for a port or a host, and don't mask it. They also
    quote a part of an answer that is not valid HTTP.
    """
    url = str(getattr(error, "kwargs", {}).get("proxy_url", ""))
    is_cut = "@" in url and "@" not in re.split("[/?#]", url.partition("://")[2], maxsplit=1)[0]
    is_unread = isinstance(error, HTTPClientError) and any(isinstance(e, ValueError) for e in _causes(error))
    if is_cut or (is_unread and not _are_proxies_valid()):
        return ProxyConnectionError(proxy_url=_NO_PROXY)
    return ResponseParserError(UNREADABLE) if is_unread else None


def _are_proxies_valid() -> bool:
    """Whether the SDK and urllib3 can read the URLs of the environment's proxies."""
    proxies = ProxyConfiguration(getproxies())
    try:
        for url in filter(None, map(proxies.proxy_url_for, ("http:", "https:"))):
            proxies.proxy_headers_for(url)
            proxy_from_url(url).connection_from_host("host")
    except ValueError:
        return False
    return True


def _filled(words: str, service: str, error: Exception | None, cause: str = "") -> str:
    call = call_of(error) if error is not None else None
    return words.format(cause=cause, endpoint=endpoint(call.action.partition(":")[0] if call else service))


def _sentences(first: str, second: str) -> str:
    return f"{first}{'' if first.endswith('?') else '.'} {second[0].upper()}{second[1:]}"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and its causes: the libraries below the SDK wrap each other's errors several times."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
