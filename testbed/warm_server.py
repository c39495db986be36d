"""The process that `testbed.warm` forks the executable from: `python -m testbed.warm_server SOCKET SPEED`.

It has imported all that the executable may import, and read the SDK's data. A call is then what it is
otherwise (a process of its own, which runs the executable's `main`) without the third of a second in which
Python would only repeat that.
"""

from __future__ import annotations

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
import time
from typing import Any

NUMBER = 8
"""Bytes of a process id, and of an exit status, on their way."""
SERVICES = ("ec2", "elb", "elbv2", "ebs", "sts")
LONGEST_REQUEST = 1 << 20


def run_clock(speed: float) -> None:
    """Let the clock by which the program waits run so many times faster; it is not the one of dates."""
    began, monotonic, sleep = time.monotonic(), time.monotonic, time.sleep
    time.monotonic = lambda: began + (monotonic() - began) * speed
    time.sleep = lambda seconds: sleep(float(seconds) / speed)


def load() -> None:
    """Import the whole program, and read what the SDK reads for a client of each service."""
    program = importlib.import_module("bosh_aws_cpi")
    for module in pkgutil.walk_packages(program.__path__, "bosh_aws_cpi."):
        importlib.import_module(module.name)
    for name in ("requests", "tenacity", "yaml"):
        importlib.import_module(name)
    sdk_data: Any = importlib.import_module("bosh_aws_cpi.aws.sdk_data")
    sdk_data.loader = functools.cache(sdk_data.loader)
    session: Any = importlib.import_module("botocore.session").Session()
    session.register_component("data_loader", sdk_data.loader())
    for service in SERVICES:
        session.create_client(service, "us-east-1", aws_access_key_id="none", aws_secret_access_key="none")
    gc.collect()
    gc.freeze()  # what is there stays shared with the forked processes


def serve(listener: socket.socket) -> dict[str, Any] | None:
    """Fork a process for each request until standard input ends.

    Returns:
        In a forked process, its request; none in the end.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that wait
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in ready:
            return None
        connection, _ = listener.accept()
        with connection:
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                return attend(connection)


def attend(connection: socket.socket) -> dict[str, Any]:
    """Fork the executable's process, and tell how it ends; returns the request in that process alone."""
    raw, streams, _, _ = socket.recv_fds(connection, LONGEST_REQUEST, 3)
    process = os.fork()
    if process == 0:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        for descriptor in (*streams, connection.detach()):
            os.close(descriptor)
        request: dict[str, Any] = json.loads(raw)
        return request
    for descriptor in (*streams, 0, 1, 2):
        os.close(descriptor)
    connection.sendall(process.to_bytes(NUMBER, "big"))
    _, status = os.waitpid(process, 0)
    connection.sendall(os.waitstatus_to_exitcode(status).to_bytes(NUMBER, "big", signed=True))
    os._exit(0)


def become(request: dict[str, Any]) -> int:
    """Be the executable."""
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["cpi", *request["arguments"]]
    status: int = importlib.import_module("bosh_aws_cpi.__main__").main()
    return status


def main() -> int:
    """Load, serve, and be the executable in each forked process."""
    path, speed = sys.argv[1:]
    run_clock(float(speed))
    load()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(128)
        print("ready", flush=True)
        request = serve(listener)
    return become(request) if request else 0


if __name__ == "__main__":
    sys.exit(main())
