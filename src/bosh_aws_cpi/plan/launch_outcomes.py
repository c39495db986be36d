"""What create_vm does after a launch that gives no running VM: one table, which docs/retries.md shows."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from bosh_aws_cpi.errors import BoshError, VMCreationFailed
from bosh_aws_cpi.model import Instance
from bosh_aws_cpi.plan.launch_options import LaunchOption
from bosh_aws_cpi.records import Record

Step = Literal["next option", "next token", "relaunch", "fail", "fail with all refusals"]

MAX_RELAUNCHES: Final = 2
"""The maximum number of relaunches after EC2 or a user has ended an instance."""


class Rule(Record):
    """What follows one kind of outcome."""

    kind: str
    """What became of the launch."""
    goes_on: Literal["all", "all but on demand", "spot", "none"]
    """The markets after which create_vm tries the next launch option, if the outcome leaves one."""
    otherwise: Step
    """What create_vm does if it does not try the next launch option."""
    why: str
    """The reason for this, for docs/retries.md."""
    reach: Literal["offer", "subnet", "group"] = "offer"
    """What the launch options that the outcome rules out have in common with this one."""

    def has_way_out(self, option: LaunchOption) -> bool:
        """Whether a launch option's market is one after which create_vm tries the next one."""
        if self.goes_on == "all but on demand":
            return not option.is_on_demand
        return self.goes_on == "all" or (self.goes_on == "spot" and option.is_spot)

    def allows(self, option: LaunchOption, other: LaunchOption) -> bool:
        """Whether another launch option may work, after this outcome of one."""
        if self.reach == "subnet":
            return other.subnet_id != option.subnet_id
        if self.reach == "group":
            return other.is_outside or other.zone != option.zone
        return other.offer != option.offer


NO_CAPACITY: Final = Rule(
    "no capacity, or a quota", "all", "fail with all refusals", "another type, market or zone may have some"
)
SUBNET_FULL: Final = Rule(
    "full subnet", "all", "fail with all refusals", "another subnet may have an address", "subnet"
)
GROUP_FULL: Final = Rule(
    "full spread group", "all", "fail with all refusals", "there may be room in another zone", "group"
)
REFUSED: Final = Rule(
    "other refusal", "spot", "fail with all refusals", "a mistake must not lead to a higher price"
)
RESERVATION_CLOSED: Final = Rule(
    "closed reservation", "all but on demand", "fail", "it takes no VM now, and is no mistake"
)
BUSY: Final = Rule(
    "fault of AWS, or throttled", "all but on demand", "fail", "the Director retries on demand"
)
UNANSWERED: Final = Rule("no answer", "none", "fail", "EC2 may have launched the VM: a retry finds it")
TOKEN_SPENT: Final = Rule("spent client token", "none", "next token", "an earlier call has used it")
ENDED_EARLIER: Final = Rule(
    "end of an earlier call's instance", "none", "next token", "this call has not failed"
)
ENDED_FOR_CAPACITY: Final = Rule(
    "end for lack of capacity", "all", "relaunch", "another type, market or zone may have some"
)
ENDED_FOR_A_KEY: Final = Rule(
    "end because of a KMS key", "spot", "fail", "only Spot needs a grant for its service-linked role"
)
ENDED_BY_EC2: Final = Rule(
    "end for another reason of EC2", "all but on demand", "relaunch", "it may pass, or be the market's"
)
ENDED_BY_USER: Final = Rule(
    "end by a user", "none", "relaunch", "it may be an earlier call's undo, seconds after its launch"
)
ENDED_BY_ACCOUNT: Final = Rule(
    "end for a reason of the account", "none", "fail", "somebody must correct the cause"
)


class Outcome(Record):
    """What became of a launch that gives no running VM."""

    rule: Rule
    said: str
    """EC2's error, or what the CPI waited for in vain."""
    error: BoshError
    """The same, with its remedy."""
    instance: Instance | None = None
    """The instance that was ended."""


_KEY: Final = (
    ". Check that the KMS key of each encrypted disk, and of the AMI's snapshots, exists, is enabled and not "
    "pending deletion, and that its policy lets the CPI's user or role use it and create grants"
)
_SPOT_GRANT: Final = (
    ". A customer managed key also needs a grant for the role by which EC2 launches Spot instances, "
    "AWSServiceRoleForEC2Spot: aws kms create-grant"
)
_ENDS: Final = {
    "Server.InsufficientInstanceCapacity": (ENDED_FOR_CAPACITY, ""),
    "Server.SpotInstanceTermination": (ENDED_FOR_CAPACITY, ""),
    "Client.UserInitiatedShutdown": (ENDED_BY_USER, ""),
    "Client.InternalError": (ENDED_FOR_A_KEY, f". The usual cause is a KMS key that EC2 can't use{_KEY}"),
    "Client.InvalidKMSKey": (ENDED_FOR_A_KEY, _KEY),
    "Client.InvalidParameter": (ENDED_BY_ACCOUNT, ". Correct root_disk or ephemeral_disk"),
    "Client.InvalidSnapshot.NotFound": (
        ENDED_BY_ACCOUNT,
        ". A snapshot of the AMI is gone: upload the stemcell again",
    ),
    "Client.VolumeLimitExceeded": (
        ENDED_BY_ACCOUNT,
        ". Delete volumes, or have the account's EBS quota raised",
    ),
    "Client.": (ENDED_BY_ACCOUNT, ""),
    "": (ENDED_BY_EC2, ""),
}
"""The kind of an instance's end and its remedy, by the beginning of EC2's code for the reason."""


