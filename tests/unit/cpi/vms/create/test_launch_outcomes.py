"""What AWS's answers to RunInstances and ended instances mean, and what create_vm does next."""

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError, ReadTimeoutError

from bosh_aws_cpi.aws.sdk.errors import (
    AT_FAULT,
    NO_ADDRESS,
    NO_CAPACITY,
    NO_PREFIX,
    QUOTA_REACHED,
    RESERVATION_CLOSED,
    THROTTLED,
    TOKEN_SPENT,
    Call,
)
from bosh_aws_cpi.cpi.vms.create import launch_outcomes as outcomes
from bosh_aws_cpi.cpi.vms.create.launch_outcomes import RULES, Outcome, Rule
from bosh_aws_cpi.errors import CloudError, VMCreationFailed
from bosh_aws_cpi.model import Instance, InstanceTypeFacts, StateReason
from bosh_aws_cpi.plan.block_devices import BlockDevices
from bosh_aws_cpi.plan.launch_options import LaunchOption, Market
from tests.unit.aws.timing_script import knowing

RULE = {rule.outcome: rule for rule in RULES}
REFUSED, UNANSWERED = RULE["other refusal"], RULE["no answer"]
OF_EC2, OF_ACCOUNT = RULE["end for another reason of EC2"], RULE["end for a reason of the account"]
FOR_CAPACITY, FOR_A_KEY = RULE["end for lack of capacity"], RULE["end because of a KMS key"]
ALL_REFUSALS = "fail with all refusals"
FREE = "There aren't sufficient free Ipv4 addresses or prefixes"
GROUP = "limit of instances in this spread placement group"
BLOCK: Market = "capacity-block"


def option(
    name: str = "m5.large",
    market: Market = "on-demand",
    subnet_id: str = "",
    zone: str = "",
    *,
    is_outside: bool = False,
) -> LaunchOption:
    """Return a launch option."""
    facts = InstanceTypeFacts(name, ebs_needs_nvme_path=True)
    return LaunchOption(
        facts, BlockDevices([], None), market, subnet_id=subnet_id, zone=zone, is_outside=is_outside
    )


ON_DEMAND, SPOT = option(), option(market="spot")


def outcome(rule: Rule, said: str = "no", *, ok_to_retry: bool = True) -> Outcome:
    """Return an outcome with EC2's words."""
    return Outcome(rule, said, VMCreationFailed(f"{said}. Do this", ok_to_retry=ok_to_retry))


@pytest.mark.parametrize(
    ("rule", "on_demand", "reserved", "spot", "last"),
    [
        (outcomes.NO_CAPACITY, "next option", "next option", "next option", ALL_REFUSALS),
        (RULE["quota"], "next option", "next option", "next option", ALL_REFUSALS),
        (outcomes.SUBNET_FULL, "next option", "next option", "next option", ALL_REFUSALS),
        (outcomes.GROUP_FULL, "next option", "next option", "next option", ALL_REFUSALS),
        (REFUSED, "fail", "fail", "next option", "fail"),
        (RULE["closed reservation"], "fail", "next option", "next option", "fail"),
        (RULE["fault of AWS, or throttled"], "fail", "next option", "next option", "fail"),
        (UNANSWERED, "fail", "fail", "fail", "fail"),
        (outcomes.TOKEN_SPENT, "next token", "next token", "next token", "next token"),
        (FOR_CAPACITY, "next option", "next option", "next option", "relaunch"),
        (FOR_A_KEY, "fail", "fail", "next option", "fail"),
        (OF_EC2, "relaunch", "next option", "next option", "relaunch"),
        (outcomes.ENDED_BY_USER, "relaunch", "relaunch", "relaunch", "relaunch"),
        (OF_ACCOUNT, "fail", "fail", "fail", "fail"),
    ],
    ids=lambda each: each.outcome if isinstance(each, Rule) else "",
)
def test_next_step(rule: Rule, on_demand: str, reserved: str, spot: str, last: str) -> None:
    """The next step depends on the market, and on whether an option is left; the last one is on demand."""

    def step(option: LaunchOption, *, has_others: bool, relaunches: int = 1) -> str:
        found = outcome(rule)
        return outcomes.next_step(found, option, has_others=has_others, relaunches=relaunches)

    markets = (ON_DEMAND, option(market=BLOCK), SPOT)
    assert [step(each, has_others=True) for each in markets] == [on_demand, reserved, spot]
    assert step(ON_DEMAND, has_others=False) == last
    assert step(ON_DEMAND, has_others=False, relaunches=0) == ("fail" if last == "relaunch" else last)


