"""The values that all layers speak."""

from __future__ import annotations

from typing import Any

import pytest

from bosh_aws_cpi.aws.routes import Route, RouteTable
from bosh_aws_cpi.model import Encryption, Instance, Nic, NicPlan, gib


@pytest.mark.parametrize(("mib", "expected"), [(1, 1), (1023, 1), (1024, 1), (1025, 2), (102400, 100)])
def test_gib(mib: int, expected: int) -> None:
    """Sizes are rounded up: a disk is never smaller than asked for."""
    assert gib(mib) == expected


@pytest.mark.parametrize(
    ("encryption", "expected"),
    [
        (Encryption(), {}),
        (Encryption(encrypted=True), {"Encrypted": True}),
        (Encryption(encrypted=True, kms_key_arn="k"), {"Encrypted": True, "KmsKeyId": "k"}),
        (Encryption(encrypted=True, kms_key_arn=""), {"Encrypted": True}),
        (Encryption(encrypted=False, kms_key_arn="k"), {}),
    ],
)
def test_encryption(encryption: Encryption, expected: dict[str, Any]) -> None:
    """A key goes only with encryption: EC2 refuses it alone."""
    assert encryption.arguments() == expected


@pytest.mark.parametrize(
    ("state", "gone", "ending"),
    [
        ("pending", False, False),
        ("running", False, False),
        ("stopping", False, False),
        ("stopped", False, False),
        ("shutting-down", False, True),
        ("terminated", True, True),
    ],
)
def test_instance_states(state: str, *, gone: bool, ending: bool) -> None:
    """Only a terminated instance is gone; one that is shutting down is on its way."""
    instance = Instance("i-1", state, "m5.large", "z", {})
    assert (instance.is_gone, instance.is_ending) == (gone, ending)


def test_interface_of_an_instance() -> None:
    """An instance's interface is found by its device index."""
    nics = [Nic("eni-1"), Nic("eni-2", device_index=1)]
    instance = Instance("i-1", "running", "m5.large", "z", {}, nics=nics)
    assert [instance.nic_at(0), instance.nic_at(1)] == ["eni-1", "eni-2"]


def test_addresses_of_an_interface() -> None:
    """The addresses of an interface are its IPv4 and its IPv6 one, without prefixes."""
    plan = NicPlan("g", ["a"], "subnet-1", "manual", "10.0.0.5", "2600::5", "10.0.0.16/28", "2600::/80")
    assert plan.addresses == ["10.0.0.5", "2600::5"]
    assert NicPlan("g", ["a"], "subnet-1", "dynamic").addresses == []


def test_route_of_a_table() -> None:
    """A route is found by exactly its destination, not by one that holds it."""
    route = Route("10.1.0.0/16", {"GatewayId": "igw-1"}, is_blackhole=False)
    table = RouteTable("rtb-1", "vpc-1", [route])
    assert table.route("10.1.0.0/16") is route
    assert table.route("10.1.0.0/24") is None
