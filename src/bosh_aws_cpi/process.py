"""The process of the executable: ``cpi CONFIG_PATH``, one request on stdin, one response on stdout.

This module alone handles arguments, streams and the exit status; it connects the protocol with the cloud. It
also runs the operators' commands: ``cpi COMMAND CONFIG_PATH …``.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

from bosh_aws_cpi import interrupts, log
from bosh_aws_cpi.config.loading import READ_SIZE, load
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.errors import BoshError, InvalidCall, Unknown
from bosh_aws_cpi.rpc import dispatch
from bosh_aws_cpi.rpc.methods import METHODS
from bosh_aws_cpi.rpc.request import Request
from bosh_aws_cpi.tools import command_line

_STDIN, _STDOUT, _STDERR = 0, 1, 2
_MAX_REQUEST_SIZE = 16 << 20
_GC_THRESHOLD = 100_000
"""The number of new objects that triggers Python's garbage collector. Most objects live until the end of the
call, so more frequent runs would free little, and take a tenth of a short call's time."""
_PAUSES_BEFORE_READING = (0.5, 2.0)
"""The seconds before a method that has changed nothing looks everything up again."""
_NOTICE = "cpi: waiting for a JSON request on the terminal; Ctrl-D on a new line ends it, Ctrl-C the call"


class _AwsHost:
    """The AWS CPI behind the protocol's interface."""

    def __init__(self, arguments: list[str]) -> None:
        self._arguments = arguments
        self._cloud: Cloud | None = None
        self._call: Request | None = None

    def open(self, call: Request) -> Cloud:
        if len(self._arguments) != 1:
            raise Unknown("Usage: cpi CONFIG_PATH: the path of the configuration file is the only argument")
        self._call = call
        self._cloud = Cloud(load(self._arguments[0], call.context), call.api_version)
        return self._cloud

    def function(self, target: str) -> Callable[..., Any]:
        module, _, name = target.partition(":")
        function: Callable[..., Any] = getattr(import_module(f"bosh_aws_cpi.cpi.{module}"), name)

        def run(cloud: Cloud, *arguments: Any) -> Any:  # noqa: ANN401 - the method's
            """Run the method; again after an answer without an element, if nothing has been changed yet."""
            for pause in _PAUSES_BEFORE_READING:
                try:
                    return function(cloud, *arguments)
                except Exception as error:
                    if isinstance(error, BoshError) or not cloud.has_only_read:
                        raise
                    from bosh_aws_cpi.aws.sdk.errors import ELEMENT, describe_error  # noqa: PLC0415

                    if not getattr(error, ELEMENT, ""):
                        raise
                    log.logger.warning("%s: all is looked up again", describe_error(error))
                interrupts.pause(pause)
            return function(cloud, *arguments)

        return run

    def translate(self, error: Exception) -> BoshError | None:
        typed = error if isinstance(error, BoshError) else None
        if "botocore" not in sys.modules or self._call is None:  # the error can't be botocore's
            return typed
        from bosh_aws_cpi.aws.sdk.translation import name_key, translate  # noqa: PLC0415

        if (typed := typed or translate(error, self._call.method)) is not None:
            names = (name for name, _ in METHODS[self._call.method].arguments)
            given = dict(zip(names, self._call.arguments, strict=False))
            hashes = {name: given.get(name) for name in ("cloud_properties", "networks", "network")}
            typed.message = name_key(typed.message, hashes)
            if self._cloud is not None:
                defaults = ("default_iam_instance_profile", "default_key_name")
                aws = {name: getattr(self._cloud.config.aws, name) for name in defaults}
                typed.message = name_key(typed.message, {"aws": aws})
        return typed

    def summary(self) -> str:
        return self._cloud.summary() if self._cloud else ""

    def discard_created(self) -> None:
        if self._cloud is not None:
            self._cloud.discard_created()

    def note(self, response: bytes, seconds: float, *, is_delivered: bool) -> None:
        """Append the call to the event log, if one is configured."""
        if self._call and self._cloud and self._cloud.config.debug.event_log:
            from bosh_aws_cpi.cpi import event_log  # noqa: PLC0415 - few configurations have one

            method, arguments = self._call.method, self._call.arguments
            event_log.note(self._cloud, method, arguments, response, seconds, is_delivered=is_delivered)


