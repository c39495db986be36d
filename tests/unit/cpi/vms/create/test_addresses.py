"""Private addresses that somebody else still holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.cpi.vms.create.addresses import MAX_UNATTACHED, MAX_UNHELD, AddressTaken, claiming
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import Instance, Nic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bosh_aws_cpi.cpi.cloud import Cloud
    from tests.unit.conftest import Clock, Ec2

VM = "i-1"
IPV4, IPV6 = "10.0.0.5", "2600::5"
NIC = {"NetworkInterfaceId": "eni-1"}
IN_USE = ClientError(
    {"Error": {"Code": "InvalidIPAddress.InUse", "Message": "taken"}, "ResponseMetadata": {"RequestId": "r"}},  # type: ignore[typeddict-item]
    "RunInstances",
)
SAID = "RunInstances failed with InvalidIPAddress.InUse: taken (request id r)"


class Maker:
    """Refuses a number of times, then makes something."""

    def __init__(self, refusals: int, error: Exception = IN_USE) -> None:
        """Refuse with this error."""
        self.left = refusals
        self._error = error

    def __call__(self) -> str:
        """Make it, or refuse."""
        self.left -= 1
        if self.left >= 0:
            raise self._error
        return "made"


def claim(cloud: Cloud, maker: Maker, *addresses: str) -> str:
    """Claim addresses; one, when none are given."""
    return claiming(cloud, "agent-1", "subnet-1", addresses or (IPV4,), maker)


def lay_holder(
    ec2: Ec2, vm_cid: str | None, address: str = IPV4, *, tags: dict[str, str] | None = None
) -> None:
    """Lay out the question who holds the address, answered with an interface."""
    name = "ipv6-addresses.ipv6-address" if ":" in address else "addresses.private-ip-address"
    attachment = {"Attachment": {"InstanceId": vm_cid}} if vm_cid else {}
    more = {
        "MacAddress": "m",
        "TagSet": [{"Key": key, "Value": value} for key, value in (tags or {}).items()],
    }
    entry = {**NIC, "Status": "in-use" if vm_cid else "available", **attachment, **more}
    filters = [{"Name": "subnet-id", "Values": ["subnet-1"]}, {"Name": name, "Values": [address]}]
    ec2.answers("describe_network_interfaces", {"NetworkInterfaces": [entry]}, Filters=filters)


def lay_instance(ec2: Ec2, state: str | None) -> None:
    """Lay out the question for the holder's instance; none: EC2 does not know it."""
    if state is None:
        ec2.refuses("describe_instances", "InvalidInstanceID.NotFound", InstanceIds=[VM])
    else:
        instance = {"InstanceId": VM, "State": {"Name": state}, "InstanceType": "t"}
        ec2.answers("describe_instances", {"Reservations": [{"Instances": [instance]}]}, InstanceIds=[VM])


def test_free(cloud: Cloud, clock: Clock) -> None:
    """A free address is taken at once, and nobody is asked for it."""
    assert claim(cloud, Maker(0)) == "made"
    assert clock.pauses == []


@pytest.mark.parametrize("states", [["shutting-down"], ["shutting-down", "terminated"], [None]])
def test_departing_holder(
    cloud: Cloud,
    ec2: Ec2,
    clock: Clock,
    program_log: pytest.LogCaptureFixture,
    states: list[str | None],
) -> None:
    """An instance that is ending, or has ended, is waited for; the log says once whose address it is."""
    for state in states:
        lay_holder(ec2, VM)
        lay_instance(ec2, state)
    assert claim(cloud, Maker(len(states))) == "made"
    assert len(clock.pauses) == len(states)
    infos = [record.getMessage() for record in program_log.records if record.levelname == "INFO"]
    assert infos == [f"Address {IPV4} is still held by 'eni-1', which is going away"]


@pytest.mark.parametrize("state", ["pending", "running", "stopping", "stopped"])
def test_staying_holder(cloud: Cloud, ec2: Ec2, clock: Clock, state: str) -> None:
    """An instance that stays ends the claim at once, with who it is."""
    lay_holder(ec2, VM)
    lay_instance(ec2, state)
    with pytest.raises(AddressTaken) as caught:
        claim(cloud, Maker(1))
    assert caught.value.message == (
        f"{SAID}: {IPV4} is held by network interface 'eni-1' (in-use) of instance '{VM}'"
    )
    assert caught.value.wire_type == "Bosh::Clouds::CloudError"
    assert clock.pauses == []


@pytest.mark.parametrize("looks", [1, MAX_UNATTACHED])
def test_holder_just_detached(cloud: Cloud, ec2: Ec2, clock: Clock, looks: int) -> None:
    """An interface without an instance may just have been taken off an ended one, and go with it."""
    for _ in range(looks):
        lay_holder(ec2, None)
    assert claim(cloud, Maker(looks)) == "made"
    assert len(clock.pauses) == looks


