"""The remedies of AWS's error codes."""

import botocore.session
import pytest
from botocore.retries.standard import ThrottledRetryableChecker

from bosh_aws_cpi.aws.sdk import errors
from bosh_aws_cpi.aws.sdk.translation import TABLE, Kind, by_code, row_of
from tests.unit.called_operations import calls, operation_names


def test_sets() -> None:
    """What the program acts upon has a remedy too, for the calls where it does not act."""
    acted_upon = {code for each in vars(errors).values() if isinstance(each, frozenset) for code in each}
    assert acted_upon - by_code().keys() == errors.GROUP_EXISTS | errors.GROUP_IN_USE
    assert {row.kind for row in by_code().values()} == set(Kind)


def test_one_row() -> None:
    """A code has one remedy."""
    keys = [each for of_kind in TABLE.values() for each in of_kind]
    codes = [code for each in keys for code in (each.split() if isinstance(each, str) else each)]
    assert sorted(codes) == sorted(by_code())


def test_codes_without_capacity() -> None:
    """If another instance type may help, the program acts upon the code at a launch."""
    helped = {code for code, row in by_code().items() if "instance_type_fallbacks" in row.remedy}
    assert helped
    assert helped <= errors.NO_CAPACITY | errors.RESERVATION_CLOSED


OF_OTHERS = {
    "LimitExceededException": "a quota, which does not pass",
    "ProvisionedThroughputExceededException": "DynamoDB's",
    "TransactionInProgressException": "DynamoDB's",
    "BandwidthLimitExceeded": "EC2's documents say that it is about an instance's network",
}
"""Codes that the SDK takes for throttling and the program does not, and why."""
OF_OURS = {"ConcurrentLimitExceededException", "DependencyThrottle", "RequestResourceCountExceeded"}
"""What StartSnapshot, Elastic Load Balancing and EC2 (of spot requests) say of throttling, by their pages."""


def test_throttled() -> None:
    """What the SDK takes for throttling is throttling, but for what no service of ours says in that sense."""
    codes = frozenset(vars(ThrottledRetryableChecker)["_THROTTLED_ERROR_CODES"])
    assert codes - errors.THROTTLED == set(OF_OTHERS)
    assert errors.THROTTLED - codes == OF_OURS


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("InsufficientQuantumCapacity", Kind.BUSY),
        ("VolumeShuffleRateExceeded", Kind.BUSY),
        ("Quantum.GateLimitExceededException", Kind.QUOTA),
        ("QuantumNotFound", Kind.MISSING),
        ("InvalidQuantumID.Malformed", Kind.INVALID),
        ("InvalidQuantum.InUse", Kind.STATE),
        ("Quantum", None),
        ("BandwidthLimitExceeded", Kind.BUSY),
        ("FilterLimitExceeded", Kind.INVALID),
    ],
)
def test_kind(code: str, kind: Kind | None) -> None:
    """A code that is not known has the kind of its family; one that its family would mislead has a row."""
    assert ("Quantum" in code or "Shuffle" in code) is (code not in by_code())
    row = row_of(code)
    assert (row and row.kind) == kind


def test_missing_sooner_or_later() -> None:
    """What may be unknown for a moment is missing after that."""
    kinds = {by_code()[code].kind for code in errors.NOT_FOUND_YET}
    assert kinds == {Kind.VM_GONE, Kind.DISK_GONE, Kind.MISSING}


def test_documented_errors() -> None:
    """Each error that AWS documents for a call of ours has a row; EC2's data lists none."""
    called = {("sts", "AssumeRole")} | {
        (service, name)
        for service in ("elb", "elbv2", "ebs", "sts")
        for python_name, name in operation_names(service).items()
        if python_name in calls()
    }
    assert {
        ("ebs", "StartSnapshot"),
        ("elb", "DescribeLoadBalancers"),
        ("elbv2", "RegisterTargets"),
    } <= called
    session = botocore.session.Session()
    codes = {
        shape.metadata.get("error", {}).get("code", shape.name)
        for service, name in called
        for shape in session.get_service_model(service).operation_model(name).error_shapes
    }
    assert codes - by_code().keys() == set()
