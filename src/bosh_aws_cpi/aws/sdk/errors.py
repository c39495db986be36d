"""AWS's errors: the sets of codes that the program handles, predicates, and the details of an error.

`codes` has the codes with their remedies; `translation` converts AWS's errors to the CPI's errors.
"""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, TypeVar

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    HTTPClientError,
    ReadTimeoutError,
    SSLError,
)
from botocore.exceptions import ConnectionError as NotConnected
from botocore.parsers import ResponseParserError

from bosh_aws_cpi.errors import CloudError, DiskNotFound, VMNotFound
from bosh_aws_cpi.log import logger

Result = TypeVar("Result")


class Codes:
    """A predicate of errors: a set of AWS's codes, defined in `codes`, which only errors need."""

    def __init__(self, *names: str) -> None:
        """Name the sets in the table that the set consists of."""
        self.names = names

    def __or__(self, other: "Codes") -> "Codes":
        return Codes(*self.names, *other.names)

    def __call__(self, error: BaseException | None) -> bool:
        """Whether AWS answered with one of the codes."""
        return isinstance(error, ClientError) and self._has(code_of(error), message_of(error))

    def __contains__(self, code: object) -> bool:
        return isinstance(code, str) and self._has(code)

    def __iter__(self) -> Iterator[str]:
        from bosh_aws_cpi.aws.sdk.codes import table  # noqa: PLC0415 - see `_has`

        plain = (each for each in table() if each.is_plain)
        return (each.code for each in plain if not each.sets.isdisjoint(self.names))

    def _has(self, code: str, message: str = "") -> bool:
        from bosh_aws_cpi.aws.sdk.codes import sets_of  # noqa: PLC0415 - no call that succeeds needs it

        return not sets_of(code, message).isdisjoint(self.names)


