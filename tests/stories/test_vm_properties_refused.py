"""create_vm: what is wrong with its properties is said before anything is made."""

from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.world import World
from tests.protocols import CheckRefused, CpiWith, CreateVm, ReadCalls, ReadWarnings, WriteNetwork
from tests.stories.stemcell_images import Heavy

HOST = {"id": "h-0123456789abcdef0"}


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        (
            {"instance_type": "", "availability_zone": None},
            ["cloud_properties.instance_type, cloud_properties.availability_zone"],
        ),
        (
            {"spot": True, "dedicated_host": HOST},
            ["spot and dedicated_host exclude each other"],
        ),
        (
            {"tags": {"owner": "me", "AWS:name": "x", "aws:cost": "y"}},
            ["reserved for AWS", "'AWS:name', 'aws:cost'"],
        ),
        (
            {"metadata_options": {"http_endpoint": "disabled"}},
            ["metadata_options.http_endpoint can't be disabled"],
        ),
        (
            {"metadata_options": {"http_token": "required"}},
            ["cloud_properties.metadata_options.http_token: is unknown", "http_tokens?"],
        ),
        (
            {"root_disk": {"encrpted": True, "size": 10_240}},
            ["cloud_properties.root_disk.encrpted: is unknown", "encrypted?"],
        ),
        ({"placement_partition": 2}, ["cloud_properties.placement_partition needs placement_group"]),
        ({"primary_ipv6": True}, ["primary_ipv6 needs a manual network with an IPv6 address"]),
    ],
)
def test_contradictions(
    create_vm: CreateVm, refused: CheckRefused, properties: dict[str, Any], words: list[str]
) -> None:
    """Missing and contradicting properties are named, without asking AWS."""
    assert refused(create_vm(properties), *words) == []


def test_unknown_default(create_vm: CreateVm, cpi_with: CpiWith, refused: CheckRefused) -> None:
    """A mistyped option of the configuration's is named with its section."""
    answer = create_vm(executable=cpi_with(metadata_options={"http_token": "required"}))
    assert refused(answer, "aws.metadata_options.http_token: is unknown", "http_tokens?") == []


def test_wrong_types(create_vm: CreateVm, fake_aws: FakeAws) -> None:
    """Every property of a wrong type is named at once, by its path and without its value."""
    secret = "not-to-be-told"
    wrong: dict[str, Any] = {
        "instance_type_fallbacks": secret,
        "lb_target_groups": {"a": secret},
        "advertised_routes": [{"destination": "10.9.0.0/16"}, secret],
        "root_disk": {"throughput": True, "volume_initialization_rate": 99},
        "bandwidth_weighting": "vpc-2",
    }
    error = create_vm(wrong).error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", False)
    head, _, problems = error["message"].partition(": ")
    assert head == "Invalid properties"
    paths = {problem.partition(": ")[0].removeprefix("cloud_properties.") for problem in problems.split("; ")}
    assert paths == {
        *("instance_type_fallbacks", "lb_target_groups"),
        *("advertised_routes.0.table_id", "advertised_routes.1"),
        *("root_disk.throughput", "root_disk.volume_initialization_rate", "bandwidth_weighting"),
    }
    assert secret not in error["message"]
    assert fake_aws.actions() == []


def test_architecture(create_vm: CreateVm, refused: CheckRefused, world: World) -> None:
    """A type that can't run the stemcell's AMI is named with both architectures, a fallback too."""
    answer = create_vm({"instance_type_fallbacks": ["t4g.micro"]})
    refused(answer, f"AMI '{world.image_id}' is for x86_64", "'t4g.micro' runs arm64")


@pytest.mark.parametrize(
    ("instance_type", "settings", "what"),
    [
        (
            "t2.micro",
            {"boot_mode": "uefi"},
            "uefi, but instance type 't2.micro' has only legacy-bios",
        ),
        (
            "p3dn.24xlarge",
            {"boot_mode": "uefi", "tpm_support": "v2.0"},
            "needs a NitroTPM, which",
        ),
    ],
)
def test_boot(
    create_vm: CreateVm,
    heavy: Heavy,
    fake_aws: FakeAws,
    instance_type: str,
    settings: dict[str, Any],
    what: str,
) -> None:
    """A type that can't boot the stemcell's AMI, or has no NitroTPM for it, is refused before the launch."""
    error = create_vm({"instance_type": instance_type}, stemcell_cid=heavy.create(**settings).ok()).error
    assert what in error["message"]
    assert "RunInstances" not in fake_aws.actions()


def test_disabled_image(create_vm: CreateVm, refused: CheckRefused, world: World, fake_aws: FakeAws) -> None:
    """A disabled AMI is named as that, with what can be done."""
    world.ec2.disable_image(ImageId=world.image_id)
    fake_aws.forget_calls()
    refused(create_vm(), f"AMI '{world.image_id}' is disabled", "bosh upload-stemcell --fix")


