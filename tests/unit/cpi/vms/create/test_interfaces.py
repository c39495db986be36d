"""Interfaces made before the launch, and those that the same create_vm made before it was cut off."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from bosh_aws_cpi.aws import network_interfaces
from bosh_aws_cpi.aws.sdk.timing import NIC_SEEN, VISIBLE
from bosh_aws_cpi.cpi.undo import Undo
from bosh_aws_cpi.cpi.vms.create.interfaces import MAX_GENERATIONS, create_interfaces
from bosh_aws_cpi.errors import CloudError, VMCreationFailed
from tests.unit.aws.timing_script import refusal
from tests.unit.cpi.interface_calls import (
    FIRST,
    NOT_FOUND,
    SECOND,
    entry,
    lay_agents,
    lay_create,
    lay_instance,
    lay_look,
    made,
    wanted,
)

if TYPE_CHECKING:
    from bosh_aws_cpi.cpi.cloud import Cloud
    from bosh_aws_cpi.model import Nic
    from tests.unit.conftest import Clock, Ec2

pytestmark = pytest.mark.usefixtures("undone")


def test_several(cloud: Cloud, ec2: Ec2) -> None:
    """Each interface is made under a token of its own, and waited for; its MAC is known then."""
    for nic_plan, nic_id in ((FIRST, "eni-1"), (SECOND, "eni-2")):
        lay_create(ec2, nic_plan, nic_id)
        lay_look(ec2, nic_id, entry(nic_id, "pending"), entry(nic_id))
    nics = create_interfaces(cloud, wanted(FIRST, SECOND), Undo())
    assert [(nic.nic_id, nic.mac_address) for nic in nics] == [
        ("eni-1", "mac-eni-1"),
        ("eni-2", "mac-eni-2"),
    ]


def test_public(cloud: Cloud, ec2: Ec2) -> None:
    """Only the first interface can be public."""
    for nic_plan, nic_id in ((FIRST, "eni-1"), (SECOND, "eni-2")):
        lay_create(ec2, nic_plan, nic_id)
        lay_look(ec2, nic_id, entry(nic_id))
        if nic_plan is FIRST:
            change = {"NetworkInterfaceId": nic_id, "AssociatePublicIpAddress": True}
            ec2.answers("modify_network_interface_attribute", **change)
    assert made(cloud, FIRST, SECOND, auto_assign_public_ip=True) == ["eni-1", "eni-2"]


def test_prefixes(cloud: Cloud, ec2: Ec2) -> None:
    """Prefixes are delegated by calls of their own; one that an earlier call delegated is left out."""
    lay_create(ec2, FIRST, "eni-1")
    lay_look(ec2, "eni-1", {**entry("eni-1"), "Ipv4Prefixes": [{"Ipv4Prefix": "10.0.0.16/28"}]})
    ec2.answers("assign_ipv6_addresses", NetworkInterfaceId="eni-1", Ipv6Prefixes=["2600::/80"])
    assert made(cloud, replace(FIRST, ipv4_prefix="10.0.0.16/28", ipv6_prefix="2600::/80")) == ["eni-1"]


def test_launched_before(cloud: Cloud, ec2: Ec2) -> None:
    """An interface that the VM of an earlier call has already is this VM's."""
    lay_create(ec2, FIRST, "eni-1")
    lay_look(ec2, "eni-1", entry("eni-1", "in-use", "i-1"))
    lay_instance(ec2, "i-1", "running")
    assert made(cloud, FIRST) == ["eni-1"]


def test_ended_before(cloud: Cloud, ec2: Ec2, clock: Clock) -> None:
    """An interface that an ending VM of an earlier call has is waited for."""
    lay_create(ec2, FIRST, "eni-1")
    for state in ("shutting-down", "terminated"):
        lay_look(ec2, "eni-1", entry("eni-1", "in-use", "i-1"))
        lay_instance(ec2, "i-1", state)
    lay_look(ec2, "eni-1", entry("eni-1"))
    assert made(cloud, FIRST) == ["eni-1"]
    assert len(clock.pauses) == 2


def test_gone_before(cloud: Cloud, ec2: Ec2, program_log: pytest.LogCaptureFixture) -> None:
    """A token that stands for an interface that is gone is followed by the next one."""
    lay_create(ec2, FIRST, "eni-1")
    lay_look(ec2, "eni-1", entry("eni-1", "pending"), None)
    ec2.refuses("delete_network_interface", NOT_FOUND, NetworkInterfaceId="eni-1")
    lay_create(ec2, FIRST, "eni-2", 1)
    lay_look(ec2, "eni-2", entry("eni-2"))
    assert made(cloud, FIRST) == ["eni-2"]
    said = "Network interface 'eni-1' of an earlier call is gone: creating another one"
    assert said in [record.getMessage() for record in program_log.records]


