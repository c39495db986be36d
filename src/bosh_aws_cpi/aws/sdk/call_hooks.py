"""Hooks for every AWS call, which count it, attach it to its error, log it without secrets, note AWS's time.

An answer is accepted only if it is a document of the called operation; a missing element is an error.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any, Final
from xml.etree.ElementTree import Element

from botocore.exceptions import HTTPClientError
from botocore.handlers import BUILTIN_HANDLERS, REGISTER_FIRST, REGISTER_LAST
from botocore.parsers import ResponseParserError, ResponseParserFactory
from botocore.session import Session
from botocore.utils import EVENT_ALIASES

from bosh_aws_cpi.aws.sdk import clock
from bosh_aws_cpi.aws.sdk.errors import CALL, ELEMENT, ERROR_STATUS, UNREADABLE, Call, call_of, describe_error
from bosh_aws_cpi.call_statistics import CallStatistics
from bosh_aws_cpi.config.aws_config import ENDPOINTS
from bosh_aws_cpi.log import DEBUG, logger
from bosh_aws_cpi.model import ID_DIGITS
from bosh_aws_cpi.redact import MASK


def _install_sdk_hooks(session: Session) -> None:
    """Install the SDK's own hooks, without hooks of other services and of the SDK's documentation.

    An event is "before-call", or "before-call.ec2.CopySnapshot" with a service's name or alias. To install
    all hooks takes 7 % of `has_vm`, because the SDK compares each event with all aliases
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
    """Install the hooks for all future clients of a session, which lacks the SDK's built-in hooks."""

    def before(**event: Any) -> None:  # noqa: ANN401 - botocore's events are keywords
        name = name_of(event["model"])
        statistics.count_call(name)
        event["context"][CALL] = Call(_action(event["model"]), ids(event["params"]))
        if logger.level == DEBUG:
            logger.debug("AWS %s %s", name, mask(event["params"]))

    _install_sdk_hooks(session)
    session.register("before-parameter-build", before)
    session.register("after-call", _check_answer)
    session.register("after-call-error", _clean_error)
    session.register_component("response_parser_factory", _Parsers())


class _Parsers(ResponseParserFactory):
    """Creates the SDK's parsers; an answer that they can't parse raises one error, which quotes nothing."""

    def create_parser(self, protocol_name: str) -> Any:  # noqa: ANN401 - one of the SDK's
        parser: Any = super().create_parser(protocol_name)
        is_document = _is_json if "json" in protocol_name else _is_xml
        parser.parse = partial(_parse, parser.parse, is_document)
        return parser


def _parse(
    parse: Callable[..., Any],
    is_document: Callable[[dict[str, Any], Any], bool],
    response: dict[str, Any],
    shape: Any,  # noqa: ANN401 - the SDK's
) -> Any:  # noqa: ANN401 - any answer
    """Parse an answer; if it is no document of the operation, use only an HTTP status that means an error.

    The SDK retries no error of its parser, so an answer that can't be read has the key `UNREADABLE`, which
    `attempts` takes for a lost answer, and `_check_answer` for an error after the last attempt; its value is
    whether the document is AWS's own.
    """
    status = response["status_code"]
    only_status = {"ResponseMetadata": {"HTTPStatusCode": status}}
    if not is_document(response, shape):
        return only_status if status >= ERROR_STATUS else {**only_status, UNREADABLE: False}
    try:
        parsed = parse(response, shape)
        parsed.get("Error", {"Code": ""})["Code"].strip()  # the SDK fails on an error without a code
        return parsed if status >= ERROR_STATUS else _wrap(parsed, [])
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - any error of the SDK
        return {**only_status, UNREADABLE: status < ERROR_STATUS}


_ROOT_ELEMENT: Final = re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?<(\w+)[\s/>]")
_ERROR_ROOTS: Final = frozenset({b"Response", b"ErrorResponse"})
"""The root elements of an error: of EC2, and of the other services that answer with XML."""


def _is_xml(response: dict[str, Any], _: Any) -> bool:  # noqa: ANN401
    """Whether the root element is of the operation's document, or of an error (docs/aws-assumptions.md)."""
    root = _ROOT_ELEMENT.match(response["body"])
    answer = f"{response['context']['operation_name']}Response".encode()
    return root is not None and root[1] in (
        _ERROR_ROOTS if response["status_code"] >= ERROR_STATUS else {answer}
    )


