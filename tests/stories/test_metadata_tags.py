"""`instance_metadata_tags`: an instance whose metadata shows its tags restricts their keys."""

from typing import Any

import pytest
import yaml

from testbed.cloud import FakeAws
from testbed.executable import Cpi
from testbed.world import World
from tests.stories.checked_config import right
from tests.stories.checking import checked, errors
from tests.stories.story import Story

ENABLED = {"instance_metadata_tags": "enabled"}
BAD = {"cost center": "a"}
OF_MANIFEST: dict[Any, str] = {**BAD, 5: "x", "b": "((b))"}
DIRECTORS = {
    **dict.fromkeys(("director", "deployment", "job", "instance_group", "id", "index"), "x"),
    "name": "web/7a",
    "created_at": "2030-01-31T00:00:00Z",
}
"""What the Director gives set_vm_metadata for each VM."""


@pytest.mark.parametrize("source", ["aws.tags", "tags", "env.bosh.tags"])
def test_refused(story: Story, source: str) -> None:
    """A key that metadata can't show is an error before any call to AWS, wherever the tag comes from."""
    tags = {"good": "a", **BAD}
    answer = story.create_vm(
        {"tags": tags if source == "tags" else {}},
        {"front": story.network("10.0.1.50"), "back": story.network("10.0.2.50", 1)},
        env={"bosh": {"tags": tags if source == "env.bosh.tags" else {}}},
        executable=story.cpi_with(tags=tags if source == "aws.tags" else {}, metadata_options=ENABLED),
    )
    assert story.check_refusal(answer, "metadata_options.instance_metadata_tags is enabled") == []
    assert answer.error["message"].endswith(": 'cost center'")


def test_tags_of_director_and_cpi(story: Story, world: World) -> None:
    """The Director's and the CPI's own tags pass, at the launch and later."""
    cpi = story.cpi_with(metadata_options=ENABLED, skip_os_shutdown=True)
    vm_cid = story.create_vm({"skip_os_shutdown": True}, executable=cpi).ok()[0]
    assert world.instance(vm_cid)["MetadataOptions"]["InstanceMetadataTags"] == "enabled"
    answer = cpi.call("set_vm_metadata", vm_cid, DIRECTORS)
    assert answer.ok() is None
    assert "ERROR" not in answer.stderr
    assert {"Name": "web/7a", "bosh_skip_os_shutdown": "true"}.items() <= story.tags_of(vm_cid).items()


def test_set_vm_metadata(story: Story, cpi: Cpi, world: World) -> None:
    """A tag that comes later is left out on the VM, not on its disks; the log names its key."""
    vm_cid = story.create_vm({"metadata_options": ENABLED}).ok()[0]
    answer = cpi.call("set_vm_metadata", vm_cid, {**DIRECTORS, **BAD})
    assert answer.ok() is None
    (line,) = [each for each in answer.stderr.splitlines() if "ERROR" in each]
    assert "'cost center' is not a valid tag key" in line
    tags = story.tags_of(vm_cid)
    assert {key: tags.get(key) for key in ("Name", "created_at", *BAD)} == {
        "Name": "web/7a",
        "created_at": DIRECTORS["created_at"],
        "cost center": None,
    }
    assert {story.tags_of(disk_cid)["cost center"] for disk_cid in world.state()["volumes"]} == {"a"}


def test_too_many(story: Story, cpi: Cpi, world: World, fake_aws: FakeAws) -> None:
    """Of more tags than EC2 takes, BOSH's own are set, by one call; the log names those that are left out."""
    of_manifest = {f"team-{number:02}": "a" for number in range(45)}
    answer = story.create_vm(env={"bosh": {"tags": of_manifest}})
    vm_cid = answer.ok()[0]
    left_out = "Left out: 'team-39', 'team-40', 'team-41', 'team-42', 'team-43', 'team-44'"
    assert [line.endswith(left_out) for line in story.warnings(answer)] == [True]
    fake_aws.forget_calls()
    for compiling in ({}, {"compiling": "ruby"}):
        answer = cpi.call("set_vm_metadata", vm_cid, {**of_manifest, **compiling, **DIRECTORS})
        assert answer.ok() is None
        assert [line.endswith(left_out) for line in story.warnings(answer)] == [True]
    assert fake_aws.actions().count("CreateTags") == 2
    for resource_id in (vm_cid, *world.state()["volumes"]):
        tags = story.tags_of(resource_id)
        assert len(tags) == 50
        assert {"Name": "web/7a", "job": "x", "index": "x", "compiling": "ruby"}.items() <= tags.items()


def test_full(story: Story, cpi: Cpi, world: World) -> None:
    """A VM that others gave tags keeps them; BOSH's own come before the operator's."""
    vm_cid = story.lay_vm()
    others = [{"Key": f"other-{number:02}", "Value": ""} for number in range(40)]
    world.ec2.create_tags(Resources=[vm_cid], Tags=others)
    answer = cpi.call("set_vm_metadata", vm_cid, {"a": "b", "other-00": "new", **DIRECTORS})
    assert [line.endswith("Left out: 'a'") for line in story.warnings(answer)] == [True]
    assert {"other-00": "new", "other-39": "", "Name": "web/7a"}.items() <= story.tags_of(vm_cid).items()


def test_default_of_account(story: Story, fake_aws: FakeAws, world: World) -> None:
    """If only the account's default enables the option, EC2's refusal names the key, the CPI what to do."""
    said = "'cost center' is not a valid tag key. Tag keys must match pattern ([0-9a-zA-Z\\-_+=,.@:]{1,255})"
    fake_aws.refuse("RunInstances", "InvalidParameterValue", said)
    message = story.create_vm({"tags": BAD}).error["message"]
    assert said in message
    assert message.endswith(
        "Rename the key in tags, aws.tags or the manifest's tags, or set "
        "metadata_options.instance_metadata_tags to disabled, also if the account enables it by default"
    )
    assert world.state() == world.empty


@pytest.mark.parametrize(
    ("aws", "properties", "manifest"),
    [
        ({"metadata_options": ENABLED, "tags": BAD}, {}, {}),
        ({"metadata_options": ENABLED}, {"tags": BAD}, {}),
        ({}, {"metadata_options": ENABLED}, OF_MANIFEST),
    ],
    ids=["cpi.json", "vm-type", "manifest"],
)
def test_check(
    story: Story, world: World, aws: dict[str, Any], properties: dict[str, Any], manifest: dict[Any, str]
) -> None:
    """`cpi check` says the same of the configuration, the cloud config and the manifest's tags."""
    cpi, whole = story.cpi_with(**aws), right(world)
    group = {
        "name": "web",
        "instances": 1,
        "vm_type": "large",
        "azs": ["z1"],
        "networks": [{"name": "default"}],
    }
    path = cpi.folder / "manifest.yml"
    path.write_text(yaml.safe_dump({"name": "cf", "instance_groups": [group], "tags": manifest}))
    whole["vm_types"][1]["cloud_properties"] |= properties
    found = errors(checked(cpi, whole, "--manifest", str(path)))
    assert found
    for each in found:
        assert "metadata_options.instance_metadata_tags is enabled" in each["what"]
        assert ": 'cost center'" in each["what"]
    off = {"metadata_options": {"instance_metadata_tags": "disabled"}}
    for vm_type in whole["vm_types"]:
        vm_type["cloud_properties"] |= off
    assert errors(checked(cpi, whole, "--manifest", str(path))) == []
