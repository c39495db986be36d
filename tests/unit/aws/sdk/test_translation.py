"""From what the SDK raised to what the caller is answered with."""

from __future__ import annotations

import re
from ssl import SSLCertVerificationError
from typing import Any

import botocore.exceptions
import certifi
import pytest
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ParamValidationError,
    PartialCredentialsError,
    ReadTimeoutError,
    SSLError,
)
from botocore.parsers import ResponseParserError

from bosh_aws_cpi.aws.sdk.error_table import ROWS
from bosh_aws_cpi.aws.sdk.errors import CALL, CERTIFICATES, Call, remember_call
from bosh_aws_cpi.aws.sdk.translation import explained, translate
from bosh_aws_cpi.aws.sdk.unanswered import KEYS_REMEDY
from bosh_aws_cpi.errors import BoshError, CloudError, DiskNotFound, VMCreationFailed, VMNotFound

VM, DISK = "i-0123456789abcdef0", "vol-0123456789abcdef0"
WAIT = "Wait until the resource has changed its state, then retry"
METHODS = pytest.mark.parametrize("method", ["create_vm", "attach_disk"])
NO_ANSWER = EndpointConnectionError(endpoint_url="http://h/")
MISSING_CREDENTIALS = [
    NoCredentialsError(),
    PartialCredentialsError(provider="env", cred_var="AWS_SECRET_ACCESS_KEY"),
]
STATUSES = (0, 200, 301, 400, 403, 404, 429, 500, 502, 503, 504, 599)
OTHERS = ("", "Unheard", "503", "Client.Unheard", "{action}")
"""Codes that stand in no row."""


def refusal(code: str, message: str = "said", status: int = 400, call: Call | None = None) -> ClientError:
    """Make an error that AWS answered, to a call that may be known."""
    metadata = {"HTTPStatusCode": status, "RequestId": "r-1"}
    answer: Any = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": metadata}
    if call:
        remember_call(answer, call)
    return ClientError(answer, "AttachVolume")


def attaching(code: str, message: str = "said", *ids: str) -> ClientError:
    """Make an error that AWS answered to AttachVolume."""
    return refusal(code, message, call=Call("ec2:AttachVolume", ids or (DISK, VM)))


def translated(error: Exception, method: str = "attach_disk") -> BoshError:
    """Translate the SDK's error."""
    typed = translate(error, method)
    assert typed is not None
    return typed


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            attaching("IncorrectState", "it ends"),
            f"AttachVolume failed with IncorrectState: it ends (request id r-1, for {DISK}, {VM}). {WAIT}",
        ),
        (
            refusal("IncorrectState"),
            f"AttachVolume failed with IncorrectState: said (request id r-1). {WAIT}",
        ),
        (attaching("Unheard"), f"AttachVolume failed with Unheard: said (request id r-1, for {DISK}, {VM})"),
        (refusal("{action}"), "AttachVolume failed with {action}: said (request id r-1)"),
    ],
)
def test_explained(error: ClientError, message: str) -> None:
    """A message says what was attempted on which ids, all that AWS said, and what can be done about it."""
    assert explained(error) == message
    assert translated(error).message == message


@pytest.mark.parametrize("code", ["UnauthorizedOperation", "AccessDenied", "AccessDeniedException"])
@pytest.mark.parametrize(
    ("said", "action"),
    [
        ("You are not authorized to perform this operation.", "ec2:AttachVolume"),
        ("{0} is not authorized to perform: ec2:CreateTags on resource: arn:x because", "ec2:CreateTags"),
    ],
)
def test_missing_permission(code: str, said: str, action: str) -> None:
    """Who may not do it is told the action to allow: AWS may name another one than the call's own."""
    typed = translated(attaching(code, said))
    assert type(typed) is CloudError
    assert f". Allow {action} in the policy" in typed.message
    assert typed.ok_to_retry is False


def test_missing_permission_of_an_unknown_call() -> None:
    """When the call is not known it is named as the SDK does."""
    assert ". Allow AttachVolume in the policy" in explained(refusal("AccessDenied"))