def test_holder_without_an_instance(cloud: Cloud, ec2: Ec2, clock: Clock) -> None:
    """One that is still there after some seconds doesn't go by itself."""
    for _ in range(MAX_UNATTACHED + 1):
        lay_holder(ec2, None)
    with pytest.raises(AddressTaken) as caught:
        claim(cloud, Maker(100))
    assert caught.value.message == (
        f"{SAID}: {IPV4} is held by network interface 'eni-1' (available) which no instance uses"
    )
    assert 4 <= clock.now <= 8


def test_holder_that_went(cloud: Cloud, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """An address that nobody holds any more is tried again."""
    monkeypatch.setattr("bosh_aws_cpi.aws.network_interfaces.holder", lambda *_: None)
    assert claim(cloud, Maker(1)) == "made"
    assert len(clock.pauses) == 1


def test_both_addresses(cloud: Cloud, ec2: Ec2) -> None:
    """Of two addresses each holder is looked at."""
    lay_holder(ec2, VM)
    lay_holder(ec2, None, IPV6, tags={"bosh_director_uuid": "director-2"})
    lay_instance(ec2, "shutting-down")
    with pytest.raises(AddressTaken, match=f"{IPV6} is held by network interface 'eni-1'"):
        claim(cloud, Maker(1), IPV4, IPV6)


@pytest.mark.parametrize(("addresses", "what"), [([IPV4], IPV4), ([IPV4, IPV6], f"{IPV4} and {IPV6}")])
def test_time_out(
    cloud: Cloud, clock: Clock, monkeypatch: pytest.MonkeyPatch, addresses: Sequence[str], what: str
) -> None:
    """After ten minutes with a departing holder the claim ends with what EC2 said last."""
    departing = Nic("eni-1", "m", "in-use", VM)
    ending = Instance(VM, "shutting-down", "t", "z", {})
    monkeypatch.setattr("bosh_aws_cpi.aws.network_interfaces.holder", lambda *_: departing)
    monkeypatch.setattr("bosh_aws_cpi.aws.instances.find", lambda *_: ending)
    with pytest.raises(AddressTaken) as caught:
        claiming(cloud, "agent-1", "subnet-1", addresses, Maker(10_000))
    assert caught.value.message == (
        f"Timed out after 600 seconds waiting for {what} in subnet 'subnet-1' to be released; "
        f"last seen: {SAID}"
    )
    assert clock.now >= 600


def test_address_that_nobody_holds(cloud: Cloud, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """An address that is in use and that nobody is seen to hold is tried for about 20 seconds, no longer."""
    monkeypatch.setattr("bosh_aws_cpi.aws.network_interfaces.holder", lambda *_: None)
    assert claim(cloud, Maker(MAX_UNHELD)) == "made"
    assert 18 <= clock.now <= 30
    with pytest.raises(AddressTaken) as caught:
        claim(cloud, Maker(MAX_UNHELD + 1))
    assert caught.value.message == (
        f"{SAID}: no interface is seen to hold it. "
        "Look for a reservation of addresses in the subnet, or use another address"
    )
    assert len(clock.pauses) == 2 * MAX_UNHELD


def test_any_address(cloud: Cloud, clock: Clock) -> None:
    """Without a certain address there is nobody to look for: any other may be free in a moment."""
    assert claiming(cloud, "agent-1", "subnet-1", [], Maker(MAX_UNHELD)) == "made"
    with pytest.raises(AddressTaken):
        claiming(cloud, "agent-1", "subnet-1", [], Maker(MAX_UNHELD + 1))
    assert len(clock.pauses) == 2 * MAX_UNHELD


@pytest.mark.parametrize(
    "error", [CloudError("no"), ValueError("no")], ids=lambda error: type(error).__name__
)
def test_other_errors(cloud: Cloud, clock: Clock, error: Exception) -> None:
    """Any other error goes on as it is."""
    with pytest.raises(type(error)) as caught:
        claim(cloud, Maker(1, error))
    assert caught.value is error
    assert clock.pauses == []


@pytest.mark.parametrize("code", ["InvalidSubnetID.NotFound", "RequestLimitExceeded", "InternalError"])
def test_other_refusals(cloud: Cloud, clock: Clock, code: str) -> None:
    """So does any other refusal: what makes something is repeated by the SDK alone."""
    answer: Any = {"Error": {"Code": code, "Message": "no"}, "ResponseMetadata": {"HTTPStatusCode": 500}}
    with pytest.raises(ClientError, match=code):
        claim(cloud, Maker(1, ClientError(answer, "CreateNetworkInterface")))
    assert clock.pauses == []
