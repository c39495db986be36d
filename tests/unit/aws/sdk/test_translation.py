"""From what the SDK raised to what the caller is answered with."""

import re
from typing import Any

import botocore.exceptions
import pytest
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    EndpointConnectionError,
    ParamValidationError,
    ReadTimeoutError,
)

from bosh_aws_cpi.aws.sdk.errors import CALL, Call
from bosh_aws_cpi.aws.sdk.translation import by_code, explained, translate
from bosh_aws_cpi.errors import BoshError, CloudError, DiskNotFound, VMCreationFailed, VMNotFound

VM, DISK = "i-0123456789abcdef0", "vol-0123456789abcdef0"
METHODS = pytest.mark.parametrize("method", ["create_vm", "attach_disk"])
URL = {"endpoint_url": "http://h/"}
OTHERS = ("", "Unheard", "503", "Client.Unheard", "{action}")
"""Codes that stand in no row."""


def refusal(code: str, message: str = "said", status: int = 400, *ids: str) -> ClientError:
    """Make an error that AWS answered to AttachVolume, which knows its call if there are ids."""
    metadata = {"HTTPStatusCode": status, "RequestId": "r-1"}
    answer: Any = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": metadata}
    if ids:
        answer["Error"][CALL] = Call("ec2:AttachVolume", ids)
    return ClientError(answer, "AttachVolume")


def translated(error: Exception, method: str = "attach_disk") -> BoshError:
    """Translate the SDK's error."""
    typed = translate(error, method)
    assert typed is not None
    return typed


def check(error: Exception, kind: type[BoshError], *, ok_to_retry: bool, method: str = "attach_disk") -> str:
    """Check what an error becomes; returns its message."""
    typed = translated(error, method)
    assert (type(typed), typed.ok_to_retry) == (kind, ok_to_retry)
    return typed.message


def check_busy(error: Exception) -> str:
    """Check that an error is retriable; the Director itself repeats a create_vm."""
    said = check(error, VMCreationFailed, ok_to_retry=True, method="create_vm")
    assert check(error, CloudError, ok_to_retry=True) == said
    return said


def test_explained() -> None:
    """A message says what was attempted on which ids, all that AWS said, and what can be done about it."""
    remedy = by_code()["IncorrectState"].remedy
    said = check(refusal("IncorrectState", "it ends", 400, DISK, VM), CloudError, ok_to_retry=False)
    begin = f"AttachVolume failed with IncorrectState: it ends (request id r-1, for {DISK}, {VM})"
    assert said == f"{begin}. {remedy[0].upper()}{remedy[1:]}"
    assert explained(refusal("{action}")) == "AttachVolume failed with {action}: said (request id r-1)"


def test_missing_permission() -> None:
    """Who may not do it is told the action to allow: AWS may name another one than the call's own."""
    denied = "{0} is not authorized to perform: ec2:CreateTags on resource: arn:x because"
    for error, action in (
        (refusal("AccessDenied", "You are not authorized.", 403, DISK), "ec2:AttachVolume"),
        (refusal("UnauthorizedOperation", denied, 403, DISK), "ec2:CreateTags"),
        (refusal("AccessDeniedException"), "AttachVolume"),
    ):
        assert f". Allow {action} in the policy" in check(error, CloudError, ok_to_retry=False)


DENIES = "explicitly denies {}: no other policy can allow it. Meet its conditions, or ask its owner to change"


@pytest.mark.parametrize(
    ("why", "remedy"),
    [
        ("because no identity-based policy allows", "Allow {} in the policy of the CPI's user or"),
        ("because no VPC endpoint policy allows the {} action", "Allow {} in the VPC endpoint policy;"),
        ("because no permissions boundary allows it", "Allow {} in the permissions boundary;"),
        ("because no service control policy allows", "Allow {} in the service control policy;"),
        ("with an explicit deny in a permissions boundary", f"The permissions boundary {DENIES}"),
        ("with an explicit deny", f"A policy {DENIES}"),
        ("with an explicit deny in a session policy.", f"The session policy {DENIES}"),
        ("with an explicit deny in an identity-based policy", f"The identity-based policy {DENIES}"),
        (
            "with an explicit deny in a resource control policy: arn:aws:organizations::1:policy/p-1",
            f"The resource control policy {DENIES} it; cpi preflight",
        ),
    ],
)
def test_policy(why: str, remedy: str) -> None:
    """The remedy names the policy that AWS names; where it denies explicitly, nothing is to be allowed."""
    action = "ec2:CreateTags"
    message = f"X is not authorized to perform: {action} on resource: arn:aws:ec2:x:1:volume/* {why}"
    said = explained(refusal("UnauthorizedOperation", message.format(action), 403, DISK))
    assert f" (request id r-1, for {DISK}). {remedy.format(action)}" in said


