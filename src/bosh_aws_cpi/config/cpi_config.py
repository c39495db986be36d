"""The configuration: ``cpi.json`` with the request's context merged over its ``aws`` section.

Pure: the file is read in `config.loading`, and nothing here talks to AWS.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bosh_aws_cpi.config import aws_config, keys
from bosh_aws_cpi.config.values import Key, string, sub_object
from bosh_aws_cpi.errors import CPIAPIVersionNotSupported, Unknown, not_correct
from bosh_aws_cpi.jsontext import encode, is_integer
from bosh_aws_cpi.records import Confidential, Record

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bosh_aws_cpi.config.aws_config import AwsConfig
    from bosh_aws_cpi.jsontext import Json

_OF_CALLERS = frozenset({"director_uuid", "request_id", "vm"})
"""The keys of the context that are not of ``aws``."""
_DIRECTOR_UUID = Key("context.director_uuid", string, "The Director's id.")


class RegistryConfig(Confidential):
    """Where the registry is; even the endpoint may contain a password."""

    endpoint: str
    """The URL as configured. The agent gets it unchanged, often with its own user and password."""
    base_url: str
    """The same URL, with a scheme."""
    user: str | None
    password: str | None


class CpiConfig(Record):
    """The whole configuration of a call."""

    aws: AwsConfig
    agent: Json
    """Copied unchanged into every VM's agent settings."""
    registry: RegistryConfig | None
    supported_api_version: int
    """The contract version that `info` announces; a request may use a higher one."""
    log_level: str
    event_log: str | None
    """The path of the event log; None if there is none."""
    director_uuid: str | None
    request_id: str | None
    """Identifies the request, with the Director's UUID; a test or a person may omit both."""
    stemcell: object
    """The context's ``vm.stemcell.api_version``, unchecked, or 1; see `stemcell_api_version`."""
    is_stemcell_given: bool
    """Whether the context has that version."""

    def __repr__(self) -> str:
        """The ``aws`` section only, because the agent's settings are secret."""
        return f"<CpiConfig: {self.aws!r}>"


def parse(document: object, context: Json, environ: Mapping[str, str], path: str = "cpi.json") -> CpiConfig:
    """Build the configuration of one call.

    Args:
        document: The configuration file's content.
        context: The request's context, merged over ``aws``, key by key.
        environ: The process's environment; only AWS_REGION is read.
        path: The file's, for messages.

    Raises:
        Unknown: ``cloud.properties`` is missing.
        InvalidCall: A key has a wrong value, or is missing; the message names it.
    """
    properties = cloud_properties(document, path)
    merged = {**sub_object(properties, "aws"), **context}
    if not keys.IN_AWS & merged.keys():
        message = f"missing configuration parameters > aws: '{path}' has none in cloud.properties.aws"
        raise not_correct(message)
    stemcell = _stemcell(merged)
    debug = sub_object(properties, "debug")
    debug_cpi = sub_object(debug, "cpi", "debug:cpi")
    return CpiConfig(
        aws=aws_config.parse(merged, environ),
        agent=keys.AGENT.read(properties),
        registry=_registry(sub_object(properties, "registry")),
        supported_api_version=keys.DEBUG_API_VERSION.read(debug_cpi),
        log_level=keys.DEBUG_LOG_LEVEL.read(debug_cpi),
        event_log=keys.DEBUG_EVENT_LOG.read(debug),
        director_uuid=_DIRECTOR_UUID.read(context),
        request_id=_request_id(context),
        stemcell=stemcell.get("api_version", 1),
        is_stemcell_given="api_version" in stemcell,
    )


def cloud_properties(document: object, path: str = "cpi.json") -> Json:
    """The configuration file's ``cloud.properties``; the CPI uses nothing else in it.

    Raises:
        Unknown: It is missing.
    """
    cloud = document.get("cloud") if isinstance(document, dict) else None
    properties = cloud.get("properties") if isinstance(cloud, dict) else None
    if not isinstance(properties, dict):
        message = (
            f"Could not find cloud properties in the configuration: '{path}' has no hash cloud.properties, "
            "in which the section aws belongs"
        )
        raise Unknown(message)
    return properties


def unknown_keys(document: object, context: Json) -> set[str]:
    """The keys of ``aws`` and of the context that nothing reads. A section that is not a hash has none."""
    with_section: Any = document
    for name in ("cloud", "properties", "aws"):
        with_section = with_section.get(name) if isinstance(with_section, dict) else None
    section = with_section if isinstance(with_section, dict) else {}
    return {*section, *context} - keys.IN_AWS - _OF_CALLERS


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


def _stemcell(merged: Json) -> Json:
    """The context's ``vm.stemcell``; empty if it is missing."""
    vm = merged.get("vm")
    stemcell = vm.get("stemcell") if isinstance(vm, dict) else None
    return stemcell if isinstance(stemcell, dict) else {}
