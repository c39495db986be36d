"""Private addresses in use: how long and for whom a claim waits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.vms.create.interfaces import (
    MAX_OF_ANOTHER_AGENT,
    MAX_UNATTACHED,
    MAX_UNHELD,
    AddressTaken,
    claiming,
)
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import Instance, Nic
from tests.unit.conftest import DIRECTOR, ProgramLog

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.unit.conftest import Clock, Ec2

VM = "i-1"
IPV4, IPV6 = "10.0.0.5", "2600::5"
NIC = {"NetworkInterfaceId": "eni-1"}
AGENT = "agent-1"
OURS = {"bosh_director_uuid": DIRECTOR, "bosh_agent_id": AGENT}
ANOTHERS = {"bosh_director_uuid": DIRECTOR, "bosh_agent_id": "agent-2"}
SUBNET = {"Name": "subnet-id", "Values": ["subnet-1"]}
IN_USE = ClientError(
    {"Error": {"Code": "InvalidIPAddress.InUse", "Message": "taken"}, "ResponseMetadata": {"RequestId": "r"}},  # type: ignore[typeddict-item]
    "RunInstances",
)
SAID = "RunInstances failed with InvalidIPAddress.InUse: taken (request id r)"


class Maker:
    """Is refused a number of times, then succeeds."""

    def __init__(self, refusals: int, error: Exception = IN_USE) -> None:
        """Be refused with this error."""
        self.left = refusals
        self._error = error

    def __call__(self) -> str:
        """Succeed, or be refused."""
        self.left -= 1
        if self.left >= 0:
            raise self._error
        return "made"


def claim(cloud: Cloud, refusals: int, *addresses: str, error: Exception = IN_USE) -> str:
    """Claim addresses, by default one, that are refused a number of times."""
    return claiming(cloud, AGENT, "subnet-1", addresses or [IPV4], Maker(refusals, error))


def lay_holder(ec2: Ec2, tags: dict[str, str], vm_cid: str | None = None) -> None:
    """Lay out the search for the address's interface, which has these tags."""
    attachment = {"Attachment": {"InstanceId": vm_cid}} if vm_cid else {}
    listed = [{"Key": key, "Value": value} for key, value in tags.items()]
    status = "in-use" if vm_cid else "available"
    entry = {**NIC, "MacAddress": "m", "Status": status, "TagSet": listed, **attachment}
    filters = [SUBNET, {"Name": "addresses.private-ip-address", "Values": [IPV4]}]
    ec2.answers("describe_network_interfaces", {"NetworkInterfaces": [entry]}, Filters=filters)


def lay_instance(ec2: Ec2, state: str | None) -> None:
    """Lay out DescribeInstances for the holder's instance; None is a refusal as unknown."""
    if state is None:
        ec2.refuses("describe_instances", "InvalidInstanceID.NotFound", InstanceIds=[VM])
    else:
        instance = {"InstanceId": VM, "State": {"Name": state}, "InstanceType": "t"}
        ec2.answers("describe_instances", {"Reservations": [{"Instances": [instance]}]}, InstanceIds=[VM])


@pytest.mark.parametrize("states", [["shutting-down"], ["shutting-down", "terminated"], [None]])
def test_departing_holder(
    cloud: Cloud,
    ec2: Ec2,
    clock: Clock,
    program_log: ProgramLog,
    states: list[str | None],
) -> None:
    """The claim waits for an instance that is terminating or terminated; the log names the interface once."""
    for state in states:
        lay_holder(ec2, {}, VM)
        lay_instance(ec2, state)
    assert claim(cloud, len(states)) == "made"
    assert len(clock.pauses) == len(states)
    infos = [record.text for record in program_log.records if record.level == "INFO"]
    assert infos == [f"Address {IPV4} is still held by 'eni-1', which is going away"]


@pytest.mark.parametrize("looks", [1, MAX_UNATTACHED])
def test_holder_just_detached(cloud: Cloud, ec2: Ec2, clock: Clock, looks: int) -> None:
    """The claim waits some seconds for an unattached interface, which may be about to be deleted."""
    for _ in range(looks):
        lay_holder(ec2, {})
    assert claim(cloud, looks) == "made"
    assert len(clock.pauses) == looks


def test_holder_without_an_instance(cloud: Cloud, ec2: Ec2, clock: Clock) -> None:
    """If an unattached interface stays, the claim fails after some seconds."""
    for _ in range(MAX_UNATTACHED + 1):
        lay_holder(ec2, {})
    with pytest.raises(AddressTaken) as caught:
        claim(cloud, 100)
    assert caught.value.message == (
        f"{SAID}: {IPV4} is held by network interface 'eni-1' (available) which no instance uses"
    )
    assert 4 <= clock.now <= 8


