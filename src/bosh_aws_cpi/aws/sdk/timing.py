"""All waits and retries of the program: one table of policies, and the functions that use them.

A look at AWS costs a quota that everybody in the account shares: EC2 accepts two launches and 20 reads of
instances a second. So a wait knows when its change is usually over, and looks then (`pauses`). The SDK's own
waiters look every 15 seconds.
"""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeVar

from bosh_aws_cpi import interrupts
from bosh_aws_cpi.aws.sdk import errors
from bosh_aws_cpi.errors import BoshError, CloudError
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.records import Record

if TYPE_CHECKING:
    import tenacity

Result = TypeVar("Result")

SHORTEST_PAUSE: Final = 1.25
LONGEST_PAUSE: Final = 15.0
GROWTH: Final = 1.04
"""After the usual time, each pause is so many times the one before: a change that takes four times as long is
seen within 12 seconds."""
JITTER: Final = 0.05
"""The greatest part of a pause that chance adds, so that a hundred calls look at different moments."""
LONGEST_SLOWED_PAUSE: Final = 30.0


class Policy(Record):
    """The limit of a wait, and when its change is usually over; all in seconds, from its beginning on."""

    awaited: str
    """The awaited state, for the table in docs/retries.md."""
    seconds: float
    usually: tuple[float, float] = (0, 2)
    """Between which times most changes are over."""
    early: tuple[float, ...] = ()
    """The times of further looks, before the usual time."""

    def of_earlier(self) -> "Policy":
        """The same wait for a change that an earlier call began: it may be over, so the first look is now."""
        return self.replace(early=(0, *self.early))


