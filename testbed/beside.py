"""This CPI and the Ruby release's with each other's resources; the latter's AWS calls are recorded.

`python -m testbed.beside PROGRAM` records anew. PROGRAM is the Ruby release's CPI with its gems; it takes the
path of a cpi.json, and a request on stdin. The tests need no Ruby.
"""

from __future__ import annotations

import json
import re
import sys
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, urlencode

from testbed.cloud import FakeAws
from testbed.executable import Cpi, config

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from testbed.world import World

RECORDINGS: Final = Path(__file__).parent.parent / "tests" / "data" / "beside"
RUBY, PYTHON = "ruby", "python"
MADE: Final = (RUBY, PYTHON)
"""Who makes the resources; the other one then uses and deletes them. Each has a recording of its name."""
_ID: Final = re.compile(r"\b[a-z]+-[0-9a-f]{17}\b")
_WRITTEN: Final = re.compile(r"([a-z]+)(-?)([0-9a-f]{17})\b")
"""An id also as the path of a device has it: without the hyphen."""
_SCOPE: Final = "x/20260101/us-east-1/ec2/aws4_request"
"""By which the stand-in finds the service; it checks no signature."""
_METADATA: Final = {"director": "d", "deployment": "cf", "job": "router", "index": "0", "id": "1"}
_SNAPSHOT: Final = {
    **{key: _METADATA[key] for key in ("deployment", "job", "index")},
    "director_name": "d",
    "director_uuid": "u",
    "agent_id": "agent-1",
    "instance_id": "1",
}
_NETWORK: Final = {
    "type": "manual",
    "ip": "10.0.1.10",
    "netmask": "255.255.255.0",
    "gateway": "10.0.1.1",
    "dns": ["10.0.0.2"],
    "default": ["dns", "gateway"],
    "cloud_properties": {"subnet": "$subnet"},
}
_TYPE: Final = {"instance_type": "m5.large", "availability_zone": "us-east-1a"}
_ENV: Final = {"bosh": {"group": "d-cf-router"}}

Step = tuple[bool, str, list[Any], str | None]
"""Whether the maker calls it, the method, the arguments, and a name for the result's id."""
STEPS: Final[list[Step]] = [
    (True, "create_stemcell", ["", {"ami": {"us-east-1": "$image"}, "encrypted": True}], "$stemcell"),
    (True, "create_vm", ["agent-1", "$stemcell", _TYPE, {"private": _NETWORK}, [], _ENV], "$vm"),
    (True, "create_disk", [2048, {"type": "gp3"}, "$vm"], "$disk"),
    (True, "set_vm_metadata", ["$vm", {**_METADATA, "name": "router/1"}], None),
    (True, "attach_disk", ["$vm", "$disk"], None),
    (True, "set_disk_metadata", ["$disk", {**_METADATA, "instance_id": "1"}], None),
    (True, "snapshot_disk", ["$disk", _SNAPSHOT], "$snapshot"),
    (False, "has_vm", ["$vm"], None),
    (False, "has_disk", ["$disk"], None),
    (False, "get_disks", ["$vm"], None),
    (False, "set_vm_metadata", ["$vm", {**_METADATA, "name": "router/1"}], None),
    (False, "set_disk_metadata", ["$disk", {**_METADATA, "instance_id": "1"}], None),
    (False, "reboot_vm", ["$vm"], None),
    (False, "detach_disk", ["$vm", "$disk"], None),
    (False, "resize_disk", ["$disk", 4096], None),
    (False, "attach_disk", ["$vm", "$disk"], None),
    (False, "snapshot_disk", ["$disk", _SNAPSHOT], "$other snapshot"),
    (False, "delete_snapshot", ["$snapshot"], None),
    (True, "delete_snapshot", ["$other snapshot"], None),
    (False, "detach_disk", ["$vm", "$disk"], None),
    (False, "delete_vm", ["$vm"], None),
    (
        False,
        "create_vm",
        ["agent-2", "$stemcell", _TYPE, {"private": _NETWORK}, ["$disk"], _ENV],
        "$other vm",
    ),
    (False, "attach_disk", ["$other vm", "$disk"], None),
    (True, "detach_disk", ["$other vm", "$disk"], None),
    (True, "delete_vm", ["$other vm"], None),
    (False, "delete_disk", ["$disk"], None),
    (False, "delete_stemcell", ["$stemcell"], None),
]


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
        """Begin with the names that exist."""
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


def _send(endpoint: str, body: bytes, headers: Mapping[str, str] | None = None) -> tuple[int, str]:
    """Send a call of EC2; returns the status and the text of its answer."""
    plain = {"Authorization": f"AWS4-HMAC-SHA256 Credential={_SCOPE}, SignedHeaders=host, Signature=x"}
    request = urllib.request.Request(endpoint, body, dict(headers or plain))  # noqa: S310 - the stand-in's address
    try:
        with urllib.request.urlopen(request) as response:  # noqa: S310 - likewise
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


class Recorder:
    """Stands between a CPI and AWS, and notes calls."""

    def __init__(self, endpoint: str) -> None:
        """Listen on the loopback interface."""
        self.calls: list[dict[str, Any]] = []
        notes = self.calls

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status, text = _send(endpoint, body, {**self.headers})
                parameters = dict(parse_qsl(body.decode()))
                notes.append({"parameters": parameters, "status": status, "ids": ids(text)})
                self.send_response(status)
                self.send_header("Content-Type", "text/xml")
                self.send_header("Content-Length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"
        Thread(target=self._server.serve_forever, daemon=True).start()


def recorded(server: FakeAws, program: str, maker: str) -> Iterator[dict[str, Any]]:
    """Run all steps; yields the lines of the recording."""
    server.reset()
    world = server.lay()
    recorder = Recorder(server.endpoint)
    ruby = Cpi(config(recorder.endpoint), command=[program])
    both = {RUBY: ruby, PYTHON: Cpi(config(server.endpoint))}
    other = PYTHON if maker == RUBY else RUBY
    names = {"$image": world.image_id, "$subnet": world.subnet_id}
    yield {"world": known(world)}
    for is_maker, method, arguments, name in STEPS:
        by = maker if is_maker else other
        text = json.dumps(arguments)
        for each in sorted(names, key=len, reverse=True):
            text = text.replace(f'"{each}"', json.dumps(names[each]))
        recorder.calls.clear()
        result = both[by].call(method, *json.loads(text), api_version=3, stemcell=3).ok()
        if name:
            names[name] = result[0] if isinstance(result, list) else result
        calls = [dict(call) for call in recorder.calls]
        line = {"by": by, "method": method, "arguments": json.loads(text), "result": result}
        yield line if by == PYTHON else {**line, "calls": calls}
    if world.state() != world.empty:
        raise AssertionError(f"left behind: {world.state()}")


def main() -> None:
    """Run the program."""
    with FakeAws() as server:
        for maker in MADE:
            lines = [json.dumps(line) for line in recorded(server, sys.argv[1], maker)]
            RECORDINGS.mkdir(exist_ok=True)
            (RECORDINGS / f"{maker}.jsonl").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
