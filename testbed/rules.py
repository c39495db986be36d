"""Rules: which calls to the stand-in for AWS are answered differently, and how."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal

REQUEST_ID = "00000000-0000-4000-8000-000000000000"
ANY = "*"


@dataclass(frozen=True)
class Error:
    """An error to answer with, instead of forwarding the call.

    Attributes:
        code: AWS's, as `RequestLimitExceeded`.
        message: AWS's.
        status: Of HTTP.
        reason: What the EBS direct APIs say beside some codes, as `INVALID_BLOCK`.
    """

    code: str
    message: str
    status: int = 400
    reason: str = ""


@dataclass
class Rule:
    """One rule; counts the calls that it is about.

    Attributes:
        action: The action, such as `RunInstances`; `*` stands for all of them.
        nth: The first call that it fires at, since it was set; 0 and 1 are the first.
        times: How many calls it fires at; none: all the following. The default is
            one with `nth`, `hold` or `hold_before`, otherwise all.
        where: Parameters that a call must have to be counted, by their full names.
        error: The error to answer with.
        hold: Whether the answer is held back until the release; the call has had its effect.
        hold_before: Whether the call is held back until the release; it has no effect
            before that, and none at all when its client is gone by then.
        ends: Why EC2 ends the instances that the answer names, right after it, as
            `Server.InternalError: Internal error on launch`.
        drop: The client's connection is closed without an answer: `before` the call is
            forwarded, which then has no effect, or `after`, when it has had one.
        states: What becomes of the thing that the call makes, modifies or completes: the
            states in which it is shown to the calls that ask for it from then on, the
            last one for good, as `["modifying", "optimizing", "completed"]`; see
            `testbed.moto_patches.states`.
        replace: Patterns (regular expressions) and what replaces them in the answer.
    """

    action: str
    nth: int = 0
    times: int | None = None
    where: dict[str, str] = field(default_factory=dict)
    error: Error | None = None
    hold: bool = False
    hold_before: bool = False
    ends: str = ""
    drop: Literal["", "before", "after"] = ""
    states: list[str] = field(default_factory=list)
    replace: list[tuple[str, str]] = field(default_factory=list)
    seen: int = 0

    @classmethod
    def parse(cls, document: dict[str, Any]) -> Rule:
        """Read a rule from its JSON form; unknown keys are an error."""
        fields = dict(document)
        if "error" in fields:
            fields["error"] = Error(**fields["error"])
        fields["replace"] = [(old, new) for old, new in fields.get("replace", [])]
        for pattern, _ in fields["replace"]:
            re.compile(pattern)
        if fields.get("drop", "") not in {"", "before", "after"}:
            raise ValueError(fields["drop"])
        rule = cls(**fields)
        if "times" not in document and (rule.nth or rule.hold or rule.hold_before):
            rule.times = 1
        return rule

    def fires(self, action: str, parameters: dict[str, str]) -> bool:
        """Count a call, and say whether this is one that the rule is for."""
        if self.action not in {action, ANY} or not self.where.items() <= parameters.items():
            return False
        self.seen += 1
        since = self.seen - max(self.nth, 1)
        return since >= 0 and (self.times is None or since < self.times)

    def rewrite(self, text: str) -> str:
        """Apply the replacements to the body of an answer."""
        for pattern, replacement in self.replace:
            text = re.sub(pattern, replacement, text, flags=re.DOTALL)
        return text
