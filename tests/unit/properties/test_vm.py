"""The cloud properties that say how, where and at what price a VM is launched."""

from __future__ import annotations

from typing import Any

import pytest

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import Encryption
from bosh_aws_cpi.properties.vm import VmProperties

LEAST: dict[str, Any] = {"instance_type": "m5.large", "availability_zone": "us-east-1a"}
HOST = {"id": "h-1"}
SECRET = "hunter2"


def vm(**given: Any) -> VmProperties:
    """Read a VM's properties: the least ones, and what is given."""
    return VmProperties.parse({**LEAST, **given})


@pytest.mark.parametrize(
    ("fallbacks", "expected"),
    [
        (None, ["m5.large"]),
        ([], ["m5.large"]),
        (["m6i.large", "c5.large"], ["m5.large", "m6i.large", "c5.large"]),
        (["m6i.large", "m5.large", "m6i.large"], ["m5.large", "m6i.large"]),
    ],
)
def test_instance_types(fallbacks: list[str] | None, expected: list[str]) -> None:
    """The type comes first, then its fallbacks as they are given; none is tried twice."""
    assert vm(instance_type_fallbacks=fallbacks).instance_types == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.0011, "0.0011"), (0.03, "0.03"), (1, "1"), ("0.03", "0.03"), ("1", "1"), (12.5, "12.5")],
)
def test_price(value: object, expected: str) -> None:
    """A price is a number, or one in quotes; EC2 gets it as a string."""
    assert vm(spot_bid_price=value).spot_bid_price == expected


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        *((0, "Integer"), (-1, "Integer"), (0.001, "Float"), ("0", "String"), ("-0.5", "String")),
        *((SECRET, "String"), ("", "String"), ("nan", "String"), ("inf", "String"), (True, "Boolean")),
        *(([1], "Array"), ({"a": 1}, "Hash")),
    ],
)
def test_no_price(value: object, kind: str) -> None:
    """What is no price that EC2 takes is refused by its path and its type."""
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
        ("10.1.2.3/32", "10.1.2.3/32"),
        ("0.0.0.0/0", "0.0.0.0/0"),
        ("2600:1F18:0::5/64", "2600:1f18::/64"),
        ("::/0", "::/0"),
    ],
)
def test_cidr(given: str, expected: str) -> None:
    """A route's destination is read as EC2 keeps it: without host bits, in its own spelling."""
    (route,) = vm(advertised_routes=[{"table_id": "rtb-1", "destination": given}]).advertised_routes
    assert (route.table_id, route.destination) == ("rtb-1", expected)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        *(("10.0.0.0", "String"), ("10.0.0.0/33", "String"), ("10.0.0/8", "String"), (SECRET, "String")),
        *(("pl-1", "String"), ("", "String"), ("/8", "String"), (8, "Integer"), (["10.0.0.0/8"], "Array")),
    ],
)
def test_no_cidr(given: object, kind: str) -> None:
    """What is no range of addresses is refused by its path, with the route's place in the list."""
    routes = [{"table_id": "rtb-1", "destination": d} for d in ("10.0.0.0/8", given)]
    with pytest.raises(CloudError) as caught:
        vm(advertised_routes=routes)
    message = caught.value.message
    assert message.startswith("Invalid properties: cloud_properties.advertised_routes.1.destination: ")
    assert message.endswith(f"must be a range of addresses in CIDR notation, got {kind}")
    assert SECRET not in message


@pytest.mark.parametrize("missing", ["table_id", "destination"])
def test_incomplete_route(missing: str) -> None:
    """A route needs its table and its destination."""
    route = {"table_id": "rtb-1", "destination": "10.0.0.0/8", missing: None}
    with pytest.raises(CloudError, match=rf"cloud_properties\.advertised_routes\.0\.{missing}: is missing"):
        vm(advertised_routes=[route])


