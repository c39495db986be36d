"""create_vm: what is wrong with its properties is said before anything is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from testbed.cloud import FakeAws
    from testbed.world import World
    from tests.protocols import CheckRefused, CreateVm

MISSING = "Missing properties: {}. See http://bosh.io/docs/aws-cpi.html for the list of supported properties."
ONE_OF = "cloud_properties.{} must hold exactly one of: {}"
HOST, RESERVATION = {"id": "h-0123456789abcdef0"}, {"id": "cr-0123456789abcdef0"}
EBS = "EBS would refuse the ephemeral disk: cloud_properties.ephemeral_disk."
OTHER_KIND = "AMI '{}' is for {}, but instance type '{}' runs {}: use a matching type or stemcell"


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        (
            {"instance_type": None, "availability_zone": None},
            MISSING.format("cloud_properties.instance_type, cloud_properties.availability_zone"),
        ),
        ({"instance_type": ""}, MISSING.format("cloud_properties.instance_type")),
        ({"availability_zone": None}, MISSING.format("cloud_properties.availability_zone")),
        (
            {"dedicated_host": {"id": "h-1", "resource_group_arn": "arn:x"}},
            ONE_OF.format("dedicated_host", "id, resource_group_arn"),
        ),
        (
            {"capacity_reservation": {}},
            ONE_OF.format("capacity_reservation", "id, resource_group_arn, preference"),
        ),
        (
            {"spot_bid_price": 0.05, "capacity_reservation": RESERVATION},
            "spot_bid_price and capacity_reservation exclude each other: remove one of them",
        ),
        (
            {"tags": {"owner": "me", "AWS:name": "x", "aws:cost": "y"}},
            "Tags that begin with 'aws:' are reserved for AWS. Remove these: AWS:name, aws:cost",
        ),
        (
            {"tags": {f"tag-{number}": "" for number in range(49)}},
            "EC2 allows 50 tags, but there are 51, with the CPI's own and those of env.bosh.tags",
        ),
        (
            {"tenancy": "dedicated", "dedicated_host": HOST},
            "tenancy: dedicated and dedicated_host exclude each other: remove one of them",
        ),
        (
            {"spot_bid_price": 0.05, "dedicated_host": HOST},
            "spot_bid_price and dedicated_host exclude each other: a spot VM can't run on a Dedicated Host",
        ),
        (
            {"capacity_reservation": RESERVATION, "dedicated_host": HOST},
            (
                "capacity_reservation and dedicated_host exclude each other: "
                "a VM on a Dedicated Host can't use a Capacity Reservation"
            ),
        ),
        (
            {"placement_group": "near", "dedicated_host": HOST},
            (
                "placement_group and dedicated_host exclude each other: "
                "a Dedicated Host can't be in a placement group"
            ),
        ),
    ],
)
def test_contradictions(
    create_vm: CreateVm,
    refused: CheckRefused,
    properties: dict[str, Any],
    message: str,
) -> None:
    """What is missing or excludes each other is named, without asking AWS."""
    assert refused(create_vm(properties), message) == []


def test_wrong_types(create_vm: CreateVm, fake_aws: FakeAws) -> None:
    """Every property of a wrong type is named at once, by its path and without its value."""
    secret = "not-to-be-told"
    wrong: dict[str, Any] = {
        "instance_type_fallbacks": secret,
        "spot_bid_price": True,
        "elbs": [1],
        "lb_target_groups": {"a": secret},
        "advertised_routes": [
            {"table_id": "rtb-1", "destination": "10.0.0.300/16"},
            {"destination": "10.9.0.0"},
            secret,
        ],
        "cpu_options": {"core_count": "2"},
        "dedicated_host": HOST["id"],
        "ephemeral_disk": {"size": 0, "iops": 3000.5},
        "root_disk": {"throughput": True},
    }
    error = create_vm(wrong).error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", False)
    head, _, problems = error["message"].partition(": ")
    assert head == "Invalid properties"
    paths = {problem.partition(": ")[0].removeprefix("cloud_properties.") for problem in problems.split("; ")}
    assert paths == {
        "instance_type_fallbacks",
        "spot_bid_price",
        "elbs.0",
        "lb_target_groups",
        "advertised_routes.0.destination",
        "advertised_routes.1.table_id",
        "advertised_routes.1.destination",
        "advertised_routes.2",
        "cpu_options.core_count",
        "dedicated_host",
        "ephemeral_disk.size",
        "ephemeral_disk.iops",
        "root_disk.throughput",
    }
    assert problems.count("must be a range of addresses in CIDR notation") == 2
    assert secret not in error["message"]
    assert fake_aws.actions() == []


@pytest.mark.parametrize(
    ("disk", "reason"),
    [
        ({"type": "io1", "throughput": 200}, "iops is needed for type io1"),
        (
            {"size": 6 * 1024, "iops": 3001},
            "iops is 3001, but a 6 GiB volume of type gp3 allows at most 3000",
        ),
    ],
)
def test_figures_of_the_root_disk(
    create_vm: CreateVm,
    refused: CheckRefused,
    disk: dict[str, Any],
    reason: str,
) -> None:
    """Figures that EBS would refuse are named; those that the type does not take are left out."""
    answer = create_vm({"root_disk": disk})
    refused(answer, f"EBS would refuse the root disk: cloud_properties.root_disk.{reason}")


@pytest.mark.parametrize(
    ("disk", "reason"),
    [
        ({"type": "gp2", "iops": 3000}, "iops can't be set for type gp2: remove it, or use gp3, io1 or io2"),
        ({"type": "io2", "iops": 500, "throughput": 200}, "throughput can't be set for type io2"),
        ({"type": "io1"}, "iops is needed for type io1"),
        ({"iops": 2999}, "iops is 2999, but type gp3 needs at least 3000"),
        ({"throughput": 751}, "throughput of 751 MiB/s needs 3004 iops, but there are only 3000"),
        ({"iops": 5001}, "iops is 5001, but a 10 GiB volume of type gp3 allows at most 5000"),
    ],
    ids=["iops", "throughput", "no-iops", "few-iops", "much-throughput", "many-iops"],
)
def test_figures_of_the_ephemeral_disk(
    create_vm: CreateVm,
    refused: CheckRefused,
    disk: dict[str, Any],
    reason: str,
) -> None:
    """Figures that EBS would refuse are named with the remedy."""
    answer = create_vm({"ephemeral_disk": disk})
    assert answer.error["message"].startswith(EBS + reason)
    assert "DescribeInstanceTypes" in refused(answer, answer.error["message"])


@pytest.mark.parametrize(
    ("properties", "is_arm", "expected"),
    [
        ({}, True, ("arm64", "t3.micro", "x86_64")),
        ({"instance_type_fallbacks": ["t4g.micro"]}, False, ("x86_64", "t4g.micro", "arm64")),
    ],
    ids=["type", "fallback"],
)
def test_architecture(
    create_vm: CreateVm,
    refused: CheckRefused,
    fake_aws: FakeAws,
    world: World,
    properties: dict[str, Any],
    is_arm: bool,  # noqa: FBT001 - a column of the table
    expected: tuple[str, str, str],
) -> None:
    """A type that can't run the stemcell's AMI is named with both architectures, a fallback too."""
    if is_arm:
        fake_aws.rule(action="DescribeImages", replace=[[">x86_64<", ">arm64<"]])
    answer = create_vm(properties)
    fake_aws.clear_rules()
    refused(answer, OTHER_KIND.format(world.image_id, *expected))


def test_ebs_optimized(create_vm: CreateVm, refused: CheckRefused) -> None:
    """EBS optimisation of a type that has none is refused."""
    answer = create_vm({"ebs_optimized": True, "instance_type": "t2.micro"})
    refused(answer, "ebs_optimized requested for instance type 't2.micro' that can't be EBS-optimised")


def test_disabled_image(
    create_vm: CreateVm,
    refused: CheckRefused,
    world: World,
    fake_aws: FakeAws,
) -> None:
    """A disabled AMI is named as that, with what can be done."""
    world.ec2.disable_image(ImageId=world.image_id)
    fake_aws.forget_calls()
    answer = create_vm()
    refused(
        answer,
        f"AMI '{world.image_id}' is disabled: no VM can be launched from it. Enable it (aws ec2 "
        "enable-image), or upload the stemcell again: bosh upload-stemcell --fix",
    )
