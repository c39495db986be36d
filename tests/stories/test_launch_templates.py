"""create_vm and `cpi check` with a launch template: what it may hold, and what becomes of it."""

import base64
from collections.abc import Callable
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi, config
from testbed.world import World
from tests.stories.checked_config import LARGE, changed, right
from tests.stories.checking import checked, errors
from tests.stories.story import Story

UNKNOWN = "lt-0123456789abcdef0"
SECRET = "not-to-be-told"
PATH = "vm_types/large/cloud_properties/launch_template"
VERSION = "version 1 of launch template '{}'"
HELD = f"cloud_properties.launch_template: {VERSION} holds {{}}"
REMEDY = "Use a version of the template without them"
NETWORKS = "use the networks, and security_groups"
DELETED = "with it, the CPI could not delete the VM"


@pytest.fixture
def template(world: World, fake_aws: FakeAws) -> Callable[..., str]:
    """Return a function that creates the template "bosh" with these parameters, or its next version.

    It returns the template's id.
    """

    def create(**data: Any) -> str:
        names = {
            each["LaunchTemplateName"] for each in world.ec2.describe_launch_templates()["LaunchTemplates"]
        }
        if "bosh" in names:
            version = world.ec2.create_launch_template_version(
                LaunchTemplateName="bosh", LaunchTemplateData=data
            )
            template_id = version["LaunchTemplateVersion"]["LaunchTemplateId"]
        else:
            tags = [{"Key": "bosh_director_uuid", "Value": "somebody"}]
            made = world.ec2.create_launch_template(
                LaunchTemplateName="bosh",
                LaunchTemplateData=data,
                TagSpecifications=[{"ResourceType": "launch-template", "Tags": tags}],
            )
            template_id = made["LaunchTemplate"]["LaunchTemplateId"]
        fake_aws.forget_calls()
        return str(template_id)

    return create


def test_what_no_property_gives(
    story: Story, template: Callable[..., str], fake_aws: FakeAws, world: World
) -> None:
    """The VM has what the template holds and no property sets. That costs one call, which only reads."""
    template_id = template(Monitoring={"Enabled": True}, EbsOptimized=False)
    answer = story.create_vm({"launch_template": {"id": template_id}})
    vm_cid = answer.ok()[0]
    assert world.instance(vm_cid)["Monitoring"]["State"] == "enabled"
    (asked,) = story.parameters_of("DescribeLaunchTemplateVersions")
    assert (asked["LaunchTemplateId"], asked["LaunchTemplateVersion.1"]) == (template_id, "$Default")
    (launch,) = story.parameters_of("RunInstances")
    assert launch["LaunchTemplate.LaunchTemplateId"] == template_id
    assert launch["LaunchTemplate.Version"] == "1"
    assert fake_aws.actions().count("DescribeLaunchTemplateVersions") == 1
    assert story.warnings(answer) == []


@pytest.mark.parametrize(("given", "number"), [({}, 1), ({"version": "$Latest"}, 3), ({"version": 2}, 2)])
def test_versions(story: Story, template: Callable[..., str], given: dict[str, Any], number: int) -> None:
    """RunInstances gets the template's id and a version's number, whatever the property says."""
    for is_monitored in (False, True, False):
        template_id = template(Monitoring={"Enabled": is_monitored})
    story.create_vm({"launch_template": {"name": "bosh", **given}}).ok()
    (launch,) = story.parameters_of("RunInstances")
    assert launch["LaunchTemplate.LaunchTemplateId"] == template_id
    assert launch["LaunchTemplate.Version"] == str(number)
    assert "LaunchTemplate.LaunchTemplateName" not in launch


def test_the_properties_win(
    story: Story, template: Callable[..., str], fake_aws: FakeAws, world: World
) -> None:
    """The VM's own parameters replace the template's; a warning names them, and no log level their values."""
    secret = base64.b64encode(SECRET.encode()).decode()
    template_id = template(
        ImageId="ami-0123456789abcdef0",
        InstanceType="m5.large",
        KeyName="unknown",
        UserData=secret,
        Monitoring={"Enabled": True},
    )
    document = config(fake_aws.endpoint)
    document["cloud"]["properties"]["debug"] = {"cpi": {"log_level": "debug"}}
    answer = story.create_vm({"launch_template": {"id": template_id}}, executable=Cpi(document))
    vm_cid = answer.ok()[0]
    instance = world.instance(vm_cid)
    assert (instance["ImageId"], instance["InstanceType"]) == (world.image_id, "t3.micro")
    assert instance["KeyName"] == "bosh"
    assert story.settings(vm_cid)["agent_id"] == "agent-1"
    assert story.warnings(answer) == [
        "The VM's own settings replace ImageId, InstanceType, KeyName, UserData of "
        + VERSION.format(template_id)
    ]
    assert SECRET not in answer.stderr
    assert secret not in answer.stderr


