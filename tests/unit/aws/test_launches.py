"""RunInstances, through all that EC2 may answer, or not answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError, HTTPClientError
from botocore.parsers import ResponseParserError

from bosh_aws_cpi.aws import instances, launches
from bosh_aws_cpi.aws.sdk.errors import may_be_done
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


@pytest.mark.parametrize("how", ["lost", "fault", *REFUSED_AFTER_IT])
def test_lost_answer_not_found(ec2: Ec2, clock: Clock, how: str) -> None:
    """If the instance is not seen for a minute, the error says that the launch is uncertain."""
    lay_uncertain(ec2, how)
    with pytest.raises((ClientError, HTTPClientError)) as caught:
        launches.run(ec2.client, {}, Finder(1000), always)
    assert may_be_done(caught.value)
    assert 60 <= clock.now <= 66


def test_unreadable_answer(ec2: Ec2, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that can't be read, as of a proxy in between, counts as lost."""

    def garble(**_: object) -> None:
        raise ResponseParserError("<html>")

    monkeypatch.setattr(ec2.client, "run_instances", garble)
    with pytest.raises(ResponseParserError):
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