@pytest.mark.parametrize("code", ["InsufficientInstanceCapacity", "RequestLimitExceeded", "InternalError"])
@pytest.mark.parametrize("status", [400, 503])
def test_busy(code: str, status: int) -> None:
    """A temporary error is retriable; the Director itself repeats a create_vm."""
    error = refusal(code, status=status)
    for method, kind in (("create_vm", VMCreationFailed), ("attach_disk", CloudError)):
        typed = translated(error, method)
        assert (type(typed), typed.ok_to_retry, typed.message) == (kind, True, explained(error))


@pytest.mark.parametrize("code", OTHERS)
@pytest.mark.parametrize(("status", "is_busy"), [(400, False), (499, False), (500, True), (503, True)])
def test_unknown_codes(code: str, status: int, *, is_busy: bool) -> None:
    """A code that stands in no row is retriable when its HTTP status blames AWS."""
    assert code not in ROWS
    for method, kind in (("create_vm", VMCreationFailed), ("attach_disk", CloudError)):
        typed = translated(refusal(code, status=status), method)
        assert (type(typed), typed.ok_to_retry) == (kind if is_busy else CloudError, is_busy)


@pytest.mark.parametrize("status", [400, 500])
def test_the_row_counts(status: int) -> None:
    """A code's row wins over the HTTP status."""
    assert translated(refusal("InvalidParameterValue", status=status)).ok_to_retry is False


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (refusal("InvalidInstanceID.NotFound", f"The instance ID '{VM}' does not exist"), VM),
        (attaching("InvalidInstanceID.NotFound"), VM),
        (attaching("InvalidInstanceID.NotFound", f"no '{VM}'", "i-0fedcba9876543210"), VM),
    ],
    ids=["named by AWS", "named by the call", "named by both"],
)
def test_missing_vm(error: ClientError, message: str) -> None:
    """A VM that is gone is named; that a create_vm has just made, somebody else has ended."""
    typed = translated(error)
    assert (type(typed), typed.message, typed.ok_to_retry) == (VMNotFound, f"VM `{message}' not found", False)
    ended = translated(error, "create_vm")
    assert (type(ended), ended.message, ended.ok_to_retry) == (VMCreationFailed, explained(error), True)


@METHODS
@pytest.mark.parametrize(
    "error",
    [
        refusal("InvalidVolume.NotFound", f"The volume '{DISK}' does not exist."),
        attaching("InvalidVolume.NotFound"),
    ],
    ids=["named by AWS", "named by the call"],
)
def test_missing_disk(error: ClientError, method: str) -> None:
    """A disk that is gone is named."""
    typed = translated(error, method)
    assert (type(typed), typed.message, typed.ok_to_retry) == (
        DiskNotFound,
        f"Disk '{DISK}' not found",
        False,
    )


@METHODS
@pytest.mark.parametrize("code", ["InvalidInstanceID.NotFound", "InvalidVolume.NotFound"])
@pytest.mark.parametrize("said", ["gone", "eni-0123456789abcdef0, ami-0123 and my-vol are gone"])
def test_missing_and_not_named(code: str, said: str, method: str) -> None:
    """A missing resource without an id is a CloudError: callers would forget one that is named wrongly."""
    error = refusal(code, said)
    typed = translated(error, method)
    assert (type(typed), typed.message, typed.ok_to_retry) == (CloudError, explained(error), False)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (NO_ANSWER, 'EndpointConnectionError: Could not connect to the endpoint URL: "http://h/"'),
        (
            ConnectTimeoutError(endpoint_url="http://h/"),
            'ConnectTimeoutError: Connect timeout on endpoint URL: "http://h/"',
        ),
        (
            ReadTimeoutError(endpoint_url="http://h/"),
            'ReadTimeoutError: Read timeout on endpoint URL: "http://h/"',
        ),
    ],
)
def test_no_answer(error: Exception, message: str) -> None:
    """A call without an answer is retriable."""
    for method, kind in (("create_vm", VMCreationFailed), ("attach_disk", CloudError)):
        typed = translated(error, method)
        assert (type(typed), typed.ok_to_retry) == (kind, True)
        assert typed.message.startswith(f"AWS could not be called: {message}. ")


