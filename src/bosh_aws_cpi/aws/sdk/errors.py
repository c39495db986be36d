"""What AWS's error codes mean to us: sets of codes, predicates, and what an error tells.

`translation` makes of them what the caller is answered with.
"""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from botocore.exceptions import ClientError, HTTPClientError, SSLError
from botocore.exceptions import ConnectionError as NotConnected
from botocore.parsers import ResponseParserError

from bosh_aws_cpi.errors import DiskNotFound, VMNotFound

INSTANCE_MISSING: Final = frozenset({"InvalidInstanceID.NotFound", "InvalidInstanceID.Malformed"})
VOLUME_MISSING: Final = frozenset({"InvalidVolume.NotFound", "InvalidVolumeID.Malformed", "InvalidID"})
"""The last is CreateTags' word for an id that is none."""
IMAGE_MISSING: Final = frozenset(
    {"InvalidAMIID.NotFound", "InvalidAMIID.Malformed", "InvalidAMIID.Unavailable"}
)
SNAPSHOT_MISSING: Final = frozenset({"InvalidSnapshot.NotFound", "InvalidSnapshotID.Malformed"})
NIC_MISSING: Final = frozenset({"InvalidNetworkInterfaceID.NotFound", "InvalidNetworkInterfaceId.Malformed"})
VOLUME_IN_USE: Final = frozenset({"VolumeInUse"})
NIC_IN_USE: Final = frozenset({"InvalidNetworkInterface.InUse", "InvalidParameterValue"})
"""DeleteNetworkInterface says the second while EC2 is still detaching the interface."""
NOT_FOUND_YET: Final = frozenset(
    {
        "InvalidInstanceID.NotFound",
        "InvalidVolume.NotFound",
        "InvalidAMIID.NotFound",
        "InvalidSnapshot.NotFound",
        "InvalidNetworkInterfaceID.NotFound",
    }
)
"""What CreateTags answers for a resource that was made a moment ago (eventual consistency)."""
TAG_REFUSED: Final = frozenset({"TagLimitExceeded", "InvalidParameterValue"})
UNTAGGABLE: Final = TAG_REFUSED | NOT_FOUND_YET | {"InvalidID"}
"""Why one of several resources may not take tags that the others do."""
QUOTA_REACHED: Final = frozenset(
    {"InstanceLimitExceeded", "MaxSpotInstanceCountExceeded", "VcpuLimitExceeded"}
)
NO_CAPACITY: Final = QUOTA_REACHED | {
    "IncompatibleHostRequirements",
    "InsufficientCapacity",
    "InsufficientCapacityOnHost",
    "InsufficientHostCapacity",
    "InsufficientInstanceCapacity",
    "InsufficientReservedInstanceCapacity",
    "InsufficientReservedInstancesCapacity",
    "ReservationCapacityExceeded",
    "SpotMaxPriceTooLow",
    "UnavailableHostRequirements",
    "UnfulfillableCapacity",
    "Unsupported",
}
"""What RunInstances answers when it can't launch this instance type here and now: another one may do.

Some of them come as HTTP 500. "Unsupported" is a type that the zone does not have."""
_SHORTAGE: Final = re.compile(r"Insufficient\w*Capacity\w*")
_OTHER_SHORTAGES: Final = frozenset({"InsufficientVolumeCapacity", "InsufficientAddressCapacity"})
"""Shortages that are the same for every instance type."""
AT_FAULT: Final = frozenset(
    {
        "InsufficientCidrBlocks",
        "InsufficientFreeAddressesInSubnet",
        "InternalError",
        "InternalFailure",
        "ServerInternal",
        "ServiceUnavailable",
        "Unavailable",
    }
)
"""What RunInstances answers when AWS is at fault, or addresses are short: the same call may succeed later."""
TOKEN_SPENT: Final = frozenset({"IdempotentInstanceTerminated", "IdempotentParameterMismatch"})
"""A client token stands for an earlier call, whose instance is gone or which asked for something else."""
UNAUTHORIZED: Final = frozenset({"UnauthorizedOperation", "AccessDenied", "AccessDeniedException"})
"""EC2's word for it, and the words of the other services."""
THROTTLED: Final = frozenset(
    {
        "ConcurrentLimitExceededException",
        "DependencyThrottle",
        "EC2ThrottledException",
        "PriorRequestNotComplete",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
"""Throttling: the call has had no effect.

The SDK's list (botocore, retries/standard.py) without other services' codes, and what the API models of the
EBS direct APIs (StartSnapshot) and Elastic Load Balancing add.
"""
_SUBNET_FULL: Final = re.compile(r"sufficient free ipv[46] addresses or prefixes", re.IGNORECASE)
"""What CreateNetworkInterface says of a full subnet, under the code InvalidParameterValue.

AWS Support, quoted in cilium/cilium pull request 31016; seen in aws/amazon-vpc-cni-k8s issue 3105.
"""
UNREADABLE: Final = "AWS could not be called: its answer can't be read. Is there a proxy in between?"
"""For an answer that is no AWS service's; the SDK's own message quotes the whole of it."""
_TOO_MANY: Final = 429
"""The HTTP status that means throttling, whatever the code."""
REFUSED: Final = 300
"""From this HTTP status on an answer is not the one that was asked for."""
_SERVER_FAULT: Final = 500
"""From this HTTP status on it is AWS's fault."""


def detail_of(error: ClientError) -> dict[str, Any]:
    """The part of an answer that tells what is wrong; a proxy's answer has none."""
    return dict(error.response.get("Error", {}))


def code_of(error: BaseException | None) -> str:
    """The AWS error code of an exception; empty for one that AWS did not answer."""
    return str(detail_of(error).get("Code", "")) if isinstance(error, ClientError) else ""


def has_code(error: BaseException | None, codes: frozenset[str]) -> bool:
    """Whether AWS answered one of these codes."""
    return code_of(error) in codes


def is_volume_missing(error: BaseException) -> bool:
    """Whether a volume is not there. EC2 calls a malformed volume id an invalid parameter value."""
    if has_code(error, VOLUME_MISSING):
        return True
    return code_of(error) == "InvalidParameterValue" and "Expected: 'vol-" in str(error)


def is_shortage(error: BaseException | None) -> bool:
    """Whether EC2 has no capacity for an instance type; an unknown code of that family counts too."""
    code = code_of(error)
    is_of_family = code not in _OTHER_SHORTAGES and _SHORTAGE.fullmatch(code) is not None
    return code in NO_CAPACITY or is_of_family


def is_subnet_full(error: BaseException | None) -> bool:
    """Whether EC2 says in an invalid parameter value that a subnet has no room."""
    return code_of(error) == "InvalidParameterValue" and _SUBNET_FULL.search(str(error)) is not None


def is_passing(error: BaseException) -> bool:
    """Whether the same question may be answered in a moment: throttled, AWS at fault, no connection."""
    is_unconnected = isinstance(error, NotConnected) and not is_untrusted(error)
    is_throttled = has_code(error, THROTTLED) or _status(error) == _TOO_MANY
    return is_throttled or is_uncertain(error) or is_unconnected


def is_untrusted(error: BaseException | None) -> bool:
    """Whether the server's certificate was refused: a repetition would end the same way.

    Other TLS errors, such as a connection that is cut during the handshake, are transient.
    """
    return isinstance(error, SSLError) and "CERTIFICATE_VERIFY_FAILED" in str(error)


def is_uncertain(error: BaseException) -> bool:
    """Whether an attempt that ended like this may have done its work all the same."""
    if isinstance(error, ClientError):  # EC2 says some shortages with HTTP 500
        return _status(error) >= _SERVER_FAULT and not (has_code(error, THROTTLED) or is_shortage(error))
    return isinstance(error, HTTPClientError | ResponseParserError)


def may_be_done(error: BaseException) -> bool:
    """Whether a call that ended like this may have done its work, by this attempt or an earlier one."""
    call = call_of(error)
    return is_uncertain(error) or (call is not None and call.was_uncertain)


def _status(error: BaseException) -> int:
    metadata = error.response.get("ResponseMetadata", {}) if isinstance(error, ClientError) else {}
    return int(metadata.get("HTTPStatusCode", 0))


@contextmanager
def naming_vm(vm_cid: str) -> Iterator[None]:
    """Calls about one VM: an unknown or malformed id becomes VMNotFound.

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
    """Calls about one disk: an unknown or malformed id becomes DiskNotFound.

    Raises:
        DiskNotFound: EC2 does not know the volume.
    """
    try:
        yield
    except ClientError as error:
        if is_volume_missing(error):
            raise DiskNotFound(disk_cid) from error
        raise


@dataclass
class Call:
    """A call to AWS, from its beginning through all its attempts.

    Attributes:
        action: IAM's name for it, "ec2:AttachVolume".
        ids: Of what it is about, "vol-1".
        began: By the monotonic clock.
        throttled: How many attempts were throttled.
        was_uncertain: Whether an attempt ended so that it may have done its work.
    """

    action: str
    ids: tuple[str, ...]
    began: float = field(default_factory=time.monotonic)
    throttled: int = 0
    was_uncertain: bool = False


CALL: Final = "bosh_call"
"""Where the SDK's context of a call, and the error that it ends with, keep it for us."""


def remember_call(answer: dict[str, Any], call: Call) -> None:
    """Put a call into the error that AWS answered it with."""
    if "Error" in answer:
        answer["Error"][CALL] = call


def call_of(error: BaseException) -> Call | None:
    """The call that ended with an error; None when nobody has put it there."""
    found = detail_of(error).get(CALL) if isinstance(error, ClientError) else getattr(error, CALL, None)
    return found if isinstance(found, Call) else None


def described(error: Exception) -> str:
    """What AWS said of which call: operation, code, message, request id and ids, on one line."""
    call = call_of(error)
    ids = ", ".join(call.ids) if call else ""
    if isinstance(error, ClientError):
        detail = detail_of(error)
        request_id = error.response.get("ResponseMetadata", {}).get("RequestId", "none")
        said = f"{detail.get('Code', 'no code')}: {detail.get('Message', 'no message')}"
        about = f"request id {request_id}" + (f", for {ids}" if ids else "")
        return f"{error.operation_name} failed with {said} ({about})"
    said = UNREADABLE if isinstance(error, ResponseParserError) else str(error)
    about = " for ".join(filter(None, [call.action, ids])) if call else ""
    return f"{type(error).__name__}: {said}" + (f" ({about})" if about else "")
