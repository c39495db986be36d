"""The SDK's own hooks: each call that the CPI makes is the one that a plain session of the SDK makes."""

from __future__ import annotations

import datetime as dt
import io
import json
import os
import uuid
from typing import TYPE_CHECKING, Any

import botocore.session
import pytest
from botocore.awsrequest import AWSResponse
from botocore.config import Config

from bosh_aws_cpi import VERSION
from bosh_aws_cpi.aws.sdk.clients import CommandClients
from bosh_aws_cpi.aws.sdk.permissions import operations
from bosh_aws_cpi.call_statistics import CallStatistics
from bosh_aws_cpi.config import cpi_config
from bosh_aws_cpi.config.aws_config import ENDPOINTS
from testbed.protocols import KEY_OF_TESTS
from tests.unit.called_operations import ALL_SERVICES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from botocore.model import OperationModel, Shape

REGION = "eu-west-3"
NOW = dt.datetime(2026, 5, 4, 3, 2, 1, tzinfo=dt.UTC)
TEXT = "dGV4dA=="
"""Of this length, and also in Base64, because hooks and parsers decode some of the texts."""


@pytest.fixture(autouse=True)
def standing_still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take from the requests what differs in each: the time, and tokens."""
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda *_, **__: NOW.replace(tzinfo=None))
    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=1))
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setenv("NO_PROXY", "")  # the clients add to both


def own_client(service: str) -> Any:
    """Create a client as the CPI's commands get it; those of the methods have the same hooks."""
    keys = {"access_key_id": KEY_OF_TESTS, "secret_access_key": "unit"}
    document = {"cloud": {"properties": {"aws": {"max_retries": 2, "region": REGION, **keys}}}}
    clients = CommandClients(cpi_config.parse(document, {}, {}).aws, CallStatistics())
    return getattr(clients, service.replace("-", "_"))


def plain_client(service: str) -> Any:
    """Create a client of a session with all hooks and AWS's whole model."""
    files = ("config_file", "credentials_file")
    nowhere: dict[str, Any] = dict.fromkeys(files, (None, None, os.devnull, None))
    session: Any = botocore.session.Session(session_vars={**nowhere, "profile": (None, None, None, None)})
    session.set_credentials(KEY_OF_TESTS, "unit")
    retries = {"mode": "standard", "total_max_attempts": 3}
    config = Config(retries=retries, user_agent_extra=f"bosh-aws-cpi/{VERSION}")  # type: ignore[arg-type]
    return session.create_client(service, region_name=REGION, config=config)


class Body(io.BytesIO):
    """An answer's body, as the SDK reads it from a connection."""

    def stream(self) -> Iterator[bytes]:
        """Return the rest."""
        yield self.read()


def answering(client: Any) -> list[Any]:
    """Answer what a client sends, which goes nowhere; return where its requests are noted."""
    sent = []

    def answer(request: Any, event_name: str, **_: Any) -> AWSResponse:
        sent.append((request.method, request.url, sorted(request.headers.items()), request.body))
        operation = event_name.rpartition(".")[2]
        headers, body = written(client.meta.service_model.operation_model(operation))
        return AWSResponse(request.url, 200, headers, Body(body))

    client.meta.events.register("before-send", answer)
    return sent


def read(answer: dict[str, Any]) -> dict[str, Any]:
    """Read an answer's stream, if it has one."""
    return {name: each.read() if hasattr(each, "read") else each for name, each in answer.items()}


def value(shape: Shape | None, wanted: Callable[[Any], list[str]], within: tuple[str, ...] = ()) -> Any:
    """Return a value of a shape, with those members of structures that are wanted; none within itself."""
    of: Any = shape
    match of and of.type_name:
        case _ if of is None or of.name in within:
            return {}
        case "structure":
            return {name: value(of.members[name], wanted, (*within, of.name)) for name in wanted(of)}
        case "list":
            return [value(of.member, wanted, (*within, of.name))]
        case "map":
            return {TEXT: value(of.value, wanted, (*within, of.name))}
        case "string":
            return (of.metadata.get("enum") or [TEXT.ljust(of.metadata.get("min", 0), "x")])[0]
    return {"boolean": True, "timestamp": NOW, "blob": b"text"}.get(of.type_name, of.metadata.get("min", 1))


def every(shape: Any) -> list[str]:
    """Return the names of all members of a structure."""
    return list(shape.members)


def least(shape: Any) -> list[str]:
    """Return the names of the members that a structure must have."""
    return list(shape.required_members)


def written(model: OperationModel) -> tuple[Any, bytes]:
    """Write an answer with all members, in the service's protocol."""
    headers = {"x-amzn-requestid": "r-1"}
    shape = model.output_shape
    content = value(shape, every)
    protocol = model.service_model.resolved_protocol
    if "json" in protocol:
        of: Any = shape
        for name in [*content]:
            if of.members[name].serialization.get("location") == "header":
                headers[of.members[name].serialization["name"]] = str(content.pop(name))
        return headers, json.dumps(content, default=str).encode()
    inner = xml("", shape, content) if shape else ""
    if protocol == "query":
        wrapper = shape.serialization["resultWrapper"] if shape else "Result"
        inner = (
            f"<{wrapper}>{inner}</{wrapper}><ResponseMetadata><RequestId>r-1</RequestId></ResponseMetadata>"
        )
    return headers, f"<Response>{inner}<requestId>r-1</requestId></Response>".encode()


def xml(name: str, shape: Any, content: Any) -> str:
    """Write a value as an element of this name, or without one."""
    if isinstance(content, dict) and shape.type_name == "structure":
        members = [(each.serialization.get("name", key), each, key) for key, each in shape.members.items()]
        inner = "".join(xml(tag, each, content[key]) for tag, each, key in members if key in content)
    elif isinstance(content, list):
        item = (
            name if shape.serialization.get("flattened") else shape.member.serialization.get("name", "member")
        )
        inner = "".join(xml(item, shape.member, each) for each in content)
        name = "" if shape.serialization.get("flattened") else name
    else:
        texts = {"timestamp": NOW.isoformat(), "boolean": "true", "blob": TEXT}
        inner = texts.get(shape.type_name) or str(content)
    return f"<{name}>{inner}</{name}>" if name else inner


def test_services() -> None:
    """The hooks that are installed are those of the services that the CPI calls."""
    assert sorted(ENDPOINTS) == sorted(ALL_SERVICES)


@pytest.mark.parametrize("service", ALL_SERVICES)
def test_same_calls(service: str) -> None:
    """Each call that the CPI makes has the same bytes, and its answer the same content, as with all hooks."""
    clients = own_client(service), plain_client(service)
    own, plain = map(answering, clients)
    methods = clients[1].meta.method_to_api_mapping
    called = {method: name for method, name in methods.items() if name in operations(for_commands=True)}
    for method, operation in called.items():
        model = clients[1].meta.service_model.operation_model(operation)
        for wanted in (every, least):
            parameters = value(model.input_shape, wanted)
            found, expected = (read(getattr(client, method)(**parameters)) for client in clients)
            assert own[-1] == plain[-1]
            assert found == expected
            assert found.keys() == {"ResponseMetadata", *value(model.output_shape, every)}, operation
    assert len(own) == len(plain) == 2 * len(called) > 0
