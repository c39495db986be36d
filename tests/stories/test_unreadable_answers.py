"""Answers that can't be read, such as a proxy's, at any call."""

from collections.abc import Callable

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Answer, Cpi, config
from testbed.world import World
from tests.stories.story import Story

SECRET = "hunter2-hunter2"
UNREADABLE = "AWS could not be called: its answer can't be read. Is there a proxy in between?"

pytestmark = pytest.mark.usefixtures("fast_clock")


def garble(fake_aws: FakeAws, action: str, times: int | None = None) -> None:
    """Replace the answers to a call, or so many of them; it takes effect."""
    fake_aws.rule(action=action, times=times, replace=[[r"\A.*\Z", f"<p>{SECRET}"]])


def cpi_that_logs_all(fake_aws: FakeAws) -> Cpi:
    """Return the executable with a log of all AWS calls."""
    document = config(fake_aws.endpoint)
    document["cloud"]["properties"]["debug"] = {"cpi": {"log_level": "debug"}}
    return Cpi(document)


def check_not_quoted(answer: Answer, action: str) -> None:
    """Nothing of it reaches the response or the log, which names the call."""
    assert SECRET not in answer.stdout.decode() + answer.stderr
    assert f"{UNREADABLE} (ec2:{action}" in answer.stderr


def test_instance(story: Story, world: World, fake_aws: FakeAws) -> None:
    """A launch whose answer can't be read may have been done: its instance is found, and the only one."""
    garble(fake_aws, "RunInstances")
    answer = story.create_vm(executable=cpi_that_logs_all(fake_aws))
    assert world.state()["instances"] == [answer.ok()[0]]
    check_not_quoted(answer, "RunInstances")


