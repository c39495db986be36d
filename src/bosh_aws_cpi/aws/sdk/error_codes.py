"""AWS's error codes, grouped by their meaning for the program."""

from typing import Final

INSTANCE_MISSING: Final = frozenset({"InvalidInstanceID.NotFound", "InvalidInstanceID.Malformed"})
VOLUME_MISSING: Final = frozenset({"InvalidVolume.NotFound", "InvalidVolumeID.Malformed", "InvalidID"})
"""CreateTags answers InvalidID for a malformed id."""
IMAGE_MISSING: Final = frozenset(
    {"InvalidAMIID.NotFound", "InvalidAMIID.Malformed", "InvalidAMIID.Unavailable"}
)
SNAPSHOT_MISSING: Final = frozenset({"InvalidSnapshot.NotFound", "InvalidSnapshotID.Malformed"})
NIC_MISSING: Final = frozenset({"InvalidNetworkInterfaceID.NotFound", "InvalidNetworkInterfaceId.Malformed"})
SUBNET_MISSING: Final = frozenset(
    {
        "InvalidSubnet",
        "InvalidSubnetID.Malformed",
        "InvalidSubnetID.NotFound",
        "InvalidSubnetId.Malformed",
        "InvalidSubnetId.NotFound",
    }
)
"""EC2 documents the first three; users report the other spelling, too."""
SUBNET_USED: Final = frozenset({"DependencyViolation"})
"""DeleteSubnet answers this while the subnet has interfaces."""
RANGE_TAKEN: Final = frozenset({"InvalidSubnet.Conflict"})
"""CreateSubnet answers this for a range that overlaps another subnet's."""
GROUP_QUOTA_REACHED: Final = frozenset({"PlacementGroupLimitExceeded"})
GROUP_EXISTS: Final = frozenset({"InvalidPlacementGroup.Duplicate"})
GROUP_MISSING: Final = frozenset({"InvalidPlacementGroup.Unknown"})
GROUP_IN_USE: Final = frozenset({"InvalidPlacementGroup.InUse"})
"""DeletePlacementGroup answers this while an instance of the group is not terminated."""
VOLUME_IN_USE: Final = frozenset({"VolumeInUse"})
NIC_IN_USE: Final = frozenset({"InvalidNetworkInterface.InUse", "InvalidParameterValue"})
"""DeleteNetworkInterface answers InvalidParameterValue while EC2 is still detaching the interface."""
NOT_FOUND_YET: Final = frozenset(
    {
        "InvalidInstanceID.NotFound",
        "InvalidVolume.NotFound",
        "InvalidAMIID.NotFound",
        "InvalidSnapshot.NotFound",
        "InvalidNetworkInterfaceID.NotFound",
        "InvalidSubnetID.NotFound",
        "InvalidSubnetId.NotFound",
    }
)
"""A call about a resource that was just created may answer one of these (eventual consistency)."""
TAG_REFUSED: Final = frozenset({"TagLimitExceeded", "InvalidParameterValue"})
UNTAGGABLE: Final = TAG_REFUSED | NOT_FOUND_YET | {"InvalidID"}
"""Codes that concern one of several resources: the others may still accept the tags."""
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
"""RunInstances answers one of these when it can't launch this instance type here and now; another may work.

Some of them come with HTTP 500. "Unsupported" means that the zone does not offer the type."""
ENDED_FOR_CAPACITY: Final = frozenset(
    {"Server.InsufficientInstanceCapacity", "Server.SpotInstanceTermination"}
)
"""Reasons for the end of an instance that may not apply to another instance type."""
RESERVATION_CLOSED: Final = frozenset(
    {"InvalidCapacityReservationState.PendingActivation", "InvalidCapacityReservationState.Unavailable"}
)
"""RunInstances answers the first for a capacity block that has not begun, the second for an interruptible
reservation that EC2 takes back (aws/karpenter-provider-aws, its errors for reserved capacity)."""
AT_FAULT: Final = frozenset(
    {
        "InternalError",
        "InternalFailure",
        "ServerInternal",
        "ServiceUnavailable",
        "Unavailable",
    }
)
"""RunInstances answers one of these for a fault of AWS: a retry may succeed."""
SUBNET_FULL: Final = frozenset({"InsufficientCidrBlocks", "InsufficientFreeAddressesInSubnet"})
"""The subnet has no free address, or no free block for a prefix. `errors.is_subnet_full` knows one more."""
SHUTDOWN_NOT_SKIPPED: Final = frozenset(
    {
        "IncorrectInstanceState",
        "InvalidParameter",
        "InvalidParameterCombination",
        "InvalidParameterDependency",
        "InvalidParameterValue",
        "UnknownParameter",
        "Unsupported",
        "UnsupportedOperation",
    }
)
"""EC2 may answer one of these for TerminateInstances with SkipOsShutdown where it does not support that."""
TOKEN_SPENT: Final = frozenset({"IdempotentInstanceTerminated", "IdempotentParameterMismatch"})
"""The client token belongs to an earlier call, whose instance is gone or whose arguments differ."""
UNAUTHORIZED: Final = frozenset({"UnauthorizedOperation", "AccessDenied", "AccessDeniedException"})
"""EC2's code, and those of the other services."""
SESSION_ENDED: Final = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidClientTokenId",
        "RequestExpired",
        "UnrecognizedClientException",
    }
)
"""AWS does not accept keys, for example because they have expired or their role was deleted.

EC2 answers RequestExpired (aws/aws-sdk-java issue 1443), or AuthFailure, which has other meanings too."""
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

These are the SDK's list (botocore, retries/standard.py) without other services' codes, and the codes that the
API models of the EBS direct APIs (StartSnapshot) and Elastic Load Balancing add.
"""
