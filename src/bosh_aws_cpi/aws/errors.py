"""What AWS's error codes mean to us: sets of codes, predicates, and what an error tells.

`translation` makes of them what the caller is answered with.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from botocore.exceptions import ClientError, HTTPClientError, SSLError
from botocore.exceptions import ConnectionError as NotConnected
from botocore.parsers import ResponseParserError

from bosh_aws_cpi.errors import DiskNotFound, VMNotFound

INSTANCE_MISSING: Final = frozenset({"InvalidInstanceID.NotFound", "InvalidInstanceID.Malformed"})
VOLUME_MISSING: Final = frozenset(
    {"InvalidVolume.NotFound", "InvalidVolumeID.Malformed", "InvalidVolumeId.Malformed", "InvalidID"}
)
"""The last is CreateTags' word for an id that is none."""
IMAGE_MISSING: Final = frozenset(
    {"InvalidAMIID.NotFound", "InvalidAMIID.Malformed", "InvalidAMIID.Unavailable"}
)
SNAPSHOT_MISSING: Final = frozenset({"InvalidSnapshot.NotFound", "InvalidSnapshotID.Malformed"})
NIC_MISSING: Final = frozenset({"InvalidNetworkInterfaceID.NotFound", "InvalidNetworkInterfaceId.Malformed"})
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
    "InsufficientCapacity",
    "InsufficientCapacityOnHost",
    "InsufficientHostCapacity",
    "InsufficientInstanceCapacity",
    "InsufficientReservedInstanceCapacity",
    "ReservationCapacityExceeded",
    "SpotMaxPriceTooLow",
    "UnfulfillableCapacity",
    "Unsupported",
}
"""What RunInstances answers when this instance type is not to be had here and now: another one may be.

Some of them come as HTTP 500. "Unsupported" is a type that the zone does not have."""
AT_FAULT: Final = frozenset(
    {
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
        "RequestLimitExceeded",
        "Throttling",
        "ThrottlingException",
        "RequestThrottled",
        "RequestThrottledException",
    }
)


_SERVER_FAULT: Final = 500
"""From this HTTP status on it is AWS's fault."""


def code_of(error: BaseException | None) -> str:
    """The AWS error code of an exception; empty for one that AWS did not answer."""
    return str(error.response["Error"].get("Code", "")) if isinstance(error, ClientError) else ""


def has_code(error: BaseException | None, codes: frozenset[str]) -> bool:
    """Whether AWS answered one of these codes."""
    return code_of(error) in codes


def is_volume_missing(error: BaseException) -> bool:
    """Whether a volume is not there. EC2 calls a malformed volume id an invalid parameter value."""
    if has_code(error, VOLUME_MISSING):
        return True
    return code_of(error) == "InvalidParameterValue" and "Expected: 'vol-" in str(error)


def is_passing(error: BaseException) -> bool:
    """Whether the same question may be answered in a moment: throttled, AWS at fault, no connection."""
    is_unconnected = isinstance(error, NotConnected) and not isinstance(error, SSLError)
    return has_code(error, THROTTLED) or is_uncertain(error) or is_unconnected


def was_repeated(error: BaseException) -> bool:
    """Whether the SDK had sent the call before, so that its work may have been done by then."""
    metadata = error.response.get("ResponseMetadata", {}) if isinstance(error, ClientError) else {}
    return bool(metadata.get("RetryAttempts", 0))


def is_uncertain(error: BaseException) -> bool:
    """Whether a call that ended like this may have done its work all the same."""
    if isinstance(error, ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        return status >= _SERVER_FAULT and not has_code(error, THROTTLED)
    return isinstance(error, HTTPClientError | ResponseParserError)


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


def described(error: Exception) -> str:
    """What AWS said of which call: operation, code, message, request id and ids, on one line."""
    if isinstance(error, ClientError):
        detail = error.response["Error"]
        request_id = error.response.get("ResponseMetadata", {}).get("RequestId", "none")
        said = f"{detail.get('Code', 'no code')}: {detail.get('Message', 'no message')}"
        ids = ", ".join(call.ids) if (call := call_of(error)) else ""
        about = f"request id {request_id}" + (f", for {ids}" if ids else "")
        return f"{error.operation_name} failed with {said} ({about})"
    notes = "; ".join(getattr(error, "__notes__", []))
    return f"{type(error).__name__}: {error}" + (f" ({notes})" if notes else "")


@dataclass(frozen=True)
class Call:
    """A call to AWS, as an error about it tells.

    Attributes:
        action: IAM's name for it, "ec2:AttachVolume".
        ids: Of what it is about, "vol-1".
    """

    action: str
    ids: tuple[str, ...]


_CALL = "BoshCall"


def remember_call(answer: dict[str, Any], call: Call) -> None:
    """Put a call into the error that AWS answered it with, so that messages can name it."""
    if "Error" in answer:
        answer["Error"][_CALL] = call


def call_of(error: ClientError) -> Call | None:
    """The call that was refused; None when nobody has put it there."""
    detail: dict[str, Any] = dict(error.response["Error"])
    return detail.get(_CALL)
