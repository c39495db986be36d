"""Rules: which calls to the stand-in for AWS are answered differently, and how."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from xml.sax.saxutils import escape

REQUEST_ID = "00000000-0000-4000-8000-000000000000"
ANY = "*"


@dataclass(frozen=True)
class Error:
    """An error to answer with, instead of forwarding the call."""

    code: str
    message: str
    status: int = 400

    def document(self, service: str) -> bytes:
        """Write the error as the service does: EC2's shape is its own."""
        code, message = escape(self.code), escape(self.message)
        if service == "ec2":
            text = (
                '<?xml version="1.0" encoding="UTF-8"?>\n'
                f"<Response><Errors><Error><Code>{code}</Code>"
                f"<Message>{message}</Message></Error></Errors>"
                f"<RequestID>{REQUEST_ID}</RequestID></Response>"
            )
        else:
            fault = "Sender" if self.status < 500 else "Receiver"
            text = (
                f"<ErrorResponse><Error><Type>{fault}</Type><Code>{code}</Code>"
                f"<Message>{message}</Message></Error>"
                f"<RequestId>{REQUEST_ID}</RequestId></ErrorResponse>"
            )
        return text.encode()


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
