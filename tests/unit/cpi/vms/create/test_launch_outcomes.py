"""What AWS's answers to RunInstances and ended instances mean, and what create_vm does next: tables."""

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError, ReadTimeoutError

from bosh_aws_cpi.aws.sdk import errors
from bosh_aws_cpi.aws.sdk.errors import Call
from bosh_aws_cpi.cpi.vms.create import launch_outcomes as outcomes
from bosh_aws_cpi.cpi.vms.create.launch_outcomes import RULES, Outcome, Rule
from bosh_aws_cpi.errors import CloudError, VMCreationFailed
from bosh_aws_cpi.model import Instance, InstanceTypeFacts, StateReason
from bosh_aws_cpi.plan.block_devices import BlockDevices
from bosh_aws_cpi.plan.launch_options import LaunchOption
from tests.unit.aws.timing_script import knowing

RULE = {rule.outcome: rule for rule in RULES}
REFUSED, UNANSWERED = RULE["other refusal"], RULE["no answer"]
OF_EC2, OF_ACCOUNT = RULE["end for another reason of EC2"], RULE["end for a reason of the account"]
FOR_CAPACITY, FOR_A_KEY = RULE["end for lack of capacity"], RULE["end because of a KMS key"]
WAITS = (outcomes.ADDRESS_RULE, outcomes.PROFILE_RULE, outcomes.UNKNOWN_GROUP_RULE)
ALL_REFUSALS = "fail with all refusals"
FACTS = InstanceTypeFacts("m5.large", ebs_needs_nvme_path=True)
ON_DEMAND, BLOCK, SPOT = (
    LaunchOption(FACTS, BlockDevices([], None), market) for market in ("on-demand", "capacity-block", "spot")
)


@pytest.mark.parametrize(
    ("rule", "on_demand", "reserved", "spot", "last"),
    [
        (outcomes.CAPACITY_RULE, "next option", "next option", "next option", ALL_REFUSALS),
        (RULE["quota"], "next option", "next option", "next option", ALL_REFUSALS),
        (outcomes.SUBNET_RULE, "next option", "next option", "next option", ALL_REFUSALS),
        (outcomes.GROUP_RULE, "next option", "next option", "next option", ALL_REFUSALS),
        (REFUSED, "fail", "fail", "next option", "fail"),
        (RULE["closed reservation"], "fail", "next option", "next option", "fail"),
        (RULE["fault of AWS, or throttled"], "fail", "next option", "next option", "fail"),
        (UNANSWERED, "fail", "fail", "fail", "fail"),
        (outcomes.TOKEN_RULE, "next token", "next token", "next token", "next token"),
        (FOR_CAPACITY, "next option", "next option", "next option", "relaunch"),
        (FOR_A_KEY, "fail", "fail", "next option", "fail"),
        (OF_EC2, "relaunch", "next option", "next option", "relaunch"),
        (outcomes.USER_SHUTDOWN_RULE, "relaunch", "relaunch", "relaunch", "relaunch"),
        (OF_ACCOUNT, "fail", "fail", "fail", "fail"),
        (outcomes.ADDRESS_RULE, "fail", "fail", "fail", "fail"),
        (outcomes.PROFILE_RULE, "fail", "fail", "fail", "fail"),
        (outcomes.UNKNOWN_GROUP_RULE, "next option", "next option", "next option", ALL_REFUSALS),
    ],
    ids=lambda each: each.outcome if isinstance(each, Rule) else "",
)
def test_next_step(rule: Rule, on_demand: str, reserved: str, spot: str, last: str) -> None:
    """The next step depends on the market, and on whether an option is left; the last one is on demand.

    Three outcomes have a wait, which comes first.
    """

    def step(option: LaunchOption, *, has_others: bool, relaunches: int = 1, has_waited: bool = True) -> str:
        found = Outcome(rule, "no", CloudError("no"), has_waited=has_waited)
        return outcomes.next_step(found, option, has_others=has_others, relaunches=relaunches)

    assert [step(each, has_others=True) for each in (ON_DEMAND, BLOCK, SPOT)] == [on_demand, reserved, spot]
    assert step(ON_DEMAND, has_others=False) == last
    assert step(ON_DEMAND, has_others=False, relaunches=0) == ("fail" if last == "relaunch" else last)
    assert rule is not REFUSED or step(SPOT, has_others=False) == ALL_REFUSALS
    assert (step(SPOT, has_others=True, has_waited=False) == "wait") is (rule in WAITS)


