"""AWS's error codes: each row has the codes with the same remedy; what the program acts upon has a name.

For the calls that this program uses, from "Error codes for the Amazon EC2 API" (EC2 API reference), the
error shapes in the API models of Elastic Load Balancing, the EBS direct APIs and STS, and field reports:
docs/aws-assumptions.md lists the codes that only field reports mention. A code without a row is treated like
its family (`FAMILIES`); one without a family is a `CloudError`, retriable when its HTTP status blames AWS.
"""

import re
from enum import Enum
from functools import partial
from typing import Final

from bosh_aws_cpi.records import Record


class Kind(Enum):
    """The kinds of errors that the caller can tell apart; the titles in docs/errors.md."""

    VM_GONE = "the instance does not exist"
    DISK_GONE = "the volume does not exist"
    MISSING = "another resource that the call names does not exist"
    BUSY = "AWS is short of capacity, throttles or is at fault: a retry may succeed"
    DENIED = "the account or its policy does not allow the call"
    QUOTA = "a limit of the account is reached"
    INVALID = "AWS can't do what the call asks for"
    STATE = "the resource is in the wrong state"


class Row(Record):
    """The kind of an error, and the remedy for operators."""

    kind: Kind
    remedy: str


ROWS: Final[dict[str, Row]] = {}
"""The rows by AWS's code."""


def _row(kind: Kind, remedy: str, codes: str) -> frozenset[str]:
    """Add a row to the table, and return its codes, which are separated by blanks."""
    ROWS.update(dict.fromkeys(codes.split(), Row(kind, remedy)))
    return frozenset(codes.split())


_CCK: Final = "bosh cloud-check finds missing VMs and disks"
INSTANCE_MISSING: Final = _row(Kind.VM_GONE, _CCK, "InvalidInstanceID.NotFound InvalidInstanceID.Malformed")
_DISK: Final = _row(Kind.DISK_GONE, _CCK, "InvalidVolume.NotFound InvalidVolumeID.Malformed")

