"""The remedies of AWS's error codes."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import botocore.session
import pytest
from botocore.retries.standard import ThrottledRetryableChecker

from bosh_aws_cpi.aws.sdk import errors
from bosh_aws_cpi.aws.sdk.codes import Kind, row_of, table
from testbed.cloud import ROOT
from tests.unit.called_operations import calls, operation_names

PLAIN = [each for each in table() if each.is_plain]
ROWS = {each.code: each for each in PLAIN if each.kind}


def test_sets() -> None:
    """Each set of codes has a name in the program, and each name a code; the table has no code twice."""
    named = {name for each in vars(errors).values() if isinstance(each, errors.Codes) for name in each.names}
    assert named == {name for each in table() for name in each.sets}
    assert len(PLAIN) == len({each.code for each in PLAIN})
    assert {row.kind for row in ROWS.values()} == set(Kind)


def strings(path: Path) -> Iterator[str]:
    """The strings in a module, without its docstrings."""
    tree = ast.parse(path.read_text())
    docs = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
    for each in ast.walk(tree):
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and id(each) not in docs:
            yield each.value


FORM = r"[A-Z]\w+(?:\.(?:NotFound|Malformed|InUse|Duplicate)|LimitExceeded|Exception)"
"""The form of codes that the table does not have yet."""


def test_only_table() -> None:
    """No code of AWS is written anywhere else in the program."""
    codes = {each.code for each in table() if each.is_exact}
    written = {
        (path.name, word)
        for path in (ROOT / "src/bosh_aws_cpi").rglob("*.py")
        for text in strings(path)
        for word in re.findall(r"[\w.]+", text)
        if word in codes or re.fullmatch(FORM, word)
    }
    assert written == set()


def test_codes_without_capacity() -> None:
    """If another instance type may help, the program acts upon the code at a launch."""
    helped = {code for code, row in ROWS.items() if "instance_type_fallbacks" in row.remedy}
    assert helped
    assert helped <= {*(errors.NO_CAPACITY | errors.RESERVATION_CLOSED)}


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
    assert codes.difference(errors.THROTTLED) == set(OF_OTHERS)
    assert {*errors.THROTTLED} - codes == OF_OURS


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
    assert ("Quantum" in code or "Shuffle" in code) is (code not in ROWS)
    row = row_of(code)
    assert (row and row.kind) == kind


def test_missing_sooner_or_later() -> None:
    """What may be unknown for a moment is missing after that."""
    kinds = {ROWS[code].kind for code in errors.NOT_FOUND_YET}
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
    assert codes - ROWS.keys() == set()