@pytest.mark.parametrize(
    ("rule", "subnet", "zone", "skips_placement_group", "is_left"),
    [
        (outcomes.SUBNET_RULE, "subnet-1", "a", True, False),
        (outcomes.SUBNET_RULE, "subnet-2", "a", False, True),
        (outcomes.GROUP_RULE, "subnet-2", "a", False, False),
        (outcomes.GROUP_RULE, "subnet-2", "a", True, True),
        (outcomes.GROUP_RULE, "subnet-3", "b", False, True),
        (outcomes.CAPACITY_RULE, "subnet-2", "a", False, False),
        (outcomes.CAPACITY_RULE, "subnet-3", "b", False, True),
    ],
)
def test_ruled_out(rule: Rule, subnet: str, zone: str, *, skips_placement_group: bool, is_left: bool) -> None:
    """Capacity belongs to a type in a zone, addresses to a subnet, and a spread group's limit to a zone."""
    first = ON_DEMAND.replace(subnet_id="subnet-1", zone="a")
    other = ON_DEMAND.replace(subnet_id=subnet, zone=zone, skips_placement_group=skips_placement_group)
    assert rule.allows(first, other) is is_left


def test_refusals() -> None:
    """Several refusals are listed, each remedy once; one alone is the error, which says what spot lacks."""
    options = [ON_DEMAND.replace(subnet_id=f"subnet-{n}") for n in (1, 2, 3)]
    rules = (outcomes.CAPACITY_RULE, outcomes.SUBNET_RULE, RULE["quota"])
    found = [
        Outcome(rule, "no", VMCreationFailed("no. Do this", ok_to_retry=rule is not RULE["quota"]))
        for rule in rules
    ]
    error = outcomes.failure(list(zip(options, found, strict=True)), ". In one zone")
    listed = "; ".join(f"m5.large (on demand) in subnet-{n}: no" for n in (1, 2, 3))
    assert error.message == f"EC2 could launch none of the VM's options. {listed}. Do this. In one zone"
    assert error.ok_to_retry
    quota = outcomes.failure([(ON_DEMAND, found[2])] * 2, ". In one zone")
    assert (quota.ok_to_retry, "In one zone" in quota.message) == (False, False)
    assert outcomes.failure([(SPOT, found[1])]) is found[1].error
    assert outcomes.failure([(ON_DEMAND, found[0])]) is found[0].error
    assert outcomes.failure([(SPOT, found[0])]).message.startswith("Spot instance creation failed")


@pytest.mark.parametrize(
    ("code", "rule", "remedy"),
    [
        ("Server.InternalError", OF_EC2, ""),
        ("Server.InsufficientInstanceCapacity", FOR_CAPACITY, ""),
        ("Server.SpotInstanceTermination", FOR_CAPACITY, ""),
        ("Client.InternalError", FOR_A_KEY, "KMS key"),
        ("Client.InvalidKMSKey.InvalidState", FOR_A_KEY, "KMS key"),
        ("Client.VolumeLimitExceeded", OF_ACCOUNT, "quota"),
        ("Client.InstanceInitiatedShutdown", OF_ACCOUNT, ""),
        ("Client.UserInitiatedShutdown", outcomes.USER_SHUTDOWN_RULE, ""),
        ("", OF_EC2, ""),
    ],
)
@pytest.mark.parametrize("is_spot", [False, True])
def test_ended(code: str, rule: Rule, remedy: str, *, is_spot: bool) -> None:
    """EC2's reason decides; a reason on our side is not retriable, and has its remedy."""
    reason = StateReason(code, f"{code}: because") if code else None
    instance = Instance("i-1", "terminated", "t", "z", {}, state_reason=reason, is_spot=is_spot)
    found = outcomes.outcome_of_end(instance)
    who = "A user" if rule is outcomes.USER_SHUTDOWN_RULE else "EC2"
    why = f"{code}: because" if code else "no reason given"
    said = f"{who} terminated instance 'i-1' before it ran: {why}"
    assert (found.rule, found.instance, found.message) == (rule, instance, said)
    assert found.error.message.startswith(said)
    assert remedy in found.error.message.removeprefix(said)
    assert ("create-grant" in found.error.message) is (is_spot and remedy == "KMS key")
    assert found.error.ok_to_retry is not code.startswith("Client.")


def refusal(code: str, message: str = "no", status: int = 400) -> ClientError:
    """Return an error of RunInstances."""
    answer = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status, "RequestId": "r"},
    }
    return ClientError(answer, "RunInstances")  # type: ignore[arg-type] # as much of it as is read


FREE = "There aren't sufficient free Ipv4 addresses or prefixes"
GROUP = "limit of instances in this spread placement group"
SHORTAGES = {*errors.NO_CAPACITY}.difference(errors.QUOTA_REACHED) | {"InsufficientQuantumCapacity"}
AFTER_A_LOST_ONE = Call("ec2:RunInstances", (), was_uncertain=True)