_missing = partial(_row, Kind.MISSING)
VOLUME_MISSING: Final = _DISK | _missing("this is not the id of a resource that can have tags", "InvalidID")
"""CreateTags answers InvalidID for a malformed id."""
IMAGE_MISSING: Final = _missing(
    "upload the stemcell again: bosh upload-stemcell --fix", "InvalidAMIID.Malformed InvalidAMIID.Unavailable"
) | _missing(
    "upload the stemcell again with --fix; check the account's Allowed AMIs setting", "InvalidAMIID.NotFound"
)
SNAPSHOT_MISSING: Final = _missing(
    "the snapshot is gone; for a stemcell, upload it again", "InvalidSnapshot.NotFound"
) | _missing("this is not the id of a snapshot", "InvalidSnapshotID.Malformed")
SUBNET_MISSING: Final = _missing(
    "correct the subnet in the networks' cloud_properties",
    "InvalidSubnetID.NotFound InvalidSubnetId.NotFound InvalidSubnetID.Malformed InvalidSubnetId.Malformed "
    "InvalidSubnet",
)
"""EC2 documents InvalidSubnet and the spelling SubnetID; users report SubnetId, too."""
_NIC: Final = "the interface is gone: retry the deployment"
NIC_MISSING: Final = _missing(_NIC, "InvalidNetworkInterfaceID.NotFound") | _missing(
    "this is not the id of an interface", "InvalidNetworkInterfaceId.Malformed"
)
_missing(_NIC, "InvalidNetworkInterface.NotFound InvalidNetworkInterfaceAttachmentId.Malformed")
_GROUP: Final = "correct placement_group"
GROUP_MISSING: Final = _missing(_GROUP, "InvalidPlacementGroup.Unknown")
_missing(_GROUP, "InvalidPlacementGroupId.Malformed")
_missing(
    "correct security_groups",
    "InvalidGroup.NotFound InvalidGroupId.Malformed InvalidSecurityGroupID.NotFound "
    "InvalidSecurityGroupId.Malformed",
)
_missing("correct key_name, or aws.default_key_name", "InvalidKeyPair.NotFound")
_missing(
    "the elastic IP was released: allocate it again",
    "InvalidAllocationID.NotFound InvalidAddress.NotFound InvalidAddressID.NotFound",
)
_missing(
    "correct table_id in advertised_routes", "InvalidRouteTableID.NotFound InvalidRouteTableId.Malformed"
)
_missing("the route was deleted in the meantime: retry the deployment", "InvalidRoute.NotFound")
_missing(
    "correct advertised_routes: the route's target is gone",
    "InvalidGatewayID.NotFound InvalidNatGatewayID.NotFound",
)
_missing(
    "correct dedicated_host",
    "InvalidHostID.NotFound InvalidHostID.Malformed InvalidHostId InvalidHostId.NotFound "
    "InvalidHostId.Malformed",
)
_missing(
    "correct capacity_reservation",
    "InvalidCapacityReservationId.NotFound InvalidCapacityReservationId.Malformed",
)
_missing(
    "correct launch_template",
    "InvalidLaunchTemplateId.Malformed InvalidLaunchTemplateId.NotFound "
    "InvalidLaunchTemplateId.VersionNotFound InvalidLaunchTemplateName.MalformedException "
    "InvalidLaunchTemplateName.NotFoundException",
)
_missing("correct kernel_id in the stemcell", "InvalidKernelId.Malformed")
_missing("the VPC is gone: correct the subnets", "InvalidVpcID.NotFound")
_missing("this is not the id of a VPC: correct the subnets", "InvalidVpcID.Malformed")
_missing("correct network_acl of the managed network", "InvalidNetworkAclID.NotFound")
_missing(
    "somebody changed the subnet's association during the call: retry the deployment",
    "InvalidAssociationID.NotFound",
)
_missing("the resource is not attached any more", "InvalidAttachment.NotFound InvalidAttachmentID.NotFound")
_missing("the volume was never changed", "InvalidVolumeModification.NotFound")
_missing("correct elbs", "LoadBalancerNotFound")
_missing("correct lb_target_groups", "TargetGroupNotFound")
_missing("the load balancer does not know the instance", "InvalidInstance")
_missing("the snapshot is gone: upload the stemcell again", "ResourceNotFoundException")

_busy = partial(_row, Kind.BUSY)
_NO_ROOM: Final = _busy(
    "add instance_type_fallbacks, or use another type or zone",
    "InsufficientInstanceCapacity InsufficientHostCapacity InsufficientCapacityOnHost "
    "InsufficientReservedInstanceCapacity InsufficientReservedInstancesCapacity InsufficientCapacity "
    "UnfulfillableCapacity",
)
_NO_RESERVATION: Final = _busy(
    "enlarge the capacity reservation, or add instance_type_fallbacks", "ReservationCapacityExceeded"
)
_NO_HOST: Final = _busy(
    "no host fits: use another dedicated_host, or another type",
    "UnavailableHostRequirements IncompatibleHostRequirements",
)
_NO_SPOT: Final = _busy(
    "raise spot_bid_price, use spot in its place, or set spot_ondemand_fallback", "SpotMaxPriceTooLow"
)
SUBNET_FULL: Final = _busy(
    "use a larger subnet, delete resources in it, or give a dynamic network subnet_fallbacks",
    "InsufficientFreeAddressesInSubnet",
) | _busy(
    "the subnet has no free block for a prefix: use a larger subnet, or reserve a range in it",
    "InsufficientCidrBlocks",
)
"""The subnet has no free address, or no free block for a prefix. `errors.is_subnet_full` knows one more."""
_busy("use another zone or another volume type", "InsufficientVolumeCapacity")
THROTTLED: Final = _busy(
    "deploy fewer VMs at once, or ask AWS for a higher request rate limit",
    "RequestLimitExceeded Throttling ThrottlingException ThrottledException RequestThrottled "
    "RequestThrottledException EC2ThrottledException TooManyRequestsException SlowDown "
    "PriorRequestNotComplete ConcurrentLimitExceededException DependencyThrottle",
)
"""Throttling: the call has had no effect.

These are the SDK's list (botocore, retries/standard.py) without other services' codes, and the codes that the
API models of the EBS direct APIs (StartSnapshot) and Elastic Load Balancing add.
"""
_LATER: Final = "retry later; AWS's health dashboard may say more"
AT_FAULT: Final = _busy(_LATER, "InternalError InternalFailure ServerInternal ServiceUnavailable Unavailable")
"""RunInstances answers one of these for a fault of AWS: a retry may succeed."""
_busy(
    _LATER,
    "InternalServerException RequestTimeoutException HealthUnavailable RetryableError ConcurrentTagAccess "
    "InsufficientAddressCapacity",
)
_busy(
    "wait until pending snapshots are completed, then retry",
    "ConcurrentSnapshotLimitExceeded PendingSnapshotLimitExceeded",
)
_busy("wait 15 seconds between two snapshots of the same volume", "SnapshotCreationPerVolumeRateExceeded")
_busy(
    "EBS limits how often you can change a volume: retry some hours later", "VolumeModificationRateExceeded"
)
_busy(
    "the instance has used up its network bandwidth: retry later, or use a larger type",
    "BandwidthLimitExceeded",
)
_busy(
    "the account's default for CPU credits is being changed, which takes about five minutes",
    "CreditSpecificationUpdateInProgress",
)
_busy("AWS could not reach the identity provider: retry", "IDPCommunicationError")