_RUBY_LIMIT: Final = 1600
"""The Ruby release's wait for volumes, attachments and AMIs, in seconds, rounded up.

No wait is shorter than in the Ruby release, so that a deployment that succeeded there still succeeds.
"""
_SECONDS: Final = (1.5, 4)
"""EBS's driver for Kubernetes looks at a new volume after 1.25 seconds, and sees 99 of 100 within four; at an
attachment after one (kubernetes-sigs/aws-ebs-csi-driver, pkg/cloud/cloud.go)."""
INSTANCE_RUNNING: Final = Policy("an instance runs", 800, usually=(5, 15))
"""Of six families 16.4 to 16.6 seconds from the request on (brevdev/ec2-coldboot-research), 4.9 in the best
case (daemonology.net, 2021); metal takes minutes (pycloudlib issue 192). EC2 has answered by then."""
PROFILE_SEEN: Final = Policy("EC2 knows a new instance profile", 120, usually=(0, 15))
"""EC2 may refuse launches with a profile that was created seconds ago."""
INSTANCE_STOPPED: Final = Policy("a stopping instance has stopped", 600, usually=(5, 45))
INSTANCE_TERMINATED: Final = Policy("an instance is terminated", 1500, usually=(49, 60), early=(0, 24.5))
"""The first look shows delete_vm the VM's tags. A termination takes about a minute, of metal over 19
(hashicorp/packer-plugin-amazon issue 682), of g4dn five (aws/karpenter-provider-aws issue 7019)."""
INSTANCE_SEEN: Final = Policy("EC2 shows a new instance, within another wait", 200)
"""How long EC2 may fail to show an instance whose id it has returned.

The limit of the Ruby release; AWS says "up to five minutes" (EC2 developer guide, "Eventual consistency").
"""
NIC_SEEN: Final = Policy("EC2 shows a new interface, within another wait", 30)
NIC_AVAILABLE: Final = Policy("an interface is available", 300, usually=_SECONDS)
TARGET_KNOWN: Final = Policy("ELB accepts a new instance", 60, usually=(0, 6))
"""ELB notices with a delay that an instance exists and runs."""
ADDRESS_ASSOCIATED: Final = Policy("an interface accepts an elastic IP", 60)
TARGETS_DRAINED: Final = Policy("target groups have drained, after their deregistration delay", 60)
NIC_RELEASED: Final = Policy("a terminated instance releases an interface", 500, usually=(0, 15))
ADDRESS_RELEASED: Final = Policy("an instance that is terminating releases an address", 600, usually=(0, 12))
SUBNET_AVAILABLE: Final = Policy("a subnet is available", 300, usually=_SECONDS)
SUBNET_RELEASED: Final = Policy("the VMs that were just deleted release a subnet", 300, usually=(0, 30))
"""For DependencyViolation: the subnet still has interfaces."""
GROUP_AVAILABLE: Final = Policy("a placement group whose name is in use is shown with its tags, or gone", 60)
"""EC2 may show a new group of another call, or its tags, late, or may still be deleting an earlier group."""
VOLUME_AVAILABLE: Final = Policy("a volume is available", _RUBY_LIMIT, usually=_SECONDS)
COPY_ACCEPTED: Final = Policy("EBS accepts another copy of a volume", 300, usually=(0, 45))
"""For CopyVolumesLimitExceeded; the default of terraform-provider-aws.

Earlier copies may take hours, in which the VM has no disk; so after this time the Director copies the data.
"""
VOLUME_ATTACHED: Final = Policy("a volume is attached", _RUBY_LIMIT, usually=_SECONDS)
VOLUME_DETACHED: Final = Policy("a volume is detached", _RUBY_LIMIT, usually=_SECONDS)
VOLUME_DELETED: Final = Policy("a volume is deleted", _RUBY_LIMIT, usually=_SECONDS)
VOLUME_RELEASED: Final = Policy("EBS releases the volume of a deleted VM", 600, usually=(0, 9))
"""For VolumeInUse: EBS still holds the volume for a VM that was just deleted."""
DEVICE_NAME_FREE: Final = Policy("a device name is free, when all seem to be in use", 30)
"""For some seconds after a detachment, EC2 may still consider the device name used."""
INSTANCE_READY_TO_ATTACH: Final = Policy("a starting instance accepts a volume", 60)
"""For IncorrectState from AttachVolume, usually because the VM is still starting."""
IMAGE_AVAILABLE: Final = Policy("an AMI is available", 3600, usually=(5, 120))
IMAGE_COPIED: Final = Policy("a time-based copy of an AMI is available", 14_400, usually=(60, 900))
"""Enough for a time-based copy of 45 minutes behind four others: its minutes begin when the earlier copies of
the same AMI have ended (EBS user guide, "Time-based copies").
"""
IMAGE_GONE: Final = Policy("an AMI is gone", _RUBY_LIMIT, usually=_SECONDS)
SNAPSHOT_RELEASED: Final = Policy("a deregistered AMI releases its snapshot", 300, usually=(0, 15))
SNAPSHOT_COMPLETED: Final = Policy("a snapshot is completed", 14_400, usually=(15, 120))
"""The first snapshot of a large, full volume takes hours (aws/aws-sdk-ruby issue 978)."""
SNAPSHOT_ACCEPTED: Final = Policy("EBS accepts another snapshot", 3600, usually=(0, 45))
"""The Director takes the snapshots of a whole deployment in one task, and retries none; a region allows 100
pending ones (pingcap/tidb issue 44325)."""
VOLUME_MODIFIED: Final = Policy("a changed volume can be used", _RUBY_LIMIT, usually=(2, 10))
BLOCK_WRITTEN: Final = Policy("EBS accepts a snapshot's block", 300)
DEVICE_SEEN: Final = Policy("the kernel shows an attached volume", 60)
NEW_SEEN: Final = Policy("AWS shows a new resource, within another wait", 60)
LOST_SEEN: Final = Policy("AWS shows a resource whose creation was not answered", 60)
"""A resource whose creation was not answered counts as not created if AWS does not show it in this time."""
SECOND_LOOK: Final = 2.0
"""The seconds after which AWS is asked again about an existing resource that it does not show or find.

AWS advises to begin with "a couple of seconds" (EC2 developer guide, "Eventual consistency").
"""
TAGGABLE: Final = Policy("a new resource accepts tags", 270)
VISIBLE: Final = Policy("the next call finds a new resource", 60)
"""How long AWS may fail to find a new resource (eventual consistency)."""
THROTTLED_CALL: Final = Policy("a call is no longer throttled, from its first attempt on", 300)
"""How long a throttled call is retried, counted from its first attempt."""
THROTTLED_LAUNCH: Final = Policy("a launch is no longer throttled, from its first attempt on", 900)
"""EC2 accepts two launches a second: of a thousand that begin at once, the last waits for 500 seconds."""
THROTTLED_COMMAND: Final = Policy("an operator's command is no longer throttled, all calls together", 20)
"""How long the calls of an operator's command pause for throttling, all together.

A person waits for the command; the command reports the look-ups that failed.
"""
UNTHROTTLED: Final = Policy("a deletion is no longer throttled", 120, usually=(0, 15))
"""How long a throttled deletion is retried, even with ``max_retries`` 0, so that no resource leaks."""
ANSWERED: Final = Policy("an attempt at a call of AWS or of the registry is answered", 60)
"""The limit until an answer begins, and again until it is complete (`connections`)."""
ANSWERED_COMMAND: Final = Policy("a look-up of an operator's command is answered", 30)
"""A person waits for each service that does not answer; `ANSWERED` is for answers that hold up nobody."""
AT_ONCE: Final = Policy("none: one attempt", 0)


