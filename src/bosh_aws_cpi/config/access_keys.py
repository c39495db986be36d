"""The keys of ``aws`` for calls to AWS: region, credentials, role, endpoints, certificates, retries."""

from __future__ import annotations

from bosh_aws_cpi.config.values import (
    Key,
    external_id,
    flag,
    https_url,
    json_object,
    one_of,
    string,
    whole_number,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    CredentialsSource = Literal["static", "env_or_profile"]

REGION = Key(
    "aws.region",
    string,
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
    string,
    "Access key, required for `static`. An empty string counts as missing.",
    is_secret=True,
)
SECRET_ACCESS_KEY = Key(
    "aws.secret_access_key",
    string,
    "Secret key, required for `static`. An empty string counts as missing.",
    is_secret=True,
)
SESSION_TOKEN = Key(
    "aws.session_token", string, "Session token for `static` with temporary keys.", is_secret=True
)
ROLE_ARN = Key("aws.role_arn", string, "Role to assume through STS, with the credentials of either source.")
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
DUALSTACK = Key(
    "aws.dualstack",
    flag,
    "Use the dual-stack (IPv4 and IPv6) endpoints; no effect on an endpoint that is set explicitly.",
    default=False,
    job_default=False,
)
FIPS = Key(
    "aws.fips",
    flag,
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
