"""The configuration: ``cpi.json`` with the request's context merged over its ``aws`` section.

`config.loading` reads the file; this module has no effects.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bosh_aws_cpi.config import aws_config, values
from bosh_aws_cpi.config.aws_config import AwsConfig, Stemcell
from bosh_aws_cpi.config.values import Key, NewKey, Section
from bosh_aws_cpi.errors import CPIAPIVersionNotSupported, Unknown, not_correct
from bosh_aws_cpi.jsontext import Json, encode, is_integer
from bosh_aws_cpi.log import LEVELS, NEAR_SECURITY, nearest

_MAX_SHOWN_KEY_LENGTH = 64
_SECURITY_KEYS: Final = ("encrypted", "fips", "kms_key_arn", "metadata_options")
"""The keys of ``aws`` for security: if such a key is mistyped, the call fails."""
MAX_API_VERSION = 3
"""The newest contract version that `info` announces."""


class Context(Section, path="context"):
    """The keys of a request's context that do not belong to ``aws``."""

    director_uuid = Key(values.string, "The Director's id.")
    request_id = Key(values.anything, "The request's id; a test or a person may omit both ids.")
    vm = Key(values.anything, "What the Director knows of the VM: the version of its stemcell.")


class Agent(Section, path="agent"):
    """The keys of the section ``agent`` that come from properties of the job."""

    mbus = Key(
        values.anything,
        "The agents' message bus, as a URL.",
        job=("agent.mbus", "agent.nats.address", "nats.address", "nats.port", "nats.user", "nats.password"),
        is_secret=True,
    )
    ntp = Key(values.anything, "The VMs' time servers.", job=("ntp",))


class RegistryConfig(Section, path="registry"):
    """The section ``registry``; the agent gets ``endpoint`` unchanged, often with user and password."""

    endpoint = Key(
        values.endpoint,
        "Registry as host, host:port or URL (default scheme http), for stemcells of api_version 1.",
        job=("registry.username", "registry.password", "registry.host", "registry.port"),
        is_secret=True,
    )
    user = Key(values.string, "The registry's user.", job=("registry.username",))
    password = Key(values.string, "The registry's password.", job=("registry.password",), is_secret=True)

    @property
    def base_url(self) -> str:
        """The endpoint with a scheme."""
        return values.with_scheme(self.endpoint or "", "http")

    def __repr__(self) -> str:
        """Show no value, because even the endpoint may contain a password."""
        return "<RegistryConfig>"


class DebugCpi(Section, path="debug.cpi"):
    """The section ``debug.cpi``."""

    api_version = Key(
        values.contract_version,
        "The highest contract version that `info` announces. Current Directors and bosh CLIs reject version "
        "1.",
        default=MAX_API_VERSION,
        choices=tuple(range(1, MAX_API_VERSION + 1)),
    )
    log_level = NewKey(
        values.one_of,
        "`debug`, `info`, `warn` or `error`; `debug` logs every AWS call, without secrets.",
        default="info",
        choices=tuple(LEVELS),
    )


class Debug(Section, path="debug"):
    """The section ``debug``."""

    event_log = NewKey(
        values.log_file,
        "The absolute path of a file that gets one line of JSON for each call, without secrets. The job's "
        "property may be `true`: /var/vcap/sys/log/aws_cpi/events.log. Default: no such file.",
        example=True,
    )


class CpiConfig(Section):
    """The whole configuration of a call."""

    agent = Key(
        values.json_object,
        "Copied unchanged into every VM's agent settings: mbus, ntp, blobstore and others.",
        job=(),
    )
    aws: AwsConfig
    registry: RegistryConfig | None
    debug: Debug
    debug_cpi: DebugCpi
    director_uuid: str | None
    request_id: str | None
    """The request's id, which is unique together with the Director's UUID."""
    stemcell: object
    """The context's ``vm.stemcell.api_version``, or 1, unchecked; `stemcell_api_version` checks it."""
    is_stemcell_given: bool
    """Whether the context has ``vm.stemcell.api_version``."""

    def __repr__(self) -> str:
        """Show the ``aws`` section only, because the agent's settings are secret."""
        return f"<CpiConfig: {self.aws!r}>"


