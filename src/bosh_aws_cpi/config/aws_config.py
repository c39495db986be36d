"""The section ``aws`` of the configuration: its keys, and checks that concern several keys.

`make docs` writes docs/configuration.md, docs/job.md, the job's spec and its template from the keys.
Of this package, only `config.loading` reads files or has other effects.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

from bosh_aws_cpi.config import values
from bosh_aws_cpi.config.values import Key, NewKey, Section
from bosh_aws_cpi.errors import not_correct
from bosh_aws_cpi.jsontext import Json

if TYPE_CHECKING:
    from bosh_aws_cpi.model import Encryption  # see `encryption`

CredentialsSource = Literal["static", "env_or_profile"]
StemcellUpload = Literal["ebs_direct", "volume"]

_STEMCELL_PROPERTY: Final = "The stemcell's cloud property of that name, in place of its own."
_COMMANDS_ENDPOINT: Final = "Endpoint of this service, for commands only, as `ec2_endpoint`."
_EC2_HOST: Final = r"^(?:[a-z]+://)?ec2\.([a-z]+(?:-[a-z0-9]+)+)\."


class Stemcell(Section, path="aws.stemcell"):
    """The section ``aws.stemcell``."""

    overrides: Json
    """Cloud properties for every stemcell: all keys but `copy_from_region` and `copy_completion_minutes`."""

    kernel_id = Key(values.anything, "Kernel image (aki-...) for stemcells, in place of the stemcell's own.")
    deprecate_at = NewKey(values.anything, _STEMCELL_PROPERTY)
    share_with = NewKey(values.anything, _STEMCELL_PROPERTY)
    imds_support = NewKey(values.anything, _STEMCELL_PROPERTY)
    tpm_support = NewKey(values.anything, _STEMCELL_PROPERTY)
    copy_from_region = NewKey(
        values.boolean,
        "If a light stemcell has no AMI for the region, copy one from another region of the same partition.",
        default=False,
    )
    copy_completion_minutes: Key[int | None] = NewKey(
        values.optional_choice,
        "Copy the AMI of a light stemcell within 15, 30 or 45 minutes (a time-based copy, for which AWS "
        "charges by the GiB). Default: no time limit.",
        # AWS accepts 15 minutes to 48 hours; create_stemcell waits for several such copies.
        choices=(15, 30, 45),
    )


def _stemcell(value: object, key: Key[Any]) -> Stemcell:
    given = values.json_object(value, key)
    others = {Stemcell.copy_from_region.name, Stemcell.copy_completion_minutes.name}
    overrides = {name: each for name, each in given.items() if name not in others}
    return Stemcell.read(given, overrides=overrides)


def _connection_options(value: object, key: Key[Any]) -> Mapping[str, str | None]:
    options = values.json_object(value, key)
    if unknown := sorted(options.keys() - {"ca_cert"}):
        what = f"has the unknown key '{unknown[0]}': it can only have ca_cert"
        raise values.wrong_value(key, what)
    given = options.get("ca_cert")
    if given is not None and not isinstance(given, str):
        raise values.wrong_type(f"{key.shown}.ca_cert", "a string", given)
    return {"ca_cert": given if given and given.strip() else None}


def _tags(value: object, key: Key[Any]) -> Mapping[str, str]:
    if not (given := values.json_object(value, key)):
        return {}
    from bosh_aws_cpi.config import tags  # noqa: PLC0415 - few configurations have tags

    return tags.of_session(given) if key is AwsConfig.session_tags else tags.of_resources(given)


class AwsConfig(Section, path="aws"):
    """The section ``aws``, with the request's context merged over it."""

    # Calls to AWS: region, credentials, role, endpoints, certificates, retries.

    region = Key(
        values.region,
        "AWS region. If it is missing and both `ec2_endpoint` and `elb_endpoint` are set, it comes from "
        "AWS_REGION in the environment, or from the host name of `ec2_endpoint`.",
        is_required=True,
        is_required_by_job=True,
        example="us-east-1",
    )
    credentials_source: Key[CredentialsSource] = Key(
        values.one_of,
        "`static` uses the keys below. `env_or_profile` uses the environment, web identity, or the profile "
        "of the container or instance that the CPI runs on; the keys below must not be set.",
        default="static",
        choices=("static", "env_or_profile"),
        job_default="static",
    )
    access_key_id = Key(
        values.sendable,
        "Access key, required for `static`. An empty string counts as missing.",
        is_secret=True,
    )
    secret_access_key = Key(
        values.sendable,
        "Secret key, required for `static`. An empty string counts as missing.",
        is_secret=True,
    )
    session_token = Key(values.sendable, "Session token for `static` with temporary keys.", is_secret=True)
    role_arn = Key(
        values.role_arn, "ARN of the role to assume through STS, with the credentials of either source."
    )
    external_id = NewKey(
        values.external_id,
        "The external id that the trust policy of the role demands. Needs `role_arn`.",
    )
    session_tags = NewKey(
        _tags,
        "Tags of the role's session, for policies that compare `aws:PrincipalTag`, and for CloudTrail. "
        "Needs `role_arn`, and `sts:TagSession` in the role's trust policy.",
        example={"director": "production"},
    )
    keep_role_session = NewKey(
        values.boolean,
        "Keep the role's credentials for later calls, on a Director's VM and in memory. `false` calls STS "
        "each time.",
        default=True,
    )
    ec2_endpoint = Key(
        values.https_url,
        "EC2 endpoint as host, host:port or URL (default scheme https). Default: the region's endpoint.",
        example="ec2.us-east-1.amazonaws.com",
    )
    elb_endpoint = Key(
        values.https_url,
        "Endpoint of Elastic Load Balancing (classic load balancers and target groups), as `ec2_endpoint`.",
        example="elasticloadbalancing.us-east-1.amazonaws.com",
    )
    ebs_endpoint = NewKey(values.https_url, "Endpoint of the EBS direct APIs, as `ec2_endpoint`.")
    sts_endpoint = NewKey(values.https_url, "Endpoint of STS, as `ec2_endpoint`.")
    iam_endpoint = NewKey(values.https_url, _COMMANDS_ENDPOINT)
    kms_endpoint = NewKey(values.https_url, _COMMANDS_ENDPOINT)
    service_quotas_endpoint = NewKey(values.https_url, _COMMANDS_ENDPOINT)
    dualstack = Key(
        values.boolean,
        "Use the dual-stack (IPv4 and IPv6) endpoints; no effect on an endpoint that is set explicitly.",
        default=False,
        job_default=False,
    )
    fips = NewKey(
        values.boolean,
        "Use endpoints with FIPS 140 validated cryptography; no effect on an endpoint that is set "
        "explicitly.",
        default=False,
    )
    connection_options = NewKey(
        _connection_options,
        "`ca_cert`: CA certificates in PEM format for connections to AWS, in place of those in the file "
        "that BOSH_CA_CERT_FILE names. For CPI configs; the job has `aws.connection_options.ca_cert` "
        "instead.",
        job=(),
    )
    max_retries = Key(
        values.whole_number,
        "Maximum number of retries of an AWS call after an AWS fault or a connection failure. Separately, "
        "the CPI retries throttled calls for five minutes. 0 turns both off, except in waits and deletions.",
        is_required=True,
        job_default=8,
    )

    # Resources: VMs, disks, sizes, stemcells, tags, and their deletion.

    default_security_groups = Key(
        values.strings,
        "Names or ids of security groups for VMs that have none in the cloud config.",
        is_required_by_job=True,
        example=["bosh"],
    )
    default_key_name = Key(
        values.string, "Name of the SSH key pair for VMs that specify none.", example="bosh"
    )
    default_iam_instance_profile = Key(
        values.string, "Name of the instance profile for VMs that specify none."
    )
    encrypted = Key(
        values.boolean,
        "Encrypt ephemeral and persistent disks and copies of stemcells. A resource's own property takes "
        "precedence, even if it is false or null.",
        default=False,
        job_default=False,
    )
    kms_key_arn = Key(
        values.string,
        "KMS key for what is encrypted. Default: the account's default key for EBS. A resource's own "
        "property takes precedence.",
        example="arn:aws:kms:us-east-1:123456789012:key/00000000-0000-0000-0000-000000000000",
    )
    default_root_disk = NewKey(
        values.json_object,
        "Defaults for the root disks of VMs: `size`, `type`, `iops`, `throughput`, `encrypted`, "
        "`kms_key_arn`. A VM's own keys take precedence, key by key.",
        example={"type": "gp3", "iops": 4000, "encrypted": True},
    )
    default_ephemeral_disk = NewKey(
        values.json_object,
        "The same for ephemeral disks. `encrypted` and `kms_key_arn` take precedence over those of `aws`.",
        example={"size": 20480},
    )
    default_persistent_disk = NewKey(
        values.json_object,
        "The same for persistent disks: `type`, `iops`, `iops_per_gib`, `throughput`, `encrypted`, "
        "`kms_key_arn`.",
        example={"type": "gp3", "iops_per_gib": 10},
    )
    metadata_options = Key(
        values.json_object,
        "EC2 instance metadata options for every VM, in snake case. A VM's own options take precedence, key "
        "by key.",
        example={"http_endpoint": "enabled", "http_tokens": "required"},
    )
    enable_describe_instance_types = Key(
        values.boolean,
        "Get instance type data from EC2 (ec2:DescribeInstanceTypes). `false` uses a built-in table, which "
        "lacks instance types that are newer than this release.",
        default=True,
        job_default=True,
    )
    vm_resources_families = NewKey(
        values.strings,
        "Families of instance types that the CPI chooses from for a manifest's `vm_resources`. Default: the "
        "Ruby release's list of T2, C5, M5 and R5.",
        example=["t3", "m7i", "c7i", "r7i"],
    )
    vm_resources_by_region = NewKey(
        values.boolean,
        "For a manifest's `vm_resources`, choose only among the types that the region offers "
        "(ec2:DescribeInstanceTypeOfferings).",
        default=False,
    )
    stemcell_upload: Key[StemcellUpload] = NewKey(
        values.one_of,
        "How to upload heavy stemcells: `ebs_direct`, or `volume`, through a volume attached to the CPI's "
        "own VM. The CPI also uses `volume` if it runs on EC2 and may not use the EBS direct APIs.",
        default="ebs_direct",
        choices=("ebs_direct", "volume"),
    )
    tags = NewKey(
        _tags,
        "Tags for everything that the CPI creates: VMs, their interfaces and disks, snapshots, AMIs, "
        "managed subnets. The tags of the manifest, the Director and the CPI take precedence.",
        example={"cost-center": "4711"},
    )
    fast_path_delete = Key(
        values.boolean,
        "delete_vm and delete_disk set the tag `Name` to `to be deleted` and return without waiting until "
        "the resource is gone.",
        default=False,
    )
    deregister_on_delete = NewKey(
        values.boolean,
        "delete_vm first deregisters the VM from its target groups and classic load balancers, and waits "
        "for the longest deregistration delay of its target groups, 300 seconds by default. With "
        "`fast_path_delete` it does not wait.",
        default=False,
    )
    skip_os_shutdown: Key[bool | None] = NewKey(
        values.optional_choice,
        "Whether delete_vm terminates VMs without waiting for their operating system to shut down, unless "
        "they have disks that outlive them. A VM's own `skip_os_shutdown` takes precedence, but has no "
        "effect if this key is not set.",
        choices=(True, False),
        example=True,
    )
    spread: Key[Literal["prefer", False] | None] = NewKey(
        values.optional_choice,
        "`prefer`: VMs of instance groups that say nothing of `spread` run on racks of their own as long as "
        "EC2 has room for that. Default, and `false` here: no such preference.",
        choices=("prefer", False),
        example="prefer",
    )
    stemcell = Key(
        _stemcell,
        "Overrides the cloud properties of every stemcell, except for `copy_from_region` and "
        "`copy_completion_minutes`.",
        job=(),
    )

    @property
    def endpoints(self) -> Mapping[str, str]:
        """The configured endpoints' URLs by botocore's service name; the SDK resolves the other endpoints."""
        given = {service: getattr(self, key.name) for service, key in ENDPOINTS.items()}
        return {service: url for service, url in given.items() if url}

    @property
    def ca_cert(self) -> str | None:
        """CA certificates in PEM format, which replace those in the file that BOSH_CA_CERT_FILE names."""
        return self.connection_options["ca_cert"]

    @property
    def encryption(self) -> Encryption:
        """The default encryption of ephemeral and persistent disks and of copies of stemcells."""
        from bosh_aws_cpi.model import Encryption  # noqa: PLC0415 - 7 % of `info`

        return Encryption(self.encrypted, self.kms_key_arn, AwsConfig.kms_key_arn.path)

    @property
    def looks_at_deleted_vms(self) -> bool:
        """Whether delete_vm reads the VM's tags, in which the addresses to deregister are recorded."""
        return not self.fast_path_delete or self.deregister_on_delete or self.skip_os_shutdown is not None

    def __repr__(self) -> str:
        """Show the region only, because other values are secret."""
        return f"<AwsConfig of {self.region}>"