def test_never_seen(cloud: Cloud, ec2: Ec2, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that EC2 never shows may come to light yet: its removal is tried for a minute."""
    find, tries = network_interfaces.find, []

    def see(_: object, nic_id: str) -> Nic | None:
        return None if nic_id == "eni-1" else find(ec2.client, nic_id)

    def delete(**arguments: Any) -> None:
        tries.append(arguments["NetworkInterfaceId"])
        raise refusal(NOT_FOUND)

    monkeypatch.setattr("bosh_aws_cpi.aws.network_interfaces.find", see)
    monkeypatch.setattr(ec2.client, "delete_network_interface", delete)
    lay_create(ec2, FIRST, "eni-1")
    lay_create(ec2, FIRST, "eni-2", 1)
    lay_look(ec2, "eni-2", entry("eni-2"))
    assert made(cloud, FIRST) == ["eni-2"]
    assert set(tries) == {"eni-1"}
    assert clock.now > NIC_SEEN.seconds + VISIBLE.seconds


@pytest.mark.parametrize("code", ["IdempotentParameterMismatch", "IdempotentInstanceTerminated"])
def test_made_in_another_way_before(cloud: Cloud, ec2: Ec2, code: str) -> None:
    """A token that stands for an interface with other arguments is followed by the next one."""
    lay_create(ec2, FIRST, code)
    lay_agents(ec2, FIRST)
    lay_create(ec2, FIRST, "eni-2", 1)
    lay_look(ec2, "eni-2", entry("eni-2"))
    assert made(cloud, FIRST) == ["eni-2"]


def test_no_end(cloud: Cloud, ec2: Ec2) -> None:
    """Tokens are not tried for ever; the group is named."""
    for generation in range(MAX_GENERATIONS):
        lay_create(ec2, FIRST, "IdempotentParameterMismatch", generation)
        lay_agents(ec2, FIRST)
    with pytest.raises(CloudError) as caught:
        made(cloud, FIRST)
    assert caught.value.message == (
        "Failed to create network interface for nic_group 'a': "
        f"{MAX_GENERATIONS} interfaces were created and deleted for this VM before"
    )


def test_refused(cloud: Cloud, ec2: Ec2) -> None:
    """A refusal names the group of the interface, and what EC2 says."""
    lay_create(ec2, FIRST, "eni-1")
    lay_look(ec2, "eni-1", entry("eni-1"))
    lay_create(ec2, SECOND, "InvalidSubnetID.NotFound")
    with pytest.raises(CloudError) as caught:
        made(cloud, FIRST, SECOND)
    assert caught.value.message == (
        "Failed to create network interface for nic_group 'b': CreateNetworkInterface failed with "
        "InvalidSubnetID.NotFound: sorry (request id none). "
        "Correct the subnet in the networks' cloud_properties"
    )
    assert type(caught.value) is CloudError
    assert isinstance(caught.value.__cause__, ClientError)


@pytest.mark.parametrize("code", ["InsufficientFreeAddressesInSubnet", "RequestLimitExceeded"])
def test_busy(cloud: Cloud, ec2: Ec2, code: str) -> None:
    """A refusal that may pass fails the whole VM, so that the Director makes it again."""
    lay_create(ec2, FIRST, code)
    with pytest.raises(VMCreationFailed) as caught:
        made(cloud, FIRST)
    begin = (
        f"Failed to create network interface for nic_group 'a': CreateNetworkInterface failed with {code}: "
    )
    assert caught.value.message.startswith(begin)
    assert caught.value.ok_to_retry is True


@pytest.mark.parametrize(
    ("error", "message", "kind"),
    [
        (
            EndpointConnectionError(endpoint_url="http://h/"),
            "AWS could not be called: EndpointConnection",
            VMCreationFailed,
        ),
        (CloudError("said"), "said", CloudError),
        (CloudError("said", ok_to_retry=True), "said", VMCreationFailed),
    ],
)
def test_other_failures(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, error: Exception, message: str, kind: type[CloudError]
) -> None:
    """Whatever else goes wrong in between names the group, too; what may pass is retriable."""

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("bosh_aws_cpi.aws.network_interfaces.create", fail)
    said = f"Failed to create network interface for nic_group 'a': {message}"
    with pytest.raises(CloudError, match=said) as caught:
        made(cloud, FIRST)
    assert (type(caught.value), caught.value.ok_to_retry) == (kind, kind is VMCreationFailed)


def test_programming_error(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody foresaw is not dressed up as an answer of EC2's."""

    def fail(*_: object) -> None:
        raise KeyError("MacAddress")

    monkeypatch.setattr("bosh_aws_cpi.aws.network_interfaces.create", fail)
    with pytest.raises(KeyError):
        made(cloud, FIRST)
