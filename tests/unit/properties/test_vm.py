"""The cloud properties that say how, where and at what price a VM is launched."""

from itertools import combinations
from typing import Any

import pytest

from bosh_aws_cpi.properties.types import read_properties, refuse
from bosh_aws_cpi.properties.vm import VmProperties

LEAST: dict[str, Any] = {"instance_type": "m5.large", "availability_zone": "us-east-1a"}
HOST = {"id": "h-1"}
ARN = "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web/0123456789abcdef"
SECRET = "hunter2"


def vm(**given: Any) -> VmProperties:
    """Read a VM's properties: the least ones, and what is given."""
    properties = read_properties(VmProperties, {**LEAST, **given}, "cloud_properties")
    refuse(properties.problems())
    return properties


def vm_of(**given: Any) -> VmProperties:
    """Read a VM's properties without their contradictions."""
    return VmProperties.model_validate({**LEAST, **given})


@pytest.mark.parametrize(
    ("fallbacks", "expected"),
    [
        (None, ["m5.large"]),
        (["m6i.large", "m5.large", "c5.large"], ["m5.large", "m6i.large", "c5.large"]),
    ],
)
def test_instance_types(fallbacks: list[str] | None, expected: list[str]) -> None:
    """The type comes first, then its fallbacks as they are given; none is tried twice."""
    assert vm(instance_type_fallbacks=fallbacks).instance_types == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.0011, "0.0011"), (1, "1"), ("0.03", "0.03")],
)
def test_price(value: object, expected: str) -> None:
    """A price is a number, or one in quotes; EC2 gets it as a string."""
    assert vm(spot_bid_price=value).spot_bid_price == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("10.1.2.3/8", "10.0.0.0/8"),
        ("2600:1F18:0::5/64", "2600:1f18::/64"),
    ],
)
def test_cidr(given: str, expected: str) -> None:
    """A route's destination is read as EC2 keeps it: without host bits, in its own spelling."""
    (route,) = vm(advertised_routes=[{"table_id": "rtb-1", "destination": given}]).advertised_routes
    assert (route.table_id, route.destination) == ("rtb-1", expected)


VALUES: dict[str, dict[str, Any]] = {
    "spot": {"spot": True},
    "price": {"spot_bid_price": 0.1},
    "reservation": {"capacity_reservation": {"id": "cr-1"}},
    "block": {"capacity_reservation": {"id": "cr-1", "market": "capacity-block"}},
    "interruptible": {"capacity_reservation": {"id": "cr-1", "market": "interruptible-capacity-reservation"}},
    "host": {"dedicated_host": HOST},
    "tenancy": {"tenancy": "dedicated"},
    "group": {"placement_group": "near"},
    "spread": {"spread": True},
    "hibernation": {"hibernation": True},
    "enclave": {"enclave": True},
    "zones": {"zone_fallback": True},
    "elbs": {"elbs": ["web"]},
    "targets": {"lb_target_groups": ["web"]},
}
RESERVATIONS = ("reservation", "block", "interruptible")
EXCLUSIVE = {
    *(("spot", other) for other in ("price", *RESERVATIONS, "host", "hibernation")),
    *(("price", other) for other in (*RESERVATIONS, "host", "hibernation")),
    *((kind, other) for kind in RESERVATIONS for other in ("host", "zones")),
    *(("block", other) for other in ("tenancy", "group", "spread")),
    *(("host", other) for other in ("tenancy", "group", "spread", "zones")),
    *(("tenancy", "spread"), ("group", "spread"), ("group", "zones"), ("hibernation", "enclave")),
    *(("zones", "elbs"), ("zones", "targets")),
}


def test_exclusive() -> None:
    """These properties exclude each other, and no others do."""
    pairs = [pair for pair in combinations(VALUES, 2) if not {*pair} <= {*RESERVATIONS}]
    refused = {
        (one, other)
        for one, other in pairs
        if any("exclude each other" in each.text for each in vm_of(**VALUES[one], **VALUES[other]).problems())
    }
    assert refused == EXCLUSIVE


@pytest.mark.parametrize("preference", ["open", "none"])
def test_spot_with_a_preference(preference: str) -> None:
    """A preference that binds to no reservation goes with a spot price."""
    assert vm(capacity_reservation={"preference": preference}, spot_bid_price=0.1).spot_bid_price == "0.1"


@pytest.mark.parametrize("tenancy", [None, "default", "host"])
def test_host_with_other_tenancies(tenancy: str | None) -> None:
    """A dedicated host goes with every tenancy but the dedicated one."""
    given = vm(dedicated_host=HOST, tenancy=tenancy)
    assert given.dedicated_host is not None
    assert given.dedicated_host.id == "h-1"


@pytest.mark.parametrize("given", ["unlimited", {"cpu_credits": "unlimited"}])
def test_credit_specification(given: str | dict[str, str]) -> None:
    """The bare word stands for the hash."""
    read = vm(credit_specification=given).credit_specification
    assert read is not None
    assert read.cpu_credits == "unlimited"


@pytest.mark.parametrize(("given", "expected"), [(None, None), (False, False), (True, True), (0, True)])
def test_ebs_optimized(given: object, *, expected: bool | None) -> None:
    """Left out, EBS optimisation is EC2's choice; false is one, too."""
    assert vm(ebs_optimized=given).ebs_optimized is expected
