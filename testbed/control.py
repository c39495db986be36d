"""What tests tell the stand-in for AWS and ask it: calls so far, rules, holds, throttling, resources."""

import json
import threading
from collections.abc import Callable, Sequence
from typing import Any

from werkzeug.wrappers import Request, Response

from testbed.buckets import Buckets
from testbed.hold import PATIENCE, Hold
from testbed.resources import Resources
from testbed.rules import Rule

PREFIX = "/testbed/"
"""Of the paths that are answered here."""


class Control:
    """The record of calls and the rules of the tests, for the calls and for the tests.

    Attributes:
        hold: Where held calls wait.
        buckets: The account's.
        policy_names: What the restricted IAM policy of the program's keys names; empty allows everything.
    """

    def __init__(self, forget_unseen: Callable[[], None], resources: Resources) -> None:
        self._resources = resources
        self.hold = Hold()
        self.buckets = Buckets()
        self.policy_names: dict[str, str] = {}
        self._forget_unseen = forget_unseen
        self._lock = threading.Lock()
        self._calls: list[dict[str, Any]] = []
        self._rules: list[Rule] = []

    def note(self, call: dict[str, Any]) -> None:
        """Add a call to the record; its status comes later."""
        with self._lock:
            self._calls.append(call)

    def rules_for(
        self, action: str, parameters: dict[str, str], known: Sequence[Rule] = ()
    ) -> tuple[list[Rule], list[Rule]]:
        """Count a call, and find the rules that fire at it.

        Args:
            action: The call's action.
            parameters: Its parameters.
            known: Rules that have counted the call already.

        Returns:
            Those that fire, and all that there are.
        """
        with self._lock:
            new = [rule for rule in self._rules if not any(rule is each for each in known)]
            return [rule for rule in new if rule.fires(action, parameters)], [*self._rules]

    def answer(self, request: Request) -> Response:
        """Answer a test."""
        handlers: dict[tuple[str, str], Callable[[], object]] = {
            ("DELETE", ""): self._reset,
            ("GET", "resources"): self._resources.existing,
            ("POST", "resources"): self._resources.keep,
            ("PUT", "resources"): self._restore,
            ("GET", "contents"): self._resources.contents,
            ("GET", "calls"): lambda: self._calls,
            ("DELETE", "calls"): self._forget_calls,
            ("POST", "rules"): lambda: self._add_rules(request.get_json(force=True)),
            ("DELETE", "rules"): self._clear_rules,
            ("POST", "policy"): lambda: setattr(self, "policy_names", request.get_json(force=True)),
            ("POST", "release"): self.hold.release,
            ("GET", "held"): lambda: self.hold.wait(request.args.get("seconds", PATIENCE, float)),
            ("GET", "buckets"): self.buckets.figures,
            ("POST", "buckets"): lambda: self.buckets.fill(float(request.get_json(force=True))),
        }
        handler = handlers.get((request.method, request.path.removeprefix(PREFIX)))
        if handler is None:
            return Response("unknown", 404)
        try:
            answered, status = handler(), 200
        except Exception as problem:  # noqa: BLE001 - reports the error to the test
            answered, status = {"error": repr(problem)}, 400
        with self._lock:
            return Response(json.dumps(answered), status, content_type="application/json")

    def _reset(self) -> None:
        self._resources.delete()  # first: the calls that are released below then have no effect
        self._clear_rules()
        self.buckets.fill(0)
        self.policy_names = {}
        self._forget_calls()

    def _restore(self) -> None:
        self._resources.restore()
        self._forget_calls()

    def _forget_calls(self) -> None:
        with self._lock:
            self._calls.clear()

    def _add_rules(self, documents: list[dict[str, Any]]) -> None:
        rules = [Rule.parse(document) for document in documents]
        with self._lock:
            self._rules.extend(rules)

    def _clear_rules(self) -> None:
        with self._lock:
            self._rules.clear()
        self._forget_unseen()
        self.hold.release()
