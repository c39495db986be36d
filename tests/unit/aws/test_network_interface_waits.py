"""Waiting until an interface can be used, and finding out who holds an address."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from bosh_aws_cpi.aws import network_interfaces
from bosh_aws_cpi.aws.network_interfaces import NicGone
from bosh_aws_cpi.aws.sdk.timing import NIC_SEEN
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import Nic
from tests.unit.aws.timing_script import answer_late

if TYPE_CHECKING:
    from tests.unit.conftest import Clock, Ec2

ID, OTHER_ID = "eni-1", "eni-2"
MAC = "02:00:00:00:00:01"
OURS, ENDING = "i-1", "i-2"
Look = tuple[str, str | None] | None


def entry(status: str, vm_cid: str | None = None, nic_id: str = ID, **more: Any) -> dict[str, Any]:
    """Describe an interface."""
    attachment = {"Attachment": {"InstanceId": vm_cid}} if vm_cid else {}
    return {"NetworkInterfaceId": nic_id, "Status": status, "MacAddress": MAC, **attachment, **more}


def lay(ec2: Ec2, *looks: Look) -> None:
    """Lay out one look at the interface after the other, status and instance; none: EC2 does not know it."""
    for look in looks:
        if look is None:
            code = "InvalidNetworkInterfaceID.NotFound"
            ec2.refuses("describe_network_interfaces", code, NetworkInterfaceIds=[ID])
        else:
            answer = {"NetworkInterfaces": [entry(*look)]}
            ec2.answers("describe_network_interfaces", answer, NetworkInterfaceIds=[ID])


def wait(ec2: Ec2) -> Nic:
    """Wait until the interface can be used; one instance that has it is alive."""
    return network_interfaces.wait_until_usable(ec2.client, ID, lambda vm_cid: vm_cid == OURS)


@pytest.mark.parametrize(
    ("looks", "vm_cid"),
    [
        ([("available", None)], None),
        ([("pending", None), ("available", None)], None),
        ([None, None, ("pending", None), ("available", None)], None),
        ([("in-use", OURS)], OURS),
        ([("in-use", ENDING), ("in-use", ENDING), ("available", None)], None),
        ([("in-use", None), ("in-use", OURS)], OURS),
    ],
    ids=["at once", "pending", "not to be seen at first", "launched", "instance ending", "being attached"],
)
def test_usable(ec2: Ec2, clock: Clock, looks: list[Look], vm_cid: str | None) -> None:
    """An interface is usable when it is free, or when the VM that it was made for has it already."""
    lay(ec2, *looks)
    assert wait(ec2) == Nic(ID, MAC, "in-use" if vm_cid else "available", vm_cid)
    assert len(clock.pauses) == len(looks) - 1


def test_gone_before_it_was_seen(ec2: Ec2, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interface that EC2 does not show within seconds was made by an earlier call, and is gone."""
    monkeypatch.setattr("bosh_aws_cpi.aws.network_interfaces.find", lambda *_: None)
    with pytest.raises(NicGone) as caught:
        wait(ec2)
    assert caught.value.message == f"Network interface '{ID}' is gone"
    assert caught.value.was_seen is False
    assert 30 <= clock.now <= 36


