"""Records the program's calls to AWS, and so the permissions that it needs."""

from __future__ import annotations

import json
import os
import threading
import uuid
from pathlib import Path

VARIABLE = "CPI_RECORD_CALLS"
"""Names the folder in which each stand-in for AWS leaves a file in the end; without it none does."""


class ProgramCalls:
    """The set of a stand-in's calls that were the program's; a reset does not empty it."""

    def __init__(self) -> None:
        """Start with none."""
        self._lock = threading.Lock()
        self._seen: set[tuple[str, str]] = set()

    def note(self, service: str, action: str) -> None:
        """Note a call, whatever it is answered."""
        with self._lock:
            self._seen.add((service, action))

    def write(self) -> None:
        """Write a file of their own into the folder, if there is to be any: others may do so meanwhile."""
        folder = os.environ.get(VARIABLE)
        with self._lock:
            seen = sorted(self._seen)
        if not (folder and seen):
            return
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        (path / f"{uuid.uuid4()}.json").write_text(json.dumps(seen) + "\n")
