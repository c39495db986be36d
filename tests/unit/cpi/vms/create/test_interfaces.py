"""Interfaces created before the launch: earlier calls, lost answers, and their removal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import EndpointConnectionError

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
    from tests.unit.conftest import Clock, Ec2, ProgramLog

pytestmark = pytest.mark.usefixtures("undone")


def test_ended_before(cloud: Cloud, ec2: Ec2, clock: Clock) -> None:
    """The call waits for an interface that an earlier call's terminating VM has."""
    lay_create(ec2, FIRST, "eni-1")
    for state in ("shutting-down", "terminated"):
        lay_look(ec2, "eni-1", entry("eni-1", "in-use", "i-1"))
        lay_instance(ec2, "i-1", state)
    lay_look(ec2, "eni-1", entry("eni-1"))
    assert made(cloud, FIRST) == ["eni-1"]
    assert len(clock.pauses) == 2


def test_gone_before(cloud: Cloud, ec2: Ec2, program_log: ProgramLog) -> None:
    """After a token whose interface is gone, the next token is used."""
    lay_create(ec2, FIRST, "eni-1")
    lay_look(ec2, "eni-1", entry("eni-1", "pending"), None)
    ec2.refuses("delete_network_interface", NOT_FOUND, NetworkInterfaceId="eni-1")
    lay_create(ec2, FIRST, "eni-2", 1)
    lay_look(ec2, "eni-2", entry("eni-2"))
    assert made(cloud, FIRST) == ["eni-2"]
    said = "Network interface 'eni-1' of an earlier call is gone: creating another one"
    assert said in [record.text for record in program_log.records]