def ended(instance: Instance) -> Outcome:
    """The outcome of a launch whose instance was ended before it ran."""
    rule, _ = _end(instance)
    who = "A user" if rule is ENDED_BY_USER else "EC2"
    why = instance.state_reason.text if instance.state_reason else "no reason given"
    said = f"{who} terminated instance '{instance.vm_cid}' before it ran: {why}"
    ok_to_retry = rule in {ENDED_FOR_CAPACITY, ENDED_BY_EC2}
    return Outcome(rule, said, VMCreationFailed(said + remedy(instance), ok_to_retry=ok_to_retry), instance)


def remedy(instance: Instance) -> str:
    """What to do about the reason for which EC2 ended an instance, ". Check …"; empty if not known."""
    _, found = _end(instance)
    return found + _SPOT_GRANT if instance.is_spot and found.endswith(_KEY) else found


def _end(instance: Instance) -> tuple[Rule, str]:
    code = instance.state_reason.code if instance.state_reason else ""
    return next(end for beginning, end in _ENDS.items() if code.startswith(beginning))


def next_step(outcome: Outcome, option: LaunchOption, *, has_others: bool, relaunches: int) -> Step:
    """What create_vm does after a launch option's outcome.

    Args:
        has_others: Whether there is a launch option left that the outcome does not rule out.
        relaunches: How many relaunches are left.
    """
    rule = outcome.rule
    if rule.has_way_out(option):
        if has_others:
            return "next option"
    elif rule.otherwise == "fail with all refusals":
        return "fail"
    return "fail" if rule.otherwise == "relaunch" and not relaunches else rule.otherwise


def failure(refusals: Sequence[tuple[LaunchOption, Outcome]], limits: str = "") -> BoshError:
    """The error if EC2 has refused all launch options; after one refusal, its own.

    Args:
        limits: What keeps the VM from other capacity, as sentences; it does not matter for quotas.
    """
    error = _failure(refusals)
    if any(outcome.rule is NO_CAPACITY and outcome.error.ok_to_retry for _, outcome in refusals):
        error.message += limits
    return error


def _failure(refusals: Sequence[tuple[LaunchOption, Outcome]]) -> BoshError:
    option, outcome = refusals[-1]
    if len(refusals) > 1:
        is_retriable = any(each.error.ok_to_retry for _, each in refusals)
        return VMCreationFailed(_summary(refusals), ok_to_retry=is_retriable)
    if option.is_spot and outcome.rule.reach == "offer":
        why = "Spot instance creation failed, and spot_ondemand_fallback is not set"
        return VMCreationFailed(f"{why}: {outcome.error.message}")
    return outcome.error


def _summary(refusals: Sequence[tuple[LaunchOption, Outcome]]) -> str:
    listed = "; ".join(
        f"{option.subnet_id if outcome.rule is SUBNET_FULL else option}: {outcome.said}"
        for option, outcome in refusals
    )
    last = refusals[-1][1]
    rules = {outcome.rule for _, outcome in refusals}
    if rules == {GROUP_FULL}:
        return listed + last.error.message.removeprefix(last.said)
    if rules == {SUBNET_FULL}:
        return (
            "No free address in any of the network's subnets: use larger ones, delete resources in "
            f"them, or add subnets to subnet_fallbacks. {listed}"
        )
    if SUBNET_FULL in rules:
        return (
            "Some subnets are full, and EC2 has no capacity for the VM's instance types in the others. "
            f"{listed}"
        )
    return f"No capacity for any of the VM's instance types. {listed}"


def next_generation(generation: int, used: Mapping[int, Instance]) -> int:
    """The generation of the next client token.

    Args:
        generation: The present one.
        used: The instances that EC2 still shows of the launch option, by generation.

    Returns:
        One whose instance is alive, otherwise the first that was never used.
    """
    alive = [later for later, entry in used.items() if later > generation and not entry.is_ending]
    return min(alive) if alive else max([generation, *used]) + 1
