"""calculate_vm_cloud_properties: the instance type for a wanted size."""

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi
from tests.stories.story import Story

LARGEST = "Largest known VM type is 'r5.16xlarge': 64 CPU, 524288 RAM."


def test_smallest_that_is_large_enough(cpi: Cpi, fake_aws: FakeAws) -> None:
    """The first type of the list that has the CPUs and the memory is taken, without asking AWS."""
    wanted = {"cpu": 1, "ram": 8192, "ephemeral_disk_size": 4096}
    answer = cpi.call("calculate_vm_cloud_properties", wanted)
    assert answer.ok() == {"instance_type": "m5.large", "ephemeral_disk": {"size": 4096}}
    assert fake_aws.actions() == []


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"ephemeral_disk_size": 0}, "Missing VM cloud properties: 'cpu', 'ram'"),
        (
            {"cpu": 65, "ram": 1, "ephemeral_disk_size": 1},
            f"Unable to meet requested VM requirements: 65 CPU, 1 RAM. {LARGEST}",
        ),
    ],
)
def test_impossible_sizes(
    story: Story, cpi: Cpi, fake_aws: FakeAws, wanted: dict[str, int], message: str
) -> None:
    """A size that is incomplete or larger than all types is an error that says so."""
    answer = cpi.call("calculate_vm_cloud_properties", wanted)
    assert answer.error == story.failure("CloudError", message)
    assert fake_aws.actions() == []


@pytest.mark.parametrize(
    ("families", "cpu", "ram", "name"),
    [
        (["m7i", "t3"], 1, 512, "t3.nano"),
        (["t3", "m7i"], 8, 32769, "m7i.4xlarge"),
        (["t3", "c7i", "m7i", "r7i"], 2, 16384, "r7i.large"),
        (["r7i", "c7i"], 17, 65537, "c7i.12xlarge"),  # r7i.8xlarge has the same estimate, and more memory
        ([], 1, 8192, "m5.large"),
    ],
)
def test_families(
    story: Story, fake_aws: FakeAws, families: list[str] | None, cpu: int, ram: float, name: str
) -> None:
    """With `aws.vm_resources_families`, the lowest estimated price wins: 1 vCPU counts as 10 GiB."""
    wanted = {"cpu": cpu, "ram": ram, "ephemeral_disk_size": 4096}
    answer = story.cpi_with(vm_resources_families=families).call("calculate_vm_cloud_properties", wanted)
    assert answer.ok() == {"instance_type": name, "ephemeral_disk": {"size": 4096}}
    assert fake_aws.actions() == []


@pytest.mark.parametrize(
    ("families", "message"),
    [
        (
            ["t3", "m7i"],
            (
                "Unable to meet requested VM requirements: 4 CPU, 800000 RAM. "
                "Largest known VM type is 'm7i.48xlarge': 192 CPU, 786432 RAM."
            ),
        ),
        (
            ["t3", "m7i.large"],
            (
                "aws.vm_resources_families: 'm7i.large' is no family of the built-in table of types: "
                "a family is the part of a type's name before the dot, such as m7i"
            ),
        ),
        (
            ["m7i", "t1", "m1"],
            (
                "aws.vm_resources_families: 't1' is a family of a previous generation, on Xen: "
                "name a newer one, such as m7i"
            ),
        ),
        (
            ["m7g", "t3", "r7g"],
            (
                "aws.vm_resources_families: m7g runs arm64, t3 runs x86_64, r7g runs arm64: "
                "name families of one architecture, that of the stemcells"
            ),
        ),
    ],
)
def test_impossible_families(story: Story, fake_aws: FakeAws, families: list[str], message: str) -> None:
    """A size beyond the largest type is refused, as are families that are unknown, old or of two kinds."""
    wanted = {"cpu": 4, "ram": 800000, "ephemeral_disk_size": 1}
    answer = story.cpi_with(vm_resources_families=families).call("calculate_vm_cloud_properties", wanted)
    assert answer.error == story.failure("CloudError", message)
    assert fake_aws.actions() == []


ASKING = "DescribeInstanceTypeOfferings"
WANTED = {"cpu": 1, "ram": 512, "ephemeral_disk_size": 4096}
WITHOUT_T2 = "eu-north-1"


@pytest.mark.parametrize(
    ("region", "families", "name"),
    [("us-east-1", [], "t2.nano"), (WITHOUT_T2, ["t2", "m7i"], "m7i.large")],
)
def test_by_region(story: Story, fake_aws: FakeAws, region: str, families: list[str], name: str) -> None:
    """With `aws.vm_resources_by_region`, types that the region lacks are passed over."""
    cpi = story.cpi_with(vm_resources_by_region=True, vm_resources_families=families, region=region)
    answer = cpi.call("calculate_vm_cloud_properties", WANTED)
    assert answer.ok() == {"instance_type": name, "ephemeral_disk": {"size": 4096}}
    assert fake_aws.actions() == [ASKING]


def test_nothing_in_the_region(story: Story) -> None:
    """A region without any of the types is an error that says so."""
    message = (
        "aws.vm_resources_by_region: ap-southeast-5 offers no type of t2, c5, m5, r5: name families in "
        "aws.vm_resources_families that it offers"
    )
    cpi = story.cpi_with(vm_resources_by_region=True, region="ap-southeast-5")
    assert cpi.call("calculate_vm_cloud_properties", WANTED).error == story.failure("CloudError", message)


def test_region_that_can_not_be_asked(story: Story) -> None:
    """If EC2 refuses to tell, all types count: the log says why."""
    denied = story.deny(ASKING)
    cpi = story.cpi_with(vm_resources_by_region=True, region=WITHOUT_T2)
    answer = cpi.call("calculate_vm_cloud_properties", WANTED)
    assert answer.ok()["instance_type"] == "t2.nano"
    assert "Could not look up the instance types that eu-north-1 offers" in answer.stderr
    assert f"{denied}. Allow ec2:{ASKING}" in answer.stderr


def test_without_keys(story: Story, fake_aws: FakeAws) -> None:
    """Where the CPI finds no keys, all types count, and the log says why."""
    keyless = {"credentials_source": "env_or_profile", "access_key_id": None, "secret_access_key": None}
    answer = story.cpi_with(vm_resources_by_region=True, **keyless).call(
        "calculate_vm_cloud_properties", WANTED
    )
    assert answer.ok()["instance_type"] == "t2.nano"
    assert "Could not look up the instance types" in answer.stderr
    assert fake_aws.actions() == []