def test_never_seen(cloud: Cloud, ec2: Ec2, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """The deletion of an interface that EC2 never shows is retried for a minute."""
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


def test_no_end(cloud: Cloud, ec2: Ec2) -> None:
    """The number of tokens is limited; the error names the group."""
    for generation in range(MAX_GENERATIONS):
        lay_create(ec2, FIRST, "IdempotentParameterMismatch", generation)
        lay_agents(ec2, FIRST)
    with pytest.raises(CloudError) as caught:
        made(cloud, FIRST)
    assert caught.value.message == (
        "Failed to create network interface for nic_group 'a': "
        f"{MAX_GENERATIONS} interfaces were already created for this VM, and none can be used"
    )


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
    """Other errors name the group, too; transient ones are retriable."""

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("bosh_aws_cpi.aws.network_interfaces.create", fail)
    said = f"Failed to create network interface for nic_group 'a': {message}"
    with pytest.raises(CloudError, match=said) as caught:
        made(cloud, FIRST)
    assert (type(caught.value), caught.value.ok_to_retry) == (kind, kind is VMCreationFailed)


def test_programming_error(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unexpected exception is not converted."""

    def fail(*_: object) -> None:
        raise KeyError("MacAddress")

    monkeypatch.setattr("bosh_aws_cpi.aws.network_interfaces.create", fail)
    with pytest.raises(KeyError):
        made(cloud, FIRST)


UNCERTAIN = pytest.mark.parametrize("how", ["lost", "fault"])
BOOM = "an error"


def having(nic_id: str, *addresses: str, **more: Any) -> dict[str, Any]:
    """Describe an interface with addresses."""
    ipv4 = [{"PrivateIpAddress": address} for address in addresses if ":" not in address]
    ipv6 = [{"Ipv6Address": address} for address in addresses if ":" in address]
    return {**entry(nic_id, **more), "PrivateIpAddresses": ipv4, "Ipv6Addresses": ipv6}


@UNCERTAIN
@pytest.mark.parametrize("unseen", [0, 2])
def test_found(cloud: Cloud, ec2: Ec2, clock: Clock, how: str, unseen: int) -> None:
    """After a lost answer the unattached interface is found by its agent and address."""
    others = [having("eni-8", "10.0.0.9"), having("eni-9", "10.0.0.5", vm_cid="i-9")]
    lay_create(ec2, FIRST, how)
    for _ in range(unseen):
        lay_agents(ec2, FIRST, *others)
    lay_agents(ec2, FIRST, *others, having("eni-1", "10.0.0.5"))
    lay_look(ec2, "eni-1", entry("eni-1"))
    assert made(cloud, FIRST) == ["eni-1"]
    assert len(clock.pauses) == unseen


def test_found_without_a_certain_address(cloud: Cloud, ec2: Ec2) -> None:
    """The search for the second interface in a subnet leaves out the first one of this call."""
    first, second = (plan.replaced(subnet_id="subnet-1") for plan in (FIRST, SECOND))
    lay_create(ec2, first, "eni-1")
    lay_look(ec2, "eni-1", entry("eni-1"))
    lay_create(ec2, second, "lost")
    addresses = ("10.0.0.5", "10.0.1.5")
    lay_agents(ec2, first, having("eni-1", *addresses), having("eni-2", *addresses))
    lay_look(ec2, "eni-2", entry("eni-2"))
    assert made(cloud, first, second) == ["eni-1", "eni-2"]


@UNCERTAIN
def test_not_found(cloud: Cloud, ec2: Ec2, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """An interface that is not found is left to a repeated call with the same token."""
    monkeypatch.setattr("bosh_aws_cpi.aws.network_interfaces.of_agent", lambda *_: [])
    lay_create(ec2, FIRST, how)
    with pytest.raises(CloudError, match="Failed to create network interface for nic_group 'a': "):
        made(cloud, FIRST)


def armed(cloud: Cloud, ec2: Ec2) -> Undo:
    """Create an interface, and return its undo."""
    undo = Undo()
    lay_create(ec2, FIRST, "eni-1")
    lay_look(ec2, "eni-1", entry("eni-1"))
    create_interfaces(cloud, wanted(FIRST), undo)
    return undo


def test_undo(cloud: Cloud, ec2: Ec2) -> None:
    """An interface is deleted if the call fails; a missing one is no error."""
    for code in (None, NOT_FOUND):
        undo = armed(cloud, ec2)
        lay_look(ec2, "eni-1", entry("eni-1"))
        if code:
            ec2.refuses("delete_network_interface", code, NetworkInterfaceId="eni-1")
        else:
            ec2.answers("delete_network_interface", NetworkInterfaceId="eni-1")
        undo.run(BOOM)


@pytest.mark.parametrize("state", ["shutting-down", "terminated"])
def test_undo_of_an_ended_instance(cloud: Cloud, ec2: Ec2, clock: Clock, state: str) -> None:
    """The interface of a terminated instance is deleted as soon as EC2 detaches it."""
    undo = armed(cloud, ec2)
    lay_look(ec2, "eni-1", entry("eni-1", "in-use", "i-1"))
    lay_instance(ec2, "i-1", state)
    ec2.refuses("delete_network_interface", "InvalidNetworkInterface.InUse", NetworkInterfaceId="eni-1")
    ec2.answers("delete_network_interface", NetworkInterfaceId="eni-1")
    undo.run(BOOM)
    assert len(clock.pauses) == 1


def test_undo_of_a_living_instance(cloud: Cloud, ec2: Ec2, program_log: ProgramLog) -> None:
    """The interface of a running instance stays: it is an earlier call's."""
    undo = armed(cloud, ec2)
    lay_look(ec2, "eni-1", entry("eni-1", "in-use", "i-1"))
    lay_instance(ec2, "i-1", "running")
    undo.run(BOOM)
    errors = [record.text for record in program_log.records if record.level == "ERROR"]
    assert errors == ["Network interface 'eni-1' is kept: instance 'i-1' uses it"]


def test_undo_without_a_look(cloud: Cloud, ec2: Ec2, program_log: ProgramLog) -> None:
    """An interface that can't be described is deleted: EC2 refuses that for an attached one."""
    undo = armed(cloud, ec2)
    ec2.refuses("describe_network_interfaces", "RequestLimitExceeded", "slow", NetworkInterfaceIds=["eni-1"])
    ec2.answers("delete_network_interface", NetworkInterfaceId="eni-1")
    undo.run(BOOM)
    warnings = [record.text for record in program_log.records if record.level == "WARNING"]
    said = "RequestLimitExceeded: slow (request id none)"
    assert warnings[1:] == [
        f"Could not look up network interface 'eni-1': DescribeNetworkInterfaces failed with {said}"
    ]


@pytest.mark.parametrize("lost", ["describe_network_interfaces", "describe_instances"])
def test_undo_without_an_answer(cloud: Cloud, ec2: Ec2, lost: str) -> None:
    """An interface about which AWS does not answer is deleted, unless EC2 refuses."""
    undo = armed(cloud, ec2)
    if lost == "describe_instances":
        lay_look(ec2, "eni-1", entry("eni-1", "in-use", "i-1"))
        ec2.loses(lost, InstanceIds=["i-1"])
    else:
        ec2.loses(lost, NetworkInterfaceIds=["eni-1"])
    ec2.answers("delete_network_interface", NetworkInterfaceId="eni-1")
    undo.run(BOOM)