def parse(document: object, context: Json, environ: Mapping[str, str], path: str = "cpi.json") -> CpiConfig:
    """Build the configuration of one call.

    Args:
        document: The configuration file's content.
        context: The request's context, merged over ``aws``, key by key.
        environ: The process's environment, of which only AWS_REGION is read.
        path: The path of the file, for messages.

    Raises:
        Unknown: ``cloud.properties`` is missing.
        InvalidCall: A key has a wrong value, or is missing, or a key for security is mistyped; the message
            names the key.
    """
    properties = cloud_properties(document, path)
    merged = {**values.sub_object(properties, "aws"), **context}
    if not AwsConfig.rows.keys() & merged.keys():
        message = f"missing configuration parameters > aws: '{path}' has none in cloud.properties.aws"
        raise not_correct(message)
    stemcell = _stemcell(merged)
    debug = values.sub_object(properties, "debug")
    registry = values.sub_object(properties, "registry")
    request_id = context.get("request_id")
    aws = aws_config.parse(merged, environ)
    for key in sorted(filter(is_name, unknown_keys(document, context))):
        if near := nearest(key, _SECURITY_KEYS, NEAR_SECURITY):
            raise not_correct(f"configuration parameter aws.{key} is unknown: did you mean aws.{near}?")
    return CpiConfig.read(
        properties,
        aws=aws,
        registry=RegistryConfig.read(registry) if RegistryConfig.endpoint.read(registry) else None,
        debug=Debug.read(debug),
        debug_cpi=DebugCpi.read(values.sub_object(debug, "cpi", "debug:cpi")),
        director_uuid=Context.director_uuid.read(context),
        request_id=request_id if isinstance(request_id, str) and request_id else None,
        stemcell=stemcell.get("api_version", 1),
        is_stemcell_given="api_version" in stemcell,
    )


def cloud_properties(document: object, path: str = "cpi.json") -> Json:
    """The configuration file's ``cloud.properties``; the CPI uses nothing else of the file.

    Raises:
        Unknown: ``cloud.properties`` is missing.
    """
    cloud = document.get("cloud") if isinstance(document, dict) else None
    properties = cloud.get("properties") if isinstance(cloud, dict) else None
    if not isinstance(properties, dict):
        raise Unknown(
            f"Could not find cloud properties in the configuration: '{path}' has no hash cloud.properties, "
            "in which the section aws belongs"
        )
    return properties


def unknown_keys(document: object, context: Json) -> set[str]:
    """The keys of ``aws`` and of the context that the CPI does not know; none if ``aws`` is not a hash."""
    with_section: Any = document
    for name in ("cloud", "properties", "aws"):
        with_section = with_section.get(name) if isinstance(with_section, dict) else None
    section = with_section if isinstance(with_section, dict) else {}
    return {*section, *context} - AwsConfig.rows.keys() - Context.rows.keys()


def is_name(key: str) -> bool:
    """Whether messages may show an unknown key: YAML reads `secret_access_key:SECRET` as one key."""
    return key.isascii() and key.isidentifier() and len(key) <= _MAX_SHOWN_KEY_LENGTH


def stemcell_api_version(value: object) -> int:
    """Return the stemcell's api_version that the request gives.

    Raises:
        CPIAPIVersionNotSupported: The value is not a positive integer.
    """
    if not is_integer(value) or value < 1:
        shown = "" if value is None else value if isinstance(value, str) else encode(value)
        raise CPIAPIVersionNotSupported(f"Stemcell API version '{shown}' is not supported.")
    return value


def _stemcell(merged: Json) -> Json:
    """The context's ``vm.stemcell``; empty if the context has none."""
    vm = merged.get("vm")
    stemcell = vm.get("stemcell") if isinstance(vm, dict) else None
    return stemcell if isinstance(stemcell, dict) else {}


_KEY_SECTIONS: Final = (AwsConfig, Stemcell, CpiConfig, Agent, RegistryConfig, DebugCpi, Debug)
KEYS: Final[tuple[Key[Any], ...]] = tuple(key for section in _KEY_SECTIONS for key in section.rows.values())
"""All keys of cpi.json, in the order of the documentation."""
