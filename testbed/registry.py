"""A stand-in for the registry: settings of agents over HTTP."""

import base64
import json
import re
from typing import Any

from testbed.loopback import LoopbackServer, Reply, Request

USER = "registry-user"
PASSWORD = "registry-secret-5f1c"


class Registry(LoopbackServer):
    """Keeps a document per instance."""

    def __init__(self, user: str = USER, password: str = PASSWORD) -> None:
        super().__init__()
        self.user = user
        self.password = password
        self.documents: dict[str, str] = {}
        self._answers: list[Reply] = []

    @property
    def endpoint(self) -> str:
        """The endpoint with user and password, as the release's template renders it."""
        return self.url.replace("://", f"://{self.user}:{self.password}@")

    def settings(self, instance_id: str) -> Any:
        """Read the settings of an instance."""
        return json.loads(self.documents[instance_id])

    def answer(self, status: int, body: str = "", times: int = 1) -> None:
        """Answer the next requests like this, whatever they ask for."""
        self._answers += [Reply(status, body.encode())] * times

    def reply(self, request: Request) -> Reply:
        """Answer as the registry does."""
        if self._answers:
            return self._answers.pop(0)
        login = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        if request.headers.get("authorization") != f"Basic {login}":
            return Reply(401, b'{"status": "access_denied"}')
        found = re.fullmatch(r"/instances/([^/]+)/settings", request.path)
        if not found:
            return Reply(404, b'{"status": "not_found"}')
        return self._document(request, found[1])

    def _document(self, request: Request, instance_id: str) -> Reply:
        if request.method == "PUT":
            self.documents[instance_id] = request.body.decode()
            return Reply(200, b'{"status": "ok"}')
        if request.method == "DELETE":
            self.documents.pop(instance_id, None)
            return Reply(200, b'{"status": "ok"}')
        if request.method != "GET":
            return Reply(405, b'{"status": "error"}')
        if instance_id not in self.documents:
            return Reply(404, b'{"status": "not_found"}')
        document = {"settings": self.documents[instance_id], "status": "ok"}
        return Reply(200, json.dumps(document).encode())
