"""What tests tell the stand-in for AWS and ask it: calls so far, rules, holds, throttling, resources."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

from werkzeug.wrappers import Response

from testbed.buckets import Buckets
from testbed.hold import PATIENCE, Hold
from testbed.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from werkzeug.wrappers import Request

    from testbed.resources import Resources

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
        """Start with no calls and no rules.

        Args:
            forget_unseen: Lets everything be seen that rules have hidden.
            resources: The resources in moto.
        """
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
        handlers: dict[tuple[str, str], Callable[[Request], Response]] = {
            ("DELETE", ""): self._reset,
            ("POST", "resources"): self._keep_resources,
            ("PUT", "resources"): self._restore_resources,
            ("GET", "contents"): self._tell_contents,
            ("GET", "calls"): self._list_calls,
            ("DELETE", "calls"): self._forget_calls,
            ("POST", "rules"): self._add_rules,
            ("DELETE", "rules"): self._clear_rules,
            ("POST", "policy"): self._set_policy,
            ("POST", "release"): self._release,
            ("GET", "held"): self._wait_until_held,
            ("GET", "buckets"): self._tell_buckets,
            ("POST", "buckets"): self._fill_buckets,
        }
        handler = handlers.get((request.method, request.path.removeprefix(PREFIX)))
        return handler(request) if handler else Response("unknown", 404)

    def _reset(self, request: Request) -> Response:
        self._resources.delete()  # first: the calls that are released below then have no effect
        self._clear_rules(request)
        self.buckets.fill(0)
        self.policy_names = {}
        return self._forget_calls(request)

    def _keep_resources(self, request: Request) -> Response:
        del request
        self._resources.keep()
        return _told([])

    def _restore_resources(self, request: Request) -> Response:
        del request
        self._resources.restore()
        return _told([])

    def _tell_contents(self, request: Request) -> Response:
        del request
        return _told(self._resources.contents())

    def _list_calls(self, request: Request) -> Response:
        del request
        with self._lock:
            return _told(self._calls)

    def _forget_calls(self, request: Request) -> Response:
        del request
        with self._lock:
            self._calls.clear()
        return _told([])

    def _add_rules(self, request: Request) -> Response:
        try:
            rules = [Rule.parse(document) for document in request.get_json(force=True)]
        except Exception as problem:  # noqa: BLE001 - reports the error to the test
            return _told({"error": repr(problem)}, 400)
        with self._lock:
            self._rules.extend(rules)
        return _told([])

    def _clear_rules(self, request: Request) -> Response:
        with self._lock:
            self._rules.clear()
        self._forget_unseen()
        return self._release(request)

    def _set_policy(self, request: Request) -> Response:
        self.policy_names = request.get_json(force=True)
        return _told([])

    def _release(self, request: Request) -> Response:
        del request
        self.hold.release()
        return _told([])

    def _wait_until_held(self, request: Request) -> Response:
        seconds = request.args.get("seconds", type=float)
        if seconds is not None:
            return _told(self.hold.wait(seconds))
        held = self.hold.wait(PATIENCE)
        return _told(held, 200 if held else 504)

    def _tell_buckets(self, request: Request) -> Response:
        del request
        return _told(self.buckets.figures())

    def _fill_buckets(self, request: Request) -> Response:
        self.buckets.fill(float(request.get_json(force=True)))
        return _told([])


def _told(document: object, status: int = 200) -> Response:
    return Response(json.dumps(document), status, content_type="application/json")
