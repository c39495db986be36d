"""All waits and retries of the program: one table of policies, and the functions that use them.

The SDK's own waiters are not used, because they poll every 15 seconds. Ours poll after half a second and back
off to a bound, with jitter, so that a hundred concurrent calls do not poll at the same moments.
"""

import random
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

from botocore.parsers import ResponseParserError

from bosh_aws_cpi import interrupts
from bosh_aws_cpi.aws.sdk.errors import (
    NOT_FOUND_YET,
    THROTTLED,
    code_of,
    describe_error,
    has_code,
    is_transient,
)
from bosh_aws_cpi.errors import BoshError, CloudError
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.records import Record

if TYPE_CHECKING:
    import tenacity

Result = TypeVar("Result")

FIRST_PAUSE: Final = 0.5
GROWTH: Final = 1.04
JITTER: Final = 0.25


class Policy(Record):
    """How long to wait, and the longest pause between two polls; both in seconds."""

    awaited: str
    """The awaited state, for the table in docs/retries.md."""
    seconds: float
    longest_pause: float = 5.0


_AS_RUBY: Final = 1600
"""The Ruby release's wait for volumes, attachments and AMIs, in seconds, rounded up.

No wait is shorter than in the Ruby release, so that a deployment that succeeded with it still succeeds.
"""
INSTANCE_RUNNING: Final = Policy("an instance runs", 800)
INSTANCE_STOPPED: Final = Policy("a stopping instance has stopped", 600)
INSTANCE_TERMINATED: Final = Policy("an instance is terminated", 900)
INSTANCE_SEEN: Final = Policy("EC2 shows a new instance, within another wait", 200)
"""How long EC2 may fail to show an instance whose id it has returned.

As long as in the Ruby release; AWS says "up to five minutes" (EC2 developer guide, "Eventual consistency").
"""
NIC_SEEN: Final = Policy("EC2 shows a new interface, within another wait", 30)
NIC_AVAILABLE: Final = Policy("an interface is available", 300)
TARGET_KNOWN: Final = Policy("ELB accepts a new instance", 60)
"""ELB learns with a delay that an instance exists and runs."""
ADDRESS_ASSOCIATED: Final = Policy("an interface accepts an elastic IP", 60)
TARGETS_DRAINED: Final = Policy("target groups have drained", 330)
"""A target group's deregistration delay is 300 seconds, unless it was changed."""
NIC_RELEASED: Final = Policy("a terminated instance releases an interface", 500)
ADDRESS_RELEASED: Final = Policy("an instance that is terminating releases an address", 600)
SUBNET_AVAILABLE: Final = Policy("a subnet is available", 300)
SUBNET_RELEASED: Final = Policy("the VMs that were just deleted release a subnet", 300)
"""DependencyViolation: the subnet still has interfaces."""
GROUP_AVAILABLE: Final = Policy("a placement group whose name is in use is shown with its tags, or gone", 60)
"""EC2 may show another call's new group or its tags late, or may still be deleting an earlier group."""
VOLUME_AVAILABLE: Final = Policy("a volume is available", _AS_RUBY)
COPY_ACCEPTED: Final = Policy("EBS accepts another copy of a volume", 300, longest_pause=15)
"""How long to retry CopyVolumesLimitExceeded: as long as terraform-provider-aws does by default.

Earlier copies may take hours, and the VM has no disk meanwhile, so the Director then copies the data.
"""
VOLUME_ATTACHED: Final = Policy("a volume is attached", _AS_RUBY)
VOLUME_DETACHED: Final = Policy("a volume is detached", _AS_RUBY)
VOLUME_DELETED: Final = Policy("a volume is deleted", _AS_RUBY)
VOLUME_RELEASED: Final = Policy("EBS releases the volume of a deleted VM", 600, longest_pause=15)
"""VolumeInUse: EBS still holds the volume for a VM that was just deleted."""
DEVICE_NAME_FREE: Final = Policy("a device name is free, when all seem to be in use", 30)
"""For some seconds after a detachment, EC2 may still consider the device name used."""
INSTANCE_READY_TO_ATTACH: Final = Policy("a starting instance accepts a volume", 60)
"""AttachVolume answers IncorrectState, usually because the VM is still starting."""
IMAGE_AVAILABLE: Final = Policy("an AMI is available", 3600, longest_pause=15)
IMAGE_COPIED: Final = Policy("a time-based copy of an AMI is available", 14_400, longest_pause=15)
"""The minutes of a time-based copy begin when an earlier one of the same AMI has ended (EBS user guide,
"Time-based copies"). Long enough for a copy of 45 minutes behind four others.
"""
IMAGE_GONE: Final = Policy("an AMI is gone", _AS_RUBY)
SNAPSHOT_RELEASED: Final = Policy("a deregistered AMI releases its snapshot", 300)
SNAPSHOT_COMPLETED: Final = Policy("a snapshot is completed", 14_400, longest_pause=15)
"""The first snapshot of a large, full volume takes hours."""
VOLUME_MODIFIED: Final = Policy("a changed volume can be used", _AS_RUBY)
BLOCK_WRITTEN: Final = Policy("EBS accepts a snapshot's block", 300, longest_pause=2)
DEVICE_SEEN: Final = Policy("the kernel shows an attached volume", 60, longest_pause=1)
NEW_SEEN: Final = Policy("AWS shows a new resource, within another wait", 60)
LOST_SEEN: Final = Policy("AWS shows a resource whose creation was not answered", 60)
"""How long AWS may fail to show a resource whose creation was not answered; then it counts as not created."""
TAGGABLE: Final = Policy("a new resource accepts tags", 270)
VISIBLE: Final = Policy("the next call finds a new resource", 60)
"""How long AWS may fail to find a new resource (eventual consistency)."""
THROTTLED_CALL: Final = Policy("a call is no longer throttled, from its first attempt on", 300)
"""How long a throttled call is retried, counted from its first attempt.

EC2's bucket gains two launches per second: if hundreds begin at once, the last one waits for minutes.
"""
THROTTLED_COMMAND: Final = Policy("an operator's command is no longer throttled, all calls together", 20)
"""How long the calls of an operator's command pause for throttling, all together.

A person waits for the command, which reports what it could not look up.
"""
UNTHROTTLED: Final = Policy("a deletion is no longer throttled", 120)
"""How long a throttled deletion is retried, even with ``max_retries`` 0, so that no resource leaks."""
ANSWERED: Final = Policy("an attempt at a call of AWS or of the registry is answered", 60, longest_pause=0)
"""For each part of the answer, as the SDK and requests count it."""
AT_ONCE: Final = Policy("none: one attempt", 0)


