"""Retries: the rules that differ from the SDK's rules, and statistics of the attempts."""

import random
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from botocore.client import BaseClient
from botocore.exceptions import ClientError
from botocore.parsers import ResponseParserError

from bosh_aws_cpi import interrupts
from bosh_aws_cpi.aws.sdk import errors
from bosh_aws_cpi.aws.sdk.call_hooks import name_of
from bosh_aws_cpi.aws.sdk.timing import THROTTLED_CALL, THROTTLED_LAUNCH, note_throttling
from bosh_aws_cpi.call_statistics import CallStatistics

_WITHOUT_TOKEN: Final = ("CreateSnapshot", "CreateSubnet", "RegisterImage")
"""Calls that create a resource without a client token: each retry may create another resource."""
_RETRIED_BY_CALLER: Final = frozenset({"PutSnapshotBlock"})
"""Calls whose callers retry throttled attempts themselves, because they must be able to stop."""
_LAUNCHING: Final = frozenset({"RunInstances", "StartInstances"})
"""Calls that share EC2's smallest quota: two a second (EC2 developer guide, "Request throttling")."""


def _pause_after_fault(nth: int) -> float:
    """The seconds after the nth attempt that failed or had no answer; half of the pause is chance."""
    return float(min(2 ** (nth - 1), 15) * random.uniform(0.5, 1))  # noqa: S311 - spreads calls


def pause_after_throttling(nth: int) -> float:
    """The seconds after the nth throttled attempt of a call, up to 12.

    Longer or less uneven ones would leave EC2's quota of launches unused (docs/performance.md, "At scale").
    """
    return float(random.uniform(1, 5) * min(1.1 ** (nth - 1), 2.4))  # noqa: S311 - spreads calls


class Allowance:
    """A limit on the total of the pauses for throttling, which several calls share.

    Args:
        seconds: The limit.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        """The remaining seconds."""

    def take(self, pause: float) -> bool:
        """Use some seconds, and return True; if too few remain, set them to 0, and return False."""
        is_enough = pause <= self.seconds
        self.seconds = self.seconds - pause if is_enough else 0
        return is_enough


def install_retries(
    client: BaseClient, max_retries: int, statistics: CallStatistics, allowance: Allowance | None = None
) -> None:
    """Set the retry rules of a client's calls, and count their attempts.

    After each attempt botocore calls all handlers: the handlers of the operation, then those of the service,
    then ours for all services. The first result that is not None decides: the number of seconds until the
    next attempt, or False to stop retrying. `Clients` keeps the SDK's own handler from retrying anything.

    Args:
        max_retries: The maximum number of retries of a call after a fault of AWS or of the connection.
        allowance: Limits the pauses for throttling; None to retry each throttled call for `THROTTLED_CALL`.
    """
    events: Any = client.meta.events  # the stubs only allow handlers that return nothing
    end_at(client, _is_signal_pending)
    end_at(client, errors.is_untrusted)
    events.register("needs-retry", partial(_after_attempt, max_retries, statistics, allowance))
    for operation in _WITHOUT_TOKEN:
        events.register(f"needs-retry.ec2.{operation}", partial(_skip_retry, errors.is_uncertain))


def end_at(client: BaseClient, is_final: Callable[[BaseException], bool]) -> None:
    """Make errors final for all calls of a client, before any other rule."""
    events: Any = client.meta.events
    service = client.meta.service_model.service_id.hyphenize()
    events.register_first(f"needs-retry.{service}", partial(_skip_retry, is_final))


def _is_signal_pending(_: BaseException) -> bool:
    """Whether an interruption is pending until the current step ends."""
    return interrupts.pending() is not None


def _skip_retry(is_final: Callable[[BaseException], bool], **event: Any) -> bool | None:  # noqa: ANN401 - botocore's
    """Keep the SDK from retrying a call after an error that is final."""
    error = _error_of(event)
    return False if error is not None and is_final(error) else None


def _after_attempt(
    max_retries: int,
    statistics: CallStatistics,
    allowance: Allowance | None,
    **event: Any,  # noqa: ANN401
) -> float | None:
    """Record the result of an attempt; return the pause before the next, or None for the last one.

    A throttled attempt has had no effect, and does not count against `max_retries`: short pauses would use
    up the retries within seconds, but AWS throttles for minutes when hundreds of VMs are created at once.
    """
    error = _error_of(event)
    if event["attempts"] > 1:
        statistics.count_retry(name_of(event["operation"]))
    if error is None:
        return None
    is_throttled = errors.THROTTLED(error)
    statistics.count_failure(
        name_of(event["operation"]), *errors.code_and_request_id(error), is_throttled=is_throttled
    )
    call: errors.Call = event["request_dict"]["context"][errors.CALL]
    if is_throttled:
        note_throttling()
        call.throttled += 1
        operation = event["operation"].name
        limit = THROTTLED_LAUNCH if operation in _LAUNCHING else THROTTLED_CALL
        is_in_time = time.monotonic() - call.began < limit.seconds
        if not max_retries or not is_in_time or operation in _RETRIED_BY_CALLER:
            return None
        pause = pause_after_throttling(call.throttled)
        return pause if allowance is None or allowance.take(pause) else None
    call.was_uncertain = call.was_uncertain or errors.is_uncertain(error)
    faults = event["attempts"] - call.throttled
    return _pause_after_fault(faults) if errors.is_transient(error) and faults <= max_retries else None


def _error_of(event: dict[str, Any]) -> BaseException | None:
    """The error of an attempt; None when the attempt succeeded."""
    if event["response"] is None:
        error: BaseException | None = event["caught_exception"]
        return error
    http_response, parsed = event["response"]
    if errors.UNREADABLE in parsed:
        return ResponseParserError(errors.UNREADABLE)
    is_refused = "Error" in parsed or http_response.status_code >= errors.ERROR_STATUS
    return ClientError(parsed, event["operation"].name) if is_refused else None
