"""The faults: what may befall any one of the calls that a request takes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial
from typing import Any

from testbed.executable import Answer
from testbed.killing import When, abandon_at, interrupt_at, kill_at
from tests.conftest import SPEED
from tests.faults.scenario import MAKING, Call, Scenario
from tests.faults.stage import Stage

LOOKS = 3
"""How often something that was just made is looked for in vain."""
THROTTLED_SECONDS = 30
BALANCERS = frozenset(
    {
        "DeregisterInstancesFromLoadBalancer",
        "DeregisterTargets",
        "DescribeLoadBalancers",
        "DescribeTargetGroups",
        "DescribeTargetHealth",
        "RegisterInstancesWithLoadBalancer",
        "RegisterTargets",
    }
)
FULL: dict[str, dict[str, Any]] = {
    "RunInstances": {
        "code": "InsufficientFreeAddressesInSubnet",
        "message": "There are not enough free addresses in the subnet",
        "status": 400,
    },
    "CreateNetworkInterface": {
        "code": "InvalidParameterValue",
        "message": "There aren't sufficient free Ipv4 addresses or prefixes",
        "status": 400,
    },
}
"""What a full subnet is to each of the calls that take an address in it."""
TAKEN = {
    "code": "InvalidParameterValue",
    "message": "Invalid value '/dev/sdf' for unixDevice. Attachment point /dev/sdf is already in use",
    "status": 400,
}
BLOCK = {"code": "ValidationException", "message": "The block can't be written.", "status": 400}
DIRECT = frozenset({"CompleteSnapshot", "PutSnapshotBlock", "StartSnapshot"})


class Expected(Enum):
    """What a request has to come to.

    Attributes:
        SURVIVED: It succeeds, as if nothing had been.
        REFUSED: It answers AWS's error, and nothing is left.
        BUSY: The same, and the error says that the same request may succeed later.
        ENDED: It answers that it was ended, and nothing is left, or it succeeds.
        REPEATED: It ends without an answer; made again, it succeeds and does so once.
        TRUE: It succeeds, as if nothing had been, or answers an error, and nothing is left.
        ABANDONED: Nobody reads its response: what it creates is deleted, what it changes is changed.
    """

    SURVIVED = auto()
    REFUSED = auto()
    BUSY = auto()
    ENDED = auto()
    REPEATED = auto()
    TRUE = auto()
    ABANDONED = auto()


@dataclass(frozen=True)
class Kind:
    """One way in which things go wrong.

    Attributes:
        name: As in the case's name.
        expected: What the request has to come to.
        rule: What the stand-in for AWS does at a call of this action.
        harm: Makes the request, with the fault at a call, and returns its answer, or that to
            the request that is made again; none where the rule alone is the fault.
        words: What an error has to say, of the call's action; none are asked for where it is survived.
        renames: What is called otherwise in the picture, and how, where it is survived.
        gains: Lines that the picture has besides.
    """

    name: str
    expected: Expected
    rule: Callable[[str], dict[str, Any]] = lambda _: {}
    harm: Callable[[Stage, Call], Answer] | None = None
    words: Callable[[str], tuple[str, ...]] = lambda _: ()
    renames: Mapping[str, str] = field(default_factory=dict)
    gains: Sequence[str] = ()

    def inflict(self, stage: Stage, call: Call) -> Answer:
        """Make the request with the fault at a call; returns the last answer."""
        return self.harm(stage, call) if self.harm else _ruled(stage, call, self.rule)


def refusal(action: str) -> dict[str, Any]:
    """Return what a service answers that denies an action."""
    code = "UnauthorizedOperation"
    if action in BALANCERS:
        code = "AccessDenied"
    elif action in DIRECT:
        code = "AccessDeniedException"
    return {"code": code, "message": "You are not authorized to do this.", "status": 403}


def answer_twice(error: dict[str, Any], _action: str) -> dict[str, Any]:
    """Answer with an error twice."""
    return {"error": error, "times": 2}


def throttle(action: str) -> dict[str, Any]:
    """Return what a service answers that has too much to do."""
    if action in BALANCERS:
        return {"code": "Throttling", "message": "Rate exceeded", "status": 400}
    if action in DIRECT:
        code, reason = "RequestThrottledException", "ACCOUNT_THROTTLED"
        return {"code": code, "message": "Rate exceeded.", "status": 400, "reason": reason}
    return {"code": "RequestLimitExceeded", "message": "Request limit exceeded.", "status": 503}


def fault(action: str) -> dict[str, Any]:
    """Return what a service answers that is at fault."""
    code = "InternalError"
    if action in BALANCERS:
        code = "InternalFailure"
    elif action in DIRECT:
        code = "InternalServerException"
    return {"code": code, "message": "An internal error has occurred", "status": 500}


def _ruled(stage: Stage, call: Call, rule: Callable[[str], dict[str, Any]]) -> Answer:
    stage.fake_aws.rule(action=call.action, nth=call.nth, **rule(call.action))
    return stage.call()


def _lost_then_throttled(stage: Stage, call: Call) -> Answer:
    again = {"action": call.action, "nth": call.nth + 1, "times": None}
    stage.fake_aws.rule(**again, error=throttle(call.action), seconds=THROTTLED_SECONDS / SPEED)
    return _ruled(stage, call, lambda _: {"drop": "after"})


def _harmed(harm: Callable[..., Answer], stage: Stage, call: Call) -> Answer:
    """Harm the process before a call's answer: it can't tell whether the call has taken effect."""
    return harm(stage.fake_aws, stage.start, call.nth, when="after", action=call.action)


def _killed(stage: Stage, call: Call, when: When) -> Answer:
    kill_at(stage.fake_aws, stage.start, call.nth, when=when, action=call.action)
    return stage.call()


REFUSED = Kind(
    "permanent error",
    Expected.REFUSED,
    lambda action: {"error": refusal(action), "times": None},
    words=lambda action: (action, refusal(action)["code"]),
)
THROTTLED = Kind("throttled once", Expected.SURVIVED, lambda action: {"error": throttle(action)})
THROTTLED_LONG = Kind(
    f"throttled {THROTTLED_SECONDS} s",
    Expected.SURVIVED,
    lambda action: {"error": throttle(action), "seconds": THROTTLED_SECONDS / SPEED},
)
FAULT = Kind("HTTP 500 once", Expected.SURVIVED, lambda action: {"error": fault(action)})
LOST = Kind("answer lost", Expected.SURVIVED, lambda _: {"drop": "after"})
LOST_THROTTLED = Kind("lost, then throttled", Expected.SURVIVED, harm=_lost_then_throttled)
NOT_FOUND_YET = Kind("not found yet", Expected.SURVIVED, lambda _: {"unseen": LOOKS})
ANSWER_MALFORMED = Kind("answer malformed", Expected.SURVIVED, lambda _: {"replace": [[r"\A.*\Z", "<html>"]]})
PROXIED = Kind(
    "a proxy's answer", Expected.SURVIVED, lambda _: {"replace": [[r"\A.*\Z", "<html>"]], "status": 403}
)
REQUEST_UNNAMED = Kind(
    "a request without an id",
    Expected.SURVIVED,
    lambda _: {"replace": [["<spotInstanceRequestId>.*?</spotInstanceRequestId>", ""]]},
)
TERMINATED = Kind("SIGTERM", Expected.ENDED, harm=partial(_harmed, interrupt_at))
ABANDONED = Kind("stdout closed", Expected.ABANDONED, harm=partial(_harmed, abandon_at))
AWS_ENDS = "Server.InternalError: Internal error on launch"
ACCOUNT_ENDS = "Client.VolumeLimitExceeded: Volume limit exceeded"
"""EC2's own example ("Instance terminates immediately", EC2 user guide); its code is Server.InternalError."""
LAUNCHES = (
    Kind(
        "launch ended once",
        Expected.SURVIVED,
        lambda _: {"ends": AWS_ENDS},
        gains=["ended instance new"],
    ),
    Kind(
        "launches ended",
        Expected.BUSY,
        lambda _: {"ends": AWS_ENDS, "times": None},
        words=lambda _: (AWS_ENDS,),
    ),
    Kind(
        "launch ended, our fault",
        Expected.REFUSED,
        lambda _: {"ends": ACCOUNT_ENDS, "times": None},
        words=lambda _: (ACCOUNT_ENDS, "quota"),
    ),
)
SUBNET_FULL = Kind(
    "subnet full",
    Expected.BUSY,
    lambda action: {"error": FULL[action], "times": None},
    words=lambda action: (FULL[action]["message"],),
)
DEVICE_TAKEN = Kind(
    "device name taken",
    Expected.SURVIVED,
    lambda _: {"error": TAKEN},
    renames={"/dev/sdf": "/dev/sdg"},
)
BLOCK_REFUSED = tuple(
    Kind(
        f"block refused, {reason.partition('_')[0].lower()}",
        Expected.SURVIVED,
        lambda _, reason=reason: {"error": {**BLOCK, "reason": reason}},  # type: ignore[misc]
    )
    for reason in ("WRITE_REQUEST_TIMEOUT", "CONFLICTING_BLOCK_UPDATE")
)
PASSING = {
    "AssignPrivateIpAddresses": ("InvalidNetworkInterfaceID.NotFound",),
    "AssociateAddress": (
        "IncorrectInstanceState",
        "InvalidInstanceID",
        "InvalidNetworkInterfaceID.NotFound",
    ),
    "AssociateRouteTable": ("InvalidSubnetID.NotFound",),
    "AttachVolume": ("IncorrectState", "VolumeInUse"),
    "DeleteSubnet": ("DependencyViolation", "InvalidSubnetID.NotFound"),
    "DeleteVolume": ("VolumeInUse",),
    "ModifyNetworkInterfaceAttribute": ("InvalidNetworkInterfaceID.NotFound",),
    "ModifySubnetAttribute": ("InvalidSubnetID.NotFound",),
    "PutSnapshotBlock": ("ResourceNotFoundException",),
    "RegisterInstancesWithLoadBalancer": ("InvalidInstance",),
    "RegisterTargets": ("InvalidTarget",),
    "ReplaceNetworkAclAssociation": ("InvalidSubnetID.NotFound",),
}
"""Codes with which a call is refused because of what AWS does not know yet, or still counts as used."""
OF_ACTIONS: dict[str, tuple[Kind, ...]] = {
    "RunInstances": (*LAUNCHES, SUBNET_FULL),
    "CreateNetworkInterface": (SUBNET_FULL,),
    "AttachVolume": (DEVICE_TAKEN,),
    "PutSnapshotBlock": BLOCK_REFUSED,
    "DescribeSpotInstanceRequests": (ANSWER_MALFORMED, REQUEST_UNNAMED),
    "CancelSpotInstanceRequests": (ANSWER_MALFORMED,),
}
"""What befalls these calls alone, beside `PASSING`."""
OF_MAKING = (LOST_THROTTLED, NOT_FOUND_YET, ANSWER_MALFORMED, PROXIED)
"""What befalls only calls that make something."""
KILLED_FIRST = Kind("SIGKILL before", Expected.REPEATED, harm=partial(_killed, when="before"))
KILLED = Kind("SIGKILL after", Expected.REPEATED, harm=partial(_killed, when="after"))
OF_READS = (REFUSED, THROTTLED_LONG)
"""What befalls each call that reads."""
ENDS = (TERMINATED, ABANDONED)
"""What ends the process early: before anything is changed it is the same at each call."""
OF_CHANGES = (*OF_READS, FAULT, LOST, *ENDS, KILLED)
"""What befalls each call that changes something."""