def _is_json(response: dict[str, Any], shape: Any) -> bool:  # noqa: ANN401
    """Whether the body is an error, or has an element of the operation's document, if any is defined."""
    try:
        document = json.loads(response["body"] or "{}")
    except (ValueError, RecursionError):
        return False
    members = {} if response["status_code"] >= ERROR_STATUS else shape.members
    names = {name for name, member in members.items() if "location" not in member.serialization}
    return isinstance(document, dict) and (not names or not names.isdisjoint(document))


_EC2_ID: Final = re.compile(f"[a-z]+-{ID_DIGITS}")
_PARAMETER: Final = "resolve:"
"""The beginning of a launch template's parameter that stands for an AMI's id."""


def _check_id(prefixes: tuple[str, ...], text: str) -> None:
    """Raise ValueError unless a text is an id with one of the prefixes."""
    if not text.startswith(prefixes) or not (_EC2_ID.fullmatch(text) or text.startswith(_PARAMETER)):
        raise ValueError(text)


_PARSERS: Final[Mapping[str, Callable[[str], object]]] = {
    **dict.fromkeys(("CidrBlock", "Ipv4Prefix"), IPv4Network),
    **dict.fromkeys(("Ipv6CidrBlock", "Ipv6Prefix"), IPv6Network),
    **dict.fromkeys(("DestinationCidrBlock", "CidrIp"), partial(IPv4Network, strict=False)),
    **dict.fromkeys(("DestinationIpv6CidrBlock", "CidrIpv6"), partial(IPv6Network, strict=False)),
    "PrivateIpAddress": IPv4Address,
    "Ipv6Address": IPv6Address,
    "ImageId": partial(_check_id, ("ami-", "aki-", "ari-", _PARAMETER)),
    "InstanceId": partial(_check_id, ("i-",)),
    "NetworkInterfaceId": partial(_check_id, ("eni-",)),
    "SnapshotId": partial(_check_id, ("snap-",)),
    "SubnetId": partial(_check_id, ("subnet-",)),
    "VolumeId": partial(_check_id, ("vol-",)),
    "VpcId": partial(_check_id, ("vpc-",)),
}
"""The functions with which the program parses elements that are texts for the SDK, by the SDK's name."""


class _Structure(dict[str, Any]):
    """A structure of an answer: to read a missing or malformed element is an error of the answer, no bug."""

    calls: list[Call]
    """A list to which the call is added when the whole answer is parsed."""
    malformed: frozenset[str] = frozenset()
    """The elements that are left out, because they can't be parsed."""

    def get(self, key: str, default: Any = None) -> Any:  # noqa: ANN401
        if key in self.malformed:
            raise _unreadable(self.calls, key)
        return super().get(key, default)

    def __missing__(self, key: str) -> Any:  # noqa: ANN401
        raise _unreadable(self.calls, key)


class _List(list[Any]):
    """A list of an answer, with the same rule as `_Structure`."""

    calls: list[Call]
    name: str
    """The name of the list; empty for a list in a list."""

    def __getitem__(self, key: Any) -> Any:  # noqa: ANN401
        try:
            return super().__getitem__(key)
        except IndexError:
            raise _unreadable(self.calls, self.name) from None


def _unreadable(calls: list[Call], element: str) -> ResponseParserError:
    """The error for a missing element, whose name is the program's, not the answer's."""
    error = ResponseParserError(UNREADABLE)
    setattr(error, CALL, calls[0])
    setattr(error, ELEMENT, element)
    return error


def _wrap(value: Any, calls: list[Call], name: str = "") -> Any:  # noqa: ANN401 - any part of an answer
    """Return a part of an answer in which to read a missing element raises ResponseParserError.

    Raises:
        ResponseParserError: There is XML in place of a text, because an element occurs twice.
    """
    part: _Structure | _List
    if isinstance(value, dict):
        part = _Structure((key, _wrap(each, calls, key)) for key, each in value.items())
        for key in _PARSERS.keys() & part.keys():
            try:
                _PARSERS[key](part[key])
            except ValueError:
                if part.pop(key):  # an empty one stands for none
                    part.malformed |= {key}
    elif isinstance(value, list):
        part = _List(_wrap(each, calls) for each in value)
        part.name = name
    elif isinstance(value, Element):
        raise ResponseParserError(UNREADABLE)
    else:
        return value
    part.calls = calls
    return part


