"""AWS's errors: the codes that the program handles, predicates, and the details of an error.

`translation` has the remedies, and converts AWS's errors to the CPI's errors.
"""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


def code_set(text: str) -> frozenset[str]:
    """The set of the error codes in a text, which are separated by spaces."""
    return frozenset(text.split())


INVALID_VALUE: Final = code_set("InvalidParameterValue")
INVALID_PARAMETER: Final = INVALID_VALUE | code_set(
    "InvalidParameter InvalidParameterCombination InvalidParameterDependency UnsupportedOperation"
)
UNKNOWN_PARAMETER: Final = code_set("UnknownParameter")
INSTANCE_STATE: Final = code_set("IncorrectInstanceState")
MALFORMED_ID: Final = code_set("InvalidID")
"""CreateTags' code for a malformed id."""
INSTANCE_MISSING: Final = code_set("InvalidInstanceID.NotFound InvalidInstanceID.Malformed")
VOLUME_MISSING: Final = code_set("InvalidVolume.NotFound InvalidVolumeID.Malformed") | MALFORMED_ID
IMAGE_MISSING: Final = code_set("InvalidAMIID.NotFound InvalidAMIID.Malformed InvalidAMIID.Unavailable")
SNAPSHOT_MISSING: Final = code_set("InvalidSnapshot.NotFound InvalidSnapshotID.Malformed")
NIC_MISSING: Final = code_set("InvalidNetworkInterfaceID.NotFound InvalidNetworkInterfaceId.Malformed")
SUBNET_MISSING: Final = code_set(
    "InvalidSubnet InvalidSubnetID.Malformed InvalidSubnetID.NotFound "
    "InvalidSubnetId.Malformed InvalidSubnetId.NotFound"
)
"""EC2 documents the first three; users also report the other spelling."""
_MISSING: Final = INSTANCE_MISSING | VOLUME_MISSING | IMAGE_MISSING | SNAPSHOT_MISSING
NOT_FOUND_YET: Final = frozenset(
    code for code in _MISSING | NIC_MISSING | SUBNET_MISSING if code.endswith(".NotFound")
)
"""AWS may answer one of these for a resource that was just created (eventual consistency)."""
SUBNET_USED: Final = code_set("DependencyViolation")
"""DeleteSubnet's code while the subnet has interfaces."""
RANGE_TAKEN: Final = code_set("InvalidSubnet.Conflict")
"""CreateSubnet's code for a range that overlaps the range of another subnet."""
GROUP_QUOTA_REACHED: Final = code_set("PlacementGroupLimitExceeded")
GROUP_EXISTS: Final = code_set("InvalidPlacementGroup.Duplicate")
GROUP_MISSING: Final = code_set("InvalidPlacementGroup.Unknown")
GROUP_IN_USE: Final = code_set("InvalidPlacementGroup.InUse")
"""DeletePlacementGroup's code while an instance of the group is not terminated."""
VOLUME_IN_USE: Final = code_set("VolumeInUse")
NIC_IN_USE: Final = code_set("InvalidNetworkInterface.InUse") | INVALID_VALUE
"""DeleteNetworkInterface answers InvalidParameterValue while EC2 is still detaching the interface."""
TAG_REFUSED: Final = code_set("TagLimitExceeded") | INVALID_VALUE
UNTAGGABLE: Final = TAG_REFUSED | NOT_FOUND_YET | MALFORMED_ID
"""Codes that may concern only one of several resources, so that the others may accept the tags."""
QUOTA_REACHED: Final = code_set("InstanceLimitExceeded MaxSpotInstanceCountExceeded VcpuLimitExceeded")
RESERVATION_FULL: Final = code_set("ReservationCapacityExceeded")
NO_HOST: Final = code_set("IncompatibleHostRequirements UnavailableHostRequirements")
PRICE_TOO_LOW: Final = code_set("SpotMaxPriceTooLow")
NOT_OFFERED: Final = code_set("Unsupported")
"""The zone does not offer the instance type."""
TYPE_SHORTAGE: Final = code_set(
    "InsufficientCapacity InsufficientCapacityOnHost InsufficientHostCapacity InsufficientInstanceCapacity "
    "InsufficientReservedInstanceCapacity InsufficientReservedInstancesCapacity UnfulfillableCapacity"
)
NO_CAPACITY: Final = QUOTA_REACHED | RESERVATION_FULL | NO_HOST | PRICE_TOO_LOW | NOT_OFFERED | TYPE_SHORTAGE
"""RunInstances' codes when the instance type can't be launched here and now, but another type may work.

Some of these codes come with HTTP 500."""
CAPACITY_BLOCK_PENDING: Final = code_set("InvalidCapacityReservationState.PendingActivation")
RESERVATION_CLOSED: Final = code_set("InvalidCapacityReservationState.Unavailable") | CAPACITY_BLOCK_PENDING
"""RunInstances' codes for an interruptible reservation that EC2 takes back, and for a capacity block that has
not begun (aws/karpenter-provider-aws, its errors for reserved capacity)."""
AWS_FAULT: Final = code_set("InternalError InternalFailure ServerInternal ServiceUnavailable Unavailable")
"""RunInstances' codes for a fault of AWS: a retry may succeed."""
NO_PREFIX: Final = code_set("InsufficientCidrBlocks")
NO_ADDRESS: Final = code_set("InsufficientFreeAddressesInSubnet")
NO_ADDRESS_WORDS: Final = "sufficient free ipv[46] addresses or prefixes"
"""CreateNetworkInterface's message for a full subnet, under the code InvalidParameterValue.

AWS Support, quoted in cilium/cilium pull request 31016; seen in aws/amazon-vpc-cni-k8s issue 3105.
"""
SHUTDOWN_NOT_SKIPPED: Final = INVALID_PARAMETER | UNKNOWN_PARAMETER | INSTANCE_STATE | NOT_OFFERED
"""TerminateInstances may answer one of these where EC2 does not support SkipOsShutdown."""
ARGUMENTS_DIFFER: Final = code_set("IdempotentParameterMismatch")
TOKEN_SPENT: Final = code_set("IdempotentInstanceTerminated") | ARGUMENTS_DIFFER
"""The client token belongs to an earlier call, whose instance is gone, or whose arguments differ."""
UNAUTHORIZED: Final = code_set("UnauthorizedOperation AccessDenied AccessDeniedException")
"""EC2's code, and the codes of the other services."""
EXPIRED: Final = code_set("ExpiredToken ExpiredTokenException")
CLOCK_DIFFERS: Final = code_set("RequestExpired")
BAD_SIGNATURE: Final = code_set(
    "SignatureDoesNotMatch IncompleteSignature MissingAuthenticationToken InvalidSignatureException"
)
SESSION_ENDED: Final = EXPIRED | CLOCK_DIFFERS | code_set("InvalidClientTokenId UnrecognizedClientException")
"""AWS does not accept the keys, for example because they have expired, or their role was deleted.

EC2 answers RequestExpired (aws/aws-sdk-java issue 1443), or AuthFailure, which has other meanings too."""
THROTTLED: Final = code_set(
    "ConcurrentLimitExceededException DependencyThrottle EC2ThrottledException PriorRequestNotComplete "
    "RequestLimitExceeded RequestResourceCountExceeded RequestThrottled RequestThrottledException SlowDown "
    "ThrottledException Throttling ThrottlingException TooManyRequestsException"
)
"""Throttling: the call has had no effect.

The codes are from the SDK's list (botocore, retries/standard.py), without codes of other services, from the
API models of the EBS direct APIs (StartSnapshot) and of Elastic Load Balancing, and from EC2's page "Error
codes": RequestResourceCountExceeded, for spot requests that are asked for too often.
"""
NOT_PERMITTED: Final = code_set("OperationNotPermitted")
VOLUME_CHANGING_WORDS: Final = "in modification state"
"""AttachVolume's message, under the code OperationNotPermitted, for a volume that is being modified."""
TIMED_OUT: Final = code_set("RequestTimeout RequestTimeoutException")
IDP_UNREACHABLE: Final = code_set("IDPCommunicationError")
"""The SDK, too, counts these as transient (botocore, retries/standard.py, and the API model of STS)."""
SNAPSHOTS_PENDING: Final = code_set("ConcurrentSnapshotLimitExceeded PendingSnapshotLimitExceeded")
"""CreateSnapshot's codes while too many snapshots of the volume or of the region are pending."""
NO_VOLUME: Final = code_set("InsufficientVolumeCapacity")
NO_PUBLIC_ADDRESS: Final = code_set("InsufficientAddressCapacity")
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


