"""Hooks on every AWS call: count it, attach it to its error, log it without its secrets, note AWS's time.

A web page is no answer, whatever its status.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

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
from bosh_aws_cpi.log import DEBUG, logger
from bosh_aws_cpi.redact import MASK


def _install_builtin(session: Session) -> None:
    """Install the SDK's own hooks, but none of another service, and none of the SDK's documentation.

    An event is "before-call", or "before-call.ec2.CopySnapshot" with a service's name or an alias of it. To
    install all hooks takes 7 % of `has_vm`: the SDK compares each event with all aliases
    (docs/performance.md).
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
    """Install the hooks for all clients that a session without the SDK's own creates from now on."""

    def before(**event: Any) -> None:  # noqa: ANN401 - botocore's events are keywords
        name = name_of(event["model"])
        statistics.called(name)
        event["context"][CALL] = Call(_action(event["model"]), ids(event["params"]))
        if logger.level == DEBUG:
            logger.debug("AWS %s %s", name, masked(event["params"]))

    _install_builtin(session)
    session.register("before-parameter-build", before)
    session.register("before-parse", _arrived)
    session.register("after-call", _after)
    session.register("after-call-error", _failed)


def _arrived(**event: Any) -> None:  # noqa: ANN401
    response = event["response_dict"]
    is_web_page = is_page(response["headers"])
    if response["status_code"] >= REFUSED:
        if is_web_page:
            response["body"] = b"<Response/>"  # which the SDK can read: its status counts
    elif is_web_page:  # the SDK may take it for an empty answer
        raise ResponseParserError(UNREADABLE)
    else:
        clock.hear(response["headers"])


def _after(**event: Any) -> None:  # noqa: ANN401
    metadata = event["parsed"].get("ResponseMetadata", {})
    status = event["http_response"].status_code
    if status >= REFUSED:  # the SDK can read some pages, and finds no error in them
        error = event["parsed"].setdefault("Error", {"Code": str(status), "Message": "no message"})
        if is_page(event["http_response"].headers):  # a proxy's, which may contain anything
            error["Message"] = "a web page instead of an AWS service's answer"
    remember_call(event["parsed"], event["context"][CALL])
    error = event["parsed"].get("Error", {})
    logger.debug(
        "AWS %s answered %s%s (request id %s, %d retries)",
        name_of(event["model"]),
        status,
        f" {error.get('Code')}: {error.get('Message')}" if error else "",
        metadata.get("RequestId"),
        metadata.get("RetryAttempts", 0),
    )


def _failed(**event: Any) -> None:  # noqa: ANN401
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


def masked(params: Any) -> Any:  # noqa: ANN401 - parameters, of any shape
    """A call's parameters without user_data, blocks of data, and the values of tags."""
    if isinstance(params, list):
        return list(map(masked, params))
    if not isinstance(params, dict):
        return params
    hidden = {"UserData", "BlockData", "Value" if "Key" in params else ""}
    return {key: MASK if key in hidden else masked(value) for key, value in params.items()}


def name_of(model: Any) -> str:  # noqa: ANN401 - botocore's operation model
    """An operation's name in logs: "ec2.DescribeInstances"."""
    return f"{model.service_model.service_name}.{model.name}"


def _action(model: Any) -> str:  # noqa: ANN401
    """IAM's name for an operation: the service's signing name is the prefix that policies use."""
    return f"{model.service_model.signing_name}:{model.name}"
