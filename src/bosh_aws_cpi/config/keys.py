"""The table of cpi.json: one row per key, for the parser, the job and the pages.

`make docs` writes docs/configuration.md, docs/job.md and the job's spec from it.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from bosh_aws_cpi.config.values import (
    Key,
    anything,
    contract_version,
    flag,
    http_url,
    https_url,
    json_object,
    one_of,
    string,
    strings,
    whole_number,
)
from bosh_aws_cpi.log import LEVELS

CredentialsSource = Literal["static", "env_or_profile"]
StemcellUpload = Literal["ebs_direct", "volume"]
MAX_API_VERSION: Final = 3
"""The newest contract version that `info` announces."""
_OF_VMS: Final = "VMs that specify none"

REGION = Key(
    "aws.region",
    string,
    "The region of all calls. Not required with `ec2_endpoint` and `elb_endpoint`: then it comes from "
    "AWS_REGION in the environment, or from the host name of `ec2_endpoint`.",
    is_required=True,
    is_required_by_job=True,
    example="us-east-1",
)
DEFAULT_SECURITY_GROUPS = Key(
    "aws.default_security_groups",
    strings,
    "Names or ids of security groups for VMs without any in the cloud config.",
    is_required_by_job=True,
    example=["bosh"],
)
DEFAULT_KEY_NAME = Key(
    "aws.default_key_name", string, f"Name of the SSH key pair for {_OF_VMS}.", example="bosh"
)
DEFAULT_IAM_INSTANCE_PROFILE = Key(
    "aws.default_iam_instance_profile", string, f"Name of the instance profile for {_OF_VMS}."
)
CREDENTIALS_SOURCE: Key[CredentialsSource] = Key(
    "aws.credentials_source",
    one_of,
    "`static`: the keys below; `env_or_profile`, without those keys: the environment, web identity, or the "
    "profile of the container or instance that the CPI runs on.",
    default="static",
    choices=("static", "env_or_profile"),
    job_default="static",
)
ACCESS_KEY_ID = Key(
    "aws.access_key_id",
    string,
    "Access key; required for `static`; an empty one counts as none.",
    is_secret=True,
)
SECRET_ACCESS_KEY = Key(
    "aws.secret_access_key",
    string,
    "Secret key; required for `static`; an empty one counts as none.",
    is_secret=True,
)
SESSION_TOKEN = Key(
    "aws.session_token", string, "Session token for `static`, with temporary keys.", is_secret=True
)
ROLE_ARN = Key("aws.role_arn", string, "Role to assume through STS with the credentials of either source.")
EC2_ENDPOINT = Key(
    "aws.ec2_endpoint",
    https_url,
    "EC2's endpoint as host, host:port or URL (https without a scheme); otherwise the region's own.",
    example="ec2.us-east-1.amazonaws.com",
)
ELB_ENDPOINT = Key(
    "aws.elb_endpoint",
    https_url,
    "The same for load balancers, classic ones and target groups.",
    example="elasticloadbalancing.us-east-1.amazonaws.com",
)
EBS_ENDPOINT = Key("aws.ebs_endpoint", https_url, "The same for the EBS direct APIs.", is_new=True)
STS_ENDPOINT = Key(
    "aws.sts_endpoint", https_url, "The same for STS, which issues the role's keys.", is_new=True
)
DUALSTACK = Key(
    "aws.dualstack",
    flag,
    "Use the dual-stack endpoints, which also answer over IPv6; no effect on an endpoint that is set.",
    default=False,
    job_default=False,
)
MAX_RETRIES = Key(
    "aws.max_retries",
    whole_number,
    "How often a call to AWS is retried after a fault of AWS or of the connection; throttled calls are "
    "retried for five minutes in addition. 0 turns both off, except in waits and deletions.",
    is_required=True,
    job_default=8,
)
ENCRYPTED = Key(
    "aws.encrypted",
    flag,
    "Encrypt ephemeral and persistent disks and copies of stemcells; a resource's own property wins, even if "
    "it is false or null.",
    default=False,
    job_default=False,
)
KMS_KEY_ARN = Key(
    "aws.kms_key_arn",
    string,
    "KMS key for encryption, in place of the account's default key for EBS; a resource's own property wins.",
    example="arn:aws:kms:us-east-1:123456789012:key/00000000-0000-0000-0000-000000000000",
)
METADATA_OPTIONS = Key(
    "aws.metadata_options",
    json_object,
    "EC2's instance metadata options for every VM, in snake case; a VM's own options win, key by key.",
    example={"http_endpoint": "enabled", "http_tokens": "required"},
)
ENABLE_DESCRIBE_INSTANCE_TYPES = Key(
    "aws.enable_describe_instance_types",
    flag,
    "Ask EC2 for the facts of instance types (ec2:DescribeInstanceTypes); `false` uses a built-in table, "
    "which lacks the types that are newer than this release.",
    default=True,
    job_default=True,
)
FAST_PATH_DELETE = Key(
    "aws.fast_path_delete",
    flag,
    "delete_vm and delete_disk tag the resource `Name` = `to be deleted` and return before it is gone.",
    default=False,
    is_new=True,
)
STEMCELL = Key(
    "aws.stemcell",
    json_object,
    "Merged over the cloud properties of every stemcell, `copy_from_region` excepted.",
    job=(),
)
STEMCELL_KERNEL_ID = Key(
    "aws.stemcell.kernel_id",
    anything,
    "Kernel image (aki-...) of stemcells, in place of the stemcell's own.",
)
STEMCELL_COPY_FROM_REGION = Key(
    "aws.stemcell.copy_from_region",
    flag,
    "Copy a light stemcell that has no AMI for the region from another region of the same partition.",
    default=False,
    is_new=True,
)
STEMCELL_UPLOAD: Key[StemcellUpload] = Key(
    "aws.stemcell_upload",
    one_of,
    "How heavy stemcells are uploaded: `ebs_direct`, or `volume`, through a volume attached to the CPI's own "
    "VM, which is also the fallback on EC2 where the EBS direct APIs are not permitted.",
    default="ebs_direct",
    choices=("ebs_direct", "volume"),
    is_new=True,
)
DEREGISTER_ON_DELETE = Key(
    "aws.deregister_on_delete",
    flag,
    "delete_vm first takes the VM out of its target groups and classic load balancers and waits up to 330 "
    "seconds for connections to drain; not with `fast_path_delete`.",
    default=False,
    is_new=True,
)
AGENT = Key(
    "agent",
    json_object,
    "Part of every VM's agent settings as it is: mbus, ntp, blobstore and others.",
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
    "The registry as host, host:port or URL (http without a scheme), for stemcells of api_version 1.",
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
    "The highest contract version that `info` announces.",
    default=MAX_API_VERSION,
    choices=tuple(range(1, MAX_API_VERSION + 1)),
)
DEBUG_LOG_LEVEL = Key(
    "debug.cpi.log_level",
    one_of,
    "`debug`, `info`, `warn` or `error`; `debug` logs every call to AWS, without secrets.",
    default="info",
    choices=tuple(LEVELS),
    is_new=True,
)

KEYS: Final[tuple[Key[Any], ...]] = tuple(row for row in list(globals().values()) if isinstance(row, Key))
"""All of them, in the order of the pages."""
