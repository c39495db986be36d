"""The configuration: ``cpi.json`` with the request's context merged over its ``aws`` section.

Pure: the file is read in `config.file`, and nothing here talks to AWS.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from bosh_aws_cpi.config import keys
from bosh_aws_cpi.config.keys import CredentialsSource, StemcellUpload
from bosh_aws_cpi.config.values import Key, string, sub_object
from bosh_aws_cpi.encryption import Encryption
from bosh_aws_cpi.errors import CPIAPIVersionNotSupported, Unknown, not_correct
from bosh_aws_cpi.jsontext import Json, encode, is_integer

_DIRECTOR_UUID = Key("context.director_uuid", string, "The Director's id.")
_NOT_OF_STEMCELLS: Final = {"copy_from_region"}
"""Keys of `aws.stemcell` that are not cloud properties."""
_ENDPOINTS: Final = {
    "ec2": keys.EC2_ENDPOINT,
    "elb": keys.ELB_ENDPOINT,
    "elbv2": keys.ELB_ENDPOINT,
    "sts": keys.STS_ENDPOINT,
    "ebs": keys.EBS_ENDPOINT,
}
"""The keys of the endpoints, by botocore's service name."""
_EC2_HOST: Final = r"^(?:[a-z]+://)?ec2\.([a-z]+(?:-[a-z0-9]+)+)\."


class AwsConfig(NamedTuple):
    """The ``aws`` section. Endpoints carry a scheme; None means the SDK's own resolution."""

    max_retries: int
    region: str
    endpoints: Mapping[str, str]
    """Endpoint URL by botocore's service name."""
    dualstack: bool
    credentials_source: CredentialsSource
    access_key_id: str | None
    secret_access_key: str | None
    session_token: str | None
    role_arn: str | None
    default_key_name: str | None
    default_iam_instance_profile: str | None
    default_security_groups: Sequence[str]
    encryption: Encryption
    metadata_options: Json
    stemcell: Json
    fast_path_delete: bool
    deregister_on_delete: bool
    stemcell_upload: StemcellUpload
    copies_stemcells_from_other_regions: bool
    enable_describe_instance_types: bool

    def __repr__(self) -> str:
        """The region only, because other values are secret."""
        return f"<AwsConfig of {self.region}>"


class RegistryConfig(NamedTuple):
    """Where the registry is."""

    endpoint: str
    """The URL as configured. The agent gets it unchanged, often with its own user and password."""
    base_url: str
    """The same URL, with a scheme."""
    user: str | None
    password: str | None

    def __repr__(self) -> str:
        """The class's name only: even the endpoint may contain a password."""
        return "<RegistryConfig>"


class CpiConfig(NamedTuple):
    """The whole configuration of a call."""

    aws: AwsConfig
    agent: Json
    """Copied unchanged into every VM's agent settings."""
    registry: RegistryConfig | None
    supported_api_version: int
    """The contract version that `info` announces; a request may use a higher one."""
    log_level: str
    director_uuid: str | None
    request_id: str | None
    """Identifies the request, with the Director's UUID; a test or a person may omit both."""
    stemcell: object
    """The context's ``vm.stemcell.api_version``, unchecked; see `stemcell_api_version`."""

    def __repr__(self) -> str:
        """The ``aws`` section only, because the agent's settings are secret."""
        return f"<CpiConfig: {self.aws!r}>"


def parse(document: object, context: Json, environ: Mapping[str, str]) -> CpiConfig:
    """Build the configuration of one call.

    Args:
        document: The configuration file's content.
        context: The request's context, merged over ``aws``, key by key.
        environ: The process's environment; only AWS_REGION is read.

    Raises:
        Unknown: ``cloud.properties`` is missing.
        InvalidCall: The ``aws`` section does not validate; the message names the keys.
    """
    properties = cloud_properties(document)
    merged = {**sub_object(properties, "aws"), **context}
    debug = sub_object(sub_object(properties, "debug"), "cpi", "debug.cpi")
    return CpiConfig(
        aws=_aws(merged, environ),
        agent=keys.AGENT.read(properties),
        registry=_registry(sub_object(properties, "registry")),
        supported_api_version=keys.DEBUG_API_VERSION.read(debug),
        log_level=keys.DEBUG_LOG_LEVEL.read(debug),
        director_uuid=_DIRECTOR_UUID.read(context),
        request_id=_request_id(context),
        stemcell=_stemcell_version(merged),
    )


