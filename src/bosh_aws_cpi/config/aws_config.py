"""The ``aws`` section of the configuration, with the request's context merged over it.

Pure, as all of the package but `config.loading` is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bosh_aws_cpi.config import keys
from bosh_aws_cpi.config.values import region, string, wrong_type
from bosh_aws_cpi.errors import not_correct
from bosh_aws_cpi.model import Encryption
from bosh_aws_cpi.records import Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Final, Literal, TypeVar

    from bosh_aws_cpi.config.keys import CredentialsSource, StemcellUpload
    from bosh_aws_cpi.config.values import Key
    from bosh_aws_cpi.jsontext import Json

    _T = TypeVar("_T")

_NOT_OF_STEMCELLS: Final = {"copy_completion_minutes", "copy_from_region"}
"""Keys of `aws.stemcell` that are not cloud properties."""
ENDPOINTS: Final = {
    "ec2": keys.EC2_ENDPOINT,
    "elb": keys.ELB_ENDPOINT,
    "elbv2": keys.ELB_ENDPOINT,
    "sts": keys.STS_ENDPOINT,
    "ebs": keys.EBS_ENDPOINT,
    "iam": keys.IAM_ENDPOINT,
    "kms": keys.KMS_ENDPOINT,
    "service-quotas": keys.SERVICE_QUOTAS_ENDPOINT,
}
"""The keys of the endpoints, by botocore's service name."""
_EC2_HOST: Final = r"^(?:[a-z]+://)?ec2\.([a-z]+(?:-[a-z0-9]+)+)\."


class AwsConfig(Record):
    """The ``aws`` section. Endpoints carry a scheme; None means the SDK's own resolution."""

    max_retries: int
    region: str
    endpoints: Mapping[str, str]
    """Endpoint URL by botocore's service name."""
    dualstack: bool
    fips: bool
    ca_cert: str | None
    """CA certificates in PEM format, in place of those that BOSH_CA_CERT_FILE names."""
    credentials_source: CredentialsSource
    access_key_id: str | None
    secret_access_key: str | None
    session_token: str | None
    role_arn: str | None
    external_id: str | None
    session_tags: Mapping[str, str]
    """Tags of the session of the role."""
    keep_role_session: bool
    default_key_name: str | None
    default_iam_instance_profile: str | None
    default_security_groups: Sequence[str]
    encryption: Encryption
    default_root_disk: Json
    default_ephemeral_disk: Json
    default_persistent_disk: Json
    metadata_options: Json
    stemcell: Json
    fast_path_delete: bool
    deregister_on_delete: bool
    skip_os_shutdown: bool | None
    """Whether VMs that say nothing of it end without their shutdown; None: no VM does."""
    spread: Literal["prefer"] | None
    """The default of the VMs' property ``spread``."""
    stemcell_upload: StemcellUpload
    copies_stemcells_from_other_regions: bool
    copy_completion_minutes: int | None
    """Within how many minutes the AMI of a light stemcell is copied; None for no limit."""
    enable_describe_instance_types: bool
    vm_resources_families: Sequence[str]
    vm_resources_by_region: bool
    tags: Mapping[str, str]
    """Tags for everything that the CPI creates."""

    @property
    def looks_at_deleted_vms(self) -> bool:
        """Whether delete_vm reads the VM's tags, which record the addresses to deregister."""
        return not self.fast_path_delete or self.deregister_on_delete or self.skip_os_shutdown is not None

    def __repr__(self) -> str:
        """The region only, because other values are secret."""
        return f"<AwsConfig of {self.region}>"