def kinds_at(call: Call) -> Iterator[Kind]:
    """List what may befall a call."""
    if call.is_first:
        yield KILLED_FIRST  # later it is the same as after the call before it
    if not call.action.startswith("Describe"):
        yield from OF_CHANGES
    else:
        yield from OF_READS
        if call.is_first or not call.is_gathering:
            yield from ENDS
    if call.action in MAKING:
        yield from OF_MAKING
    yield from OF_ACTIONS.get(call.action, ())
    for code in PASSING.get(call.action, ()):
        error = {"code": code, "message": "Not yet.", "status": 400}
        yield Kind(f"{code} twice", Expected.SURVIVED, partial(answer_twice, error))


@dataclass(frozen=True)
class Case:
    """A fault at one call of a scenario.

    Attributes:
        scenario: The request.
        call: The call that the fault meets.
        kind: The fault.
        then: The kind of a second fault, and the call that it has met; none where there is one alone.
    """

    scenario: Scenario
    call: Call
    kind: Kind
    then: tuple[Kind, Call] | None = None

    @property
    def kinds(self) -> list[Kind]:
        """Its one fault, or both."""
        return [self.kind, *([self.then[0]] if self.then else [])]

    def __str__(self) -> str:
        second = f"-then-{self.then[1]}-{self.then[0].name}" if self.then else ""
        return f"{self.scenario.name}-{self.call}-{self.kind.name}{second}".replace(" ", "_")


def cases(scenarios: Sequence[Scenario]) -> Iterator[Case]:
    """List all that may befall these scenarios.

    Until a request changes something, its calls are those of each scenario that has begun with the same ones:
    a fault there shows nothing new.
    """
    begun = set()
    for scenario in scenarios:
        for place, call in enumerate(scenario.each(), 1):
            beginning = (scenario.method, *scenario.calls[:place])
            if call.is_gathering and beginning in begun:
                continue
            begun.add(beginning)
            spared = (*OF_MAKING[1:], *LAUNCHES) if str(call) in scenario.refused else ()
            yield from (Case(scenario, call, kind) for kind in kinds_at(call) if kind not in spared)