def test_partition_that_a_type_lacks(create_vm: CreateVm, refused: CheckRefused, fake_aws: FakeAws) -> None:
    """A partition is refused for a type that can't be in a partition placement group."""
    fake_aws.rule(action="DescribeInstanceTypes", replace=[["<item>partition</item>", ""]])
    answer = create_vm({"placement_group": "apart", "placement_partition": 1})
    fake_aws.clear_rules()
    refused(answer, "placement_partition", "'t3.micro' that does not support it")


@pytest.mark.usefixtures("ipv6")
def test_type_without_ipv6(create_vm: CreateVm, refused: CheckRefused, network: WriteNetwork) -> None:
    """A primary IPv6 address is refused for a type without IPv6."""
    networks = {"one": network("2001:db8::10")}
    answer = create_vm({"instance_type": "m3.medium", "primary_ipv6": True}, networks)
    refused(answer, "primary_ipv6", "'m3.medium' that does not support it")


def test_options_of_the_built_in_table(create_vm: CreateVm, cpi_with: CpiWith, sent: ReadCalls) -> None:
    """The built-in table does not know which types support an option: then EC2 decides."""
    cpi = cpi_with(enable_describe_instance_types=False)
    create_vm({"enclave": True}, executable=cpi).ok()
    (call,) = sent("RunInstances")
    assert call["EnclaveOptions.Enabled"] == "true"


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"hibernation": True}, ["hibernation needs an encrypted root disk"]),
        (
            {
                "hibernation": True,
                "root_disk": {"encrypted": True, "size": 6144},
                "ephemeral_disk": {"type": "st1", "size": 128000},
            },
            ["hibernation needs disks of type", "ephemeral_disk.type from st1"],
        ),
        (
            {
                "hibernation": True,
                "root_disk": {"encrypted": True, "size": 6144},
                "instance_type_fallbacks": ["m5.large"],
            },
            ["larger than the 8192 MiB of memory of 'm5.large'", "root_disk.size to 13312 MiB"],
        ),
        (
            {"ephemeral_disk": {"type": "gp2", "iops": 3000}},
            ["cloud_properties.ephemeral_disk.iops can't be set for type gp2"],
        ),
        (
            {"root_disk": {"type": "st1", "size": 128_000}},
            ["cloud_properties.root_disk.type is st1, from which no VM can start"],
        ),
        (
            {"ebs_optimized": True, "instance_type": "t2.micro"},
            ["ebs_optimized requested for instance type 't2.micro' that can't"],
        ),
        (
            {"cpu_options": {"nested_virtualization": "enabled"}},
            ["cpu_options.nested_virtualization", "'t3.micro' that does not support it"],
        ),
        (
            {"enclave": True, "instance_type": "m5.xlarge", "instance_type_fallbacks": ["m5.large"]},
            ["enclave", "'m5.large' that does not support it"],
        ),
        (
            {"credit_specification": "unlimited", "dedicated_host": HOST},
            ["credit_specification unlimited requested for instance type 't3.micro' on a Dedicated Host"],
        ),
    ],
)
def test_what_does_not_fit(
    create_vm: CreateVm, refused: CheckRefused, properties: dict[str, Any], words: list[str]
) -> None:
    """What a type, a fallback or a disk can't do is refused with the property to change."""
    refused(create_vm(properties), *words)


@pytest.mark.parametrize(("size", "is_warned"), [(12288, True), (13312, False)])
def test_room_for_hibernation(
    create_vm: CreateVm, warnings: ReadWarnings, size: int, *, is_warned: bool
) -> None:
    """A root disk that may be too small for the memory and the stemcell's files is used, with a warning."""
    properties = {"instance_type": "m5.large", "root_disk": {"encrypted": True, "size": size}}
    answer = create_vm({**properties, "hibernation": True})
    answer.ok()
    text = f"The root disk of {size} MiB may be too small for hibernation"
    assert [text in line and "13312 MiB" in line for line in warnings(answer)] == [True] * is_warned


def test_hibernation_of_an_encrypted_stemcell(create_vm: CreateVm, world: World, sent: ReadCalls) -> None:
    """The root disk of an encrypted stemcell is encrypted."""
    copy = {"Name": "copy", "SourceImageId": world.image_id, "SourceRegion": "us-east-1", "Encrypted": True}
    stemcell = world.ec2.copy_image(**copy)["ImageId"]
    create_vm({"hibernation": True, "root_disk": {"size": 6144}}, stemcell_cid=stemcell).ok()
    (call,) = sent("RunInstances")
    assert call["HibernationOptions.Configured"] == "true"
