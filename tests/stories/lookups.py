"""How a look-up may fail whose only purpose is a clearer error."""

from __future__ import annotations

from typing import Any

FAILING_LOOKUPS: dict[str, dict[str, Any]] = {
    "denied": {"error": {"code": "UnauthorizedOperation", "message": "No.", "status": 403}},
    "unknown": {"error": {"code": "InvalidAction", "message": "No such action.", "status": 400}},
    "unanswered": {"drop": "before"},
    "unreadable": {"replace": [[r"\A.*\Z", "no XML"]]},
    "a page": {"replace": [[r"\A.*\Z", "<html><body>No</body></html>"]]},
    "hollow": {"replace": [[r"\A.*?<(\w+Response)\b.*\Z", r"<\1><requestId>1</requestId></\1>"]]},
}
"""Rules for the action, by their names."""