UNKNOWN_PARAMETER: Final = Codes("UNKNOWN_PARAMETER")
INSTANCE_MISSING: Final = Codes("INSTANCE_MISSING")
VOLUME_MISSING: Final = Codes("VOLUME_MISSING")
IMAGE_MISSING: Final = Codes("IMAGE_MISSING")
SNAPSHOT_MISSING: Final = Codes("SNAPSHOT_MISSING")
DIRECT_SNAPSHOT_MISSING: Final = Codes("DIRECT_SNAPSHOT_MISSING")
"""The EBS direct APIs may answer this for a while after StartSnapshot (eventual consistency)."""
NIC_MISSING: Final = Codes("NIC_MISSING")
SUBNET_MISSING: Final = Codes("SUBNET_MISSING")
ROUTE_MISSING: Final = Codes("ROUTE_MISSING")
GROUP_MISSING: Final = Codes("GROUP_MISSING")
MODIFICATION_MISSING: Final = Codes("MODIFICATION_MISSING")
BALANCER_MISSING: Final = Codes("BALANCER_MISSING")
TARGET_GROUP_MISSING: Final = Codes("TARGET_GROUP_MISSING")
KMS_KEY_MISSING: Final = Codes("KMS_KEY_MISSING")
"""DescribeKey's codes for a key that does not exist, and for a malformed id."""
TYPE_UNKNOWN: Final = Codes("TYPE_UNKNOWN")
NOT_FOUND_YET: Final = Codes("NOT_FOUND_YET")
"""AWS may answer one of these for a resource that was just created (eventual consistency)."""
SUBNET_USED: Final = Codes("SUBNET_USED")
"""DeleteSubnet's code while the subnet has interfaces."""
RANGE_TAKEN: Final = Codes("RANGE_TAKEN")
"""CreateSubnet's code for a range that overlaps the range of another subnet."""
ADDRESS_TAKEN: Final = Codes("ADDRESS_TAKEN")
GROUP_EXISTS: Final = Codes("GROUP_EXISTS")
GROUP_IN_USE: Final = Codes("GROUP_IN_USE")
"""DeletePlacementGroup's code while an instance of the group is not terminated."""
ROUTE_EXISTS: Final = Codes("ROUTE_EXISTS")
VOLUME_IN_USE: Final = Codes("VOLUME_IN_USE")
SNAPSHOT_IN_USE: Final = Codes("SNAPSHOT_IN_USE")
NIC_IN_USE: Final = Codes("NIC_IN_USE")
"""DeleteNetworkInterface answers InvalidParameterValue while EC2 is still detaching the interface."""
DEVICE_NAME_TAKEN: Final = Codes("DEVICE_NAME_TAKEN")
NOT_ATTACHED: Final = Codes("NOT_ATTACHED")
NOT_ATTACHABLE_YET: Final = Codes("NOT_ATTACHABLE_YET")
NOT_ASSOCIABLE_YET: Final = Codes("NOT_ASSOCIABLE_YET")
"""AssociateAddress may answer one of these when the interface's instance has just started to run."""
NOT_MODIFIABLE: Final = Codes("NOT_MODIFIABLE")
"""ModifyVolume answers one of these if the volume can't be changed now, ever, or in this account."""
COPY_LIMIT_REACHED: Final = Codes("COPY_LIMIT_REACHED")
"""CopyVolumes answers this while the quota of concurrent copies in the region, 5 by default, is used up
(EBS user guide, "Copy an Amazon EBS volume")."""
BLOCK_INVALID: Final = Codes("BLOCK_INVALID")
SNAPSHOT_NOT_PENDING: Final = Codes("SNAPSHOT_NOT_PENDING")
"""CompleteSnapshot's codes when the snapshot is already completed."""
NOT_IN_BALANCER: Final = Codes("NOT_IN_BALANCER")
TARGET_REFUSED: Final = Codes("TARGET_REFUSED")
TARGET_GROUP_FOREIGN: Final = Codes("TARGET_GROUP_FOREIGN")
"""DescribeTargetGroups' code for an ARN of another account or region."""
TAG_REFUSED: Final = Codes("TAG_REFUSED")
TAGS_BUSY: Final = Codes("TAGS_BUSY")
"""Two calls tag a resource at once, for example set_vm_metadata and an operator."""
UNTAGGABLE: Final = TAG_REFUSED | NOT_FOUND_YET | Codes("MALFORMED_ID")
"""Codes that may concern only one of several resources, so that the others may accept the tags."""
QUOTA_REACHED: Final = Codes("QUOTA_REACHED")
NO_CAPACITY: Final = Codes("NO_CAPACITY")
"""RunInstances' codes when the instance type can't be launched here and now, but another type may work.

Some of these codes come with HTTP 500. Unknown codes Insufficient…Capacity… count, too. A shortage of volumes
or addresses does not count, because it concerns all instance types alike.
"""
GROUP_FULL: Final = Codes("GROUP_FULL")
"""The spread placement group has as many instances in the zone as EC2 allows."""
SUBNET_FULL: Final = Codes("SUBNET_FULL")
"""EC2 may report this with the code InvalidParameterValue."""
RESERVATION_CLOSED: Final = Codes("RESERVATION_CLOSED")
"""RunInstances' codes for an interruptible reservation that EC2 takes back, and for a capacity block that has
not begun."""
AWS_FAULT: Final = Codes("AWS_FAULT")
"""RunInstances' codes for a fault of AWS: a retry may succeed."""
SHUTDOWN_NOT_SKIPPED: Final = Codes("SHUTDOWN_NOT_SKIPPED")
"""TerminateInstances may answer one of these where EC2 does not support SkipOsShutdown."""
PROFILE_UNKNOWN: Final = Codes("PROFILE_UNKNOWN")
"""EC2 refuses an instance profile, or one without its role, either of which may be new."""
TOKEN_SPENT: Final = Codes("TOKEN_SPENT")
"""The client token belongs to an earlier call, whose instance is gone, or whose arguments differ."""
UNAUTHORIZED: Final = Codes("UNAUTHORIZED")
DRY_RUN_PASSED: Final = Codes("DRY_RUN_PASSED")
SESSION_ENDED: Final = Codes("SESSION_ENDED")
"""AWS does not accept the keys, for example because they have expired, or their role was deleted.

EC2 may answer AuthFailure in place of these, which has other meanings too."""
ACCOUNT_NOT_SERVED: Final = Codes("ACCOUNT_NOT_SERVED")
KEYS_REFUSED: Final = SESSION_ENDED | ACCOUNT_NOT_SERVED | Codes("KEYS_REFUSED")
"""Codes about the keys, the clock or the account: with them every call fails."""
THROTTLED: Final = Codes("THROTTLED")
"""Throttling: the call has had no effect."""
VOLUME_CHANGING: Final = Codes("VOLUME_CHANGING")
"""AttachVolume's answer for a volume that is being modified."""
SNAPSHOTS_PENDING: Final = Codes("SNAPSHOTS_PENDING")
"""CreateSnapshot's codes while too many snapshots of the volume or of the region are pending."""
_TRANSIENT: Final = Codes("TRANSIENT")
"""What the SDK counts as transient, too (botocore, retries/standard.py, and the API model of STS)."""
UNREADABLE: Final = "AWS could not be called: its answer can't be read. Is there a proxy in between?"
"""The message of a ResponseParserError (`call_hooks`); the SDK's own message would quote the whole answer."""
_ENCODED_PART: Final = r" Encoded authorization failure message: ([\w-]+)\s*$"
"""The part of EC2's message that is readable only after sts:DecodeAuthorizationMessage."""
_DENIED_ACTION: Final = r"not authorized to perform: (\w[\w-]*:\w+)"
"""IAM's name of the missing action, which may differ from the call, as for tags at a launch."""
EXPLICIT_DENY: Final = "explicit deny"
"""A part of AWS's message if a policy denies the call; without this part, no policy allows the call."""
_POLICY: Final = rf"(?:{EXPLICIT_DENY} in|because no) (?:an? |the )?([\w -]{{0,30}}?(?:policy|boundary))\b"
"""The policy that does not allow a call (IAM user guide, "Troubleshoot access denied error messages")."""
_IDENTITY_POLICY: Final = "identity-based policy"
OWN_POLICY: Final = "policy of the CPI's user or role"
_THROTTLED_STATUS: Final = 429
"""The HTTP status that means throttling, whatever the error code."""
ERROR_STATUS: Final = 300
"""The lowest HTTP status that means that the call failed."""
_FAULT_STATUS: Final = 500
"""The lowest HTTP status that means that AWS is at fault."""
_NOT_IMPLEMENTED: Final = 501
"""The HTTP status that is no fault: a retry would be answered in the same way, and AWS's code says it all."""