class VisibilityWindow:
    """Distinguishes a new resource, which AWS does not show yet, from a resource that is gone.

    Use this only after AWS has answered that there is no such resource: a missing answer proves nothing.

    Args:
        policy: How long AWS may fail to show the resource.
    """

    def __init__(self, policy: Policy = NEW_SEEN) -> None:
        self.was_seen = False
        self._deadline = time.monotonic() + policy.seconds

    @property
    def is_overdue(self) -> bool:
        """Whether AWS has never shown the resource, although the time for that is over."""
        return not self.was_seen and time.monotonic() > self._deadline

    @property
    def is_lost(self) -> bool:
        """Whether a resource that AWS does not show is gone, and not merely new."""
        return self.was_seen or self.is_overdue

    def check(self, resource: Result | None, gone: BoshError) -> Result:
        """Return what AWS shows of the resource.

        Args:
            resource: AWS's description; None if AWS has answered that there is no such resource.
            gone: The error to raise if the resource is gone.

        Raises:
            NotYet: AWS does not show the resource yet.
        """
        if resource is None and self.is_lost:
            raise gone
        if resource is None:
            raise NotYet("not visible yet")
        self.was_seen = True
        return resource


class NotYet(Exception):
    """The awaited state is not reached yet; the message names the current state."""


def pauses(policy: Policy) -> Iterator[float]:
    """The seconds before each look of a wait, without jitter: the first pause is before the first look.

    From the beginning of the usual time on, the looks are a third of it apart, and then further and further.
    """
    begin, end = policy.usually
    passed = 0.0
    for time_of_look in (*policy.early, begin):
        yield time_of_look - passed
        passed = time_of_look
    pause = min(max((end - begin) / 3, SHORTEST_PAUSE), LONGEST_PAUSE)
    while True:
        yield pause
        passed += pause
        if passed >= end:
            pause = min(pause * GROWTH, LONGEST_PAUSE)


class Throttling:
    """Counts throttled attempts, so that a wait whose look was throttled slows down."""

    count = 0


_OF_PROCESS: Final = Throttling()


def note_throttling() -> None:
    """Note that AWS has throttled an attempt of this process."""
    _OF_PROCESS.count += 1


