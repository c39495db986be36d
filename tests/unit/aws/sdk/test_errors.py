"""What AWS's error codes mean to us."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
    SSLError,
)
from botocore.parsers import ResponseParserError

from bosh_aws_cpi.aws.sdk import errors
from bosh_aws_cpi.aws.sdk.errors import Call
from bosh_aws_cpi.errors import CloudError, DiskNotFound, VMNotFound
from tests.unit.aws.timing_script import knowing

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager


def refusal(code: str, message: str = "said", **more: Any) -> ClientError:
    """Make an error that AWS answered."""
    answer: Any = {"Error": {"Code": code, "Message": message}, **more}
    return ClientError(answer, "DoThis")


def fault(code: str, status: int = 500) -> ClientError:
    """Make an error that AWS answered with this HTTP status."""
    return refusal(code, ResponseMetadata={"HTTPStatusCode": status})


NO_ANSWER = EndpointConnectionError(endpoint_url="http://h/")
MALFORMED_VOLUME = refusal(
    "InvalidParameterValue", "Value (x) for parameter volumes is invalid. Expected: 'vol-...'."
)
BLANK: Any = {"Error": {}}
PAGE: Any = {"ResponseMetadata": {"HTTPStatusCode": 403}}
UNAVAILABLE_PAGE: Any = {"ResponseMetadata": {"HTTPStatusCode": 503}}
"""What the SDK may make of a page of HTML that a proxy answers."""
UNTRUSTED = SSLError(endpoint_url="https://h/", error=OSError("[SSL: CERTIFICATE_VERIFY_FAILED]"))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (refusal("Code.Sub"), "Code.Sub"),
        (ClientError(BLANK, "DoThis"), ""),
        (ClientError(PAGE, "DoThis"), ""),
        (NO_ANSWER, ""),
        (ValueError("x"), ""),
        (None, ""),
    ],
)
def test_code(error: BaseException | None, expected: str) -> None:
    """Only what AWS answered has a code."""
    assert errors.code_of(error) == expected
    assert errors.has_code(error, frozenset({"Code.Sub", "Other"})) is (expected != "")


def refused_connection() -> Exception:
    """Make the error of an attempt that never arrived."""
    return EndpointConnectionError(endpoint_url="http://h/")


@pytest.mark.parametrize(
    ("error", "missing"),
    [
        (refusal("InvalidVolume.NotFound"), True),
        (refusal("InvalidVolumeID.Malformed"), True),
        (MALFORMED_VOLUME, True),
        (refusal("InvalidParameterValue", "Expected: 'i-...'."), False),
        (refusal("VolumeInUse"), False),
        (NO_ANSWER, False),
    ],
)
def test_missing_volume(error: Exception, *, missing: bool) -> None:
    """A volume is missing when EC2 does not know its id, or calls it malformed in one of its ways."""
    assert errors.is_volume_missing(error) is missing


@pytest.mark.parametrize(
    ("error", "uncertain", "passing"),
    [
        (fault("InternalError"), True, True),
        (fault("Unavailable", 503), True, True),
        (fault("", 599), True, True),
        (fault("RequestLimitExceeded", 503), False, True),
        (fault("Unheard", 429), False, True),
        (fault("InsufficientInstanceCapacity"), False, False),
        (fault("InsufficientHostCapacity", 503), False, False),
        (ClientError(PAGE, "DoThis"), False, False),
        (ClientError(UNAVAILABLE_PAGE, "DoThis"), True, True),
        (refusal("Throttling"), False, True),
        (fault("InvalidParameterValue", 400), False, False),
        (fault("InternalError", 499), False, False),
        (refusal("InternalError"), False, False),
        (ReadTimeoutError(endpoint_url="http://h/"), True, True),
        (ConnectionClosedError(endpoint_url="http://h/"), True, True),
        (ResponseParserError("x"), True, True),
        (ConnectTimeoutError(endpoint_url="http://h/"), False, True),
        (NO_ANSWER, False, True),
        (UNTRUSTED, False, False),
        (NoCredentialsError(), False, False),
        (CloudError("x"), False, False),
        (ValueError("x"), False, False),
    ],
)
def test_kinds(error: Exception, *, uncertain: bool, passing: bool) -> None:
    """After a fault or a lost answer the work may be done; what never arrived, or is throttled, is not.

    Nor is what EC2 has no capacity for, whatever its HTTP status. All but that pass: the same question
    may be answered in a moment. A certificate that is not trusted stays so.
    """
    assert errors.is_uncertain(error) is uncertain
    assert errors.is_transient(error) is passing


UNCERTAIN = Call("ec2:DoThis", (), was_uncertain=True)
THROTTLED_ONCE = Call("ec2:DoThis", (), throttled=1)


@pytest.mark.parametrize(
    ("error", "call", "may_be_done"),
    [
        (refusal("A"), UNCERTAIN, True),
        (refusal("RequestLimitExceeded"), UNCERTAIN, True),
        (refused_connection(), UNCERTAIN, True),
        (fault("InternalError"), THROTTLED_ONCE, True),
        (fault("InternalError"), None, True),
        (ReadTimeoutError(endpoint_url="http://h/"), None, True),
        (refusal("A"), THROTTLED_ONCE, False),
        (refusal("A", ResponseMetadata={"RetryAttempts": 1}), THROTTLED_ONCE, False),
        (refused_connection(), THROTTLED_ONCE, False),
        (refusal("A"), None, False),
        (refused_connection(), None, False),
    ],
)
def test_may_be_done(error: Exception, call: Call | None, *, may_be_done: bool) -> None:
    """A call may have done its work when any of its attempts may: not when all before were throttled."""
    assert errors.may_be_done(knowing(error, call)) is may_be_done


@pytest.mark.parametrize(
    ("naming", "error", "expected", "message"),
    [
        (errors.naming_vm, refusal("InvalidInstanceID.NotFound"), VMNotFound, "VM `x' not found"),
        (errors.naming_vm, refusal("InvalidInstanceID.Malformed"), VMNotFound, "VM `x' not found"),
        (errors.naming_disk, refusal("InvalidVolume.NotFound"), DiskNotFound, "Disk 'x' not found"),
        (errors.naming_disk, MALFORMED_VOLUME, DiskNotFound, "Disk 'x' not found"),
    ],
)
def test_naming(
    naming: Callable[[str], AbstractContextManager[None]],
    error: Exception,
    expected: type[CloudError],
    message: str,
) -> None:
    """An id that EC2 does not know becomes the error that callers know, with AWS's own as its cause."""
    with pytest.raises(expected) as caught, naming("x"):
        raise error
    assert caught.value.message == message
    assert caught.value.__cause__ is error