def run() -> NoReturn:
    """Run `main`, and exit the process without the interpreter's shutdown.

    The shutdown, which clears every module, would take a tenth of a short call's time. `main` has flushed
    the logs, and no other thread is running.
    """
    gc.set_threshold(_GC_THRESHOLD)
    os._exit(main())


def main() -> int:
    """Answer one request, or run an operator's command.

    Returns:
        For a request: 0 when the response, which may be an error, was written, and 1 when it could not be
        written. For a command: its exit status.
    """
    status = _run_command(sys.argv[1:])
    log.logger.end()
    _flush_logs()
    return status


def _run_command(arguments: list[str]) -> int:
    if len(arguments) == 1 and _is_configuration(arguments[0]):
        return _answer(arguments)
    status = command_line.run_command(arguments)
    return _answer(arguments) if status is None else status


def _is_configuration(argument: str) -> bool:
    """Whether the only argument looks like a path, even of a missing file: BOSH's paths have a slash."""
    return not argument.startswith("-") and ("/" in argument or "." in argument or not argument)


def _answer(arguments: list[str]) -> int:
    began = time.perf_counter()
    output = _reserve_stdout()
    log.start()
    if output is None:
        log.logger.error("stdout is closed: no response can be written, so the call is not executed")
        return 1
    interrupts.set_caller(output)
    if os.isatty(_STDIN):
        log.logger.say(_NOTICE)
    host = _AwsHost(arguments)
    response = dispatch.answer(_read_all, host, lambda: time.perf_counter() - began)
    is_delivered = _write_response(output, response)
    if is_delivered:
        os.close(output)  # a caller may read stdout to its end before stderr
    else:
        text = "The caller is gone and did not read the response: %s"
        log.logger.error(text, response.decode(), is_whole=True)
        host.discard_created()
    host.note(response, time.perf_counter() - began, is_delivered=is_delivered)
    return 0 if is_delivered else 1


def _reserve_stdout() -> int | None:
    """Reserve stdout for the response: all other output goes to stderr.

    Returns:
        The file descriptor for the response, or None when stdout is closed. Child processes do not inherit
        the descriptor, so they can't keep it open.
    """
    _open_if_closed(_STDIN)
    is_closed = _open_if_closed(_STDOUT)
    _open_if_closed(_STDERR)
    os.set_blocking(_STDIN, True)
    os.set_blocking(_STDOUT, True)
    output = None if is_closed else os.dup(_STDOUT)
    os.dup2(_STDERR, _STDOUT)
    return output


def _open_if_closed(descriptor: int) -> bool:
    """Open a standard stream as /dev/null if it is closed, so that no other file gets its descriptor."""
    try:
        os.fstat(descriptor)
    except OSError:
        null = os.open(os.devnull, os.O_RDWR)
        if null != descriptor:
            os.dup2(null, descriptor)
            os.close(null)
        return True
    return False


def _read_all() -> bytes:
    """Read the request.

    Raises:
        InvalidCall: The request is far larger than any request that EC2 accepts.
    """
    content = bytearray()
    try:
        while chunk := os.read(_STDIN, READ_SIZE):
            content += chunk
            if len(content) > _MAX_REQUEST_SIZE:
                message = f"Request cannot be deserialized, details: more than {_MAX_REQUEST_SIZE >> 20} MiB"
                raise InvalidCall(message)
    except OSError as error:
        log.logger.warning("Reading the request failed: %s", error.strerror)
    return bytes(content)


def _write_response(output: int, response: bytes) -> bool:
    """Write the response; False when it can't be written, because the caller is gone."""
    try:
        rest = memoryview(response)
        while rest:
            rest = rest[os.write(output, rest) :]
    except OSError:
        return False
    return True


def _flush_logs() -> None:
    """Flush stdout and stderr, without an error for a closed stream."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        with suppress(OSError, ValueError):
            stream.flush()