def test_message_that_is_no_argument() -> None:
    """What can't be an encoded message stays where AWS said it: it gets into no command."""
    said = "No. Encoded authorization failure message: a; reboot"
    message = explained(refusal("UnauthorizedOperation", said, 403, DISK))
    assert f"{said} (request id" in message
    assert "aws sts" not in message


@pytest.mark.parametrize(
    "error",
    [
        refusal("InsufficientInstanceCapacity", status=400),
        *(refusal(code, status=503) for code in ("RequestLimitExceeded", *OTHERS)),
        *(kind(**URL) for kind in (EndpointConnectionError, ReadTimeoutError)),
    ],
    ids=str,
)
def test_busy(error: Exception) -> None:
    """A temporary error is retriable, as is one in no row whose HTTP status blames AWS, and no answer."""
    said = check_busy(error)
    if isinstance(error, ClientError):
        assert said == explained(error)
    else:
        assert said.startswith("AWS could not be called: ")


@pytest.mark.parametrize(
    "error",
    [
        *(refusal(code, status=499) for code in OTHERS),
        refusal("InvalidParameterValue", status=500),
        ParamValidationError(report="no"),
    ],
    ids=str,
)
def test_not_busy(error: Exception) -> None:
    """Other errors are not retriable; a code's row wins over the HTTP status."""
    check(error, CloudError, ok_to_retry=False)


@pytest.mark.parametrize(
    "error",
    [
        refusal("InvalidInstanceID.NotFound", f"The instance ID '{VM}' does not exist"),
        refusal("InvalidInstanceID.NotFound", "said", 400, DISK, VM),
        refusal("InvalidInstanceID.NotFound", f"no '{VM}'", 400, "i-0fedcba9876543210"),
    ],
    ids=["named by AWS", "named by the call", "named by both"],
)
def test_missing_vm(error: ClientError) -> None:
    """A VM that is gone is named; if create_vm has just made it, somebody else has ended it."""
    assert check(error, VMNotFound, ok_to_retry=False) == VMNotFound(VM).message
    assert check(error, VMCreationFailed, ok_to_retry=True, method="create_vm") == explained(error)


def test_missing_disk() -> None:
    """A disk that is gone is named, whether AWS or the call names it."""
    error = refusal("InvalidVolume.NotFound", "said", 400, DISK, VM)
    assert check(error, DiskNotFound, ok_to_retry=False) == DiskNotFound(DISK).message
    error = refusal("InvalidVolume.NotFound", f"The volume '{DISK}' does not exist.")
    assert check(error, DiskNotFound, ok_to_retry=False) == DiskNotFound(DISK).message


@METHODS
@pytest.mark.parametrize("code", ["InvalidInstanceID.NotFound", "InvalidVolume.NotFound"])
def test_missing_and_not_named(code: str, method: str) -> None:
    """A missing resource without an id is a CloudError: callers would forget one that is named wrongly."""
    error = refusal(code, "eni-0123456789abcdef0, ami-0123 and my-vol are gone")
    assert check(error, CloudError, ok_to_retry=False, method=method) == explained(error)


def test_others() -> None:
    """Errors of others than the SDK are not translated."""
    assert translate(OSError("x"), "create_vm") is None


def every_error() -> list[Exception]:
    """Make one of each error that the SDK has."""
    made: list[Exception] = []
    for kind in vars(botocore.exceptions).values():
        if isinstance(kind, type) and issubclass(kind, BotoCoreError):
            fields: dict[str, Any] = dict.fromkeys(re.findall(r"{(\w+)", kind.fmt), "x")
            if issubclass(kind, botocore.exceptions.WaiterError):
                fields["last_response"] = {}
            made.append(kind(**fields))
    return made


@METHODS
def test_none_is_unknown(method: str) -> None:
    """Whatever the SDK raises has a name: no code, no HTTP status and no fault of a connection is Unknown."""
    statuses = (0, 301, 400, 429, 500)
    answered = [refusal(code, status=status) for code in (*by_code(), *OTHERS) for status in statuses]
    bare: list[Any] = [{"Error": {}}, {}]
    raised = [*every_error(), *(ClientError(each, "DoThis") for each in bare)]
    assert len(raised) > 50
    for error in [*answered, *raised]:
        assert isinstance(translated(error, method), CloudError), error