_denied = partial(_row, Kind.DENIED)
UNAUTHORIZED: Final = _denied(
    "allow {action} in the policy of the CPI's user or role; cpi preflight lists other missing permissions",
    "UnauthorizedOperation AccessDenied AccessDeniedException",
)
"""EC2's code, and those of the other services."""
_KEYS: Final = "check the access keys, and the clock of the machine that runs the CPI"
_CLOCK: Final = "set the clock of the machine that runs the CPI, or renew the keys"
SESSION_ENDED: Final = (
    _denied(_KEYS, "InvalidClientTokenId UnrecognizedClientException")
    | _denied(_CLOCK, "RequestExpired")
    | _denied("renew the session token", "ExpiredToken ExpiredTokenException")
)
"""AWS does not accept keys, for example because they have expired or their role was deleted.

EC2 answers RequestExpired (aws/aws-sdk-java issue 1443), or AuthFailure, which has other meanings too."""
_denied(_CLOCK, "InvalidSecurity.RequestHasExpired")
_denied(
    _KEYS, "SignatureDoesNotMatch IncompleteSignature MissingAuthenticationToken InvalidSignatureException"
)
_denied("check keys and clock; or an AMI or elastic IP belongs to another account", "AuthFailure")
_denied("subscribe the account to the AMI, or enable the region", "OptInRequired")
_denied("enable STS for the region in the account", "RegionDisabledException")
_denied("AWS has disabled the account: ask AWS Support", "AccountDisabled")
_denied("AWS has blocked the account: ask AWS Support", "Blocked")
_denied("wait until AWS has verified the account, which usually takes minutes", "PendingVerification")
_denied("enable the KMS key", "InvalidKMSKey.InvalidState")
_denied("restore access to the KMS key", "CustomerKeyHasBeenRevoked")
_denied(
    "allow iam:CreateServiceLinkedRole for spot, or create the service-linked role by hand",
    "AuthFailure.ServiceLinkedRoleCreationNotPermitted",
)
_denied("remove the resource's protection, for example against termination", "OperationNotPermitted")
_denied("correct tags: they violate the organization's tag policy", "TagPolicyViolation")
_denied("correct the role's policy", "MalformedPolicyDocument")
_denied("shorten the role's session policy", "PackedPolicyTooLarge")
_denied(
    "AWS does not accept the web identity token: check its identity provider in IAM", "InvalidIdentityToken"
)
_denied("the identity provider rejected the web identity token: it may have expired", "IDPRejectedClaim")

