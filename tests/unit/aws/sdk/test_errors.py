"""What AWS's error codes mean to us."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from botocore.exceptions import (
    ClientError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
    SSLError,
)
from botocore.parsers import ResponseParserError

from bosh_aws_cpi.aws.sdk import errors
from bosh_aws_cpi.aws.sdk.errors import Call
from bosh_aws_cpi.errors import CloudError, DiskNotFound, VMNotFound
from tests.unit.aws.timing_script import Script, knowing

URL = {"endpoint_url": "http://h/"}


def refusal(code: str, message: str = "said", status: int = 0) -> ClientError:
    """Make an error that AWS answered, perhaps with this HTTP status."""
    answer: Any = {"Error": {"Code": code, "Message": message}}
    if status:
        answer["ResponseMetadata"] = {"HTTPStatusCode": status, "RequestId": "r-1"}
    return ClientError(answer, "DoThis")


def page(status: int) -> ClientError:
    """Make what the SDK may make of a page of HTML that a proxy answers."""
    answer: Any = {"ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(answer, "DoThis")


MALFORMED_VOLUME = refusal("InvalidParameterValue", "Value (x) is invalid. Expected: 'vol-...'.")
UNTRUSTED = SSLError(error=OSError("[SSL: CERTIFICATE_VERIFY_FAILED]"), **URL)


@pytest.mark.parametrize(
    ("error", "uncertain", "passing"),
    [
        (refusal("InternalError", status=500), True, True),
        (page(503), True, True),
        (refusal("NotImplemented", status=501), False, False),
        (page(501), True, False),
        (ReadTimeoutError(**URL), True, True),
        (ResponseParserError("x"), True, True),
        (refusal("RequestLimitExceeded", status=503), False, True),
        (refusal("Unheard", status=429), False, True),
        (EndpointConnectionError(**URL), False, True),
        (refusal("Unsupported", status=500), False, False),
        (refusal("InsufficientQuantumCapacity", status=500), False, False),
        (refusal("InsufficientVolumeCapacity", status=500), True, True),
        (refusal("InternalError", status=499), False, False),
        (page(403), True, True),
        (UNTRUSTED, False, False),
        (SSLError(error=OSError("[SSL: UNEXPECTED_EOF]"), **URL), False, True),
        *((error, False, False) for error in (NoCredentialsError(), CloudError("x"))),
    ],
    ids=str,
)
def test_kinds(error: Exception, *, uncertain: bool, passing: bool) -> None:
    """After a fault or a lost answer the work may be done; what never arrived, or is throttled, is not.

    Nor is what EC2 has no capacity for, whatever its HTTP status. All but that pass: the same question
    may be answered in a moment. A certificate that is not trusted stays so, and what is not implemented.
    """
    assert errors.is_uncertain(error) is uncertain
    assert errors.is_transient(error) is passing


@pytest.mark.parametrize(
    ("naming", "error", "expected"),
    [
        (errors.naming_vm, refusal("InvalidVolume.NotFound"), ClientError),
        (errors.naming_disk, MALFORMED_VOLUME, DiskNotFound),
        (errors.naming_disk, refusal("InvalidParameterValue", "Expected: 'i-...'."), ClientError),
    ],
)
def test_naming(
    naming: Callable[[str], AbstractContextManager[None]], error: Exception, expected: type[Exception]
) -> None:
    """Only that EC2 does not know the id itself, or calls it malformed, becomes the error of callers."""
    with pytest.raises(expected), naming("own-id"):
        raise error


def test_looked_up() -> None:
    """What AWS does not say is not found; a bug is not hidden."""
    for error in (refusal("UnauthorizedOperation"), ResponseParserError("<html>"), VMNotFound("x")):
        assert errors.ask_or_warn("x", Script(error)) is None
    with pytest.raises(AttributeError):
        errors.ask_or_warn("x", Script(AttributeError("There is no operation 'x'")))


UNREAD = "AWS could not be called: its answer can't be read. Is there a proxy in between?"


@pytest.mark.parametrize(
    ("error", "ids", "message"),
    [
        (refusal("A", "no\nway", 400), (), "DoThis failed with A: no\nway (request id r-1)"),
        (refusal("A", "b", 400), ("i-1", "b"), "DoThis failed with A: b (request id r-1, for i-1, b)"),
        (page(403), None, "DoThis failed with no code: no message (request id none)"),
        (OSError("x"), ("i-1", "vol-1"), "OSError: x (ec2:DoThis for i-1, vol-1)"),
        (OSError("x"), (), "OSError: x (ec2:DoThis)"),
        (ResponseParserError("<html>hunter2"), ("i-1",), f"{UNREAD} (ec2:DoThis for i-1)"),
    ],
)
def test_described(error: Exception, ids: tuple[str, ...] | None, message: str) -> None:
    """An error tells all that AWS said of the call, and what it was about; a page may hold secrets."""
    call = None if ids is None else Call("ec2:DoThis", ids)
    assert errors.describe_error(knowing(error, call)) == message
