"""create_vm: what is wrong with its properties is said before anything is made."""

from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Answer, Cpi
from testbed.world import World
from tests.refused_vms import CONTRADICTIONS, DEFAULTS, MISFITS, NETWORK_OPTIONS, SECRET, WRONG
from tests.stories.checked_config import SUBNET, changed, right
from tests.stories.checking import Findings, checked, errors, network_of
from tests.stories.stemcell_images import Heavy
from tests.stories.story import Story

AT_SUBNET = "networks/default/subnets/0/cloud_properties"
VM_TYPE, AT_TYPE = ("vm_types", 1, "cloud_properties"), "vm_types/large/cloud_properties"


def check_both(answer: Answer, found: Findings, place: str, words: str) -> None:
    """The errors of `cpi check` have at this place what create_vm said, and create_vm's words are these."""
    said = answer.error["message"]
    key = place.rpartition("/")[2].rpartition(".")[2]
    both = [each for each in errors(found) if each["what"].removeprefix(f"'{key}' ") in said]
    assert [each["path"] for each in both] == [place], found
    for text in (said, f"{both[0]['what']}. {both[0]['remedy']}"):
        assert words.lower() in text.lower()
    assert SECRET not in f"{answer}{found}"


@pytest.mark.parametrize(("properties", "blamed", "words"), [*WRONG, *CONTRADICTIONS])
def test_contradictions(
    story: Story, cpi: Cpi, world: World, properties: dict[str, Any], blamed: str, words: str
) -> None:
    """Wrong, missing and contradicting properties are named without asking AWS; so says `cpi check`."""
    answer = story.create_vm(properties)
    assert story.check_refusal(answer) == []
    if (message := answer.error["message"]).startswith("Invalid"):
        assert f": cloud_properties.{blamed.replace('/', '.')}: " in message
    whole = changed(right(world), VM_TYPE, {"instance_type": "t3.micro", **properties})
    check_both(answer, checked(cpi, whole, "--offline"), f"{AT_TYPE}/{blamed}", words)


@pytest.mark.parametrize(("options", "blamed", "words"), NETWORK_OPTIONS)
def test_options_of_a_network(
    story: Story, cpi: Cpi, world: World, options: dict[str, Any], blamed: str, words: str
) -> None:
    """Wrong options of a network's interface are refused without a call to AWS; so says `cpi check`."""
    (name,) = options
    whole = changed(right(world), (*SUBNET, "cloud_properties", name), options[name])
    answer = story.create_vm(networks=network_of(whole))
    assert story.check_refusal(answer, f"networks.default.cloud_properties.{blamed.replace('/', '.')}") == []
    check_both(answer, checked(cpi, whole, "--offline"), f"{AT_SUBNET}/{blamed}", words)


@pytest.mark.parametrize(("aws", "blamed", "words"), DEFAULTS)
def test_defaults(story: Story, world: World, aws: dict[str, Any], blamed: str, words: str) -> None:
    """A wrong default is refused by name without an AWS call; so says `cpi check`."""
    cpi = story.cpi_with(**aws)
    answer = story.create_vm(executable=cpi)
    place = f"aws.{blamed.replace('/', '.')}"
    assert story.check_refusal(answer, place) == []
    check_both(answer, checked(cpi, right(world), "--offline"), place, words)


def test_wrong_types(story: Story, fake_aws: FakeAws) -> None:
    """Every property of a wrong type is named at once, by its path and without its value."""
    secret = "not-to-be-told"
    wrong: dict[str, Any] = {
        "instance_type_fallbacks": secret,
        "lb_target_groups": {"a": secret},
        "advertised_routes": [{"destination": "10.9.0.0/16"}, secret],
        "root_disk": {"throughput": True, "volume_initialization_rate": 99},
        "bandwidth_weighting": "vpc-2",
    }
    error = story.create_vm(wrong).error
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


