"""The values that all layers speak."""

from __future__ import annotations

from typing import Any

import pytest

from bosh_aws_cpi.model import Encryption, Instance, gib


@pytest.mark.parametrize(("mib", "expected"), [(1, 1), (1023, 1), (1024, 1), (1025, 2), (102400, 100)])
def test_gib(mib: int, expected: int) -> None:
    """Sizes are rounded up: a disk is never smaller than asked for."""
    assert gib(mib) == expected


@pytest.mark.parametrize(
    ("encryption", "expected"),
    [
        (Encryption(), {"Encrypted": False}),
        (Encryption(encrypted=True), {"Encrypted": True}),
        (Encryption(encrypted=True, kms_key_arn="k"), {"Encrypted": True, "KmsKeyId": "k"}),
        (Encryption(encrypted=True, kms_key_arn=""), {"Encrypted": True}),
        (Encryption(encrypted=False, kms_key_arn="k"), {"Encrypted": False}),
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