def test_reading(story: Story, fake_aws: FakeAws) -> None:
    """A call that reads is retried, as after a fault; in the end it is an error that a retry may spare."""
    disk_cid = story.lay_disk()
    garble(fake_aws, "DescribeVolumes")
    answer = cpi_that_logs_all(fake_aws).call("has_disk", disk_cid)
    assert (answer.error["type"], answer.error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", True)
    assert answer.error["message"] == (
        f"{UNREADABLE} (ec2:DescribeVolumes for {disk_cid}). "
        "Check env.https_proxy and aws.ec2_endpoint, or create a VPC endpoint for it"
    )
    check_not_quoted(answer, "DescribeVolumes")
    fake_aws.clear_rules()
    garble(fake_aws, "DescribeVolumes", times=1)
    assert cpi_that_logs_all(fake_aws).call("has_disk", disk_cid).ok() is True


OTHERS = [
    "<error><code>503</code></error>",
    '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body/></html>',
    '<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><soap:Body/></soap:Envelope>',
    "<DescribeRegionsResponse><regionInfo/></DescribeRegionsResponse>",
    "",
]
"""Documents that are not those of the call; moto says that they are XML."""


def volume_of(world: World) -> str:
    """Have a volume there."""
    disk_cid: str = world.ec2.create_volume(AvailabilityZone=world.zone, Size=1)["VolumeId"]
    return disk_cid


def instance_of(world: World) -> str:
    """Have an instance run."""
    what = {"ImageId": world.image_id, "SubnetId": world.subnet_ids[0]}
    vm_cid: str = world.ec2.run_instances(**what, MinCount=1, MaxCount=1)["Instances"][0]["InstanceId"]
    return vm_cid


CHANGES: dict[str, tuple[str, Callable[[World], str]]] = {
    "delete_snapshot": (
        "DeleteSnapshot",
        lambda world: world.ec2.create_snapshot(VolumeId=volume_of(world))["SnapshotId"],
    ),
    "delete_network": ("DeleteSubnet", lambda world: world.subnet_ids[2]),
    "set_disk_metadata": ("CreateTags", volume_of),
    "set_vm_metadata": ("CreateTags", instance_of),
    "reboot_vm": ("RebootInstances", instance_of),
}
"""Methods whose change EC2 answers without an element that they read: that change, and what it is about."""


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("method", CHANGES)
def test_changing(story: Story, world: World, fake_aws: FakeAws, method: str, other: str) -> None:
    """A change is no success on the word of another document; it is retried as after a fault."""
    action, make = CHANGES[method]
    cid = make(world)
    fake_aws.forget_calls()
    fake_aws.rule(action=action, times=None, replace=[[r"\A.*\Z", other]])
    error = (
        story.cpi_with(max_retries=1)
        .call(method, cid, *([{"deployment": "cf"}] if action == "CreateTags" else []))
        .error
    )
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", True)
    refused = f"{action} failed with 400: not an AWS service's answer"  # EC2's refusal of the retry
    assert error["message"].startswith((f"{UNREADABLE} (ec2:{action} for {cid}", refused))
    assert fake_aws.actions().count(action) == 2


READS = [
    (r"<size>1</size>", "<size>x</size>", ""),
    (r"<createTime>.*?</createTime>", "<createTime>x</createTime>", ""),
    (r"<volumeId>(.*?)</volumeId>", r"<volumeId>\1</volumeId><volumeId>\1</volumeId>", ""),
    (
        r"<volumeSet>(.*)</volumeSet>",
        r"<volumeSet>\1</volumeSet><volumeSet>\1</volumeSet>",
        ", without VolumeId",
    ),
    (r"<volumeId>.*?</volumeId>", "", ", without VolumeId"),
    (r"<volumeSet>.*</volumeSet>", "", ", without Volumes"),
]


@pytest.mark.parametrize(("element", "text", "lacking"), READS)
def test_element(story: Story, cpi: Cpi, fake_aws: FakeAws, element: str, text: str, lacking: str) -> None:
    """So is an element that has no value of its kind, that is there twice or missing, which is then named."""
    disk_cid = story.lay_disk()
    fake_aws.rule(action="DescribeVolumes", replace=[[element, text]])
    error = cpi.call("has_disk", disk_cid).error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", True)
    assert error["message"].startswith(f"{UNREADABLE} (ec2:DescribeVolumes for {disk_cid}{lacking})")


@pytest.mark.parametrize("change", ["", r"<\1/>", r"<\1>x</\1>", r"\g<0>\g<0>"])
@pytest.mark.parametrize("element", ["instanceId", "instanceState", "instanceType"])
@pytest.mark.parametrize("method", ["has_vm", "delete_vm"])
def test_once(
    story: Story, cpi: Cpi, world: World, fake_aws: FakeAws, method: str, element: str, change: str
) -> None:
    """If it is so in one answer only, the method does not fail, and changes nothing on its word."""
    vm_cid = story.lay_vm()
    fake_aws.rule(action="DescribeInstances", nth=1, replace=[[rf"<({element})>.*?</{element}>", change]])
    assert cpi.call(method, vm_cid).ok() is (True if method == "has_vm" else None)
    assert world.state()["instances"] == ([vm_cid] if method == "has_vm" else [])


REFUSALS = ["<Response><Errors/></Response>", "<Response><Errors><Error/></Errors></Response>"]


@pytest.mark.parametrize("refusal", REFUSALS)
def test_refusal(cpi: Cpi, fake_aws: FakeAws, refusal: str) -> None:
    """So is a refusal without a code."""
    fake_aws.refuse("DescribeVolumes", "x", "", replace=[[r"\A.*\Z", refusal]])
    answer = cpi.call("has_disk", "vol-0123456789abcdef0").error
    assert (answer["type"], answer["ok_to_retry"]) == ("Bosh::Clouds::CloudError", True)
    assert answer["message"].startswith(UNREADABLE)


@pytest.mark.parametrize("status", [301, 407])
def test_status(story: Story, fake_aws: FakeAws, status: int) -> None:
    """A status without AWS's code proves nothing: the call is retried as after a fault, and no longer."""
    error = {"code": "x", "message": "", "status": status}
    fake_aws.rule(action="DeleteSnapshot", times=None, error=error, replace=[[r"\A.*\Z", ""]])
    error = story.cpi_with(max_retries=1).call("delete_snapshot", "snap-0123456789abcdef0").error
    assert error["message"].startswith(f"DeleteSnapshot failed with {status}: ")
    assert error["ok_to_retry"] is True
    assert fake_aws.actions() == ["DeleteSnapshot"] * 2


@pytest.mark.parametrize(
    ("element", "text"),
    [
        ("size", "<size>x</size>"),
        ("createTime", "<createTime/>"),
        ("volumeId", ""),
        ("volumeId", "<volumeId/>"),
    ],
)
def test_created_disk(story: Story, cpi: Cpi, fake_aws: FakeAws, element: str, text: str) -> None:
    """What was created with such an answer is looked for, and found."""
    fake_aws.rule(action="CreateVolume", replace=[[rf"<{element}>.*?</{element}>", text]])
    disk_cid = cpi.call("create_disk", 1024, {}, None).ok()
    assert story.leftovers() == {"volumes": [disk_cid]}


@pytest.mark.parametrize(
    ("element", "text"),
    [
        ("launchTime", "x"),
        ("deviceIndex", "x"),
        ("amiLaunchIndex", "x"),
        ("instancesSet", ""),
        ("instanceId", ""),
    ],
)
def test_created_vm(story: Story, world: World, fake_aws: FakeAws, element: str, text: str) -> None:
    """So is a VM."""
    garbled = [rf"<{element}>.*?</{element}>", f"<{element}>{text}</{element}>"]
    fake_aws.rule(action="RunInstances", replace=[garbled])
    vm_cid = story.create_vm().ok()[0]
    assert world.state()["instances"] == [vm_cid]
