"""How a look-up may fail whose only purpose is a clearer error."""

from typing import Any

FAILING_LOOKUPS: dict[str, dict[str, Any]] = {
    "denied": {"error": {"code": "UnauthorizedOperation", "message": "No.", "status": 403}},
    "unanswered": {"drop": "before"},
    "unreadable": {"replace": [[r"\A.*\Z", "no XML"]]},
}
"""Rules for the action, by their names."""
