"""The process that `testbed.warm` forks the executable from: `python -m testbed.warm_server SOCKET SPEED`.

It has imported all that the executable may import, and read the SDK's data. A call is then what it is
otherwise (a process of its own, which runs the executable's `main`) without the third of a second in which
Python would only repeat that.
"""

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

NUMBER = 8
"""Bytes of a process id, and of an exit status, on their way."""
LONGEST_REQUEST = 1 << 20
AWS = {"region": "us-east-1", "max_retries": 1, "credentials_source": "env_or_profile"}
CONFIG = {"cloud": {"properties": {"aws": AWS}}}
ALIASES = {"elasticloadbalancing", "elb", "elbv2"}
"""Those of the program's services, among the SDK's many that it tries for each event of a client."""
TIMEOUT_SPEED = "TESTBED_TIMEOUT_SPEED"
"""The variable that says how many times earlier the connections of one process time out.

Not of all of them: a machine with much to do may need the time.
"""


def run_clock(speed: float) -> None:
    """Let the clock by which the program waits run so many times faster; it is not the one of dates."""
    began, monotonic, sleep = time.monotonic(), time.monotonic, time.sleep
    time.monotonic = lambda: began + (monotonic() - began) * speed
    time.sleep = lambda seconds: sleep(float(seconds) / speed)
    interrupts: Any = importlib.import_module("bosh_aws_cpi.interrupts")
    is_closed = interrupts._is_other_end_closed  # noqa: SLF001 - the program's other way to wait
    interrupts._is_other_end_closed = lambda pipe, seconds: is_closed(pipe, seconds / speed)  # noqa: SLF001


def look_at_once() -> None:
    """Let waits look at once, and then twice a second: the stand-in for AWS takes no usual time."""
    timing: Any = importlib.import_module("bosh_aws_cpi.aws.sdk.timing")
    plain = timing.pauses
    timing.SHORTEST_PAUSE = 0.5
    timing.pauses = lambda policy: plain(policy.replace(usually=(0, 1), early=()))


def hasten_timeouts(speed: float) -> None:
    """Let connections time out so many times earlier."""
    plain: Any = socket.socket.settimeout

    def settimeout(connection: socket.socket, seconds: float | None) -> None:
        plain(connection, seconds and seconds / speed)

    setattr(socket.socket, "settimeout", settimeout)  # noqa: B010 - mypy forbids the assignment


def load() -> None:
    """Import the whole program, and load the SDK's data for a client of each service."""
    program = importlib.import_module("bosh_aws_cpi")
    for module in pkgutil.walk_packages(program.__path__, "bosh_aws_cpi."):
        importlib.import_module(module.name)
    for name in ("requests", "tenacity", "yaml"):
        importlib.import_module(name)
    importlib.import_module("bosh_aws_cpi.config.cpi_config").parse(CONFIG, {}, {})  # compiles its patterns
    hooks: Any = importlib.import_module("botocore.hooks")
    hooks.accepts_kwargs = lambda _: True  # otherwise it is looked up for each handler
    hooks.EVENT_ALIASES = {old: new for old, new in hooks.EVENT_ALIASES.items() if old in ALIASES}
    sdk_data: Any = importlib.import_module("bosh_aws_cpi.aws.sdk.data")
    sdk_data.loader = functools.cache(sdk_data.loader)
    share_models()
    data_cut: Any = importlib.import_module("bosh_aws_cpi.aws.sdk.data_cut")
    create_clients(sdk_data.loader(), data_cut.SERVICES)
    create_clients(sdk_data.loader(for_commands=True), {**data_cut.SERVICES, **data_cut.COMMAND_SERVICES})
    gc.collect()
    gc.freeze()  # what is there stays shared with the forked processes


def create_clients(loader: Any, services: Iterable[str]) -> None:
    """Create a client of each service, whose data stays loaded."""
    session: Any = importlib.import_module("botocore.session").Session()
    session.register_component("data_loader", loader)
    for service in services:
        client = session.create_client(
            service, "us-east-1", aws_access_key_id="none", aws_secret_access_key="none"
        )
        client.meta.service_model.shape_for_error_code("none")  # reads all errors that there are


def share_models() -> None:
    """Have one model of each service for all clients of a loader: what a service takes and answers."""
    creator: Any = importlib.import_module("botocore.client").ClientCreator
    models: dict[Any, Any] = {}
    original = creator._load_service_model  # noqa: SLF001 - there is no other place

    def once(self: Any, service: str, api_version: str | None = None) -> Any:
        key = (self._loader, service)
        if key not in models:
            models[key] = original(self, service, api_version)
        return models[key]

    creator._load_service_model = once  # noqa: SLF001 - the same


def serve(listener: socket.socket) -> dict[str, Any] | None:
    """Fork the executable's process for each request until standard input ends, and tell how each ends.

    Returns:
        In a forked process, its request; none in the end.
    """
    running: dict[int, socket.socket] = {}
    with wakened() as ended:
        while True:
            ready, _, _ = select.select([listener, ended, sys.stdin], [], [])
            if sys.stdin in ready:
                return None
            if ended in ready:
                ended.recv(LONGEST_REQUEST)
                tell_ends(running)
            if listener in ready:
                connection, _ = listener.accept()
                request = fork(connection, running)
                if request:
                    return request


@contextlib.contextmanager
def wakened() -> Iterator[socket.socket]:
    """Return a socket that is readable whenever a forked process has ended."""
    near, far = socket.socketpair()
    far.settimeout(0)
    with near, far:
        signal.set_wakeup_fd(far.fileno())
        signal.signal(signal.SIGCHLD, lambda *_: None)
        try:
            yield near
        finally:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.set_wakeup_fd(-1)


def tell_ends(running: dict[int, socket.socket]) -> None:
    """Tell of each process that has ended how it did, on the connection on which it was asked for."""
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG)) != (0, 0):
            process, status = ended
            with running.pop(process) as connection, contextlib.suppress(OSError):
                connection.sendall(os.waitstatus_to_exitcode(status).to_bytes(NUMBER, "big", signed=True))


def fork(connection: socket.socket, running: dict[int, socket.socket]) -> dict[str, Any] | None:
    """Fork a process with the streams that are sent, and tell its id; returns the request in it alone."""
    raw, streams, _, _ = socket.recv_fds(connection, LONGEST_REQUEST, 3)
    process = os.fork()
    if process == 0:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
    for stream in streams:
        os.close(stream)
    if process:
        running[process] = connection
        connection.sendall(process.to_bytes(NUMBER, "big"))
        return None
    for each in (connection, *running.values()):
        each.close()
    request: dict[str, Any] = json.loads(raw)
    return request


def become(request: dict[str, Any]) -> int:
    """Be the executable."""
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    if speed := request["environment"].get(TIMEOUT_SPEED):
        hasten_timeouts(float(speed))
    sys.argv = ["cpi", *request["arguments"]]
    importlib.import_module("bosh_aws_cpi.interrupts").install()
    status: int = importlib.import_module("bosh_aws_cpi.process").main()
    return status


def leave(status: int) -> NoReturn:
    """End as Python does, but for taking apart all that is loaded: that takes as long as a call."""
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001 - as multiprocessing's processes do
    atexit._run_exitfuncs()  # noqa: SLF001 - the same
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def main() -> int:
    """Load, serve, and be the executable in each forked process."""
    path, speed = sys.argv[1:]
    run_clock(float(speed))
    look_at_once()
    load()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(128)
        print("ready", flush=True)
        request = serve(listener)
    if request:
        leave(become(request))
    return 0


if __name__ == "__main__":
    sys.exit(main())
