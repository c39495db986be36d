"""RunInstances, through all that EC2 may answer, or not answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError
from botocore.parsers import ResponseParserError

from bosh_aws_cpi.aws import instances, launches
from bosh_aws_cpi.aws.sdk.error_codes import AT_FAULT, NO_CAPACITY
from bosh_aws_cpi.errors import VMCreationFailed
from bosh_aws_cpi.model import Instance, Nic, StateReason
from tests.unit.aws.instance_looks import VM, entry

if TYPE_CHECKING:
    from tests.unit.conftest import Clock, Ec2

ONE = {"MinCount": 1, "MaxCount": 1}
MADE = Instance(VM, "pending", "m5.large", "", {}, nics=[])


class Finder:
    """Looks for the instance, and sees it from some look on."""

    def __init__(self, unseen: int) -> None:
        """See nothing at the first looks."""
        self.unseen = unseen
        self.looks = 0

    def __call__(self) -> Instance | None:
        """Look."""
        self.looks += 1
        return MADE if self.looks > self.unseen else None


def never() -> None:
    """Be asked for an instance whose launch is certain."""
    pytest.fail("it was looked for")


def always(instance: Instance) -> bool:
    """Say of an instance that this call launched it."""
    return bool(instance.vm_cid)


def test_run(ec2: Ec2) -> None:
    """One instance is asked for, and read as it is answered."""
    answer = entry(
        "pending",
        Placement={"AvailabilityZone": "z"},
        BlockDeviceMappings=[
            {"DeviceName": "/dev/xvda", "Ebs": {"VolumeId": "vol-1", "Status": "attached"}},
            {"DeviceName": "/dev/sdc"},
            {
                "DeviceName": "/dev/sdf",
                "Ebs": {"VolumeId": "vol-2", "Status": "detaching", "DeleteOnTermination": True},
            },
            {
                "DeviceName": "/dev/sdg",
                "Ebs": {"VolumeId": "vol-3", "Status": "detached", "DeleteOnTermination": True},
            },
            {
                "DeviceName": "/dev/sdh",
                "Ebs": {"VolumeId": "vol-4", "Status": "attaching", "DeleteOnTermination": False},
            },
        ],
        NetworkInterfaces=[
            {
                "NetworkInterfaceId": f"eni-{n}",
                "Attachment": {"AttachmentId": f"eni-attach-{n}", "DeviceIndex": n},
            }
            for n in (1, 0)
        ]
        + [{"NetworkInterfaceId": "eni-2"}],
        VpcId="vpc-1",
        ClientToken="token",
        StateReason={"Code": "pending", "Message": "pending"},
        InstanceLifecycle="spot",
    )
    ec2.answers("run_instances", {"Instances": [answer]}, **ONE, ImageId="ami-1")
    assert launches.run(ec2.client, {"ImageId": "ami-1"}, never, always) == Instance(
        vm_cid=VM,
        state="pending",
        instance_type="m5.large",
        availability_zone="z",
        devices={"/dev/xvda": "vol-1", "/dev/sdf": "vol-2", "/dev/sdg": "vol-3", "/dev/sdh": "vol-4"},
        leaving=frozenset({"vol-2", "vol-3"}),
        outliving=frozenset({"vol-1", "vol-4"}),
        nics=[Nic(f"eni-{n}", device_index=n, attachment_id=f"eni-attach-{n}") for n in (0, 1)],
        vpc_id="vpc-1",
        client_token="token",
        state_reason=StateReason("pending", "pending: pending"),
        is_spot=True,
    )


QUOTAS = {"InstanceLimitExceeded", "MaxSpotInstanceCountExceeded", "VcpuLimitExceeded"}


@pytest.mark.parametrize("code", sorted(NO_CAPACITY))
def test_run_without_capacity(ec2: Ec2, code: str) -> None:
    """A type that is not to be had now may be tried again, unless it takes a higher quota."""
    ec2.refuses("run_instances", code, "none left", **ONE)
    with pytest.raises(launches.NoCapacity, match=f"RunInstances failed with {code}: none left") as caught:
        launches.run(ec2.client, {}, never, always)
    assert caught.value.ok_to_retry is (code not in QUOTAS)
    assert caught.value.wire_type == "Bosh::Clouds::VMCreationFailed"


@pytest.mark.parametrize("code", sorted(AT_FAULT | {"RequestLimitExceeded", "Throttling"}))
def test_run_while_aws_is_at_fault(ec2: Ec2, code: str) -> None:
    """When AWS is at fault or throttles, the same call may succeed later."""
    ec2.refuses("run_instances", code, "sorry", **ONE)
    with pytest.raises(VMCreationFailed, match=f"RunInstances failed with {code}: sorry") as caught:
        launches.run(ec2.client, {}, never, always)
    assert type(caught.value) is VMCreationFailed
    assert caught.value.ok_to_retry is True


@pytest.mark.parametrize(
    ("code", "said", "remedy"),
    [
        (
            "InvalidParameterValue",
            "There aren't sufficient free Ipv4 addresses or prefixes",
            "Use a larger subnet",
        ),
        ("InsufficientFreeAddressesInSubnet", "sorry", "Use a larger subnet"),
        ("InsufficientCidrBlocks", "sorry", "The subnet has no free block for a prefix"),
    ],
)
def test_run_in_a_full_subnet(ec2: Ec2, code: str, said: str, remedy: str) -> None:
    """A full subnet is SubnetFull, under whatever code EC2 reports it; the call may be retried."""
    ec2.refuses("run_instances", code, said, **ONE)
    with pytest.raises(launches.SubnetFull, match=remedy) as caught:
        launches.run(ec2.client, {}, never, always)
    assert caught.value.said.startswith(f"RunInstances failed with {code}: {said} (")
    assert caught.value.ok_to_retry is True


@pytest.mark.parametrize("code", ["IdempotentInstanceTerminated", "IdempotentParameterMismatch"])
def test_run_with_a_spent_token(ec2: Ec2, code: str) -> None:
    """A client token that stands for another launch is TokenSpent."""
    ec2.refuses("run_instances", code, **ONE, ClientToken="t")
    with pytest.raises(launches.TokenSpent, match=code):
        launches.run(ec2.client, {"ClientToken": "t"}, never, always)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("RequestLimitExceeded", VMCreationFailed),
        ("InsufficientInstanceCapacity", launches.NoCapacity),
        ("InvalidIPAddress.InUse", ClientError),
    ],
)
def test_run_refused_after_throttling(ec2: Ec2, code: str, kind: type[Exception]) -> None:
    """A throttled attempt has launched nothing: what is answered in the end is taken as ever."""
    ec2.refuses_after_throttling("run_instances", code, **ONE)
    with pytest.raises(kind) as caught:
        launches.run(ec2.client, {}, never, always)
    assert not isinstance(caught.value, launches.Unanswered)
    assert caught.value.__cause__ is not caught.value


def test_tagged(ec2: Ec2) -> None:
    """Instances are found by all their tags, over all pages, in every state."""
    filters = [{"Name": "tag:a", "Values": ["1"]}, {"Name": "tag:b", "Values": ["2"]}]
    tags = [{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "2"}]
    pages: list[list[dict[str, Any]]] = [
        [{"Instances": [entry("running", ClientToken="t", Tags=tags)]}, {"Instances": []}],
        [{"Instances": [entry("terminated", Tags=tags), entry("stopped"), entry("pending", Tags=tags)]}],
    ]
    ec2.answers("describe_instances", {"Reservations": pages[0], "NextToken": "n"}, Filters=filters)
    ec2.answers("describe_instances", {"Reservations": pages[1]}, Filters=filters, NextToken="n")
    found = instances.tagged(ec2.client, {"b": "2", "a": "1"})
    assert [(instance.state, instance.client_token) for instance in found] == [
        ("running", "t"),
        ("terminated", None),
        ("pending", None),
    ]


REFUSED_AFTER_IT = {
    "throttled": "RequestLimitExceeded",
    "short of capacity": "InsufficientInstanceCapacity",
    "refused": "InvalidIPAddress.InUse",
    "token spent": "IdempotentInstanceTerminated",
}
"""What another attempt is answered, after one of which nobody knows whether it launched the instance."""


@pytest.mark.parametrize("how", ["lost", "fault", *REFUSED_AFTER_IT])
@pytest.mark.parametrize("unseen", [0, 3])
def test_lost_answer_found(ec2: Ec2, clock: Clock, how: str, unseen: int) -> None:
    """An instance whose launch was not answered is looked for until it is seen, and not launched again."""
    find = Finder(unseen)
    lay_uncertain(ec2, how)
    assert launches.run(ec2.client, {}, find, always) == MADE
    assert (find.looks, len(clock.pauses)) == (unseen + 1, unseen)


@pytest.mark.parametrize(
    ("how", "said", "kind"),
    [
        ("lost", "EC2 did not answer: ReadTimeoutError", launches.Unanswered),
        ("fault", "RunInstances failed with InternalError", launches.Unanswered),
        *(
            (how, f"RunInstances failed with {REFUSED_AFTER_IT[how]}: sorry", launches.Unanswered)
            for how in ("throttled", "short of capacity", "refused")
        ),
    ],
)
def test_lost_answer_not_found(
    ec2: Ec2, clock: Clock, how: str, said: str, kind: type[VMCreationFailed]
) -> None:
    """The SDK has repeated it by its token: what is not seen for a minute is left to a repeated call."""
    lay_uncertain(ec2, how)
    with pytest.raises(VMCreationFailed, match=said) as caught:
        launches.run(ec2.client, {}, Finder(1000), always)
    assert type(caught.value) is kind
    assert caught.value.ok_to_retry is True
    assert 60 <= clock.now <= 66


def test_lost_answer_and_spent_token(ec2: Ec2, clock: Clock) -> None:
    """After a lost answer, too, a spent token is TokenSpent."""
    lay_uncertain(ec2, "token spent")
    with pytest.raises(launches.TokenSpent, match="IdempotentInstanceTerminated"):
        launches.run(ec2.client, {}, Finder(1000), always)
    assert 60 <= clock.now <= 66


def test_unreadable_answer(ec2: Ec2, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that can't be read, as of a proxy in between, counts as lost."""

    def garble(**_: object) -> None:
        raise ResponseParserError("<html>")

    monkeypatch.setattr(ec2.client, "run_instances", garble)
    with pytest.raises(
        launches.Unanswered, match="EC2 did not answer: AWS could not be called: its answer can't be read"
    ):
        launches.run(ec2.client, {}, Finder(1000), always)
    assert launches.run(ec2.client, {}, Finder(0), always) == MADE
    assert 60 <= clock.now <= 66


def lay_uncertain(ec2: Ec2, how: str) -> None:
    """Lay out a launch of which nobody knows whether it was made."""
    if how in REFUSED_AFTER_IT:
        ec2.refuses_repetition("run_instances", REFUSED_AFTER_IT[how], "sorry", **ONE)
    elif how == "lost":
        ec2.loses("run_instances", **ONE)
    else:
        ec2.fails("run_instances", "InternalError", **ONE)
