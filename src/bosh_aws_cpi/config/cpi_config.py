"""The configuration: ``cpi.json`` with the request's context merged over its ``aws`` section.

Pure: the file is read in `config.file`, and nothing here talks to AWS.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from bosh_aws_cpi.config.values import string, strings, sub_object, url, wrong_type
from bosh_aws_cpi.encryption import Encryption
from bosh_aws_cpi.errors import CPIAPIVersionNotSupported, Unknown, not_correct
from bosh_aws_cpi.jsontext import Json, encode, is_integer, is_true
from bosh_aws_cpi.log import LEVELS

MAX_API_VERSION = 3
"""The newest contract version that `info` announces."""

CredentialsSource = Literal["static", "env_or_profile"]

StemcellUpload = Literal["ebs_direct", "volume"]
_COPY_FROM_REGION = "copy_from_region"
_EC2_HOST = re.compile(r"^(?:[a-z]+://)?ec2\.([a-z]+(?:-[a-z0-9]+)+)\.")


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
        """Where it leads to, and none of the rest, some of which is secret."""
        return f"<AwsConfig of {self.region}>"


class RegistryConfig(NamedTuple):
    """Where the registry is."""

    endpoint: str
    """As it was configured: the agent gets it so, often with a user and password of its own."""
    base_url: str
    """The same with a scheme."""
    user: str | None
    password: str | None

    def __repr__(self) -> str:
        """Nothing of it: the endpoint may hold a password too."""
        return "<RegistryConfig>"


class CpiConfig(NamedTuple):
    """All that a call needs to know before it talks to AWS."""

    aws: AwsConfig
    agent: Json
    """Goes into every VM's agent settings as it is."""
    registry: RegistryConfig | None
    supported_api_version: int
    """What `info` says; a request may ask for more."""
    log_level: str
    director_uuid: str | None
    request_id: str | None
    """Who asks, as the request's context says; a test or a person may leave it out."""
    stemcell: object
    """``vm.stemcell.api_version`` of the context as it came; see `stemcell_api_version`."""

    def __repr__(self) -> str:
        """What the rest shows of itself: the agent's settings are secret."""
        return f"<CpiConfig: {self.aws!r}>"


def parse(document: object, context: Json, environ: Mapping[str, str]) -> CpiConfig:
    """Make the configuration of one call.

    Args:
        document: The configuration file's content.
        context: The request's context, merged over ``aws``, key by key.
        environ: The process's environment; only AWS_REGION is read.

    Raises:
        Unknown: ``cloud.properties`` is not there.
        InvalidCall: The ``aws`` section does not validate; the message names the keys.
    """
    properties = cloud_properties(document)
    merged = {**sub_object(properties, "aws"), **context}
    debug = sub_object(sub_object(properties, "debug"), "cpi", "debug:cpi")
    return CpiConfig(
        aws=_aws(merged, environ),
        agent=sub_object(properties, "agent"),
        registry=_registry(sub_object(properties, "registry")),
        supported_api_version=_supported_api_version(debug),
        log_level=_log_level(debug),
        director_uuid=string(context, "director_uuid", "context"),
        request_id=_request_id(context),
        stemcell=_stemcell_version(merged),
    )


def cloud_properties(document: object) -> Json:
    """The part of the configuration file that counts.

    Raises:
        Unknown: It is not there.
    """
    cloud = document.get("cloud") if isinstance(document, dict) else None
    properties = cloud.get("properties") if isinstance(cloud, dict) else None
    if not isinstance(properties, dict):
        message = "Could not find cloud properties in the configuration"
        raise Unknown(message)
    return properties


def _request_id(context: Json) -> str | None:
    """The Director's number of the request; of another kind, as logging takes it too, it is none."""
    given = context.get("request_id")
    return given if isinstance(given, str) and given else None


def stemcell_api_version(value: object) -> int:
    """Check the version of the stemcell that the caller named.

    Raises:
        CPIAPIVersionNotSupported: It is null or no positive integer.
    """
    if not is_integer(value) or value < 1:
        shown = "" if value is None else value if isinstance(value, str) else encode(value)
        message = f"Stemcell API version '{shown}' is not supported."
        raise CPIAPIVersionNotSupported(message)
    return value


