"""yaml-language-server, as editors run it: what it says of documents that name our schema.

`tests/unit/editor` pins it; npm installs it into the environment of the tests.
"""

from __future__ import annotations

import fcntl
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

PINNED = Path(__file__).with_name("editor")
SCHEMA = Path(__file__).parents[2] / "docs/cloud-config.schema.json"
PATIENCE = 60.0
"""Seconds for npm."""
CURSOR = "|"
"""Where the cursor is in a document."""
FIRST_LINE = f"# yaml-language-server: $schema={SCHEMA}\n"
SETTINGS = {
    "completion": True,
    "hover": True,
    "validate": True,
    "schemaStore": {"enable": False},  # nothing is fetched
}


def installed() -> Path:
    """Install the server, unless it is; return its program. Other processes wait meanwhile.

    Raises:
        subprocess.SubprocessError: npm can't install it, for example because it reaches no registry.
    """
    folder = Path(sys.prefix, "editor")
    folder.mkdir(exist_ok=True)
    lock, done = PINNED / "package-lock.json", folder / "done"
    with Path(folder, "turn").open("w", encoding="utf-8") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not done.exists() or done.read_bytes() != lock.read_bytes():
            shutil.copytree(PINNED, folder, dirs_exist_ok=True)
            command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
            subprocess.run(command, cwd=folder, check=True, stdin=subprocess.DEVNULL, timeout=PATIENCE)
            shutil.copyfile(lock, done)
    return folder / "node_modules/yaml-language-server/bin/yaml-language-server"


class LanguageServer:
    """A process of the server, and an editor's side of its protocol (LSP 3.17)."""

    def __init__(self, program: Path) -> None:
        """Start it."""
        command = ["node", str(program), "--stdio"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout
        self._asked = 0
        self._opened = 0
        self._marked: dict[str, list[str]] = {}

    def __enter__(self) -> Self:
        """Tell it what this editor can do."""
        given = {"workspace": {"configuration": True}, "textDocument": {"hover": {}, "completion": {}}}
        self._ask("initialize", {"processId": None, "rootUri": None, "capabilities": given})
        self._tell("initialized", {})
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it."""
        self._process.kill()
        self._process.communicate()

    def marked(self, texts: list[str]) -> dict[str, list[str]]:
        """What it says of each document."""
        opened = {text: self._open(text) for text in texts}
        while not self._marked.keys() >= set(opened.values()):
            self._heed(self._read())
        return {text: self._marked[uri] for text, uri in opened.items()}

    def proposed(self, text: str) -> list[str]:
        """What it proposes at the cursor."""
        found = self._ask("textDocument/completion", self._at_cursor(text))
        return [each["label"] for each in found["items"]]

    def shown(self, text: str) -> str:
        """What it shows when the mouse is where the cursor is."""
        found = self._ask("textDocument/hover", self._at_cursor(text))
        return str(found["contents"]["value"])

    def _at_cursor(self, text: str) -> dict[str, Any]:
        before, after = text.split(CURSOR)
        line = FIRST_LINE.count("\n") + before.count("\n")
        place = {"line": line, "character": len(before.rpartition("\n")[2])}
        return {"textDocument": {"uri": self._open(before + after)}, "position": place}

    def _open(self, text: str) -> str:
        self._opened += 1
        uri = f"file:///{self._opened}.yml"
        document = {"uri": uri, "languageId": "yaml", "version": 1, "text": FIRST_LINE + text}
        self._tell("textDocument/didOpen", {"textDocument": document})
        return uri

    def _ask(self, method: str, params: Any) -> Any:
        self._asked += 1
        self._write({"id": self._asked, "method": method, "params": params})
        while True:
            message = self._read()
            if message.get("id") == self._asked and "method" not in message:
                return message["result"]
            self._heed(message)

    def _heed(self, message: dict[str, Any]) -> None:
        """Answer what the server asks for; keep what it says of a document."""
        params = message["params"] if message.get("method") != "client/registerCapability" else {}
        if "id" in message:
            asked = params.get("items", [])
            settings = [SETTINGS if each["section"] == "yaml" else None for each in asked]
            self._write({"id": message["id"], "result": settings or None})
        elif message["method"] == "textDocument/publishDiagnostics":
            self._marked[params["uri"]] = [each["message"] for each in params["diagnostics"]]

    def _tell(self, method: str, params: Any) -> None:
        self._write({"method": method, "params": params})

    def _write(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._to.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._to.flush()

    def _read(self) -> dict[str, Any]:
        headers = b"".join(iter(self._from.readline, b"\r\n"))
        assert headers, "the language server has ended"
        length = int(headers.partition(b"Content-Length:")[2].split()[0])
        message: dict[str, Any] = json.loads(self._from.read(length))
        return message
