"""From what the SDK raised to what the caller is answered with: the rules, as tables."""

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

from bosh_aws_cpi.aws.sdk.codes import table
from bosh_aws_cpi.aws.sdk.errors import CALL, Call
from bosh_aws_cpi.aws.sdk.translation import explain, translate
from bosh_aws_cpi.errors import BoshError, CloudError, DiskNotFound, VMCreationFailed, VMNotFound

VM, DISK = "i-0123456789abcdef0", "vol-0123456789abcdef0"
METHODS = pytest.mark.parametrize("method", ["create_vm", "attach_disk"])
URL = {"endpoint_url": "http://h/"}
OTHERS = ("", "Unheard", "503", "Client.Unheard", "{action}")
"""Codes that stand in no row."""
FOREIGN = OTHERS[0], OTHERS[2]
"""Those of an answer without a code of AWS, which proves nothing."""


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


DENIES = "explicitly denies {}: no other policy can allow it. Meet its conditions, or ask its owner to change"


@pytest.mark.parametrize(
    ("why", "remedy"),
    [
        ("", "Allow {} in the policy of the CPI's user or role; cpi preflight"),
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
    action = "ec2:CreateTags"  # AWS may name another one than the call's own
    message = f"X is not authorized to perform: {action} on resource: arn:aws:ec2:x:1:volume/* {why}"
    said = explain(refusal("UnauthorizedOperation", message.format(action), 403, DISK))
    assert f" (request id r-1, for {DISK}). {remedy.format(action)}" in said


def test_message_that_is_no_argument() -> None:
    """What can't be an encoded message stays where AWS said it: it gets into no command."""
    said = "No. Encoded authorization failure message: a; reboot"
    message = explain(refusal("UnauthorizedOperation", said, 403, DISK))
    assert f"{said} (request id" in message
    assert "aws sts" not in message


GONE, NO_DISK = "InvalidInstanceID.NotFound", "InvalidVolume.NotFound"


@pytest.mark.parametrize(
    ("error", "kind", "ok_to_retry", "at_create_vm"),
    [
        (refusal("InsufficientInstanceCapacity", status=400), CloudError, True, True),
        *((refusal(code, status=503), CloudError, True, True) for code in ("RequestLimitExceeded", *OTHERS)),
        *((kind(**URL), CloudError, True, True) for kind in (EndpointConnectionError, ReadTimeoutError)),
        *((refusal(code, status=499), CloudError, code in FOREIGN, code in FOREIGN) for code in OTHERS),
        (refusal("InvalidParameterValue", status=500), CloudError, False, False),
        (ParamValidationError(report="no"), CloudError, False, False),
        (refusal(GONE, f"The instance ID '{VM}' does not exist"), VMNotFound, False, True),
        (refusal(GONE, f"no '{VM}'", 400, "i-0fedcba9876543210"), VMNotFound, False, True),
        (refusal(GONE, "said", 400, DISK, VM), VMNotFound, False, True),
        (refusal(NO_DISK, "said", 400, DISK, VM), DiskNotFound, False, False),
        (refusal(NO_DISK, f"The volume '{DISK}' does not exist."), DiskNotFound, False, False),
        *(
            (refusal(code, "eni-0123456789, ami-0123 and my-vol"), CloudError, False, False)
            for code in (GONE, NO_DISK)
        ),
    ],
    ids=str,
)
def test_kind(error: Exception, kind: type[BoshError], *, ok_to_retry: bool, at_create_vm: bool) -> None:
    """A code's row decides, else the HTTP status; callers forget what is gone, so it must be named rightly.

    The Director itself repeats a create_vm; if its new VM is gone, somebody else has ended it. Without a
    code, a retry may succeed.
    """
    typed, of_vm = translated(error), translated(error, "create_vm")
    assert (type(typed), typed.ok_to_retry, of_vm.ok_to_retry) == (kind, ok_to_retry, at_create_vm)
    assert isinstance(of_vm, VMCreationFailed) is at_create_vm
    if issubclass(kind, VMNotFound | DiskNotFound):
        assert typed.message == kind(VM if kind is VMNotFound else DISK).message


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
    codes = {each.code for each in table()} | {*OTHERS}
    answered = [refusal(code, status=status) for code in codes for status in statuses]
    bare: list[Any] = [{"Error": {}}, {}]
    raised = [*every_error(), *(ClientError(each, "DoThis") for each in bare)]
    assert len(raised) > 50
    for error in [*answered, *raised]:
        assert isinstance(translated(error, method), CloudError), error