def test_last_spot_option() -> None:
    """A spot launch that EC2 refuses for any reason, without another option, fails with all refusals."""
    found = outcome(REFUSED)
    assert outcomes.next_step(found, SPOT, has_others=False, relaunches=2) == ALL_REFUSALS


SUBNETS = [
    option(name, "on-demand", subnet, zone, is_outside=is_outside)
    for subnet, zone in (("subnet-1", "a"), ("subnet-2", "a"), ("subnet-3", "b"))
    for name in ("m5.large", "c5.large")
    for is_outside in (False, True)
]


@pytest.mark.parametrize(
    ("rule", "left"),
    [
        (
            outcomes.NO_CAPACITY,
            [each for each in SUBNETS if each.way != "m5.large (on demand)" or each.zone == "b"],
        ),
        (outcomes.SUBNET_FULL, [each for each in SUBNETS if each.subnet_id != "subnet-1"]),
        (outcomes.GROUP_FULL, [each for each in SUBNETS if each.is_outside or each.zone == "b"]),
    ],
    ids=["capacity", "subnet", "group"],
)
def test_ruled_out(rule: Rule, left: list[LaunchOption]) -> None:
    """Capacity belongs to a type in a zone, addresses to a subnet, and a spread group's limit to a zone."""
    assert [each for each in SUBNETS if rule.allows(SUBNETS[0], each)] == left


def test_single_refusal() -> None:
    """A single refusal's error is the call's; for a spot launch it says that there was no fallback."""
    found = outcome(outcomes.NO_CAPACITY)
    assert outcomes.failure([(ON_DEMAND, found)]) is found.error
    of_spot = outcomes.failure([(SPOT, found)])
    assert of_spot.message.startswith("Spot instance creation failed")
    assert of_spot.message.endswith(": no. Do this")
    assert of_spot.ok_to_retry is False
    for rule in (outcomes.SUBNET_FULL, outcomes.GROUP_FULL):
        found = outcome(rule)
        assert outcomes.failure([(SPOT, found)]) is found.error


def test_several_refusals() -> None:
    """Several refusals are listed, each remedy once; a retry may help if it may help against one of them."""
    options = [option(subnet_id=f"subnet-{n}") for n in (1, 2, 3)]
    rules = (outcomes.NO_CAPACITY, outcomes.SUBNET_FULL, RULE["quota"])
    found = [outcome(rule, ok_to_retry=rule is not RULE["quota"]) for rule in rules]
    error = outcomes.failure(list(zip(options, found, strict=True)), ". In one zone")
    listed = "; ".join(f"m5.large (on demand) in subnet-{n}: no" for n in (1, 2, 3))
    assert error.message == f"EC2 could launch none of the VM's options. {listed}. Do this. In one zone"
    assert error.ok_to_retry
    assert not outcomes.failure([(ON_DEMAND, found[-1])] * 2, ". In one zone").ok_to_retry


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
        ("Client.UserInitiatedShutdown", outcomes.ENDED_BY_USER, ""),
        ("", OF_EC2, ""),
    ],
)
@pytest.mark.parametrize("is_spot", [False, True])
def test_ended(code: str, rule: Rule, remedy: str, *, is_spot: bool) -> None:
    """EC2's reason decides; a reason on our side is not retriable, and has its remedy."""
    reason = StateReason(code, f"{code}: because") if code else None
    instance = Instance("i-1", "terminated", "t", "z", {}, state_reason=reason, is_spot=is_spot)
    found = outcomes.ended(instance)
    assert (found.rule, found.instance) == (rule, instance)
    assert all(each in found.said for each in ("'i-1'", f"{code}: because" if code else "no reason"))
    assert found.said.startswith("A user " if rule is outcomes.ENDED_BY_USER else "EC2 ")
    assert found.error.message.startswith(found.said)
    assert remedy in found.error.message.removeprefix(found.said)
    is_granted = "create-grant" in found.error.message
    assert is_granted is (is_spot and remedy == "KMS key")
    assert found.error.ok_to_retry is not code.startswith("Client.")