def has_code(error: BaseException | None, codes: frozenset[str]) -> bool:
    """Whether AWS answered with one of these codes."""
    return code_of(error) in codes


def is_volume_missing(error: BaseException) -> bool:
    """Whether EC2 answered that a volume does not exist, or that the volume's id is malformed."""
    if has_code(error, VOLUME_MISSING):
        return True
    return has_code(error, INVALID_VALUE) and "Expected: 'vol-" in str(error)


def is_volume_changing(error: BaseException) -> bool:
    """Whether EC2 does not attach a volume because it is being modified."""
    return has_code(error, NOT_PERMITTED) and VOLUME_CHANGING_WORDS in str(error)


def is_shortage(error: BaseException | None) -> bool:
    """Whether EC2 has no capacity for an instance type; unknown codes Insufficient…Capacity… count, too.

    A shortage of volumes or addresses does not count, because it concerns all instance types alike.
    """
    code = code_of(error)
    looks_like_shortage = code.startswith("Insufficient") and "Capacity" in code
    return code in NO_CAPACITY or (looks_like_shortage and code not in NO_VOLUME | NO_PUBLIC_ADDRESS)


def is_group_full(error: BaseException | None) -> bool:
    """Whether a spread placement group has as many instances in the zone as EC2 allows.

    EC2 uses the code of a shortage of the instance type, and only the message differs
    (aws/karpenter-provider-aws, its design of placement groups).
    """
    return is_shortage(error) and "limit of instances in this spread placement group" in str(error)


