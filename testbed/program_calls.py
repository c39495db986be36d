"""Records the executable's calls to AWS, and so the permissions that it needs."""

import json
import os
import threading
import uuid
from pathlib import Path

VARIABLE = "CPI_RECORD_CALLS"
"""The variable with the folder in which each stand-in for AWS writes a file at its end, if it is set."""


class ProgramCalls:
    """The executable's calls to a stand-in; a reset keeps them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: set[tuple[str, str, str]] = set()

    @property
    def is_written(self) -> bool:
        """Whether the variable is set."""
        return bool(os.environ.get(VARIABLE))

    def note(self, service: str, action: str, denial: str = "") -> None:
        """Record a call, whatever its answer."""
        with self._lock:
            self._seen.add((service, action, denial))

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
