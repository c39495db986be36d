"""The table of permissions."""

import pytest

from bosh_aws_cpi.aws.sdk.permissions import BASELINE, FEATURES, NEEDS_NO_PERMISSION


def test_baseline_is_first() -> None:
    """What everybody needs comes first, in the policy and in the report."""
    assert next(iter(FEATURES)) == BASELINE


@pytest.mark.parametrize("action", sorted(NEEDS_NO_PERMISSION))
def test_needs_no_permission(action: str) -> None:
    """An action that needs no permission has a reason, and is in no feature."""
    assert NEEDS_NO_PERMISSION[action]
    assert all(action not in feature.actions for feature in FEATURES.values())