def _check_answer(**event: Any) -> None:  # noqa: ANN401
    parsed, call, http_response = event["parsed"], event["context"][CALL], event["http_response"]
    metadata = parsed.get("ResponseMetadata", {})
    status = http_response.status_code
    if UNREADABLE in parsed:
        unreadable = ResponseParserError(UNREADABLE)
        setattr(unreadable, CALL, call)
        if parsed[UNREADABLE]:
            setattr(unreadable, ELEMENT, "")
        logger.debug("AWS did not answer: %s", describe_error(unreadable))
        raise unreadable
    if status >= ERROR_STATUS:
        error = parsed.setdefault("Error", {"Code": str(status), "Message": "not an AWS service's answer"})
        error[CALL] = call
    else:
        clock.note_server_time(http_response.headers)
        parsed.calls.append(call)
    error = parsed.get("Error", {})
    logger.debug(
        "AWS %s answered %s%s (request id %s, %d retries)",
        name_of(event["model"]),
        status,
        f" {error.get('Code')}: {error.get('Message')}" if error else "",
        metadata.get("RequestId"),
        metadata.get("RetryAttempts", 0),
    )


def _clean_error(**event: Any) -> None:  # noqa: ANN401
    exception = event["exception"]
    may_quote = isinstance(exception, HTTPClientError) and isinstance(
        exception.kwargs.get("error"), ValueError
    )
    safe = ResponseParserError(UNREADABLE) if may_quote else None
    # An error of AssumeRole comes here a second time, for the call that needed the role's keys; an earlier
    # attempt at that call may have taken effect.
    this_call = event["context"][CALL]
    call = call_of(exception) or this_call
    call.was_uncertain = call.was_uncertain or this_call.was_uncertain
    setattr(safe or exception, CALL, call)
    logger.debug("AWS did not answer: %s", describe_error(safe or exception))
    if safe:
        raise safe from None


_NAME_PARAMETERS: Final = frozenset(
    {"LoadBalancerName", "LoadBalancerNames", "Names", "PublicIp", "PublicIps", "RoleArn", "TargetGroupArn"}
)
"""Parameters that name a resource otherwise than by an EC2 id."""
_TAGS: Final = frozenset({"Tags", "TagSpecifications"})
MAX_IDS: Final = 6
"""The maximum number of ids in a message; a launch has ids of an AMI, subnets and security groups."""


def ids(params: dict[str, Any]) -> tuple[str, ...]:
    """The first ids and names of resources in a call's parameters, in their order."""
    return tuple(dict.fromkeys(_ids(params)))[:MAX_IDS]


def _ids(value: Any, *, is_name: bool = False) -> Iterator[str]:  # noqa: ANN401 - parameters, of any shape
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in _TAGS:  # a tag's value may look like an id, and be a secret
                continue
            yield from _ids(inner, is_name=key in _NAME_PARAMETERS)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _ids(inner, is_name=is_name)
    elif isinstance(value, str) and (is_name or _EC2_ID.fullmatch(value)):
        yield value


def mask(params: Any) -> Any:  # noqa: ANN401 - parameters, of any shape
    """Mask user data, blocks of data and the values of tags in a call's parameters."""
    if isinstance(params, list):
        return list(map(mask, params))
    if not isinstance(params, dict):
        return params
    hidden = {"UserData", "BlockData", "Value" if "Key" in params else ""}
    return {key: MASK if key in hidden else mask(value) for key, value in params.items()}


def name_of(model: Any) -> str:  # noqa: ANN401 - botocore's operation model
    """An operation's name in logs: "ec2.DescribeInstances"."""
    return f"{model.service_model.service_name}.{model.name}"


def _action(model: Any) -> str:  # noqa: ANN401
    """IAM's name for an operation: the service's signing name is the prefix that policies use."""
    return f"{model.service_model.signing_name}:{model.name}"
