"""The cloud properties that say how, where and at what price a VM is launched."""

from itertools import combinations
from typing import Any

import pytest

from bosh_aws_cpi.errors import CloudError
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
    ("value", "kind"),
    [
        *((0, "0"), (0.001, "0.001"), ("-0.5", "'-0.5'"), (SECRET, "String"), ("inf", "String")),
        *((True, "Boolean"), ([1], "Array")),
    ],
)
def test_no_price(value: object, kind: str) -> None:
    """What is no price that EC2 takes is refused by its path; only what looks like a number is quoted."""
    with pytest.raises(CloudError) as caught:
        vm(spot_bid_price=value)
    message = caught.value.message
    assert message.startswith("Invalid properties: cloud_properties.spot_bid_price: ")
    assert message.endswith(f"must be a price in dollars, more than 0.001, got {kind}")
    assert SECRET not in message


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


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        *(("10.0.0.0", "'10.0.0.0'"), ("10.0.0.0/33", "'10.0.0.0/33'"), ("fd00::1", "'fd00::1'")),
        *((SECRET, "String"), ("c0ffee" * 6, "String"), ("1" * 21, "String"), (8, "8"), (True, "Boolean")),
    ],
)
def test_no_cidr(given: object, kind: str) -> None:
    """What is no range of addresses is refused by its path; only what looks like an address is quoted."""
    routes = [{"table_id": "rtb-1", "destination": d} for d in ("10.0.0.0/8", given)]
    with pytest.raises(CloudError) as caught:
        vm(advertised_routes=routes)
    message = caught.value.message
    assert message.startswith("Invalid properties: cloud_properties.advertised_routes.1.destination: ")
    assert message.endswith(f"must be a range of addresses in CIDR notation, got {kind}")
    assert SECRET not in message


@pytest.mark.parametrize(
    ("name", "given", "known"),
    [
        *(("dedicated_host", given, "id, resource_group_arn") for given in ({}, {"id": None})),
        ("dedicated_host", {"id": "h-1", "resource_group_arn": "arn"}, "id, resource_group_arn"),
        *(
            ("capacity_reservation", given, "id, resource_group_arn, preference")
            for given in ({}, {"id": "cr-1", "preference": "none"}, {"id": "a", "resource_group_arn": "b"})
        ),
    ],
)
def test_exactly_one(name: str, given: dict[str, Any], known: str) -> None:
    """A host or a reservation is named in exactly one way."""
    with pytest.raises(CloudError) as caught:
        vm(**{name: given})
    assert caught.value.message == f"cloud_properties.{name} must hold exactly one of: {known}"
    assert caught.value.ok_to_retry is False


VALUES: dict[str, dict[str, Any]] = {
    "spot": {"spot": True},
    "price": {"spot_bid_price": 0.1},
    "reservation": {"capacity_reservation": {"id": "cr-1"}},
    "block": {"capacity_reservation": {"id": "cr-1", "market": "capacity-block"}},
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
EXCLUSIVE = {
    *(("spot", other) for other in ("price", "reservation", "block", "host", "hibernation")),
    *(("price", other) for other in ("reservation", "block", "host", "hibernation")),
    *(("reservation", other) for other in ("host", "zones")),
    *(("block", other) for other in ("host", "tenancy", "group", "spread", "zones")),
    *(("host", other) for other in ("tenancy", "group", "spread", "zones")),
    *(("tenancy", "spread"), ("group", "spread"), ("group", "zones"), ("hibernation", "enclave")),
    *(("zones", "elbs"), ("zones", "targets")),
}


def test_exclusive() -> None:
    """These properties exclude each other, and no others do."""
    pairs = [pair for pair in combinations(VALUES, 2) if pair != ("reservation", "block")]
    refused = {
        (one, other)
        for one, other in pairs
        if any("exclude each other" in each.text for each in vm_of(**VALUES[one], **VALUES[other]).problems())
    }
    assert refused == EXCLUSIVE


@pytest.mark.parametrize("numbers", [{"core_count": 1}, {"threads_per_core": 1}])
def test_half_of_the_cpu_options(numbers: dict[str, int]) -> None:
    """EC2 wants the numbers of cores and of threads, or neither."""
    with pytest.raises(CloudError, match="needs both core_count and threads_per_core, or neither"):
        vm(cpu_options=numbers)


@pytest.mark.parametrize("group", [{"port": 80}, {"name": "web", "arn": ARN}])
def test_no_target_group(group: dict[str, Any]) -> None:
    """A target group has a name or an ARN, not both."""
    with pytest.raises(CloudError, match=r"lb_target_groups\.0: must hold either name or arn"):
        vm(lb_target_groups=[group])


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
