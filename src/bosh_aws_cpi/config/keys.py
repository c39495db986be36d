"""The table of cpi.json: one row per key, in the order of the pages.

`make docs` writes docs/configuration.md, docs/job.md and the job's spec from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bosh_aws_cpi.config.values import (
    Key,
    anything,
    boolean,
    contract_version,
    external_id,
    flag,
    http_url,
    https_url,
    json_object,
    log_file,
    one_of,
    optional_choice,
    region,
    role_arn,
    sendable,
    string,
    strings,
    whole_number,
)
from bosh_aws_cpi.log import LEVELS

if TYPE_CHECKING:
    from typing import Any, Final, Literal

    CredentialsSource = Literal["static", "env_or_profile"]
    StemcellUpload = Literal["ebs_direct", "volume"]

# Calls to AWS: region, credentials, role, endpoints, certificates, retries.

REGION = Key(
    "aws.region",
    region,
    "AWS region. If it is missing and both `ec2_endpoint` and `elb_endpoint` are set, it comes from "
    "AWS_REGION in the environment, or from the host name of `ec2_endpoint`.",
    is_required=True,
    is_required_by_job=True,
    example="us-east-1",
)
CREDENTIALS_SOURCE: Key[CredentialsSource] = Key(
    "aws.credentials_source",
    one_of,
    "`static` uses the keys below. `env_or_profile` uses the environment, web identity, or the profile of "
    "the container or instance that the CPI runs on; the keys below must not be set.",
    default="static",
    choices=("static", "env_or_profile"),
    job_default="static",
)
ACCESS_KEY_ID = Key(
    "aws.access_key_id",
    sendable,
    "Access key, required for `static`. An empty string counts as missing.",
    is_secret=True,
)
SECRET_ACCESS_KEY = Key(
    "aws.secret_access_key",
    sendable,
    "Secret key, required for `static`. An empty string counts as missing.",
    is_secret=True,
)
SESSION_TOKEN = Key(
    "aws.session_token", sendable, "Session token for `static` with temporary keys.", is_secret=True
)
ROLE_ARN = Key(
    "aws.role_arn", role_arn, "ARN of the role to assume through STS, with the credentials of either source."
)
EXTERNAL_ID = Key(
    "aws.external_id",
    external_id,
    "The external id that the trust policy of the role demands. Needs `role_arn`.",
    is_new=True,
)
SESSION_TAGS = Key(
    "aws.session_tags",
    json_object,
    "Tags of the role's session, for policies that compare `aws:PrincipalTag`, and for CloudTrail. Needs "
    "`role_arn`, and `sts:TagSession` in the role's trust policy.",
    is_new=True,
    example={"director": "production"},
)
KEEP_ROLE_SESSION = Key(
    "aws.keep_role_session",
    boolean,
    "Keep the role's credentials for later calls until 15 minutes before they expire, where the job runs on "
    "a Director's VM: in a folder in memory that only its user can access. `false` calls STS each time.",
    default=True,
    is_new=True,
)
EC2_ENDPOINT = Key(
    "aws.ec2_endpoint",
    https_url,
    "EC2 endpoint as host, host:port or URL (default scheme https). Default: the region's endpoint.",
    example="ec2.us-east-1.amazonaws.com",
)
ELB_ENDPOINT = Key(
    "aws.elb_endpoint",
    https_url,
    "The same for Elastic Load Balancing (classic load balancers and target groups).",
    example="elasticloadbalancing.us-east-1.amazonaws.com",
)
EBS_ENDPOINT = Key("aws.ebs_endpoint", https_url, "The same for the EBS direct APIs.", is_new=True)
STS_ENDPOINT = Key("aws.sts_endpoint", https_url, "The same for STS.", is_new=True)
IAM_ENDPOINT = Key("aws.iam_endpoint", https_url, "The same for IAM, which only commands call.", is_new=True)
KMS_ENDPOINT = Key("aws.kms_endpoint", https_url, "The same for KMS, which only commands call.", is_new=True)
SERVICE_QUOTAS_ENDPOINT = Key(
    "aws.service_quotas_endpoint",
    https_url,
    "The same for Service Quotas, which only commands call.",
    is_new=True,
)
DUALSTACK = Key(
    "aws.dualstack",
    flag,
    "Use the dual-stack (IPv4 and IPv6) endpoints; no effect on an endpoint that is set explicitly.",
    default=False,
    job_default=False,
)
FIPS = Key(
    "aws.fips",
    boolean,
    "Use endpoints with FIPS 140 validated cryptography; no effect on an endpoint that is set explicitly.",
    default=False,
    is_new=True,
)
CONNECTION_OPTIONS = Key(
    "aws.connection_options",
    json_object,
    "`ca_cert`: CA certificates in PEM format for connections to AWS, in place of those in the file that "
    "BOSH_CA_CERT_FILE names. For CPI configs; the job has `aws.connection_options.ca_cert` instead.",
    job=(),
    is_new=True,
)
MAX_RETRIES = Key(
    "aws.max_retries",
    whole_number,
    "Maximum number of retries of an AWS call after an AWS fault or a connection failure. Separately, the "
    "CPI retries throttled calls for five minutes. 0 turns both off, except in waits and deletions.",
    is_required=True,
    job_default=8,
)

# Resources: VMs, disks, sizes, stemcells, tags, and their deletion.

_OF_VMS: Final = "VMs that specify none"

DEFAULT_SECURITY_GROUPS = Key(
    "aws.default_security_groups",
    strings,
    "Names or ids of security groups for VMs that have none in the cloud config.",
    is_required_by_job=True,
    example=["bosh"],
)
DEFAULT_KEY_NAME = Key(
    "aws.default_key_name", string, f"Name of the SSH key pair for {_OF_VMS}.", example="bosh"
)
DEFAULT_IAM_INSTANCE_PROFILE = Key(
    "aws.default_iam_instance_profile", string, f"Name of the instance profile for {_OF_VMS}."
)
ENCRYPTED = Key(
    "aws.encrypted",
    flag,
    "Encrypt ephemeral and persistent disks and copies of stemcells. A resource's own property takes "
    "precedence, even if it is false or null.",
    default=False,
    job_default=False,
)
KMS_KEY_ARN = Key(
    "aws.kms_key_arn",
    string,
    "KMS key for encryption. Default: the account's default key for EBS. A resource's own property takes "
    "precedence.",
    example="arn:aws:kms:us-east-1:123456789012:key/00000000-0000-0000-0000-000000000000",
)
DEFAULT_ROOT_DISK = Key(
    "aws.default_root_disk",
    json_object,
    "Defaults for the root disks of VMs, with the keys of the cloud property `root_disk`: `size`, `type`, "
    "`iops`, `throughput`, `encrypted`, `kms_key_arn`. A VM's own keys take precedence, key by key.",
    is_new=True,
    example={"type": "gp3", "iops": 4000, "encrypted": True},
)
DEFAULT_EPHEMERAL_DISK = Key(
    "aws.default_ephemeral_disk",
    json_object,
    "The same for `ephemeral_disk`. `encrypted` and `kms_key_arn` take precedence over those of `aws`.",
    is_new=True,
    example={"size": 20480},
)
DEFAULT_PERSISTENT_DISK = Key(
    "aws.default_persistent_disk",
    json_object,
    "Defaults for persistent disks: `type`, `iops`, `iops_per_gib`, `throughput`, `encrypted`, "
    "`kms_key_arn`. A disk's own keys take precedence, key by key. `encrypted` and `kms_key_arn` take "
    "precedence over those of `aws`.",
    is_new=True,
    example={"type": "gp3", "iops_per_gib": 10},
)
METADATA_OPTIONS = Key(
    "aws.metadata_options",
    json_object,
    "EC2 instance metadata options for every VM, in snake case. A VM's own options take precedence, key "
    "by key.",
    example={"http_endpoint": "enabled", "http_tokens": "required"},
)
ENABLE_DESCRIBE_INSTANCE_TYPES = Key(
    "aws.enable_describe_instance_types",
    flag,
    "Get instance type data from EC2 (ec2:DescribeInstanceTypes). `false` uses a built-in table, which lacks "
    "instance types that are newer than this release.",
    default=True,
    job_default=True,
)
VM_RESOURCES_FAMILIES = Key(
    "aws.vm_resources_families",
    strings,
    "Families of instance types that the CPI chooses from for a manifest's `vm_resources`: the type that "
    "suffices and is cheapest by an estimate (one vCPU costs as much as 10 GiB of memory); of several, that "
    "of the family that is named first. Default: the Ruby release's list of T2, C5, M5 and R5.",
    is_new=True,
    example=["t3", "m7i", "c7i", "r7i"],
)
VM_RESOURCES_BY_REGION = Key(
    "aws.vm_resources_by_region",
    boolean,
    "For a manifest's `vm_resources`, choose only among the types that the region offers "
    "(ec2:DescribeInstanceTypeOfferings, once a day). If EC2 does not say which, choose as without this key.",
    default=False,
    is_new=True,
)
STEMCELL = Key(
    "aws.stemcell",
    json_object,
    "Overrides the cloud properties of every stemcell, except for `copy_from_region` and "
    "`copy_completion_minutes`.",
    job=(),
)
STEMCELL_KERNEL_ID = Key(
    "aws.stemcell.kernel_id",
    anything,
    "Kernel image (aki-...) for stemcells, in place of the stemcell's own.",
)
_OF_STEMCELL: Final = "The stemcell's cloud property of that name, in place of its own."
STEMCELL_DEPRECATE_AT = Key("aws.stemcell.deprecate_at", anything, _OF_STEMCELL, is_new=True)
STEMCELL_SHARE_WITH = Key("aws.stemcell.share_with", anything, _OF_STEMCELL, is_new=True)
STEMCELL_IMDS_SUPPORT = Key("aws.stemcell.imds_support", anything, _OF_STEMCELL, is_new=True)
STEMCELL_TPM_SUPPORT = Key("aws.stemcell.tpm_support", anything, _OF_STEMCELL, is_new=True)
STEMCELL_COPY_FROM_REGION = Key(
    "aws.stemcell.copy_from_region",
    boolean,
    "If a light stemcell has no AMI for the region, copy one from another region of the same partition.",
    default=False,
    is_new=True,
)
STEMCELL_COPY_COMPLETION_MINUTES: Key[int | None] = Key(
    "aws.stemcell.copy_completion_minutes",
    optional_choice,
    "Copy the AMI of a light stemcell within 15, 30 or 45 minutes (a time-based copy, for which AWS charges "
    "by the GiB). Default: no time limit.",
    choices=(15, 30, 45),  # AWS takes 15 minutes to 48 hours; create_stemcell waits for several such copies
    is_new=True,
)
STEMCELL_UPLOAD: Key[StemcellUpload] = Key(
    "aws.stemcell_upload",
    one_of,
    "How to upload heavy stemcells: `ebs_direct`, or `volume`, through a volume attached to the CPI's own "
    "VM. The CPI also uses `volume` if it runs on EC2 and may not use the EBS direct APIs.",
    default="ebs_direct",
    choices=("ebs_direct", "volume"),
    is_new=True,
)
TAGS = Key(
    "aws.tags",
    json_object,
    "Tags for everything that the CPI creates: VMs, their interfaces and disks, snapshots, AMIs, managed "
    "subnets. The tags of the manifest, the Director and the CPI take precedence.",
    is_new=True,
    example={"cost-center": "4711"},
)
FAST_PATH_DELETE = Key(
    "aws.fast_path_delete",
    flag,
    "delete_vm and delete_disk set the tag `Name` to `to be deleted` and return without waiting until the "
    "resource is gone.",
    default=False,
    is_new=True,
)
DEREGISTER_ON_DELETE = Key(
    "aws.deregister_on_delete",
    boolean,
    "delete_vm first deregisters the VM from its target groups and classic load balancers, and waits up to "
    "330 seconds for connections to drain. With `fast_path_delete` it does not wait.",
    default=False,
    is_new=True,
)
SKIP_OS_SHUTDOWN: Key[bool | None] = Key(
    "aws.skip_os_shutdown",
    optional_choice,
    "Whether delete_vm terminates VMs without waiting for their operating system to shut down, unless they "
    "have disks that outlive them. A VM's own `skip_os_shutdown` takes precedence, but has no effect if this "
    "key is not set: `false` means those VMs only. If set, delete_vm looks at the VM first.",
    choices=(True, False),
    is_new=True,
    example=True,
)

SPREAD: Key[Literal["prefer", False] | None] = Key(
    "aws.spread",
    optional_choice,
    "`prefer`: VMs of instance groups that say nothing of `spread` run on racks of their own as long as EC2 "
    "has room for that. `spread: false` exempts a VM. Default, and `false` here: no such preference.",
    choices=("prefer", False),
    is_new=True,
    example="prefer",
)

# The sections `agent`, `registry` and `debug`.

MAX_API_VERSION: Final = 3
"""The newest contract version that `info` announces."""
AGENT = Key(
    "agent",
    json_object,
    "Copied unchanged into every VM's agent settings: mbus, ntp, blobstore and others.",
    job=(),
)
AGENT_MBUS = Key(
    "agent.mbus",
    anything,
    "The agents' message bus, as a URL.",
    job=("agent.mbus", "agent.nats.address", "nats.address", "nats.port", "nats.user", "nats.password"),
    is_secret=True,
)
AGENT_NTP = Key("agent.ntp", anything, "The VMs' time servers.", job=("ntp",))
REGISTRY_ENDPOINT = Key(
    "registry.endpoint",
    http_url,
    "Registry as host, host:port or URL (default scheme http), for stemcells of api_version 1.",
    job=("registry.username", "registry.password", "registry.host", "registry.port"),
    is_secret=True,
)
REGISTRY_USER = Key("registry.user", string, "The registry's user.", job=("registry.username",))
REGISTRY_PASSWORD = Key(
    "registry.password", string, "The registry's password.", job=("registry.password",), is_secret=True
)
DEBUG_API_VERSION = Key(
    "debug.cpi.api_version",
    contract_version,
    "The highest contract version that `info` announces. Current Directors and bosh CLIs reject version 1.",
    default=MAX_API_VERSION,
    choices=tuple(range(1, MAX_API_VERSION + 1)),
)
DEBUG_LOG_LEVEL = Key(
    "debug.cpi.log_level",
    one_of,
    "`debug`, `info`, `warn` or `error`; `debug` logs every AWS call, without secrets.",
    default="info",
    choices=tuple(LEVELS),
    is_new=True,
)
DEBUG_EVENT_LOG = Key(
    "debug.event_log",
    log_file,
    "The absolute path of a file that gets one line of JSON for each call, without secrets. "
    "The job's property may be `true`: /var/vcap/sys/log/aws_cpi/events.log. Default: no such file.",
    is_new=True,
    example=True,
)
KEYS: Final[tuple[Key[Any], ...]] = tuple(row for row in [*globals().values()] if isinstance(row, Key))
IN_AWS: Final = frozenset(row.path.split(".")[1] for row in KEYS if row.path.startswith("aws."))
"""The keys of the section ``aws``."""
_LONGEST_NAME: Final = 64


def is_name(key: str) -> bool:
    """Whether an unknown key may be shown: YAML reads `secret_access_key:SECRET` as one key."""
    return key.isascii() and key.isidentifier() and len(key) <= _LONGEST_NAME
