"""Converts the AWS SDK's errors to the CPI's errors: kind, remedy, type, ok_to_retry.

The table has the codes of the calls that this program makes, from "Error codes for the Amazon EC2 API" (EC2
API reference), the error shapes in the API models of Elastic Load Balancing, the EBS direct APIs and STS, and
field reports: docs/aws-assumptions.md lists the codes that only field reports mention. A code without a row
is treated like its family (`FAMILIES`). A code without row and family is a `CloudError`, which is retriable
when the HTTP status means a fault of AWS.
"""

import re
import socket
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache
from http.client import RemoteDisconnected
from ssl import SSLCertVerificationError
from typing import Any, Final

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    CredentialRetrievalError,
    EndpointProviderError,
    HTTPClientError,
    NoCredentialsError,
    PartialCredentialsError,
    ProxyConnectionError,
    ReadTimeoutError,
    SSLError,
)
from botocore.exceptions import ConnectionError as NotConnected
from botocore.httpsession import get_cert_path
from botocore.parsers import ResponseParserError

from bosh_aws_cpi.aws.sdk import errors as codes
from bosh_aws_cpi.aws.sdk.errors import (
    CERTIFICATES,
    call_of,
    code_of,
    code_set,
    describe_error,
    encoded_of,
    is_error_of_aws,
    is_foreign,
    is_transient,
    message_of,
    policy_remedy,
)
from bosh_aws_cpi.config.aws_config import ENDPOINTS
from bosh_aws_cpi.errors import BoshError, CloudError, DiskNotFound, VMCreationFailed, VMNotFound
from bosh_aws_cpi.records import Record


class Kind(Enum):
    """The kinds of errors that the caller can distinguish; the values are titles in docs/errors.md."""

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
_NAMED_VALUE: Final = "the named value in the cloud config, the manifest, or the CPI's configuration"
_MANIFEST: Final = f"correct {_NAMED_VALUE}"
_NO_ADDRESS: Final = "use a larger subnet, delete resources in it, or give a dynamic network subnet_fallbacks"
_STATE: Final = "wait until the resource has changed its state, then retry"
_CLOUD_CHECK: Final = "bosh cloud-check finds missing VMs and disks"

