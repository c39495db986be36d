"""Answers one call: decode, open, resolve, bind, call, encode. Errors become answers only here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from errno import ENOMEM
from typing import Any, Protocol

from bosh_aws_cpi import interrupts, jsontext
from bosh_aws_cpi.errors import BoshError, CloudError, NotSupported, Unknown
from bosh_aws_cpi.interrupts import Interrupted
from bosh_aws_cpi.log import IN_RESPONSE, logger, printable, redact, set_request_id, shorten
from bosh_aws_cpi.rpc import methods, request
from bosh_aws_cpi.rpc.request import Request


class Host(Protocol):
    """The interface to the cloud, of which the protocol imports nothing: it can be tested without one."""

    def open(self, call: Request) -> Any:  # noqa: ANN401 - the protocol only hands it on
        """Read and check the configuration; the result is each method's first argument.

        Raises:
            BoshError: The configuration can't be used.
        """

    def function(self, target: str) -> Callable[..., Any]:
        """The function behind "module:function"."""

    def translate(self, error: Exception) -> BoshError | None:
        """A typed error for one that a method raised; None for an unexpected one."""

    def summary(self) -> str:
        """The call's AWS calls, for the last line of the log."""


_OUT_OF_MEMORY = (
    "The call needs more memory than this process may have: raise its limits (ulimit -v, ulimit -d, or those "
    "of its container) or the machine's memory, or let fewer calls run at once"
)


def answer(read: Callable[[], bytes], host: Host, elapsed: Callable[[], float]) -> bytes:
    """Answer one request.

    Args:
        read: Reads the whole request.
        host: The cloud behind the protocol.
        elapsed: Seconds since the call began.

    Returns:
        Exactly one JSON document, in ASCII.
    """
    try:
        interrupts.start()
        response = _answer(read, host, elapsed)
        interrupts.close()
    except Interrupted as signal:  # also before the request was read, or while another error was answered
        error = CloudError(f"The call was interrupted by {signal.cause} before it was complete")
        return _error_response(error, "")
    return response


def _answer(read: Callable[[], bytes], host: Host, elapsed: Callable[[], float]) -> bytes:
    try:
        return _run(read(), host, elapsed)
    except BoshError as error:
        return _error_response(error, "")
    except Interrupted:
        raise
    except BaseException as error:  # noqa: BLE001 - the caller must always get an answer
        typed = _unforeseen_error(error)
        return _error_response(typed, _log_text(typed, error))


def _run(raw: bytes, host: Host, elapsed: Callable[[], float]) -> bytes:
    document = request.decode(raw)
    redact.learn(document)
    context = document.get("context")
    set_request_id(context.get("request_id") if isinstance(context, dict) else None)
    call = request.check(document)
    session = host.open(call)
    target = methods.METHODS[call.method].target
    arguments = methods.bind(call.method, call.arguments, call.api_version)
    logger.info("Starting %s...", call.method)
    try:
        result = host.function(target)(session, *arguments)
        interrupts.close()
        shaped = methods.shape(call.method, call.api_version, result)
        return _encode({"result": shaped, "error": None, "log": ""})
    except Exception as error:  # noqa: BLE001 - every failure of a method becomes a typed error
        interrupts.close()
        typed = _as_bosh_error(error, host)
        return _error_response(typed, _log_text(typed, error))
    finally:
        logger.info("Finished %s in %.3f seconds%s", call.method, elapsed(), host.summary(), is_whole=True)


def _as_bosh_error(error: Exception, host: Host) -> BoshError:
    if not isinstance(error, BoshError) and _lacks_memory(error):  # the SDK wraps some of these errors
        return _unforeseen_error(error)
    return host.translate(error) or _unforeseen_error(error)


def _unforeseen_error(error: BaseException) -> BoshError:
    message = str(error) or type(error).__name__
    return CloudError(f"{_OUT_OF_MEMORY}: {message}") if _lacks_memory(error) else Unknown(message)


def _lacks_memory(error: BaseException | None) -> bool:
    """Whether an error, or a cause of it, says that the system denies this process more memory."""
    while error is not None:
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == ENOMEM):
            return True
        error = _cause(error)
    return False


def _log_text(typed: BoshError, error: BaseException) -> str:
    """Return the error and its backtrace, innermost frame last, without source lines.

    Only the first line of each cause is included: the others may quote a whole document.
    """
    return f"Rescued {typed.wire_type}: {_shorten(typed.message)}. backtrace: {'; '.join(_frames(error))}"


def _frames(error: BaseException) -> Iterator[str]:
    frame = error.__traceback__
    while frame:
        code = frame.tb_frame.f_code
        yield f"{code.co_filename}:{frame.tb_lineno}:in {code.co_name}"
        frame = frame.tb_next
    if (cause := _cause(error)) is not None:
        text = redact(str(cause))  # first: a secret may have several lines
        first_line = next(iter(text.splitlines()), "")
        yield f"caused by {type(cause).__name__}: {_shorten(first_line)}"
        yield from _frames(cause)


def _cause(error: BaseException) -> BaseException | None:
    return error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _error_response(error: BoshError, log: str) -> bytes:
    is_expected = isinstance(error, NotSupported)  # the caller falls back to another method
    (logger.info if is_expected else logger.error)("%s: %s", error.wire_type, error.message)
    if log:
        logger.debug("%s", log)
    described = {
        "type": error.wire_type,
        "message": _shorten(error.message),
        "ok_to_retry": error.ok_to_retry,
    }
    # The log ends with a newline, because the Director appends it unchanged to the task's log.
    return _encode({"result": None, "error": described, "log": f"{redact(log)}\n" if log else ""})


def _shorten(text: str) -> str:
    """Return a text that may quote AWS or the request, redacted, on one line, and shortened."""
    return printable(shorten(redact(text), IN_RESPONSE))


def _encode(document: dict[str, Any]) -> bytes:
    return jsontext.encode(document, ascii_only=True).encode("ascii")