class VisibilityWindow:
    """Distinguishes a resource that AWS does not show yet, because it is new, from one that is gone.

    Use it only after AWS has answered that there is no such resource: a missing answer proves nothing.

    Args:
        policy: How long AWS may fail to show the resource.
    """

    def __init__(self, policy: Policy = NEW_SEEN) -> None:
        self.was_seen = False
        self._deadline = time.monotonic() + policy.seconds

    @property
    def is_overdue(self) -> bool:
        """Whether the resource was never shown, and should have been by now."""
        return not self.was_seen and time.monotonic() > self._deadline

    @property
    def is_lost(self) -> bool:
        """Whether the resource is gone: it was shown before, or should have been by now."""
        return self.was_seen or self.is_overdue

    def check(self, resource: Result | None, gone: BoshError) -> Result:
        """Return what AWS shows of the resource.

        Args:
            resource: What it shows; None if it has answered that there is no such resource.
            gone: The error for a resource that is gone.

        Raises:
            NotYet: It does not show the resource yet.
        """
        if resource is None and self.is_lost:
            raise gone
        if resource is None:
            raise NotYet("not visible yet")
        self.was_seen = True
        return resource


class NotYet(Exception):
    """The awaited state is not reached yet; the message names the current one."""


def poll(
    policy: Policy,
    what: str,
    probe: Callable[[], Result],
    timed_out: Callable[[str], BoshError] = CloudError,
    *,
    is_repeatable: bool = True,
    needs_answer: bool = False,
) -> Result:
    """Poll until the probe returns.

    Args:
        policy: How long, and how often.
        what: The awaited state, for the log and the error: "volume 'vol-1' to be available".
        probe: Returns when the state is reached, raises NotYet while it is not, and any
            other error to end the wait at once.
        timed_out: Creates the error for a timeout.
        is_repeatable: Whether the probe is idempotent, for example because it only reads or deletes: then
            it is also retried after throttling, faults of AWS and lost answers.
        needs_answer: Whether an answer that can't be read ends the wait: what answers is not AWS, and
            nothing was seen that is worth waiting for.

    Returns:
        The probe's result.

    Raises:
        CloudError: Timeout; or the error that ``timed_out`` returns.
    """

    def is_not_yet(error: BaseException) -> bool:
        is_unread = needs_answer and isinstance(error, ResponseParserError)
        return isinstance(error, NotYet) or (is_repeatable and is_transient(error) and not is_unread)

    try:
        return _retrying(policy, what, is_not_yet)(probe)
    except Exception as last:
        if not is_not_yet(last):
            raise
        seen = _observation(last)
        message = f"Timed out after {policy.seconds:.0f} seconds waiting for {what}; last seen: {seen}"
        raise timed_out(message) from last


