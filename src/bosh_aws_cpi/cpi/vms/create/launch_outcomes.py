"""What create_vm does after a launch that gives no running VM: one table, which docs/retries.md shows."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, Literal

from bosh_aws_cpi.aws.sdk import errors, timing
from bosh_aws_cpi.aws.sdk.errors import describe_error
from bosh_aws_cpi.aws.sdk.translation import translate
from bosh_aws_cpi.cpi.encryption_keys import USABLE
from bosh_aws_cpi.errors import BoshError, VMCreationFailed
from bosh_aws_cpi.model import Instance
from bosh_aws_cpi.plan.launch_options import LaunchOption
from bosh_aws_cpi.records import Entity, Record

Step = Literal["wait", "next option", "next token", "relaunch", "fail", "fail with all refusals"]

MAX_RELAUNCHES: Final = 2
"""The maximum number of relaunches after EC2 or a user has ended an instance."""


class Rule(Entity):
    """A row of the table: EC2's error or the end of an instance, and create_vm's next step."""

    outcome: str
    """The name of the outcome."""
    event: Callable[[Exception], object] | Mapping[str, str]
    """The codes, or a predicate, of an error of RunInstances; or, for an instance that was ended, the
    remedies by the beginning of EC2's code for the reason."""
    retry_markets: Literal["all", "all but on demand", "spot", "none"]
    """The markets after which create_vm tries the next launch option, if the outcome leaves one."""
    fallback: Step
    """What create_vm does if it does not try the next launch option."""
    error: Literal["retriable", "final", "AWS's"]
    """Whether the Director may retry; AWS's if EC2 refuses the request itself, and keeps no spot request."""
    rules_out: Literal["offer", "subnet", "group"] = "offer"
    """What the launch options that the outcome rules out have in common with this one."""
    remedy: str = ""
    """What to do about an error of RunInstances, in place of its code's remedy."""
    wait: timing.Policy = timing.AT_ONCE
    """How long create_vm first repeats the launch as it is; the other fields say what follows then."""

    def applies_to(self, error: Exception) -> bool:
        """Whether this rule is about an error of RunInstances."""
        return callable(self.event) and bool(self.event(error))

    def retries(self, option: LaunchOption) -> bool:
        """Whether create_vm tries the next launch option after one on this option's market."""
        if self.retry_markets == "all but on demand":
            return not option.is_on_demand
        return self.retry_markets == "all" or (self.retry_markets == "spot" and option.is_spot)

    def allows(self, option: LaunchOption, other: LaunchOption) -> bool:
        """Whether another launch option may work, after this outcome of one."""
        if self.rules_out == "subnet":
            return other.subnet_id != option.subnet_id
        if self.rules_out == "group":
            return other.skips_placement_group or other.zone != option.zone
        return other.offer != option.offer


_ALL: Final = "fail with all refusals"
_NOT_ON_DEMAND: Final = "all but on demand"
_FULL: Final = (
    ". If some of them are being terminated, retry. Otherwise give the instance group more azs, divide it "
    "into several, use spread: prefer, or remove spread or placement_group"
)
_CHECK_KEY: Final = f". Check that the KMS key of each encrypted disk, and of the AMI's snapshots, {USABLE}"
_SPOT_GRANT: Final = (
    ". A customer managed key also needs a grant for the role by which EC2 launches Spot instances, "
    "AWSServiceRoleForEC2Spot: aws kms create-grant"
)
TOKEN_RULE: Final = Rule("token of an earlier call", errors.TOKEN_SPENT, "none", "next token", "AWS's")
GROUP_RULE: Final = Rule("full spread group", errors.GROUP_FULL, "all", _ALL, "retriable", "group", _FULL)
CAPACITY_RULE: Final = Rule("no capacity", errors.NO_CAPACITY, "all", _ALL, "retriable")
SUBNET_RULE: Final = Rule("full subnet", errors.SUBNET_FULL, "all", _ALL, "retriable", "subnet")
USER_SHUTDOWN_RULE: Final = Rule(
    "end by a user", {"Client.UserInitiatedShutdown": ""}, "none", "relaunch", "final"
)
"""It may be an earlier call's undo, seconds after its launch."""
ADDRESS_RULE: Final = Rule(
    "taken address", errors.ADDRESS_TAKEN, "none", "fail", "final", wait=timing.ADDRESS_RELEASED
)
PROFILE_RULE: Final = Rule(
    "unknown instance profile", errors.PROFILE_UNKNOWN, "none", "fail", "AWS's", wait=timing.PROFILE_SEEN
)
UNKNOWN_GROUP_RULE: Final = Rule(
    "unknown spread group", errors.GROUP_MISSING, "all", _ALL, "retriable", "group", wait=timing.VISIBLE
)
RULES: Final = (
    TOKEN_RULE,
    # The same launch is repeated, with its token.
    ADDRESS_RULE,
    PROFILE_RULE,
    # EC2 may have launched the VM.
    Rule("no answer", errors.may_have_taken_effect, "none", "fail", "retriable"),
    Rule(
        "fault of AWS, or throttled", errors.AWS_FAULT | errors.THROTTLED, _NOT_ON_DEMAND, "fail", "retriable"
    ),
    UNKNOWN_GROUP_RULE,
    GROUP_RULE,
    Rule("quota", errors.QUOTA_REACHED, "all", _ALL, "final"),
    CAPACITY_RULE,
    SUBNET_RULE,
    Rule("closed reservation", errors.RESERVATION_CLOSED, _NOT_ON_DEMAND, "fail", "AWS's"),
    Rule("other refusal", errors.code_of, "spot", _ALL, "AWS's"),  # a mistake must not raise the price
    Rule(
        "end for lack of capacity",
        {"Server.InsufficientInstanceCapacity": "", "Server.SpotInstanceTermination": ""},
        "all",
        "relaunch",
        "retriable",
    ),
    USER_SHUTDOWN_RULE,
    Rule(
        "end because of a KMS key",  # only Spot needs a grant for its service-linked role
        {
            "Client.InternalError": f". The usual cause is a KMS key that EC2 can't use{_CHECK_KEY}",
            "Client.InvalidKMSKey": _CHECK_KEY,
        },
        "spot",
        "fail",
        "final",
    ),
    Rule(
        "end for a reason of the account",
        {
            "Client.InvalidParameter": ". Correct root_disk or ephemeral_disk",
            "Client.InvalidSnapshot.NotFound": ". A snapshot of the AMI is gone: upload the stemcell again",
            "Client.VolumeLimitExceeded": ". Delete volumes, or have the account's EBS quota raised",
            "Client.": "",
        },
        "none",
        "fail",
        "final",
    ),
    Rule("end for another reason of EC2", {"": ""}, _NOT_ON_DEMAND, "relaunch", "retriable"),
)
"""The first rule that applies counts."""