def poll(
    policy: Policy,
    what: str,
    probe: Callable[[], Result],
    timed_out: Callable[[str], BoshError] = CloudError,
    *,
    is_repeatable: bool = True,
    needs_answer: bool = False,
) -> Result:
    """Poll until the probe returns; the first look is when the change can be over.

    Args:
        policy: The limits of the wait.
        what: The awaited state, for the log and the error: "volume 'vol-1' to be available".
        probe: Returns when the state is reached; raises NotYet while it is not; any other error ends the
            wait at once.
        timed_out: Creates the error for a timeout.
        is_repeatable: Whether the probe is idempotent, for example because it only reads or deletes. If so,
            it is also retried after throttling, faults of AWS and lost answers.
        needs_answer: Whether an answer that is not from AWS ends the wait: there is nothing to wait for.

    Returns:
        The probe's result.

    Raises:
        CloudError: The wait timed out; ``timed_out`` may create another error.
    """

    def is_not_yet(error: BaseException) -> bool:
        is_over = needs_answer and errors.is_foreign(error)
        return isinstance(error, NotYet) or (is_repeatable and errors.is_transient(error) and not is_over)

    try:
        return _retrying(policy, what, is_not_yet, is_begun=True)(probe)
    except Exception as last:
        if not is_not_yet(last):
            raise
        raise timed_out(_timeout(policy, what, last)) from last


def _timeout(policy: Policy, what: str, last: Exception) -> str:
    return f"Timed out after {policy.seconds:.0f} seconds waiting for {what}; last seen: {_observation(last)}"


def retry_on_codes(
    policy: Policy,
    what: str,
    codes: Callable[[BaseException], bool],
    call: Callable[[], Result],
) -> Result:
    """Retry a call while AWS answers one of the codes.

    Args:
        policy: The limits of the wait.
        what: The awaited outcome, for the log.
        codes: The transient AWS error codes (`Codes`), or another predicate of the error.
        call: Makes the call, which must be idempotent.

    Returns:
        The call's result. After a timeout, its last error is raised.
    """
    return _retrying(policy, what, codes)(call)


def retry_until_visible(what: str, call: Callable[[], Result]) -> Result:
    """Make an idempotent call about a resource; retry while AWS does not know it (eventual consistency).

    AWS may not know a resource even after it has shown the resource.
    """
    return retry_on_codes(VISIBLE, f"{what} to become visible", errors.NOT_FOUND_YET, call)


def look_twice(look: Callable[[], Result | None], again: Callable[[], Result | None]) -> Result | None:
    """Look for an existing resource; None only if a second look, some seconds later, does not show it either.

    AWS may fail for a moment to show what it has shown before (eventual consistency).
    """
    if (shown := look()) is not None:
        return shown
    interrupts.pause(SECOND_LOOK)
    return again()


def repeat_while_shown(
    what: str, gone: type[BoshError], look: Callable[[], object], call: Callable[[], Result]
) -> Result:
    """Make a call about an existing resource; repeat it while AWS does not find what AWS shows.

    Args:
        what: The resource, for the log.
        gone: The type of the call's error if AWS did not find the resource; the call has had no effect then.
        look: Looks for the resource, twice, and raises an error if it is gone.
        call: Makes the call.
    """

    def attempt() -> Result:
        try:
            return call()
        except gone as error:
            look()
            raise NotYet(error.message) from error

    with suppress(gone):
        return call()
    look()
    return poll(VISIBLE, f"AWS to find {what}", attempt, is_repeatable=False)


