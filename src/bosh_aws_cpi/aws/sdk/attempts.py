"""Retries: the rules that differ from the SDK's own, and a record of how each attempt ended."""

import random
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from botocore.client import BaseClient
from botocore.exceptions import ClientError

from bosh_aws_cpi import interrupts
from bosh_aws_cpi.aws.sdk.call_hooks import name_of
from bosh_aws_cpi.aws.sdk.errors import (
    CALL,
    REFUSED,
    THROTTLED,
    Call,
    code_and_request_id,
    has_code,
    is_shortage,
    is_transient,
    is_uncertain,
    is_untrusted,
)
from bosh_aws_cpi.aws.sdk.timing import THROTTLED_CALL
from bosh_aws_cpi.call_statistics import CallStatistics

_WITHOUT_TOKEN: Final = ("CreateSnapshot", "CreateSubnet", "RegisterImage")
"""Calls that create a resource without a client token: each retry may create another one."""
_RETRIED_BY_CALLER: Final = frozenset({"PutSnapshotBlock"})
"""Calls whose callers handle throttling themselves, because they must be able to stop."""
_FAULT_PAUSE: Final = (0.5, 2.0)
_THROTTLED_PAUSE: Final = (1.0, THROTTLED_CALL.longest_pause)
"""Ranges in seconds; each pause is a random value in its range (jitter)."""


class Allowance:
    """The pauses for throttling that several calls share.

    Args:
        seconds: Their sum.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        """What is left of them."""

    def take(self, pause: float) -> bool:
        """Use some seconds; when too few are left, the others are gone too, and the answer is False."""
        is_enough = pause <= self.seconds
        self.seconds = self.seconds - pause if is_enough else 0
        return is_enough


def install_retries(
    client: BaseClient, max_retries: int, statistics: CallStatistics, allowance: Allowance | None = None
) -> None:
    """Set the retry rules of a client's calls, and count their attempts.

    After each attempt botocore calls all handlers: first those of the operation, then those of the
    service, which include its own, then ours for all services. The first result that is not None decides:
    it is the number of seconds until the next attempt, or False to stop retrying.

    Args:
        max_retries: How often a call is retried after a fault of AWS or of the connection.
        allowance: Limits the pauses for throttling; without one, each call is retried for `THROTTLED_CALL`.
    """
    events: Any = client.meta.events  # its stubs only allow handlers that return nothing
    service = client.meta.service_model.service_id.hyphenize()
    events.register_first(f"needs-retry.{service}", partial(_skip_retry, _is_signal_pending))
    events.register_first(f"needs-retry.{service}", partial(_skip_retry, is_untrusted))
    events.register("needs-retry", partial(_after_attempt, max_retries, statistics, allowance))
    events.register(
        "needs-retry.ec2.RunInstances", partial(_skip_retry, is_shortage)
    )  # with HTTP 500, perhaps
    for operation in _WITHOUT_TOKEN:
        events.register(f"needs-retry.ec2.{operation}", partial(_skip_retry, is_uncertain))


def _is_signal_pending(_: BaseException) -> bool:
    """Whether a signal is held back until the current step ends."""
    return interrupts.pending() is not None


def _skip_retry(is_final: Callable[[BaseException], bool], **event: Any) -> bool | None:  # noqa: ANN401 - botocore's
    """Keep the SDK from retrying a call after some errors."""
    error = _error_of(event)
    return False if error is not None and is_final(error) else None


def _after_attempt(
    max_retries: int,
    statistics: CallStatistics,
    allowance: Allowance | None,
    **event: Any,  # noqa: ANN401
) -> float | None:
    """Record how an attempt ended, and return the pause before the next; None leaves the decision to the SDK.

    A throttled attempt has had no effect. It does not count against `max_retries`, which short pauses would
    use up within seconds: AWS throttles for minutes when hundreds of VMs are created at once.
    """
    error = _error_of(event)
    if event["attempts"] > 1:
        statistics.count_retry(name_of(event["operation"]))
    if error is None:
        return None
    is_throttled = has_code(error, THROTTLED)
    statistics.count_failure(
        name_of(event["operation"]), *code_and_request_id(error), is_throttled=is_throttled
    )
    call: Call = event["request_dict"]["context"][CALL]
    if is_throttled:
        call.throttled += 1
        is_in_time = time.monotonic() - call.began < THROTTLED_CALL.seconds
        if not max_retries or not is_in_time or event["operation"].name in _RETRIED_BY_CALLER:
            return None
        pause = random.uniform(*_THROTTLED_PAUSE)  # noqa: S311 - spreads calls
        return pause if allowance is None or allowance.take(pause) else None
    call.was_uncertain = call.was_uncertain or is_uncertain(error)
    faults = event["attempts"] - call.throttled
    return random.uniform(*_FAULT_PAUSE) if is_transient(error) and faults <= max_retries else None  # noqa: S311


def _error_of(event: dict[str, Any]) -> BaseException | None:
    """The error that an attempt ended with; None when it succeeded."""
    if event["response"] is None:
        error: BaseException | None = event["caught_exception"]
        return error
    http_response, parsed = event["response"]
    is_refused = "Error" in parsed or http_response.status_code >= REFUSED
    return ClientError(parsed, event["operation"].name) if is_refused else None