def test_architecture(story: Story, world: World) -> None:
    """A type that can't run the stemcell's AMI is named with both architectures, a fallback too."""
    answer = story.create_vm({"instance_type_fallbacks": ["t4g.micro"]})
    story.check_refusal(answer, f"AMI '{world.image_id}' is for x86_64", "'t4g.micro' runs arm64")


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
    story: Story, heavy: Heavy, fake_aws: FakeAws, instance_type: str, settings: dict[str, Any], what: str
) -> None:
    """A type that can't boot the stemcell's AMI, or has no NitroTPM for it, is refused before the launch."""
    error = story.create_vm(
        {"instance_type": instance_type}, stemcell_cid=heavy.create(**settings).ok()
    ).error
    assert what in error["message"]
    assert "RunInstances" not in fake_aws.actions()


def test_disabled_image(story: Story, world: World, fake_aws: FakeAws) -> None:
    """A disabled AMI is named as that, with what can be done."""
    world.ec2.disable_image(ImageId=world.image_id)
    fake_aws.forget_calls()
    story.check_refusal(
        story.create_vm(), f"AMI '{world.image_id}' is disabled", "bosh upload-stemcell --fix"
    )


def test_partition_that_a_type_lacks(story: Story, fake_aws: FakeAws) -> None:
    """A partition is refused for a type that can't be in a partition placement group."""
    fake_aws.rule(action="DescribeInstanceTypes", replace=[["<item>partition</item>", ""]])
    answer = story.create_vm({"placement_group": "apart", "placement_partition": 1})
    fake_aws.clear_rules()
    story.check_refusal(answer, "placement_partition", "'t3.micro' that does not support it")


@pytest.mark.usefixtures("ipv6")
def test_type_without_ipv6(story: Story) -> None:
    """A primary IPv6 address is refused for a type without IPv6."""
    networks = {"one": story.network("2001:db8::10")}
    answer = story.create_vm({"instance_type": "m3.medium", "primary_ipv6": True}, networks)
    story.check_refusal(answer, "primary_ipv6", "'m3.medium' that does not support it")


def test_options_of_the_built_in_table(story: Story) -> None:
    """The built-in table does not know which types support an option: then EC2 decides."""
    cpi = story.cpi_with(enable_describe_instance_types=False)
    story.create_vm({"enclave": True}, executable=cpi).ok()
    (call,) = story.parameters_of("RunInstances")
    assert call["EnclaveOptions.Enabled"] == "true"


@pytest.mark.parametrize(("properties", "blamed", "words"), MISFITS)
def test_what_does_not_fit(
    story: Story, cpi: Cpi, world: World, properties: dict[str, Any], blamed: str, words: str
) -> None:
    """What a type, a fallback or a disk can't do is refused with the property to change; so says check."""
    answer = story.create_vm(properties)
    story.check_refusal(answer)
    whole = changed(right(world), VM_TYPE, {"instance_type": "t3.micro", **properties})
    found = checked(cpi, whole, "--stemcell", world.image_id)
    check_both(answer, found, f"{AT_TYPE}/{blamed}", words)


@pytest.mark.parametrize(("size", "is_warned"), [(12288, True), (13312, False)])
def test_room_for_hibernation(story: Story, size: int, *, is_warned: bool) -> None:
    """A root disk that may be too small for the memory and the stemcell's files is used, with a warning."""
    properties = {"instance_type": "m5.large", "root_disk": {"encrypted": True, "size": size}}
    answer = story.create_vm({**properties, "hibernation": True})
    answer.ok()
    text = f"The root disk of {size} MiB may be too small for hibernation"
    assert [text in line and "13312 MiB" in line for line in story.warnings(answer)] == [True] * is_warned


def test_hibernation_of_an_encrypted_stemcell(story: Story, world: World) -> None:
    """The root disk of an encrypted stemcell is encrypted."""
    copy = {"Name": "copy", "SourceImageId": world.image_id, "SourceRegion": "us-east-1", "Encrypted": True}
    stemcell = world.ec2.copy_image(**copy)["ImageId"]
    story.create_vm({"hibernation": True, "root_disk": {"size": 6144}}, stemcell_cid=stemcell).ok()
    (call,) = story.parameters_of("RunInstances")
    assert call["HibernationOptions.Configured"] == "true"
