"""The HTTP protocols of AWS's services: the action of a call, and the form of an error."""

import functools
import json
import re
from typing import Any, NamedTuple
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

import botocore.session
from botocore.model import OperationModel
from werkzeug.wrappers import Request, Response

from testbed.rules import REQUEST_ID, Error

REST = {"ebs"}
"""Services whose actions follow from method and path, and whose errors are JSON."""
TARGETED = {"kms", "servicequotas"}
"""Services whose action is in a header; requests, answers and errors are JSON."""
OURS = "bosh-aws-cpi"
"""A part of the User-Agent of the program's calls, which calls of tests lack."""
KEY_OF_TESTS = "AKIATESTBED"
"""The access key id of tests' own clients, also of those that tests make of the program's modules."""

Parameters = dict[str, str]


class Call(NamedTuple):
    """A call to AWS."""

    service: str
    action: str
    parameters: Parameters


def service_of(authorization: str) -> str:
    """Read the service from a signature's scope; unsigned calls are STS's."""
    _, found, scope = authorization.partition("Credential=")
    parts = scope.split(",")[0].split("/")
    return parts[3] if found and len(parts) > 3 else "sts"


def region_of(request: Request) -> str:
    """Read the region from a signature's scope; unsigned calls have none."""
    authorization = request.headers.get("Authorization", "")
    scope = authorization.partition("Credential=")[2].split(",")[0].split("/")
    return scope[2] if len(scope) > 3 else ""


def is_ours(request: Request) -> bool:
    """Whether a call is the program's."""
    return OURS in request.headers.get("User-Agent", "")


def is_of_executable(request: Request) -> bool:
    """Whether a call is the program's, and not that of a test with a module of the program."""
    return is_ours(request) and f"Credential={KEY_OF_TESTS}/" not in request.headers.get("Authorization", "")


def read(request: Request, body: bytes) -> Call:
    """Read a call.

    A part of a REST body that is not text, such as a block of a disk, is not a parameter.
    """
    service = service_of(request.headers.get("Authorization", ""))
    if service in REST:
        return Call(service, *_read_rest(service, request, body))
    if service in TARGETED:
        document = json.loads(body)
        named = {
            name: value if isinstance(value, str) else json.dumps(value) for name, value in document.items()
        }
        return Call(service, request.headers.get("X-Amz-Target", "").rpartition(".")[2], named)
    parameters = dict(request.args.items())
    parameters.update(parse_qsl(body.decode(), keep_blank_values=True))
    return Call(service, parameters.get("Action", ""), parameters)


def failure(error: Error, service: str) -> Response:
    """Answer an error to a client of AWS, as the service does."""
    if service in REST:
        document = {"Message": error.message, **({"Reason": error.reason} if error.reason else {})}
        headers = {"x-amzn-ErrorType": error.code, "x-amzn-RequestId": REQUEST_ID}
        return Response(json.dumps(document), error.status, headers, content_type="application/json")
    if service in TARGETED:
        text = json.dumps({"__type": error.code, "message": error.message})
        content = "application/x-amz-json-1.1"
        return Response(text, error.status, {"x-amzn-RequestId": REQUEST_ID}, content_type=content)
    return Response(error_xml(error, service), error.status, content_type="text/xml")


def error_xml(error: Error, service: str) -> str:
    """Write an error as a document; EC2 has its own format."""
    code, message = escape(error.code), escape(error.message)
    if service == "ec2":
        return (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            f"<Response><Errors><Error><Code>{code}</Code>"
            f"<Message>{message}</Message></Error></Errors>"
            f"<RequestID>{REQUEST_ID}</RequestID></Response>"
        )
    fault = "Sender" if error.status < 500 else "Receiver"
    return (
        f"<ErrorResponse><Error><Type>{fault}</Type><Code>{code}</Code>"
        f"<Message>{message}</Message></Error>"
        f"<RequestId>{REQUEST_ID}</RequestId></ErrorResponse>"
    )


@functools.cache
def _operations(service: str) -> list[tuple[str, re.Pattern[str], OperationModel]]:
    """List a REST service's operations by the SDK's own model: method, path, operation."""
    model: Any = botocore.session.Session().get_service_model(service)
    operations = [model.operation_model(name) for name in model.operation_names]
    return [(each.http["method"], _pattern(each.http["requestUri"]), each) for each in operations]


def _pattern(template: str) -> re.Pattern[str]:
    """Turn `/snapshots/{snapshotId}` into a pattern with a group per parameter."""
    return re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", template))


def _read_rest(service: str, request: Request, body: bytes) -> tuple[str, Parameters]:
    for method, pattern, operation in _operations(service):
        match = pattern.fullmatch(request.path)
        if match and method == request.method:
            return operation.name, _rest_parameters(operation, match.groupdict(), request, body)
    return "", {}


def _rest_parameters(operation: Any, path: Parameters, request: Request, body: bytes) -> Parameters:
    members = operation.input_shape.members
    document = json.loads(body) if body and not operation.has_streaming_input else {}
    sources: dict[str | None, Any] = {"uri": path, "header": request.headers, "querystring": request.args}
    found = {
        name: sources.get(shape.serialization.get("location"), document).get(
            shape.serialization.get("name", name)
        )
        for name, shape in members.items()
    }
    return {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in found.items()
        if value is not None
    }
