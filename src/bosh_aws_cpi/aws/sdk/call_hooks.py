"""Hooks on every AWS call: count it, attach it to its error, log it without its secrets, note AWS's time.

A web page is no answer, whatever its status. A call that is missing from the table of permissions raises an
error that names the table.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from botocore.client import BaseClient
from botocore.handlers import BUILTIN_HANDLERS, REGISTER_FIRST, REGISTER_LAST
from botocore.parsers import ResponseParserError
from botocore.session import Session
from botocore.utils import EVENT_ALIASES

from bosh_aws_cpi.aws.sdk import clock
from bosh_aws_cpi.aws.sdk.errors import (
    CALL,
    REFUSED,
    UNREADABLE,
    Call,
    call_of,
    described,
    is_page,
    remember_call,
)
from bosh_aws_cpi.call_statistics import CallStatistics
from bosh_aws_cpi.config.aws_config import ENDPOINTS
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.redact import MASK


def install_builtin(session: Session) -> None:
    """Install the SDK's own hooks, but none of another service, and none of the SDK's documentation.

    An event is "before-call", or "before-call.ec2.CopySnapshot" with a service's name or an alias of it. To
    install all hooks takes 7 % of `has_vm`: the SDK compares each event with all aliases
    (docs/decisions/start-up.md).
    """
    events = session.get_component("event_emitter")
    register = {
        (): events.register,
        (REGISTER_FIRST,): events.register_first,
        (REGISTER_LAST,): events.register_last,
    }
    services = {"*", *(EVENT_ALIASES.get(service, service) for service in ENDPOINTS)}
    for event, handler, *place in BUILTIN_HANDLERS:
        kind, *of = event.split(".")
        if kind != "docs" and (not of or EVENT_ALIASES.get(of[0], of[0]) in services):
            register[tuple(place)](event, handler)


def install(session: Session, statistics: CallStatistics) -> None:
    """Install the hooks for all clients that the session creates from now on."""

    def before(**event: Any) -> None:  # noqa: ANN401 - botocore's events are keywords
        name = name_of(event["model"])
        statistics.called(name)
        event["context"][CALL] = Call(_action(event["model"]), ids(event["params"]))
        logger.debug("AWS %s %s", name, _Lazily(event["params"]))

    def arrived(**event: Any) -> None:  # noqa: ANN401
        response = event["response_dict"]
        is_web_page = is_page(response["headers"])
        if response["status_code"] >= REFUSED:
            if is_web_page:
                response["body"] = b"<Response/>"  # which the SDK can read: its status counts
        elif is_web_page:  # the SDK may take it for an empty answer
            raise ResponseParserError(UNREADABLE)
        else:
            clock.hear(response["headers"])

    def after(**event: Any) -> None:  # noqa: ANN401
        metadata = event["parsed"].get("ResponseMetadata", {})
        if event["http_response"].status_code >= REFUSED:
            _note_page(event["parsed"], event["http_response"])
        remember_call(event["parsed"], event["context"][CALL])
        error = event["parsed"].get("Error", {})
        logger.debug(
            "AWS %s answered %s%s (request id %s, %d retries)",
            name_of(event["model"]),
            event["http_response"].status_code,
            f" {error.get('Code')}: {error.get('Message')}" if error else "",
            metadata.get("RequestId"),
            metadata.get("RetryAttempts", 0),
        )

    def failed(**event: Any) -> None:  # noqa: ANN401
        from bosh_aws_cpi.aws.sdk import unanswered  # noqa: PLC0415 - only errors need it

        exception = event["exception"]
        safe = unanswered.in_place_of(exception)
        # An error of AssumeRole passes here again, for the call that needed the role's keys, of which an
        # earlier attempt may have taken effect.
        own = event["context"][CALL]
        call = call_of(exception) or own
        call.was_uncertain = call.was_uncertain or own.was_uncertain
        setattr(safe or exception, CALL, call)
        logger.debug("AWS did not answer: %s", described(safe or exception))
        if safe:
            raise safe from None

    session.register("before-parameter-build", before)
    session.register("before-parse", arrived)
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


def _note_page(parsed: dict[str, Any], response: Any) -> None:  # noqa: ANN401 - the SDK's
    """Say in an error that a proxy answered; the SDK can read some pages, and finds no error in them."""
    error = parsed.setdefault("Error", {"Code": str(response.status_code), "Message": "no message"})
    if is_page(response.headers):
        error["Message"] = _PAGE


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


def name_of(model: Any) -> str:  # noqa: ANN401 - botocore's operation model
    """An operation's name in logs: "ec2.DescribeInstances"."""
    return f"{model.service_model.service_name}.{model.name}"


def _action(model: Any) -> str:  # noqa: ANN401
    """IAM's name for an operation: the service's signing name is the prefix that policies use."""
    return f"{model.service_model.signing_name}:{model.name}"
