"""The table of AWS's error codes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import botocore.session
import pytest
from botocore.retries.standard import ThrottledRetryableChecker

from bosh_aws_cpi.aws.sdk import error_codes
from bosh_aws_cpi.aws.sdk.error_table import ROWS, WORDS, Kind, Row, row_of
from tests.unit.called_operations import calls, operation_names

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCUMENTED = ("elb", "elbv2", "ebs", "sts")
"""The services whose errors the SDK's data lists, operation by operation; EC2's it does not."""


def test_size() -> None:
    """The codes that the program's calls can be answered with are many."""
    assert len(ROWS) >= 80
    assert {row.kind for row in ROWS.values()} == set(Kind)


WITHOUT_REMEDY = error_codes.GROUP_EXISTS | error_codes.GROUP_IN_USE


def test_sets() -> None:
    """What the program acts upon has a remedy too, for the calls where it does not act."""
    acted_upon = {code for each in vars(error_codes).values() if isinstance(each, frozenset) for code in each}
    assert acted_upon - ROWS.keys() == WITHOUT_REMEDY


def test_codes_without_capacity() -> None:
    """If another instance type may help, the program acts upon the code at a launch."""
    helped = {code for code, row in ROWS.items() if "instance_type_fallbacks" in row.remedy}
    assert helped
    assert helped <= error_codes.NO_CAPACITY | error_codes.RESERVATION_CLOSED


OF_OTHERS = {
    "LimitExceededException": "a quota, which does not pass",
    "ProvisionedThroughputExceededException": "DynamoDB's",
    "TransactionInProgressException": "DynamoDB's",
    "BandwidthLimitExceeded": "EC2's documents say that it is about an instance's network",
}
"""Codes that the SDK takes for throttling and the program does not, and why."""


OF_OURS = {"ConcurrentLimitExceededException", "DependencyThrottle"}
"""What StartSnapshot and Elastic Load Balancing say of throttling, by their API models."""


def test_throttled() -> None:
    """What the SDK takes for throttling is throttling, but for what no service of ours says in that sense."""
    codes = frozenset(vars(ThrottledRetryableChecker)["_THROTTLED_ERROR_CODES"])
    assert codes - error_codes.THROTTLED == set(OF_OTHERS)
    assert error_codes.THROTTLED - codes == OF_OURS
    assert error_codes.THROTTLED.isdisjoint(OF_OTHERS)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("InsufficientQuantumCapacity", Kind.BUSY),
        ("VolumeShuffleRateExceeded", Kind.BUSY),
        ("QuantumLimitExceeded", Kind.QUOTA),
        ("Quantum.GateLimitExceededException", Kind.QUOTA),
        ("InvalidQuantumID.NotFound", Kind.MISSING),
        ("QuantumNotFound", Kind.MISSING),
        ("InvalidQuantumID.Malformed", Kind.INVALID),
        ("InvalidQuantum.InUse", Kind.STATE),
    ],
)
def test_family(code: str, kind: Kind) -> None:
    """A code that is not known has the kind of its family."""
    assert code not in ROWS
    row = row_of(code)
    assert row is not None
    assert row.kind is kind


def test_exceptions_of_the_families() -> None:
    """A known code that its family would mislead about has its row."""
    found = {
        code: row_of(code)
        for code in (
            "RequestLimitExceeded",
            "BandwidthLimitExceeded",
            "InvalidZone.NotFound",
            "FilterLimitExceeded",
        )
    }
    assert {code: row.kind for code, row in found.items() if row} == {
        "RequestLimitExceeded": Kind.BUSY,
        "BandwidthLimitExceeded": Kind.BUSY,
        "InvalidZone.NotFound": Kind.INVALID,
        "FilterLimitExceeded": Kind.INVALID,
    }
    assert row_of("Quantum") is None


def test_missing_sooner_or_later() -> None:
    """What may be unknown for a moment is missing after that."""
    kinds = {ROWS[code].kind for code in error_codes.NOT_FOUND_YET}
    assert kinds == {Kind.VM_GONE, Kind.DISK_GONE, Kind.MISSING}


@pytest.mark.parametrize("row", dict.fromkeys([*ROWS.values(), *WORDS.values()]), ids=lambda row: row.remedy)
def test_remedy(row: Row) -> None:
    """A remedy reads as a sentence without its full stop, and names an action where one is to be allowed."""
    first = row.remedy.split()[0]
    assert first[0].islower() or first.isupper()
    assert not re.search(r"[.;:,\s]$|\s\s|\n", row.remedy)
    assert set(re.findall(r"{.*?}", row.remedy)) <= ({"{action}"} if row.kind is Kind.DENIED else set())
    assert row.remedy.format(action="ec2:DoThis")


def operations() -> Iterator[tuple[str, str]]:
    """Each operation that the source calls, of the services whose errors are documented."""
    for service in DOCUMENTED:
        yield from ((service, name) for called, name in operation_names(service).items() if called in calls())


@pytest.mark.parametrize(("service", "operation"), [*operations(), ("sts", "AssumeRole")])
def test_documented_errors(service: str, operation: str) -> None:
    """Each error that AWS documents for a call of ours has a row."""
    model = botocore.session.Session().get_service_model(service).operation_model(operation)
    codes = {shape.metadata.get("error", {}).get("code", shape.name) for shape in model.error_shapes}
    assert codes - set(ROWS) == set()


def test_operations() -> None:
    """Some of those calls are known to be there."""
    assert {("ebs", "StartSnapshot"), ("elb", "DescribeLoadBalancers"), ("elbv2", "RegisterTargets")} <= set(
        operations()
    )