@pytest.mark.parametrize(
    ("naming", "error"),
    [
        (errors.naming_vm, refusal("InvalidVolume.NotFound")),
        (errors.naming_vm, refusal("UnauthorizedOperation")),
        (errors.naming_disk, refusal("InvalidInstanceID.NotFound")),
        (errors.naming_disk, refusal("InvalidParameterValue")),
        (errors.naming_disk, NO_ANSWER),
    ],
)
def test_naming_others(naming: Callable[[str], AbstractContextManager[None]], error: Exception) -> None:
    """Every other error goes through as it is."""
    with pytest.raises(type(error)) as caught, naming("x"):
        raise error
    assert caught.value is error


def failing(error: Exception) -> Callable[[], object]:
    """Return a look-up that fails."""

    def ask() -> object:
        raise error

    return ask


@pytest.mark.parametrize(
    "error", [refusal("UnauthorizedOperation"), NO_ANSWER, ResponseParserError("<html>"), VMNotFound("x")]
)
def test_looked_up(error: Exception) -> None:
    """What AWS refuses, does not answer or does not know is not found."""
    assert errors.looked_up("x", failing(error)) is None


@pytest.mark.parametrize("error", [AttributeError("There is no operation 'x'"), KeyError("x")])
def test_bug_in_a_look_up(error: Exception) -> None:
    """An error of the program, such as a call that the table of actions lacks, is not hidden."""
    with pytest.raises(type(error)):
        errors.looked_up("x", failing(error))


def remembered(error: Exception, *ids: str) -> Exception:
    """Put a call about these into an error."""
    return knowing(error, Call("ec2:DoThis", ids))


UNREAD = "AWS could not be called: its answer can't be read. Is there a proxy in between?"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            refusal("AuthFailure", "no\nway", ResponseMetadata={"RequestId": "r-1"}),
            "DoThis failed with AuthFailure: no\nway (request id r-1)",
        ),
        (refusal("A", "b"), "DoThis failed with A: b (request id none)"),
        (ClientError({"Error": {}}, "DoThis"), "DoThis failed with no code: no message (request id none)"),
        (remembered(refusal("A", "b")), "DoThis failed with A: b (request id none)"),
        (
            remembered(refusal("A", "b", ResponseMetadata={"RequestId": "r-1"}), "vol-1", "i-1"),
            "DoThis failed with A: b (request id r-1, for vol-1, i-1)",
        ),
        (ValueError("x"), "ValueError: x"),
        (ClientError(PAGE, "DoThis"), "DoThis failed with no code: no message (request id none)"),
        (remembered(OSError("x"), "i-1", "vol-1"), "OSError: x (ec2:DoThis for i-1, vol-1)"),
        (remembered(OSError("x")), "OSError: x (ec2:DoThis)"),
        (ResponseParserError("<html>hunter2"), UNREAD),
        (remembered(ResponseParserError("<html>hunter2"), "i-1"), f"{UNREAD} (ec2:DoThis for i-1)"),
    ],
)
def test_described(error: Exception, message: str) -> None:
    """An error tells all that AWS said of the call, and what the call was about as far as that is known.

    A page that can't be read is not quoted: it may hold secrets.
    """
    assert errors.described(error) == message


@pytest.mark.parametrize("make", [lambda: refusal("A"), refused_connection], ids=["answered", "lost"])
def test_call(make: Callable[[], Exception]) -> None:
    """An error gives back the call that was put into it."""
    error, call = make(), Call("ec2:DoThis", ("vol-1",))
    assert errors.call_of(error) is None
    assert errors.call_of(knowing(error, call)) is call


def test_call_of_a_success() -> None:
    """A successful answer stays unchanged."""
    answer: dict[str, Any] = {"Volumes": []}
    errors.remember_call(answer, Call("ec2:DoThis", ()))
    assert answer == {"Volumes": []}