def retry_on_codes(policy: Policy, what: str, codes: frozenset[str], call: Callable[[], Result]) -> Result:
    """Retry a call while AWS answers one of the codes.

    Args:
        policy: How long, and how often.
        what: The awaited outcome, for the log.
        codes: The transient AWS error codes.
        call: The call, which must be idempotent.

    Returns:
        The call's result. After a timeout, its last error is raised.
    """
    return _retrying(policy, what, lambda error: has_code(error, codes))(call)


def retry_until_visible(what: str, call: Callable[[], Result]) -> Result:
    """Make an idempotent call about a resource, retried while AWS does not know it (eventual consistency).

    That may happen even after AWS has shown the resource.
    """
    return retry_on_codes(VISIBLE, f"{what} to become visible", NOT_FOUND_YET, call)


def discard(
    what: str,
    is_missing: Callable[[BaseException], bool],
    call: Callable[[], object],
    policy: Policy = VISIBLE,
) -> None:
    """Delete a resource that was just created.

    The deletion often follows the creation within milliseconds, when AWS may still answer that there is
    no such resource (eventual consistency). So "not found" is retried for a while before the resource
    counts as gone. Throttled calls are also retried.

    Args:
        what: The resource, for the log.
        is_missing: Whether an error says that the resource does not exist.
        call: Deletes it.
        policy: How long AWS may fail to find it.
    """
    try:
        _retrying(policy, f"{what} to become visible", is_missing)(
            lambda: retry_on_codes(UNTHROTTLED, f"{what} to be deleted", THROTTLED, call)
        )
    except Exception as error:
        if not is_missing(error):
            raise
        logger.info("There is no %s: it is gone, or was never created", what)


def _retrying(
    policy: Policy, what: str, is_transient: Callable[[BaseException], bool]
) -> "tenacity.Retrying":
    import tenacity  # noqa: PLC0415 - many methods import this module but never wait

    minutes = 0

    def log_pause(state: tenacity.RetryCallState) -> None:
        """Log each pause at level debug, and one line a minute at level info."""
        nonlocal minutes
        seen = _observation(state.outcome.exception() if state.outcome else None)
        logger.debug("Waiting for %s: %s", what, seen)
        if (passed := int(state.seconds_since_start or 0) // 60) > minutes:
            logger.info("Still waiting after %d min for %s: %s", passed, what, seen)
        minutes = passed

    return tenacity.Retrying(
        retry=tenacity.retry_if_exception(is_transient),
        wait=lambda state: _pause_after(state.attempt_number, policy),
        stop=tenacity.stop_after_delay(policy.seconds),
        sleep=interrupts.pause,
        before_sleep=log_pause,
        reraise=True,
    )


def _pause_after(attempt: int, policy: Policy) -> float:
    """Seconds until the next attempt; jitter is added even to the longest pause."""
    backed_off = min(FIRST_PAUSE * GROWTH ** (attempt - 1), policy.longest_pause)
    return backed_off + random.uniform(0, JITTER)  # noqa: S311 - spreads calls, protects nothing


def _observation(error: BaseException | None) -> object:
    """What an attempt saw: a state, AWS's code, or an error."""
    return error if error is None or isinstance(error, NotYet) else code_of(error) or describe_error(error)