FAILURES: Final = (BotoCoreError, ClientError, ResponseParserError)
"""The exceptions that the SDK raises if a call fails."""


def detail_of(error: ClientError) -> dict[str, Any]:
    """The element Error of an answer; empty for a proxy's answer, which has no such element."""
    return dict(error.response.get("Error", {}))


def code_of(error: BaseException | None) -> str:
    """The AWS error code of an exception; empty for an exception that is not AWS's answer."""
    return str(detail_of(error).get("Code", "")) if isinstance(error, ClientError) else ""


def code_and_request_id(error: BaseException) -> tuple[str, str]:
    """AWS's error code and request id; the exception's name and "" for an attempt without an answer."""
    if not isinstance(error, ClientError):
        return type(error).__name__, ""
    return code_of(error), str(error.response.get("ResponseMetadata", {}).get("RequestId", ""))


def is_error_of_aws(error: ClientError) -> bool:
    """Whether AWS may have sent an error: without a code, the SDK uses the HTTP status, or no code."""
    code = code_of(error)
    return code not in {"", "Unknown"} and not code.isdecimal()


def is_transient(error: BaseException) -> bool:
    """Whether a retry may succeed soon: AWS throttles or is at fault, or there is no connection."""
    is_unconnected = isinstance(error, NotConnected) and not is_untrusted(error)
    has_passing_code = THROTTLED(error) or _TRANSIENT(error)
    is_throttled = _status(error) == _THROTTLED_STATUS
    is_passing = is_uncertain(error) and _status(error) != _NOT_IMPLEMENTED
    return has_passing_code or is_throttled or is_passing or is_unconnected


