"""What the stubbed clients say when a test fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from botocore.stub import Stubber

from tests.unit.conftest import Stub, check_all_made

if TYPE_CHECKING:
    from tests.unit.conftest import Ec2


def test_call_that_was_not_made(ec2: Ec2) -> None:
    """A call that was laid out and not made is named, with its parameters."""
    stubber = Stubber(ec2.client)
    check_all_made(stubber)
    Stub(ec2.client, stubber).answers("describe_volumes", {"Volumes": []}, VolumeIds=["vol-1"])
    with pytest.raises(AssertionError, match=r"not called: DescribeVolumes \{'VolumeIds': \['vol-1'\]\}"):
        check_all_made(stubber)
