"""Rules: which calls to the stand-in for AWS are answered differently, and how."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from urllib.parse import urlencode

from testbed.tag_policy import lacks_tag

REQUEST_ID = "00000000-0000-4000-8000-000000000000"
ANY = "*"


@dataclass(frozen=True)
class Error:
    """An error to answer with, instead of forwarding the call.

    Attributes:
        code: AWS's error code, such as `RequestLimitExceeded`.
        message: AWS's message; `{parameters}` in it stands for the call's parameters, in three spellings.
        status: The HTTP status.
        reason: The reason that the EBS direct APIs add to some codes, such as `INVALID_BLOCK`.
    """

    code: str
    message: str
    status: int = 400
    reason: str = ""

    def quoting(self, parameters: dict[str, str]) -> Error:
        """Repeat a call's parameters in the message, where it says so."""
        said = f"{urlencode(parameters)} {json.dumps(parameters)} {parameters}"
        return replace(self, message=self.message.replace("{parameters}", said))


LATE = Error("InternalError", "this call came before everything was deleted", 500)
"""The answer to a call that arrived before the end of an earlier test."""


@dataclass
class Rule:
    """One rule; counts the calls that it concerns.

    Attributes:
        action: The action, such as `RunInstances`; `*` stands for all of them.
        nth: The number of the first call that it fires at, since it was set; 0 and 1 are the first.
        times: How many calls it fires at; None: all from then on. The default is one
            with `nth`, `hold` or `hold_before` and without `seconds`, otherwise all.
        seconds: How long it fires, from the first call that it fires at; 0: forever.
        where: Only calls with these parameters, by their full names, are counted.
        without_tag: Only calls that create something without a tag of this key are counted.
        error: The error to answer with.
        hold: Whether the answer is held back until the release; the call has had its effect.
        hold_before: Whether the call is held back until the release; it has no effect
            before that, and none at all when its client is gone by then. Rules that are set
            meanwhile count it as their first call.
        delay: Seconds by which the answer is late, unless it is released; the call has had its
            effect.
        ends: The reason for which EC2 ends the instances in the answer right afterwards, such as
            `Server.InternalError: Internal error on launch`.
        drop: When to close the client's connection without an answer: `before` the call has
            its effect, which it then never has, or `after` that; `reset` is after it, too, with a
            reset (RST) in place of an orderly end.
        states: The states of the resource that the call creates, modifies or completes, such as
            `["modifying", "optimizing", "completed"]`. Each later call that asks for the
            resource shows the next one, and the last one stays; see
            `testbed.moto_patches.states`.
        unseen: How many lookups of the call's new resource fail, because AWS does not know it
            everywhere yet; see `testbed.moto_patches.visibility`.
        shows: Whether the record of the call shows the answer's text.
        status: The HTTP status in place of the answer's; 0: its own.
        replace: Patterns (regular expressions) and their replacements in the answer.
    """

    action: str
    nth: int = 0
    times: int | None = None
    seconds: float = 0.0
    where: dict[str, str] = field(default_factory=dict)
    without_tag: str = ""
    error: Error | None = None
    hold: bool = False
    hold_before: bool = False
    delay: float = 0.0
    ends: str = ""
    drop: Literal["", "before", "after", "reset"] = ""
    states: list[str] = field(default_factory=list)
    unseen: int = 0
    shows: bool = False
    status: int = 0
    replace: list[tuple[str, str]] = field(default_factory=list)
    _seen: int = field(default=0, init=False)
    _until: float | None = field(default=None, init=False)

    @classmethod
    def parse(cls, document: dict[str, Any]) -> Rule:
        """Read a rule from its JSON form; unknown keys are an error."""
        fields = dict(document)
        if "error" in fields:
            fields["error"] = Error(**fields["error"])
        fields["replace"] = [(old, new) for old, new in fields.get("replace", [])]
        for pattern, _ in fields["replace"]:
            re.compile(pattern)
        if fields.get("drop", "") not in {"", "before", "after", "reset"}:
            raise ValueError(fields["drop"])
        rule = cls(**fields)
        if "times" not in document and not rule.seconds and (rule.nth or rule.hold or rule.hold_before):
            rule.times = 1
        return rule

    def fires(self, action: str, parameters: dict[str, str]) -> bool:
        """Count a call, and return whether the rule fires at it."""
        if self.action not in {action, ANY} or not self.where.items() <= parameters.items():
            return False
        if self.without_tag and not lacks_tag(action, parameters, self.without_tag):
            return False
        self._seen += 1
        since = self._seen - max(self.nth, 1)
        return since >= 0 and (self.times is None or since < self.times) and self._is_in_time()

    def _is_in_time(self) -> bool:
        if not self.seconds:
            return True
        now = time.monotonic()
        if self._until is None:
            self._until = now + self.seconds
        return now < self._until

    def rewrite(self, text: str) -> str:
        """Apply the replacements to the body of an answer."""
        for pattern, replacement in self.replace:
            text = re.sub(pattern, replacement, text, flags=re.DOTALL)
        return text