@pytest.mark.parametrize(
    ("name", "given", "known"),
    [
        *(("dedicated_host", given, "id, resource_group_arn") for given in ({}, {"zzz": 1}, {"id": None})),
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


@pytest.mark.parametrize(
    ("name", "given"),
    [
        *(("dedicated_host", given) for given in ({"id": "h-1"}, {"resource_group_arn": "arn"}, None)),
        *(("capacity_reservation", given) for given in ({"id": "cr-1"}, {"preference": "open"}, None)),
        ("capacity_reservation", {"resource_group_arn": "arn"}),
    ],
)
def test_one_way(name: str, given: dict[str, str] | None) -> None:
    """Each way by itself is fine, and so is none of them."""
    read = getattr(vm(**{name: given}), name)
    assert (read.model_dump(exclude_none=True) if read else None) == given


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"tenancy": "dedicated"},
            "tenancy: dedicated and dedicated_host exclude each other: remove one of them",
        ),
        (
            {"spot_bid_price": 0.1},
            "spot_bid_price and dedicated_host exclude each other: a spot VM can't run on a Dedicated Host",
        ),
        (
            {"capacity_reservation": {"id": "cr-1"}},
            (
                "capacity_reservation and dedicated_host exclude each other: "
                "a VM on a Dedicated Host can't use a Capacity Reservation"
            ),
        ),
        (
            {"placement_group": "near"},
            (
                "placement_group and dedicated_host exclude each other: "
                "a Dedicated Host can't be in a placement group"
            ),
        ),
    ],
)
def test_contradictions(given: dict[str, Any], message: str) -> None:
    """What can't be had on a dedicated host is refused, before EC2 is asked."""
    assert vm(**given).dedicated_host is None
    with pytest.raises(CloudError) as caught:
        vm(dedicated_host=HOST, **given)
    assert caught.value.message == message


@pytest.mark.parametrize(
    "reservation",
    [{"id": "cr-1"}, {"resource_group_arn": "arn"}, {"preference": "capacity-reservations-only"}],
)
def test_spot_in_a_reservation(reservation: dict[str, str]) -> None:
    """EC2 takes no spot VM into a reservation: that is refused before EC2 is asked."""
    assert vm(capacity_reservation=reservation).capacity_reservation is not None
    with pytest.raises(CloudError) as caught:
        vm(capacity_reservation=reservation, spot_bid_price=0.1)
    assert caught.value.message == (
        "spot_bid_price and capacity_reservation exclude each other: remove one of them"
    )


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


@pytest.mark.parametrize(
    ("given", "path", "kind"),
    [
        ({"credit_specification": 5}, "credit_specification", "Integer"),
        ({"credit_specification": {"cpu_credits": 5}}, "credit_specification.cpu_credits", "Integer"),
        ({"cpu_options": SECRET}, "cpu_options", "String"),
        ({"cpu_options": {"core_count": "2"}}, "cpu_options.core_count", "String"),
        ({"cpu_options": {"threads_per_core": 0}}, "cpu_options.threads_per_core", "0"),
        ({"instance_type_fallbacks": SECRET}, "instance_type_fallbacks", "String"),
        ({"instance_type_fallbacks": ["m5.large", 5]}, "instance_type_fallbacks.1", "Integer"),
        ({"dedicated_host": SECRET}, "dedicated_host", "String"),
        ({"capacity_reservation": [SECRET]}, "capacity_reservation", "Array"),
        ({"root_disk": {"kms_key_arn": 5}}, "root_disk.kms_key_arn", "Integer"),
    ],
)
def test_wrong_types(given: dict[str, Any], path: str, kind: str) -> None:
    """A property of a wrong type is refused by its path and its type, never by its value, except a number."""
    with pytest.raises(CloudError) as caught:
        vm(**given)
    message = caught.value.message
    assert message.startswith(f"Invalid properties: cloud_properties.{path}: ")
    assert message.endswith(f", got {kind}")
    assert SECRET not in message


@pytest.mark.parametrize(("given", "expected"), [(None, None), (False, False), (True, True), (0, True)])
def test_ebs_optimized(given: object, *, expected: bool | None) -> None:
    """Left out, EBS optimisation is EC2's choice; false is one, too."""
    assert vm(ebs_optimized=given).ebs_optimized is expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, Encryption()),
        ({"encrypted": True}, Encryption(encrypted=True)),
        (
            {"encrypted": True, "kms_key_arn": "k"},
            Encryption(encrypted=True, kms_key_arn="k", key_source="own.kms_key_arn"),
        ),
        (
            {"encrypted": None, "kms_key_arn": "k"},
            Encryption(encrypted=False, kms_key_arn="k", key_source="own.kms_key_arn"),
        ),
    ],
)
def test_root_encryption(given: dict[str, Any], expected: Encryption) -> None:
    """The root disk is encrypted by its own properties."""
    assert vm(root_disk=given).root_disk.encryption(Encryption(), "own") == expected
