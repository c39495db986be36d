"""What the Ruby release's CPI asked of AWS, to be repeated beside this one.

tests/data/beside has two recordings of version 107.3.2 on the simulated AWS: in one the Ruby release makes
the resources and this CPI uses and deletes them, in the other it is the reverse.
"""

import json
import re
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from testbed.executable import Cpi
from testbed.world import World

RECORDINGS: Final = Path(__file__).parent.parent / "tests" / "data" / "beside"
RUBY, PYTHON = "ruby", "python"
MADE: Final = (RUBY, PYTHON)
"""Who makes the resources; the other one then uses and deletes them. Each has a recording of its name."""
_ID: Final = re.compile(r"\b[a-z]+-[0-9a-f]{17}\b")
_WRITTEN: Final = re.compile(r"([a-z]+)(-?)([0-9a-f]{17})\b")
"""An id also as the path of a device has it: without the hyphen."""
_SIGNED: Final = (
    "AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/ec2/aws4_request, SignedHeaders=host, Signature=x"
)
"""By which the stand-in finds the service; it checks no signature."""


def read(maker: str) -> list[dict[str, Any]]:
    """Read a recording: the world's ids, then a line for each call of a CPI."""
    return [json.loads(line) for line in (RECORDINGS / f"{maker}.jsonl").read_text().splitlines()]


def ids(text: str) -> list[str]:
    """Return the ids in a text, each once, in their order."""
    return list(dict.fromkeys(_ID.findall(text)))


def known(world: World) -> list[str]:
    """Return the ids that calls may name from the beginning."""
    return [world.image_id, world.subnet_id]


class Replay:
    """A recording in another world: the Ruby release's AWS calls are repeated, and this CPI is called."""

    def __init__(self, cpi: Cpi, endpoint: str, names: Mapping[str, str]) -> None:
        self.names = dict(names)
        self._cpi = cpi
        self._endpoint = endpoint

    def play(self, line: dict[str, Any]) -> Any:
        """Repeat a call; returns the result."""
        if line["by"] == PYTHON:
            arguments = self.translated(line["arguments"])
            result = self._cpi.call(line["method"], *arguments, api_version=3, stemcell=3).ok()
            self._learn(ids(json.dumps(line["result"])), ids(json.dumps(result)))
            return result
        for call in line["calls"]:
            body = urlencode(self.translated(call["parameters"])).encode()
            status, answered = _send(self._endpoint, body)
            if status != call["status"]:
                raise AssertionError(f"{line['method']}: {call} now answers {status}: {answered}")
            self._learn(call["ids"], ids(answered))
        return self.translated(line["result"])

    def translated(self, value: Any) -> Any:
        """Write this world's ids for those of the recording, in any JSON."""

        def now(found: re.Match[str]) -> str:
            kind, hyphen, number = found.groups()
            return self.names.get(f"{kind}-{number}", f"{kind}-{number}").replace("-", hyphen)

        return json.loads(_WRITTEN.sub(now, json.dumps(value)))

    def _learn(self, recorded: Sequence[str], answered: Sequence[str]) -> None:
        for each, now in zip(recorded, answered, strict=False):
            self.names.setdefault(each, now)


def _send(endpoint: str, body: bytes) -> tuple[int, str]:
    """Send a call of EC2; returns the status and the text of its answer."""
    request = urllib.request.Request(endpoint, body, {"Authorization": _SIGNED})  # noqa: S310 - the stand-in's address
    try:
        with urllib.request.urlopen(request) as response:  # noqa: S310 - likewise
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
