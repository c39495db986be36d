"""AWS's error codes: one row per code, with its meaning and its remedy.

For the calls that this program uses, from "Error codes for the Amazon EC2 API" (EC2 API reference), the
error shapes in the API models of Elastic Load Balancing, the EBS direct APIs and STS, and field reports:
docs/aws-assumptions.md lists the codes that only field reports mention. A code without a row is treated like
its family (`FAMILIES`); one without a family is a `CloudError`, retriable when its HTTP status blames AWS.
"""

import re
from enum import Enum
from typing import Final

from bosh_aws_cpi.records import Record


class Kind(Enum):
    """The kinds of errors that the caller can tell apart."""

    BUSY = "AWS is short of capacity, throttles or is at fault: a retry may succeed"
    VM_GONE = "the instance does not exist"
    DISK_GONE = "the volume does not exist"
    MISSING = "another resource that the call names does not exist"
    DENIED = "the account or its policy does not allow the call"
    QUOTA = "a limit of the account is reached"
    INVALID = "AWS can't do what the call asks for"
    STATE = "the resource is in the wrong state"


class Row(Record):
    """One code: its kind, and the remedy for operators."""

    kind: Kind
    remedy: str


_CCK: Final = "bosh cloud-check finds missing VMs and disks"
_LATER: Final = "retry later; AWS's health dashboard may say more"
_ROOM: Final = "add instance_type_fallbacks, or use another type or zone"
_THROTTLED: Final = "deploy fewer VMs at once, or ask AWS for a higher request rate limit"
_ALLOW: Final = (
    "allow {action} in the policy of the CPI's user or role; cpi preflight lists other missing permissions"
)
_KEYS: Final = "check the access keys, and the clock of the machine that runs the CPI"
_QUOTA: Final = "delete unused resources, or ask AWS to raise the quota"
_MANIFEST: Final = "correct the named value in the cloud config, the manifest, or the CPI's configuration"
_NIC: Final = "the interface is gone: retry the deployment"
_ROUTE: Final = "correct advertised_routes: the route's target is gone"
_REPORT: Final = "this is a bug in the CPI: please report it"
_SPOT_ROLE: Final = "allow iam:CreateServiceLinkedRole for spot, or create the service-linked role by hand"
_STATE: Final = "wait until the resource has changed its state, then retry"