def test_no_answer_at_first(ec2: Ec2, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A minute without an answer doesn't mean that there is no such interface."""
    answer_late(monkeypatch, ec2.client, "describe_network_interfaces", clock, 6 * NIC_SEEN.seconds)
    lay(ec2, ("pending", None), ("available", None))
    assert wait(ec2).status == "available"
    assert clock.now > 6 * NIC_SEEN.seconds


def test_no_answer_at_all(ec2: Ec2, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """If EC2 never answers, the interface may exist: the error is not NicGone."""
    answer_late(monkeypatch, ec2.client, "describe_network_interfaces", clock, math.inf)
    with pytest.raises(CloudError, match="to be available; last seen: Unavailable") as caught:
        wait(ec2)
    assert not isinstance(caught.value, NicGone)
    assert clock.now >= 300


def test_gone_after_it_was_seen(ec2: Ec2, clock: Clock) -> None:
    """An interface that was seen and is there no more is gone at once."""
    lay(ec2, ("in-use", ENDING), None)
    with pytest.raises(NicGone, match=f"Network interface '{ID}' is gone") as caught:
        wait(ec2)
    assert caught.value.was_seen is True
    assert len(clock.pauses) == 1


@pytest.mark.parametrize("look", [entry("pending"), entry("in-use", ENDING)])
def test_never_usable(ec2: Ec2, clock: Clock, monkeypatch: pytest.MonkeyPatch, look: dict[str, Any]) -> None:
    """An interface that never gets free is an error, with the state seen last; it is not gone."""
    answer = {"NetworkInterfaces": [look]}
    monkeypatch.setattr(ec2.client, "describe_network_interfaces", lambda **_: answer)
    said = f"network interface '{ID}' to be available; last seen: {look['Status']}"
    with pytest.raises(CloudError, match=said) as caught:
        wait(ec2)
    assert not isinstance(caught.value, NicGone)
    assert clock.now >= 300


SUBNET = {"Name": "subnet-id", "Values": ["subnet-1"]}


def lay_filtered(ec2: Ec2, name: str, address: str, found: list[dict[str, Any]]) -> None:
    """Lay out the question who has an address."""
    filters = [SUBNET, {"Name": name, "Values": [address]}]
    ec2.answers("describe_network_interfaces", {"NetworkInterfaces": found}, Filters=filters)


def lay_subnet(ec2: Ec2, *pages: list[dict[str, Any]]) -> None:
    """Lay out the question for all interfaces of the subnet."""
    for number, page in enumerate(pages):
        token = {"NextToken": str(number)} if number else {}
        more = {"NextToken": str(number + 1)} if number + 1 < len(pages) else {}
        answer = {"NetworkInterfaces": page, **more}
        ec2.answers("describe_network_interfaces", answer, Filters=[SUBNET], **token)


@pytest.mark.parametrize(
    ("address", "name"),
    [("10.0.0.5", "addresses.private-ip-address"), ("2600::5", "ipv6-addresses.ipv6-address")],
)
@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (entry("available"), Nic(ID, MAC, "available")),
        (entry("in-use", "i-1"), Nic(ID, MAC, "in-use", "i-1")),
        (
            entry("in-use", Attachment={"InstanceOwnerId": "amazon-elb"}),
            Nic(ID, MAC, "in-use", vm_owner_id="amazon-elb"),
        ),
        (
            entry("available", TagSet=[{"Key": "a", "Value": "1"}]),
            Nic(ID, MAC, "available", tags={"a": "1"}),
        ),
    ],
)
def test_holder(ec2: Ec2, address: str, name: str, found: dict[str, Any], expected: Nic) -> None:
    """Who holds an address is looked up in its subnet, secondary addresses included."""
    lay_filtered(ec2, name, address, [found])
    assert network_interfaces.holder(ec2.client, "subnet-1", address) == expected


def ipv4(*addresses: str) -> dict[str, Any]:
    """Describe addresses of an interface."""
    return {"PrivateIpAddresses": [{"PrivateIpAddress": address} for address in addresses]}


def ipv6(*addresses: str) -> dict[str, Any]:
    """Describe IPv6 addresses of an interface."""
    return {"Ipv6Addresses": [{"Ipv6Address": address} for address in addresses]}


def delegated(*prefixes: str) -> dict[str, Any]:
    """Describe prefixes of an interface."""
    return {
        "Ipv4Prefixes": [{"Ipv4Prefix": prefix} for prefix in prefixes if ":" not in prefix],
        "Ipv6Prefixes": [{"Ipv6Prefix": prefix} for prefix in prefixes if ":" in prefix],
    }


@pytest.mark.parametrize(
    ("address", "held"),
    [
        ("10.0.0.5", delegated("10.0.0.0/28")),
        ("10.0.0.15", delegated("10.0.0.32/28", "10.0.0.0/28")),
        ("2600::5", delegated("10.0.0.0/28", "2600::/80")),
        ("10.0.0.0/28", ipv4("10.0.0.99", "10.0.0.5")),
        ("10.0.0.0/28", delegated("10.0.0.0/28")),
        ("2600::/80", ipv6("2600::5")),
        ("2600::/80", delegated("2600::/80")),
    ],
)
def test_holder_by_prefix(ec2: Ec2, address: str, held: dict[str, Any]) -> None:
    """An address within a delegated prefix is held by who has that, and a prefix by who has a part of it."""
    name = "ipv6-addresses.ipv6-address" if ":" in address else "addresses.private-ip-address"
    if "/" not in address:
        lay_filtered(ec2, name, address, [])
    apart = {**ipv4("10.0.1.5"), **ipv6("2600:0:0:0:9::5"), **delegated("10.0.1.0/28", "2600:0:0:0:8::/80")}
    lay_subnet(ec2, [entry("in-use", nic_id=OTHER_ID, **apart)], [entry("available", **held)])
    found = network_interfaces.holder(ec2.client, "subnet-1", address)
    assert found is not None
    assert found.nic_id == ID


@pytest.mark.parametrize("address", ["10.0.0.5", "2600::5", "10.0.0.0/28", "2600::/80"])
@pytest.mark.parametrize(
    "held",
    [
        [],
        [entry("available")],
        [entry("available", **ipv4("10.0.0.16", "10.0.1.5"), **ipv6("2600:0:0:0:1::5"))],
        [entry("available", **delegated("10.0.0.16/28", "2600:0:0:0:1::/80"))],
    ],
)
def test_held_by_nobody(ec2: Ec2, address: str, held: list[dict[str, Any]]) -> None:
    """An address without a holder has the holder None."""
    name = "ipv6-addresses.ipv6-address" if ":" in address else "addresses.private-ip-address"
    if "/" not in address:
        lay_filtered(ec2, name, address, [])
    lay_subnet(ec2, held)
    assert network_interfaces.holder(ec2.client, "subnet-1", address) is None
