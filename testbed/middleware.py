"""Stands between the clients and moto: records each call, and applies the rules of the tests.

What is under `/testbed/` is answered by `testbed.control`.
"""

import io
import re
import sys
import threading
import traceback
from collections.abc import Iterable
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from werkzeug.wrappers import Request, Response

from testbed import iam, protocols
from testbed.buckets import THROTTLED
from testbed.control import PREFIX, Control
from testbed.hold import drop, is_gone
from testbed.moto_patches.states import in_states
from testbed.moto_patches.termination import end_instances
from testbed.moto_patches.visibility import Unseen
from testbed.program_calls import ProgramCalls
from testbed.protocols import Call
from testbed.resources import Resources
from testbed.rules import LATE, Error, Rule

GENERATION = "testbed.generation"
"""Key of a request's environment: the generation of the resources when the call arrived."""


class Middleware:
    """A WSGI application around moto's."""

    def __init__(self, moto: WSGIApplication, program_calls: ProgramCalls) -> None:
        self._moto = moto
        self._unseen = Unseen()
        self._program_calls = program_calls
        self._moto_lock = threading.Lock()
        self._resources = Resources(self._moto_lock)
        self._control = Control(self._unseen.forget, self._resources)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        request = Request(environ)
        answer = self._control.answer if request.path.startswith(PREFIX) else self._call
        return answer(request)(environ, start_response)

    def _call(self, request: Request) -> Response:
        request.environ[GENERATION] = self._resources.generation
        call = protocols.read(request, request.get_data())
        record: dict[str, Any] = {
            "service": call.service,
            "action": call.action,
            "parameters": call.parameters,
            "status": None,
            "user_agent": request.headers.get("User-Agent", ""),
        }
        self._control.note(record)
        if protocols.is_ours(request):
            if protocols.is_of_executable(request):
                self._note(request, call)
            if not self._control.buckets.allow(*call):
                throttled = THROTTLED[call.service]
                record["status"] = throttled.status
                return protocols.failure(throttled, call.service)
            if denied := self._denial(request, call):
                record["status"] = denied.status
                return protocols.failure(denied, call.service)
        rules, known = self._control.rules_for(call.action, call.parameters)
        if any(rule.hold_before for rule in rules):
            self._control.hold.hold(call.action)
            if is_gone(request):
                return Response("nobody reads this", 500)
            rules += self._control.rules_for(call.action, call.parameters, known)[0]
        if any(rule.drop == "before" for rule in rules):
            drop(request)
        response = self._answer(request, call, rules)
        record["status"] = response.status_code
        if any(rule.shows for rule in rules):
            record["answer"] = response.get_data(as_text=True)
        self._send_off(request, call, rules)
        return response

    def _note(self, request: Request, call: Call) -> None:
        """Record a call of the executable, and what the restricted policy makes of it."""
        with self._moto_lock:
            is_judged = self._program_calls.is_written
            denial = iam.denial_to_owner(call, protocols.region_of(request)) if is_judged else ""
        self._program_calls.note(call.service, call.action, denial)

    def _denial(self, request: Request, call: Call) -> Error | None:
        """The error if the policy does not allow a call; its code depends on the service's protocol.

        EC2's guide, the API models of the EBS direct APIs and Service Quotas, and for the others reports.
        """
        names, region = self._control.policy_names, protocols.region_of(request)
        with self._moto_lock:
            reason = iam.denial(names, call, region) if names else ""
        has_json_errors = call.service in protocols.REST | protocols.TARGETED
        other = "AccessDeniedException" if has_json_errors else "AccessDenied"
        code = "UnauthorizedOperation" if call.service == "ec2" else other
        return Error(code, reason, 403) if reason else None

    def _send_off(self, request: Request, call: Call, rules: list[Rule]) -> None:
        """Let an answer wait for as long as the rules say, or get lost."""
        if any(rule.hold for rule in rules):
            self._control.hold.hold(call.action)
        if delay := max((rule.delay for rule in rules), default=0.0):
            self._control.hold.delay(delay)
        if any(rule.drop in {"after", "reset"} for rule in rules):
            drop(request, is_reset=any(rule.drop == "reset" for rule in rules))

    def _answer(self, request: Request, call: Call, rules: list[Rule]) -> Response:
        """Let moto answer, or a rule in its place, and apply the rules for the answer."""
        error = next((rule.error for rule in rules if rule.error), None)
        if error:
            response = protocols.failure(error.quoting(call.parameters), call.service)
        else:
            response = self._forward(request, call, rules)
        for rule in rules:
            if rule.replace:
                response.set_data(rule.rewrite(response.get_data(as_text=True)))
            response.status_code = rule.status or response.status_code
            if rule.ends:
                self._end(response, rule.ends)
        return response

    def _end(self, response: Response, reason: str) -> None:
        instance_ids = re.findall(r"<instanceId>(i-[0-9a-f]+)</instanceId>", response.get_data(as_text=True))
        with self._moto_lock:
            end_instances(instance_ids, reason)

    def _forward(self, request: Request, call: Call, rules: list[Rule]) -> Response:
        """Let moto answer, one call at a time: its models are not thread-safe."""
        environ = {**request.environ, "wsgi.input": io.BytesIO(request.get_data())}
        states = [state for rule in rules for state in rule.states]
        looks = max((rule.unseen for rule in rules), default=0)
        try:
            with self._moto_lock, in_states(states), self._unseen.during(call, looks):
                if environ[GENERATION] != self._resources.generation:
                    return protocols.failure(LATE, call.service)
                return Response.from_app(self._moto, environ, buffered=True)
        except Exception as problem:  # noqa: BLE001 - any defect of moto's ends up here
            traceback.print_exc(file=sys.stderr)
            return protocols.failure(Error("InternalError", f"moto: {problem!r}", 500), call.service)
