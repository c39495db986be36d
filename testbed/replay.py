"""Replays recorded requests of real callers, with the ids and names of the current world."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Container, Mapping
    from pathlib import Path

    from testbed.executable import Answer, Cpi

LIGHT = " light"


@dataclass(frozen=True)
class Step:
    """One request of a flow.

    Attributes:
        request: As it was sent to the executable.
        recorded: The recorded response, with the world's names.
        answer: The executable's response.
    """

    request: dict[str, Any]
    recorded: dict[str, Any]
    answer: Answer

    @property
    def method(self) -> str:
        """The method that was called."""
        name: str = self.request["method"]
        return name


class Replay:
    """Sends recorded requests to the executable, one after another.

    Attributes:
        names: The recorded ids and names, with their replacements. Ids that the executable
            answers are added automatically, as replacements of the recorded ones.
    """

    def __init__(self, cpi: Cpi, names: Mapping[str, str]) -> None:
        """Start with the names that exist before the first request."""
        self.names = dict(names)
        self._cpi = cpi

    def play(self, flow: Path, methods: Container[str] | None = None) -> list[Step]:
        """Send a flow's requests: all, or those of some methods."""
        lines = [json.loads(line) for line in flow.read_text().splitlines()]
        chosen = [line for line in lines if methods is None or line["request"]["method"] in methods]
        return [self._send(line["request"], line["response"]) for line in chosen]

    def same(self, later: str, earlier: str) -> None:
        """Map an id of one flow to the id that an earlier flow has for the same resource."""
        self.names[later] = self.names[earlier]

    def _send(self, recorded: dict[str, Any], response: dict[str, Any]) -> Step:
        request = self._translated(recorded)
        answer = self._cpi.raw(json.dumps(request).encode())
        if recorded["method"] in {"create_vm", "create_disk"}:
            self._learn(response["result"], answer.document["result"])
        return Step(request, self._translated(response), answer)

    def _learn(self, recorded: Any, answered: Any) -> None:
        """Note the id of the created resource: the result, or the first part of it."""
        while isinstance(recorded, list) and isinstance(answered, list):
            recorded, answered = recorded[0], answered[0]
        if isinstance(recorded, str) and isinstance(answered, str):
            self.names.setdefault(recorded, answered)

    def _translated(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._translated(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._translated(inner) for inner in value]
        if isinstance(value, str) and value.endswith(LIGHT):
            return self._translated(value.removesuffix(LIGHT)) + LIGHT
        return self.names.get(value, value) if isinstance(value, str) else value