def parse(merged: Json, environ: Mapping[str, str]) -> AwsConfig:
    """Parse the section, with the request's context merged over it."""
    _check_required(merged, environ)
    stemcell = keys.STEMCELL.read(merged)
    return AwsConfig(
        credentials_source=_credentials_source(merged),
        max_retries=keys.MAX_RETRIES.read(merged),
        region=_region(merged, environ) or "",
        endpoints=_endpoints(merged),
        dualstack=keys.DUALSTACK.read(merged),
        fips=keys.FIPS.read(merged),
        ca_cert=_ca_cert(merged),
        access_key_id=keys.ACCESS_KEY_ID.read(merged),
        secret_access_key=keys.SECRET_ACCESS_KEY.read(merged),
        session_token=keys.SESSION_TOKEN.read(merged),
        role_arn=keys.ROLE_ARN.read(merged),
        external_id=_of_role(merged, keys.EXTERNAL_ID),
        session_tags=_tags(_of_role(merged, keys.SESSION_TAGS), are_of_session=True),
        keep_role_session=keys.KEEP_ROLE_SESSION.read(merged),
        default_key_name=keys.DEFAULT_KEY_NAME.read(merged),
        default_iam_instance_profile=keys.DEFAULT_IAM_INSTANCE_PROFILE.read(merged),
        default_security_groups=keys.DEFAULT_SECURITY_GROUPS.read(merged),
        encryption=Encryption(
            keys.ENCRYPTED.read(merged),
            keys.KMS_KEY_ARN.read(merged),
            keys.KMS_KEY_ARN.path,
        ),
        default_root_disk=keys.DEFAULT_ROOT_DISK.read(merged),
        default_ephemeral_disk=keys.DEFAULT_EPHEMERAL_DISK.read(merged),
        default_persistent_disk=keys.DEFAULT_PERSISTENT_DISK.read(merged),
        metadata_options=keys.METADATA_OPTIONS.read(merged),
        stemcell={key: value for key, value in stemcell.items() if key not in _NOT_OF_STEMCELLS},
        stemcell_upload=keys.STEMCELL_UPLOAD.read(merged),
        copies_stemcells_from_other_regions=keys.STEMCELL_COPY_FROM_REGION.read(stemcell),
        copy_completion_minutes=keys.STEMCELL_COPY_COMPLETION_MINUTES.read(stemcell),
        fast_path_delete=keys.FAST_PATH_DELETE.read(merged),
        deregister_on_delete=keys.DEREGISTER_ON_DELETE.read(merged),
        skip_os_shutdown=keys.SKIP_OS_SHUTDOWN.read(merged),
        spread=keys.SPREAD.read(merged) or None,
        enable_describe_instance_types=keys.ENABLE_DESCRIBE_INSTANCE_TYPES.read(merged),
        vm_resources_families=keys.VM_RESOURCES_FAMILIES.read(merged),
        vm_resources_by_region=keys.VM_RESOURCES_BY_REGION.read(merged),
        tags=_tags(keys.TAGS.read(merged)),
    )


def _ca_cert(merged: Json) -> str | None:
    options = keys.CONNECTION_OPTIONS.read(merged)
    name = keys.CONNECTION_OPTIONS.shown
    if unknown := sorted(options.keys() - {"ca_cert"}):
        message = (
            f"configuration parameter {name} has the unknown key '{unknown[0]}': it can only have ca_cert"
        )
        raise not_correct(message)
    given = options.get("ca_cert")
    if given is not None and not isinstance(given, str):
        raise wrong_type(f"{name}.ca_cert", "a string", given)
    return given if given and given.strip() else None


def _of_role(merged: Json, key: Key[_T]) -> _T:
    """The value of a key that has a meaning only together with ``role_arn``."""
    value = key.read(merged)
    if value and not keys.ROLE_ARN.read(merged):
        message = f"configuration parameter {key.shown} needs aws.role_arn"
        raise not_correct(message)
    return value


def _tags(given: Json, *, are_of_session: bool = False) -> Mapping[str, str]:
    if not given:
        return {}
    from bosh_aws_cpi.config import tags  # noqa: PLC0415 - few configurations have tags

    return tags.of_session(given) if are_of_session else tags.of_resources(given)


def _check_required(merged: Json, environ: Mapping[str, str]) -> None:
    missing = []
    if keys.MAX_RETRIES.given(merged) is None:
        missing.append("aws:max_retries")
    if not _region(merged, environ):
        missing.append("aws:region, or aws:ec2_endpoint and aws:elb_endpoint")
    if missing:
        message = f"missing configuration parameters > {', '.join(missing)}"
        raise not_correct(message)


def _credentials_source(merged: Json) -> CredentialsSource:
    given = keys.CREDENTIALS_SOURCE.given(merged)
    own_keys = (keys.ACCESS_KEY_ID.read(merged), keys.SECRET_ACCESS_KEY.read(merged))
    if isinstance(given, str) and given and given not in keys.CREDENTIALS_SOURCE.choices:
        choices = " or ".join(keys.CREDENTIALS_SOURCE.choices)
        message = f"Unknown credentials_source {given}. It must be {choices}"
        raise not_correct(message)
    source = keys.CREDENTIALS_SOURCE.read(merged)
    if source == "static" and not all(own_keys):
        message = "Must use access_key_id and secret_access_key with static credentials_source"
        raise not_correct(message)
    if source == "env_or_profile" and any(own_keys):
        message = "Can't use access_key_id and secret_access_key with env_or_profile credentials_source"
        raise not_correct(message)
    return source


def _region(merged: Json, environ: Mapping[str, str]) -> str | None:
    """The region; if only the endpoints are set, it comes from AWS_REGION or EC2's host name."""
    given = keys.REGION.read(merged)
    ec2_endpoint = string(keys.EC2_ENDPOINT.given(merged), keys.EC2_ENDPOINT)
    if given or not (ec2_endpoint and string(keys.ELB_ENDPOINT.given(merged), keys.ELB_ENDPOINT)):
        return given
    host = re.match(_EC2_HOST, ec2_endpoint)
    of_environment = keys.REGION.replaced(path=f"{keys.REGION.path} (AWS_REGION)")
    return region(environ.get("AWS_REGION"), of_environment) or (host.group(1) if host else None)


def _endpoints(merged: Json) -> dict[str, str]:
    given = {service: key.read(merged) for service, key in ENDPOINTS.items()}
    return {service: endpoint for service, endpoint in given.items() if endpoint}
