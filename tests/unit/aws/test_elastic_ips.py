"""Elastic IP addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.aws import elastic_ips
from bosh_aws_cpi.aws.elastic_ips import ElasticIp

if TYPE_CHECKING:
    from tests.unit.conftest import Clock, Ec2, ProgramLog

IP = "52.1.2.3"
ARGUMENTS = {"AllocationId": "eipalloc-1", "NetworkInterfaceId": "eni-1"}


def lay(ec2: Ec2, *found: dict[str, Any]) -> None:
    """Lay out the question for the address."""
    filters = [{"Name": "public-ip", "Values": [IP]}]
    ec2.answers("describe_addresses", {"Addresses": list(found)}, Filters=filters)


@pytest.mark.parametrize(
    ("more", "holder", "said"),
    [
        ({}, (None, None), []),
        (
            {"NetworkInterfaceId": "eni-2", "PrivateIpAddress": "10.0.0.5", "InstanceId": "i-2"},
            ("eni-2", "10.0.0.5"),
            [f"Elastic IP {IP} will move to the VM from network interface 'eni-2'"],
        ),
    ],
    ids=["free", "held"],
)
def test_find(
    ec2: Ec2,
    program_log: ProgramLog,
    more: dict[str, str],
    holder: tuple[str | None, str | None],
    said: list[str],
) -> None:
    """The account's address is found, with who holds it; that is logged."""
    lay(ec2, {"PublicIp": IP, "AllocationId": "eipalloc-1", **more})
    assert elastic_ips.find(ec2.client, IP) == ElasticIp(IP, "eipalloc-1", *holder)
    assert [record.text for record in program_log.records] == said


@pytest.mark.parametrize(
    "codes",
    [
        [],
        ["IncorrectInstanceState"],
        ["InvalidNetworkInterfaceID.NotFound", "InvalidInstanceID", "IncorrectInstanceState"],
    ],
)
def test_associate(ec2: Ec2, clock: Clock, codes: list[str]) -> None:
    """An instance that is not ready for its address is asked again."""
    for code in codes:
        ec2.refuses("associate_address", code, **ARGUMENTS)
    ec2.answers("associate_address", {"AssociationId": "eipassoc-1"}, **ARGUMENTS)
    elastic_ips.associate(ec2.client, "eipalloc-1", "eni-1")
    assert len(clock.pauses) == len(codes)


def test_associate_one_address(ec2: Ec2) -> None:
    """The elastic IP is associated with the named address of the interface."""
    associated = {"AssociationId": "eipassoc-1"}
    ec2.answers("associate_address", associated, **ARGUMENTS, PrivateIpAddress="10.0.0.5")
    elastic_ips.associate(ec2.client, "eipalloc-1", "eni-1", "10.0.0.5")


def test_never_ready(ec2: Ec2, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a minute what EC2 says goes on."""
    answer: Any = {"Error": {"Code": "IncorrectInstanceState", "Message": "no"}}

    def refuse(**_: Any) -> None:
        raise ClientError(answer, "AssociateAddress")

    monkeypatch.setattr(ec2.client, "associate_address", refuse)
    with pytest.raises(ClientError, match="IncorrectInstanceState"):
        elastic_ips.associate(ec2.client, "eipalloc-1", "eni-1")
    assert 60 <= clock.now <= 66
