"""What this CPI can't do is refused by name, and nothing is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from testbed.cloud import FakeAws
    from testbed.executable import Cpi
    from tests.protocols import WriteError


@pytest.mark.parametrize(("method", "arguments"), [("create_network", [{}]), ("delete_network", ["net"])])
def test_methods(
    cpi: Cpi,
    fake_aws: FakeAws,
    failure: WriteError,
    method: str,
    arguments: list[Any],
) -> None:
    """A method that is not there says so, and callers fall back."""
    message = f"'{method}' is not implemented by Bosh::AwsCloud::CloudV2"
    assert cpi.call(method, *arguments).error == failure("NotImplemented", message)
    assert fake_aws.actions() == []