_quota = partial(_row, Kind.QUOTA)
_QUOTA: Final = "delete unused resources, or ask AWS to raise the quota"
QUOTA_REACHED: Final = _quota(_QUOTA, "InstanceLimitExceeded VcpuLimitExceeded MaxSpotInstanceCountExceeded")
_quota(
    _QUOTA,
    "VolumeLimitExceeded MaxIOPSLimitExceeded SnapshotLimitExceeded ResourceLimitExceeded "
    "NetworkInterfaceLimitExceeded AddressLimitExceeded RouteLimitExceeded ResourceCountLimitExceeded "
    "ServiceQuotaExceededException VolumeModificationSizeLimitExceeded TooManyRegistrationsForTargetId "
    "TooManyTargets ResourceCountExceeded RequestResourceCountExceeded SubnetLimitExceeded",
)
_quota(
    "give the VM fewer security groups, or ask AWS to raise the quota",
    "SecurityGroupsPerInstanceLimitExceeded SecurityGroupsPerInterfaceLimitExceeded "
    "SecurityGroupLimitExceeded",
)
GROUP_QUOTA_REACHED: Final = _quota(
    "run bin/cpi sweep --director UUID --delete: it deletes the placement groups of spread without VMs; "
    "or delete others, or ask AWS to raise the quota",
    "PlacementGroupLimitExceeded",
)
_quota("the instance type allows no more attachments: use a larger type", "AttachmentLimitExceeded")
_quota(
    "an interface of that instance type can have no more addresses: use a larger type",
    "PrivateIpAddressLimitExceeded InvalidInterface.IpAddressLimitExceeded",
)
_TAGS_FULL: Final = _quota("EC2 allows 50 tags: remove some from tags or env.bosh.tags", "TagLimitExceeded")

_invalid = partial(_row, Kind.INVALID)
_MANIFEST: Final = "correct the named value in the cloud config, the manifest, or the CPI's configuration"
_PARAMETER: Final = _invalid(
    _MANIFEST,
    "InvalidParameterValue InvalidParameterCombination InvalidParameter InvalidParameterDependency "
    "UnsupportedOperation",
)
_UNKNOWN: Final = _invalid("AWS does not support a property in this region: remove it", "UnknownParameter")
_UNSUPPORTED: Final = _invalid(
    "use another zone or instance type: this one does not support the request", "Unsupported"
)
_invalid(
    _MANIFEST,
    "MissingParameter ValidationError ValidationException InvalidRequest UnsupportedException "
    "ClientInvalidParameterValue InvalidPermission.Malformed InvalidInstanceAttributeValue",
)
_invalid(
    "correct root_disk or ephemeral_disk; root_disk.size can't be less than the stemcell's root disk",
    "InvalidBlockDeviceMapping",
)
_invalid(
    "encrypt the root disk, and increase root_disk.size to the memory of the instance type plus the size of "
    "the stemcell; all disks need the type gp3, gp2, io2 or io1. Or remove hibernation",
    "UnsupportedHibernationConfiguration",
)
_invalid("correct instance_type", "InvalidInstanceType")
_invalid("correct capacity_reservation: it is unknown, or has no capacity left", "InvalidLaunchTargets")
RANGE_TAKEN: Final = _invalid(
    "the range overlaps another subnet: correct range of the managed network", "InvalidSubnet.Conflict"
)
"""CreateSubnet answers this for a range that overlaps another subnet's."""
_invalid(
    "correct range of the managed network: it must be in a range of the VPC, from /16 to /28",
    "InvalidSubnet.Range",
)
_invalid(
    "this is a bug in the CPI: please report it",
    "InvalidFilter FilterLimitExceeded InvalidClientToken InvalidUserData.Malformed InvalidAMIName.Malformed",
)
_invalid(
    "give the network a subnet",
    "VPCResourceNotSpecified VPCIdNotSpecified DefaultVpcDoesNotExist MissingInput",
)
_invalid(
    "the dedicated host does not support that type: use another",
    "UnsupportedHostConfiguration UnsupportedInstanceTypeOnHost InvalidHostConfiguration",
)
_invalid("use a type that supports encrypted volumes", "EncryptedVolumesNotSupported")
_invalid("this attribute of an instance can't be changed", "UnsupportedInstanceAttribute")
_invalid("remove credit_specification, or use a burstable type", "InstanceCreditSpecification.NotSupported")
_invalid("correct credit_specification", "InvalidCpuCredits InvalidCpuCredits.Malformed")
_invalid("use another disk type in that zone", "VolumeTypeNotAvailableInZone")
_invalid("correct the disk's type", "UnknownVolumeType")
_invalid("correct iops", "VolumeIOPSLimit")
_invalid("correct root_disk.type: a VM can't boot from this type", "BootForVolumeTypeUnsupported")
_invalid("correct tenancy", "UnsupportedTenancy InvalidTenancy")
_invalid("correct availability_zone", "InvalidAvailabilityZone InvalidZone.NotFound")
_invalid("correct aws.region", "InvalidRegion")
_invalid("use the same zone for the dedicated host and the VM", "ZonesMismatched")
_invalid(
    "use the same zone for the VM and the disk", "InvalidVolumeID.ZoneMismatch InvalidVolume.ZoneMismatch"
)
_invalid("correct iam_instance_profile", "InvalidIamInstanceProfileArn.Malformed")
_invalid("correct tags", "InvalidTagKey.Malformed")
_invalid(
    "correct share_with in the stemcell's cloud properties or in aws.stemcell", "InvalidAMIAttributeItemValue"
)
_invalid("the stemcell's image is damaged", "InvalidManifest")
_invalid("correct advertised_routes", "InvalidRoute.Malformed InvalidRoute.InvalidState")
_invalid("use a light stemcell of this region", "SnapshotCopyUnsupported.InterRegion")
_MISMATCH: Final = _invalid("retry the deployment: two calls differ", "IdempotentParameterMismatch")
_invalid("correct aws.ec2_endpoint or aws.elb_endpoint: it belongs to another service", "InvalidAction")
_invalid("correct aws.ebs_endpoint: it belongs to another service", "UnknownOperationException")

