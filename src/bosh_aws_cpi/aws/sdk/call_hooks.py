"""Hooks on every AWS call: count it, attach it to its error, log it without its secrets, note AWS's time.

A call that is missing from the table of permissions raises an error that names the table.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from botocore.client import BaseClient
from botocore.session import Session

from bosh_aws_cpi.aws.sdk import parsing
from bosh_aws_cpi.aws.sdk.errors import CALL, Call, described, is_page, remember_call
from bosh_aws_cpi.call_statistics import CallStatistics
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.redact import MASK


def install(session: Session, statistics: CallStatistics) -> None:
    """Install the hooks for all clients that the session creates from now on.

    Args:
        session: The botocore session.
        statistics: Counts each call.
    """

    def before(**event: Any) -> None:  # noqa: ANN401 - botocore's events are keywords
        name = _name(event["model"])
        statistics.called(name)
        event["context"][CALL] = Call(_action(event["model"]), ids(event["params"]))
        logger.debug("AWS %s %s", name, _Lazily(event["params"]))

    def after(**event: Any) -> None:  # noqa: ANN401
        metadata = event["parsed"].get("ResponseMetadata", {})
        remember_call(event["parsed"], event["context"][CALL])
        if "Error" in event["parsed"] and is_page(event["http_response"].headers):
            event["parsed"]["Error"]["Message"] = _PAGE
        error = event["parsed"].get("Error", {})
        logger.debug(
            "AWS %s answered %s%s (request id %s, %d retries)",
            _name(event["model"]),
            event["http_response"].status_code,
            f" {error.get('Code')}: {error.get('Message')}" if error else "",
            metadata.get("RequestId"),
            metadata.get("RetryAttempts", 0),
        )
        if failure := parsing.failure_of(event["parsed"], event["context"][CALL]):
            failed(exception=failure, context=event["context"])
            raise failure

    def failed(**event: Any) -> None:  # noqa: ANN401
        exception = event["exception"]
        setattr(exception, CALL, event["context"][CALL])
        logger.debug("AWS did not answer: %s", described(exception))

    session.register_component("response_parser_factory", parsing.Parsers())
    session.register("before-parameter-build", before)
    session.register("after-call", after)
    session.register("after-call-error", failed)
    session.register("creating-client-class", _add_check)


class _Listed(BaseClient):
    """A client whose error for an unlisted operation names the table in which to list it."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - nothing: it raises
        if name.startswith("_"):  # Python itself looks these up, for example for pickle
            raise AttributeError(name)
        from bosh_aws_cpi.aws.sdk.permissions import ACTIONS  # noqa: PLC0415 - only for this error

        action = f"{self.meta.service_model.signing_name}:{name.title().replace('_', '')}"
        remedy = f"add {action} to ACTIONS"
        if action in ACTIONS:  # it is there, but not for those who build this client
            remedy = f"methods may not call {action}: add one of their features to its row of ACTIONS"
        message = f"There is no operation '{name}': {remedy} in aws/sdk/permissions.py"
        raise AttributeError(message)

    def get_paginator(self, operation_name: str) -> Any:  # noqa: ANN401 - the SDK's
        """Page through an operation, which must be listed."""
        getattr(self, operation_name)
        return super().get_paginator(operation_name)


def _add_check(**event: Any) -> None:  # noqa: ANN401
    event["base_classes"].insert(0, _Listed)


_ID: Final = re.compile(r"[a-z]+-[0-9a-f]{8,17}")
_NAMES: Final = frozenset(
    {
        "LoadBalancerName",
        "LoadBalancerNames",
        "Names",
        "PublicIp",
        "PublicIps",
        "RoleArn",
        "TargetGroupArn",
    }
)
"""Parameters that name a resource, but not by an EC2 id."""
_TAGS: Final = frozenset({"Tags", "TagSpecifications"})
MAX_IDS: Final = 6
"""The maximum number of ids in a message; a launch has its AMI, its subnets and its security groups."""


def ids(params: dict[str, Any]) -> tuple[str, ...]:
    """The ids and names in a call's parameters, in their order."""
    return tuple(dict.fromkeys(_ids(params)))[:MAX_IDS]


def _ids(value: Any, *, is_name: bool = False) -> Iterator[str]:  # noqa: ANN401 - parameters, of any shape
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in _TAGS:  # a tag's value may look like an id, and be a secret
                continue
            yield from _ids(inner, is_name=key in _NAMES)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _ids(inner, is_name=is_name)
    elif isinstance(value, str) and (is_name or _ID.fullmatch(value)):
        yield value


_PAGE: Final = "a web page instead of an AWS service's answer"
"""Replaces the message of a proxy, whose page may contain anything."""


class _Lazily:
    """Parameters that are masked and formatted only if the log level needs them."""

    def __init__(self, params: dict[str, Any]) -> None:
        self._params = params

    def __str__(self) -> str:
        return str(masked(self._params))


def masked(params: dict[str, Any]) -> dict[str, Any]:
    """A call's parameters without user_data, blocks of data, and the values of tags."""
    shown = dict(params)
    if "UserData" in shown:
        shown["UserData"] = MASK
    if "BlockData" in shown:
        shown["BlockData"] = f"{len(shown['BlockData'])} bytes"
    if "Tags" in shown:
        shown["Tags"] = _masked_tags(shown["Tags"])
    if "TagSpecifications" in shown:
        shown["TagSpecifications"] = [
            {
                "ResourceType": specification.get("ResourceType"),
                "Tags": _masked_tags(specification.get("Tags", [])),
            }
            for specification in shown["TagSpecifications"]
        ]
    return shown


def _masked_tags(tags: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"Key": tag.get("Key"), "Value": MASK} for tag in tags]


def _name(model: Any) -> str:  # noqa: ANN401 - botocore's operation model
    return f"{model.service_model.service_name}.{model.name}"


def _action(model: Any) -> str:  # noqa: ANN401
    """IAM's name for an operation: the service's signing name is the prefix that policies use."""
    return f"{model.service_model.signing_name}:{model.name}"
