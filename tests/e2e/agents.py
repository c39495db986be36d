"""Talks to a real agent at its own address, as the bosh CLI does."""

import base64
import functools
import json
import ssl
import time
import urllib.request
from pathlib import Path
from typing import Any

from testbed.tls import Authority

PASSWORD = "password"


class AgentError(Exception):
    """The agent refused a request, or failed at it; the message is its own."""


def mbus(port: int, scheme: str = "https") -> str:
    """Return the address that an agent is to serve."""
    return f"{scheme}://mbus:{PASSWORD}@127.0.0.1:{port}"


def environment(folder: Path, blobs: str = "/var/vcap/micro_bosh/data/cache") -> dict[str, Any]:
    """Write the VM's environment without which an agent does not serve: a certificate and a blobstore.

    Args:
        folder: For the certificate's files.
        blobs: The blobstore's folder on the VM.
    """
    pem = Authority(folder, "ca").certify().read_text()  # a key and its certificate
    blobstore = {"provider": "local", "options": {"blobstore_path": blobs}}
    cert = {"ca": "", "certificate": pem, "private_key": pem}
    return {"bosh": {"blobstores": [blobstore], "mbus": {"cert": cert}}}


def call(port: int, method: str, *arguments: Any) -> Any:
    """Call a method of the agent at its own port, and return the value of its answer.

    Raises:
        AgentError: The agent answered an exception.
    """
    body = json.dumps({"protocol": 3, "method": method, "arguments": arguments, "reply_to": "test"})
    answer = json.loads(_request(port, "POST", "agent", body.encode()))
    if "exception" in answer:
        raise AgentError(answer["exception"]["message"])
    return answer["value"]


def upload(port: int, blob_id: str, content: bytes) -> None:
    """Write a file to the blobstore that an agent with `environment`'s default folder serves itself."""
    _request(port, "PUT", f"blobs/{blob_id}", content)


def download(port: int, blob_id: str) -> bytes:
    """Read a file of that blobstore."""
    return _request(port, "GET", f"blobs/{blob_id}")


def _request(port: int, method: str, path: str, body: bytes | None = None) -> bytes:
    login = base64.b64encode(f"mbus:{PASSWORD}".encode()).decode()
    request = urllib.request.Request(
        f"https://127.0.0.1:{port}/{path}", body, {"Authorization": f"Basic {login}"}, method=method
    )
    with urllib.request.urlopen(request, timeout=30, context=_trusting()) as response:  # noqa: S310
        content: bytes = response.read()
    return content


@functools.cache
def _trusting() -> ssl.SSLContext:
    """Return a context that takes any certificate, and reads none of this computer's."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def finished(port: int, method: str, *arguments: Any) -> Any:
    """Call a method that the agent works at in a task, and return the task's result."""
    task = call(port, method, *arguments)
    pause = 0.001  # most tasks are done at once; compiling takes long, and needs the processor
    while isinstance(task, dict) and task.get("state") == "running":
        time.sleep(pause)
        pause = min(2 * pause, 0.5)
        task = call(port, "get_task", task["agent_task_id"])
    return task