def cloud_properties(document: object) -> Json:
    """The configuration file's ``cloud.properties``; the CPI uses nothing else in it.

    Raises:
        Unknown: It is missing.
    """
    cloud = document.get("cloud") if isinstance(document, dict) else None
    properties = cloud.get("properties") if isinstance(cloud, dict) else None
    if not isinstance(properties, dict):
        message = "Could not find cloud properties in the configuration"
        raise Unknown(message)
    return properties


def _request_id(context: Json) -> str | None:
    """The Director's request id; None unless it is a non-empty string."""
    given = context.get("request_id")
    return given if isinstance(given, str) and given else None


def stemcell_api_version(value: object) -> int:
    """Check the stemcell's api_version, which the caller gives.

    Raises:
        CPIAPIVersionNotSupported: It is not a positive integer.
    """
    if not is_integer(value) or value < 1:
        shown = "" if value is None else value if isinstance(value, str) else encode(value)
        message = f"Stemcell API version '{shown}' is not supported."
        raise CPIAPIVersionNotSupported(message)
    return value


def _aws(merged: Json, environ: Mapping[str, str]) -> AwsConfig:
    _check_required(merged, environ)
    return AwsConfig(
        credentials_source=_credentials_source(merged),
        max_retries=keys.MAX_RETRIES.read(merged),
        region=_region(merged, environ) or "",
        endpoints=_endpoints(merged),
        dualstack=keys.DUALSTACK.read(merged),
        access_key_id=keys.ACCESS_KEY_ID.read(merged),
        secret_access_key=keys.SECRET_ACCESS_KEY.read(merged),
        session_token=keys.SESSION_TOKEN.read(merged),
        role_arn=keys.ROLE_ARN.read(merged),
        default_key_name=keys.DEFAULT_KEY_NAME.read(merged),
        default_iam_instance_profile=keys.DEFAULT_IAM_INSTANCE_PROFILE.read(merged),
        default_security_groups=keys.DEFAULT_SECURITY_GROUPS.read(merged),
        encryption=Encryption(keys.ENCRYPTED.read(merged), keys.KMS_KEY_ARN.read(merged)),
        metadata_options=keys.METADATA_OPTIONS.read(merged),
        stemcell=_of_stemcells(merged),
        stemcell_upload=keys.STEMCELL_UPLOAD.read(merged),
        copies_stemcells_from_other_regions=keys.STEMCELL_COPY_FROM_REGION.read(keys.STEMCELL.read(merged)),
        fast_path_delete=keys.FAST_PATH_DELETE.read(merged),
        deregister_on_delete=keys.DEREGISTER_ON_DELETE.read(merged),
        enable_describe_instance_types=keys.ENABLE_DESCRIBE_INSTANCE_TYPES.read(merged),
    )


def _of_stemcells(merged: Json) -> Json:
    """The keys of ``aws.stemcell`` that override every stemcell's properties, without `_NOT_OF_STEMCELLS`."""
    section = keys.STEMCELL.read(merged)
    return {key: value for key, value in section.items() if key not in _NOT_OF_STEMCELLS}


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
        message = f"Unknown credentials_source {given}"
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
    region = keys.REGION.read(merged)
    ec2_endpoint = string(keys.EC2_ENDPOINT.given(merged), keys.EC2_ENDPOINT)
    if region or not (ec2_endpoint and string(keys.ELB_ENDPOINT.given(merged), keys.ELB_ENDPOINT)):
        return region
    host = re.match(_EC2_HOST, ec2_endpoint)
    return environ.get("AWS_REGION") or (host.group(1) if host else None)


def _endpoints(merged: Json) -> dict[str, str]:
    given = {service: key.read(merged) for service, key in _ENDPOINTS.items()}
    return {service: endpoint for service, endpoint in given.items() if endpoint}


def _registry(section: Json) -> RegistryConfig | None:
    endpoint = string(keys.REGISTRY_ENDPOINT.given(section), keys.REGISTRY_ENDPOINT)
    base_url = keys.REGISTRY_ENDPOINT.read(section)
    if not (endpoint and base_url):
        return None
    return RegistryConfig(
        endpoint=endpoint,
        base_url=base_url,
        user=keys.REGISTRY_USER.read(section),
        password=keys.REGISTRY_PASSWORD.read(section),
    )


def _stemcell_version(merged: Json) -> object:
    vm = merged.get("vm")
    stemcell = vm.get("stemcell") if isinstance(vm, dict) else None
    return stemcell.get("api_version", 1) if isinstance(stemcell, dict) else 1
