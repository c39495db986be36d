"""A stand-in for the cloud behind the protocol."""

import json
from collections.abc import Callable
from typing import Any

from bosh_aws_cpi.errors import BoshError, CloudError
from bosh_aws_cpi.rpc import dispatch
from bosh_aws_cpi.rpc.request import Request


class Foreign(Exception):
    """What a library raises."""


class Host:
    """A cloud whose method does what the test wants.

    Attributes:
        opened: The calls that it was opened for.
        targets: The methods that were asked for.
    """

    def __init__(self, method: Callable[..., Any], opening: BaseException | None = None) -> None:
        """Do this for every method; opening fails with the error given."""
        self.opened: list[Request] = []
        self.targets: list[str] = []
        self._method = method
        self._opening = opening

    def open(self, call: Request) -> str:
        """Open a session."""
        self.opened.append(call)
        if self._opening is not None:
            raise self._opening
        return "session"

    def function(self, target: str) -> Callable[..., Any]:
        """Find the method's function."""
        self.targets.append(target)
        return self._method

    def translate(self, error: Exception) -> BoshError | None:
        """Translate what the library raised."""
        if isinstance(error, Foreign):
            return CloudError(f"translated {error}")
        return error if isinstance(error, BoshError) else None

    def summary(self) -> str:
        """Tell what it cost."""
        return ", 2 AWS calls"


def ask(host: Host, method: str = "has_vm", *arguments: Any, **given: Any) -> dict[str, Any]:
    """Ask for a method, and check that the answer is one JSON document in ASCII."""
    context = {"director_uuid": "d", **given.pop("context", {})}
    request = {"method": method, "arguments": list(arguments), "context": context, "api_version": 2, **given}
    raw = dispatch.answer(lambda: json.dumps(request).encode(), host, lambda: 1.25)
    document: dict[str, Any] = json.loads(raw.decode("ascii"))
    assert list(document) == ["result", "error", "log"]
    return document


def failing(error: BaseException) -> Callable[..., Any]:
    """Make a method that fails."""

    def method(*_: Any) -> None:
        raise error

    return method