def is_untrusted(error: BaseException | None) -> bool:
    """Whether this machine does not trust the server's certificate: a retry would fail in the same way.

    Other TLS errors, such as a connection that is cut during the handshake, are transient.
    """
    return isinstance(error, SSLError) and "CERTIFICATE_VERIFY_FAILED" in str(error)


def is_timeout(error: BaseException) -> bool:
    """Whether nothing answered in time: a person who waits for a command waits for the next attempt, too."""
    return isinstance(error, ConnectTimeoutError | ReadTimeoutError)


def is_uncertain(error: BaseException) -> bool:
    """Whether an attempt that ended with this error may have taken effect nevertheless.

    A status without AWS's code proves nothing: a proxy may send it in place of AWS's answer.
    """
    if isinstance(error, ClientError):  # EC2 answers some shortages with HTTP 500
        proves_nothing = _is_fault(error) or not is_error_of_aws(error)
        return proves_nothing and not (THROTTLED(error) or NO_CAPACITY(error))
    return isinstance(error, HTTPClientError | ResponseParserError)


def is_foreign(error: BaseException) -> bool:
    """Whether not AWS has answered, but perhaps a proxy; a fault without a code may be one of AWS."""
    if isinstance(error, ClientError):
        return not (is_error_of_aws(error) or _is_fault(error))
    return isinstance(error, ResponseParserError) and not hasattr(error, ELEMENT)


def _is_fault(error: ClientError) -> bool:
    return _status(error) >= _FAULT_STATUS and _status(error) != _NOT_IMPLEMENTED


def may_have_taken_effect(error: BaseException) -> bool:
    """Whether a call that ended with this error may have taken effect, in this or an earlier attempt."""
    call = call_of(error)
    return is_uncertain(error) or (call is not None and call.was_uncertain)


def _status(error: BaseException) -> int:
    metadata = error.response.get("ResponseMetadata", {}) if isinstance(error, ClientError) else {}
    return int(metadata.get("HTTPStatusCode", 0))


def call_unless(refused: Codes, call: Callable[[], Result]) -> Result | None:
    """Make a call; None when AWS answers with one of the codes, for example for a missing resource."""
    try:
        return call()
    except ClientError as error:
        if refused(error):
            return None
        raise


def try_delete(in_use: Codes, missing: Codes, delete: Callable[[], object]) -> bool:
    """Try once to delete a resource; False when AWS answers that the resource is in use.

    It is no error if the resource is already gone.
    """
    try:
        call_unless(missing, delete)
    except ClientError as error:
        if in_use(error):
            return False
        raise
    return True


@contextmanager
def _naming(missing: Codes, not_found: Callable[[str], CloudError], cid: str) -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        if missing(error):
            raise not_found(cid) from error
        raise


naming_vm: Final = partial(_naming, INSTANCE_MISSING, VMNotFound)
"""Converts AWS's errors for an unknown or malformed id to VMNotFound, in calls about the VM with that id."""
naming_disk: Final = partial(_naming, VOLUME_MISSING, DiskNotFound)
"""The same for calls about a disk, to DiskNotFound."""


def ask_or_warn(what: str, ask: Callable[[], Result]) -> Result | None:
    """Look up something that is optional for the caller; None, with a warning, if AWS does not answer.

    The caller must treat None as the safe case, which usually means to raise its own error. An error that is
    not AWS's is a bug, and is raised.

    Args:
        what: The object of the look-up, for the log: "the instances of placement group 'x'".
    """
    try:
        return ask()
    except (*FAILURES, CloudError) as error:
        remedy = policy_remedy(error)
        logger.warning("Could not look up %s: %s%s", what, describe_error(error), remedy and f". {remedy}")
        return None


