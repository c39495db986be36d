"""The errors a caller can be answered with."""

from __future__ import annotations

import pytest

from bosh_aws_cpi import errors
from bosh_aws_cpi.errors import BoshError


@pytest.mark.parametrize(
    ("kind", "wire_type", "parent"),
    [
        (errors.InvalidCall, "InvalidCall", BoshError),
        (errors.Unknown, "Unknown", BoshError),
        (errors.CpiError, "Bosh::Clouds::CpiError", BoshError),
        (errors.CPIAPIVersionNotSupported, "Bosh::Clouds::CPIAPIVersionNotSupported", errors.CpiError),
        (errors.MethodNotImplemented, "Bosh::Clouds::NotImplemented", errors.CpiError),
        (errors.NotSupported, "Bosh::Clouds::NotSupported", errors.CpiError),
        (errors.CloudError, "Bosh::Clouds::CloudError", BoshError),
        (errors.VMNotFound, "Bosh::Clouds::VMNotFound", errors.CloudError),
        (errors.VMCreationFailed, "Bosh::Clouds::VMCreationFailed", errors.CloudError),
        (errors.NetworkNotFound, "Bosh::Clouds::NetworkNotFound", errors.CloudError),
        (errors.NoDiskSpace, "Bosh::Clouds::NoDiskSpace", errors.CloudError),
        (errors.DiskNotFound, "Bosh::Clouds::DiskNotFound", errors.CloudError),
        (errors.DiskNotAttached, "Bosh::Clouds::DiskNotAttached", errors.CloudError),
    ],
)
def test_wire_types(kind: type[BoshError], wire_type: str, parent: type[BoshError]) -> None:
    """Each error has the name that callers know it by, and its place in the tree."""
    assert kind.wire_type == wire_type
    assert kind.__mro__[1] is parent


@pytest.mark.parametrize(
    ("error", "message", "ok_to_retry"),
    [
        (errors.VMNotFound("i-1"), "VM `i-1' not found", False),
        (errors.NetworkNotFound("subnet-1"), "Network 'subnet-1' not found", False),
        (errors.DiskNotFound("vol-1"), "Disk 'vol-1' not found", False),
        (errors.DiskNotAttached("vol-1", "i-1"), "Disk `vol-1' is not attached to instance `i-1'", True),
        (errors.CloudError("said"), "said", False),
        (errors.VMCreationFailed("said", ok_to_retry=True), "said", True),
    ],
)
def test_messages(error: BoshError, message: str, *, ok_to_retry: bool) -> None:
    """Messages name the id in the callers' own words; only what may pass by itself is to be repeated."""
    assert (error.message, str(error), error.ok_to_retry) == (message, message, ok_to_retry)