def refusal(code: str, message: str = "no", status: int = 400) -> ClientError:
    """Return an error of RunInstances."""
    answer = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status, "RequestId": "r"},
    }
    return ClientError(answer, "RunInstances")  # type: ignore[arg-type] # as much of it as is read


@pytest.mark.parametrize(
    ("codes", "rule", "kind", "ok_to_retry"),
    [
        (QUOTA_REACHED, RULE["quota"], VMCreationFailed, False),
        (
            (NO_CAPACITY - QUOTA_REACHED) | {"InsufficientQuantumCapacity"},
            outcomes.NO_CAPACITY,
            VMCreationFailed,
            True,
        ),
        (AT_FAULT | THROTTLED, RULE["fault of AWS, or throttled"], VMCreationFailed, True),
        (TOKEN_SPENT, outcomes.TOKEN_SPENT, CloudError, False),
        (RESERVATION_CLOSED, RULE["closed reservation"], CloudError, False),
        (NO_PREFIX | NO_ADDRESS, outcomes.SUBNET_FULL, VMCreationFailed, True),
        ({"InvalidKeyPair.NotFound", "InvalidPlacementGroup.Unknown"}, REFUSED, CloudError, False),
    ],
    ids=["quota", "capacity", "busy", "token", "reservation", "subnet", "other"],
)
def test_code(codes: set[str], rule: Rule, kind: type[CloudError], *, ok_to_retry: bool) -> None:
    """The code tells the kind of a refusal; a quota does not rise by a retry, and a mistake stays."""
    for code in codes:
        found = outcomes.refused(refusal(code))
        assert found is not None
        assert (found.rule, found.said) == (rule, f"RunInstances failed with {code}: no (request id r)")
        assert found.error.message.startswith(found.said)
        assert (type(found.error), found.error.ok_to_retry) == (kind, ok_to_retry)


@pytest.mark.parametrize(
    ("error", "rule"),
    [
        (refusal("InvalidParameterValue", FREE), outcomes.SUBNET_FULL),
        (refusal("InsufficientInstanceCapacity", f"x {GROUP} x"), outcomes.GROUP_FULL),
        (refusal("InsufficientInstanceCapacity", status=500), outcomes.NO_CAPACITY),
        (refusal("InternalError", status=500), UNANSWERED),
        (ReadTimeoutError(endpoint_url="u"), UNANSWERED),
    ],
)
def test_further(error: Exception, rule: Rule) -> None:
    """A message may tell more than the code; without an answer, EC2 may have launched the VM."""
    found = outcomes.refused(error)
    assert found is not None
    assert found.rule is rule
    assert type(found.error) is VMCreationFailed
    assert found.error.ok_to_retry is True


def test_quota_after_a_lost_answer() -> None:
    """A quota may be reached by the VM itself, launched without an answer: a retry finds it."""
    for code in QUOTA_REACHED:
        found = outcomes.refused(knowing(refusal(code), Call("ec2:RunInstances", (), was_uncertain=True)))
        assert found is not None
        assert (found.rule, found.error.ok_to_retry) == (UNANSWERED, True)


@pytest.mark.parametrize("error", [EndpointConnectionError(endpoint_url="u"), NoCredentialsError()])
def test_no_call(error: Exception) -> None:
    """Without a connection or keys nothing was launched, and no other launch option would be."""
    assert outcomes.refused(error) is None


@pytest.mark.parametrize(
    ("alive", "ended", "expected"), [((), (), 1), ((), (1, 3), 4), ((3, 4), (1,), 3), ((0,), (), 1)]
)
def test_next_generation(alive: tuple[int, ...], ended: tuple[int, ...], expected: int) -> None:
    """A spent token is followed by that of an instance that is alive, else by the first one never used."""
    used = {n: Instance(f"i-{n}", "running", "t", "z", {}) for n in alive}
    used |= {n: Instance(f"i-{n}", "terminated", "t", "z", {}) for n in ended}
    assert outcomes.next_generation(0, used) == expected
