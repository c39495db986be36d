"""The table of AWS's error codes."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

import botocore.session
import pytest
from botocore.retries.standard import ThrottledRetryableChecker

from bosh_aws_cpi.aws.sdk import error_codes, error_table
from bosh_aws_cpi.aws.sdk.error_table import ROWS, Kind, row_of
from tests.unit.called_operations import calls, operation_names

if TYPE_CHECKING:
    from collections.abc import Iterator

OTHERWISE = {
    "InvalidID": Kind.MISSING,
    "InvalidParameterValue": Kind.INVALID,
    "TagLimitExceeded": Kind.QUOTA,
    "Unsupported": Kind.INVALID,
}
"""Codes that stand in a set because of what one call says with them; the rows say what all others do."""
DOCUMENTED = ("elb", "elbv2", "ebs", "sts")
"""The services whose errors the SDK's data lists, operation by operation; EC2's it does not."""


def test_size() -> None:
    """The codes that the program's calls can be answered with are many."""
    assert len(ROWS) >= 80
    assert {row.kind for row in ROWS.values()} == set(Kind)


KINDS = {
    "shortages": (error_codes.NO_CAPACITY - error_codes.QUOTA_REACHED, Kind.BUSY),
    "faults": (error_codes.AT_FAULT, Kind.BUSY),
    "full subnets": (error_codes.SUBNET_FULL, Kind.BUSY),
    "throttled": (error_codes.THROTTLED & set(ROWS), Kind.BUSY),
    "quotas": (error_codes.QUOTA_REACHED, Kind.QUOTA),
    "unauthorized": (error_codes.UNAUTHORIZED, Kind.DENIED),
    "instances": (error_codes.INSTANCE_MISSING, Kind.VM_GONE),
    "volumes": (error_codes.VOLUME_MISSING, Kind.DISK_GONE),
    "images": (error_codes.IMAGE_MISSING, Kind.MISSING),
    "snapshots": (error_codes.SNAPSHOT_MISSING, Kind.MISSING),
    "interfaces": (error_codes.NIC_MISSING, Kind.MISSING),
    "used volumes": (error_codes.VOLUME_IN_USE, Kind.STATE),
    "used interfaces": (error_codes.NIC_IN_USE, Kind.STATE),
    "tags": (error_codes.TAG_REFUSED, Kind.INVALID),
}


@pytest.mark.parametrize("name", KINDS)
def test_operational_sets(name: str) -> None:
    """What the program acts upon by itself is told as just that, when it is told."""
    codes, kind = KINDS[name]
    assert sorted(codes - ROWS.keys()) == [], f"codes of {name} that aws/sdk/error_table.py has no row for"
    found = {code: ROWS[code].kind for code in codes}
    assert found == {code: OTHERWISE.get(code, kind) for code in codes}


ROOMLESS = error_codes.NO_CAPACITY | error_codes.AT_FAULT | error_codes.SUBNET_FULL
OTHER_ROOM = {"InsufficientVolumeCapacity", "InsufficientAddressCapacity"}
"""Codes about something else than the room for an instance."""


def test_codes_without_capacity() -> None:
    """The program acts upon each code of the group "No capacity" that RunInstances answers."""
    group = inspect.getsource(error_table).partition("# No capacity")[2].partition("    # ")[0]
    codes = set(re.findall(r'^    "(\S+)": Row', group, re.MULTILINE))
    assert len(codes) > 10
    assert sorted(codes - ROOMLESS - OTHER_ROOM) == [], "in no set of aws/sdk/error_codes.py"


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


def test_gone() -> None:
    """Only what says that an instance or volume does not exist is taken as that: callers go on then.

    EC2's InvalidInstanceID without an ending is about instances with several network interfaces.
    """
    assert {code for code, row in ROWS.items() if row.kind is Kind.VM_GONE} == error_codes.INSTANCE_MISSING
    gone = {code for code, row in ROWS.items() if row.kind is Kind.DISK_GONE}
    assert gone == error_codes.VOLUME_MISSING - set(OTHERWISE)


def test_missing_sooner_or_later() -> None:
    """What may be unknown for a moment is missing after that."""
    kinds = {ROWS[code].kind for code in error_codes.NOT_FOUND_YET}
    assert kinds == {Kind.VM_GONE, Kind.DISK_GONE, Kind.MISSING}
    assert set(ROWS) >= error_codes.TOKEN_SPENT


@pytest.mark.parametrize("code", ROWS)
def test_remedy(code: str) -> None:
    """A remedy reads as a sentence without its full stop, and names an action where one is to be allowed."""
    row = ROWS[code]
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