def test_no_answer_to_what() -> None:
    """The call that was not answered is told, and what to check."""
    error = EndpointConnectionError(endpoint_url="http://h/")
    setattr(error, CALL, Call("ec2:AttachVolume", (DISK, VM)))
    assert translated(error).message.endswith(
        f'"http://h/" (ec2:AttachVolume for {DISK}, {VM}). There is no connection: '
        "check routes, proxy and aws.ec2_endpoint, or create a VPC endpoint for it"
    )


@METHODS
@pytest.mark.parametrize("error", MISSING_CREDENTIALS, ids=lambda error: type(error).__name__)
def test_missing_credentials(error: Exception, method: str) -> None:
    """Missing credentials say where they are looked for, and what to do."""
    typed = translated(error, method)
    assert (type(typed), typed.ok_to_retry) == (CloudError, False)
    assert typed.message.startswith(
        "No AWS credentials found: credentials_source env_or_profile tries the environment's keys, "
        "web identity, the container's keys and the instance profile. "
        f"{type(error).__name__}: "
    )
    assert typed.message.endswith(KEYS_REMEDY)


def test_unreadable_answer() -> None:
    """An answer that can't be read is not quoted: it may hold secrets."""
    for method, kind in (("create_vm", VMCreationFailed), ("attach_disk", CloudError)):
        typed = translated(ResponseParserError("hunter2"), method)
        assert (type(typed), typed.ok_to_retry) == (kind, True)
        assert typed.message == (
            "AWS could not be called: its answer can't be read. Is there a proxy in between? "
            "Check env.https_proxy and the endpoints in aws, or create a VPC endpoint for it"
        )


@METHODS
@pytest.mark.parametrize(
    ("certificates", "where"),
    [
        ("BOSH_CA_CERT_FILE '/ca.pem'", "BOSH_CA_CERT_FILE '/ca.pem'"),
        ("", f"the CA certificates of '{certifi.where()}'"),
    ],
)
def test_untrusted(certificates: str, where: str, method: str) -> None:
    """A certificate that is not trusted names the bundle that was used; it stays untrusted."""
    error = SSLError(endpoint_url="https://h/", error=OSError("[SSL: CERTIFICATE_VERIFY_FAILED]"))
    setattr(error, CERTIFICATES, certificates)
    error.__context__ = SSLCertVerificationError(1, "self-signed")
    typed = translated(error, method)
    assert (type(typed), typed.ok_to_retry) == (CloudError, False)
    assert typed.message.startswith(f"AWS could not be called with {where}: SSLError: ")
    assert ". Its certificate is not trusted (" in typed.message


def test_wrong_parameters() -> None:
    """Parameters that the SDK refuses are not retriable."""
    typed = translated(ParamValidationError(report="no"), "create_vm")
    assert (type(typed), typed.ok_to_retry) == (CloudError, False)


@METHODS
@pytest.mark.parametrize("error", [ValueError("x"), KeyError("x"), OSError("x"), CloudError("x")])
def test_others(error: Exception, method: str) -> None:
    """Errors of others than the SDK are not translated."""
    assert translate(error, method) is None


def every_error() -> list[Exception]:
    """Make one of each error that the SDK has, but its warnings, and the faults of its own data."""
    kinds = [
        kind
        for kind in vars(botocore.exceptions).values()
        if isinstance(kind, type) and issubclass(kind, BotoCoreError)
    ]
    made: list[Exception] = []
    for kind in kinds:
        fields: dict[str, Any] = dict.fromkeys(re.findall(r"{(\w+)", kind.fmt), "x")
        if issubclass(kind, botocore.exceptions.WaiterError):
            fields["last_response"] = {}
        made.append(kind(**fields))
    return made


@METHODS
def test_none_is_unknown(method: str) -> None:
    """Whatever the SDK raises has a name: no code, no HTTP status and no fault of a connection is Unknown."""
    answered = [refusal(code, status=status) for code in (*ROWS, *OTHERS) for status in STATUSES]
    bare: list[Any] = [{"Error": {}}, {}]
    raised = [*every_error(), ResponseParserError("x"), *(ClientError(each, "DoThis") for each in bare)]
    assert len(raised) > 50
    for error in [*answered, *raised]:
        assert isinstance(translated(error, method), CloudError), error