def test_holder_that_went(cloud: Cloud, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """If no interface has the address any more, the claim is retried."""
    monkeypatch.setattr("bosh_aws_cpi.aws.network_interfaces.holder", lambda *_: None)
    assert claim(cloud, 1) == "made"
    assert len(clock.pauses) == 1


@pytest.mark.parametrize(("addresses", "what"), [([IPV4], IPV4), ([IPV4, IPV6], f"{IPV4} and {IPV6}")])
def test_time_out(
    cloud: Cloud, clock: Clock, monkeypatch: pytest.MonkeyPatch, addresses: Sequence[str], what: str
) -> None:
    """After ten minutes of waiting for a terminating instance the error quotes EC2."""
    departing = Nic("eni-1", "m", "in-use", VM)
    ending = Instance(VM, "shutting-down", "t", "z", {})
    monkeypatch.setattr("bosh_aws_cpi.aws.network_interfaces.holder", lambda *_: departing)
    monkeypatch.setattr("bosh_aws_cpi.aws.instances.find", lambda *_: ending)
    with pytest.raises(AddressTaken) as caught:
        claim(cloud, 10_000, *addresses)
    assert caught.value.message == (
        f"Timed out after 600 seconds waiting for {what} in subnet 'subnet-1' to be released; "
        f"last seen: {SAID}"
    )
    assert clock.now >= 600


def test_address_that_nobody_holds(cloud: Cloud, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """If EC2 shows no interface with the address, the claim fails after about 20 seconds."""
    monkeypatch.setattr("bosh_aws_cpi.aws.network_interfaces.holder", lambda *_: None)
    assert claim(cloud, MAX_UNHELD) == "made"
    assert 18 <= clock.now <= 30
    with pytest.raises(AddressTaken) as caught:
        claim(cloud, MAX_UNHELD + 1)
    assert caught.value.message == (
        f"{SAID}: EC2 shows no network interface that has this address. "
        "Check the subnet's CIDR reservations, or use another address"
    )
    assert len(clock.pauses) == 2 * MAX_UNHELD


def test_any_address(cloud: Cloud, clock: Clock) -> None:
    """Without a given address the claim is retried without a search."""
    assert claiming(cloud, AGENT, "subnet-1", [], Maker(MAX_UNHELD)) == "made"
    with pytest.raises(AddressTaken):
        claiming(cloud, AGENT, "subnet-1", [], Maker(MAX_UNHELD + 1))
    assert len(clock.pauses) == 2 * MAX_UNHELD


@pytest.mark.parametrize(
    "error", [CloudError("no"), ValueError("no")], ids=lambda error: type(error).__name__
)
def test_other_errors(cloud: Cloud, clock: Clock, error: Exception) -> None:
    """Other errors are raised."""
    with pytest.raises(type(error)) as caught:
        claim(cloud, 1, error=error)
    assert caught.value is error
    assert clock.pauses == []


@pytest.mark.parametrize("code", ["InvalidSubnetID.NotFound", "RequestLimitExceeded", "InternalError"])
def test_other_refusals(cloud: Cloud, clock: Clock, code: str) -> None:
    """Other refusals are raised at once: only the SDK repeats the call."""
    answer: Any = {"Error": {"Code": code, "Message": "no"}, "ResponseMetadata": {"HTTPStatusCode": 500}}
    with pytest.raises(ClientError, match=code):
        claim(cloud, 1, error=ClientError(answer, "CreateNetworkInterface"))
    assert clock.pauses == []


@pytest.mark.parametrize("looks", [1, MAX_OF_ANOTHER_AGENT])
def test_anothers_that_goes(cloud: Cloud, ec2: Ec2, clock: Clock, looks: int) -> None:
    """The claim waits for another VM's unattached interface, and does not delete it meanwhile."""
    for _ in range(looks):
        lay_holder(ec2, ANOTHERS)
    assert claim(cloud, looks) == "made"
    assert len(clock.pauses) == looks


def test_anothers_that_stays(cloud: Cloud, ec2: Ec2, clock: Clock) -> None:
    """After about 20 seconds another VM's unattached interface is deleted as a leak."""
    for _ in range(MAX_OF_ANOTHER_AGENT + 1):
        lay_holder(ec2, ANOTHERS)
    ec2.answers("delete_network_interface", **NIC)
    assert claim(cloud, MAX_OF_ANOTHER_AGENT + 1) == "made"
    assert 18 <= clock.now <= 32


def test_anothers_that_is_launched(cloud: Cloud, ec2: Ec2) -> None:
    """If the other VM is launched meanwhile, the claim fails."""
    for _ in range(3):
        lay_holder(ec2, ANOTHERS)
    lay_holder(ec2, ANOTHERS, VM)
    instance = {"InstanceId": VM, "State": {"Name": "pending"}, "InstanceType": "t"}
    ec2.answers("describe_instances", {"Reservations": [{"Instances": [instance]}]}, InstanceIds=[VM])
    with pytest.raises(AddressTaken, match=f"of instance '{VM}'"):
        claim(cloud, 10)


@pytest.mark.parametrize(
    ("tags", "looks"),
    [
        ({"bosh_director_uuid": "director-2", "bosh_agent_id": AGENT}, 1),
        ({"bosh_director_uuid": ""}, 1),
        ({"bosh_agent_id": AGENT}, MAX_UNATTACHED + 1),
    ],
    ids=["another-director", "empty-director", "no-director"],
)
def test_others(cloud: Cloud, ec2: Ec2, clock: Clock, tags: dict[str, str], looks: int) -> None:
    """An interface without our Director's tag is not deleted; the error names it."""
    for _ in range(looks):
        lay_holder(ec2, tags)
    with pytest.raises(
        AddressTaken, match=r"held by network interface 'eni-1' \(available\) which no instance"
    ):
        claim(cloud, 100)
    assert len(clock.pauses) == looks - 1


def test_caller_without_a_name(cloud: Cloud, ec2: Ec2) -> None:
    """A caller without a Director's id deletes no interface, not even one without a tag."""
    anonymous = Cloud(cloud.config.replaced(director_uuid=None), 2)
    vars(anonymous)["clients"] = cloud.clients
    for tags, looks in (({}, MAX_UNATTACHED + 1), (OURS, 1)):
        for _ in range(looks):
            lay_holder(ec2, tags)
        with pytest.raises(AddressTaken):
            claim(anonymous, 100)


@pytest.mark.parametrize("state", ["pending", "running", "stopping", "stopped"])
def test_attached(cloud: Cloud, ec2: Ec2, clock: Clock, state: str) -> None:
    """An interface of an instance that is not terminating is never deleted."""
    lay_holder(ec2, OURS, VM)
    instance = {"InstanceId": VM, "State": {"Name": state}, "InstanceType": "t"}
    ec2.answers("describe_instances", {"Reservations": [{"Instances": [instance]}]}, InstanceIds=[VM])
    with pytest.raises(AddressTaken, match=f"of instance '{VM}'"):
        claim(cloud, 1)
    assert clock.pauses == []


@pytest.mark.parametrize(
    ("tags", "minutes", "said"),
    [
        (OURS, 7, f"This instance, launched 7 minutes ago, lacks .* --delete --instance {VM}$"),
        (OURS, 600, "launched 600 minutes ago"),
        (OURS, 1, "launched 1 minute ago"),
        (OURS, -3, "launched 0 minutes ago"),
        ({**OURS, "job": "web"}, 7, f"of instance '{VM}'$"),
        ({**OURS, "bosh_director_uuid": "director-2"}, 7, f"of instance '{VM}'$"),
        ({}, 7, f"of instance '{VM}'$"),
    ],
)
def test_hint(cloud: Cloud, ec2: Ec2, clock: Clock, tags: dict[str, str], minutes: int, said: str) -> None:
    """The error for an instance that our Director's earlier call may have leaked says how to delete it."""
    lay_holder(ec2, OURS, VM)
    instance = {
        "InstanceId": VM,
        "State": {"Name": "running"},
        "InstanceType": "t",
        "LaunchTime": datetime.now(UTC) - timedelta(minutes=minutes),
        "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
    }
    ec2.answers("describe_instances", {"Reservations": [{"Instances": [instance]}]}, InstanceIds=[VM])
    with pytest.raises(AddressTaken, match=said):
        claim(cloud, 1)
    assert clock.pauses == []


@pytest.mark.parametrize(
    "code",
    ["InvalidNetworkInterface.InUse", "InvalidParameterValue", "InvalidNetworkInterfaceID.NotFound"],
)
def test_removal_in_the_way(cloud: Cloud, ec2: Ec2, clock: Clock, code: str) -> None:
    """If the deletion is refused because the interface changes, the claim is retried."""
    lay_holder(ec2, OURS)
    ec2.refuses("delete_network_interface", code, **NIC)
    lay_holder(ec2, OURS)
    ec2.answers("delete_network_interface", **NIC)
    assert claim(cloud, 2) == "made"
    assert len(clock.pauses) == 2


def test_removal_refused(cloud: Cloud, ec2: Ec2) -> None:
    """Other refusals of the deletion are raised."""
    lay_holder(ec2, OURS)
    ec2.refuses("delete_network_interface", "UnauthorizedOperation", **NIC)
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        claim(cloud, 1)
