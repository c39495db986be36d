"""Records the program's calls to AWS, and so the permissions that it needs."""

from __future__ import annotations

import json
import os
import threading
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from testbed.iam import denial_to_owner

if TYPE_CHECKING:
    from testbed.protocols import Call

VARIABLE = "CPI_RECORD_CALLS"
"""The variable with the folder in which each stand-in for AWS writes a file at its end, if it is set."""


class ProgramCalls:
    """The program's calls to a stand-in; a reset keeps them."""

    def __init__(self) -> None:
        """Begin without calls."""
        self._lock = threading.Lock()
        self._seen: set[tuple[str, str, str]] = set()

    def note(self, call: Call, region: str) -> None:
        """Record a call, whatever its answer, and why the restricted IAM policy denies it, if it does."""
        reason = denial_to_owner(call, region) if os.environ.get(VARIABLE) else ""
        with self._lock:
            self._seen.add((call.service, call.action, reason))

    def write(self) -> None:
        """Write the calls to a new file in the folder, if the variable is set; others may write there too."""
        folder = os.environ.get(VARIABLE)
        with self._lock:
            seen = sorted(self._seen)
        if not (folder and seen):
            return
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        (path / f"{uuid.uuid4()}.json").write_text(json.dumps(seen) + "\n")
