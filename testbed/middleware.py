"""What stands between the clients and moto: a record of calls, and rules.

Everything under `/testbed/` is answered here; `/moto-api/` goes straight to moto.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import socket
import sys
import threading
import traceback
from typing import TYPE_CHECKING, Any, NoReturn

from werkzeug.wrappers import Request, Response

from testbed import protocols
from testbed.rules import Error, Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from testbed.program_calls import ProgramCalls

PATIENCE = 60.0
"""Seconds after which a held answer goes out, and a wait for one ends, by itself."""


def is_gone(request: Request) -> bool:
    """Whether the client has closed its connection, as the system does for a killed one."""
    connection: socket.socket = request.environ["werkzeug.socket"]
    try:
        return not connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def drop(request: Request) -> NoReturn:
    """Close a connection in the middle of its call, as a network does that fails."""
    connection: socket.socket = request.environ["werkzeug.socket"]
    with contextlib.suppress(OSError):  # its client may be gone already
        connection.shutdown(socket.SHUT_RDWR)
    # What ends werkzeug's work on the call without an answer.
    raise ConnectionAbortedError


class Hold:
    """Where held calls and answers wait for their release."""

    def __init__(self) -> None:
        """Start with nothing held."""
        self._condition = threading.Condition()
        self._held: list[str] = []
        self._releases = 0

    def hold(self, action: str) -> None:
        """Hold the calling thread until the next release."""
        with self._condition:
            self._held.append(action)
            self._condition.notify_all()
            mine = self._releases
            self._condition.wait_for(lambda: self._releases > mine, timeout=PATIENCE)
            self._held.remove(action)

    def release(self) -> None:
        """Let go of everything that is held now."""
        with self._condition:
            self._releases += 1
            self._condition.notify_all()

    def wait(self, seconds: float) -> list[str]:
        """Wait until something is held; returns the actions, none after that time."""
        with self._condition:
            self._condition.wait_for(lambda: self._held, timeout=seconds)
            return list(self._held)


class Middleware:
    """A WSGI application around moto's."""

    def __init__(
        self,
        moto: WSGIApplication,
        end_instances: Callable[[list[str], str], None],
        in_states: Callable[[list[str]], AbstractContextManager[None]],
        program_calls: ProgramCalls,
    ) -> None:
        """Wrap moto's application.

        Args:
            moto: The application.
            end_instances: Ends instances, by their ids, for a reason of EC2's own.
            in_states: Has what a call makes go through these states; none: moto's own.
            program_calls: Where the program's calls are noted.
        """
        self._moto = moto
        self._end_instances = end_instances
        self._in_states = in_states
        self._program_calls = program_calls
        self._moto_lock = threading.Lock()
        self._lock = threading.Lock()
        self._calls: list[dict[str, Any]] = []
        self._rules: list[Rule] = []
        self._hold = Hold()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        request = Request(environ)
        if request.path.startswith("/moto-api/"):
            return self._moto(environ, start_response)
        if request.path.startswith("/testbed/"):
            return self._control(request)(environ, start_response)
        return self._call(request)(environ, start_response)

    def _call(self, request: Request) -> Response:
        body = request.get_data()
        service, action, parameters = protocols.read(request, body)
        call: dict[str, Any] = {
            "service": service,
            "action": action,
            "parameters": parameters,
            "status": None,
        }
        with self._lock:
            self._calls.append(call)
            rules = [rule for rule in self._rules if rule.fires(action, parameters)]
        if protocols.is_ours(request):
            self._program_calls.note(service, action)
        if any(rule.hold_before for rule in rules):
            self._hold.hold(action)
            if is_gone(request):
                return Response("nobody reads this", 500)
        if any(rule.drop == "before" for rule in rules):
            drop(request)
        response = self._answer(request, body, service, rules)
        call["status"] = response.status_code
        if any(rule.hold for rule in rules):
            self._hold.hold(action)
        if any(rule.drop == "after" for rule in rules):
            drop(request)
        return response

    def _answer(self, request: Request, body: bytes, service: str, rules: list[Rule]) -> Response:
        """Let moto answer, or a rule in its place, and apply what the rules say of the answer."""
        error = next((rule.error for rule in rules if rule.error), None)
        if error:
            return protocols.failure(error, service)
        response = self._forward(request, body, service, [each for rule in rules for each in rule.states])
        for rule in rules:
            if rule.replace:
                response.set_data(rule.rewrite(response.get_data(as_text=True)))
            if rule.ends:
                self._end(response, rule.ends)
        return response

    def _end(self, response: Response, reason: str) -> None:
        instance_ids = re.findall(r"<instanceId>(i-[0-9a-f]+)</instanceId>", response.get_data(as_text=True))
        with self._moto_lock:
            self._end_instances(instance_ids, reason)

    def _forward(self, request: Request, body: bytes, service: str, states: list[str]) -> Response:
        """Let moto answer, one call at a time: its models are not made for threads."""
        environ = {**request.environ, "wsgi.input": io.BytesIO(body)}
        try:
            with self._moto_lock, self._in_states(states):
                return Response.from_app(self._moto, environ, buffered=True)
        except Exception as problem:  # noqa: BLE001 - any defect of moto's ends up here
            traceback.print_exc(file=sys.stderr)
            return protocols.failure(Error("InternalError", f"moto: {problem!r}", 500), service)

    def _control(self, request: Request) -> Response:
        name = request.path.removeprefix("/testbed/")
        handlers: dict[tuple[str, str], Callable[[Request], Response]] = {
            ("GET", "calls"): self._list_calls,
            ("DELETE", "calls"): self._forget_calls,
            ("POST", "rules"): self._add_rules,
            ("DELETE", "rules"): self._clear_rules,
            ("POST", "release"): self._release,
            ("GET", "held"): self._wait_until_held,
        }
        handler = handlers.get((request.method, name))
        return handler(request) if handler else Response("unknown", 404)

    def _list_calls(self, request: Request) -> Response:
        del request
        with self._lock:
            return answer(self._calls)

    def _forget_calls(self, request: Request) -> Response:
        del request
        with self._lock:
            self._calls.clear()
        return answer([])

    def _add_rules(self, request: Request) -> Response:
        try:
            rules = [Rule.parse(document) for document in request.get_json(force=True)]
        except Exception as problem:  # noqa: BLE001 - tells the test what is wrong
            return answer({"error": repr(problem)}, 400)
        with self._lock:
            self._rules.extend(rules)
        return answer([])

    def _clear_rules(self, request: Request) -> Response:
        with self._lock:
            self._rules.clear()
        return self._release(request)

    def _release(self, request: Request) -> Response:
        del request
        self._hold.release()
        return answer([])

    def _wait_until_held(self, request: Request) -> Response:
        seconds = request.args.get("seconds", type=float)
        if seconds is not None:
            return answer(self._hold.wait(seconds))
        held = self._hold.wait(PATIENCE)
        return answer(held, 200 if held else 504)


def answer(document: object, status: int = 200) -> Response:
    """Answer a document to the test."""
    return Response(json.dumps(document), status, content_type="application/json")