TABLE: Final[Mapping[Kind, Mapping[str | frozenset[str], str]]] = {
    Kind.VM_GONE: {codes.INSTANCE_MISSING: _CLOUD_CHECK},
    Kind.MISSING: {
        codes.MALFORMED_ID: "this is not the id of a resource that can have tags",
        codes.IMAGE_MISSING & codes.NOT_FOUND_YET: (
            "upload the stemcell again with --fix; check the account's Allowed AMIs setting"
        ),
        codes.IMAGE_MISSING - codes.NOT_FOUND_YET: "upload the stemcell again: bosh upload-stemcell --fix",
        codes.SNAPSHOT_MISSING & codes.NOT_FOUND_YET: "the snapshot is gone; for a stemcell, upload it again",
        codes.SNAPSHOT_MISSING - codes.NOT_FOUND_YET: "this is not the id of a snapshot",
        codes.SUBNET_MISSING: "correct the subnet in the networks' cloud_properties",
        (
            "InvalidGroup.NotFound InvalidGroupId.Malformed InvalidSecurityGroupID.NotFound "
            "InvalidSecurityGroupId.Malformed"
        ): "correct security_groups",
        "InvalidKeyPair.NotFound": "correct key_name, or aws.default_key_name",
        codes.NIC_MISSING - codes.NOT_FOUND_YET: "this is not the id of an interface",
        (codes.NIC_MISSING & codes.NOT_FOUND_YET)
        | code_set("InvalidNetworkInterface.NotFound InvalidNetworkInterfaceAttachmentId.Malformed"): (
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
        codes.GROUP_MISSING | code_set("InvalidPlacementGroupId.Malformed"): "correct placement_group",
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
        "InvalidAttachment.NotFound InvalidAttachmentID.NotFound": (
            "the resource is not attached any more: retry the deployment"
        ),
        "InvalidVolumeModification.NotFound": "EBS knows no change of the volume: retry the deployment",
        "LoadBalancerNotFound": "correct elbs",
        "TargetGroupNotFound": "correct lb_target_groups",
        "InvalidInstance": "the load balancer does not know the instance",
        "ResourceNotFoundException": "the snapshot is gone: upload the stemcell again",
    },
    Kind.DISK_GONE: {codes.VOLUME_MISSING - codes.MALFORMED_ID: _CLOUD_CHECK},
    Kind.QUOTA: {
        codes.QUOTA_REACHED: (
            "if VMs were just deleted, retry in some minutes: they may still count. Otherwise delete unused "
            "VMs, or ask AWS to raise the quota"
        ),
        (
            "VolumeLimitExceeded MaxIOPSLimitExceeded SnapshotLimitExceeded ResourceLimitExceeded "
            "NetworkInterfaceLimitExceeded AddressLimitExceeded RouteLimitExceeded "
            "ResourceCountLimitExceeded ServiceQuotaExceededException VolumeModificationSizeLimitExceeded "
            "TooManyRegistrationsForTargetId TooManyTargets ResourceCountExceeded SubnetLimitExceeded"
        ): _QUOTA,
        (
            "SecurityGroupsPerInstanceLimitExceeded SecurityGroupsPerInterfaceLimitExceeded "
            "SecurityGroupLimitExceeded"
        ): "give the VM fewer security groups, or ask AWS to raise the quota",
        codes.GROUP_QUOTA_REACHED: (
            "run bin/cpi sweep --director UUID --delete: it deletes the placement groups of spread without "
            "VMs; or delete others, or ask AWS to raise the quota"
        ),
        "AttachmentLimitExceeded": "the instance type allows no more attachments: use a larger type",
        "PrivateIpAddressLimitExceeded InvalidInterface.IpAddressLimitExceeded": (
            "an interface of that instance type can have no more addresses: use a larger type"
        ),
        codes.TAG_REFUSED - codes.INVALID_VALUE: "EC2 allows 50 tags: remove some from tags or env.bosh.tags",
    },
    Kind.INVALID: {
        codes.UNKNOWN_PARAMETER: "AWS does not support a property in this region: remove it",
        codes.NOT_OFFERED: "use another zone or instance type: this one does not support the request",
        codes.INVALID_PARAMETER
        | code_set(
            "MissingParameter ValidationError ValidationException InvalidRequest UnsupportedException "
            "ClientInvalidParameterValue InvalidPermission.Malformed InvalidInstanceAttributeValue"
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
        codes.RANGE_TAKEN: "the range overlaps another subnet: correct range of the managed network",
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
        codes.ARGUMENTS_DIFFER: (
            "retry the deployment: an earlier call used the same client token with other arguments"
        ),
        "InvalidAction": "correct aws.ec2_endpoint or aws.elb_endpoint: it belongs to another service",
        "UnknownOperationException": "correct aws.ebs_endpoint: it belongs to another service",
    },
    Kind.BUSY: {
        codes.RESERVATION_FULL: "enlarge the capacity reservation, or add instance_type_fallbacks",
        codes.NO_HOST: "no host fits: use another dedicated_host, or another type",
        codes.PRICE_TOO_LOW: "raise spot_bid_price, use spot in its place, or set spot_ondemand_fallback",
        codes.TYPE_SHORTAGE: "add instance_type_fallbacks, or use another type or zone",
        codes.NO_PREFIX: (
            "the subnet has no free block for a prefix: use a larger subnet, or reserve a range in it"
        ),
        codes.NO_ADDRESS: _NO_ADDRESS,
        codes.NO_VOLUME: "use another zone or another volume type",
        codes.THROTTLED: _THROTTLED,
        codes.AWS_FAULT
        | codes.NO_PUBLIC_ADDRESS
        | codes.TIMED_OUT
        | code_set(
            "InternalServerException HealthUnavailable RetryableError ConcurrentTagAccess"
        ): "retry later; AWS's health dashboard may say more",
        codes.SNAPSHOTS_PENDING: ("wait until pending snapshots are completed, then retry"),
        "SnapshotCreationPerVolumeRateExceeded": "wait 15 seconds between two snapshots of the same volume",
        "VolumeModificationRateExceeded": (
            "EBS allows four changes of a volume in 24 hours, each after the last is completed: retry at the "
            "time that AWS's message names"
        ),
        "BandwidthLimitExceeded": (
            "the instance has used up its network bandwidth: retry later, or use a larger type"
        ),
        "CreditSpecificationUpdateInProgress": (
            "the account's default for CPU credits is being changed, which takes about five minutes"
        ),
        codes.IDP_UNREACHABLE: "AWS could not reach the identity provider: retry",
    },
    Kind.DENIED: {
        codes.UNAUTHORIZED: "{permission}; cpi preflight lists other missing permissions",
        codes.CLOCK_DIFFERS | code_set("InvalidSecurity.RequestHasExpired"): (
            "set the clock of the machine that runs the CPI, or renew the keys"
        ),
        codes.EXPIRED: "renew the session token",
        codes.BAD_SIGNATURE: "check the access keys, and the clock of the machine that runs the CPI",
        (codes.SESSION_ENDED - codes.EXPIRED - codes.CLOCK_DIFFERS) | code_set("AuthFailure"): (
            "check the access keys, the clock of the machine that runs the CPI, and whether the account has "
            "enabled the region"
        ),
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
        codes.NOT_PERMITTED: "remove the resource's protection, for example against termination",
        "TagPolicyViolation": "correct tags: they violate the organization's tag policy",
        "MalformedPolicyDocument": "correct the role's policy",
        "PackedPolicyTooLarge": "shorten the role's session policy",
        "InvalidIdentityToken": (
            "AWS does not accept the web identity token: check its identity provider in IAM"
        ),
        "IDPRejectedClaim": "the identity provider rejected the web identity token: it may have expired",
    },
    Kind.STATE: {
        codes.INSTANCE_STATE
        | code_set(
            "IncorrectState InvalidState IncorrectModificationState InvalidInstanceState InvalidHostState"
        ): _STATE,
        codes.CAPACITY_BLOCK_PENDING: (
            "wait until the capacity block begins, or add instance_type_fallbacks"
        ),
        codes.RESERVATION_CLOSED
        - codes.CAPACITY_BLOCK_PENDING: "use another capacity_reservation, or add instance_type_fallbacks",
        codes.VOLUME_IN_USE: "detach the volume where it is attached",
        codes.NIC_IN_USE - codes.INVALID_VALUE: "an instance uses the interface: delete the instance first",
        codes.SUBNET_USED: "delete the resources that depend on this one first",
        (codes.TOKEN_SPENT - codes.ARGUMENTS_DIFFER) | code_set("RouteAlreadyExists"): "retry the deployment",
        "InvalidVolumeID.Duplicate": "retry",
        "InvalidAMIName.Duplicate": "an AMI with that name already exists: retry",
        "InvalidSnapshot.InUse": "an AMI uses the snapshot: delete the stemcell first",
        "Gateway.NotAttached": "attach the gateway that the route points to",
        "InvalidTarget": "the target group does not accept the instance: is it in the same VPC?",
        "InvalidInstanceID": (
            "the instance is still pending, or has several interfaces where the call allows one"
        ),
        "NonEBSInstance": "restart the VM, then retry: EC2 runs it with outdated code",
        "InvalidIPAddress.InUse Resource.AlreadyAssigned": (
            "use another address, or delete the resource that holds it"
        ),
        "Resource.AlreadyAssociated": (
            "the elastic IP is in use, or the subnet has another route table: disassociate it"
        ),
        "ConflictException": "upload the stemcell again",
    },
}
"""The remedies by error codes: a set, or a text with spaces between the codes; each code occurs once."""
MESSAGE_ROWS: Final = {
    ("AuthFailure", "image|address"): Row(
        Kind.DENIED, "use an AMI or elastic IP of this account, or one that is shared with it"
    ),
    ("InvalidParameterValue", codes.NO_ADDRESS_WORDS): Row(Kind.BUSY, _NO_ADDRESS),
    ("InvalidParameterValue", "is not a valid tag key"): Row(
        Kind.INVALID,
        "rename the key in tags, aws.tags or the manifest's tags, or set "
        "metadata_options.instance_metadata_tags to disabled, also if the account enables it by default",
    ),
    ("InvalidRequest", "access the storage of this ami"): Row(  # awslabs/amazon-eks-ami issue 52
        Kind.DENIED,
        "the AMI's owner must also share its snapshots, and the KMS key of encrypted ones, with this "
        "account; or use the heavy stemcell",
    ),
    ("OperationNotPermitted", codes.VOLUME_CHANGING_WORDS): Row(Kind.STATE, _STATE),
    ("ResourceLimitExceeded", "snapshot copies"): Row(  # aws-samples/copy-encrypted-ami issue 3
        Kind.BUSY,
        "wait until other copies into the region are completed, then retry, or ask AWS to raise the quota",
    ),
    ("UnsupportedOperation", "httpTokensEnforced"): Row(
        Kind.INVALID, "set metadata_options.http_tokens to required: the account enforces IMDSv2"
    ),
    ("UnsupportedOperation", r"""^[^'"(]*$"""): Row(  # it names no value
        Kind.INVALID,
        "AWS does not support {action} with these properties, or for this resource: change what its message "
        "is about",
    ),
}
"""The rows for an error code and a pattern that AWS's message contains."""
ACTION_ROWS: Final = {
    ("StartInstances", r"Insufficient\w*Capacity\w*"): Row(
        Kind.BUSY,
        "EC2 can start a stopped VM only with its type and in its zone: retry later, or recreate the VM, for "
        "which instance_type_fallbacks count",
    ),
}
"""The rows for an action and a pattern of error codes."""
FAMILIES: Final = {
    r"Insufficient\w+": Row(Kind.BUSY, "AWS lacks capacity: retry later, or use another type or zone"),
    r"\w+RateExceeded|Throttl\w+": Row(Kind.BUSY, _THROTTLED),
    r"[\w.]+LimitExceeded(Exception)?": Row(Kind.QUOTA, _QUOTA),
    r"[\w.]+NotFound": Row(Kind.MISSING, _MANIFEST),
    r"\w+\.Malformed": Row(Kind.INVALID, _MANIFEST),
    r"[\w.]*InUse": Row(Kind.STATE, "another resource uses this one: detach it first"),
}
"""The rows for patterns of codes that have no row of their own; the first match counts."""
NO_CREDENTIALS_ERRORS: Final = (CredentialRetrievalError, NoCredentialsError, PartialCredentialsError)
"""The SDK's exceptions when there are no keys, so that no call is possible."""
NO_ANSWER_ERRORS: Final = (NotConnected, HTTPClientError, ResponseParserError, EndpointProviderError)
"""The SDK's exceptions when AWS did not answer."""
KEYS_REMEDY: Final = (
    "Give the machine that runs the CPI an instance profile, set AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY, or set aws.credentials_source to static, with aws.access_key_id and "
    "aws.secret_access_key. In a container on EC2, raise the hop limit of its instance metadata"
)
_SDK_NAMES: Final = {"elasticloadbalancing": "elb", "servicequotas": "service-quotas"}
"""The SDK's names of services by IAM's names, where these differ."""
_CHECK_ENDPOINT: Final = "check env.https_proxy and {endpoint}"
_NOT_FROM_AWS: Final = f"the response is not from AWS, perhaps from a proxy: {_CHECK_ENDPOINT}"
_FAILED: Final = f"AWS failed, or a proxy before it: retry later, and if this stays so, {_CHECK_ENDPOINT}"
_PROBLEMS: Final[tuple[tuple[type[Exception] | tuple[type[Exception], ...], str], ...]] = (
    (
        ProxyConnectionError,
        "the proxy does not answer, or refuses{cause}: check env.https_proxy and env.no_proxy",
    ),
    (
        SSLCertVerificationError,
        "its certificate is not trusted{cause}: add its CA certificate to aws.connection_options.ca_cert",
    ),
    (SSLError, "the TLS connection fails{cause}: check proxy and {endpoint}"),
    (
        (ConnectTimeoutError, ReadTimeoutError),
        "it does not answer in time: check routes, security groups, proxy and {endpoint}",
    ),
    (
        EndpointProviderError,
        "it has no such endpoint{cause}: check aws.region, aws.fips, aws.dualstack and {endpoint}",
    ),
    (
        socket.gaierror,
        "its name can't be resolved: check aws.region, aws.fips, the name servers and {endpoint}",
    ),
    (ConnectionRefusedError, "the connection is refused: check {endpoint}"),
    (Exception, "there is no connection{cause}: check routes, proxy and {endpoint}"),
)
"""Problems and remedies by exception type; the first type that is among an error's causes counts."""


@cache
def by_code() -> dict[str, Row]:
    """The rows by AWS's error code; computed on demand, because only errors need them."""
    return {
        code: Row(kind, remedy)
        for kind, of_kind in TABLE.items()
        for each, remedy in of_kind.items()
        for code in (code_set(each) if isinstance(each, str) else each)
    }


def row_of(code: str, message: str = "", action: str = "") -> Row | None:
    """The row for a code with its action or message, else for the code or its family; None without any."""
    of_action = (
        row for (name, each), row in ACTION_ROWS.items() if name == action and re.fullmatch(each, code)
    )
    of_words = (
        row
        for (with_words, words), row in MESSAGE_ROWS.items()
        if with_words == code and re.search(words, message, re.IGNORECASE)
    )
    of_family = (row for pattern, row in FAMILIES.items() if re.fullmatch(pattern, code))
    return next(of_action, None) or next(of_words, None) or by_code().get(code) or next(of_family, None)


def translate(error: Exception, method: str) -> BoshError | None:
    """Return the typed error for an exception of the AWS SDK.

    Args:
        method: The contract's method that failed; the Director retries only create_vm when AWS is busy.

    Returns:
        The error for the caller; None when the exception is not the SDK's.
    """
    if isinstance(error, ClientError):
        return _from_answer(error, method)
    if isinstance(error, BotoCoreError | ResponseParserError):
        message = _message_without_answer(error)
        is_final = isinstance(error, SSLError) and bool(getattr(error, CERTIFICATES, ""))
        return _busy_error(message, method) if is_transient(error) and not is_final else CloudError(message)
    if "refreshed credentials are still expired" in str(error):  # a RuntimeError of the SDK
        clock = "Set the clock of the machine that runs the CPI, or renew the keys"
        return CloudError(f"AWS credentials had expired when they arrived. {clock}")
    if isinstance(error, TypeError) and "offset-naive" in str(error):  # of the SDK, which compares times
        zone = "it must end with Z or an offset"
        return CloudError(f"AWS credentials have an Expiration without a time zone: {zone}")
    return None


def _from_answer(error: ClientError, method: str) -> BoshError:
    row = row_of(code_of(error), message_of(error))
    kind = row.kind if row else None
    if kind is Kind.BUSY or (kind is None and is_transient(error)):
        return _busy_error(explain(error), method)
    if kind is Kind.VM_GONE and (vm_cid := _id_in(error, r"\bi-[0-9a-f]+\b")):
        if method == "create_vm":  # somebody else has terminated the instance that was just launched
            return VMCreationFailed(explain(error), ok_to_retry=True)
        return VMNotFound(vm_cid)
    if kind is Kind.DISK_GONE and (disk_cid := _id_in(error, r"\bvol-[0-9a-f]+\b")):
        return DiskNotFound(disk_cid)
    return CloudError(explain(error))


def _busy_error(message: str, method: str) -> BoshError:
    if method == "create_vm":
        return VMCreationFailed(message, ok_to_retry=True)
    return CloudError(message, ok_to_retry=True)


def _id_in(error: ClientError, pattern: str) -> str | None:
    """The id of the resource that an error concerns, from AWS's message, else from the call's parameters."""
    call = call_of(error)
    texts = [message_of(error), *(call.ids if call else ())]
    return next((match[0] for text in texts if (match := re.search(pattern, text))), None)


def explain(error: Exception) -> str:
    """Describe an error, and add the remedy for an error of AWS."""
    text = describe_error(error)
    if not isinstance(error, ClientError):
        return text
    row = row_of(code_of(error), message_of(error), error.operation_name)
    if row is None:
        if is_error_of_aws(error):
            return text
        return _join_sentences(text, _fill(_NOT_FROM_AWS if is_foreign(error) else _FAILED, "", error))
    if encoded := encoded_of(error):
        decode = f"aws sts decode-authorization-message --encoded-message {encoded}"
        text += f". To decode the details, run: {decode}"
    remedy = row.remedy.format(permission=policy_remedy(error), action=error.operation_name)
    return _join_sentences(text, remedy)  # the log keeps its end


def name_key(message: str, arguments: Mapping[str, Any]) -> str:
    """An error's message with the key to correct, if only one key of the request has a value that AWS quotes.

    Args:
        arguments: The method's hashes by name, ``cloud_properties``.
    """
    quoted = set(re.findall(r"[('\"]([^()'\"]+)[)'\"]", message))
    keys = [key for key, value in _values(arguments) if value in quoted]
    return message.replace(_NAMED_VALUE, keys[0]) if len(keys) == 1 else message


def _values(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - a part of a request
    """The texts in a request's hashes, each with its key, "networks.a.cloud_properties.subnet"."""
    if isinstance(node, dict | list):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            yield from _values(value, f"{path}.{key}" if path else str(key))
    elif isinstance(node, str):
        yield path, node


def _message_without_answer(error: Exception) -> str:
    """The message, with the remedy, for an error of the SDK that is not an answer of AWS."""
    text = describe_error(error)
    if isinstance(error, NoCredentialsError | PartialCredentialsError):
        return (
            "No AWS credentials found: credentials_source env_or_profile tries the environment's keys, "
            f"web identity, the container's keys and the instance profile. {text}. {KEYS_REMEDY}"
        )
    if isinstance(error, ResponseParserError):
        return _join_sentences(text, _fill(_CHECK_ENDPOINT, "", error))
    text = f"AWS could not be called{_trust_source(error) if isinstance(error, SSLError) else ''}: {text}"
    if isinstance(error, CredentialRetrievalError):
        return _join_sentences(text, KEYS_REMEDY)
    return (
        _join_sentences(text, explain_no_answer("", error, text))
        if isinstance(error, NO_ANSWER_ERRORS)
        else text
    )


def _trust_source(error: SSLError) -> str:
    """Name the CA certificates that the call trusted, for a message."""
    usual = f"the CA certificates of '{get_cert_path(True)}'"  # noqa: FBT003
    return f" with {getattr(error, CERTIFICATES, '') or usual}"


def explain_no_answer(service: str, error: Exception, detail: str = "") -> str:
    """Why a service did not answer, with the remedy.

    Args:
        service: The SDK's name of the service, used if no call is attached to the error.
        error: An error of the types `NO_ANSWER_ERRORS`, or an answer that is not from AWS.
        detail: The message so far; a cause that it already contains is not added.
    """
    if isinstance(error, ClientError | ResponseParserError):
        return _fill(_NOT_FROM_AWS, service, error)
    causes = list(_causes(error))
    words = next(words for kinds, words in _PROBLEMS if any(isinstance(each, kinds) for each in causes))
    last = _local_message(causes[-1])
    return _fill(words, service, error, "" if not last or last in detail else f" ({last})")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and its causes: the libraries below the SDK wrap each other's errors several times."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)


def _local_message(cause: BaseException) -> str:
    """The part of an error's message that comes from this machine, not from a server or proxy."""
    if isinstance(cause, EndpointProviderError | RemoteDisconnected):
        return str(cause)
    if isinstance(cause, OSError) and (tunnel := re.match(r"Tunnel connection failed: \d{3}\b", str(cause))):
        return tunnel[0]
    return (cause.strerror or "") if isinstance(cause, OSError) else ""


def _fill(words: str, service: str, error: Exception, cause: str = "") -> str:
    call = call_of(error)
    return words.format(cause=cause, endpoint=endpoint(call.action.partition(":")[0] if call else service))


def endpoint(service: str) -> str:
    """The setting of a service's endpoint, as a part of a remedy."""
    key = ENDPOINTS.get(_SDK_NAMES.get(service, service))
    return f"{key.path if key else 'the endpoints in aws'}, or create a VPC endpoint for it"


def _join_sentences(first: str, second: str) -> str:
    return f"{first}{'' if first.endswith('?') else '.'} {second[0].upper()}{second[1:]}"