def test_an_id_that_cant_be_read(story: Story, template: Callable[..., str], fake_aws: FakeAws) -> None:
    """A parameter that can't be read in one answer is no missing parameter: the CPI asks again."""
    template_id = template(ImageId="ami-0123456789abcdef0")
    garbled = ["<imageId>.*?</imageId>", "<imageId>x</imageId>"]
    fake_aws.rule(action="DescribeLaunchTemplateVersions", nth=1, replace=[garbled])
    _, replaced = story.warnings(story.create_vm({"launch_template": {"id": template_id}}))
    assert replaced == "The VM's own settings replace ImageId of " + VERSION.format(template_id)


REFUSED: dict[str, tuple[Any, str]] = {
    "BlockDeviceMappings": ([{"DeviceName": "/dev/sdz", "Ebs": {"VolumeSize": 9}}], "ephemeral_disk"),
    "CapacityReservationSpecification": ({"CapacityReservationPreference": "none"}, "capacity_reservation"),
    "DisableApiStop": (True, DELETED),
    "DisableApiTermination": (True, DELETED),
    "HibernationOptions": ({"Configured": True}, "hibernation"),
    "InstanceMarketOptions": ({"MarketType": "spot"}, "use spot, or capacity_reservation.market"),
    "InstanceRequirements": (
        {"VCpuCount": {"Min": 1}, "MemoryMiB": {"Min": 1}},
        "instance_type_fallbacks",
    ),
    "NetworkInterfaces": ([{"DeviceIndex": 1, "InterfaceType": "efa"}], NETWORKS),
    "Placement": ({"Tenancy": "default", "GroupName": "g"}, "placement_group, tenancy or dedicated_host"),
    "SecondaryInterfaces": ([{"DeviceIndex": 1, "NetworkCardIndex": 1}], NETWORKS),
    "SecurityGroupIds": (["sg-0123456789abcdef0"], NETWORKS),
    "SecurityGroups": (["web"], NETWORKS),
    "TagSpecifications": ([{"ResourceType": "instance", "Tags": [{"Key": "a", "Value": "x"}]}], "tags"),
}
"""Parameters of a template, and what the error says about each."""


def test_refused(story: Story, template: Callable[..., str], cpi: Cpi, world: World) -> None:
    """What only a property may say is refused before anything is created; so says `cpi check`."""
    held = {name: value for name, (value, _) in REFUSED.items()}
    template_id = template(Monitoring={"Enabled": True}, **held)
    answer = story.create_vm({"launch_template": {"id": template_id}})
    assert answer.error is not None
    message = answer.error["message"]
    listed = message.removeprefix(HELD.format(template_id, "")).removesuffix(f"). {REMEDY}")
    said = dict(each.split(" (", 1) for each in listed.split("), "))
    assert said.keys() == REFUSED.keys()
    assert {name for name, (_, words) in REFUSED.items() if words not in said[name]} == set()
    assert "DescribeLaunchTemplateVersions" in story.check_refusal(answer, message)
    whole = changed(right(world), (*LARGE, "cloud_properties", "launch_template"), {"name": "bosh"})
    (found,) = errors(checked(cpi, whole))
    assert (found["path"], found["what"]) == (PATH, message)


def test_defaults_of_ec2(story: Story, template: Callable[..., str], cpi: Cpi, world: World) -> None:
    """What consoles write though it is EC2's default changes no VM: it is neither refused nor named."""
    template_id = template(
        CapacityReservationSpecification={"CapacityReservationPreference": "open"},
        HibernationOptions={"Configured": False},
        Placement={"Tenancy": "default"},
        DisableApiTermination=False,
    )
    answer = story.create_vm({"launch_template": {"id": template_id}})
    assert world.instance(answer.ok()[0])["Placement"]["Tenancy"] == "default"
    assert story.warnings(answer) == []
    whole = changed(right(world), (*LARGE, "cloud_properties", "launch_template"), {"name": "bosh"})
    assert errors(checked(cpi, whole)) == []


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"id": UNKNOWN}, "InvalidLaunchTemplateId.NotFound"),
        ({"name": "bosh", "version": 9}, "InvalidLaunchTemplateId.VersionNotFound"),
    ],
)
def test_missing(
    story: Story,
    template: Callable[..., str],
    cpi: Cpi,
    world: World,
    fake_aws: FakeAws,
    given: dict[str, Any],
    code: str,
) -> None:
    """A template or version that does not exist is an error before a launch, and one of `cpi check`."""
    template(Monitoring={"Enabled": True})
    fake_aws.forget_calls()
    story.check_refusal(story.create_vm({"launch_template": given}), code, "Correct launch_template")
    whole = changed(right(world), (*LARGE, "cloud_properties", "launch_template"), given)
    (found,) = errors(checked(cpi, whole))
    assert found["path"] == PATH
    assert code in found["what"]


def test_check_asks_once(template: Callable[..., str], cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """`cpi check` reads each version once, whoever names it, and none that has a variable."""
    template_id = template(Monitoring={"Enabled": True})
    whole = right(world)
    for entry in whole["vm_types"]:
        entry["cloud_properties"]["launch_template"] = {"id": template_id}
    whole["vm_extensions"][0]["cloud_properties"]["launch_template"] = {"name": "((name))"}
    assert errors(checked(cpi, whole)) == []
    assert fake_aws.actions().count("DescribeLaunchTemplateVersions") == 1