class Call:
    """A call to AWS with all its attempts.

    Args:
        action: IAM's name of the call, "ec2:AttachVolume".
        ids: The ids of resources among the parameters, "vol-1".
        throttled: The number of throttled attempts.
        was_uncertain: Whether a failed attempt may have taken effect nevertheless.
    """

    def __init__(
        self, action: str, ids: tuple[str, ...], *, throttled: int = 0, was_uncertain: bool = False
    ) -> None:
        self.action = action
        self.ids = ids
        self.began = time.monotonic()
        """The start of the call, by the monotonic clock."""
        self.throttled = throttled
        self.was_uncertain = was_uncertain


CALL: Final = "bosh_call"
"""The key under which the SDK's context of a call, and the call's error, hold our `Call`."""
ELEMENT: Final = "bosh_element"
"""The attribute of a ResponseParserError about AWS's own document: the name of the element that it lacks,
or "" if a part of it can't be read. An error about a document that is not AWS's has no such attribute."""
CERTIFICATES: Final = "bosh_certificates"
"""The attribute of an error with the name of the CA certificates that the call trusted; see `Clients`."""


def call_of(error: BaseException) -> Call | None:
    """The call that is attached to an error; None when there is none."""
    call = detail_of(error).get(CALL) if isinstance(error, ClientError) else getattr(error, CALL, None)
    return call if isinstance(call, Call) else None


def message_of(error: ClientError) -> str:
    """AWS's message without its encoded part."""
    return re.sub(_ENCODED_PART, "", _full_message(error))


def encoded_of(error: ClientError) -> str:
    """The encoded part of AWS's message, which needs no quoting in a command; empty if there is none."""
    match = re.search(_ENCODED_PART, _full_message(error))
    return match[1] if match else ""


def _full_message(error: ClientError) -> str:
    return str(detail_of(error).get("Message", "no message"))


def describe_error(error: BaseException) -> str:
    """An error of AWS on one line: operation, code, message without its encoded part, request id and ids."""
    call = call_of(error)
    ids = ", ".join(call.ids) if call else ""
    if isinstance(error, ClientError):
        _, request_id = code_and_request_id(error)
        text = f"{detail_of(error).get('Code', 'no code')}: {message_of(error)}"
        about = f"request id {request_id or 'none'}" + (f", for {ids}" if ids else "")
        return f"{error.operation_name} failed with {text} ({about})"
    text = UNREADABLE if isinstance(error, ResponseParserError) else f"{type(error).__name__}: {error}"
    about = " for ".join(filter(None, [call.action, ids])) if call else ""
    about += f", without {element}" if (element := getattr(error, ELEMENT, "")) else ""
    return text + (f" ({about})" if about else "")


def policy_remedy(error: Exception) -> str:
    """The remedy if a policy does not allow a call, to change or to meet the policy; else empty."""
    if not isinstance(error, ClientError) or not UNAUTHORIZED(error):
        return ""
    message, call = message_of(error), call_of(error)
    denied = re.search(_DENIED_ACTION, message)
    action = denied[1] if denied else call.action if call else error.operation_name
    policy = match[1] if (match := re.search(_POLICY, message)) else ""
    if EXPLICIT_DENY in message:
        which = f"The {policy}" if policy else "A policy"
        denies = f"{which} explicitly denies {action}: no other policy can allow it"
        return f"{denies}. Meet its conditions, or ask its owner to change it"
    where = policy if policy not in {"", _IDENTITY_POLICY} else OWN_POLICY
    return f"Allow {action} in the {where}"


def run_all(*steps: Callable[[], object]) -> None:
    """Run every step, even after a step has failed.

    Raises:
        Exception: The first error, after all steps have run; further errors are logged.
    """
    first: Exception | None = None
    for step in steps:
        try:
            step()
        except Exception as error:  # noqa: BLE001 - raised below, or logged
            if first is None:
                first = error
            else:
                logger.error("Another cleanup step failed: %s: %s", type(error).__name__, error)
    if first is not None:
        raise first