ENDPOINTS: Final = {
    "ec2": AwsConfig.ec2_endpoint,
    "elb": AwsConfig.elb_endpoint,
    "elbv2": AwsConfig.elb_endpoint,
    "sts": AwsConfig.sts_endpoint,
    "ebs": AwsConfig.ebs_endpoint,
    "iam": AwsConfig.iam_endpoint,
    "kms": AwsConfig.kms_endpoint,
    "service-quotas": AwsConfig.service_quotas_endpoint,
}
"""The keys of the endpoints, by botocore's service name."""


def parse(merged: Json, environ: Mapping[str, str]) -> AwsConfig:
    """Read the section.

    Args:
        merged: The section, with the request's context merged over it.
        environ: The process's environment, of which only AWS_REGION is read.

    Raises:
        InvalidCall: A key has a wrong value, is missing, or contradicts another key; the message names it.
    """
    region = _region(merged, environ)
    missing = [] if merged.get("max_retries") is not None else ["aws:max_retries"]
    missing += [] if region else ["aws:region, or aws:ec2_endpoint and aws:elb_endpoint"]
    if missing:
        raise not_correct(f"missing configuration parameters > {', '.join(missing)}")
    source, choices = merged.get("credentials_source"), AwsConfig.credentials_source.choices
    if isinstance(source, str) and source and source not in choices:
        raise not_correct(f"Unknown credentials_source {source}. It must be {' or '.join(choices)}")
    config = AwsConfig.read({**merged, "region": region})
    own_keys = (config.access_key_id, config.secret_access_key)
    if config.credentials_source == "static" and not all(own_keys):
        raise not_correct("Must use access_key_id and secret_access_key with static credentials_source")
    _check_keys(config)
    if config.credentials_source == "env_or_profile" and any(own_keys):
        message = "Can't use access_key_id and secret_access_key with env_or_profile credentials_source"
        raise not_correct(message)
    for key in (AwsConfig.external_id, AwsConfig.session_tags):
        if getattr(config, key.name) and not config.role_arn:
            raise not_correct(f"configuration parameter {key.shown} needs aws.role_arn")
    return config