# A key is AWS's code, or "CODE: words" if these words in AWS's message have a remedy of their own.
ROWS: Final[dict[str, Row]] = {
    # Not found: instances and volumes
    "InvalidInstanceID.NotFound": Row(Kind.VM_GONE, _CCK),
    "InvalidInstanceID.Malformed": Row(Kind.VM_GONE, _CCK),
    "InvalidVolume.NotFound": Row(Kind.DISK_GONE, _CCK),
    "InvalidVolumeID.Malformed": Row(Kind.DISK_GONE, _CCK),
    # Not found: everything else
    "InvalidAMIID.Malformed": Row(Kind.MISSING, "upload the stemcell again: bosh upload-stemcell --fix"),
    "InvalidAMIID.NotFound": Row(
        Kind.MISSING, "upload the stemcell again with --fix; check the account's Allowed AMIs setting"
    ),
    "InvalidAMIID.Unavailable": Row(Kind.MISSING, "upload the stemcell again: bosh upload-stemcell --fix"),
    "InvalidSnapshot.NotFound": Row(Kind.MISSING, "the snapshot is gone; for a stemcell, upload it again"),
    "InvalidSnapshotID.Malformed": Row(Kind.MISSING, "this is not the id of a snapshot"),
    "InvalidSubnetID.NotFound": Row(Kind.MISSING, "correct the subnet in the networks' cloud_properties"),
    "InvalidSubnetId.NotFound": Row(Kind.MISSING, "correct the subnet in the networks' cloud_properties"),
    "InvalidSubnetID.Malformed": Row(Kind.MISSING, "correct the subnet in the networks' cloud_properties"),
    "InvalidSubnetId.Malformed": Row(Kind.MISSING, "correct the subnet in the networks' cloud_properties"),
    "InvalidSubnet": Row(Kind.MISSING, "correct the subnet in the networks' cloud_properties"),
    "InvalidGroup.NotFound": Row(Kind.MISSING, "correct security_groups"),
    "InvalidGroupId.Malformed": Row(Kind.MISSING, "correct security_groups"),
    "InvalidSecurityGroupID.NotFound": Row(Kind.MISSING, "correct security_groups"),
    "InvalidSecurityGroupId.Malformed": Row(Kind.MISSING, "correct security_groups"),
    "InvalidKeyPair.NotFound": Row(Kind.MISSING, "correct key_name, or aws.default_key_name"),
    "InvalidNetworkInterfaceID.NotFound": Row(Kind.MISSING, _NIC),
    "InvalidNetworkInterface.NotFound": Row(Kind.MISSING, _NIC),
    "InvalidNetworkInterfaceAttachmentId.Malformed": Row(Kind.MISSING, _NIC),
    "InvalidNetworkInterfaceId.Malformed": Row(Kind.MISSING, "this is not the id of an interface"),
    "InvalidAllocationID.NotFound": Row(Kind.MISSING, "the elastic IP was released: allocate it again"),
    "InvalidAddress.NotFound": Row(Kind.MISSING, "the elastic IP was released: allocate it again"),
    "InvalidAddressID.NotFound": Row(Kind.MISSING, "the elastic IP was released: allocate it again"),
    "InvalidRouteTableID.NotFound": Row(Kind.MISSING, "correct table_id in advertised_routes"),
    "InvalidRouteTableId.Malformed": Row(Kind.MISSING, "correct table_id in advertised_routes"),
    "InvalidRoute.NotFound": Row(Kind.MISSING, "the route was deleted in the meantime: retry the deployment"),
    "InvalidGatewayID.NotFound": Row(Kind.MISSING, _ROUTE),
    "InvalidNatGatewayID.NotFound": Row(Kind.MISSING, _ROUTE),
    "InvalidPlacementGroup.Unknown": Row(Kind.MISSING, "correct placement_group"),
    "InvalidPlacementGroupId.Malformed": Row(Kind.MISSING, "correct placement_group"),
    "InvalidHostID.NotFound": Row(Kind.MISSING, "correct dedicated_host"),
    "InvalidHostID.Malformed": Row(Kind.MISSING, "correct dedicated_host"),
    "InvalidHostId": Row(Kind.MISSING, "correct dedicated_host"),
    "InvalidHostId.NotFound": Row(Kind.MISSING, "correct dedicated_host"),
    "InvalidHostId.Malformed": Row(Kind.MISSING, "correct dedicated_host"),
    "InvalidCapacityReservationId.NotFound": Row(Kind.MISSING, "correct capacity_reservation"),
    "InvalidCapacityReservationId.Malformed": Row(Kind.MISSING, "correct capacity_reservation"),
    "InvalidLaunchTemplateId.Malformed": Row(Kind.MISSING, "correct launch_template"),
    "InvalidLaunchTemplateId.NotFound": Row(Kind.MISSING, "correct launch_template"),
    "InvalidLaunchTemplateId.VersionNotFound": Row(Kind.MISSING, "correct launch_template"),
    "InvalidLaunchTemplateName.MalformedException": Row(Kind.MISSING, "correct launch_template"),
    "InvalidLaunchTemplateName.NotFoundException": Row(Kind.MISSING, "correct launch_template"),
    "InvalidKernelId.Malformed": Row(Kind.MISSING, "correct kernel_id in the stemcell"),
    "InvalidVpcID.NotFound": Row(Kind.MISSING, "the VPC is gone: correct the subnets"),
    "InvalidVpcID.Malformed": Row(Kind.MISSING, "this is not the id of a VPC: correct the subnets"),
    "InvalidID": Row(Kind.MISSING, "this is not the id of a resource that can have tags"),
    "InvalidNetworkAclID.NotFound": Row(Kind.MISSING, "correct network_acl of the managed network"),
    "InvalidAssociationID.NotFound": Row(
        Kind.MISSING, "somebody changed the subnet's association during the call: retry the deployment"
    ),
    "InvalidAttachment.NotFound": Row(Kind.MISSING, "the resource is not attached any more"),
    "InvalidAttachmentID.NotFound": Row(Kind.MISSING, "the resource is not attached any more"),
    "InvalidVolumeModification.NotFound": Row(Kind.MISSING, "the volume was never changed"),
    "LoadBalancerNotFound": Row(Kind.MISSING, "correct elbs"),
    "TargetGroupNotFound": Row(Kind.MISSING, "correct lb_target_groups"),
    "InvalidInstance": Row(Kind.MISSING, "the load balancer does not know the instance"),
    "InvalidTarget": Row(Kind.STATE, "the target group does not accept the instance: is it in the same VPC?"),
    "ResourceNotFoundException": Row(Kind.MISSING, "the snapshot is gone: upload the stemcell again"),
    # No capacity: another type, zone or time may work
    "InsufficientInstanceCapacity": Row(Kind.BUSY, _ROOM),
    "InsufficientHostCapacity": Row(Kind.BUSY, _ROOM),
    "InsufficientCapacityOnHost": Row(Kind.BUSY, _ROOM),
    "InsufficientReservedInstanceCapacity": Row(Kind.BUSY, _ROOM),
    "InsufficientReservedInstancesCapacity": Row(Kind.BUSY, _ROOM),
    "ReservationCapacityExceeded": Row(
        Kind.BUSY, "enlarge the capacity reservation, or add instance_type_fallbacks"
    ),
    "UnavailableHostRequirements": Row(
        Kind.BUSY, "no host fits: use another dedicated_host, or another type"
    ),
    "IncompatibleHostRequirements": Row(
        Kind.BUSY, "no host fits: use another dedicated_host, or another type"
    ),
    "InsufficientCapacity": Row(Kind.BUSY, _ROOM),
    "UnfulfillableCapacity": Row(Kind.BUSY, _ROOM),
    "SpotMaxPriceTooLow": Row(
        Kind.BUSY, "raise spot_bid_price, use spot in its place, or set spot_ondemand_fallback"
    ),
    "InsufficientFreeAddressesInSubnet": Row(
        Kind.BUSY, "use a larger subnet, delete resources in it, or give a dynamic network subnet_fallbacks"
    ),
    "InsufficientCidrBlocks": Row(
        Kind.BUSY, "the subnet has no free block for a prefix: use a larger subnet, or reserve a range in it"
    ),
    "InsufficientVolumeCapacity": Row(Kind.BUSY, "use another zone or another volume type"),
    "InsufficientAddressCapacity": Row(Kind.BUSY, _LATER),
    # Throttled
    "RequestLimitExceeded": Row(Kind.BUSY, _THROTTLED),
    "Throttling": Row(Kind.BUSY, _THROTTLED),
    "ThrottlingException": Row(Kind.BUSY, _THROTTLED),
    "RequestThrottledException": Row(Kind.BUSY, _THROTTLED),
    "PriorRequestNotComplete": Row(Kind.BUSY, _THROTTLED),
    "ConcurrentSnapshotLimitExceeded": Row(
        Kind.BUSY, "wait until pending snapshots are completed, then retry"
    ),
    "PendingSnapshotLimitExceeded": Row(Kind.BUSY, "wait until pending snapshots are completed, then retry"),
    "SnapshotCreationPerVolumeRateExceeded": Row(
        Kind.BUSY, "wait 15 seconds between two snapshots of the same volume"
    ),
    "VolumeModificationRateExceeded": Row(
        Kind.BUSY, "EBS limits how often you can change a volume: retry some hours later"
    ),
    "ConcurrentLimitExceededException": Row(Kind.BUSY, _THROTTLED),
    "BandwidthLimitExceeded": Row(
        Kind.BUSY, "the instance has used up its network bandwidth: retry later, or use a larger type"
    ),
    "DependencyThrottle": Row(Kind.BUSY, _THROTTLED),
    "ConcurrentTagAccess": Row(Kind.BUSY, _LATER),
    "CreditSpecificationUpdateInProgress": Row(
        Kind.BUSY, "the account's default for CPU credits is being changed, which takes about five minutes"
    ),
    "IDPCommunicationError": Row(Kind.BUSY, "AWS could not reach the identity provider: retry"),
    # AWS at fault
    "InternalError": Row(Kind.BUSY, _LATER),
    "InternalFailure": Row(Kind.BUSY, _LATER),
    "InternalServerException": Row(Kind.BUSY, _LATER),
    "ServerInternal": Row(Kind.BUSY, _LATER),
    "ServiceUnavailable": Row(Kind.BUSY, _LATER),
    "Unavailable": Row(Kind.BUSY, _LATER),
    "RequestTimeoutException": Row(Kind.BUSY, _LATER),
    "HealthUnavailable": Row(Kind.BUSY, _LATER),
    "RetryableError": Row(Kind.BUSY, _LATER),
    # Not allowed
    "UnauthorizedOperation": Row(Kind.DENIED, _ALLOW),
    "AccessDenied": Row(Kind.DENIED, _ALLOW),
    "AccessDeniedException": Row(Kind.DENIED, _ALLOW),
    "AuthFailure": Row(
        Kind.DENIED, "check keys and clock; or an AMI or elastic IP belongs to another account"
    ),
    "InvalidClientTokenId": Row(Kind.DENIED, _KEYS),
    "UnrecognizedClientException": Row(Kind.DENIED, _KEYS),
    "SignatureDoesNotMatch": Row(Kind.DENIED, _KEYS),
    "IncompleteSignature": Row(Kind.DENIED, _KEYS),
    "MissingAuthenticationToken": Row(Kind.DENIED, _KEYS),
    "InvalidSignatureException": Row(Kind.DENIED, _KEYS),
    "InvalidSecurity.RequestHasExpired": Row(
        Kind.DENIED, "set the clock of the machine that runs the CPI, or renew the keys"
    ),
    "RequestExpired": Row(Kind.DENIED, "set the clock of the machine that runs the CPI, or renew the keys"),
    "ExpiredToken": Row(Kind.DENIED, "renew the session token"),
    "ExpiredTokenException": Row(Kind.DENIED, "renew the session token"),
    "OptInRequired": Row(Kind.DENIED, "subscribe the account to the AMI, or enable the region"),
    "RegionDisabledException": Row(Kind.DENIED, "enable STS for the region in the account"),
    "AccountDisabled": Row(Kind.DENIED, "AWS has disabled the account: ask AWS Support"),
    "PendingVerification": Row(
        Kind.DENIED, "wait until AWS has verified the account, which usually takes minutes"
    ),
    "Blocked": Row(Kind.DENIED, "AWS has blocked the account: ask AWS Support"),
    "InvalidKMSKey.InvalidState": Row(Kind.DENIED, "enable the KMS key"),
    "CustomerKeyHasBeenRevoked": Row(Kind.DENIED, "restore access to the KMS key"),
    "AuthFailure.ServiceLinkedRoleCreationNotPermitted": Row(Kind.DENIED, _SPOT_ROLE),
    "OperationNotPermitted": Row(
        Kind.DENIED, "remove the resource's protection, for example against termination"
    ),
    "TagPolicyViolation": Row(Kind.DENIED, "correct tags: they violate the organization's tag policy"),
    "MalformedPolicyDocument": Row(Kind.DENIED, "correct the role's policy"),
    "PackedPolicyTooLarge": Row(Kind.DENIED, "shorten the role's session policy"),
    "InvalidIdentityToken": Row(
        Kind.DENIED, "AWS does not accept the web identity token: check its identity provider in IAM"
    ),
    "IDPRejectedClaim": Row(
        Kind.DENIED, "the identity provider rejected the web identity token: it may have expired"
    ),
    # Quotas of the account
    "InstanceLimitExceeded": Row(Kind.QUOTA, _QUOTA),
    "VcpuLimitExceeded": Row(Kind.QUOTA, _QUOTA),
    "MaxSpotInstanceCountExceeded": Row(Kind.QUOTA, _QUOTA),
    "VolumeLimitExceeded": Row(Kind.QUOTA, _QUOTA),
    "MaxIOPSLimitExceeded": Row(Kind.QUOTA, _QUOTA),
    "SnapshotLimitExceeded": Row(Kind.QUOTA, _QUOTA),
    "ResourceLimitExceeded": Row(Kind.QUOTA, _QUOTA),
    "NetworkInterfaceLimitExceeded": Row(Kind.QUOTA, _QUOTA),
    "AddressLimitExceeded": Row(Kind.QUOTA, _QUOTA),
    "RouteLimitExceeded": Row(Kind.QUOTA, _QUOTA),
    "ResourceCountLimitExceeded": Row(Kind.QUOTA, _QUOTA),
    "ServiceQuotaExceededException": Row(Kind.QUOTA, _QUOTA),
    "VolumeModificationSizeLimitExceeded": Row(Kind.QUOTA, _QUOTA),
    "TooManyRegistrationsForTargetId": Row(Kind.QUOTA, _QUOTA),
    "TooManyTargets": Row(Kind.QUOTA, _QUOTA),
    "SecurityGroupsPerInstanceLimitExceeded": Row(
        Kind.QUOTA, "give the VM fewer security groups, or ask AWS to raise the quota"
    ),
    "SecurityGroupsPerInterfaceLimitExceeded": Row(
        Kind.QUOTA, "give the VM fewer security groups, or ask AWS to raise the quota"
    ),
    "SecurityGroupLimitExceeded": Row(
        Kind.QUOTA, "give the VM fewer security groups, or ask AWS to raise the quota"
    ),
    "PlacementGroupLimitExceeded": Row(
        Kind.QUOTA,
        "run bin/cpi sweep --director UUID --delete: it deletes the placement groups of spread without VMs; "
        "or delete others, or ask AWS to raise the quota",
    ),
    "ResourceCountExceeded": Row(Kind.QUOTA, _QUOTA),
    "RequestResourceCountExceeded": Row(Kind.QUOTA, _QUOTA),
    "AttachmentLimitExceeded": Row(
        Kind.QUOTA, "the instance type allows no more attachments: use a larger type"
    ),
    "PrivateIpAddressLimitExceeded": Row(
        Kind.QUOTA, "an interface of that instance type can have no more addresses: use a larger type"
    ),
    "InvalidInterface.IpAddressLimitExceeded": Row(
        Kind.QUOTA, "an interface of that instance type can have no more addresses: use a larger type"
    ),
    "SubnetLimitExceeded": Row(Kind.QUOTA, _QUOTA),
    "TagLimitExceeded": Row(Kind.QUOTA, "EC2 allows 50 tags: remove some from tags or env.bosh.tags"),
    # AWS can't do what the call asks for
    "InvalidParameterValue": Row(Kind.INVALID, _MANIFEST),
    "InvalidParameterValue: is not a valid tag key": Row(
        Kind.INVALID,
        "rename the key in tags, aws.tags or the manifest's tags, or set "
        "metadata_options.instance_metadata_tags to disabled, also if the account enables it by default",
    ),
    "InvalidParameterCombination": Row(Kind.INVALID, _MANIFEST),
    "InvalidParameter": Row(Kind.INVALID, _MANIFEST),
    "MissingParameter": Row(Kind.INVALID, _MANIFEST),
    "UnknownParameter": Row(Kind.INVALID, "AWS does not support a property in this region: remove it"),
    "ValidationError": Row(Kind.INVALID, _MANIFEST),
    "ValidationException": Row(Kind.INVALID, _MANIFEST),
    "InvalidRequest": Row(Kind.INVALID, _MANIFEST),
    "InvalidBlockDeviceMapping": Row(
        Kind.INVALID,
        "correct root_disk or ephemeral_disk; root_disk.size can't be less than the stemcell's root disk",
    ),
    "UnsupportedHibernationConfiguration": Row(
        Kind.INVALID,
        "encrypt the root disk, and increase root_disk.size to the memory of the instance type plus the "
        "size of the stemcell; all disks need the type gp3, gp2, io2 or io1. Or remove hibernation",
    ),
    "InvalidInstanceType": Row(Kind.INVALID, "correct instance_type"),
    "Unsupported": Row(
        Kind.INVALID, "use another zone or instance type: this one does not support the request"
    ),
    "UnsupportedOperation": Row(Kind.INVALID, _MANIFEST),
    "UnsupportedOperation: httpTokensEnforced": Row(
        Kind.INVALID, "set metadata_options.http_tokens to required: the account enforces IMDSv2"
    ),
    "UnsupportedException": Row(Kind.INVALID, _MANIFEST),
    "InvalidParameterDependency": Row(Kind.INVALID, _MANIFEST),
    "ClientInvalidParameterValue": Row(Kind.INVALID, _MANIFEST),
    "InvalidLaunchTargets": Row(
        Kind.INVALID, "correct capacity_reservation: it is unknown, or has no capacity left"
    ),
    "InvalidSubnet.Conflict": Row(
        Kind.INVALID, "the range overlaps another subnet: correct range of the managed network"
    ),
    "InvalidSubnet.Range": Row(
        Kind.INVALID,
        "correct range of the managed network: it must be in a range of the VPC, from /16 to /28",
    ),
    "InvalidFilter": Row(Kind.INVALID, _REPORT),
    "FilterLimitExceeded": Row(Kind.INVALID, _REPORT),
    "InvalidClientToken": Row(Kind.INVALID, _REPORT),
    "VPCResourceNotSpecified": Row(Kind.INVALID, "give the network a subnet"),
    "VPCIdNotSpecified": Row(Kind.INVALID, "give the network a subnet"),
    "DefaultVpcDoesNotExist": Row(Kind.INVALID, "give the network a subnet"),
    "MissingInput": Row(Kind.INVALID, "give the network a subnet"),
    "UnsupportedHostConfiguration": Row(
        Kind.INVALID, "the dedicated host does not support that type: use another"
    ),
    "UnsupportedInstanceTypeOnHost": Row(
        Kind.INVALID, "the dedicated host does not support that type: use another"
    ),
    "InvalidHostConfiguration": Row(
        Kind.INVALID, "the dedicated host does not support that type: use another"
    ),
    "EncryptedVolumesNotSupported": Row(Kind.INVALID, "use a type that supports encrypted volumes"),
    "UnsupportedInstanceAttribute": Row(Kind.INVALID, "this attribute of an instance can't be changed"),
    "InstanceCreditSpecification.NotSupported": Row(
        Kind.INVALID, "remove credit_specification, or use a burstable type"
    ),
    "InvalidCpuCredits": Row(Kind.INVALID, "correct credit_specification"),
    "InvalidCpuCredits.Malformed": Row(Kind.INVALID, "correct credit_specification"),
    "VolumeTypeNotAvailableInZone": Row(Kind.INVALID, "use another disk type in that zone"),
    "UnknownVolumeType": Row(Kind.INVALID, "correct the disk's type"),
    "VolumeIOPSLimit": Row(Kind.INVALID, "correct iops"),
    "BootForVolumeTypeUnsupported": Row(
        Kind.INVALID, "correct root_disk.type: a VM can't boot from this type"
    ),
    "UnsupportedTenancy": Row(Kind.INVALID, "correct tenancy"),
    "InvalidTenancy": Row(Kind.INVALID, "correct tenancy"),
    "InvalidAvailabilityZone": Row(Kind.INVALID, "correct availability_zone"),
    "InvalidZone.NotFound": Row(Kind.INVALID, "correct availability_zone"),
    "InvalidRegion": Row(Kind.INVALID, "correct aws.region"),
    "ZonesMismatched": Row(Kind.INVALID, "use the same zone for the dedicated host and the VM"),
    "InvalidVolumeID.ZoneMismatch": Row(Kind.INVALID, "use the same zone for the VM and the disk"),
    "InvalidVolume.ZoneMismatch": Row(Kind.INVALID, "use the same zone for the VM and the disk"),
    "InvalidPermission.Malformed": Row(Kind.INVALID, _MANIFEST),
    "InvalidUserData.Malformed": Row(Kind.INVALID, _REPORT),
    "InvalidIamInstanceProfileArn.Malformed": Row(Kind.INVALID, "correct iam_instance_profile"),
    "InvalidTagKey.Malformed": Row(Kind.INVALID, "correct tags"),
    "InvalidIPAddress.InUse": Row(Kind.STATE, "use another address, or delete the resource that holds it"),
    "InvalidAMIName.Duplicate": Row(Kind.STATE, "an AMI with that name already exists: retry"),
    "InvalidAMIName.Malformed": Row(Kind.INVALID, _REPORT),
    "InvalidAMIAttributeItemValue": Row(
        Kind.INVALID, "correct share_with in the stemcell's cloud properties or in aws.stemcell"
    ),
    "InvalidManifest": Row(Kind.INVALID, "the stemcell's image is damaged"),
    "InvalidRoute.Malformed": Row(Kind.INVALID, "correct advertised_routes"),
    "SnapshotCopyUnsupported.InterRegion": Row(Kind.INVALID, "use a light stemcell of this region"),
    "IdempotentParameterMismatch": Row(Kind.INVALID, "retry the deployment: two calls differ"),
    "InvalidAction": Row(
        Kind.INVALID, "correct aws.ec2_endpoint or aws.elb_endpoint: it belongs to another service"
    ),
    "UnknownOperationException": Row(Kind.INVALID, "correct aws.ebs_endpoint: it belongs to another service"),
    # In the wrong state
    "IncorrectState": Row(Kind.STATE, _STATE),
    "IncorrectInstanceState": Row(Kind.STATE, _STATE),
    "InvalidState": Row(Kind.STATE, _STATE),
    "IncorrectModificationState": Row(Kind.STATE, _STATE),
    "InvalidInstanceState": Row(Kind.STATE, _STATE),
    "InvalidHostState": Row(Kind.STATE, _STATE),
    "InvalidCapacityReservationState.PendingActivation": Row(
        Kind.STATE, "wait until the capacity block begins, or add instance_type_fallbacks"
    ),
    "InvalidCapacityReservationState.Unavailable": Row(
        Kind.STATE, "use another capacity_reservation, or add instance_type_fallbacks"
    ),
    "InvalidRoute.InvalidState": Row(Kind.INVALID, "correct advertised_routes"),
    "Gateway.NotAttached": Row(Kind.STATE, "attach the gateway that the route points to"),
    "InvalidInstanceAttributeValue": Row(Kind.INVALID, _MANIFEST),
    "InvalidVolumeID.Duplicate": Row(Kind.STATE, "retry"),
    "InvalidInstanceID": Row(
        Kind.STATE, "the instance is still pending, or has several interfaces where the call allows one"
    ),
    "NonEBSInstance": Row(Kind.STATE, "an instance without an EBS root disk can't be stopped or started"),
    "VolumeInUse": Row(Kind.STATE, "detach the volume where it is attached"),
    "InvalidSnapshot.InUse": Row(Kind.STATE, "an AMI uses the snapshot: delete the stemcell first"),
    "InvalidNetworkInterface.InUse": Row(
        Kind.STATE, "an instance uses the interface: delete the instance first"
    ),
    "DependencyViolation": Row(Kind.STATE, "delete the resources that depend on this one first"),
    "RouteAlreadyExists": Row(Kind.STATE, "retry the deployment"),
    "Resource.AlreadyAssociated": Row(
        Kind.STATE, "the elastic IP is in use, or the subnet has another route table: disassociate it"
    ),
    "Resource.AlreadyAssigned": Row(Kind.STATE, "use another address, or delete the resource that holds it"),
    "IdempotentInstanceTerminated": Row(Kind.STATE, "retry the deployment"),
    "ConflictException": Row(Kind.STATE, "upload the stemcell again"),
}

FAMILIES: Final = (
    (
        re.compile(r"Insufficient\w+"),
        Row(Kind.BUSY, "AWS lacks capacity: retry later, or use another type or zone"),
    ),
    (re.compile(r"\w+RateExceeded|Throttl\w+"), Row(Kind.BUSY, _THROTTLED)),
    (re.compile(r"[\w.]+LimitExceeded(Exception)?"), Row(Kind.QUOTA, _QUOTA)),
    (re.compile(r"[\w.]+NotFound"), Row(Kind.MISSING, _MANIFEST)),
    (re.compile(r"\w+\.Malformed"), Row(Kind.INVALID, _MANIFEST)),
    (re.compile(r"[\w.]*InUse"), Row(Kind.STATE, "another resource uses this one: detach it first")),
)
"""For codes without a row; the first match counts. Codes that a family would misjudge have a row."""


def row_of(code: str, message: str = "") -> Row | None:
    """The row of a code with words of the message, else of the code, else of its family; None without any."""
    for key, row in ROWS.items():
        with_words, _, words = key.partition(": ")
        if words and with_words == code and words in message:
            return row
    return ROWS.get(code) or next((row for pattern, row in FAMILIES if pattern.fullmatch(code)), None)
