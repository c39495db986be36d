"""The values that all layers speak."""

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
    "state", ["pending", "running", "stopping", "stopped", "shutting-down", "terminated"]
)
def test_instance_states(state: str) -> None:
    """Only a terminated instance is gone; one that is shutting down is on its way."""
    instance = Instance("i-1", state, "m5.large", "z", {})
    assert instance.is_gone is (state == "terminated")
    assert instance.is_ending is (state in {"shutting-down", "terminated"})


def test_interfaces() -> None:
    """An instance's interface is found by its index; the addresses of a planned one lack its prefixes."""
    nics = [Nic("eni-0", card_index=1), Nic("eni-1"), Nic("eni-2", device_index=1)]
    instance = Instance("i-1", "running", "m5.large", "z", {}, nics=nics)
    assert [instance.nic_at(0), instance.nic_at(1), instance.nic_at(0, 1)] == ["eni-1", "eni-2", "eni-0"]
    plan = NicPlan("g", ["a"], "subnet-1", "manual", "10.0.0.5", "2600::5", "10.0.0.16/28", "2600::/80")
    assert plan.addresses == ["10.0.0.5", "2600::5"]


def test_route_of_a_table() -> None:
    """A route is found by exactly its destination, not by one that holds it."""
    route = Route("10.1.0.0/16", {"GatewayId": "igw-1"}, is_blackhole=False)
    table = RouteTable("rtb-1", "vpc-1", [route])
    assert (table.route("10.1.0.0/16"), table.route("10.1.0.0/24")) == (route, None)