class Wait:
    """A wait whose attempts the caller makes; its limit counts from the first one that failed.

    Args:
        policy: The limits of the wait.
        what: The awaited state, as for `poll`.
        timed_out: Creates the error for a timeout; without it, the last attempt's error is raised.
        prepare: Prepares the next attempt after an attempt's error, and returns the current state.
    """

    def __init__(
        self,
        policy: Policy,
        what: str,
        timed_out: Callable[[str], BoshError] | None = None,
        prepare: Callable[[BaseException], str] | None = None,
    ) -> None:
        self._policy = policy
        self._what = what
        self._timed_out = timed_out
        self._prepare = prepare
        self._attempts: Iterator[tenacity.AttemptManager] | None = None

    def pause(self, error: BaseException) -> None:
        """Prepare the next attempt after one that failed, and pause.

        Raises:
            CloudError: The wait timed out; ``timed_out`` may create another error.
        """
        seen = error
        if self._prepare is not None:
            seen = NotYet(self._prepare(error))
            seen.__cause__ = error
        if self._attempts is None:
            self._attempts = iter(_retrying(self._policy, self._what, lambda _: True))
            self._attempt = next(self._attempts)
        self._attempt.retry_state.set_exception((type(seen), seen, None))
        try:
            self._attempt = next(self._attempts)
        except Exception as last:
            if last is not seen or self._timed_out is None:
                raise
            raise self._timed_out(_timeout(self._policy, self._what, last)) from last


def discard(
    what: str,
    is_missing: Callable[[BaseException], bool],
    call: Callable[[], object],
    policy: Policy = VISIBLE,
) -> None:
    """Delete a resource that was just created.

    The deletion often follows the creation within milliseconds, when AWS may still answer that there is
    no such resource (eventual consistency). So "not found" is retried for a while before the resource
    counts as gone. Throttled attempts are also retried.

    Args:
        what: The resource, for the log.
        is_missing: Whether an error says that the resource does not exist.
        call: Deletes the resource.
        policy: How long AWS may fail to find the resource.
    """
    try:
        _retrying(policy, f"{what} to become visible", is_missing)(
            lambda: retry_on_codes(UNTHROTTLED, f"{what} to be deleted", errors.THROTTLED, call)
        )
    except Exception as error:
        if not is_missing(error):
            raise
        logger.info("There is no %s: it is gone, or was never created", what)


def _retrying(
    policy: Policy, what: str, is_transient: Callable[[BaseException], bool], *, is_begun: bool = False
) -> "tenacity.Retrying":
    import tenacity  # noqa: PLC0415 - many methods import this module but never wait

    minutes = 0
    began = time.monotonic()
    wait = slowed_pauses(policy)
    first = next(wait)
    if is_begun and first:
        interrupts.pause(first)

    def log_pause(state: tenacity.RetryCallState) -> None:
        """Log each pause at level debug, and once a minute at level info."""
        nonlocal minutes
        seen = _observation(state.outcome.exception() if state.outcome else None)
        logger.debug("Waiting for %s: %s", what, seen)
        if (passed := int(time.monotonic() - began) // 60) > minutes:
            logger.info("Still waiting after %d min for %s: %s", passed, what, seen)
        minutes = passed

    return tenacity.Retrying(
        retry=tenacity.retry_if_exception(is_transient),
        wait=lambda _: next(wait),
        stop=lambda _: time.monotonic() - began >= policy.seconds,
        sleep=interrupts.pause,
        before_sleep=log_pause,
        reraise=True,
    )


def slowed_pauses(policy: Policy, throttling: Throttling = _OF_PROCESS) -> Iterator[float]:
    """The pauses of a wait, with jitter; each throttled look doubles them, others let them shrink again.

    Args:
        throttling: Counts the throttled looks; by default, all throttled attempts of this process.
    """
    slowness, throttled = 1.0, throttling.count
    for plain in pauses(policy):
        was_throttled, throttled = throttling.count > throttled, throttling.count
        slowness = slowness * 2 if was_throttled else max(1, slowness / 2)
        pause = plain if slowness == 1 else min(plain * slowness, LONGEST_SLOWED_PAUSE)
        jitter = JITTER * min(pause, LONGEST_PAUSE)
        yield pause + random.uniform(0, jitter)  # noqa: S311 - spreads calls, protects nothing


def _observation(error: BaseException | None) -> object:
    """The outcome of an attempt, for messages: a state, AWS's error code, or an error."""
    if error is None or isinstance(error, NotYet):
        return error
    return errors.code_of(error) or errors.describe_error(error)