class Outcome(Record):
    """The outcome of a launch that gives no running VM."""

    rule: Rule
    message: str
    """EC2's error, or the state that the instance did not reach."""
    error: BoshError
    """The error for the caller: the message with its remedy."""
    instance: Instance | None = None
    """The instance that was ended."""
    has_waited: bool = False
    """Whether the rule's wait is over."""


def outcome_of_error(error: Exception, waits: Collection[Rule] = ()) -> Outcome:
    """The outcome of an error of RunInstances.

    Args:
        waits: The rules with a wait that make sense for the launch.

    Raises:
        Exception: The error itself, if the call fails with it, whatever is left to try.
    """
    rules = (rule for rule in RULES if rule.wait is timing.AT_ONCE or rule in waits)
    rule = next((rule for rule in rules if rule.applies_to(error)), None)
    typed = translate(error, "create_vm")
    if rule is None or typed is None:
        raise error
    text = describe_error(error)
    if rule.error != "AWS's":
        message = text + rule.remedy if rule.remedy else typed.message
        typed = VMCreationFailed(message, ok_to_retry=rule.error == "retriable")
    typed.__cause__ = error
    return Outcome(rule, text, typed)


def spent_token(message: str) -> Outcome:
    """The outcome of a launch whose client token belongs to an earlier launch, and why that can't be used."""
    return Outcome(TOKEN_RULE, message, VMCreationFailed(message))


def outcome_of_end(instance: Instance) -> Outcome:
    """The outcome of a launch whose instance was ended before it ran."""
    rule, _ = _rule_and_remedy(instance)
    who = "A user" if rule is USER_SHUTDOWN_RULE else "EC2"
    why = instance.state_reason.text if instance.state_reason else "no reason given"
    text = f"{who} terminated instance '{instance.vm_cid}' before it ran: {why}"
    error = VMCreationFailed(text + remedy(instance), ok_to_retry=rule.error == "retriable")
    return Outcome(rule, text, error, instance)


def remedy(instance: Instance) -> str:
    """What to do about the reason for which EC2 ended an instance, ". Check …"; empty if not known."""
    _, text = _rule_and_remedy(instance)
    return text + _SPOT_GRANT if instance.is_spot and text.endswith(_CHECK_KEY) else text


def _rule_and_remedy(instance: Instance) -> tuple[Rule, str]:
    """The rule for the end of an instance, and the remedy."""
    code = instance.state_reason.code if instance.state_reason else ""
    rules = ((rule, rule.event) for rule in RULES if isinstance(rule.event, Mapping))
    return next((rule, ends[each]) for rule, ends in rules for each in ends if code.startswith(each))


def next_step(outcome: Outcome, option: LaunchOption, *, has_others: bool, relaunches: int) -> Step:
    """What create_vm does after a launch option's outcome.

    Args:
        has_others: Whether there is a launch option left that the outcome does not rule out.
        relaunches: How many relaunches are left.
    """
    rule = outcome.rule
    if rule.wait is not timing.AT_ONCE and not outcome.has_waited:
        return "wait"
    if rule.retries(option):
        if has_others:
            return "next option"
    elif rule.fallback == "fail with all refusals":
        return "fail"
    return "fail" if rule.fallback == "relaunch" and not relaunches else rule.fallback


def failure(refusals: Sequence[tuple[LaunchOption, Outcome]], limits: str = "") -> BoshError:
    """The error if EC2 has refused all launch options; after one refusal, its own.

    Args:
        limits: What keeps the VM from other capacity, as sentences; it does not matter for quotas.
    """
    option, outcome = refusals[-1]
    error = outcome.error
    if len(refusals) > 1:
        is_retriable = any(each.error.ok_to_retry for _, each in refusals)
        error = VMCreationFailed(_summary(refusals), ok_to_retry=is_retriable)
    elif option.is_spot and outcome.rule.rules_out == "offer":
        why = "Spot instance creation failed, and spot_ondemand_fallback is not set"
        error = VMCreationFailed(f"{why}: {error.message}")
    if any(each.rule is CAPACITY_RULE for _, each in refusals):
        error.message += limits
    return error


def _summary(refusals: Sequence[tuple[LaunchOption, Outcome]]) -> str:
    refused = "; ".join(f"{option}: {outcome.message}" for option, outcome in refusals)
    remedies = dict.fromkeys(outcome.error.message.removeprefix(outcome.message) for _, outcome in refusals)
    return f"EC2 could launch none of the VM's options. {refused}{''.join(remedies)}"


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