def _check_keys(config: AwsConfig) -> None:
    """Refuse keys that AWS never accepts (for access keys: IAM user guide, "IAM identifiers")."""
    access_key, secret = config.access_key_id or "", config.secret_access_key or ""
    if secret.startswith(("AKIA", "ASIA")) and len(secret) == len("AKIAIOSFODNN7EXAMPLE"):
        what = f"looks like an access key: swap it with {AwsConfig.access_key_id.shown}"
        raise values.wrong_value(AwsConfig.secret_access_key, what)
    if access_key.startswith("ASIA") and not config.session_token:
        what = f"begins with ASIA, so it is temporary: add its token, {AwsConfig.session_token.shown}"
        raise values.wrong_value(AwsConfig.access_key_id, what)
    if config.role_arn:
        beginning = values.fill_region("arn:PARTITION:", config.region)
        if not config.role_arn.startswith(beginning):
            what = f"must begin with {beginning}, as all roles of {config.region} do"
            raise values.wrong_value(AwsConfig.role_arn, what)


def _region(merged: Json, environ: Mapping[str, str]) -> str:
    """The region; if only the endpoints are set, the region of AWS_REGION or of EC2's host name."""
    key: Key[str] = AwsConfig.region
    given = key.read(merged)
    ec2, elb = (
        values.string(merged.get(each.name), each)
        for each in (AwsConfig.ec2_endpoint, AwsConfig.elb_endpoint)
    )
    if given or not (ec2 and elb):
        return given
    host = re.match(_EC2_HOST, ec2)
    of_environ = key.replace(path=f"{key.path} (AWS_REGION)")
    return values.region(environ.get("AWS_REGION"), of_environ) or (host[1] if host else "")
