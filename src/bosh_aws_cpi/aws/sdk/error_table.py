"""The meaning of AWS's error codes, and their remedies.

For the calls that this program uses, from "Error codes for the Amazon EC2 API" (EC2 API reference), the
error shapes in the API models of Elastic Load Balancing, the EBS direct APIs and STS, and field reports:
docs/aws-assumptions.md lists the codes that only field reports mention. A code without a row is treated like
its family (`FAMILIES`); one without a family is a `CloudError`, retriable when its HTTP status blames AWS.
"""

import re
from collections.abc import Mapping
from enum import Enum
from typing import Final

from bosh_aws_cpi.aws.sdk import error_codes as of
from bosh_aws_cpi.records import Record


class Kind(Enum):
    """The kinds of errors that the caller can tell apart; they are titles in docs/errors.md."""

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


_THROTTLED: Final = "deploy fewer VMs at once, or ask AWS for a higher request rate limit"
_QUOTA: Final = "delete unused resources, or ask AWS to raise the quota"
_MANIFEST: Final = "correct the named value in the cloud config, the manifest, or the CPI's configuration"
_CCK: Final = "bosh cloud-check finds missing VMs and disks"

TABLE: Final[Mapping[Kind, Mapping[str | frozenset[str], str]]] = {
    Kind.VM_GONE: {of.INSTANCE_MISSING: _CCK},
    Kind.MISSING: {
        "InvalidID": "this is not the id of a resource that can have tags",
        "InvalidAMIID.NotFound": (
            "upload the stemcell again with --fix; check the account's Allowed AMIs setting"
        ),
        of.IMAGE_MISSING: "upload the stemcell again: bosh upload-stemcell --fix",
        "InvalidSnapshot.NotFound": "the snapshot is gone; for a stemcell, upload it again",
        of.SNAPSHOT_MISSING: "this is not the id of a snapshot",
        of.SUBNET_MISSING: "correct the subnet in the networks' cloud_properties",
        (
            "InvalidGroup.NotFound InvalidGroupId.Malformed InvalidSecurityGroupID.NotFound "
            "InvalidSecurityGroupId.Malformed"
        ): "correct security_groups",
        "InvalidKeyPair.NotFound": "correct key_name, or aws.default_key_name",
        "InvalidNetworkInterfaceId.Malformed": "this is not the id of an interface",
        of.NIC_MISSING: "the interface is gone: retry the deployment",
        "InvalidNetworkInterface.NotFound InvalidNetworkInterfaceAttachmentId.Malformed": (
            "the interface is gone: retry the deployment"
        ),
        "InvalidAllocationID.NotFound InvalidAddress.NotFound InvalidAddressID.NotFound": (
            "the elastic IP was released: allocate it again"
        ),
        "InvalidRouteTableID.NotFound InvalidRouteTableId.Malformed": "correct table_id in advertised_routes",
        "InvalidRoute.NotFound": "the route was deleted in the meantime: retry the deployment",
        "InvalidGatewayID.NotFound InvalidNatGatewayID.NotFound": (
            "correct advertised_routes: the route's target is gone"
        ),
        of.GROUP_MISSING: "correct placement_group",
        "InvalidPlacementGroupId.Malformed": "correct placement_group",
        (
            "InvalidHostID.NotFound InvalidHostID.Malformed InvalidHostId InvalidHostId.NotFound "
            "InvalidHostId.Malformed"
        ): "correct dedicated_host",
        "InvalidCapacityReservationId.NotFound InvalidCapacityReservationId.Malformed": (
            "correct capacity_reservation"
        ),
        (
            "InvalidLaunchTemplateId.Malformed InvalidLaunchTemplateId.NotFound "
            "InvalidLaunchTemplateId.VersionNotFound InvalidLaunchTemplateName.MalformedException "
            "InvalidLaunchTemplateName.NotFoundException"
        ): "correct launch_template",
        "InvalidKernelId.Malformed": "correct kernel_id in the stemcell",
        "InvalidVpcID.NotFound": "the VPC is gone: correct the subnets",
        "InvalidVpcID.Malformed": "this is not the id of a VPC: correct the subnets",
        "InvalidNetworkAclID.NotFound": "correct network_acl of the managed network",
        "InvalidAssociationID.NotFound": (
            "somebody changed the subnet's association during the call: retry the deployment"
        ),
        "InvalidAttachment.NotFound InvalidAttachmentID.NotFound": "the resource is not attached any more",
        "InvalidVolumeModification.NotFound": "the volume was never changed",
        "LoadBalancerNotFound": "correct elbs",
        "TargetGroupNotFound": "correct lb_target_groups",
        "InvalidInstance": "the load balancer does not know the instance",
        "ResourceNotFoundException": "the snapshot is gone: upload the stemcell again",
    },
    Kind.DISK_GONE: {of.VOLUME_MISSING: _CCK},
    Kind.QUOTA: {
        of.QUOTA_REACHED: _QUOTA,
        (
            "VolumeLimitExceeded MaxIOPSLimitExceeded SnapshotLimitExceeded ResourceLimitExceeded "
            "NetworkInterfaceLimitExceeded AddressLimitExceeded RouteLimitExceeded "
            "ResourceCountLimitExceeded ServiceQuotaExceededException VolumeModificationSizeLimitExceeded "
            "TooManyRegistrationsForTargetId TooManyTargets ResourceCountExceeded "
            "RequestResourceCountExceeded SubnetLimitExceeded"
        ): _QUOTA,
        (
            "SecurityGroupsPerInstanceLimitExceeded SecurityGroupsPerInterfaceLimitExceeded "
            "SecurityGroupLimitExceeded"
        ): "give the VM fewer security groups, or ask AWS to raise the quota",
        of.GROUP_QUOTA_REACHED: (
            "run bin/cpi sweep --director UUID --delete: it deletes the placement groups of spread without "
            "VMs; or delete others, or ask AWS to raise the quota"
        ),
        "AttachmentLimitExceeded": "the instance type allows no more attachments: use a larger type",
        "PrivateIpAddressLimitExceeded InvalidInterface.IpAddressLimitExceeded": (
            "an interface of that instance type can have no more addresses: use a larger type"
        ),
        "TagLimitExceeded": "EC2 allows 50 tags: remove some from tags or env.bosh.tags",
    },
    Kind.INVALID: {
        "UnknownParameter": "AWS does not support a property in this region: remove it",
        "Unsupported": "use another zone or instance type: this one does not support the request",
        (
            "InvalidParameterValue InvalidParameterCombination InvalidParameter InvalidParameterDependency "
            "UnsupportedOperation MissingParameter ValidationError ValidationException InvalidRequest "
            "UnsupportedException ClientInvalidParameterValue InvalidPermission.Malformed "
            "InvalidInstanceAttributeValue"
        ): _MANIFEST,
        "InvalidBlockDeviceMapping": (
            "correct root_disk or ephemeral_disk; root_disk.size can't be less than the stemcell's root disk"
        ),
        "UnsupportedHibernationConfiguration": (
            "encrypt the root disk, and increase root_disk.size to the memory of the instance type plus the "
            "size of the stemcell; all disks need the type gp3, gp2, io2 or io1. Or remove hibernation"
        ),
        "InvalidInstanceType": "correct instance_type",
        "InvalidLaunchTargets": "correct capacity_reservation: it is unknown, or has no capacity left",
        of.RANGE_TAKEN: "the range overlaps another subnet: correct range of the managed network",
        "InvalidSubnet.Range": (
            "correct range of the managed network: it must be in a range of the VPC, from /16 to /28"
        ),
        (
            "InvalidFilter FilterLimitExceeded InvalidClientToken InvalidUserData.Malformed "
            "InvalidAMIName.Malformed InvalidContextAssertion"
        ): "this is a bug in the CPI: please report it",
        "VPCResourceNotSpecified VPCIdNotSpecified DefaultVpcDoesNotExist MissingInput": (
            "give the network a subnet"
        ),
        "UnsupportedHostConfiguration UnsupportedInstanceTypeOnHost InvalidHostConfiguration": (
            "the dedicated host does not support that type: use another"
        ),
        "EncryptedVolumesNotSupported": "use a type that supports encrypted volumes",
        "UnsupportedInstanceAttribute": "this attribute of an instance can't be changed",
        "InstanceCreditSpecification.NotSupported": "remove credit_specification, or use a burstable type",
        "InvalidCpuCredits InvalidCpuCredits.Malformed": "correct credit_specification",
        "VolumeTypeNotAvailableInZone": "use another disk type in that zone",
        "UnknownVolumeType": "correct the disk's type",
        "VolumeIOPSLimit": "correct iops",
        "BootForVolumeTypeUnsupported": "correct root_disk.type: a VM can't boot from this type",
        "UnsupportedTenancy InvalidTenancy": "correct tenancy",
        "InvalidAvailabilityZone InvalidZone.NotFound": "correct availability_zone",
        "InvalidRegion": "correct aws.region",
        "ZonesMismatched": "use the same zone for the dedicated host and the VM",
        "InvalidVolumeID.ZoneMismatch InvalidVolume.ZoneMismatch": (
            "use the same zone for the VM and the disk"
        ),
        "InvalidIamInstanceProfileArn.Malformed": "correct iam_instance_profile",
        "InvalidTagKey.Malformed": "correct tags",
        "InvalidAMIAttributeItemValue": (
            "correct share_with in the stemcell's cloud properties or in aws.stemcell"
        ),
        "InvalidManifest": "the stemcell's image is damaged",
        "InvalidRoute.Malformed InvalidRoute.InvalidState": "correct advertised_routes",
        "SnapshotCopyUnsupported.InterRegion": "use a light stemcell of this region",
        "IdempotentParameterMismatch": "retry the deployment: two calls differ",
        "InvalidAction": "correct aws.ec2_endpoint or aws.elb_endpoint: it belongs to another service",
        "UnknownOperationException": "correct aws.ebs_endpoint: it belongs to another service",
    },
    Kind.BUSY: {
        "ReservationCapacityExceeded": "enlarge the capacity reservation, or add instance_type_fallbacks",
        "UnavailableHostRequirements IncompatibleHostRequirements": (
            "no host fits: use another dedicated_host, or another type"
        ),
        "SpotMaxPriceTooLow": "raise spot_bid_price, use spot in its place, or set spot_ondemand_fallback",
        of.NO_CAPACITY: "add instance_type_fallbacks, or use another type or zone",
        "InsufficientCidrBlocks": (
            "the subnet has no free block for a prefix: use a larger subnet, or reserve a range in it"
        ),
        of.SUBNET_FULL: (
            "use a larger subnet, delete resources in it, or give a dynamic network subnet_fallbacks"
        ),
        "InsufficientVolumeCapacity": "use another zone or another volume type",
        of.THROTTLED: _THROTTLED,
        of.AT_FAULT: "retry later; AWS's health dashboard may say more",
        (
            "InternalServerException RequestTimeoutException HealthUnavailable RetryableError "
            "ConcurrentTagAccess InsufficientAddressCapacity"
        ): "retry later; AWS's health dashboard may say more",
        "ConcurrentSnapshotLimitExceeded PendingSnapshotLimitExceeded": (
            "wait until pending snapshots are completed, then retry"
        ),
        "SnapshotCreationPerVolumeRateExceeded": "wait 15 seconds between two snapshots of the same volume",
        "VolumeModificationRateExceeded": (
            "EBS limits how often you can change a volume: retry some hours later"
        ),
        "BandwidthLimitExceeded": (
            "the instance has used up its network bandwidth: retry later, or use a larger type"
        ),
        "CreditSpecificationUpdateInProgress": (
            "the account's default for CPU credits is being changed, which takes about five minutes"
        ),
        "IDPCommunicationError": "AWS could not reach the identity provider: retry",
    },
    Kind.DENIED: {
        of.UNAUTHORIZED: "{permission}; cpi preflight lists other missing permissions",
        "RequestExpired InvalidSecurity.RequestHasExpired": (
            "set the clock of the machine that runs the CPI, or renew the keys"
        ),
        "ExpiredToken ExpiredTokenException": "renew the session token",
        of.SESSION_ENDED: "check the access keys, and the clock of the machine that runs the CPI",
        "SignatureDoesNotMatch IncompleteSignature MissingAuthenticationToken InvalidSignatureException": (
            "check the access keys, and the clock of the machine that runs the CPI"
        ),
        "AuthFailure": "check keys and clock; or an AMI or elastic IP belongs to another account",
        "OptInRequired": "subscribe the account to the AMI, or enable the region",
        "RegionDisabledException": "enable STS for the region in the account",
        "AccountDisabled": "AWS has disabled the account: ask AWS Support",
        "Blocked": "AWS has blocked the account: ask AWS Support",
        "PendingVerification": "wait until AWS has verified the account, which usually takes minutes",
        "InvalidKMSKey.InvalidState": "enable the KMS key",
        "CustomerKeyHasBeenRevoked": "restore access to the KMS key",
        "AuthFailure.ServiceLinkedRoleCreationNotPermitted": (
            "allow iam:CreateServiceLinkedRole for spot, or create the service-linked role by hand"
        ),
        "OperationNotPermitted": "remove the resource's protection, for example against termination",
        "TagPolicyViolation": "correct tags: they violate the organization's tag policy",
        "MalformedPolicyDocument": "correct the role's policy",
        "PackedPolicyTooLarge": "shorten the role's session policy",
        "InvalidIdentityToken": (
            "AWS does not accept the web identity token: check its identity provider in IAM"
        ),
        "IDPRejectedClaim": "the identity provider rejected the web identity token: it may have expired",
    },
    Kind.STATE: {
        (
            "IncorrectState IncorrectInstanceState InvalidState IncorrectModificationState "
            "InvalidInstanceState InvalidHostState"
        ): "wait until the resource has changed its state, then retry",
        "InvalidCapacityReservationState.PendingActivation": (
            "wait until the capacity block begins, or add instance_type_fallbacks"
        ),
        of.RESERVATION_CLOSED: "use another capacity_reservation, or add instance_type_fallbacks",
        of.VOLUME_IN_USE: "detach the volume where it is attached",
        "InvalidNetworkInterface.InUse": "an instance uses the interface: delete the instance first",
        of.SUBNET_USED: "delete the resources that depend on this one first",
        "IdempotentInstanceTerminated RouteAlreadyExists": "retry the deployment",
        "InvalidVolumeID.Duplicate": "retry",
        "InvalidAMIName.Duplicate": "an AMI with that name already exists: retry",
        "InvalidSnapshot.InUse": "an AMI uses the snapshot: delete the stemcell first",
        "Gateway.NotAttached": "attach the gateway that the route points to",
        "InvalidTarget": "the target group does not accept the instance: is it in the same VPC?",
        "InvalidInstanceID": (
            "the instance is still pending, or has several interfaces where the call allows one"
        ),
        "NonEBSInstance": "an instance without an EBS root disk can't be stopped or started",
        "InvalidIPAddress.InUse Resource.AlreadyAssigned": (
            "use another address, or delete the resource that holds it"
        ),
        "Resource.AlreadyAssociated": (
            "the elastic IP is in use, or the subnet has another route table: disassociate it"
        ),
        "ConflictException": "upload the stemcell again",
    },
}
"""The remedies of codes, separated by blanks, and of sets of codes. The first row that has a code counts."""
WORDS: Final = {
    ("InvalidParameterValue", "is not a valid tag key"): Row(
        Kind.INVALID,
        "rename the key in tags, aws.tags or the manifest's tags, or set "
        "metadata_options.instance_metadata_tags to disabled, also if the account enables it by default",
    ),
    ("ResourceLimitExceeded", "snapshot copies"): Row(  # aws-samples/copy-encrypted-ami issue 3
        Kind.BUSY,
        "wait until other copies into the region are completed, then retry, or ask AWS to raise the quota",
    ),
    ("UnsupportedOperation", "httpTokensEnforced"): Row(
        Kind.INVALID, "set metadata_options.http_tokens to required: the account enforces IMDSv2"
    ),
}
"""Rows for a code with these words in AWS's message."""
FAMILIES: Final = {
    r"Insufficient\w+": Row(Kind.BUSY, "AWS lacks capacity: retry later, or use another type or zone"),
    r"\w+RateExceeded|Throttl\w+": Row(Kind.BUSY, _THROTTLED),
    r"[\w.]+LimitExceeded(Exception)?": Row(Kind.QUOTA, _QUOTA),
    r"[\w.]+NotFound": Row(Kind.MISSING, _MANIFEST),
    r"\w+\.Malformed": Row(Kind.INVALID, _MANIFEST),
    r"[\w.]*InUse": Row(Kind.STATE, "another resource uses this one: detach it first"),
}
"""For codes without a row; the first match counts. Codes that a family would misjudge have a row."""
ROWS: Final[dict[str, Row]] = {}
"""The rows by AWS's code."""
for _kind, _rows in TABLE.items():
    for _codes, _remedy in _rows.items():
        for _code in _codes.split() if isinstance(_codes, str) else _codes:
            ROWS.setdefault(_code, Row(_kind, _remedy))


def row_of(code: str, message: str = "") -> Row | None:
    """The row of a code with words of the message, else of the code, else of its family; None without any."""
    of_words = (row for (with_words, words), row in WORDS.items() if with_words == code and words in message)
    of_family = (row for pattern, row in FAMILIES.items() if re.fullmatch(pattern, code))
    return next(of_words, None) or ROWS.get(code) or next(of_family, None)