def _aws(merged: Json, environ: Mapping[str, str]) -> AwsConfig:
    _check_required(merged, environ)
    source = _credentials_source(merged)
    max_retries = merged["max_retries"]
    if not is_integer(max_retries) or max_retries < 0:
        raise wrong_type("aws:max_retries", "a whole number, 0 or more", max_retries)
    return AwsConfig(
        max_retries=max_retries,
        region=_region(merged, environ) or "",
        endpoints=_endpoints(merged),
        dualstack=is_true(merged.get("dualstack")),
        credentials_source=source,
        access_key_id=string(merged, "access_key_id"),
        secret_access_key=string(merged, "secret_access_key"),
        session_token=string(merged, "session_token"),
        role_arn=string(merged, "role_arn"),
        default_key_name=string(merged, "default_key_name"),
        default_iam_instance_profile=string(merged, "default_iam_instance_profile"),
        default_security_groups=strings(merged, "default_security_groups"),
        encryption=Encryption(is_true(merged.get("encrypted")), string(merged, "kms_key_arn")),
        metadata_options=sub_object(merged, "metadata_options", "aws:metadata_options"),
        stemcell=_stemcell(merged),
        stemcell_upload=_stemcell_upload(merged),
        copies_stemcells_from_other_regions=is_true(
            sub_object(merged, "stemcell", "aws:stemcell").get(_COPY_FROM_REGION)
        ),
        fast_path_delete=is_true(merged.get("fast_path_delete")),
        deregister_on_delete=is_true(merged.get("deregister_on_delete")),
        enable_describe_instance_types=is_true(merged.get("enable_describe_instance_types", True)),
    )


def _check_required(merged: Json, environ: Mapping[str, str]) -> None:
    missing = []
    if merged.get("max_retries") is None:
        missing.append("aws:max_retries")
    if not _region(merged, environ):
        missing.append("aws:region, or aws:ec2_endpoint and aws:elb_endpoint")
    if missing:
        message = f"missing configuration parameters > {', '.join(missing)}"
        raise not_correct(message)


def _credentials_source(merged: Json) -> CredentialsSource:
    source = merged.get("credentials_source") or "static"
    keys = [string(merged, key) for key in ("access_key_id", "secret_access_key")]
    if source == "static":
        if not all(keys):
            message = "Must use access_key_id and secret_access_key with static credentials_source"
            raise not_correct(message)
        return "static"
    if source == "env_or_profile":
        if any(keys):
            message = "Can't use access_key_id and secret_access_key with env_or_profile credentials_source"
            raise not_correct(message)
        return "env_or_profile"
    if not isinstance(source, str):
        raise wrong_type("aws:credentials_source", "static or env_or_profile", source)
    message = f"Unknown credentials_source {source}"
    raise not_correct(message)


def _stemcell(merged: Json) -> Json:
    """What is merged over every stemcell's properties; one key there is not theirs, but ours."""
    section = sub_object(merged, "stemcell", "aws:stemcell")
    return {key: value for key, value in section.items() if key != _COPY_FROM_REGION}


def _stemcell_upload(merged: Json) -> StemcellUpload:
    way = merged.get("stemcell_upload") or "ebs_direct"
    if way == "ebs_direct":
        return "ebs_direct"
    if way == "volume":
        return "volume"
    raise wrong_type("aws:stemcell_upload", "ebs_direct or volume", way)


def _region(merged: Json, environ: Mapping[str, str]) -> str | None:
    """The region, for signing too: with both endpoints and no region, from what else says it."""
    region = string(merged, "region")
    ec2_endpoint = string(merged, "ec2_endpoint")
    if region or not (ec2_endpoint and string(merged, "elb_endpoint")):
        return region
    host = _EC2_HOST.match(ec2_endpoint)
    return environ.get("AWS_REGION") or (host.group(1) if host else None)


def _endpoints(merged: Json) -> dict[str, str]:
    keys = {
        "ec2": "ec2_endpoint",
        "elb": "elb_endpoint",
        "elbv2": "elb_endpoint",
        "sts": "sts_endpoint",
        "ebs": "ebs_endpoint",
    }
    given = {service: url(merged, key, "aws", "https") for service, key in keys.items()}
    return {service: endpoint for service, endpoint in given.items() if endpoint}


def _registry(section: Json) -> RegistryConfig | None:
    endpoint = string(section, "endpoint", "registry")
    base_url = url(section, "endpoint", "registry", "http")
    if not (endpoint and base_url):
        return None
    return RegistryConfig(
        endpoint=endpoint,
        base_url=base_url,
        user=string(section, "user", "registry"),
        password=string(section, "password", "registry"),
    )


def _supported_api_version(debug: Json) -> int:
    version = debug.get("api_version")
    if version is None:
        return MAX_API_VERSION
    if not is_integer(version) or version < 1:
        raise wrong_type("debug:cpi:api_version", "1, 2 or 3", version)
    return min(version, MAX_API_VERSION)


def _log_level(debug: Json) -> str:
    level = debug.get("log_level") or "info"
    if not isinstance(level, str) or level not in LEVELS:
        raise wrong_type("debug:cpi:log_level", f"one of {', '.join(LEVELS)}", level)
    return level


def _stemcell_version(merged: Json) -> object:
    vm = merged.get("vm")
    stemcell = vm.get("stemcell") if isinstance(vm, dict) else None
    return stemcell.get("api_version", 1) if isinstance(stemcell, dict) else 1