@pytest.mark.parametrize(
    ("refusals", "rule", "kind", "ok_to_retry"),
    [
        ([*map(refusal, sorted(errors.QUOTA_REACHED))], RULE["quota"], VMCreationFailed, False),
        ([*map(refusal, sorted(SHORTAGES))], outcomes.CAPACITY_RULE, VMCreationFailed, True),
        (
            [*map(refusal, sorted(errors.AWS_FAULT | errors.THROTTLED))],
            *(RULE["fault of AWS, or throttled"], VMCreationFailed, True),
        ),
        ([*map(refusal, sorted(errors.TOKEN_SPENT))], outcomes.TOKEN_RULE, CloudError, False),
        ([*map(refusal, sorted(errors.RESERVATION_CLOSED))], RULE["closed reservation"], CloudError, False),
        (
            [*map(refusal, sorted(errors.SUBNET_FULL))],
            outcomes.SUBNET_RULE,
            VMCreationFailed,
            True,
        ),
        ([refusal("InvalidKeyPair.NotFound")], REFUSED, CloudError, False),
        ([refusal("InvalidParameterValue", FREE)], outcomes.SUBNET_RULE, VMCreationFailed, True),
        (
            [refusal("InsufficientInstanceCapacity", f"x {GROUP} x")],
            *(outcomes.GROUP_RULE, VMCreationFailed, True),
        ),
        (
            [refusal("InsufficientInstanceCapacity", status=500)],
            *(outcomes.CAPACITY_RULE, VMCreationFailed, True),
        ),
        (
            [refusal("InternalError", status=500), ReadTimeoutError(endpoint_url="u")],
            *(UNANSWERED, VMCreationFailed, True),
        ),
        (  # the VM itself may have reached the quota
            [knowing(refusal(code), AFTER_A_LOST_ONE) for code in sorted(errors.QUOTA_REACHED)],
            *(UNANSWERED, VMCreationFailed, True),
        ),
    ],
    ids=lambda each: each.outcome if isinstance(each, Rule) else "",
)
def test_refused(refusals: list[Exception], rule: Rule, kind: type[CloudError], *, ok_to_retry: bool) -> None:
    """Code and words tell the kind of a refusal; a quota does not rise by a retry, and a mistake stays."""
    for error in refusals:
        found = outcomes.outcome_of_error(error)
        assert (found.rule, found.message) == (rule, errors.describe_error(error))
        assert (type(found.error), found.error.ok_to_retry) == (kind, ok_to_retry)


@pytest.mark.parametrize(
    ("code", "message", "rule", "after_a_lost_one"),
    [
        ("InvalidIPAddress.InUse", "no", outcomes.ADDRESS_RULE, outcomes.ADDRESS_RULE),
        (
            *("InvalidParameterValue", "Invalid IAM Instance Profile name"),
            *(outcomes.PROFILE_RULE, outcomes.PROFILE_RULE),
        ),
        ("InvalidPlacementGroup.Unknown", "no", outcomes.UNKNOWN_GROUP_RULE, UNANSWERED),
    ],
    ids=lambda each: each.outcome if isinstance(each, Rule) else "",
)
def test_waits(code: str, message: str, rule: Rule, after_a_lost_one: Rule) -> None:
    """A launch waits for what it uses; another one, such as into a group of the operator's, is refused.

    A VM that EC2 may have launched into its group is not launched outside of it.
    """
    error = refusal(code, message)
    assert outcomes.outcome_of_error(error, WAITS).rule is rule
    assert outcomes.outcome_of_error(error).rule is REFUSED
    assert outcomes.outcome_of_error(knowing(error, AFTER_A_LOST_ONE), WAITS).rule is after_a_lost_one


@pytest.mark.parametrize("error", [EndpointConnectionError(endpoint_url="u"), NoCredentialsError()])
def test_no_call(error: Exception) -> None:
    """Without a connection or keys nothing was launched, and no other launch option would be."""
    with pytest.raises(type(error)):
        outcomes.outcome_of_error(error)


@pytest.mark.parametrize(
    ("alive", "ended", "expected"), [((), (), 1), ((), (1, 3), 4), ((3, 4), (1,), 3), ((0,), (), 1)]
)
def test_next_generation(alive: tuple[int, ...], ended: tuple[int, ...], expected: int) -> None:
    """A spent token is followed by that of an instance that is alive, else by the first one never used."""
    used = {n: Instance(f"i-{n}", "running", "t", "z", {}) for n in alive}
    used |= {n: Instance(f"i-{n}", "terminated", "t", "z", {}) for n in ended}
    assert outcomes.next_generation(0, used) == expected