def is_subnet_full(error: BaseException | None) -> bool:
    """Whether a subnet is full; EC2 may report this with the code InvalidParameterValue."""
    if has_code(error, NO_PREFIX | NO_ADDRESS):
        return True
    has_words = re.search(NO_ADDRESS_WORDS, str(error), re.IGNORECASE) is not None
    return has_code(error, INVALID_VALUE) and has_words


def is_profile_unknown(error: BaseException) -> bool:
    """Whether EC2 refuses an instance profile, or one without its role, either of which may be new."""
    words = r"Invalid IAM Instance Profile|IAM Instance Profile .* has no associated IAM Roles"
    return has_code(error, INVALID_VALUE) and re.search(words, str(error)) is not None


def is_transient(error: BaseException) -> bool:
    """Whether a retry may succeed soon: AWS throttles or is at fault, or there is no connection."""
    is_unconnected = isinstance(error, NotConnected) and not is_untrusted(error)
    has_passing_code = has_code(error, THROTTLED | TIMED_OUT | IDP_UNREACHABLE)
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
        status = _status(error)
        is_fault = status >= _FAULT_STATUS and status != _NOT_IMPLEMENTED
        proves_nothing = is_fault or not is_error_of_aws(error)
        return proves_nothing and not (has_code(error, THROTTLED) or is_shortage(error))
    return isinstance(error, HTTPClientError | ResponseParserError)


def is_foreign(error: BaseException) -> bool:
    """Whether not AWS has answered, but perhaps a proxy; a fault without a code may be one of AWS."""
    if isinstance(error, ClientError):
        return not is_error_of_aws(error) and _status(error) < _FAULT_STATUS
    return isinstance(error, ResponseParserError) and not hasattr(error, ELEMENT)


def may_have_taken_effect(error: BaseException) -> bool:
    """Whether a call that ended with this error may have taken effect, in this or an earlier attempt."""
    call = call_of(error)
    return is_uncertain(error) or (call is not None and call.was_uncertain)


def _status(error: BaseException) -> int:
    metadata = error.response.get("ResponseMetadata", {}) if isinstance(error, ClientError) else {}
    return int(metadata.get("HTTPStatusCode", 0))


def call_unless_missing(missing: frozenset[str], call: Callable[[], Result]) -> Result | None:
    """Make a call about one resource; None when AWS answers with one of the codes for a missing resource."""
    try:
        return call()
    except ClientError as error:
        if has_code(error, missing):
            return None
        raise


def try_delete(in_use: frozenset[str], missing: frozenset[str], delete: Callable[[], object]) -> bool:
    """Try once to delete a resource; False when AWS answers that the resource is in use.

    It is no error if the resource is already gone.
    """
    try:
        call_unless_missing(missing, delete)
    except ClientError as error:
        if has_code(error, in_use):
            return False
        raise
    return True


@contextmanager
def naming_vm(vm_cid: str) -> Iterator[None]:
    """Convert AWS's errors for an unknown or malformed id to VMNotFound, in calls about one VM.

    Raises:
        VMNotFound: EC2 does not know the instance.
    """
    try:
        yield
    except ClientError as error:
        if has_code(error, INSTANCE_MISSING):
            raise VMNotFound(vm_cid) from error
        raise


@contextmanager
def naming_disk(disk_cid: str) -> Iterator[None]:
    """Convert AWS's errors for an unknown or malformed id to DiskNotFound, in calls about one disk.

    Raises:
        DiskNotFound: EC2 does not know the volume.
    """
    try:
        yield
    except ClientError as error:
        if is_volume_missing(error):
            raise DiskNotFound(disk_cid) from error
        raise


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
    if not isinstance(error, ClientError) or not has_code(error, UNAUTHORIZED):
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