_state = partial(_row, Kind.STATE)
_STATE: Final = "wait until the resource has changed its state, then retry"
_INSTANCE_STATE: Final = _state(_STATE, "IncorrectInstanceState")
_state(_STATE, "IncorrectState InvalidState IncorrectModificationState InvalidInstanceState InvalidHostState")
RESERVATION_CLOSED: Final = _state(
    "wait until the capacity block begins, or add instance_type_fallbacks",
    "InvalidCapacityReservationState.PendingActivation",
) | _state(
    "use another capacity_reservation, or add instance_type_fallbacks",
    "InvalidCapacityReservationState.Unavailable",
)
"""RunInstances answers the first for a capacity block that has not begun, the second for an interruptible
reservation that EC2 takes back (aws/karpenter-provider-aws, its errors for reserved capacity)."""
VOLUME_IN_USE: Final = _state("detach the volume where it is attached", "VolumeInUse")
_NIC_USED: Final = _state(
    "an instance uses the interface: delete the instance first", "InvalidNetworkInterface.InUse"
)
SUBNET_USED: Final = _state("delete the resources that depend on this one first", "DependencyViolation")
"""DeleteSubnet answers this while the subnet has interfaces."""
_AGAIN: Final = "retry the deployment"
_TERMINATED: Final = _state(_AGAIN, "IdempotentInstanceTerminated")
_state(_AGAIN, "RouteAlreadyExists")
_state("retry", "InvalidVolumeID.Duplicate")
_state("an AMI with that name already exists: retry", "InvalidAMIName.Duplicate")
_state("an AMI uses the snapshot: delete the stemcell first", "InvalidSnapshot.InUse")
_state("attach the gateway that the route points to", "Gateway.NotAttached")
_state("the target group does not accept the instance: is it in the same VPC?", "InvalidTarget")
_state(
    "the instance is still pending, or has several interfaces where the call allows one", "InvalidInstanceID"
)
_state("an instance without an EBS root disk can't be stopped or started", "NonEBSInstance")
_state(
    "use another address, or delete the resource that holds it",
    "InvalidIPAddress.InUse Resource.AlreadyAssigned",
)
_state(
    "the elastic IP is in use, or the subnet has another route table: disassociate it",
    "Resource.AlreadyAssociated",
)
_state("upload the stemcell again", "ConflictException")

