"""The error codes of AWS that the program acts upon, by their meaning; `error_table` has all remedies."""

from typing import Final


def codes(text: str) -> frozenset[str]:
    """The codes in a text, which are separated by blanks."""
    return frozenset(text.split())


INSTANCE_MISSING: Final = codes("InvalidInstanceID.NotFound InvalidInstanceID.Malformed")
VOLUME_MISSING: Final = codes("InvalidVolume.NotFound InvalidVolumeID.Malformed InvalidID")
"""CreateTags answers InvalidID for a malformed id."""
IMAGE_MISSING: Final = codes("InvalidAMIID.NotFound InvalidAMIID.Malformed InvalidAMIID.Unavailable")
SNAPSHOT_MISSING: Final = codes("InvalidSnapshot.NotFound InvalidSnapshotID.Malformed")
NIC_MISSING: Final = codes("InvalidNetworkInterfaceID.NotFound InvalidNetworkInterfaceId.Malformed")
SUBNET_MISSING: Final = codes(
    "InvalidSubnet InvalidSubnetID.Malformed InvalidSubnetID.NotFound "
    "InvalidSubnetId.Malformed InvalidSubnetId.NotFound"
)
"""EC2 documents the first three; users report the other spelling, too."""
SUBNET_USED: Final = codes("DependencyViolation")
"""DeleteSubnet answers this while the subnet has interfaces."""
RANGE_TAKEN: Final = codes("InvalidSubnet.Conflict")
"""CreateSubnet answers this for a range that overlaps another subnet's."""
GROUP_QUOTA_REACHED: Final = codes("PlacementGroupLimitExceeded")
GROUP_EXISTS: Final = codes("InvalidPlacementGroup.Duplicate")
GROUP_MISSING: Final = codes("InvalidPlacementGroup.Unknown")
GROUP_IN_USE: Final = codes("InvalidPlacementGroup.InUse")
"""DeletePlacementGroup answers this while an instance of the group is not terminated."""
VOLUME_IN_USE: Final = codes("VolumeInUse")
NIC_IN_USE: Final = codes("InvalidNetworkInterface.InUse InvalidParameterValue")
"""DeleteNetworkInterface answers InvalidParameterValue while EC2 is still detaching the interface."""
NOT_FOUND_YET: Final = codes(
    "InvalidInstanceID.NotFound InvalidVolume.NotFound InvalidAMIID.NotFound InvalidSnapshot.NotFound "
    "InvalidNetworkInterfaceID.NotFound InvalidSubnetID.NotFound InvalidSubnetId.NotFound"
)
"""A call about a resource that was just created may answer one of these (eventual consistency)."""
TAG_REFUSED: Final = codes("TagLimitExceeded InvalidParameterValue")
UNTAGGABLE: Final = TAG_REFUSED | NOT_FOUND_YET | {"InvalidID"}
"""Codes that concern one of several resources: the others may still accept the tags."""
QUOTA_REACHED: Final = codes("InstanceLimitExceeded MaxSpotInstanceCountExceeded VcpuLimitExceeded")
NO_CAPACITY: Final = QUOTA_REACHED | codes(
    "IncompatibleHostRequirements InsufficientCapacity InsufficientCapacityOnHost InsufficientHostCapacity "
    "InsufficientInstanceCapacity InsufficientReservedInstanceCapacity InsufficientReservedInstancesCapacity "
    "ReservationCapacityExceeded SpotMaxPriceTooLow UnavailableHostRequirements UnfulfillableCapacity "
    "Unsupported"
)
"""RunInstances answers one of these when it can't launch this instance type here and now; another may work.

Some of them come with HTTP 500. "Unsupported" means that the zone does not offer the type."""
RESERVATION_CLOSED: Final = codes(
    "InvalidCapacityReservationState.PendingActivation InvalidCapacityReservationState.Unavailable"
)
"""RunInstances answers the first for a capacity block that has not begun, the second for an interruptible
reservation that EC2 takes back (aws/karpenter-provider-aws, its errors for reserved capacity)."""
AT_FAULT: Final = codes("InternalError InternalFailure ServerInternal ServiceUnavailable Unavailable")
"""RunInstances answers one of these for a fault of AWS: a retry may succeed."""
SUBNET_FULL: Final = codes("InsufficientCidrBlocks InsufficientFreeAddressesInSubnet")
"""The subnet has no free address, or no free block for a prefix. `errors.is_subnet_full` knows one more."""
SHUTDOWN_NOT_SKIPPED: Final = codes(
    "IncorrectInstanceState InvalidParameter InvalidParameterCombination InvalidParameterDependency "
    "InvalidParameterValue UnknownParameter Unsupported UnsupportedOperation"
)
"""EC2 may answer one of these for TerminateInstances with SkipOsShutdown where it does not support that."""
TOKEN_SPENT: Final = codes("IdempotentInstanceTerminated IdempotentParameterMismatch")
"""The client token belongs to an earlier call, whose instance is gone or whose arguments differ."""
UNAUTHORIZED: Final = codes("UnauthorizedOperation AccessDenied AccessDeniedException")
"""EC2's code, and those of the other services."""
SESSION_ENDED: Final = codes(
    "ExpiredToken ExpiredTokenException InvalidClientTokenId RequestExpired UnrecognizedClientException"
)
"""AWS does not accept keys, for example because they have expired or their role was deleted.

EC2 answers RequestExpired (aws/aws-sdk-java issue 1443), or AuthFailure, which has other meanings too."""
THROTTLED: Final = codes(
    "ConcurrentLimitExceededException DependencyThrottle EC2ThrottledException PriorRequestNotComplete "
    "RequestLimitExceeded RequestThrottled RequestThrottledException SlowDown ThrottledException Throttling "
    "ThrottlingException TooManyRequestsException"
)
"""Throttling: the call has had no effect.

These are the SDK's list (botocore, retries/standard.py) without other services' codes, and the codes that the
API models of the EBS direct APIs (StartSnapshot) and Elastic Load Balancing add.
"""
