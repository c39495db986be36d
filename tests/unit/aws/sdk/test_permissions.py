"""The table of permissions."""

from bosh_aws_cpi.aws.sdk.permissions import ACTIONS, BASELINE, FEATURES, NEEDS_NO_PERMISSION
from tests.unit.called_operations import actions, calls

LISTED = {action for feature in FEATURES.values() for action in feature.called}
BY_THE_SDK = {"sts:AssumeRole", "sts:AssumeRoleWithWebIdentity"}
"""Called by botocore's credential providers, in no line of the program."""


def test_features() -> None:
    """Each action names features that exist, and each feature has an action; the baseline comes first."""
    named = {name for row in ACTIONS.values() for name in row.features.split()}
    assert named == FEATURES.keys()
    assert all(row.features for row in ACTIONS.values())
    assert next(iter(FEATURES)) == BASELINE
    assert LISTED.isdisjoint(NEEDS_NO_PERMISSION)


def test_calls_are_listed() -> None:
    """Each operation that the source calls is in the table; one that is missing is named with its place."""
    known = LISTED | NEEDS_NO_PERMISSION.keys()
    missing = {
        f"{place} calls {' or '.join(sorted(found))}: add it to ACTIONS in aws/sdk/permissions.py"
        for name, place in calls().items()
        if not (found := actions(name)) & known
    }
    assert missing == set()


def test_listed_are_called() -> None:
    """Each action in the table is called by a line of the source, or by the SDK."""
    called = {action for name in calls() for action in actions(name)}
    uncalled = (LISTED | NEEDS_NO_PERMISSION.keys()) - called - BY_THE_SDK
    assert {f"nobody calls {action}: remove it from aws/sdk/permissions.py" for action in uncalled} == set()
    assert called.isdisjoint(BY_THE_SDK)
