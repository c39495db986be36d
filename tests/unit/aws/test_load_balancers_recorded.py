"""The tags with which a VM records its targets."""

from __future__ import annotations

import pytest

from bosh_aws_cpi.aws.load_balancers import Target, record_of, recorded

ARN = "arn:aws-us-gov:elasticloadbalancing:us-gov-west-1:123456789012:targetgroup/web/0123456789abcdef"
TARGETS = [Target(ARN, "10.0.1.10", 80), Target(ARN, "i-1", 8080), Target(ARN, "2001:db8::1", 65_535)]


def test_recorded() -> None:
    """Recorded targets are read again, within EC2's limits for tags."""
    tags = record_of(TARGETS)
    assert list(recorded({"Name": "web/0", **tags})) == TARGETS
    longest = record_of([Target(ARN.replace("/web/", f"/{'w' * 32}/"), ":".join(["2001"] * 8), 65_535)])
    assert [(len(key) <= 127, len(value) <= 255) for key, value in longest.items()] == [(True, True)]


def test_not_recorded() -> None:
    """An instance at its group's own port needs no record: ELB finds it by its id."""
    assert record_of([Target(ARN, "i-1")]) == {}


@pytest.mark.parametrize(
    ("key", "value"),
    [("bosh_target_1_80", ""), ("bosh_target_1_80", ARN), ("bosh_target_1_x", f"{ARN} i-1"), ("a_80", "b c")],
)
def test_no_record(key: str, value: str) -> None:
    """A tag that has another form is no record."""
    assert list(recorded({key: value})) == []


def test_shown() -> None:
    """Messages show the id, and the port where there is one."""
    shown = ["'10.0.1.10:80'", "'i-1:8080'", "'[2001:db8::1]:65535'"]
    assert [str(target) for target in TARGETS] == shown
    assert str(Target(ARN, "i-1")) == "'i-1'"