# Sets across the kinds, and codes without a remedy
_VALUE: Final = frozenset({"InvalidParameterValue"})
GROUP_EXISTS: Final = frozenset({"InvalidPlacementGroup.Duplicate"})
GROUP_IN_USE: Final = frozenset({"InvalidPlacementGroup.InUse"})
"""DeletePlacementGroup answers this while an instance of the group is not terminated."""
NIC_IN_USE: Final = _NIC_USED | _VALUE
"""DeleteNetworkInterface answers InvalidParameterValue while EC2 is still detaching the interface."""
_GONE: Final = (
    INSTANCE_MISSING | VOLUME_MISSING | IMAGE_MISSING | SNAPSHOT_MISSING | NIC_MISSING | SUBNET_MISSING
)
NOT_FOUND_YET: Final = frozenset(code for code in _GONE if code.endswith(".NotFound"))
"""A call about a resource that was just created may answer one of these (eventual consistency)."""
TAG_REFUSED: Final = _TAGS_FULL | _VALUE
UNTAGGABLE: Final = TAG_REFUSED | NOT_FOUND_YET | {"InvalidID"}
"""Codes that concern one of several resources: the others may still accept the tags."""
NO_CAPACITY: Final = QUOTA_REACHED | _NO_ROOM | _NO_RESERVATION | _NO_HOST | _NO_SPOT | _UNSUPPORTED
"""RunInstances answers one of these when it can't launch this instance type here and now; another may work.

Some of them come with HTTP 500. "Unsupported" means that the zone does not offer the type."""
ENDED_FOR_CAPACITY: Final = frozenset(
    {"Server.InsufficientInstanceCapacity", "Server.SpotInstanceTermination"}
)
"""Reasons for the end of an instance that may not apply to another instance type."""
SHUTDOWN_NOT_SKIPPED: Final = _PARAMETER | _UNKNOWN | _UNSUPPORTED | _INSTANCE_STATE
"""EC2 may answer one of these for TerminateInstances with SkipOsShutdown where it does not support that."""
TOKEN_SPENT: Final = _TERMINATED | _MISMATCH
"""The client token belongs to an earlier call, whose instance is gone or whose arguments differ."""

WORDS: Final = {
    ("InvalidParameterValue", "is not a valid tag key"): Row(
        Kind.INVALID,
        "rename the key in tags, aws.tags or the manifest's tags, or set "
        "metadata_options.instance_metadata_tags to disabled, also if the account enables it by default",
    ),
    ("UnsupportedOperation", "httpTokensEnforced"): Row(
        Kind.INVALID, "set metadata_options.http_tokens to required: the account enforces IMDSv2"
    ),
}
"""Rows for a code with these words in AWS's message."""
FAMILIES: Final = {
    r"Insufficient\w+": Row(Kind.BUSY, "AWS lacks capacity: retry later, or use another type or zone"),
    r"\w+RateExceeded|Throttl\w+": ROWS["Throttling"],
    r"[\w.]+LimitExceeded(Exception)?": Row(Kind.QUOTA, _QUOTA),
    r"[\w.]+NotFound": Row(Kind.MISSING, _MANIFEST),
    r"\w+\.Malformed": Row(Kind.INVALID, _MANIFEST),
    r"[\w.]*InUse": Row(Kind.STATE, "another resource uses this one: detach it first"),
}
"""For codes without a row; the first match counts. Codes that a family would misjudge have a row."""


def row_of(code: str, message: str = "") -> Row | None:
    """The row of a code with words of the message, else of the code, else of its family; None without any."""
    of_words = (row for (with_words, words), row in WORDS.items() if with_words == code and words in message)
    of_family = (row for pattern, row in FAMILIES.items() if re.fullmatch(pattern, code))
    return next(of_words, None) or ROWS.get(code) or next(of_family, None)
