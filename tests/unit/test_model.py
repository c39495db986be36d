"""The values that all layers speak."""

from typing import Any

import pytest

from bosh_aws_cpi.aws.routes import Route, RouteTable
from bosh_aws_cpi.model import Encryption, gib


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


def test_route_of_a_table() -> None:
    """A route is found by exactly its destination, not by one that holds it."""
    route = Route("10.1.0.0/16", {"GatewayId": "igw-1"}, is_blackhole=False)
    table = RouteTable("rtb-1", "vpc-1", [route])
    assert (table.route("10.1.0.0/16"), table.route("10.1.0.0/24")) == (route, None)
