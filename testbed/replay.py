"""Replays recorded requests of real callers, with the ids and names of the current world."""

import json
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from testbed.executable import Answer, Cpi
from testbed.world import World

CREATING: Final = frozenset({"create_stemcell", "create_vm", "create_disk", "snapshot_disk"})
"""The methods that return the id of a new resource."""
ID: Final = re.compile(r"\b[a-z]+-[0-9a-f]+\b")
"""AWS's ids, also inside messages and in "ami-… light"."""


@dataclass(frozen=True)
class Step:
    """One request of a flow."""

    request: dict[str, Any]
    recorded: dict[str, Any]
    answer: Answer

    @property
    def method(self) -> str:
        """The method that was called."""
        name: str = self.request["method"]
        return name


def director_names(world: World) -> dict[str, str]:
    """Return the names that exist before the first request of the recorded Director, with the world's own."""
    return {
        "ami-4500ff11b8725a8c3": world.image_id,
        "subnet-8f98c8d05a1d0068c": world.subnet_ids[0],
        "subnet-e6e7f955b0ae23fb1": world.subnet_ids[2],
    }


class Replay:
    """Sends recorded requests to the executable, one after another.

    Attributes:
        names: The recorded ids and names, with their replacements. Ids that the executable
            answers are added automatically, as replacements of the recorded ones.
    """

    def __init__(self, cpi: Cpi, names: Mapping[str, str]) -> None:
        self.names = dict(names)
        self._cpi = cpi

    def play(self, flow: Sequence[dict[str, Any]], methods: Container[str] | None = None) -> list[Step]:
        """Send a flow's requests: all, or those of some methods."""
        chosen = [line for line in flow if methods is None or line["request"]["method"] in methods]
        return [self._send(line["request"], line["response"]) for line in chosen]

    def same(self, later: str, earlier: str) -> None:
        """Map an id of one flow to the id that an earlier flow has for the same resource."""
        self.names[later] = self.names[earlier]

    def _send(self, recorded: dict[str, Any], response: dict[str, Any]) -> Step:
        request = self._translated(recorded)
        answer = self._cpi.raw(json.dumps(request).encode())
        if recorded["method"] in CREATING:
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
        if isinstance(value, str):
            return self.names.get(value) or ID.sub(lambda found: self.names.get(found[0], found[0]), value)
        return value
